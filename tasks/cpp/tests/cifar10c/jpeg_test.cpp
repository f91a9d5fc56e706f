#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "cifar10c/jpeg_dct.h"
#include "tests/cifar10c/pictures.h"

namespace tautstring_tasks::cifar10c {
namespace {

Block random_block(std::uint64_t index) {
  Stream stream(5, 6, index);
  Block block;
  for (auto& value : block) value = static_cast<std::int32_t>(stream.uniform() * 256) - 128;
  return block;
}

/// The definition (ITU T.81, A.3.3), times 8.
double coefficient(const Block& samples, int v, int u) {
  double sum = 0;
  for (int y = 0; y < 8; ++y) {
    for (int x = 0; x < 8; ++x) {
      sum += samples[static_cast<std::size_t>(8 * y + x)] *
             std::cos((2 * x + 1) * u * std::numbers::pi / 16) *
             std::cos((2 * y + 1) * v * std::numbers::pi / 16);
    }
  }
  const double scale =
      (u == 0 ? std::numbers::sqrt2 / 2 : 1) * (v == 0 ? std::numbers::sqrt2 / 2 : 1);
  return 8 * sum * scale / 4;
}

TEST(Jpeg, TransformIsTheDefinitionsToOne) {
  for (std::uint64_t i = 0; i < 20; ++i) {
    const Block samples = random_block(i);
    Block found = samples;
    forward_dct(found);
    for (int v = 0; v < 8; ++v) {
      for (int u = 0; u < 8; ++u) {
        EXPECT_NEAR(found[static_cast<std::size_t>(8 * v + u)], coefficient(samples, v, u), 2);
      }
    }
  }
}

TEST(Jpeg, InverseUndoesTheTransform) {
  for (std::uint64_t i = 0; i < 20; ++i) {
    const Block samples = random_block(i);
    Block found = samples;
    forward_dct(found);
    for (auto& value : found) value = static_cast<std::int32_t>(std::lround(value / 8.0));
    inverse_dct(found);
    for (std::size_t k = 0; k < 64; ++k) EXPECT_NEAR(found[k], samples[k], 2);
  }
}

TEST(Jpeg, KeepsBlackWhiteAndMiddleGrey) {
  for (int severity = 1; severity <= 5; ++severity) {
    for (const int value : {0, 128, 255}) {
      const Picture result = corrupted(plain(value), "jpeg_compression", severity);
      for (const int found : result) EXPECT_NEAR(found, value, 2);
    }
  }
}

TEST(Jpeg, QuantisesPlainImagesByTheFirstStep) {
  // Quality 40: step 16 * 125 / 100 = 20 of 8 times the mean less 128. 138: 80 is 4 steps; 137: 72
  // is 3.6, so 4 as well; 135: 56 is 2.8, 3 steps, 7.5 levels.
  EXPECT_EQ(corrupted(plain(138), "jpeg_compression", 5), plain(138));
  EXPECT_EQ(corrupted(plain(137), "jpeg_compression", 5), plain(138));
  EXPECT_EQ(corrupted(plain(135), "jpeg_compression", 5)[0], 136);
}

}  // namespace
}  // namespace tautstring_tasks::cifar10c
