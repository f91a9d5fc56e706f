// Columns that are moved to rows and back, on every instruction set, for elements of every size.
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <vector>

#include "support/targets.h"

namespace tautstring::testing {
namespace {

class Columns : public OnEachTarget {
 protected:
  template <class T>
  static void expect_moves(const detail::ColumnMoves<T>& moves) {
    constexpr T kGuard = 9;
    for (const std::int32_t rows : {1, 3, 7, 8, 15, 16, 17, 33, 48}) {
      for (const std::int32_t n : {1, 2, 5, 8, 16, 19, 40}) {
        const std::int64_t stride = rows + 3;
        const std::int64_t pitch = n + 5;
        std::vector<T> columns(static_cast<std::size_t>(stride * n));
        std::iota(columns.begin(), columns.end(), T(100));
        std::vector<T> tile(static_cast<std::size_t>(pitch * rows), kGuard);
        std::vector<T> back(columns.size(), kGuard);
        moves.gather(columns.data(), stride, rows, n, tile.data(), pitch);
        moves.scatter(tile.data(), pitch, rows, n, back.data(), stride);
        for (std::int64_t i = 0; i < pitch * rows; ++i) {
          const bool is_sample = i % pitch < n;
          const auto from = static_cast<std::size_t>(i % pitch * stride + i / pitch);
          ASSERT_EQ(tile[static_cast<std::size_t>(i)], is_sample ? columns[from] : kGuard)
              << rows << " rows of " << n;
        }
        for (std::int64_t i = 0; i < stride * n; ++i) {
          const auto at = static_cast<std::size_t>(i);
          ASSERT_EQ(back[at], i % stride < rows ? columns[at] : kGuard) << rows << " rows of " << n;
        }
      }
    }
  }
};

TEST_P(Columns, MoveToRowsAndBack) {
  expect_moves(target().columns16);
  expect_moves(kernels<float>().columns);
  expect_moves(kernels<double>().columns);
}

TAUTSTRING_ON_EACH_TARGET(Columns);

}  // namespace
}  // namespace tautstring::testing
