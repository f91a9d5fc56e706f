// 2D: every bad argument is named, and nothing is written.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "support/images.h"
#include "tautstring/error.h"

namespace tautstring::testing {
namespace {

constexpr std::int64_t kHeight = 3;
constexpr std::int64_t kWidth = 4;
constexpr std::size_t kPixels = 2 * kHeight * kWidth;
constexpr int kIterations = 3;

/// A valid forward call on two images. Each test makes one part of it invalid.
struct ImagesCall {
  std::vector<float> x = std::vector<float>(kPixels, 1), y = std::vector<float>(kPixels, -7);
  std::vector<float> lam_rows = std::vector<float>(2 * kHeight * (kWidth - 1), 1);
  std::vector<float> lam_cols = {1, 2};
  std::vector<float> start = std::vector<float>(kPixels), dual = std::vector<float>(kPixels, -7);
  std::vector<double> momentum = std::vector<double>(2 * kIterations, -7);
  std::vector<double> gap = std::vector<double>(2, -7);
  std::vector<double> objective = std::vector<double>(2, -7);
  std::vector<std::uint8_t> converged = std::vector<std::uint8_t>(2, 7);
  std::vector<std::int32_t> iterations = std::vector<std::int32_t>(2, -7);
  std::vector<std::uint32_t> partitions =
      std::vector<std::uint32_t>(kIterations * 2 * (kHeight + kWidth), 0xABCDU);
  Problem2d problem = {.x = images(x),
                       .lam_rows = tautstring::view(lam_rows.data(), {2, kHeight, kWidth - 1}),
                       .lam_cols = tautstring::view(lam_cols.data(), {2, 1, 1})};
  Solver2d solver = {.iterations = kIterations, .start = images(start)};
  Results2d results = {.y = images(y),
                       .partitions = partitions,
                       .momentum = momentum,
                       .dual = images(dual),
                       .gap = gap,
                       .objective = objective,
                       .converged = converged,
                       .iterations = iterations};
  Context context;

