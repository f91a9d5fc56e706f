// The lambda that a criterion selects, against solutions at many lambdas.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/solve.h"
#include "tautstring/error.h"

namespace tautstring::testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

double select(const std::vector<double>& x, Criterion criterion, double sigma = kNan,
              std::int64_t segments = 1, const std::vector<double>& weight = {}) {
  const auto n = static_cast<std::int64_t>(x.size());
  double lam = -1;
  const Status status =
      select_lam1d({.x = view(x.data(), {n}),
                    .criterion = criterion,
                    .sigma = std::isnan(sigma) ? ConstView{} : ConstView(view(&sigma, {1})),
                    .segments = segments,
                    .weight = weight.empty() ? ConstView{} : ConstView(view(weight.data(), {n}))},
                   view(&lam, {1}));
  EXPECT_TRUE(status.ok()) << message(status);
  return lam;
}

/// The loss and the number of segments of the solution at a lambda.
struct Outcome {
  double loss = 0;
  std::int64_t segments = 0;
};

Outcome outcome_at(const std::vector<double>& x, const std::vector<double>& weight, double lam) {
  const Solution solution({"", x, {lam}, weight});
  Outcome outcome;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double w = weight.empty() ? 1 : weight[i];
    if (w > 0) outcome.loss += w * (solution.y[i] - x[i]) * (solution.y[i] - x[i]);
    const Code code = code_at(solution.partition.data(), static_cast<std::int64_t>(i));
    outcome.segments += code == Code::continues ? 0 : 1;
  }
  return outcome;
}

std::vector<double> lams_of_path(const std::vector<double>& x, const std::vector<double>& weight) {
  const auto n = static_cast<std::int64_t>(x.size());
  std::vector<double> lams(x.size() - 1);
  EXPECT_TRUE(path1d(view(x.data(), {n}), view(lams.data(), {n - 1}),
                     weight.empty() ? ConstView{} : ConstView(view(weight.data(), {n})))
                  .ok());
  return lams;
}

/// Steps and noise, with ones, random or partly missing weights.
struct Signal {
  Signal(Random& random, int n, double sigma, WeightKind kind) {
    std::normal_distribution<double> noise(0, sigma);
    double level = 0;
    for (int i = 0; i < n; ++i) {
      if (i % 17 == 0) level = std::normal_distribution<double>(0, 2)(random);
      clean.push_back(level);
      if (kind != WeightKind::none) {
        const bool is_missing = kind == WeightKind::with_missing && random() % 5 == 0;
        weight.push_back(is_missing ? 0 : 0.5 + static_cast<double>(random() % 4));
      }
      const double w = weight.empty() ? 1 : weight.back();
      x.push_back(w == 0 ? kNan : level + noise(random) / std::sqrt(w));
    }
  }
  [[nodiscard]] double present() const {
    return static_cast<double>(
        std::count_if(x.begin(), x.end(), [](double value) { return !std::isnan(value); }));
  }
  std::vector<double> clean, x, weight;
};

class Select : public ::testing::TestWithParam<WeightKind> {};

/// No lambda, and in particular none at which a jump closes, has a lower cost.
TEST_P(Select, FindsTheLowestCostOfAllLambdas) {
  Random random(base_seed());
  for (int k = 0; k < 40; ++k) {
    const double sigma = 0.1 * (1 + k % 10);
    const Signal signal(random, 60, sigma, GetParam());
    for (const Criterion criterion : {Criterion::sure, Criterion::bic}) {
      const double price =
          sigma * sigma * (criterion == Criterion::sure ? 2 : std::log(signal.present()));
      const auto cost_at = [&](double lam) {
        const Outcome outcome = outcome_at(signal.x, signal.weight, lam);
        return outcome.loss + price * static_cast<double>(outcome.segments);
      };
      const double lam = select(signal.x, criterion, sigma, 1, signal.weight);
      const double cost = cost_at(lam * (1 + 1e-12));  // just after the jump has closed
      for (const double other : lams_of_path(signal.x, signal.weight)) {
        for (const double factor : {1 + 1e-12, 1.01, 0.99}) {
          if (other > 0) {
            EXPECT_GE(cost_at(other * factor), cost * (1 - 1e-9));
          }
        }
      }
    }
  }
}

