// The 2D oracle itself. Its results are proved by their duals, in integers alone. They are compared
// with all candidates on tiny images, with the 1D oracle on rows and columns, and with each other
// if the problem is symmetric.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "reference/tv1d_reference.h"
#include "reference/tv2d_reference.h"
#include "support/rows.h"

namespace tautstring::testing {
namespace {

using reference::ExactSolution2d;
using reference::Fraction;
using reference::IntegerProblem2d;
using Integers = std::vector<std::int64_t>;

struct Shape {
  std::int64_t height;
  std::int64_t width;
};

/// From `low` to `high`, both inclusive.
std::int64_t integer(Random& random, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

template <class Element>
Integers generate(std::int64_t size, Element element) {
  Integers values;
  for (std::int64_t i = 0; i < size; ++i) values.push_back(element(i));
  return values;
}

constexpr int kKindsOfX = 7;
Integers random_x(Random& random, Shape shape, int kind) {
  const std::int64_t size = std::array{2, 10, 1000, 1 << 20}[random() % 4];
  const std::int64_t level = integer(random, -size, size);
  return generate(shape.height * shape.width, [&](std::int64_t i) -> std::int64_t {
    const std::int64_t row = i / shape.width;
    const std::int64_t col = i % shape.width;
    switch (kind) {
      case 0: return integer(random, -size, size);
      case 1: return integer(random, 0, 2);  // many ties
      case 2: return level;
      case 3: return (row + col) % 2 == 0 ? size : -size;  // a checkerboard
      case 4: return size * ((row / 3 + col / 4) % 3) / 2 + integer(random, -size / 8, size / 8);
      case 5: return row * row + 3 * col;
      default: return random() % 16 == 0 ? size : 0;  // spikes
    }
  });
}

constexpr int kKindsOfLam = 6;
Integers random_lam(Random& random, std::int64_t edges, int kind) {
  const std::int64_t size = std::array{1, 4, 300, 1 << 19}[random() % 4];
  const std::int64_t shared = integer(random, 0, size);
  return generate(edges, [&](std::int64_t) -> std::int64_t {
    switch (kind) {
      case 0: return shared;
      case 1: return integer(random, 1, size);
      case 2: return random() % 3 == 0 ? 0 : integer(random, 0, size);
      case 3: return random() % 4 == 0 ? std::int64_t{1} << 30 : integer(random, 0, size);
      case 4: return std::int64_t{1} << 30;
      default: return 0;
    }
  });
}

IntegerProblem2d problem_of(Shape shape, Integers x, Integers lam_rows, Integers lam_cols) {
  return {.height = shape.height,
          .width = shape.width,
          .x = std::move(x),
          .lam_rows = std::move(lam_rows),
          .lam_cols = std::move(lam_cols)};
}

IntegerProblem2d random_problem(Random& random, Shape shape, int kind_of_x, int kind_of_lam) {
  const std::int64_t along_rows = shape.height * (shape.width - 1);
  const std::int64_t along_cols = (shape.height - 1) * shape.width;
  return problem_of(shape, random_x(random, shape, kind_of_x),
                    random_lam(random, along_rows, kind_of_lam),
                    random_lam(random, along_cols, kind_of_lam));
}

struct Edge {
  std::size_t first;
  std::size_t second;
  std::int64_t lam;
};

/// Along rows first, then along columns, as the problem has them.
std::vector<Edge> edges_of(const IntegerProblem2d& problem) {
  const auto height = static_cast<std::size_t>(problem.height);
  const auto width = static_cast<std::size_t>(problem.width);
  std::vector<Edge> edges;
  for (std::size_t row = 0; row < height; ++row) {
    for (std::size_t col = 0; col + 1 < width; ++col) {
      const std::size_t first = row * width + col;
      edges.push_back({first, first + 1, problem.lam_rows[row * (width - 1) + col]});
    }
  }
  for (std::size_t row = 0; row + 1 < height; ++row) {
    for (std::size_t col = 0; col < width; ++col) {
      const std::size_t first = row * width + col;
      edges.push_back({first, first + width, problem.lam_cols[first]});
    }
  }
  return edges;
}

Fraction y_at(const ExactSolution2d& solution, std::size_t pixel) {
  return solution.components[solution.labels[pixel]];
}

/// The sign of b - a.
int sign_of_step(const Fraction& a, const Fraction& b) {
  const std::int64_t left = a.numerator * b.denominator;
  const std::int64_t right = b.numerator * a.denominator;
  return static_cast<int>(right > left) - static_cast<int>(right < left);
}

void expect_optimal(const IntegerProblem2d& problem, const ExactSolution2d& solution) {
  const std::vector<Edge> edges = edges_of(problem);
  ASSERT_EQ(solution.labels.size(), problem.x.size());
  ASSERT_EQ(solution.exact_u.size(), problem.lam_rows.size());
  ASSERT_EQ(solution.exact_v.size(), problem.lam_cols.size());
  std::vector<Fraction> duals = solution.exact_u;
  duals.insert(duals.end(), solution.exact_v.begin(), solution.exact_v.end());

  // x - y minus the duals around a pixel, times the number of pixels of its component.
  Integers rest;
  for (std::size_t i = 0; i < problem.x.size(); ++i) {
    const Fraction y = y_at(solution, i);
    ASSERT_GT(y.denominator, 0);
    rest.push_back(problem.x[i] * y.denominator - y.numerator);
  }
  for (std::size_t e = 0; e < edges.size(); ++e) {
    const auto [first, second, lam] = edges[e];
    const Fraction dual = duals[e];
    ASSERT_GT(dual.denominator, 0);
    EXPECT_LE(std::abs(dual.numerator), lam * dual.denominator);
    const int jump = sign_of_step(y_at(solution, first), y_at(solution, second));
    if (jump != 0) {
      EXPECT_EQ(dual.numerator, jump * lam * dual.denominator);
    }
    for (const auto& [pixel, sign] : {std::pair{first, -1}, std::pair{second, 1}}) {
      const std::int64_t size = y_at(solution, pixel).denominator;
      ASSERT_EQ(size % dual.denominator, 0);
      rest[pixel] -= sign * dual.numerator * (size / dual.denominator);
    }
  }
  EXPECT_EQ(rest, Integers(rest.size(), 0));
}

/// A label for each set of pixels that are joined by `edges`: its smallest pixel.
template <class Joins>
std::vector<std::size_t> joined(std::size_t pixels, const std::vector<Edge>& edges, Joins joins) {
  std::vector<std::size_t> labels(pixels);
  std::iota(labels.begin(), labels.end(), std::size_t{0});
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t e = 0; e < edges.size(); ++e) {
      std::size_t& first = labels[edges[e].first];
      std::size_t& second = labels[edges[e].second];
      if (first == second || !joins(e)) continue;
      first = second = std::min(first, second);
      changed = true;
    }
  }
  return labels;
}

void expect_components_of_equal_values(const IntegerProblem2d& problem,
                                       const ExactSolution2d& solution) {
  const std::vector<Edge> edges = edges_of(problem);
  const std::vector<std::size_t> expected = joined(problem.x.size(), edges, [&](std::size_t e) {
    return edges[e].lam > 0 &&
           sign_of_step(y_at(solution, edges[e].first), y_at(solution, edges[e].second)) == 0;
  });
  Integers sizes(solution.components.size(), 0);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(solution.labels[i], solution.labels[expected[i]]);
    if (expected[i] != i) continue;
    // The first pixel of a set. No other set has its label.
    EXPECT_EQ(sizes[solution.labels[i]], 0);
    sizes[solution.labels[i]] = std::ranges::count(expected, i);
  }
  for (std::size_t c = 0; c < sizes.size(); ++c) {
    EXPECT_EQ(sizes[c], solution.components[c].denominator);
  }
}

