// The vector code of the backward, on every instruction set, against its formula in extended
// precision: random partitions, both modes, all kinds of lam, in place, and without writes outside
// of the rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "support/rows.h"
#include "support/targets.h"
#include "tautstring/partition.h"

namespace tautstring::testing {
namespace {

using detail::GradientRows;
using detail::LamGradient;

template <class T>
constexpr double kTolerance = std::is_same_v<T, float> ? 1e-6 : 1e-12;

/// Rows of an incoming gradient and their codes, in memory with guards around them.
template <class T>
struct Case {
  Case(Random& random, std::int32_t length, std::int64_t count, double start_share, double offset)
      : n(length), rows(count), pitch(n + static_cast<std::int64_t>(random() % 3)) {
    codes.resize(static_cast<std::size_t>(rows * n));
    words.resize(static_cast<std::size_t>(rows * partition_words(n)));
    g.assign(static_cast<std::size_t>(rows * pitch), kGuard);
    std::uniform_real_distribution<double> unit;
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int32_t i = 0; i < n; ++i) {
        // The first code of a row may be anything: the start of a row is known.
        const auto code = static_cast<Code>(unit(random) < start_share ? 1 + random() % 3 : 0);
        codes[static_cast<std::size_t>(r * n + i)] = i == 0 ? Code::plain : code;
        words[static_cast<std::size_t>(r * partition_words(n) + i / kCodesPerWord)] |=
            static_cast<std::uint32_t>(code) << (2 * (i % kCodesPerWord));
        g[at(r, i)] = static_cast<T>(offset + std::normal_distribution<double>()(random));
      }
    }
  }

  [[nodiscard]] std::size_t at(std::int64_t r, std::int32_t i) const {
    return static_cast<std::size_t>(r * pitch + i);
  }
  [[nodiscard]] Code code(std::int64_t r, std::int32_t i) const {
    return codes[static_cast<std::size_t>(r * n + i)];
  }

  static constexpr T kGuard = 77;
  std::int32_t n;
  std::int64_t rows;
  std::int64_t pitch;
  std::vector<Code> codes;
  std::vector<std::uint32_t> words;
  std::vector<T> g;
};

template <class T>
struct Result {
  std::vector<T> x, edges;
  std::vector<double> lam;

  /// Compares bits, so that NaN counts.
  friend bool same_bits(const Result& a, const Result& b) {
    const auto same = [](const auto& p, const auto& q) {
      return p.size() == q.size() && std::memcmp(p.data(), q.data(), p.size() * sizeof(p[0])) == 0;
    };
    return same(a.x, b.x) && same(a.edges, b.edges) && same(a.lam, b.lam);
  }
};

/// Calls the kernel once for each kind of lam; the gradient of x must be the same each time.
template <class T>
Result<T> run(const detail::VectorKernels<T>& kernels, const Case<T>& c, bool sharp,
              bool in_place = false, std::int64_t first = 0, std::int64_t count = -1) {
  if (count < 0) count = c.rows;
  const auto size = static_cast<std::size_t>(c.rows * c.pitch);
  Result<T> result{std::vector<T>(size), std::vector<T>(size, Case<T>::kGuard),
                   std::vector<double>(static_cast<std::size_t>(c.rows), 77)};
  std::vector<T> before;
  for (const auto lam : {LamGradient::none, LamGradient::row, LamGradient::edges}) {
    result.x = in_place ? c.g : std::vector<T>(size, Case<T>::kGuard);
    // All pointers are at the first row to work on.
    const std::int64_t offset = first * c.pitch;
    GradientRows<T> rows = {.count = count,
                            .n = c.n,
                            .sharp = sharp,
                            .words = c.words.data() + first * partition_words(c.n),
                            .g = (in_place ? result.x.data() : c.g.data()) + offset,
                            .g_pitch = c.pitch,
                            .grad_x = result.x.data() + offset,
                            .grad_x_pitch = c.pitch,
                            .row_lam = result.lam.data() + first,
                            .edge_lam = result.edges.data() + offset,
                            .edge_lam_pitch = c.pitch};
    kernels.average(rows, lam);
    if (!before.empty()) {
      EXPECT_EQ(std::memcmp(before.data(), result.x.data(), size * sizeof(T)), 0);
    }
    before = result.x;
  }
  return result;
}

/// Compares with the formula, segment by segment.
template <class T>
void compare(const Case<T>& c, const Result<T>& result, bool sharp) {
  for (std::int64_t r = 0; r < c.rows; ++r) {
    const auto row = c.g.begin() + r * c.pitch;
    const auto [low, high] = std::minmax_element(row, row + c.n);
    const double range = static_cast<double>(*high) - static_cast<double>(*low);
    const double size =
        std::max(std::abs(static_cast<double>(*low)), std::abs(static_cast<double>(*high)));
    const double unit = size * static_cast<double>(std::numeric_limits<T>::epsilon());
    const double tolerance = kTolerance<T> * range + unit * (sharp ? 2 : 1);
    double left_mean = 0;
    double lam = 0;
    double lam_size = 0;
    for (std::int32_t start = 0, end = 0; start < c.n; start = end) {
      long double sum = 0;
      for (end = start; end == start || (end < c.n && c.code(r, end) == Code::continues); ++end) {
        sum += static_cast<long double>(c.g[c.at(r, end)]);
      }
      const auto mean = static_cast<double>(sum / (end - start));
      for (std::int32_t i = start; i < end; ++i) {
        const T g = c.g[c.at(r, i)];
        if (end - start == 1) {
          ASSERT_EQ(std::memcmp(&g, &result.x[c.at(r, i)], sizeof(T)), 0);
        }
        const double expected = sharp ? 2 * static_cast<double>(g) - mean : mean;
        ASSERT_NEAR(static_cast<double>(result.x[c.at(r, i)]), expected, tolerance)
            << "row " << r << " sample " << i << " of " << c.n;
        if (i > start) {
          ASSERT_EQ(result.edges[c.at(r, i) - 1], 0);
        }
      }
      if (start > 0) {
        const int sign = jump_sign(c.code(r, start)) * (sharp ? -1 : 1);
        const double term = sign * (left_mean - mean);
        ASSERT_NEAR(static_cast<double>(result.edges[c.at(r, start) - 1]), term, 3 * tolerance);
        lam += term;
        lam_size += std::abs(sign * left_mean) + std::abs(sign * mean);
      }
      left_mean = mean;
    }
    ASSERT_NEAR(result.lam[static_cast<std::size_t>(r)], lam, 10 * kTolerance<T> * lam_size + unit);
    for (std::int64_t i = r * c.pitch + c.n; i < (r + 1) * c.pitch; ++i) {
      ASSERT_EQ(result.x[static_cast<std::size_t>(i)], Case<T>::kGuard);
    }
    for (std::int64_t i = r * c.pitch + c.n - 1; i < (r + 1) * c.pitch; ++i) {
      ASSERT_EQ(result.edges[static_cast<std::size_t>(i)], Case<T>::kGuard);
    }
  }
}

