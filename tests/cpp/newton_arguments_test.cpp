// Every invalid argument of the Newton solver is named, and nothing is written.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "support/solve.h"
#include "tautstring/error.h"

namespace tautstring::testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A valid call on a 2 x 3 batch. Each test makes one part of it invalid.
struct Call {
  std::vector<double> x = {0, 5, 1, 4, 2, 3}, lam = {1, 1, 1, 1}, start = {0, 0, 0, 0};
  std::vector<double> y = std::vector<double>(6, -7), dual = std::vector<double>(4, -7);
  std::vector<double> gap = {-7, -7};
  std::vector<std::int32_t> iterations = {-7, -7};
  std::vector<std::uint8_t> converged = {7, 7};
  std::vector<std::uint32_t> partition = {7, 7};
  Problem1d problem = {.x = view(x.data(), {2, 3}), .lam = view(lam.data(), {2, 2})};
  Newton1d newton = {.start = view(start.data(), {2, 2})};
  NewtonResults1d results = {.y = view(y.data(), {2, 3}),
                             .partition = partition,
                             .dual = view(dual.data(), {2, 2}),
                             .gap = gap,
                             .iterations = iterations,
                             .converged = converged};
  Context context;

  Status run() const { return prox_tv1d_newton(problem, newton, results, context); }
  void expect_nothing_written() const {
    EXPECT_EQ(y, std::vector<double>(6, -7));
    EXPECT_EQ(dual, std::vector<double>(4, -7));
    EXPECT_EQ(gap, std::vector<double>(2, -7));
    EXPECT_EQ(iterations, std::vector<std::int32_t>(2, -7));
    EXPECT_EQ(converged, std::vector<std::uint8_t>(2, 7));
    EXPECT_EQ(partition, std::vector<std::uint32_t>(2, 7));
  }
};

/// For errors without a number.
constexpr double kNothing = -12345;

struct Spoiled {
  const char* name;
  const char* argument;
  double given;
  std::function<void(Call&)> spoil;
};

class NewtonBadArgument : public ::testing::TestWithParam<Spoiled> {};

TEST_P(NewtonBadArgument, IsNamedWithItsValueAndNothingIsWritten) {
  Call call;
  GetParam().spoil(call);
  const Status status = call.run();
  EXPECT_EQ(status.code, StatusCode::invalid_argument);
  EXPECT_STREQ(status.argument, GetParam().argument) << message(status);
  EXPECT_EQ(status.has_given, GetParam().given != kNothing) << message(status);
  if (std::isnan(GetParam().given)) {
    EXPECT_TRUE(std::isnan(status.given)) << message(status);
  } else if (GetParam().given != kNothing) {
    EXPECT_EQ(status.given, GetParam().given) << message(status);
  }
  call.expect_nothing_written();
}

/// The memory of another argument, with another element type.
template <class T, class U>
std::span<T> over(std::vector<U>& values) {
  return {reinterpret_cast<T*>(values.data()), 2};
}