TEST_P(Select, MeetsTheDiscrepancy) {
  Random random(base_seed());
  for (int k = 0; k < 40; ++k) {
    const Signal signal(random, 80, 0.4, GetParam());
    const double lam = select(signal.x, Criterion::discrepancy, 0.4, 1, signal.weight);
    const double allowed = signal.present() * 0.4 * 0.4;
    EXPECT_NEAR(outcome_at(signal.x, signal.weight, lam).loss, allowed, 1e-9 * allowed);
  }
}

TEST_P(Select, FindsTheSmallestLamWithSoManySegments) {
  Random random(base_seed());
  const Signal signal(random, 80, 0.4, GetParam());
  for (const std::int64_t most : {1, 2, 5, 20}) {
    const double lam = select(signal.x, Criterion::segments, kNan, most, signal.weight);
    EXPECT_LE(outcome_at(signal.x, signal.weight, lam * (1 + 1e-9)).segments, most);
    EXPECT_GT(outcome_at(signal.x, signal.weight, lam * (1 - 1e-9)).segments, most);
  }
}

TEST_P(Select, EstimatesSigma) {
  Random random(base_seed());
  for (const double sigma : {0.1, 0.4, 3.0}) {
    const Signal signal(random, 20000, sigma, GetParam());
    double found = 0;
    ASSERT_TRUE(estimate_sigma1d(view(signal.x.data(), {20000}), view(&found, {1}),
                                 signal.weight.empty()
                                     ? ConstView{}
                                     : ConstView(view(signal.weight.data(), {20000})))
                    .ok());
    // Jumps of size 2 at one sample in 17 are in three second differences each.
    EXPECT_NEAR(found, sigma, 0.2 * sigma);
    EXPECT_EQ(select(signal.x, Criterion::sure, kNan, 1, signal.weight),
              select(signal.x, Criterion::sure, found, 1, signal.weight));
  }
}

INSTANTIATE_TEST_SUITE_P(Weights, Select,
                         ::testing::Values(WeightKind::none, WeightKind::positive,
                                           WeightKind::with_missing));

double squared_error(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

/// On average over the noise, loss + 2 sigma^2 segments - n sigma^2 is the error of the solution.
TEST(Sure, IsUnbiased) {
  constexpr int kTrials = 4000;
  constexpr int kLength = 50;
  constexpr double kSigma = 0.5;
  Random random(base_seed());
  std::normal_distribution<double> noise(0, kSigma);
  std::vector<double> clean(kLength);
  for (int i = 0; i < kLength; ++i)
    clean[static_cast<std::size_t>(i)] = i < 20 ? 0 : i < 35 ? 2 : 1;
  for (const double lam : {0.2, 1.0, 3.0}) {
    double difference = 0;
    double squares = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      std::vector<double> x = clean;
      for (double& value : x) value += noise(random);
      const Outcome outcome = outcome_at(x, {}, lam);
      const double estimate = outcome.loss +
                              2 * kSigma * kSigma * static_cast<double>(outcome.segments) -
                              kLength * kSigma * kSigma;
      const double error = squared_error(Solution({"", x, {lam}, {}}).y, clean);
      difference += estimate - error;
      squares += (estimate - error) * (estimate - error);
    }
    const double deviation = std::sqrt(squares / kTrials / kTrials);
    EXPECT_LT(std::abs(difference / kTrials), 4 * deviation) << lam;
  }
}

