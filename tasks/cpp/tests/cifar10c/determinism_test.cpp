// The same bits for any number of threads and any part of the images.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/cifar10c/pictures.h"

namespace tautstring_tasks::cifar10c {
namespace {

constexpr int kImages = 40;

Picture run(const Corruptor& corruptor, std::span<const std::uint8_t> images, std::uint64_t first,
            int threads) {
  Picture results(images.size());
  EXPECT_TRUE(corruptor.corrupt(images, first, threads, results));
  return results;
}

class Determinism : public ::testing::TestWithParam<std::string_view> {};

TEST_P(Determinism, SameBitsForAnyNumberOfThreads) {
  const Picture images = noise(0, kImages);
  const Corruptor corruptor(GetParam(), 4, 5, plain_overlays());
  const Picture alone = run(corruptor, images, 0, 1);
  for (const int threads : {0, 2, 3, 9}) EXPECT_EQ(run(corruptor, images, 0, threads), alone);
}

TEST_P(Determinism, SameBitsForAnyPartOfTheImages) {
  const Picture images = noise(0, kImages);
  const Corruptor corruptor(GetParam(), 2, 5, plain_overlays());
  const Picture whole = run(corruptor, images, 0, 2);
  for (const std::size_t index : {0U, 1U, 17U, 39U}) {
    const auto at = static_cast<std::ptrdiff_t>(index * kValues);
    const Picture alone =
        run(corruptor, std::span(images).subspan(index * kValues, kValues), index, 1);
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), whole.begin() + at)) << index;
  }
}

TEST_P(Determinism, DrawnNumbersGiveTheSameImage) {
  const Picture image = noise(3);
  const auto overlays = plain_overlays();
  const Corruptor corruptor(GetParam(), 5, 6, overlays);
  EXPECT_EQ(corrupted(image, GetParam(), 5, corruptor.draw(8), overlays),
            run(corruptor, image, 8, 1));
}

INSTANTIATE_TEST_SUITE_P(All, Determinism, ::testing::ValuesIn(kNames),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace tautstring_tasks::cifar10c
