// The Newton solver in which the threads of a device share a row, run by threads of the processor.
#include "step/newton_threads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <cmath>
#include <thread>
#include <vector>

#include "reference/tv1d_reference.h"
#include "step/row/returned_row.h"
#include "support/rows.h"

namespace tautstring::testing {
namespace {

/// The values that all threads of a row share.
struct Meeting {
  explicit Meeting(int count) : barrier(count), numbers(static_cast<std::size_t>(count)) {}

  std::barrier<> barrier;
  std::vector<std::array<double, 8>> numbers;  // of each thread
};

class HostThreads {
 public:
  HostThreads(Meeting& meeting, int thread) : meeting_(meeting), thread_(thread) {}

  [[nodiscard]] int thread() const { return thread_; }
  [[nodiscard]] int count() const { return static_cast<int>(meeting_.numbers.size()); }
  [[nodiscard]] static double near_reciprocal(std::int32_t length) { return 1.0 / length; }
  void sync() const { meeting_.barrier.arrive_and_wait(); }

  [[nodiscard]] detail::Neighbours neighbours(double first, double last) const {
    detail::Neighbours found = {0, 0};
    tell({first, last}, [&] {
      if (thread_ > 0) found.before = at(thread_ - 1)[1];
      if (thread_ + 1 < count()) found.behind = at(thread_ + 1)[0];
    });
    return found;
  }
  [[nodiscard]] detail::EdgesAround around(bool has, const detail::EdgeValue& first,
                                           const detail::EdgeValue& last) const {
    detail::EdgesAround found = {{-1, 0}, {-1, 0}};
    tell({has ? 1.0 : 0.0, static_cast<double>(first.edge), first.value,
          static_cast<double>(last.edge), last.value},
         [&] {
           for (int t = 0; t < thread_; ++t) {
             if (at(t)[0] != 0) found.left = {static_cast<std::int32_t>(at(t)[3]), at(t)[4]};
           }
           for (int t = count() - 1; t > thread_; --t) {
             if (at(t)[0] != 0) found.right = {static_cast<std::int32_t>(at(t)[1]), at(t)[2]};
           }
         });
    return found;
  }
  template <int kCount>
  bool sum(double (&values)[kCount], bool says_so) const {
    std::array<double, 8> own = {};
    std::copy_n(values, kCount, own.begin());
    own[7] = says_so ? 1 : 0;
    tell(own, [&] {
      for (int t = 0; t < count(); ++t) says_so = says_so || at(t)[7] != 0;
      for (int i = 0; i < kCount; ++i) {
        values[i] = 0;
        for (int t = 0; t < count(); ++t) values[i] += at(t)[static_cast<std::size_t>(i)];
      }
    });
    return says_so;
  }
  [[nodiscard]] double sum_before(double own) const { return sum_since(false, own); }
  [[nodiscard]] double sum_since(bool starts, double own) const {
    double sum = 0;
    tell({starts ? 1.0 : 0.0, own}, [&] {
      for (int t = 0; t < thread_; ++t) sum = (at(t)[0] != 0 ? 0 : sum) + at(t)[1];
    });
    return sum;
  }

 private:
  [[nodiscard]] const std::array<double, 8>& at(int thread) const {
    return meeting_.numbers[static_cast<std::size_t>(thread)];
  }
  template <class Read>
  void tell(const std::array<double, 8>& own, const Read& read) const {
    meeting_.numbers[static_cast<std::size_t>(thread_)] = own;
    sync();
    read();
    sync();
  }