void expect_rounded_as_exact(const ExactSolution2d& solution) {
  ASSERT_EQ(solution.y.size(), solution.labels.size());
  for (std::size_t i = 0; i < solution.y.size(); ++i) {
    EXPECT_EQ(solution.y[i], y_at(solution, i).value());
  }
  for (const auto& [rounded, exact] :
       {std::pair{&solution.u, &solution.exact_u}, std::pair{&solution.v, &solution.exact_v}}) {
    ASSERT_EQ(rounded->size(), exact->size());
    for (std::size_t e = 0; e < exact->size(); ++e) EXPECT_EQ((*rounded)[e], (*exact)[e].value());
  }
}

/// Checks everything that the oracle promises.
void expect_proved(const IntegerProblem2d& problem) {
  const ExactSolution2d solution = reference::prox_tv2d(problem);
  expect_optimal(problem, solution);
  expect_components_of_equal_values(problem, solution);
  expect_rounded_as_exact(solution);
}

constexpr std::array kShapes = {Shape{1, 1},   Shape{1, 2},  Shape{2, 1},  Shape{1, 37},
                                Shape{23, 1},  Shape{2, 2},  Shape{2, 3},  Shape{3, 2},
                                Shape{4, 7},   Shape{9, 9},  Shape{2, 40}, Shape{16, 5},
                                Shape{13, 17}, Shape{24, 31}};

