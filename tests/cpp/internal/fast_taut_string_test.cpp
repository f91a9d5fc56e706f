// The string for unweighted rows against the one for weighted rows and against the reference: the
// same borders on small integers, in rows and in pieces of rows. Also counts its steps.
#include "step/fast_taut_string.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "reference/tv1d_reference.h"
#include "support/borders.h"
#include "support/rows.h"

namespace tautstring::testing {
namespace {

/// The largest number of chain pushes, pops and samples read ahead, per sample.
constexpr std::int64_t kStepsASample = 6;

struct Piece {
  std::vector<double> x;
  std::vector<double> lam;  // one per edge
  bool uniform = true;
  double u_start = 0;
  double u_end = 0;
};

/// A row with free ends that has the same borders as the piece.
std::vector<double> as_row(const Piece& piece) {
  std::vector<double> x = piece.x;
  x.front() += piece.u_start;
  x.back() -= piece.u_end;
  return x;
}

struct Pulled {
  std::vector<Code> codes;
  std::int64_t steps = 0;
};

template <class In>
Pulled pull(const Piece& piece) {
  const std::vector<In> x(piece.x.begin(), piece.x.end());
  const auto n = static_cast<std::int32_t>(x.size());
  Pulled pulled{std::vector<Code>(x.size(), Code::continues)};
  std::vector<detail::Knot> scratch(2 * x.size());  // exactly the promised size
  std::int32_t previous = 0;
  const auto border = [&](std::int32_t k, Code code) {
    ASSERT_GT(k, previous);
    ASSERT_LT(k, n);
    ASSERT_TRUE(code == Code::up || code == Code::down);
    pulled.codes[static_cast<std::size_t>(k)] = code;
    previous = k;
  };
  const auto count = [&](std::int64_t steps) { pulled.steps += steps; };
  const auto pull_with = [&](const auto& lams) {
    detail::pull_unweighted_string(x.data(), n, lams, piece.u_start, piece.u_end, scratch.data(),
                                   border, count);
  };
  if (piece.uniform) {
    pull_with(detail::UniformLam<double>{piece.lam.empty() ? 1 : piece.lam[0]});
  } else {
    pull_with(detail::EdgeLam<double>{piece.lam.data()});
  }
  return pulled;
}

std::vector<Code> borders_of(const Piece& piece) {
  return exact_borders(piece.x, piece.lam, piece.u_start, piece.u_end);
}

/// The dual variable before sample k, from the codes; 0 at the ends.
double dual_at(const Piece& row, const std::vector<Code>& codes, std::size_t k) {
  return k == 0 || k == codes.size() ? 0 : -jump_sign(codes[k]) * row.lam[k - 1];
}

/// The values of a partition, with negligible rounding.
std::vector<long double> values_of(const Piece& piece, const std::vector<Code>& codes) {
  const std::vector<double> x = as_row(piece);
  std::vector<long double> y;
  for (std::size_t first = 0, end = 0; first < x.size(); first = end) {
    long double sum = 0;
    for (end = first; end == first || (end < x.size() && codes[end] == Code::continues); ++end) {
      sum += static_cast<long double>(x[end]) - x[first];
    }
    sum += dual_at(piece, codes, first) - dual_at(piece, codes, end);
    y.resize(end, x[first] + sum / static_cast<long double>(end - first));
  }
  return y;
}

/// The largest error as a fraction of the range, beyond the reference's own rounding.
double error_against_reference(const Piece& piece, const std::vector<Code>& codes) {
  const std::vector<double> x = as_row(piece);
  const std::vector<double> expected = reference::prox_tv1d(x, piece.lam);
  const std::vector<long double> y = values_of(piece, codes);
  long double error = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    error = std::max(error, std::abs(y[i] - expected[i]) - std::abs(expected[i]) * 0x1p-52L);
  }
  // 1 if the range is no larger than the rounding of as_row.
  const double range = range_of(x);
  const double size = std::abs(x.front()) + std::abs(x.back());
  return static_cast<double>(error) / (range > 1e-9 * size ? range : 1);
}

/// The largest violation of optimality: of |u| <= lam and of the jumps' directions.
double violation(const Piece& piece, const std::vector<Code>& codes) {
  const std::vector<double> x = as_row(piece);
  const std::vector<long double> y = values_of(piece, codes);
  long double u = 0;
  long double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (i > 0) worst = std::max(worst, jump_sign(codes[i]) * (y[i - 1] - y[i]));
    u += x[i] - y[i];
    const long double bound = i + 1 < x.size() ? piece.lam[i] : 0;
    worst = std::max(worst, std::abs(u) - bound);
  }
  return static_cast<double>(worst) / range_of(x);
}

