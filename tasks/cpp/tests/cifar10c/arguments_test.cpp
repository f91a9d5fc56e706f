// Invalid arguments are named, with their value.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "cifar10c/batch.h"
#include "tests/cifar10c/pictures.h"

namespace tautstring_tasks::cifar10c {
namespace {

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "no exception";
}

TEST(Arguments, UnknownCorruption) {
  const std::string text = message_of([] { Corruptor("rain", 1, 0); });
  EXPECT_TRUE(text.starts_with("corruption: must be one of gaussian_noise, ")) << text;
  EXPECT_TRUE(text.ends_with("; got rain")) << text;
}

TEST(Arguments, SeverityOutOfRange) {
  EXPECT_EQ(message_of([] { Corruptor("fog", 0, 0); }), "severity: must be in 1..5, got 0");
  EXPECT_EQ(message_of([] { Corruptor("fog", 6, 0); }), "severity: must be in 1..5, got 6");
}

TEST(Arguments, TooFewOverlays) {
  const auto overlays = plain_overlays();
  EXPECT_EQ(message_of([&] { Corruptor("frost", 1, 0, std::span(overlays).first(4)); }),
            "overlays: frost needs at least 5 pictures, got 4");
}

TEST(Arguments, OverlayTooSmall) {
  auto overlays = plain_overlays();
  overlays[3] = {.height = 162, .width = 200, .values = Picture(162 * 200 * 3)};
  EXPECT_EQ(message_of([&] { Corruptor("frost", 1, 0, overlays); }),
            "overlays: pictures must be at least 163 x 163 pixels, got 200 x 162");
}

TEST(Arguments, SizesThatDoNotFit) {
  const Picture images(kValues * 2);
  Picture results(kValues);
  EXPECT_EQ(
      message_of([&] { EXPECT_FALSE(Corruptor("fog", 1, 0).corrupt(images, 0, 1, results)); }),
      "images, results: must have 3072 bytes per image each, got 6144 and 3072");
}

TEST(Arguments, RandomNumbersThatDoNotFit) {
  EXPECT_EQ(message_of([] { corrupted(plain(0), "motion_blur", 1, {}); }),
            "random: must have 1 numbers, got 0");
  EXPECT_EQ(message_of([] { corrupted(plain(0), "motion_blur", 1, {1.0}); }),
            "random: uniforms must be in [0, 1), got 1.000000");
}

}  // namespace
}  // namespace tautstring_tasks::cifar10c
