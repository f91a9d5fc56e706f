// Every bad argument is named, and nothing is written.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "support/solve.h"
#include "tautstring/error.h"

namespace tautstring::testing {
namespace {

/// A valid forward call on a 2 x 3 batch. Each test makes one part of it invalid.
struct Call {
  std::vector<float> x = {0, 5, 1, 4, 2, 3};
  std::vector<float> lam = {1, 1}, edges = {1, 1, 1, 1}, weight = std::vector<float>(6, 1);
  std::vector<float> y = std::vector<float>(6, -7);
  std::vector<std::uint32_t> partition = std::vector<std::uint32_t>(2, 0xABCDU);
  Problem1d problem = {.x = tautstring::view(x.data(), {2, 3}),
                       .lam = tautstring::view(lam.data(), {2, 1}),
                       .weight = tautstring::view(weight.data(), {2, 3})};
  View y_view = tautstring::view(y.data(), {2, 3});
  std::span<std::uint32_t> partition_view = partition;
  Context context;

  Status run() { return prox_tv1d(problem, y_view, partition_view, context); }
};

/// For errors without a number.
constexpr double kNothing = -12345;

struct Spoiled {
  const char* name;
  const char* argument;
  double given;
  std::function<void(Call&)> spoil;
};

class BadArgument : public ::testing::TestWithParam<Spoiled> {};

TEST_P(BadArgument, IsNamedWithItsValueAndNothingIsWritten) {
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
  EXPECT_EQ(call.y, std::vector<float>(6, -7));
  EXPECT_EQ(call.partition, std::vector<std::uint32_t>(2, 0xABCDU));
}

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr float kFloatInfinity = std::numeric_limits<float>::infinity();

const Spoiled kSpoiled[] = {
    {"NegativeLam", "lam", -1, [](Call& c) { c.lam[1] = -1; }},
    {"NanLam", "lam", kNan, [](Call& c) { c.lam[0] = std::nanf(""); }},
    {"NegativeLamNumber", "lam", -0.5, [](Call& c) { c.problem.lam = -0.5; }},
    {"NanLamNumber", "lam", kNan, [](Call& c) { c.problem.lam = kNan; }},
    {"NegativeEdge", "lam", -2,
     [](Call& c) {
       c.edges[3] = -2;
       c.problem.lam = view(c.edges.data(), {2, 2});
     }},
    {"NegativeWeight", "weight", -1, [](Call& c) { c.weight[5] = -1; }},
    {"InfiniteWeight", "weight", kFloatInfinity, [](Call& c) { c.weight[5] = kFloatInfinity; }},
    {"NanWeight", "weight", kNan, [](Call& c) { c.weight[0] = std::nanf(""); }},
    {"DimTooLarge", "dim", 2, [](Call& c) { c.problem.dim = 2; }},
    {"DimTooSmall", "dim", -3, [](Call& c) { c.problem.dim = -3; }},
    {"XNotGiven", "x", kNothing, [](Call& c) { c.problem.x = {}; }},
    {"XNull", "x", kNothing, [](Call& c) { c.problem.x.data = nullptr; }},
    {"XOfUnknownDtype", "x", 9, [](Call& c) { c.problem.x.dtype = static_cast<DType>(9); }},
    {"XOfTooManyDims", "x", kNothing, [](Call& c) { c.problem.x.ndim = kMaxDims + 1; }},
    {"XOfNegativeShape", "x", kNothing, [](Call& c) { c.problem.x.shape[0] = -2; }},
    {"XOfOverflowingShape", "x", kNothing,
     [](Call& c) { c.problem.x.shape[0] = c.problem.x.shape[1] = std::int64_t{1} << 40; }},
    {"XOfOverflowingStrides", "x", kNothing,
     [](Call& c) { c.problem.x.strides[0] = std::int64_t{1} << 62; }},
    {"XOfAFarTooLongRow", "x", static_cast<double>(std::int64_t{1} << 31),
     [](Call& c) {
       c.problem.x.shape[1] = std::int64_t{1} << 31;
       c.problem.x.strides[1] = 0;
     }},
    {"YOfOtherShape", "y", 2, [](Call& c) { c.y_view.shape[1] = 2; }},
    {"YOfFewerDims", "y", 1, [](Call& c) { c.y_view = view(c.y.data(), {6}); }},
    {"YOfOtherDtype", "y", 3, [](Call& c) { c.y_view.dtype = DType::float64; }},
    {"YNotGiven", "y", kNothing, [](Call& c) { c.y_view = {}; }},
    {"YOnTopOfItself", "y", kNothing, [](Call& c) { c.y_view.strides[0] = 0; }},
    {"YPartlyOverX", "y", kNothing,
     [](Call& c) {
       c.x.resize(9);
       c.problem.x = view(c.x.data(), {2, 3});
       c.y_view = view(c.x.data() + 3, {2, 3});
     }},
    {"YOverXWithOtherStrides", "y", kNothing,
     [](Call& c) {
       c.y_view = view(c.x.data(), {2, 3}, {1, 2});
     }},
    {"YOverLam", "y", kNothing,
     [](Call& c) {
       c.problem.lam = view(c.y.data(), {2, 1}, {3, 1});
     }},
    {"YOverWeight", "y", kNothing,
     [](Call& c) {
       c.problem.weight = view(c.y.data(), {2, 3});
     }},
    {"LamOfOtherSizeAlongDim", "lam", 3,
     [](Call& c) {
       c.problem.lam = view(c.weight.data(), {2, 3});
     }},
    {"LamThatWouldEnlargeX", "lam", 3,
     [](Call& c) {
       c.problem.lam = view(c.weight.data(), {3, 1});
     }},
    {"LamOfMoreDims", "lam", 3,
     [](Call& c) {
       c.problem.lam = view(c.lam.data(), {1, 2, 1});
     }},
    {"LamOfTooManyDims", "lam", kNothing,
     [](Call& c) {
       c.problem.lam = view(c.lam.data(), {2, 1});
       c.problem.lam.array.ndim = kMaxDims + 1;
     }},
    {"WeightOfTooManyDims", "weight", kNothing,
     [](Call& c) { c.problem.weight.ndim = kMaxDims + 1; }},
    {"WeightOfOtherSize", "weight", 2, [](Call& c) { c.problem.weight = view(c.lam.data(), {2}); }},
    {"PartitionTooShort", "partition", 1,
     [](Call& c) { c.partition_view = c.partition_view.first(1); }},
    {"PartitionOverX", "partition", kNothing,
     [](Call& c) {
       c.partition_view = {reinterpret_cast<std::uint32_t*>(c.x.data()), 2};
     }},
    {"PartitionOverLam", "partition", kNothing,
     [](Call& c) {
       c.problem.lam = view(reinterpret_cast<float*>(c.partition.data()), {2, 1});
     }},
    {"PartitionOverWeight", "partition", kNothing,
     [](Call& c) {
       c.partition_view = {reinterpret_cast<std::uint32_t*>(c.weight.data()), 2};
     }},
    {"PartitionOverY", "y", kNothing,
     [](Call& c) {
       c.partition_view = {reinterpret_cast<std::uint32_t*>(c.y.data()), 2};
     }},
    {"MisalignedX", "x", kNothing,
     [](Call& c) {
       c.problem.x.data = reinterpret_cast<const std::byte*>(c.x.data()) + 1;
       c.problem.x.shape[0] = 1;
       c.y_view.shape[0] = 1;
     }},
    {"WeightsTooFarApart", "weight", 1e-30F,
     [](Call& c) {
       c.weight[3] = 1e10F;
       c.weight[4] = 1e-30F;
     }},
    {"MisalignedWorkspace", "workspace", kNothing,
     [](Call& c) {
       alignas(64) static std::byte memory[4096];
       c.context.workspace = memory + 8;
       c.context.workspace_size = 4088;
     }},
    {"WorkspaceTooSmall", "workspace_size", 8,
     [](Call& c) {
       alignas(64) static std::byte memory[64];
       c.context.workspace = memory;
       c.context.workspace_size = 8;
     }},
};

INSTANTIATE_TEST_SUITE_P(Forward, BadArgument, ::testing::ValuesIn(kSpoiled),
                         [](const auto& test) { return test.param.name; });

TEST(Arguments, TheUnspoiledCallIsFine) {
  Call call;
  EXPECT_TRUE(call.run().ok());
  EXPECT_NE(call.y, std::vector<float>(6, -7));
}

TEST(Arguments, ViewsOfTooManyDimensionsOrStridesAreRefused) {
  float value = 0;
  const View many = view(&value, std::vector<std::int64_t>(kMaxDims + 1, 1));
  EXPECT_STREQ(prox_tv1d({.x = many, .lam = 1.0}, many).argument, "x");
  EXPECT_STREQ(tv(many, many).argument, "x");
  EXPECT_STREQ(lam_max(many, many).argument, "x");
  EXPECT_STREQ(certificate1d({.x = many, .lam = 1.0}, many, many).argument, "x");
  const View lopsided = view(&value, {1, 1}, {1});
  EXPECT_STREQ(prox_tv1d({.x = lopsided, .lam = 1.0}, lopsided).argument, "x");
}

TEST(Arguments, DimensionsThatDoNotFoldAreRefusedByTheirNumber) {
  // Nine batch dimensions in reverse order: none follows another evenly.
  std::vector<float> x(512 * 3), y(x.size(), -7);
  const std::vector<std::int64_t> shape = {2, 2, 2, 2, 2, 2, 2, 2, 2, 3};
  const std::vector<std::int64_t> strides = {3, 6, 12, 24, 48, 96, 192, 384, 768, 1};
  const Status status =
      prox_tv1d({.x = view(x.data(), shape, strides), .lam = 1.0}, view(y.data(), shape, strides));
  EXPECT_EQ(message(status),
            "x: must have at most 8 batch dimensions after folding those that all arguments step "
            "through evenly (as contiguous arrays do), got 9");
  EXPECT_EQ(y, std::vector<float>(x.size(), -7));
  // A dimension of size 1 folds.
  std::vector<std::int64_t> fewer = shape;
  fewer[4] = 1;
  EXPECT_TRUE(
      prox_tv1d({.x = view(x.data(), fewer, strides), .lam = 1.0}, view(y.data(), fewer, strides))
          .ok());
}

TEST(Arguments, InterleavedArraysAreNotTakenForOverlapping) {
  std::vector<float> both(12);
  EXPECT_TRUE(
      prox_tv1d({.x = view(both.data(), {6}, {2}), .lam = 1.0}, view(both.data() + 1, {6}, {2}))
          .ok());
}

TEST(Arguments, AnUnsupportedDeviceIsSaid) {
  Call call;
  call.context.device = Device::cuda;
  if (capabilities().cuda) GTEST_SKIP() << "this build has CUDA";
  EXPECT_EQ(call.run().code, StatusCode::unsupported_device);
  std::size_t bytes = 0;
  EXPECT_EQ(prox_tv1d_workspace(call.problem.x, true, -1, call.context, bytes).code,
            StatusCode::unsupported_device);
  EXPECT_EQ(call.y, std::vector<float>(6, -7));
}

TEST(Arguments, MemoryThatCannotBeHadIsAStatus) {
  // Long rows that exist only as a broadcast view, with one task each: hundreds of terabytes of
  // scratch memory.
  constexpr std::int64_t kRows = 4096;
  const float value = 0;
  class Many final : public Executor {
   public:
    [[nodiscard]] int concurrency() const noexcept override { return kRows; }
    void run(int, void (*)(void*, int), void*) noexcept override { ADD_FAILURE(); }
  } executor;
  std::vector<double> out(kRows, -7);
  const Status status = tv(view(&value, {kRows, (std::int64_t{1} << 31) - 2}, {0, 0}),
                           view(out.data(), {kRows, 1}), -1, {.executor = &executor});
  EXPECT_EQ(status.code, StatusCode::out_of_memory) << message(status);
  EXPECT_EQ(out, std::vector<double>(kRows, -7));
}

TEST(Arguments, OfBackwardAreChecked) {
  const Solution solution(Row{"", {0, 5, 1}, {1}, {1, 2, 1}});
  std::vector<double> grad = {1, 2, 3}, out(3, -7);
  const auto grad_view = view(grad.data(), {3});
  Solved1d solved = solution.solved();
  const Gradients1d wanted = {.weight = view(out.data(), {3})};
  EXPECT_TRUE(prox_tv1d_backward(solved, grad_view, wanted).ok());

  solved.weight = {};
  EXPECT_STREQ(prox_tv1d_backward(solved, grad_view, wanted).argument, "gradients.weight");
  solved = solution.solved();
  solved.x = {};
  EXPECT_STREQ(prox_tv1d_backward(solved, grad_view, wanted).argument, "x");
  solved = solution.solved();
  solved.partition = {};
  EXPECT_STREQ(prox_tv1d_backward(solved, grad_view, wanted).argument, "partition");
  solved = solution.solved();
  EXPECT_STREQ(prox_tv1d_backward(solved, grad_view, {.lam = view(out.data(), {3})}).argument,
               "gradients.lam");
  EXPECT_STREQ(prox_tv1d_backward(solved, grad_view, {.x = view(out.data(), {2})}).argument,
               "gradients.x");
  EXPECT_STREQ(prox_tv1d_backward(solved, {}, wanted).argument, "grad_y");
  EXPECT_STREQ(prox_tv1d_backward(solved, grad_view,
                                  {.x = view(out.data(), {3}), .weight = view(out.data(), {3})})
                   .argument,
               "gradients.x");
}

TEST(Arguments, OutputsOfTheDerivativesMayNotShareMemory) {
  const Solution solution(Row{"", {0, 5, 1}, {1}, {1, 2, 1}});
  const Solved1d solved = solution.solved();
  std::vector<double> grad = {1, 2, 3}, out(3);
  const View grad_view = view(grad.data(), {3});
  EXPECT_STREQ(prox_tv1d_backward(solved, grad_view, {.lam = view(grad.data(), {2})}).argument,
               "gradients.lam");
  EXPECT_STREQ(prox_tv1d_backward(solved, grad_view, {.weight = grad_view}).argument,
               "gradients.weight");
  EXPECT_STREQ(
      prox_tv1d_jvp(solved, {.x = view(out.data(), {3}), .weight = grad_view}, grad_view).argument,
      "tangent_y");
  EXPECT_STREQ(
      certificate1d({.x = grad_view, .lam = 1.0}, view(out.data(), {3}), view(out.data(), {1}))
          .argument,
      "out");
}

TEST(Arguments, OfJvpAreChecked) {
  const Solution solution(Row{"", {0, 5, 1}, {1}, {}});
  std::vector<double> tangent = {1, 2, 3}, out(3);
  const View y = view(out.data(), {3});
  EXPECT_STREQ(prox_tv1d_jvp(solution.solved(), {.x = view(tangent.data(), {2})}, y).argument,
               "tangents.x");
  EXPECT_STREQ(prox_tv1d_jvp(solution.solved(), {.lam = view(tangent.data(), {3})}, y).argument,
               "tangents.lam");
  EXPECT_STREQ(prox_tv1d_jvp(solution.solved(), {.weight = view(tangent.data(), {3})}, y).argument,
               "tangents.weight");
  EXPECT_STREQ(prox_tv1d_jvp(solution.solved(), {}, {}).argument, "tangent_y");
}

TEST(Arguments, OfReductionsAreChecked) {
  std::vector<double> x = {1, 2, 3}, out(3);
  EXPECT_STREQ(tv(view(x.data(), {3}), view(out.data(), {3})).argument, "out");
  EXPECT_STREQ(tv(view(x.data(), {3}), view(x.data(), {1})).argument, "out");
  EXPECT_STREQ(lam_max(view(x.data(), {3}), view(out.data(), {1}), view(x.data(), {2})).argument,
               "weight");
  EXPECT_STREQ(certificate1d({.x = view(x.data(), {3}), .lam = -1.0}, view(x.data(), {3}),
                             view(out.data(), {1}))
                   .argument,
               "lam");
}

TEST(Arguments, OfSegmentsAreChecked) {
  const Solution solution(Row{"", {0, 5, 1}, {1}, {}});
  std::vector<std::int64_t> offsets(2);
  std::vector<Segment> segments(7);
  EXPECT_STREQ(segments1d_offsets(solution.partition, 2, 3, offsets).argument, "partition");
  EXPECT_STREQ(segments1d_offsets(solution.partition, 1, 3, std::span(offsets).first(1)).argument,
               "offsets");
  EXPECT_STREQ(segments1d_offsets(solution.partition, -1, 3, offsets).argument, "partition");
  EXPECT_STREQ(segments1d(view(solution.y.data(), {3}), solution.partition, segments).argument,
               "segments");
}

TEST(Arguments, ABadValueIsFoundAtItsPlaceInTheArgument) {
  // 3 x 2, solved along its columns: the bad weight is element [2][0].
  std::vector<float> x(6), y(6), weight = {1, 1, 1, 1, -1, 1};
  const Status status = prox_tv1d(
      {.x = view(x.data(), {3, 2}), .lam = 1.0, .weight = view(weight.data(), {3, 2}), .dim = 0},
      view(y.data(), {3, 2}));
  EXPECT_EQ(status.index, 4);
  // One lam per edge and channel, shape (2, 1, 3) for x (2, 5, 4): element [1][0][2].
  std::vector<float> big(40), lam = {1, 1, 1, 1, 1, -1};
  EXPECT_EQ(prox_tv1d({.x = view(big.data(), {2, 5, 4}), .lam = view(lam.data(), {2, 1, 3})},
                      view(big.data(), {2, 5, 4}))
                .index,
            5);
}

TEST(Arguments, RowCountAndLength) {
  float value = 0;
  EXPECT_EQ(row_count(view(&value, {2, 3, 4}), 1), 8);
  EXPECT_EQ(row_length(view(&value, {2, 3, 4}), 1), 3);
  EXPECT_EQ(row_count(view(&value, {})), 1);
  EXPECT_EQ(row_length(view(&value, {})), 1);
  EXPECT_EQ(row_count(view(&value, {2, 3}), 5), 0);
}

}  // namespace
}  // namespace tautstring::testing