/// Every shape with every kind of x and lam.
template <class Visit>
void for_random_problems(Visit visit) {
  std::uint64_t seed = base_seed();
  for (const Shape shape : kShapes) {
    for (int kind_of_x = 0; kind_of_x < kKindsOfX; ++kind_of_x) {
      for (int kind_of_lam = 0; kind_of_lam < kKindsOfLam; ++kind_of_lam) {
        Random random(++seed);
        SCOPED_TRACE(::testing::Message()
                     << shape.height << " x " << shape.width << ", x " << kind_of_x << ", lam "
                     << kind_of_lam << ", seed " << seed);
        visit(random_problem(random, shape, kind_of_x, kind_of_lam));
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST(Reference2d, KnowsAnswersByHand) {
  using Values = std::vector<double>;
  const auto solve = [](const IntegerProblem2d& problem) {
    return reference::prox_tv2d(problem).y;
  };
  EXPECT_EQ(solve(problem_of({1, 1}, {7}, {}, {})), (Values{7}));
  EXPECT_EQ(solve(problem_of({1, 2}, {0, 4}, {1}, {})), (Values{1, 3}));
  EXPECT_EQ(solve(problem_of({2, 1}, {0, 4}, {}, {5})), (Values{2, 2}));
  // An isolated pixel gives lam to each of its four neighbours.
  const ExactSolution2d spike = reference::prox_tv2d(
      problem_of({3, 3}, {0, 0, 0, 0, 16, 0, 0, 0, 0}, Integers(6, 1), Integers(6, 1)));
  EXPECT_EQ(spike.y, (Values{.5, .5, .5, .5, 12, .5, .5, .5, .5}));
  EXPECT_EQ(spike.components.size(), 2U);
  EXPECT_EQ(spike.u[2], 1);
  EXPECT_EQ(spike.u[3], -1);
}

TEST(Reference2d, EmptyImagesHaveNothing) {
  for (const Shape shape : {Shape{0, 0}, Shape{0, 5}, Shape{5, 0}}) {
    EXPECT_TRUE(reference::prox_tv2d(problem_of(shape, {}, {}, {})).y.empty());
  }
}

TEST(Reference2d, DualsProveTheAnswer) {
  for_random_problems([](const IntegerProblem2d& problem) { expect_proved(problem); });
}

TEST(Reference2d, DualsProveTheAnswerAtTheLimit) {
  for (const Shape shape : {Shape{1, 1}, Shape{1, 2}, Shape{3, 3}, Shape{8, 8}, Shape{16, 32}}) {
    SCOPED_TRACE(::testing::Message() << shape.height << " x " << shape.width);
    const std::int64_t pixels = shape.height * shape.width;
    const std::int64_t largest = (std::int64_t{1} << 60) / pixels / pixels;
    const auto along_rows = static_cast<std::size_t>(shape.height * (shape.width - 1));
    const auto along_cols = static_cast<std::size_t>((shape.height - 1) * shape.width);
    for (const std::int64_t lam : {largest, largest / 2, largest / 5}) {
      const Integers x = generate(pixels, [&](std::int64_t i) {
        return (i / shape.width + i) % 2 == 0 ? largest : -largest;
      });
      expect_proved(problem_of(shape, x, Integers(along_rows, lam), Integers(along_cols, lam)));
    }
    IntegerProblem2d problem = problem_of(shape, Integers(static_cast<std::size_t>(pixels), 0),
                                          Integers(along_rows, 0), Integers(along_cols, 0));
    problem.x.back() = -largest - 1;
    EXPECT_THROW(reference::prox_tv2d(problem), std::invalid_argument);
  }
}

TEST(Reference2d, RefusesWhatIsNoProblem) {
  const IntegerProblem2d good = problem_of({2, 2}, {1, 2, 3, 4}, {1, 1}, {1, 1});
  EXPECT_NO_THROW(reference::prox_tv2d(good));
  IntegerProblem2d bad = good;
  bad.lam_cols[1] = -1;
  EXPECT_THROW(reference::prox_tv2d(bad), std::invalid_argument);
  bad = good;
  bad.lam_rows.push_back(1);
  EXPECT_THROW(reference::prox_tv2d(bad), std::invalid_argument);
  bad = good;
  bad.width = 3;
  EXPECT_THROW(reference::prox_tv2d(bad), std::invalid_argument);
  bad.height = bad.width = -2;
  EXPECT_THROW(reference::prox_tv2d(bad), std::invalid_argument);
  bad.height = bad.width = std::numeric_limits<std::int64_t>::max();
  EXPECT_THROW(reference::prox_tv2d(bad), std::invalid_argument);
}

/// The solution in units of 1 / `unit`, a multiple of all component sizes: the best of the values
/// that follow from any choice of a sign, or none, for each edge. The solution is one of them, and
/// all are compared by the objective itself.
Integers best_of_all(const IntegerProblem2d& problem, std::int64_t unit) {
  const std::vector<Edge> edges = edges_of(problem);
  const std::size_t pixels = problem.x.size();
  std::vector<int> signs(edges.size(), -1);
  Integers best;
  std::int64_t best_objective = std::numeric_limits<std::int64_t>::max();
  while (true) {
    const std::vector<std::size_t> labels =
        joined(pixels, edges, [&](std::size_t e) { return signs[e] == 0; });
    Integers sums(pixels, 0);
    Integers sizes(pixels, 0);
    for (std::size_t i = 0; i < pixels; ++i) {
      sums[labels[i]] += problem.x[i];
      ++sizes[labels[i]];
    }
    for (std::size_t e = 0; e < edges.size(); ++e) {
      sums[labels[edges[e].first]] += signs[e] * edges[e].lam;
      sums[labels[edges[e].second]] -= signs[e] * edges[e].lam;
    }
    Integers y;
    std::int64_t objective = 0;
    for (std::size_t i = 0; i < pixels; ++i) {
      y.push_back(unit * sums[labels[i]] / sizes[labels[i]]);
      objective += (y[i] - unit * problem.x[i]) * (y[i] - unit * problem.x[i]);
    }
    for (const Edge& edge : edges) {
      objective += 2 * unit * edge.lam * std::abs(y[edge.second] - y[edge.first]);
    }
    if (objective < best_objective) {
      best_objective = objective;
      best = y;
    }
    std::size_t e = 0;
    while (e < signs.size() && signs[e] == 1) signs[e++] = -1;
    if (e == signs.size()) return best;
    ++signs[e];
  }
}

void expect_best_of_all(Shape shape, int trials) {
  constexpr std::int64_t kUnit = 840;  // a multiple of 1 to 8
  for (int trial = 0; trial < trials; ++trial) {
    const std::uint64_t seed = base_seed() + static_cast<std::uint64_t>(trial);
    SCOPED_TRACE(::testing::Message() << shape.height << " x " << shape.width << ", seed " << seed);
    Random random(seed);
    const std::int64_t largest = integer(random, 1, 20);
    const auto lam = [&](std::int64_t edges) {
      return generate(edges, [&](std::int64_t) { return integer(random, 0, largest); });
    };
    const IntegerProblem2d problem =
        problem_of(shape,
                   generate(shape.height * shape.width,
                            [&](std::int64_t) { return integer(random, -10, 10); }),
                   lam(shape.height * (shape.width - 1)), lam((shape.height - 1) * shape.width));
    const ExactSolution2d solution = reference::prox_tv2d(problem);
    const Integers best = best_of_all(problem, kUnit);
    for (std::size_t i = 0; i < best.size(); ++i) {
      const Fraction y = y_at(solution, i);
      ASSERT_EQ(kUnit * y.numerator, best[i] * y.denominator);
    }
  }
}

TEST(Reference2d, IsTheBestOfAllOnTinyImages) {
  expect_best_of_all({1, 4}, 100);
  expect_best_of_all({2, 2}, 300);
  expect_best_of_all({2, 3}, 40);
  expect_best_of_all({3, 2}, 40);
  expect_best_of_all({2, 4}, 2);
}

TEST(Reference2d, AgreesWithTheReferenceOfRows) {
  for (int trial = 0; trial < 300; ++trial) {
    const std::uint64_t seed = base_seed() + static_cast<std::uint64_t>(trial);
    Random random(seed);
    const std::int64_t n = integer(random, 1, 200);
    const IntegerProblem2d row =
        random_problem(random, {1, n}, trial % kKindsOfX, trial / kKindsOfX % kKindsOfLam);
    const IntegerProblem2d column = problem_of({n, 1}, row.x, {}, row.lam_rows);
    const std::vector<double> x(row.x.begin(), row.x.end());
    const std::vector<double> lam(row.lam_rows.begin(), row.lam_rows.end());
    const std::vector<double> expected = reference::prox_tv1d(x, lam);
    const std::vector<double> along_row = reference::prox_tv2d(row).y;
    ASSERT_EQ(along_row, reference::prox_tv2d(column).y) << "seed " << seed;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      ASSERT_NEAR(along_row[i], expected[i], 1e-12 * range_of(x)) << "seed " << seed;
    }
  }
}

/// Pixel i of the changed problem has `factor` times the value of pixel source(i), plus
/// `offset`, in a component of the same size. Duals are not unique: they are not compared.
template <class Source>
void expect_same_values(const IntegerProblem2d& problem, const IntegerProblem2d& changed,
                        std::int64_t factor, std::int64_t offset, Source source) {
  const ExactSolution2d solution = reference::prox_tv2d(problem);
  const ExactSolution2d other = reference::prox_tv2d(changed);
  ASSERT_EQ(other.components.size(), solution.components.size());
  for (std::size_t i = 0; i < other.labels.size(); ++i) {
    const Fraction expected = y_at(solution, source(i));
    const Fraction y = y_at(other, i);
    EXPECT_EQ(y.numerator, factor * expected.numerator + offset * expected.denominator);
    EXPECT_EQ(y.denominator, expected.denominator);
  }
}

/// The array values[source(0)], values[source(1)], ...
template <class Source>
Integers rearranged(const Integers& values, Source source) {
  Integers result;
  for (std::size_t i = 0; i < values.size(); ++i) result.push_back(values[source(i)]);
  return result;
}

/// Where each element of the transpose of an array of `height` x `width` comes from.
auto transposition(std::int64_t height, std::int64_t width) {
  return [h = static_cast<std::size_t>(height),
          w = static_cast<std::size_t>(width)](std::size_t i) { return i % h * w + i / h; };
}

TEST(Reference2d, TranspositionTransposesTheAnswer) {
  for_random_problems([](const IntegerProblem2d& problem) {
    const std::int64_t height = problem.height;
    const std::int64_t width = problem.width;
    const IntegerProblem2d transposed =
        problem_of({width, height}, rearranged(problem.x, transposition(height, width)),
                   rearranged(problem.lam_cols, transposition(height - 1, width)),
                   rearranged(problem.lam_rows, transposition(height, width - 1)));
    expect_same_values(problem, transposed, 1, 0, transposition(height, width));
  });
}

TEST(Reference2d, RotationByHalfATurnRotatesTheAnswer) {
  for_random_problems([](const IntegerProblem2d& problem) {
    IntegerProblem2d rotated = problem;
    for (Integers* values : {&rotated.x, &rotated.lam_rows, &rotated.lam_cols}) {
      std::ranges::reverse(*values);
    }
    expect_same_values(problem, rotated, 1, 0,
                       [&](std::size_t i) { return problem.x.size() - 1 - i; });
  });
}

TEST(Reference2d, SignsFlipWithTheImage) {
  for_random_problems([](const IntegerProblem2d& problem) {
    IntegerProblem2d flipped = problem;
    for (std::int64_t& value : flipped.x) value = -value;
    expect_same_values(problem, flipped, -1, 0, [](std::size_t i) { return i; });
  });
}

TEST(Reference2d, ScaleAndOffsetCarryOver) {
  for_random_problems([](const IntegerProblem2d& problem) {
    IntegerProblem2d changed = problem;
    for (std::int64_t& value : changed.x) value = 3 * value - 1000;
    for (Integers* lam : {&changed.lam_rows, &changed.lam_cols}) {
      for (std::int64_t& value : *lam) value *= 3;
    }
    expect_same_values(problem, changed, 3, -1000, [](std::size_t i) { return i; });
  });
}

}  // namespace
}  // namespace tautstring::testing