/// Multiples of `unit`: noise, slopes, valleys, waves, and single spikes on slopes, which take the
/// string past pieces whose neighbours are quiet.
Piece random_piece(std::uint64_t seed, double unit) {
  Random random(seed);
  const auto up_to = [&](int count) {
    return static_cast<int>(random() % static_cast<unsigned>(count));
  };
  Piece piece;
  const int n = 1 + up_to(up_to(3) == 0 ? 300 : 20);
  const int kind = up_to(8);
  const int noise = 1 + up_to(12);
  const int slope = up_to(4);
  for (int i = 0; i < n; ++i) {
    int value = up_to(noise);
    if (kind == 1) value += slope * i;
    if (kind == 2) value -= slope * i;
    if (kind == 3) value += slope * std::abs(i - n / 2);
    if (kind == 4) value += slope * (i * i / 64) - slope * i;
    if (kind == 5) value += static_cast<int>(std::lround(40 * std::sin(i * (0.02 + 0.05 * slope))));
    if (kind >= 6) value += slope * i + (up_to(16) == 0 ? up_to(700) : 0);
    piece.x.push_back((kind == 7 ? -value : value) * unit);
  }
  piece.uniform = up_to(2) == 0;
  const int largest = up_to(2) == 0 ? 8 : 200;
  const bool zeros = up_to(3) == 0;
  const bool narrows = up_to(3) == 0;  // only sometimes, so that chains stay long
  const double lam_unit = unit == 1 ? 0.25 : unit;
  const double lam = up_to(largest) * lam_unit;
  for (int e = 0; e + 1 < n; ++e) {
    double own = up_to(largest) * lam_unit;
    if (narrows) own = up_to(12) == 0 ? std::min(own, lam) : lam;
    if (zeros && up_to(narrows ? 40 : 4) == 0) own = 0;
    piece.lam.push_back(piece.uniform ? lam : own);
  }
  for (double* end : {&piece.u_start, &piece.u_end}) {
    *end = (piece.uniform ? lam : up_to(8)) * (up_to(3) - 1);
  }
  return piece;
}

std::uint64_t seed_of(int trial) {
  return base_seed() + static_cast<std::uint64_t>(trial);
}

TEST(FastTautString, FindsTheExactBordersOfSmallIntegers) {
  for (int trial = 0; trial < 40000; ++trial) {
    const Piece piece = random_piece(seed_of(trial), 1);
    const std::vector<Code> expected = borders_of(piece);
    ASSERT_EQ(pull<double>(piece).codes, expected) << "seed " << seed_of(trial);
    ASSERT_EQ(pull<float>(piece).codes, expected) << "seed " << seed_of(trial);
    if (trial % 16 != 0) continue;
    ASSERT_LT(error_against_reference(piece, expected), 1e-15) << "seed " << seed_of(trial);
  }
}

TEST(FastTautString, FindsARowsBordersInAPieceBetweenTwoOfThem) {
  for (int trial = 0; trial < 10000; ++trial) {
    Piece row = random_piece(seed_of(trial), 1);
    row.u_start = row.u_end = 0;
    const std::vector<Code> codes = pull<double>(row).codes;
    const std::size_t n = row.x.size();
    std::vector<std::size_t> at = {0};
    for (std::size_t k = 1; k < n; ++k) {
      if (codes[k] != Code::continues) at.push_back(k);
    }
    at.push_back(n);
    Random random(seed_of(trial));
    const std::size_t i = random() % (at.size() - 1);
    const std::size_t first = at[i];
    const std::size_t end = at[i + 1 + random() % (at.size() - 1 - i)];
    const auto part = [&](const auto& all, std::size_t from, std::size_t to) {
      return std::vector(all.begin() + static_cast<std::ptrdiff_t>(from),
                         all.begin() + static_cast<std::ptrdiff_t>(to));
    };
    const Piece piece = {.x = part(row.x, first, end),
                         .lam = part(row.lam, first, end - 1),
                         .uniform = row.uniform,
                         .u_start = dual_at(row, codes, first),
                         .u_end = dual_at(row, codes, end)};
    std::vector<Code> expected = part(codes, first, end);
    expected[0] = Code::continues;
    ASSERT_EQ(pull<double>(piece).codes, expected) << "seed " << seed_of(trial);
  }
}

TEST(FastTautString, IsAccurateOnThirds) {
  for (int trial = 0; trial < 4000; ++trial) {
    const Piece piece = random_piece(seed_of(trial), 1.0 / 3);
    ASSERT_LT(error_against_reference(piece, pull<double>(piece).codes), 1e-13)
        << "seed " << seed_of(trial);
  }
}

TEST(FastTautString, IsAccurateWhereLamsOfOneRowDifferWidely) {
  constexpr std::array kSizes = {0.0, 1e-8, 0.1, 1.0, 10.0, 1e4, 1e9, 0x1p450};
  for (int trial = 0; trial < 1000; ++trial) {
    Random random(seed_of(trial));
    Piece piece = {.x = {}, .lam = {}, .uniform = false};
    const int n = 2 + static_cast<int>(random() % 300);
    for (int i = 0; i < n; ++i) {
      piece.x.push_back(std::normal_distribution<double>()(random) + 0.1 * i * (trial % 2));
      if (i > 0) piece.lam.push_back(kSizes[random() % kSizes.size()]);
    }
    ASSERT_LE(error_against_reference(piece, pull<double>(piece).codes), 1e-12)
        << "seed " << seed_of(trial);
  }
}