class Average : public OnEachTarget {
 protected:
  /// Calls check(case) for lengths around all sizes of blocks and groups.
  template <class T, class Check>
  void for_each_case(Check check) {
    Random random(base_seed());
    const auto try_length = [&](std::int32_t n, std::int64_t rows) {
      for (const double share : {1.0, 0.9, 0.3, 0.06, 0.01, 0.0}) {
        for (const double offset : {0.0, 1e3}) {
          SCOPED_TRACE(share);
          check(Case<T>(random, n, rows, share, offset));
          if (HasFatalFailure()) return;
        }
      }
    };
    for (std::int32_t n = 1; n <= 300; n += n < 70 ? 1 : 13) try_length(n, 1 + n % 7);
    for (const std::int32_t n : {4096, 5000}) try_length(n, 3);
    try_length(32, 100);
  }

  template <class T>
  void matches_its_formula() {
    for_each_case<T>([&](const Case<T>& c) {
      for (const bool sharp : {false, true}) {
        const Result<T> result = run(kernels<T>(), c, sharp);
        compare(c, result, sharp);
        if (HasFatalFailure()) return;
        Result<T> in_place = run(kernels<T>(), c, sharp, true);
        ASSERT_TRUE(same_bits(in_place, result)) << c.n;
      }
    });
  }

  template <class T>
  void rows_do_not_know_each_other() {
    for_each_case<T>([&](const Case<T>& c) {
      const Result<T> together = run(kernels<T>(), c, false);
      for (std::int64_t r = 0; r < c.rows; r += 1 + c.rows / 5) {
        const Result<T> alone = run(kernels<T>(), c, false, false, r, 1);
        const auto first = static_cast<std::size_t>(r * c.pitch);
        const auto row = static_cast<std::size_t>(r);
        const auto bytes = static_cast<std::size_t>(c.n) * sizeof(T);
        ASSERT_EQ(std::memcmp(&alone.x[first], &together.x[first], bytes), 0) << c.n;
        ASSERT_EQ(std::memcmp(&alone.edges[first], &together.edges[first], bytes - sizeof(T)), 0);
        ASSERT_EQ(alone.lam[row], together.lam[row]);
      }
    });
  }

  template <class T>
  void non_finite_samples_stay_in_their_segments() {
    for_each_case<T>([&](Case<T> c) {
      const Result<T> clean = run(kernels<T>(), c, false);
      Random random(base_seed());
      for (std::int64_t r = 0; r < c.rows; ++r) {
        // The first block determines the offset of the samples: do not change it.
        if (c.n <= 16) continue;
        const auto bad =
            static_cast<std::int32_t>(16 + random() % static_cast<std::uint32_t>(c.n - 16));
        c.g[c.at(r, bad)] =
            r % 2 == 0 ? std::numeric_limits<T>::quiet_NaN() : std::numeric_limits<T>::infinity();
        std::int32_t start = bad;
        while (start > 0 && c.code(r, start) == Code::continues) --start;
        std::int32_t end = bad + 1;
        while (end < c.n && c.code(r, end) == Code::continues) ++end;
        const Result<T> result = run(kernels<T>(), c, false);
        for (std::int32_t i = 0; i < c.n; ++i) {
          const T value = result.x[c.at(r, i)];
          if (i >= start && i < end) {
            ASSERT_FALSE(std::isfinite(value));
          } else {
            ASSERT_EQ(value, clean.x[c.at(r, i)]) << i << " of " << c.n;
          }
        }
        c.g[c.at(r, bad)] = 0;
      }
    });
  }
};

TEST_P(Average, MatchesItsFormulaInFloat32) {
  matches_its_formula<float>();
}
TEST_P(Average, MatchesItsFormulaInFloat64) {
  matches_its_formula<double>();
}
TEST_P(Average, RowsDoNotKnowEachOtherInFloat32) {
  rows_do_not_know_each_other<float>();
}
TEST_P(Average, RowsDoNotKnowEachOtherInFloat64) {
  rows_do_not_know_each_other<double>();
}
TEST_P(Average, NonFiniteSamplesStayInTheirSegmentsInFloat32) {
  non_finite_samples_stay_in_their_segments<float>();
}
TEST_P(Average, NonFiniteSamplesStayInTheirSegmentsInFloat64) {
  non_finite_samples_stay_in_their_segments<double>();
}

TAUTSTRING_ON_EACH_TARGET(Average);

}  // namespace
}  // namespace tautstring::testing