const Spoiled kSpoiled[] = {
    {"NegativeLam", "lam", -2, [](Call& c) { c.lam[3] = -2; }},
    {"NanLam", "lam", kNan, [](Call& c) { c.lam[0] = kNan; }},
    {"NegativeLamNumber", "lam", -0.5, [](Call& c) { c.problem.lam = -0.5; }},
    {"NanLamNumber", "lam", kNan, [](Call& c) { c.problem.lam = kNan; }},
    {"LamOfOtherSize", "lam", 4,
     [](Call& c) {
       c.problem.lam = view(c.lam.data(), {1, 4});
     }},
    {"DimTooLarge", "dim", 2, [](Call& c) { c.problem.dim = 2; }},
    {"XNotGiven", "x", kNothing, [](Call& c) { c.problem.x = {}; }},
    {"WeightGiven", "weight", kNothing,
     [](Call& c) {
       c.problem.weight = view(c.x.data(), {2, 3});
     }},
    {"YNotGiven", "y", kNothing, [](Call& c) { c.results.y = {}; }},
    {"YOfOtherShape", "y", 2, [](Call& c) { c.results.y.shape[1] = 2; }},
    {"YOfOtherDtype", "y", 2, [](Call& c) { c.results.y.dtype = DType::float32; }},
    {"YOnTopOfItself", "y", kNothing, [](Call& c) { c.results.y.strides[0] = 0; }},
    {"NoIterations", "iterations", 0, [](Call& c) { c.newton.iterations = 0; }},
    {"NegativeTol", "tol", -1, [](Call& c) { c.newton.tol = -1; }},
    {"NanTol", "tol", kNan, [](Call& c) { c.newton.tol = kNan; }},
    {"InfiniteTol", "tol", kInfinity, [](Call& c) { c.newton.tol = kInfinity; }},
    {"UnknownLineSearch", "line_search", 5,
     [](Call& c) { c.newton.line_search = static_cast<LineSearch>(5); }},
    {"StartOfOtherSize", "start", 1, [](Call& c) { c.newton.start.shape[1] = 1; }},
    {"StartOfOtherBatch", "start", 1, [](Call& c) { c.newton.start.shape[0] = 1; }},
    {"DualOfOtherSize", "dual", 3, [](Call& c) { c.results.dual.shape[1] = 3; }},
    {"PartitionTooShort", "partition", 1,
     [](Call& c) { c.results.partition = c.results.partition.first(1); }},
    {"GapTooShort", "gap", 1, [](Call& c) { c.results.gap = c.results.gap.first(1); }},
    {"IterationsTooShort", "iterations", 1,
     [](Call& c) { c.results.iterations = c.results.iterations.first(1); }},
    {"ConvergedTooShort", "converged", 1,
     [](Call& c) { c.results.converged = c.results.converged.first(1); }},
    {"YOverLam", "y", kNothing,
     [](Call& c) {
       c.problem.lam = view(c.y.data(), {2, 2});
     }},
    {"YOverStart", "y", kNothing,
     [](Call& c) {
       c.newton.start = view(c.y.data(), {2, 2});
     }},
    {"YOverDual", "y", kNothing,
     [](Call& c) {
       c.results.dual = view(c.y.data(), {2, 2});
     }},
    {"YOverGap", "y", kNothing, [](Call& c) { c.results.gap = over<double>(c.y); }},
    {"DualOverX", "dual", kNothing,
     [](Call& c) {
       c.results.dual = view(c.x.data(), {2, 2});
     }},
    {"DualOverLam", "dual", kNothing,
     [](Call& c) {
       c.results.dual = view(c.lam.data(), {2, 2});
     }},
    {"DualPartlyOverStart", "dual", kNothing,
     [](Call& c) {
       c.start.resize(5);
       c.newton.start = view(c.start.data(), {2, 2});
       c.results.dual = view(c.start.data() + 1, {2, 2});
     }},
    {"DualOverIterations", "dual", kNothing,
     [](Call& c) { c.results.iterations = over<std::int32_t>(c.dual); }},
    {"PartitionOverX", "partition", kNothing,
     [](Call& c) { c.results.partition = over<std::uint32_t>(c.x); }},
    {"GapOverStart", "gap", kNothing, [](Call& c) { c.results.gap = over<double>(c.start); }},
    {"IterationsOverLam", "iterations", kNothing,
     [](Call& c) { c.results.iterations = over<std::int32_t>(c.lam); }},
    {"ConvergedOverX", "converged", kNothing,
     [](Call& c) { c.results.converged = over<std::uint8_t>(c.x); }},
    {"IterationsOverPartition", "partition", kNothing,
     [](Call& c) { c.results.iterations = over<std::int32_t>(c.partition); }},
    {"ConvergedOverGap", "gap", kNothing,
     [](Call& c) { c.results.converged = over<std::uint8_t>(c.gap); }},
    {"MisalignedWorkspace", "workspace", kNothing,
     [](Call& c) {
       alignas(64) static std::byte memory[1 << 16];
       c.context.workspace = memory + 8;
       c.context.workspace_size = sizeof(memory) - 8;
     }},
    {"WorkspaceTooSmall", "workspace_size", 8,
     [](Call& c) {
       alignas(64) static std::byte memory[64];
       c.context.workspace = memory;
       c.context.workspace_size = 8;
     }},
};

INSTANTIATE_TEST_SUITE_P(Forward, NewtonBadArgument, ::testing::ValuesIn(kSpoiled),
                         [](const auto& test) { return test.param.name; });

TEST(NewtonArguments, TheUnspoiledCallIsFine) {
  const Call call;
  EXPECT_TRUE(call.run().ok());
  EXPECT_EQ(call.y, (std::vector<double>{1, 3, 2, 3, 3, 3}));
  EXPECT_EQ(call.dual, (std::vector<double>{-1, 1, 1, 0}));
  EXPECT_EQ(call.converged, std::vector<std::uint8_t>(2, 1));
}

TEST(NewtonArguments, ABadLamIsFoundAtItsPlace) {
  Call call;
  call.lam[2] = kNan;
  EXPECT_EQ(call.run().index, 2);
}

TEST(NewtonArguments, AWorkspaceTooSmallIsToldWhatGivesItsSize) {
  Call call;
  alignas(64) std::byte memory[64];
  call.context.workspace = memory;
  call.context.workspace_size = 8;
  EXPECT_EQ(std::string(message(call.run())),
            "workspace_size: must be at least what prox_tv1d_newton_workspace gives, got 8");
}

TEST(NewtonArguments, OfTheWorkspaceAreChecked) {
  const Call call;
  std::size_t bytes = 0;
  EXPECT_STREQ(prox_tv1d_newton_workspace({}, -1, {}, bytes).argument, "x");
  EXPECT_STREQ(prox_tv1d_newton_workspace(call.problem.x, 2, {}, bytes).argument, "dim");
}

TEST(NewtonArguments, AnUnsupportedDeviceIsSaid) {
  Call call;
  call.context.device = Device::cuda;
  if (capabilities().cuda) GTEST_SKIP() << "this build has CUDA";
  EXPECT_EQ(call.run().code, StatusCode::unsupported_device);
  std::size_t bytes = 0;
  EXPECT_EQ(prox_tv1d_newton_workspace(call.problem.x, -1, call.context, bytes).code,
            StatusCode::unsupported_device);
  call.expect_nothing_written();
}

}  // namespace
}  // namespace tautstring::testing
