#include <gtest/gtest.h>

#include "support/solve.h"

namespace tautstring::testing {
namespace {

TEST(Sharpen, IsTheSampleMirroredAtItsSmoothedValue) {
  for (int i = 0; i < 500; ++i) {
    const Row row = random_row(base_seed() + static_cast<std::uint64_t>(i), 80, LamKind::edges,
                               WeightKind::none);
    const Solution smooth(row);
    const Solution sharp(row, DType::float64, Mode::sharp);
    ASSERT_EQ(sharp.partition, smooth.partition);
    for (std::size_t k = 0; k < row.x.size(); ++k) {
      ASSERT_EQ(sharp.y[k], row.x[k] + (row.x[k] - smooth.y[k])) << row.name;
    }
  }
}

TEST(Sharpen, IsRoundedOnce) {
  // In float16 the smoothed value 2/3 and the sharpened 4/3 round differently.
  const Row row{"", {0, 1, 1}, {1}, {}};
  const Solution sharp(row, DType::float16, Mode::sharp);
  EXPECT_EQ(sharp.y,
            Array(DType::float16, std::vector<double>{-2.0 / 3, 4.0 / 3, 4.0 / 3}).values());
}

}  // namespace
}  // namespace tautstring::testing
