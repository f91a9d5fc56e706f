// One row, several kernels: batch size and layout select kernels and agents, and the bits must not
// depend on that.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <string>

#include "device_array.h"
#include "support/rows.h"
#include "support/solve.h"
#include "workspace.h"

namespace tautstring::testing {
namespace {

using SameBits = OnGpu;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Rows of every family, each with its lam, including rows that need care or become NaN.
struct Pool {
  static constexpr std::int64_t kRows = 60;

  Pool(std::int64_t length, std::uint64_t seed) : n(length) {
    Random random(base_seed() + seed);
    for (std::int64_t r = 0; r < kRows; ++r) {
      const Family& family = families()[static_cast<std::size_t>(r) % families().size()];
      const std::vector<double> row = family.make(random, static_cast<int>(n));
      x.insert(x.end(), row.begin(), row.end());
      const double sizes[] = {0.1, 1, 10, 100};
      lam.push_back(sizes[random() % 4]);
    }
    lam[7] = 0;
    lam[8] = 1e-40;
    lam[9] = kInfinity;
    lam[10] = -1;
    x[static_cast<std::size_t>(11 * n + n / 2)] = kNan;
    x[static_cast<std::size_t>(12 * n + n / 3)] = kInfinity;
  }

  std::int64_t n;
  std::vector<double> x, lam;
};

/// Smooth rows: in some, searches exceed the limit of samples read again, in others they stay just
/// below it. Between them are constant rows, which are streamed.
Pool hard_pool(std::int64_t n) {
  Pool pool(n, 0);
  Random random(base_seed());
  for (std::int64_t r = 0; r < Pool::kRows; ++r) {
    const std::int64_t look_ahead = 60 + 10 * r;
    const double slope = 4.0 / static_cast<double>(look_ahead * look_ahead);
    for (std::int64_t k = 0; k < n; ++k) {
      double value = 0.1 + slope * static_cast<double>(k);
      if (r % 4 == 1 && k < n / 2) value = std::normal_distribution<double>()(random);
      if (r % 4 == 2) value = 0.1;
      pool.x[static_cast<std::size_t>(r * n + k)] = value;
    }
    pool.lam[static_cast<std::size_t>(r)] = 1;
  }
  return pool;
}

/// The layout of a batch in memory.
enum class Layout { rows, columns };

/// The results of a call for each row.
struct Bits {
  std::vector<std::byte> y;
  std::vector<std::uint32_t> partition;
};

/// Solves the rows of the pool repeatedly, `count` rows in total; the bits of row r start at r n.
Bits solve(const Pool& pool, DType dtype, std::int64_t count, Layout layout) {
  const std::int64_t n = pool.n;
  const Array rows(dtype, pool.x);
  const auto item = static_cast<std::int64_t>(size_of(dtype));
  const std::int64_t apart = layout == Layout::rows ? n : 1;
  const std::int64_t stride = layout == Layout::rows ? 1 : count;
  std::vector<std::byte> x(static_cast<std::size_t>(count * n * item));
  std::vector<double> lam(static_cast<std::size_t>(count));
  for (std::int64_t r = 0; r < count; ++r) {
    const std::int64_t from = r % Pool::kRows;
    lam[static_cast<std::size_t>(r)] = pool.lam[static_cast<std::size_t>(from)];
    for (std::int64_t k = 0; k < n; ++k) {
      std::memcpy(x.data() + (r * apart + k * stride) * item,
                  rows.bytes().data() + (from * n + k) * item, static_cast<std::size_t>(item));
    }
  }
  DeviceArray<std::byte> x_device(x), y_device(x.size());
  DeviceArray<double> lam_device(lam);
  DeviceArray<std::uint32_t> partition(static_cast<std::size_t>(count * partition_words(n)));
  Workspace workspace(count, n, false);
  check(prox_tv1d(
      {.x = view(static_cast<const void*>(x_device.data()), dtype, {count, n}, {apart, stride}),
       .lam = view(static_cast<const double*>(lam_device.data()), {count, 1})},
      view(static_cast<void*>(y_device.data()), dtype, {count, n}, {apart, stride}),
      {partition.data(), partition.size()}, workspace.context()));
  const std::vector<std::byte> y = y_device.download();
  Bits bits = {std::vector<std::byte>(y.size()), partition.download()};
  for (std::int64_t r = 0; r < count; ++r) {
    for (std::int64_t k = 0; k < n; ++k) {
      std::memcpy(bits.y.data() + (r * n + k) * item, y.data() + (r * apart + k * stride) * item,
                  static_cast<std::size_t>(item));
    }
  }
  return bits;
}

void expect_the_same(const Bits& many, std::int64_t count, const Bits& few, const std::string& of) {
  const std::size_t y_size = few.y.size() / Pool::kRows;
  const std::size_t words = few.partition.size() / Pool::kRows;
  for (std::int64_t r = 0; r < count; ++r) {
    const auto at = static_cast<std::size_t>(r);
    const auto from = static_cast<std::size_t>(r % Pool::kRows);
    ASSERT_EQ(std::memcmp(many.partition.data() + at * words, few.partition.data() + from * words,
                          words * sizeof(std::uint32_t)),
              0)
        << of << ", partition of row " << r;
    ASSERT_EQ(std::memcmp(many.y.data() + at * y_size, few.y.data() + from * y_size, y_size), 0)
        << of << ", y of row " << r;
  }
}

/// Large batches stream the rows that small ones search in pieces; columns are searched in pieces
/// where rows are searched whole.
TEST_F(SameBits, InBatchesOfAnySizeAndLayout) {
  for (const DType dtype : {DType::float32, DType::float64, DType::bfloat16}) {
    for (const std::int64_t n : {40, 200, 530, 4500}) {
      const Pool pool(n, static_cast<std::uint64_t>(n));
      const Bits few = solve(pool, dtype, Pool::kRows, Layout::rows);
      const std::int64_t many = n < 1000 ? 30'000 : 13'000;
      for (const Layout layout : {Layout::rows, Layout::columns}) {
        for (const std::int64_t count : {Pool::kRows, many}) {
          expect_the_same(solve(pool, dtype, count, layout), count, few,
                          dtype_name(dtype) + " n " + std::to_string(n) + ", " +
                              std::to_string(count) +
                              (layout == Layout::rows ? " rows" : " columns"));
        }
      }
    }
  }
}

TEST_F(SameBits, OfRowsThatAreHardToSearch) {
  for (const std::int64_t n : {250, 4096, 8192}) {
    const Pool pool = hard_pool(n);
    const Bits few = solve(pool, DType::float32, Pool::kRows, Layout::rows);
    for (const Layout layout : {Layout::rows, Layout::columns}) {
      for (const std::int64_t count : {Pool::kRows, std::int64_t{13'000}}) {
        expect_the_same(solve(pool, DType::float32, count, layout), count, few,
                        "n " + std::to_string(n) + ", " + std::to_string(count) +
                            (layout == Layout::rows ? " rows" : " columns"));
      }
    }
  }
}

/// Chunks depend only on the length of a row, so pieces are the same in batches of any size.
TEST_F(SameBits, OfLongRowsInBatchesOfAnySize) {
  for (const DType dtype : {DType::float32, DType::float64}) {
    const Pool pool(9000, 9);
    const Bits few = solve(pool, dtype, Pool::kRows, Layout::rows);
    for (const Layout layout : {Layout::rows, Layout::columns}) {
      expect_the_same(solve(pool, dtype, 300, layout), 300, few,
                      dtype_name(dtype) + (layout == Layout::rows ? " rows" : " columns"));
    }
  }
}

/// Rows of at most 8192 samples are searched in one kernel, longer ones in three.
TEST_F(SameBits, OfPartitionsOnEitherSideOfAKernelsReach) {
  Random random(base_seed());
  for (const std::int64_t n : {8192, 8193}) {
    std::vector<double> x(static_cast<std::size_t>(n));
    for (double& value : x) value = static_cast<double>(random() % 9);
    const Solution expected(Row{"", x, {2.75}, {}}, DType::float32);
    DeviceArray<float> on_device(std::vector<float>(x.begin(), x.end()));
    DeviceArray<float> y(x.size());
    DeviceArray<std::uint32_t> partition(static_cast<std::size_t>(partition_words(n)));
    Workspace workspace(1, n, false);
    check(prox_tv1d({.x = view(static_cast<const float*>(on_device.data()), {n}), .lam = 2.75},
                    view(y.data(), {n}), {partition.data(), partition.size()},
                    workspace.context()));
    EXPECT_EQ(partition.download(), expected.partition) << n;
  }
}

}  // namespace
}  // namespace tautstring::testing
