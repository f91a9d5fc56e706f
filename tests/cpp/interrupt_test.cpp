// Calls that their caller stops. Only the CPU asks while it works, so no other
// backend runs these tests.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "support/images.h"
#include "tautstring/tautstring.h"

namespace tautstring::testing {
namespace {

/// Says yes when it is asked for the `stop_at`-th time; 0: never.
class StopAt final : public Interrupt {
 public:
  explicit StopAt(int stop_at) : stop_at_(stop_at) {}

  [[nodiscard]] bool wanted() noexcept override {
    EXPECT_EQ(std::this_thread::get_id(), thread_) << "asked on a thread of the call";
    EXPECT_TRUE(stop_at_ == 0 || asked_ < stop_at_) << "asked after a yes";
    return ++asked_ == stop_at_;
  }
  [[nodiscard]] int asked() const { return asked_; }

 private:
  const std::thread::id thread_ = std::this_thread::get_id();
  int stop_at_;
  int asked_ = 0;
};

/// What a call gave: its status, and the bytes that it wrote.
struct Outcome {
  Status status;
  std::string bytes;

  template <class T>
  void add(const std::vector<T>& values) {
    bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  }
};

struct Family {
  std::string name;
  int fewest_asked;  // more than once where there is more than one part
  std::function<Outcome(const Context&)> call;
};

template <class T>
std::vector<T> noise(std::int64_t count) {
  std::vector<T> values(static_cast<std::size_t>(count));
  std::uint32_t state = 1;
  for (T& value : values) {
    state = state * 1664525 + 1013904223;
    value = static_cast<T>(state >> 8) / T{1 << 24};
  }
  return values;
}

/// Rows, and what a forward call leaves of them.
template <class T>
struct Batch {
  Batch(std::int64_t row_count, std::int64_t length)
      : rows(row_count),
        n(length),
        x(noise<T>(row_count * length)),
        y(x.size()),
        weight(x.size(), T{2}) {
    partition.resize(static_cast<std::size_t>(rows * partition_words(n)));
  }

  [[nodiscard]] ConstView of(const std::vector<T>& values) const {
    return view(values.data(), {rows, n});
  }
  [[nodiscard]] View of(std::vector<T>& values) const { return view(values.data(), {rows, n}); }

  Outcome solve(double lam, bool weighted, const Context& context) {
    const Problem1d problem = {
        .x = of(std::as_const(x)), .lam = lam, .weight = weighted ? of(weight) : View{}};
    Outcome outcome = {prox_tv1d(problem, of(y), partition, context), {}};
    outcome.add(y);
    outcome.add(partition);
    return outcome;
  }