/// The error at the selected lambda, beside that of the best lambda of each signal.
TEST(Sure, SelectsNearlyTheBestLam) {
  Random random(base_seed());
  double selected = 0;
  double best = 0;
  for (int trial = 0; trial < 100; ++trial) {
    const Signal signal(random, 400, 0.5, WeightKind::none);
    const auto error_at = [&](double lam) {
      return squared_error(Solution({"", signal.x, {lam}, {}}).y, signal.clean);
    };
    selected += error_at(select(signal.x, Criterion::sure, 0.5));
    double lowest = std::numeric_limits<double>::infinity();
    for (double lam = 0.05; lam < 20; lam *= 1.05) lowest = std::min(lowest, error_at(lam));
    best += lowest;
  }
  EXPECT_LT(selected, 1.05 * best);
}

TEST(SelectOf, ConstantAndShortRows) {
  EXPECT_EQ(select({3, 3, 3}, Criterion::sure, 1), 0);
  EXPECT_EQ(select({5}, Criterion::segments), 0);
  EXPECT_EQ(select({5, 9}, Criterion::segments), 2);
  EXPECT_EQ(select({0, 1, 0, 1}, Criterion::discrepancy, 100),
            select({0, 1, 0, 1}, Criterion::segments));
  EXPECT_EQ(select({0, 1, 0, 1}, Criterion::discrepancy, 0), 0);
  EXPECT_TRUE(std::isnan(select({5, 9}, Criterion::sure))) << "no sigma is known";
  EXPECT_TRUE(std::isnan(select({5, kNan, 9}, Criterion::sure, 1)));
  EXPECT_TRUE(std::isnan(select({5, 9}, Criterion::sure, 1, 1, {0, 0})));
}

TEST(SelectOf, ScalesWithTheSamples) {
  Random random(base_seed());
  const Signal signal(random, 60, 0.5, WeightKind::none);
  const double lam = select(signal.x, Criterion::sure, 0.5);
  for (const double factor : {0x1p-900, 0x1p-20, 0x1p900}) {
    std::vector<double> x = signal.x;
    for (double& value : x) value *= factor;
    EXPECT_EQ(select(x, Criterion::sure, 0.5 * factor), lam * factor);
  }
}

TEST(SelectOf, SigmaMayDifferByRow) {
  Random random(base_seed());
  const Signal signal(random, 60, 0.5, WeightKind::none);
  std::vector<double> x = signal.x;
  x.insert(x.end(), signal.x.begin(), signal.x.end());
  const std::vector<double> sigma = {0.2, 0.8};
  std::vector<float> lam(2);
  ThreadExecutor executor(2);
  ASSERT_TRUE(select_lam1d({.x = view(x.data(), {2, 60}), .sigma = view(sigma.data(), {2, 1})},
                           view(lam.data(), {2, 1}), {.executor = &executor})
                  .ok());
  EXPECT_EQ(lam[0], static_cast<float>(select(signal.x, Criterion::sure, 0.2)));
  EXPECT_EQ(lam[1], static_cast<float>(select(signal.x, Criterion::sure, 0.8)));
}

TEST(SelectOf, BadArgumentsAreNamed) {
  const std::vector<double> x = {1, 2, 3};
  double lam = 7;
  const View out = view(&lam, {1});
  const ConstView row = view(x.data(), {3});
  const auto argument = [](const Status& status) { return std::string(status.argument); };
  EXPECT_EQ(argument(select_lam1d({}, out)), "x");
  EXPECT_EQ(argument(select_lam1d({.x = row}, {})), "lam");
  EXPECT_EQ(argument(select_lam1d({.x = row, .segments = 0}, out)), "segments");
  const double negative = -1;
  EXPECT_EQ(argument(select_lam1d({.x = row, .sigma = view(&negative, {1})}, out)), "sigma");
  EXPECT_EQ(argument(select_lam1d({.x = row, .sigma = row}, out)), "sigma");
  EXPECT_EQ(argument(select_lam1d({.x = row, .weight = view(&negative, {1})}, out)), "weight");
  EXPECT_EQ(argument(estimate_sigma1d(row, {})), "sigma");
  EXPECT_EQ(argument(select_lam1d({.x = row, .dim = 2}, out)), "dim");
  EXPECT_EQ(lam, 7);
}

}  // namespace
}  // namespace tautstring::testing