  Meeting& meeting_;
  int thread_;
};

struct Solved {
  std::vector<double> y, dual;
  std::vector<int> jumps;  // after each sample
  detail::NewtonOutcome outcome = {};
  detail::RowQuality quality = {};  // of the result in `dtype`
};

Solved solve(int threads, const std::vector<double>& x, const std::vector<double>& lam,
             const detail::NewtonOptions& options, const std::vector<double>& start = {},
             detail::ReturnedRow returned = {}) {
  const auto n = static_cast<std::int32_t>(x.size());
  const auto room = static_cast<std::size_t>(detail::newton_samples(n));
  std::vector<double> samples(room), u(room), lams(room);
  for (std::size_t i = 0; i < x.size(); ++i) samples[i] = x[i] - x[0];
  std::copy(lam.begin(), lam.end(), lams.begin());
  std::copy(start.begin(), start.end(), u.begin());
  Solved solved = {std::vector<double>(x.size()), std::vector<double>(x.size()),
                   std::vector<int>(x.size())};
  Meeting meeting(threads);
  const auto result = [&](double smooth, double sample) {
    return returned.sharp ? detail::mirror(sample, smooth) : smooth;
  };
  returned.offset = x[0];
  const auto run = [&](int thread) {
    HostThreads own(meeting, thread);
    detail::NewtonThreads<HostThreads, 32> newton(
        own, {samples.data(), u.data(), lams.data(), 0, range_of(x)}, n);
    const detail::NewtonOutcome outcome = newton.solve(options, !start.empty());
    const detail::RowQuality quality = newton.quality_of([&](double mean, double sample) {
      return returned.smooth(result(mean + x[0], sample + x[0]), sample);
    });
    if (thread == 0) {
      solved.outcome = outcome;
      solved.quality = quality;
    }
    newton.for_each_result([&](std::int32_t i, double mean, double dual, int jump) {
      const auto at = static_cast<std::size_t>(i);
      solved.y[at] = detail::rounded_to(returned.dtype, result(mean + x[0], x[at]));
      solved.dual[at] = dual;
      solved.jumps[at] = jump;
    });
  };
  std::vector<std::thread> others;
  for (int t = 1; t < threads; ++t) others.emplace_back(run, t);
  run(0);
  for (std::thread& other : others) other.join();
  return solved;
}

constexpr detail::NewtonOptions kOptions = {100, 0, false};

TEST(NewtonThreads, FindTheReferencesValuesOnEveryFamily) {
  Random random(base_seed());
  for (const Family& family : families()) {
    for (const int n : {2, 3, 40, 150, 500}) {
      for (const double size : {0.05, 1.0, 20.0}) {
        const std::vector<double> x = family.make(random, n);
        std::vector<double> lam(x.size() - 1);
        for (double& value : lam) value = size * static_cast<double>(1 + random() % 3) / 2;
        const std::vector<double> expected = reference::prox_tv1d(x, lam);
        for (const bool halves : {false, true}) {
          detail::NewtonOptions options = kOptions;
          options.halves = halves;
          const Solved solved = solve(n > 150 ? 16 : n > 3 ? 5 : 1, x, lam, options);
          EXPECT_TRUE(solved.outcome.converged) << family.name << " n " << n << " lam " << size;
          EXPECT_TRUE(solved.outcome.is_clean) << family.name << " n " << n << " lam " << size;
          for (std::size_t i = 0; i < x.size(); ++i) {
            ASSERT_NEAR(solved.y[i], expected[i], 1e-12 * (range_of(x) + 1e-30))
                << family.name << " n " << n << " lam " << size << " at " << i << ", "
                << solved.outcome.iterations << " iterations, gap " << solved.quality.gap;
          }
        }
      }
    }
  }
}

/// A row of several hundred samples with one lam per edge.
struct Problem {
  explicit Problem(Random& random, int n) : x(noise(random, n)), lam(x.size() - 1) {
    for (double& value : lam) value = static_cast<double>(1 + random() % 4) / 2;
  }
  static std::vector<double> noise(Random& random, int n) {
    std::vector<double> x(static_cast<std::size_t>(n));
    for (double& value : x) value = static_cast<double>(random() % 1000) / 250;
    return x;
  }