  std::int64_t rows;
  std::int64_t n;
  std::vector<T> x;
  std::vector<T> y;
  std::vector<T> weight;
  std::vector<std::uint32_t> partition;
};

constexpr std::int64_t kRows = 64;
constexpr std::int64_t kSamples = 1024;

template <class T>
Family forward(std::string name, std::int64_t rows, std::int64_t n, double lam, bool weighted,
               int fewest_asked) {
  const auto batch = std::make_shared<Batch<T>>(rows, n);
  return {std::move(name), fewest_asked,
          [=](const Context& context) { return batch->solve(lam, weighted, context); }};
}

Family backward() {
  const auto batch = std::make_shared<Batch<float>>(kRows, kSamples);
  EXPECT_TRUE(batch->solve(0.5, false, {}).status.ok());
  return {"backward", 2, [batch](const Context& context) {
            std::vector<float> gradient(batch->x.size());
            const Solved1d solved = {.partition = batch->partition};
            Outcome outcome = {prox_tv1d_backward(solved, batch->of(std::as_const(batch->x)),
                                                  {.x = batch->of(gradient)}, context),
                               {}};
            outcome.add(gradient);
            return outcome;
          }};
}

Family jvp() {
  const auto batch = std::make_shared<Batch<float>>(kRows, kSamples);
  EXPECT_TRUE(batch->solve(0.5, false, {}).status.ok());
  return {"jvp", 2, [batch](const Context& context) {
            std::vector<float> tangent(batch->x.size());
            const Solved1d solved = {.partition = batch->partition};
            Outcome outcome = {prox_tv1d_jvp(solved, {.x = batch->of(std::as_const(batch->x))},
                                             batch->of(tangent), context),
                               {}};
            outcome.add(tangent);
            return outcome;
          }};
}

Family newton() {
  const auto batch = std::make_shared<Batch<float>>(kRows, kSamples);
  return {"newton", 2, [batch](const Context& context) {
            Outcome outcome = {
                prox_tv1d_newton({.x = batch->of(std::as_const(batch->x)), .lam = 0.5}, {},
                                 {.y = batch->of(batch->y)}, context),
                {}};
            outcome.add(batch->y);
            return outcome;
          }};
}

/// A number for each row.
template <class Reduce>
Family reduction(std::string name, const Reduce& reduce) {
  const auto batch = std::make_shared<Batch<float>>(kRows, kSamples);
  return {std::move(name), 2, [=](const Context& context) {
            std::vector<double> out(kRows);
            Outcome outcome = {
                reduce(batch->of(std::as_const(batch->x)), view(out.data(), {kRows, 1}), context),
                {}};
            outcome.add(out);
            return outcome;
          }};
}

constexpr std::int64_t kImages = 3;
constexpr std::int64_t kHeight = 20;
constexpr std::int64_t kWidth = 30;

Family images(std::string name, const Solver2d& solver) {
  const auto x = noise<double>(kImages * kHeight * kWidth);
  return {std::move(name), 2 * kImages, [=](const Context& context) {
            std::vector<double> y(x.size());
            std::vector<double> gap(kImages);
            const View result = view(y.data(), {kImages, kHeight, kWidth});
            const ConstView samples = view(x.data(), {kImages, kHeight, kWidth});
            Outcome outcome = {prox_tv2d({.x = samples, .lam_rows = 0.2, .lam_cols = 0.2}, solver,
                                         {.y = result, .gap = gap}, context),
                               {}};
            outcome.add(y);
            outcome.add(gap);
            return outcome;
          }};
}

Family image_derivative(std::string name, Derivative2d derivative, bool forward_mode) {
  Random random(3);
  const auto batch =
      std::make_shared<ImageBatch>(random_images(random, kImages, kHeight, kWidth, 0.2));
  const auto solved = std::make_shared<SolvedImagesCall>(
      *batch, Solver2d{.iterations = 5, .derivative = derivative});
  return {std::move(name), 2, [=](const Context& context) {
            std::vector<double> out(batch->x.size());
            const View result = view(out.data(), {kImages, kHeight, kWidth});
            const ConstView given = view(batch->x.data(), {kImages, kHeight, kWidth});
            Outcome outcome;
            outcome.status =
                forward_mode ? prox_tv2d_jvp(solved->solved(), {.x = given}, result, context)
                             : prox_tv2d_backward(solved->solved(), given, {.x = result}, context);
            outcome.add(out);
            return outcome;
          }};
}

Family image_gap() {
  const auto x = noise<double>(kImages * kHeight * kWidth);
  return {"gap2d", 2 * kImages, [=](const Context& context) {
            std::vector<double> gap(kImages);
            const ConstView samples = view(x.data(), {kImages, kHeight, kWidth});
            Outcome outcome = {gap2d({.x = samples, .lam_rows = 0.2, .lam_cols = 0.2},
                                     {.y = samples}, gap, context),
                               {}};
            outcome.add(gap);
            return outcome;
          }};
}

std::vector<Family> families() {
  const auto certify = [](const ConstView& x, const View& out, const Context& context) {
    return certificate1d({.x = x, .lam = 1.0}, x, out, context);
  };
  const auto find_lam_max = [](const ConstView& x, const View& out, const Context& context) {
    return lam_max(x, out, {}, -1, context);
  };
  const auto find_tv = [](const ConstView& x, const View& out, const Context& context) {
    return tv(x, out, -1, context);
  };
  constexpr Derivative2d implicit = Derivative2d::implicit;
  return {forward<float>("rows", kRows, kSamples, 0.5, false, 2),
          forward<double>("rows_of_float64", kRows, kSamples, 0.5, false, 2),
          forward<float>("weighted_rows", kRows, kSamples, 0.5, true, 2),
          forward<float>("copied_rows", kRows, kSamples, 0, false, 2),
          forward<float>("a_long_row", 1, 300'000, 0.5, false, 4),
          forward<double>("long_rows", 3, 100'000, 0.5, false, 4),
          backward(),
          jvp(),
          newton(),
          reduction("certificate", certify),
          reduction("lam_max", find_lam_max),
          reduction("tv", find_tv),
          images("dykstra", {.iterations = 8}),
          images("accelerated", {.method = Method2d::accelerated, .iterations = 20, .tol = 1e-12}),
          images("implicit", {.iterations = 8, .tol = 1e-12, .derivative = implicit}),
          image_derivative("backward2d", Derivative2d::unrolled, false),
          image_derivative("jvp2d", Derivative2d::unrolled, true),
          image_derivative("backward2d_implicit", implicit, false),
          image_derivative("jvp2d_implicit", implicit, true),
          image_gap()};
}

/// Known before the library is used: other tests choose the instruction set in a process that
/// has not used it yet.
constexpr std::array kNames = {"rows",       "rows_of_float64",     "weighted_rows",  "copied_rows",
                               "a_long_row", "long_rows",           "backward",       "jvp",
                               "newton",     "certificate",         "lam_max",        "tv",
                               "dykstra",    "accelerated",         "implicit",       "backward2d",
                               "jvp2d",      "backward2d_implicit", "jvp2d_implicit", "gap2d"};

class Interrupts : public ::testing::TestWithParam<const char*> {
 protected:
  static const Family& family() {
    static const std::vector<Family> all = families();
    return *std::find_if(all.begin(), all.end(),
                         [](const Family& one) { return one.name == GetParam(); });
  }
};

TEST(Interrupt, IsTestedInAllFamilies) {
  const std::vector<Family> all = families();
  ASSERT_EQ(all.size(), kNames.size());
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].name, kNames[i]);
}

TEST_P(Interrupts, ThatAreNeverWantedChangeNoBits) {
  ThreadExecutor four(4);
  for (Executor* const executor :
       {static_cast<Executor*>(nullptr), static_cast<Executor*>(&four)}) {
    const Outcome plain = family().call({.executor = executor});
    ASSERT_TRUE(plain.status.ok());
    StopAt never(0);
    const Outcome asked = family().call({.executor = executor, .interrupt = &never});
    EXPECT_TRUE(asked.status.ok());
    EXPECT_EQ(asked.bytes, plain.bytes);
    EXPECT_GE(never.asked(), 1);
  }
}

TEST_P(Interrupts, StopACallOnOneThreadWheneverTheyAreWanted) {
  StopAt never(0);
  const Outcome plain = family().call({.interrupt = &never});
  ASSERT_TRUE(plain.status.ok());
  ASSERT_GE(never.asked(), family().fewest_asked);
  const int step = std::max(never.asked() / 16, 1);
  for (int at = 1; at <= never.asked(); at += step) {
    StopAt stop(at);
    EXPECT_EQ(family().call({.interrupt = &stop}).status.code, StatusCode::interrupted) << at;
    EXPECT_EQ(stop.asked(), at);
  }
  EXPECT_EQ(family().call({}).bytes, plain.bytes) << "the next call";
}

TEST_P(Interrupts, StopACallOnSeveralThreads) {
  ThreadExecutor four(4);
  const Outcome plain = family().call({.executor = &four});
  for (int at = 1; at <= 8; ++at) {
    StopAt stop(at);
    const Outcome stopped = family().call({.executor = &four, .interrupt = &stop});
    // How often the calling thread asks depends on how much of the work it gets.
    EXPECT_EQ(stopped.status.code, stop.asked() == at ? StatusCode::interrupted : StatusCode::ok);
    EXPECT_TRUE(at > 1 || stop.asked() == 1);
  }
  EXPECT_EQ(family().call({.executor = &four}).bytes, plain.bytes) << "the next call";
}

INSTANTIATE_TEST_SUITE_P(Calls, Interrupts, ::testing::ValuesIn(kNames),
                         [](const auto& test) { return std::string(test.param); });

TEST(Interrupt, LeavesOutTheWorkThatIsLeft) {
  constexpr float kUntouched = -1;
  Batch<float> batch(kRows, kSamples);
  std::fill(batch.y.begin(), batch.y.end(), kUntouched);
  StopAt stop(2);  // before the first chunk
  EXPECT_EQ(batch.solve(0.5, false, {.interrupt = &stop}).status.code, StatusCode::interrupted);
  EXPECT_EQ(batch.y, std::vector<float>(batch.y.size(), kUntouched));
}

TEST(Interrupt, LeavesOutTheWorkOfOtherThreads) {
  /// The calling thread's task first, then the others, on a thread of their own.
  class CallerFirst final : public Executor {
   public:
    [[nodiscard]] int concurrency() const noexcept override { return 4; }
    void run(int count, void (*task)(void*, int), void* argument) noexcept override {
      task(argument, 0);
      std::thread([&] {
        for (int i = 1; i < count; ++i) task(argument, i);
      }).join();
    }
  } executor;
  constexpr float kUntouched = -1;
  Batch<float> batch(kRows, kSamples);
  std::fill(batch.y.begin(), batch.y.end(), kUntouched);
  StopAt stop(2);
  const Context context = {.executor = &executor, .interrupt = &stop};
  EXPECT_EQ(batch.solve(0.5, false, context).status.code, StatusCode::interrupted);
  EXPECT_EQ(batch.y, std::vector<float>(batch.y.size(), kUntouched));
}

TEST(Interrupt, EndsIterationsThatWouldTakeDays) {
  const auto x = noise<double>(std::int64_t{32} * 32);
  std::vector<double> y(x.size());
  const Solver2d solver = {.iterations = 2'000'000'000};
  StopAt stop(1000);
  EXPECT_EQ(prox_tv2d({.x = view(x.data(), {32, 32}), .lam_rows = 0.2, .lam_cols = 0.2}, solver,
                      {.y = view(y.data(), {32, 32})}, {.interrupt = &stop})
                .code,
            StatusCode::interrupted);
}

TEST(Interrupt, ComesAfterTheArgumentsChecks) {
  StopAt stop(1);
  EXPECT_EQ(prox_tv1d({}, {}, {}, {.interrupt = &stop}).code, StatusCode::invalid_argument);
  EXPECT_EQ(stop.asked(), 0);
}

}  // namespace
}  // namespace tautstring::testing
