// Gradients against central differences in float64, the jvp as the adjoint of
// the backward, and the closed forms at ties.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/solve.h"
#include "tautstring/error.h"

namespace tautstring::testing {
namespace {

struct Gradients {
  std::vector<double> x, lam, weight;
};

Gradients backward(const Solution& solution, const std::vector<double>& grad_y, std::size_t lams) {
  const auto n = static_cast<std::int64_t>(grad_y.size());
  Gradients result{std::vector<double>(grad_y.size()), std::vector<double>(lams), {}};
  if (solution.weighted) result.weight.resize(grad_y.size());
  const Status status =
      prox_tv1d_backward(solution.solved(), view(grad_y.data(), {n}),
                         {.x = view(result.x.data(), {n}),
                          .lam = view(result.lam.data(), {static_cast<std::int64_t>(lams)}),
                          .weight = solution.weighted ? view(result.weight.data(), {n}) : View{}});
  EXPECT_TRUE(status.ok()) << message(status);
  return result;
}

std::vector<double> random_vector(Random& random, std::size_t size) {
  std::vector<double> values(size);
  for (double& value : values) value = std::normal_distribution<double>()(random);
  return values;
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

struct Kind {
  const char* name;
  LamKind lam;
  WeightKind weight;
  Mode mode;
};

class Gradient : public ::testing::TestWithParam<Kind> {
 protected:
  /// Calls check(row, solution, random) on rows away from ties.
  template <class Check>
  void for_each_row(Check check) {
    for (int i = 0; i < 150; ++i) {
      const std::uint64_t seed = base_seed() + static_cast<std::uint64_t>(i);
      Row row = random_row(seed, 25, GetParam().lam, GetParam().weight);
      Random random(seed);
      // Near 0, where differences of y keep their digits, and with noise everywhere. Ties are rare,
      // and rows with ties are skipped.
      const double origin = row.x[0];
      for (double& value : row.x) value -= origin;
      const double size = range_of(row.x) + 1e-3;
      for (double& value : row.x) value += 0.3 * size * std::normal_distribution<double>()(random);
      SCOPED_TRACE(row.name);
      check(row, Solution(row, DType::float64, GetParam().mode), random);
      if (HasFailure()) return;
    }
  }

  /// Compares each element of a gradient with its central difference.
  void compare(Row& row, std::vector<double>& arguments, const std::vector<double>& gradient,
               const std::vector<double>& grad_y, double scale) {
    double size = 0;
    for (const double g : gradient) size = std::max(size, std::abs(g));
    for (std::size_t k = 0; k < arguments.size(); ++k) {
      if (!(arguments[k] > 0 || &arguments == &row.x) || std::isinf(arguments[k])) continue;
      const double step = 1e-5 * (&arguments == &row.x ? scale : arguments[k]);
      Row copy = row;
      double& argument = &arguments == &row.x     ? copy.x[k]
                         : &arguments == &row.lam ? copy.lam[k]
                                                  : copy.weight[k];
      // `evaluate` solves with the changed argument.
      const auto evaluate = [&](double value) {
        argument = value;
        return Solution(copy, DType::float64, GetParam().mode);
      };
      const Solution up = evaluate(arguments[k] + step);
      const Solution down = evaluate(arguments[k] - step);
      if (up.partition != down.partition) continue;  // no derivative to compare with
      const double difference = (dot(grad_y, up.y) - dot(grad_y, down.y)) / (2 * step);
      // The second order of the difference, and the rounding of y over the step.
      const double tolerance = 1e-6 * (size + std::abs(difference)) + 1e-14 * scale / step;
      ASSERT_NEAR(gradient[k], difference, tolerance) << "element " << k;
      ++compared_;
    }
  }
  int compared_ = 0;
};

TEST_P(Gradient, OfXMatchesCentralDifferences) {
  for_each_row([&](Row& row, const Solution& solution, Random& random) {
    const std::vector<double> grad_y = random_vector(random, row.x.size());
    const Gradients gradients = backward(solution, grad_y, row.lam.size());
    compare(row, row.x, gradients.x, grad_y, range_of(row.x) + 1e-3);
  });
  EXPECT_GT(compared_, 500);
}

TEST_P(Gradient, OfLamMatchesCentralDifferences) {
  for_each_row([&](Row& row, const Solution& solution, Random& random) {
    if (row.lam.empty()) return;
    const std::vector<double> grad_y = random_vector(random, row.x.size());
    const Gradients gradients = backward(solution, grad_y, row.lam.size());
    compare(row, row.lam, gradients.lam, grad_y, range_of(row.x) + 1e-3);
  });
  EXPECT_GT(compared_, 50);
}

class WeightGradient : public Gradient {};

TEST_P(WeightGradient, OfWeightMatchesCentralDifferences) {
  for_each_row([&](Row& row, const Solution& solution, Random& random) {
    const std::vector<double> grad_y = random_vector(random, row.x.size());
    const Gradients gradients = backward(solution, grad_y, row.lam.size());
    compare(row, row.weight, gradients.weight, grad_y, range_of(row.x) + 1e-3);
  });
  EXPECT_GT(compared_, 500);
}

TEST_P(Gradient, JvpIsTheAdjointOfBackward) {
  for_each_row([&](Row& row, const Solution& solution, Random& random) {
    const auto n = static_cast<std::int64_t>(row.x.size());
    const std::vector<double> grad_y = random_vector(random, row.x.size());
    const std::vector<double> dx = random_vector(random, row.x.size());
    const std::vector<double> dlam = random_vector(random, row.lam.size());
    const std::vector<double> dweight = random_vector(random, row.weight.size());
    std::vector<double> dy(row.x.size());
    const Status status =
        prox_tv1d_jvp(solution.solved(),
                      {.x = view(dx.data(), {n}),
                       .lam = view(dlam.data(), {static_cast<std::int64_t>(dlam.size())}),
                       .weight = solution.weighted ? view(dweight.data(), {n}) : ConstView{}},
                      view(dy.data(), {n}));
    ASSERT_TRUE(status.ok()) << message(status);
    const Gradients gradients = backward(solution, grad_y, row.lam.size());
    const double forward = dot(grad_y, dy);
    const double reverse =
        dot(gradients.x, dx) + dot(gradients.lam, dlam) + dot(gradients.weight, dweight);
    double size = 1;
    for (std::size_t i = 0; i < dy.size(); ++i) size += std::abs(grad_y[i] * dy[i]);
    for (std::size_t i = 0; i < dweight.size(); ++i)
      size += std::abs(gradients.weight[i] * dweight[i]);
    ASSERT_NEAR(forward, reverse, 1e-11 * size);
  });
}

constexpr Kind kKinds[] = {
    {"Weights", LamKind::uniform, WeightKind::positive, Mode::smooth},
    {"WeightsAndEdges", LamKind::edges, WeightKind::positive, Mode::smooth},
    {"Missing", LamKind::edges, WeightKind::with_missing, Mode::smooth},
    {"SharpenMissing", LamKind::edges, WeightKind::with_missing, Mode::sharp},
    // without weights
    {"Uniform", LamKind::uniform, WeightKind::none, Mode::smooth},
    {"Edges", LamKind::edges_with_zero_and_infinity, WeightKind::none, Mode::smooth},
    {"Sharpen", LamKind::uniform, WeightKind::none, Mode::sharp},
};
const auto kName = [](const auto& test) { return test.param.name; };
INSTANTIATE_TEST_SUITE_P(Kinds, Gradient, ::testing::ValuesIn(kKinds), kName);
INSTANTIATE_TEST_SUITE_P(Kinds, WeightGradient, ::testing::ValuesIn(kKinds, kKinds + 4), kName);

TEST(GradientRules, OfXIsTheGradientItselfBitForBitAtLamZero) {
  Random random(base_seed());
  for (const Mode mode : {Mode::smooth, Mode::sharp}) {
    for (const bool weighted : {false, true}) {
      Row row{"", random_vector(random, 1000), {0}, {}};
      if (weighted) {
        for (const double value : random_vector(random, 1000))
          row.weight.push_back(std::exp(value));
      }
      std::vector<double> grad_y = random_vector(random, 1000);
      grad_y[0] = -0.0;
      grad_y[1] = std::numeric_limits<double>::infinity();
      grad_y[2] = std::numeric_limits<double>::max();
      const Solution solution(row, DType::float64, mode);
      const std::vector<double> gradient = backward(solution, grad_y, 1).x;
      EXPECT_EQ(gradient, grad_y);
      EXPECT_TRUE(std::signbit(gradient[0]));
    }
  }
}

TEST(GradientRules, OfLamAtZeroUsesTheSignsOfXAndNoneAtTies) {
  // d/dlam of y at lam 0: an up-jump after 0, a tie, a down-jump before the last sample.
  const Gradients gradients =
      backward(Solution(Row{"", {0, 2, 2, 1}, {0}, {}}), {1, 10, 100, 1000}, 3);
  EXPECT_EQ(gradients.lam, (std::vector<double>{1 - 10, 0, 1000 - 100}));
}

TEST(GradientRules, OfARowIsTheSumOverItsEdges) {
  for (int i = 0; i < 200; ++i) {
    const Row row = random_row(base_seed() + static_cast<std::uint64_t>(i), 100, LamKind::uniform,
                               i % 2 == 0 ? WeightKind::none : WeightKind::with_missing);
    if (row.x.size() < 3) continue;
    Random random(base_seed());
    const std::vector<double> grad_y = random_vector(random, row.x.size());
    const Solution solution(row);
    const Gradients whole = backward(solution, grad_y, 1);
    const Gradients edges = backward(solution, grad_y, row.x.size() - 1);
    double sum = 0;
    double size = 0;
    for (const double g : edges.lam) {
      sum += g;
      size += std::abs(g);
    }
    ASSERT_NEAR(whole.lam[0], sum, 1e-11 * size) << row.name;
  }
}

TEST(GradientRules, DependsOnThePartitionAloneWithoutWeights) {
  const Solution solution(Row{"", {1, 2, 8, 9}, {1}, {}});
  const std::vector<double> grad_y = {1, 2, 3, 5};
  EXPECT_EQ(backward(solution, grad_y, 1).x, (std::vector<double>{1.5, 1.5, 4, 4}));
}

TEST(GradientRules, AreWithinToleranceFarFromZero) {
  // Gradients and tangents 1e6 + [0, 1] against their means in extended precision.
  for (const bool weighted : {false, true}) {
    Random random(base_seed());
    Row row{"", families()[0].make(random, 4096), {20.0}, {}};
    if (weighted) row.weight.assign(row.x.size(), 1);
    const Solution solution(row);
    std::vector<double> grad_y(row.x.size()), expected(row.x.size()), tangent(row.x.size());
    for (double& g : grad_y) g = 1e6 + std::uniform_real_distribution<double>()(random);
    const std::vector<Code> codes = solution.codes();
    for (std::size_t first = 0, last = 0; first < codes.size(); first = last) {
      long double sum = 0;
      for (last = first; last == first || (last < codes.size() && codes[last] == Code::continues);
           ++last) {
        sum += grad_y[last];
      }
      const auto mean = static_cast<double>(sum / static_cast<long double>(last - first));
      std::fill(expected.begin() + static_cast<std::ptrdiff_t>(first),
                expected.begin() + static_cast<std::ptrdiff_t>(last), mean);
    }
    const Gradients gradients = backward(solution, grad_y, 1);
    ASSERT_TRUE(prox_tv1d_jvp(solution.solved(), {.x = view(grad_y.data(), {4096})},
                              view(tangent.data(), {4096}))
                    .ok());
    const double tolerance = 1e-12 + unit_in_last_place(DType::float64, 1e6);
    for (std::size_t i = 0; i < grad_y.size(); ++i) {
      ASSERT_NEAR(gradients.x[i], expected[i], tolerance);
      ASSERT_NEAR(tangent[i], expected[i], tolerance);
    }
  }
}

TEST(GradientRules, OfExtremeWeightsAreFinite) {
  for (const double weight : {1e308, 1e-308, 5e-324}) {
    const Row row{"", {1, 2}, {std::numeric_limits<double>::infinity()}, {weight, weight}};
    const Solution solution(row);
    const std::vector<double> grad_y = {1, 1}, dx = {1, 3};
    for (const double g : backward(solution, grad_y, 1).x) EXPECT_DOUBLE_EQ(g, 1);
    std::vector<double> dy(2);
    ASSERT_TRUE(
        prox_tv1d_jvp(solution.solved(), {.x = view(dx.data(), {2})}, view(dy.data(), {2})).ok());
    EXPECT_EQ(dy, (std::vector<double>{2, 2}));
  }
}

TEST(GradientRules, InPlaceGivesTheSameBits) {
  const Solution solution(Row{"", {1, 2, 8, 9, 3}, {1}, {}});
  std::vector<double> grad = {1, 2, 3, 5, 8};
  const Gradients apart = backward(solution, grad, 1);
  ASSERT_TRUE(
      prox_tv1d_backward(solution.solved(), view(grad.data(), {5}), {.x = view(grad.data(), {5})})
          .ok());
  EXPECT_EQ(grad, apart.x);
}

TEST(GradientRules, OnlyWhatIsAskedForIsComputed) {
  const Solution solution(Row{"", {1, 2, 8, 9}, {1}, {}});
  const std::vector<double> grad_y = {1, 2, 3, 5};
  std::vector<double> lam(1);
  ASSERT_TRUE(prox_tv1d_backward(solution.solved(), view(grad_y.data(), {4}),
                                 {.lam = view(lam.data(), {1})})
                  .ok());
  EXPECT_EQ(lam[0], 1.5 - 4.0);
}

TEST(GradientRules, OfRowsWithoutSamplesIsZeroForLam) {
  for (const Mode mode : {Mode::smooth, Mode::sharp}) {
    const View none = view(static_cast<double*>(nullptr), {2, 0});
    std::vector<double> lam(2, 9);
    ASSERT_TRUE(prox_tv1d_backward({.partition = {}, .mode = mode}, none,
                                   {.x = none, .lam = view(lam.data(), {2, 1})})
                    .ok());
    EXPECT_EQ(lam, (std::vector<double>{0, 0}));
    ASSERT_TRUE(prox_tv1d_jvp({.partition = {}, .mode = mode}, {.x = none}, none).ok());
  }
}

TEST(GradientRules, TangentsNotGivenAreZero) {
  const Solution solution(Row{"", {1, 2, 8, 9}, {1}, {}});
  std::vector<double> dlam = {1}, dy(4);
  ASSERT_TRUE(
      prox_tv1d_jvp(solution.solved(), {.lam = view(dlam.data(), {1})}, view(dy.data(), {4})).ok());
  EXPECT_EQ(dy, (std::vector<double>{0.5, 0.5, -0.5, -0.5}));
  ASSERT_TRUE(prox_tv1d_jvp(solution.solved(), {}, view(dy.data(), {4})).ok());
  EXPECT_EQ(dy, (std::vector<double>{0, 0, 0, 0}));
}

/// The gradients of a batch in one dtype and layout, as float64: x, then lam of every row.
std::vector<double> gradients_of_batch(DType dtype, bool columns, bool edges, Mode mode,
                                       const Context& context = {}) {
  constexpr std::int64_t kRows = 70;
  constexpr std::int64_t kLength = 53;
  Random random(base_seed());
  const std::vector<double> x = random_vector(random, kRows * kLength);
  std::vector<double> grad = random_vector(random, kRows * kLength);
  for (double& value : grad) value = static_cast<double>(static_cast<float>(value));
  std::vector<double> y(x.size());
  std::vector<std::uint32_t> partition(kRows * partition_words(kLength));
  EXPECT_TRUE(prox_tv1d({.x = view(x.data(), {kRows, kLength}), .lam = 1.0},
                        view(y.data(), {kRows, kLength}), partition)
                  .ok());
  const std::int64_t lams = edges ? kLength - 1 : 1;
  const auto put = [&](const std::vector<double>& rows, std::int64_t n) {
    std::vector<double> laid_out(rows.size());
    for (std::int64_t r = 0; r < kRows; ++r) {
      for (std::int64_t i = 0; i < n; ++i) {
        laid_out[static_cast<std::size_t>(columns ? i * kRows + r : r * n + i)] =
            rows[static_cast<std::size_t>(r * n + i)];
      }
    }
    return laid_out;
  };
  const auto shaped = [&](Array& array, std::int64_t n) {
    return columns ? array.view({n, kRows}) : array.view({kRows, n});
  };
  Array grad_y(dtype, put(grad, kLength));
  Array grad_x(dtype, x.size());
  Array grad_lam(dtype, static_cast<std::size_t>(kRows * lams));
  const Status status = prox_tv1d_backward(
      {.partition = partition, .dim = columns ? 0 : 1, .mode = mode}, shaped(grad_y, kLength),
      {.x = shaped(grad_x, kLength), .lam = shaped(grad_lam, lams)}, context);
  EXPECT_TRUE(status.ok()) << message(status);
  const auto taken = [&](const Array& array, std::int64_t n) {
    const std::vector<double> values = array.values();
    std::vector<double> rows(values.size());
    for (std::int64_t r = 0; r < kRows; ++r) {
      for (std::int64_t i = 0; i < n; ++i) {
        rows[static_cast<std::size_t>(r * n + i)] =
            values[static_cast<std::size_t>(columns ? i * kRows + r : r * n + i)];
      }
    }
    return rows;
  };
  std::vector<double> result = taken(grad_x, kLength);
  for (const double value : taken(grad_lam, lams)) result.push_back(value);
  return result;
}

TEST(GradientRules, FollowAnyLayoutWithTheSameBits) {
  for (const DType dtype : {DType::float64, DType::float32, DType::float16, DType::bfloat16}) {
    for (const bool edges : {false, true}) {
      for (const Mode mode : {Mode::smooth, Mode::sharp}) {
        EXPECT_EQ(gradients_of_batch(dtype, false, edges, mode),
                  gradients_of_batch(dtype, true, edges, mode));
      }
    }
  }
}

TEST(GradientRules, OfEveryDtypeAreThoseOfFloat64) {
  for (const bool edges : {false, true}) {
    for (const Mode mode : {Mode::smooth, Mode::sharp}) {
      const std::vector<double> exact = gradients_of_batch(DType::float64, false, edges, mode);
      const auto compare = [&](DType dtype, double tolerance) {
        const std::vector<double> given = gradients_of_batch(dtype, true, edges, mode);
        ASSERT_EQ(given.size(), exact.size());
        for (std::size_t i = 0; i < exact.size(); ++i) {
          ASSERT_NEAR(given[i], exact[i], tolerance * (1 + std::abs(exact[i]))) << i;
        }
      };
      compare(DType::float32, 2e-6);
      compare(DType::float16, 4e-3);
      compare(DType::bfloat16, 3e-2);
    }
  }
}

TEST(GradientRules, HaveTheSameBitsForAnyNumberOfThreads) {
  for (const DType dtype : {DType::float64, DType::float32}) {
    const auto alone = gradients_of_batch(dtype, false, true, Mode::smooth);
    for (const int threads : {1, 2, 3}) {
      ThreadExecutor executor(threads);
      EXPECT_EQ(gradients_of_batch(dtype, false, true, Mode::smooth, {.executor = &executor}),
                alone);
    }
  }
}

}  // namespace
}  // namespace tautstring::testing
