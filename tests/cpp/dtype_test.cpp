// Storage types: each result is the float64 result within the tolerance of the type.
#include <gtest/gtest.h>

#include <algorithm>

#include "support/solve.h"

namespace tautstring::testing {
namespace {

class Storage : public ::testing::TestWithParam<DType> {};

TEST_P(Storage, ResultIsTheFloat64ResultWithinItsTolerance) {
  for (int i = 0; i < 500; ++i) {
    Row row = random_row(base_seed() + static_cast<std::uint64_t>(i), 100,
                         i % 2 == 0 ? LamKind::uniform : LamKind::edges,
                         i % 3 == 0 ? WeightKind::with_missing : WeightKind::none);
    for (double& value : row.x) value = std::clamp(value, -3e4, 3e4);  // the range of float16
    row = rounded(row, GetParam());
    for (const Mode mode : {Mode::smooth, Mode::sharp}) {
      const Solution narrow(row, GetParam(), mode);
      const Solution wide(row, DType::float64, mode);
      for (std::size_t k = 0; k < row.x.size(); ++k) {
        // Mirroring doubles the distance.
        const double tolerance = (mode == Mode::sharp ? 2 : 1) * value_tolerance(GetParam(), row);
        ASSERT_NEAR(narrow.y[k], wide.y[k], tolerance) << row.name << " at " << k;
      }
    }
  }
}

TEST_P(Storage, ArgumentsMayDifferInDtype) {
  const DType dtype = GetParam();
  Array x(DType::float32, std::vector<double>{0, 1, 4, 6});
  Array lam(dtype, std::vector<double>{0.5, 0.25, 1});
  Array weight(dtype, std::vector<double>{1, 2, 0, 1});
  Array y(DType::float32, 4);
  std::vector<std::uint32_t> partition(1);
  ASSERT_TRUE(
      prox_tv1d({.x = x.view(), .lam = lam.view(), .weight = weight.view()}, y.view(), partition)
          .ok());
  const Solution expected(Row{"", {0, 1, 4, 6}, {0.5, 0.25, 1}, {1, 2, 0, 1}}, DType::float32);
  EXPECT_EQ(y.values(), expected.y);

  Array grad(dtype, std::vector<double>{1, 2, 3, 4}), grad_x(dtype, 4), grad_lam(dtype, 3);
  Array grad_weight(dtype, 4);
  EXPECT_TRUE(prox_tv1d_backward(
                  {.partition = partition, .x = x.view(), .y = y.view(), .weight = weight.view()},
                  grad.view(),
                  {.x = grad_x.view(), .lam = grad_lam.view(), .weight = grad_weight.view()})
                  .ok());
  EXPECT_EQ(grad_x.values()[2], 0);
}

INSTANTIATE_TEST_SUITE_P(All, Storage,
                         ::testing::Values(DType::float16, DType::bfloat16, DType::float32,
                                           DType::float64),
                         [](const auto& test) { return dtype_name(test.param); });

}  // namespace
}  // namespace tautstring::testing
