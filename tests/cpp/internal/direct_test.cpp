// Counts the work of the direct method: a row on which it is slow costs a constant times its
// length, including the taut string for the rest.
#include "step/direct.h"

#include <gtest/gtest.h>

#include <compare>

#include "step/fast_taut_string.h"
#include "support/rows.h"

namespace tautstring::testing {
namespace {

/// A float64 that counts subtractions.
struct Counting {
  double value = 0;
  static inline std::int64_t subtractions = 0;

  constexpr Counting() = default;
  constexpr Counting(double given) : value(given) {}  // NOLINT(google-explicit-constructor)
  explicit constexpr operator double() const { return value; }

  Counting operator-(Counting other) const {
    ++subtractions;
    return value - other.value;
  }
  constexpr Counting operator-() const { return -value; }
  constexpr Counting operator+(Counting other) const { return value + other.value; }
  constexpr Counting operator*(Counting other) const { return value * other.value; }
  constexpr Counting operator/(Counting other) const { return value / other.value; }
  constexpr Counting& operator+=(Counting other) { return *this = *this + other; }
  constexpr auto operator<=>(const Counting&) const = default;
};

/// Two subtractions per sample read, at most two more where it touches. A sample is read once,
/// again once for the credit that the job starts with, at most 1 << kCreditShift times for the
/// credit it earns, and once more before the job is given up.
constexpr std::int64_t kSubtractionsARead = 4;
constexpr std::int64_t kMostReads = 3 + (1 << detail::kCreditShift);

/// Steps of the taut string per sample (see fast_taut_string_test.cpp).
constexpr std::int64_t kStringStepsASample = 6;

struct Work {
  std::int64_t subtractions = 0;
  std::int64_t string_steps = 0;
  std::int32_t rest = 0;  // samples that were handed over
};

Work solve(const std::vector<Counting>& x, double lam, const std::vector<Counting>& edges) {
  const auto n = static_cast<std::int32_t>(x.size());
  std::vector<Code> codes(x.size());
  Counting::subtractions = 0;
  const detail::HandedOver rest = detail::find_jumps_directly<detail::JobEnd::row, Counting>(
      {.x = x.data(),
       .edge_lam = edges.empty() ? nullptr : edges.data(),
       .first = 0,
       .last = n - 1,
       .lam = lam,
       .u_start = 0,
       .u_end = 0},
      codes.data());
  Work work = {.subtractions = Counting::subtractions};
  if (rest.sample < 0) return work;
  work.rest = n - rest.sample;
  std::vector<detail::Knot> knots(2 * static_cast<std::size_t>(work.rest));
  const std::vector<double> tail(x.begin() + rest.sample, x.end());
  detail::pull_unweighted_string(
      tail.data(), work.rest, detail::UniformLam<double>{lam}, -jump_sign(rest.code) * lam, 0,
      knots.data(), [](std::int32_t, Code) {},
      [&](std::int64_t steps) { work.string_steps += steps; });
  return work;
}

class DirectMethod : public ::testing::TestWithParam<Family> {};

TEST_P(DirectMethod, WorkStaysBelowItsCreditWhileNDoubles) {
  for (const double lam : {1e-3, 1.0, 50.0, 2000.0}) {
    for (int n = 400; n <= 102'400; n *= 2) {
      Random random(base_seed());
      std::vector<Counting> x;
      for (const double value : GetParam().make(random, n)) x.emplace_back(value * n);
      std::vector<Counting> edges(x.size(), lam);
      edges.back() = 0;
      for (const auto& by_edge : {std::vector<Counting>{}, edges}) {
        const Work work = solve(x, lam, by_edge);
        ASSERT_GE(work.subtractions, 2 * std::int64_t{n - work.rest});  // the count counts
        ASSERT_LE(work.subtractions, kSubtractionsARead * kMostReads * n)
            << "n=" << n << " lam=" << lam;
        ASSERT_LE(work.string_steps, kStringStepsASample * work.rest)
            << "n=" << n << " lam=" << lam;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Families, DirectMethod, ::testing::ValuesIn(worst_families()),
                         [](const auto& test) { return test.param.name; });

TEST(DirectMethod, HandsARampOverAfterASmallPartOfIt) {
  std::vector<Counting> ramp;
  for (int i = 0; i < 10000; ++i) ramp.emplace_back(i);
  const Work work = solve(ramp, 2000, {});
  EXPECT_GT(work.rest, 9000);
  EXPECT_LT(work.subtractions, 8 * 10000);
}

TEST(DirectMethod, KeepsNoiseToItself) {
  Random random(base_seed());
  std::vector<Counting> noise;
  for (int i = 0; i < 10000; ++i) noise.emplace_back(std::normal_distribution<double>()(random));
  for (const double lam : {0.05, 1.0, 10.0}) EXPECT_EQ(solve(noise, lam, {}).rest, 0) << lam;
}

}  // namespace
}  // namespace tautstring::testing