  std::vector<double> x, lam;
};

TEST(NewtonThreads, LeaveDualVariablesThatProveTheResult) {
  Random random(base_seed());
  for (const int n : {1, 2, 31, 200, 300}) {
    const Problem problem(random, n);
    const Solved solved = solve(10, problem.x, problem.lam, kOptions);
    double sum = 0;
    for (std::size_t e = 0; e + 1 < problem.x.size(); ++e) {
      sum += problem.x[e] - solved.y[e];
      ASSERT_NEAR(solved.dual[e], sum, 1e-10);
      ASSERT_LE(std::abs(solved.dual[e]), problem.lam[e]);
      const double rise = solved.y[e + 1] - solved.y[e];
      ASSERT_EQ(solved.jumps[e], rise > 0 ? 1 : rise < 0 ? -1 : 0);
      if (rise != 0) {
        ASSERT_EQ(solved.dual[e], rise > 0 ? -problem.lam[e] : problem.lam[e]);
      }
    }
    EXPECT_LE(solved.quality.gap, 1e-20);
  }
}

TEST(NewtonThreads, StayWhereTheyStartAtTheSolution) {
  Random random(base_seed());
  const Problem problem(random, 300);
  const Solved first = solve(10, problem.x, problem.lam, kOptions);
  EXPECT_GT(first.outcome.iterations, 1);
  const Solved again = solve(10, problem.x, problem.lam, kOptions, first.dual);
  EXPECT_EQ(again.outcome.iterations, 1);
  EXPECT_EQ(again.jumps, first.jumps);
}

TEST(NewtonThreads, FindTheSameInAnyNumber) {
  Random random(base_seed());
  const Problem problem(random, 30);
  const Solved one = solve(1, problem.x, problem.lam, kOptions);
  for (const int threads : {2, 3, 7, 30, 40}) {
    const Solved several = solve(threads, problem.x, problem.lam, kOptions);
    EXPECT_EQ(several.jumps, one.jumps);
    EXPECT_EQ(several.outcome.iterations, one.outcome.iterations);
    for (std::size_t i = 0; i < one.y.size(); ++i) ASSERT_NEAR(several.y[i], one.y[i], 1e-14);
  }
}

TEST(NewtonThreads, ReportWhatIsReturned) {
  Random random(base_seed());
  std::uniform_real_distribution<double> part;
  for (int trial = 0; trial < 4000; ++trial) {
    const int n = 2 + static_cast<int>(random() % 14);
    Problem problem(random, n);
    const double size = std::pow(10.0, 2.5 * part(random) - 2);
    const bool is_whole = random() % 2 == 0;
    for (double& value : problem.x) value = is_whole ? std::round(value) : value / 4 + 100;
    for (double& value : problem.lam) value *= size;
    std::vector<double> start;
    if (random() % 2 == 0) {
      for (int e = 0; e + 1 < n; ++e) start.push_back(4 * size * (2 * part(random) - 1));
    }
    constexpr DType kDTypes[] = {DType::float16, DType::bfloat16, DType::float32, DType::float64};
    const detail::ReturnedRow returned = {kDTypes[trial % 4], random() % 4 == 0};
    for (double& value : problem.x) value = detail::rounded_to(returned.dtype, value);
    const detail::NewtonOptions options = {
        random() % 8 == 0 ? 2 : 100, std::pow(10.0, -2 - static_cast<double>(random() % 5)), false};
    const int threads = trial % 100 == 0 ? 3 : 1;
    const Solved solved = solve(threads, problem.x, problem.lam, options, start, returned);
    std::vector<double> smooth = solved.y;
    for (std::size_t i = 0; returned.sharp && i < smooth.size(); ++i) {
      smooth[i] = problem.x[i] - (smooth[i] - problem.x[i]);
    }
    const double objective = reference::objective(problem.x, problem.lam, {}, smooth);
    const double best = reference::objective(problem.x, problem.lam, {},
                                             reference::prox_tv1d(problem.x, problem.lam));
    ASSERT_NEAR(solved.quality.objective, objective, 1e-12 * objective) << trial;
    ASSERT_GE(solved.quality.gap, objective - best - 1e-13 * objective) << trial;
    // What has been tested is what is reported, but for rounding.
    if (returned.dtype != DType::float64 || returned.sharp || !solved.outcome.converged) continue;
    ASSERT_LE(solved.quality.gap, options.tol * objective * (1 + 1e-9) + 1e-20) << trial;
  }
}

TEST(NewtonThreads, EndAtTheLimit) {
  Random random(base_seed());
  const Problem problem(random, 100);
  const Solved solved = solve(5, problem.x, problem.lam, {1, 0, false});
  EXPECT_FALSE(solved.outcome.converged);
  EXPECT_TRUE(solved.outcome.is_clean);
  EXPECT_EQ(solved.outcome.iterations, 1);
  const double best = reference::objective(problem.x, problem.lam, {},
                                           reference::prox_tv1d(problem.x, problem.lam));
  const double ours = reference::objective(problem.x, problem.lam, {}, solved.y);
  EXPECT_GT(ours, best);
  EXPECT_LE(ours - best, solved.quality.gap * (1 + 1e-12));
}

}  // namespace
}  // namespace tautstring::testing