struct LongFamily {
  const char* name;
  double (*value)(int i, int n, double noise);  // of size about n
};

class LongRows : public ::testing::TestWithParam<LongFamily> {
 protected:
  static Piece make(int n, double lam) {
    Random random(base_seed());
    std::normal_distribution<double> noise;
    Piece piece = {.x = std::vector<double>(static_cast<std::size_t>(n)),
                   .lam = std::vector<double>(static_cast<std::size_t>(n - 1), lam)};
    for (int i = 0; i < n; ++i) {
      piece.x[static_cast<std::size_t>(i)] = GetParam().value(i, n, noise(random));
    }
    return piece;
  }
};

TEST_P(LongRows, OfIntegersHaveTheExactBorders) {
  for (const auto& [n, factor] : {std::pair{4096, 0.25}, std::pair{30000, 1024.0 / 30000}}) {
    for (const double lam : {0.25, 1.75, 30.0, 2000.0, 40000.25}) {
      Piece piece = make(n, lam);
      for (double& value : piece.x) value = std::clamp(std::floor(value * factor), -1024.0, 1024.0);
      const std::vector<Code> expected = borders_of(piece);
      ASSERT_EQ(pull<double>(piece).codes, expected) << n << ", lam " << lam;
      piece.uniform = false;
      ASSERT_EQ(pull<double>(piece).codes, expected) << n << ", lam " << lam;
      Random random(base_seed());
      for (double& own : piece.lam) own = lam + static_cast<double>(random() % 9) / 4;
      ASSERT_EQ(pull<double>(piece).codes, borders_of(piece)) << n << ", lam near " << lam;
    }
  }
}

TEST_P(LongRows, TakeStepsWithinTheBoundWhileNDoubles) {
  for (const double lam : {1.0, 2000.0}) {
    for (int n = 31'250; n <= 1'000'000; n *= 2) {
      Piece piece = make(n, lam);
      const Pulled pulled = pull<double>(piece);
      ASSERT_GE(pulled.steps, 2 * std::int64_t{n - 4}) << n;  // the count counts
      ASSERT_LE(pulled.steps, kStepsASample * n) << n << ", lam " << lam;
      if (n != 1'000'000) continue;
      EXPECT_LE(violation(piece, pulled.codes), 1e-9) << "lam " << lam;
      piece.uniform = false;
      EXPECT_LE(pull<double>(piece).steps, kStepsASample * n) << "by edge, lam " << lam;
    }
  }
}

const LongFamily kLongFamilies[] = {
    {"ramp", [](int i, int, double) { return double(i); }},
    {"falling_ramp_and_noise", [](int i, int, double noise) { return -i + noise; }},
    {"ramp_and_much_noise", [](int i, int, double noise) { return i + 4 * noise; }},
    {"sine", [](int i, int n, double) { return n * std::sin(25.0 * i / n); }},
    {"sine_and_noise",
     [](int i, int n, double noise) { return n * (std::sin(25.0 * i / n) + 0.001 * noise); }},
    {"parabola", [](int i, int n, double) { return (2.0 * i / n - 1) * (2.0 * i / n - 1) * n; }},
    {"noise", [](int, int n, double noise) { return n * noise; }},
    {"steps", [](int i, int n, double noise) { return n * (i / 300 % 3 + 0.05 * noise); }},
    {"zigzag_ramp", [](int i, int, double) { return double(i + 3 * (i % 2)); }},
    {"saw", [](int i, int n, double) { return i % 97 * (i / 97 % 2 == 0 ? 1.0 : -1.0) * n / 97; }},
};

INSTANTIATE_TEST_SUITE_P(Families, LongRows, ::testing::ValuesIn(kLongFamilies),
                         [](const auto& test) { return test.param.name; });

/// Both strings run in a constant expression, as on a device, and find the same number of borders.
constexpr bool same_in_constant_expression() {
  const std::array<float, 24> x = {0,  1,  2,  3,  4,  5,  6, 7, 8, 9, 10, 11,
                                   12, 13, 14, 15, 16, 17, 9, 8, 7, 3, 2,  1};
  int unweighted = 0;
  std::array<detail::Knot, 48> scratch{};
  detail::pull_unweighted_string(x.data(), 24, detail::UniformLam<double>{4}, 0, 0, scratch.data(),
                                 [&](std::int32_t, Code) { ++unweighted; });
  int weighted = 0;
  std::array<float, 25> totals{};
  std::array<std::int32_t, 24> lower{}, upper{};
  detail::PlainSums<float> sums{totals.data()};
  sums.start();
  for (std::int32_t i = 0; i < 24; ++i) sums.append(i, x[static_cast<std::size_t>(i)]);
  detail::pull_taut_string<float>(
      detail::Tube<float, detail::PlainSums<float>, detail::UnitSums<float>,
                   detail::UniformLam<float>>{sums, {}, {4}, 24},
      lower.data(), upper.data(), [&](std::int32_t, Code) { ++weighted; });
  return weighted == unweighted && unweighted > 10;
}
static_assert(same_in_constant_expression());

}  // namespace
}  // namespace tautstring::testing