  static View images(std::vector<float>& values) {
    return tautstring::view(values.data(), {2, kHeight, kWidth});
  }
  Status run() { return prox_tv2d(problem, solver, results, context); }
  [[nodiscard]] Solved2d solved() const {
    return {.partitions = partitions, .momentum = momentum, .iterations = kIterations};
  }
};

/// For errors without a number.
constexpr double kNothing = -12345;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Spoiled {
  const char* name;
  const char* argument;
  double given;
  std::function<void(ImagesCall&)> spoil;
};

class ImagesBadArgument : public ::testing::TestWithParam<Spoiled> {};

TEST_P(ImagesBadArgument, IsNamedWithItsValueAndNothingIsWritten) {
  ImagesCall call;
  const ImagesCall untouched;
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
  EXPECT_EQ(call.y, untouched.y);
  EXPECT_EQ(call.dual, untouched.dual);
  EXPECT_EQ(call.momentum, untouched.momentum);
  EXPECT_EQ(call.gap, untouched.gap);
  EXPECT_EQ(call.iterations, untouched.iterations);
  EXPECT_EQ(call.partitions, untouched.partitions);
}

template <class Item>
std::span<Item> over(std::vector<float>& memory, std::size_t count) {
  return {reinterpret_cast<Item*>(memory.data()), count};
}

const Spoiled kSpoiled[] = {
    {"NegativeRowLam", "lam_rows", -1, [](ImagesCall& c) { c.lam_rows[7] = -1; }},
    {"NanRowLam", "lam_rows", kNan, [](ImagesCall& c) { c.lam_rows[0] = std::nanf(""); }},
    {"NegativeColumnLam", "lam_cols", -2, [](ImagesCall& c) { c.lam_cols[1] = -2; }},
    {"NanColumnLam", "lam_cols", kNan, [](ImagesCall& c) { c.lam_cols[1] = std::nanf(""); }},
    {"NegativeRowLamNumber", "lam_rows", -0.5, [](ImagesCall& c) { c.problem.lam_rows = -0.5; }},
    {"NanColumnLamNumber", "lam_cols", kNan, [](ImagesCall& c) { c.problem.lam_cols = kNan; }},
    {"RowLamOfOtherWidth", "lam_rows", 4,
     [](ImagesCall& c) { c.problem.lam_rows = ImagesCall::images(c.x); }},
    {"ColumnLamOfOtherHeight", "lam_cols", 3,
     [](ImagesCall& c) { c.problem.lam_cols = ImagesCall::images(c.x); }},
    {"RowLamThatWouldEnlargeX", "lam_rows", 3,
     [](ImagesCall& c) {
       c.problem.lam_rows = view(c.lam_rows.data(), {3, 1, 1});
     }},
    {"ColumnLamThatWouldEnlargeX", "lam_cols", 3,
     [](ImagesCall& c) {
       c.problem.lam_cols = view(c.lam_rows.data(), {3, 1, 1});
     }},
    {"ColumnLamOfMoreDims", "lam_cols", 4,
     [](ImagesCall& c) {
       c.problem.lam_cols = view(c.lam_cols.data(), {1, 2, 1, 1});
     }},
    {"ColumnLamNull", "lam_cols", kNothing,
     [](ImagesCall& c) { c.problem.lam_cols.array.data = nullptr; }},
    {"HeightDimTooLarge", "height_dim", 3, [](ImagesCall& c) { c.problem.height_dim = 3; }},
    {"WidthDimTooSmall", "width_dim", -4, [](ImagesCall& c) { c.problem.width_dim = -4; }},
    {"OneDimForBoth", "width_dim", 1, [](ImagesCall& c) { c.problem.width_dim = 1; }},
    {"XNotGiven", "x", kNothing, [](ImagesCall& c) { c.problem.x = {}; }},
    {"XNull", "x", kNothing, [](ImagesCall& c) { c.problem.x.data = nullptr; }},
    {"XOfOneDim", "x", 1, [](ImagesCall& c) { c.problem.x = view(c.x.data(), {24}); }},
    {"XOfTooManyDims", "x", kNothing, [](ImagesCall& c) { c.problem.x.ndim = kMaxDims + 1; }},
    {"XOfUnknownDtype", "x", 9, [](ImagesCall& c) { c.problem.x.dtype = static_cast<DType>(9); }},
    {"XOfFarTooManyPixels", "x", 0x1p60,
     [](ImagesCall& c) {
       c.problem.x = view(static_cast<const float*>(c.x.data()),
                          {std::int64_t{1} << 30, std::int64_t{1} << 30}, {0, 0});
     }},
    {"XOfAFarTooLongColumn", "x", static_cast<double>(std::int64_t{1} << 31),
     [](ImagesCall& c) {
       c.problem.x.shape[1] = std::int64_t{1} << 31;
       c.problem.x.strides[1] = 0;
     }},
    {"YNotGiven", "y", kNothing, [](ImagesCall& c) { c.results.y = {}; }},
    {"YOfOtherShape", "y", 3, [](ImagesCall& c) { c.results.y.shape[2] = 3; }},
    {"YOfOtherHeight", "y", 2, [](ImagesCall& c) { c.results.y.shape[1] = 2; }},
    {"YOfOtherDtype", "y", 0, [](ImagesCall& c) { c.results.y.dtype = DType::float16; }},
    {"YOnTopOfItself", "y", kNothing, [](ImagesCall& c) { c.results.y.strides[0] = 0; }},
    {"YPartlyOverX", "y", kNothing,
     [](ImagesCall& c) {
       c.problem.x = view(c.y.data(), {1, 3, 4});
       c.problem.lam_rows = c.problem.lam_cols = 1.0;
       c.results = {.y = view(c.y.data() + 4, {1, 3, 4})};
       c.solver.start = {};
     }},
    {"YOverRowLam", "y", kNothing,
     [](ImagesCall& c) {
       c.problem.lam_rows = view(c.y.data(), {2, 3, 3});
     }},
    {"YOverStart", "y", kNothing, [](ImagesCall& c) { c.solver.start = c.results.y; }},
    {"YOverDual", "y", kNothing, [](ImagesCall& c) { c.results.dual = c.results.y; }},
    {"NoIterations", "iterations", 0, [](ImagesCall& c) { c.solver.iterations = 0; }},
    {"NegativeTol", "tol", -1e-3, [](ImagesCall& c) { c.solver.tol = -1e-3; }},
    {"NanTol", "tol", kNan, [](ImagesCall& c) { c.solver.tol = kNan; }},
    {"InfiniteTol", "tol", kInfinity, [](ImagesCall& c) { c.solver.tol = kInfinity; }},
    {"StartOfOtherShape", "start", 2,
     [](ImagesCall& c) {
       c.solver.start = view(c.start.data(), {2, 3, 2});
     }},
    {"DualOfOtherShape", "dual", 2,
     [](ImagesCall& c) {
       c.results.dual = view(c.dual.data(), {2, 3, 2});
     }},
    {"DualOverX", "dual", kNothing, [](ImagesCall& c) { c.problem.x = c.results.dual; }},
    {"PartitionsTooShort", "partitions", 4,
     [](ImagesCall& c) { c.results.partitions = c.results.partitions.first(4); }},
    {"PartitionsOfOtherDerivatives", "partitions", 42,
     [](ImagesCall& c) { c.solver.derivative = Derivative2d::implicit; }},
    {"PartitionsOfFarTooManyIterations", "partitions", 42,
     [](ImagesCall& c) { c.solver.iterations = std::numeric_limits<int>::max(); }},
    {"PartitionsOverX", "partitions", kNothing,
     [](ImagesCall& c) {
       c.x.resize(42);
       c.problem.x = view(c.x.data(), {2, 3, 4});
       c.results.partitions = over<std::uint32_t>(c.x, 42);
     }},
    {"MomentumTooShort", "momentum", 5,
     [](ImagesCall& c) { c.results.momentum = c.results.momentum.first(5); }},
    {"MomentumOverStart", "momentum", kNothing,
     [](ImagesCall& c) { c.results.momentum = over<double>(c.start, 6); }},
    {"GapTooShort", "gap", 1, [](ImagesCall& c) { c.results.gap = c.results.gap.first(1); }},
    {"GapOverMomentum", "momentum", kNothing,
     [](ImagesCall& c) { c.results.gap = c.results.momentum.first(2); }},
    {"GapOverRowLam", "gap", kNothing,
     [](ImagesCall& c) { c.results.gap = over<double>(c.lam_rows, 2); }},
    {"LamsThatAreOneInvalidView", "lam_rows", kNothing,
     [](ImagesCall& c) {
       const View invalid = tautstring::view(c.lam_cols.data(), {2, 1}, {1, 1, 1});
       c.problem.lam_rows = invalid;
       c.problem.lam_cols = invalid;
     }},
    {"ObjectiveTooShort", "objective", 1,
     [](ImagesCall& c) { c.results.objective = c.results.objective.first(1); }},
    {"ObjectiveOverGap", "gap", kNothing,
     [](ImagesCall& c) { c.results.objective = c.results.gap; }},
    {"ConvergedTooShort", "converged", 1,
     [](ImagesCall& c) { c.results.converged = c.results.converged.first(1); }},
    {"ConvergedOverX", "converged", kNothing,
     [](ImagesCall& c) { c.results.converged = over<std::uint8_t>(c.x, 2); }},
    {"IterationsTooShort", "iterations", 1,
     [](ImagesCall& c) { c.results.iterations = c.results.iterations.first(1); }},
    {"IterationsOverColumnLam", "iterations", kNothing,
     [](ImagesCall& c) { c.results.iterations = over<std::int32_t>(c.lam_cols, 2); }},
    {"MisalignedX", "x", kNothing,
     [](ImagesCall& c) {
       c.problem.x.data = reinterpret_cast<const std::byte*>(c.x.data()) + 1;
       c.problem.x.shape[0] = 1;
     }},
    {"MisalignedWorkspace", "workspace", kNothing,
     [](ImagesCall& c) {
       alignas(64) static std::byte memory[1 << 20];
       c.context.workspace = memory + 8;
       c.context.workspace_size = sizeof(memory) - 8;
     }},
    {"WorkspaceTooSmall", "workspace_size", 8,
     [](ImagesCall& c) {
       alignas(64) static std::byte memory[64];
       c.context.workspace = memory;
       c.context.workspace_size = 8;
     }},
};

INSTANTIATE_TEST_SUITE_P(Forward, ImagesBadArgument, ::testing::ValuesIn(kSpoiled),
                         [](const auto& test) { return test.param.name; });

TEST(ImagesArguments, TheUnspoiledCallIsFine) {
  ImagesCall call;
  const Status status = call.run();
  EXPECT_TRUE(status.ok()) << message(status);
  EXPECT_NE(call.y, std::vector<float>(kPixels, -7));
  EXPECT_NE(call.dual, std::vector<float>(kPixels, -7));
}

TEST(ImagesArguments, AWorkspaceTooSmallIsToldWhatGivesItsSize) {
  ImagesCall call;
  alignas(64) std::byte memory[64];
  call.context.workspace = memory;
  call.context.workspace_size = 8;
  EXPECT_EQ(message(call.run()),
            "workspace_size: must be at least what prox_tv2d_workspace gives, got 8");
}

TEST(ImagesArguments, ABadValueIsFoundAtItsPlaceInTheArgument) {
  // Images (2, 3, 5) as (height, batch, width): lams of edges along rows are (2, 3, 4), the bad
  // one is [1][2][3]; along columns (1, 3, 5), the bad one is [0][1][4].
  std::vector<float> x(30), y(30), rows(24, 1), columns(15, 1);
  const auto solve = [&] {
    return prox_tv2d({.x = view(x.data(), {2, 3, 5}),
                      .lam_rows = view(rows.data(), {2, 3, 4}),
                      .lam_cols = view(columns.data(), {1, 3, 5}),
                      .height_dim = 0,
                      .width_dim = 2},
                     {}, {.y = view(y.data(), {2, 3, 5})});
  };
  columns[9] = -3;
  EXPECT_EQ(message(solve()), "lam_cols: must be >= 0 and not NaN, got -3 at index 9");
  rows[23] = -2;
  EXPECT_EQ(message(solve()), "lam_rows: must be >= 0 and not NaN, got -2 at index 23");
}

TEST(ImagesArguments, OfBackwardAreChecked) {
  ImagesCall call;
  ASSERT_TRUE(call.run().ok());
  std::vector<float> g(kPixels, 1), out(kPixels, -7);
  const View grad_y = ImagesCall::images(g);
  const View grad_x = ImagesCall::images(out);
  const auto argument = [&](const Solved2d& solved, const ConstView& g_view,
                            const Gradients2d& wanted) {
    const Status status = prox_tv2d_backward(solved, g_view, wanted);
    EXPECT_EQ(out, std::vector<float>(kPixels, -7));
    return std::string(status.argument);
  };
  Solved2d solved = call.solved();
  solved.partitions = solved.partitions.first(3);
  EXPECT_EQ(argument(solved, grad_y, {.x = grad_x}), "solved.partitions");
  solved = call.solved();
  solved.derivative = Derivative2d::implicit;
  EXPECT_EQ(argument(solved, grad_y, {.x = grad_x}), "solved.partitions");
  solved = call.solved();
  solved.momentum = solved.momentum.first(5);
  EXPECT_EQ(argument(solved, grad_y, {.x = grad_x}), "solved.momentum");
  solved = call.solved();
  solved.done = std::span(call.iterations).first(1);
  EXPECT_EQ(argument(solved, grad_y, {.x = grad_x}), "solved.done");
  solved = call.solved();
  solved.iterations = 0;
  EXPECT_EQ(argument(solved, grad_y, {.x = grad_x}), "solved.iterations");
  solved = call.solved();
  EXPECT_EQ(argument(solved, {}, {.x = grad_x}), "grad_y");
  EXPECT_EQ(argument(solved, grad_y, {.x = view(out.data(), {2, 3, 3})}), "gradients.x");
  EXPECT_EQ(argument(solved, grad_y, {.lam_rows = grad_x}), "gradients.lam_rows");
  EXPECT_EQ(argument(solved, grad_y, {.lam_cols = view(out.data(), {1, 1, 5})}),
            "gradients.lam_cols");
  EXPECT_EQ(argument(solved, grad_y, {.lam_cols = view(g.data(), {2, 2, 4})}),
            "gradients.lam_cols");
  EXPECT_EQ(argument(solved, grad_y, {.x = grad_x, .lam_rows = view(out.data(), {2, 3, 3})}),
            "gradients.x");
}

TEST(ImagesArguments, OfJvpAreChecked) {
  ImagesCall call;
  ASSERT_TRUE(call.run().ok());
  std::vector<float> v(kPixels, 1), out(kPixels, -7);
  const View tangent_y = ImagesCall::images(out);
  const auto argument = [&](const Tangents2d& tangents, const View& to) {
    const Status status = prox_tv2d_jvp(call.solved(), tangents, to);
    EXPECT_EQ(out, std::vector<float>(kPixels, -7));
    return std::string(status.argument);
  };
  EXPECT_EQ(argument({}, {}), "tangent_y");
  EXPECT_EQ(argument({.x = view(v.data(), {2, 3, 3})}, tangent_y), "tangents.x");
  EXPECT_EQ(argument({.lam_rows = ImagesCall::images(v)}, tangent_y), "tangents.lam_rows");
  EXPECT_EQ(argument({.lam_cols = ImagesCall::images(v)}, tangent_y), "tangents.lam_cols");
  EXPECT_EQ(argument({.x = view(out.data(), {2, 3, 4}, {12, 1, 3})}, tangent_y), "tangent_y");
  EXPECT_EQ(argument({.lam_rows = view(out.data(), {2, 3, 3})}, tangent_y), "tangent_y");
}

TEST(ImagesArguments, CountsAndSizes) {
  float value = 0;
  const ConstView x = view(static_cast<const float*>(&value), {2, 3, 40, 5}, {0, 0, 0, 0});
  EXPECT_EQ(image_count(x), 6);
  EXPECT_EQ(image_count(x, 0, 2), 15);
  EXPECT_EQ(image_count(x, 2, 2), 0);
  EXPECT_EQ(saved_words2d(x, 1), 6 * (40 * 1 + 5 * 3));
  EXPECT_EQ(saved_words2d(x, 7), 7 * saved_words2d(x, 1));
  EXPECT_EQ(saved_words2d(x, 1, 3, 2), saved_words2d(x, 1));
  EXPECT_EQ(saved_words2d(x, 0), 0);
  EXPECT_EQ(saved_words2d(view(&value, {4}), 1), 0);
  std::size_t bytes = 0;
  const Problem2d problem = {.x = x, .height_dim = 1, .width_dim = 1};
  EXPECT_STREQ(prox_tv2d_workspace(problem, {}, bytes).argument, "width_dim");
  EXPECT_STREQ(prox_tv2d_workspace(problem, Solver2d{}, {}, bytes).argument, "width_dim");
}

}  // namespace
}  // namespace tautstring::testing
