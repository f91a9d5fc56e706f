// prox_tv2d and gap2d on LibTorch tensors.
#include "tautstring/torch/tv2d.h"

#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "support.h"

namespace {

using at::Tensor;
using tautstring::Derivative2d;
using tautstring::gap2d;
using tautstring::Method2d;
using tautstring::Mode;
using tautstring::prox_tv2d;
using tautstring::prox_tv2d_with_info;
using tautstring::ProxTv2dOptions;

/// Plain iterations, and calls that come near the solution.
const std::vector<ProxTv2dOptions>& solvers() {
  static const std::vector<ProxTv2dOptions> all = {
      {},
      {.mode = Mode::sharp, .method = Method2d::accelerated, .iterations = 5},
      {.method = Method2d::accelerated, .tol = 1e-4, .derivative = Derivative2d::unrolled},
      {.method = Method2d::accelerated, .iterations = 400, .tol = 1e-12}};
  return all;
}

TEST(LibtorchProxTv2d, GivesTheCoresBits) {
  const Tensor x = noise({3, 12, 20});
  Tensor expected = at::empty_like(x);
  const auto status = tautstring::prox_tv2d(
      {.x = tautstring::view(x.data_ptr<double>(), {3, 12, 20}), .lam_rows = 0.5, .lam_cols = 0.5},
      {}, {.y = tautstring::view(expected.data_ptr<double>(), {3, 12, 20})});
  ASSERT_TRUE(status.ok());
  const Tensor lam = at::full({3, 1, 1}, 0.5, at::kDouble);
  EXPECT_TRUE(at::equal(prox_tv2d(x, 0.5), expected));
  EXPECT_TRUE(at::equal(prox_tv2d(x, lam), expected));
  EXPECT_TRUE(at::equal(prox_tv2d(x, {0.5, 0.5}), expected));
  EXPECT_TRUE(at::equal(prox_tv2d(x, {lam, at::full({11, 1}, 0.5, at::kDouble)}), expected));
}

TEST(LibtorchProxTv2d, TakesAnyDimsAndStrides) {
  const Tensor x = noise({4, 5, 6}).permute({2, 0, 1});
  const Tensor y = prox_tv2d(x, {0.3, 0.5}, {.dims = {0, 2}});
  EXPECT_EQ(y.strides(), x.strides());
  const Tensor moved = x.permute({1, 0, 2}).contiguous();
  EXPECT_TRUE(at::equal(y.permute({1, 0, 2}), prox_tv2d(moved, {0.3, 0.5})));
}

TEST(LibtorchProxTv2d, TakesManyDimensions) {
  const Tensor x = noise({2, 1, 3, 2, 1, 2, 1, 2, 1, 1, 4, 5}).requires_grad_();
  const Tensor lam = positive({2, 1, 1, 1, 1, 1, 1, 1, 1});
  const Tensor few = x.detach().reshape({6, 2, 4, 4, 5}).requires_grad_();
  const Tensor y = prox_tv2d(x, lam);
  const Tensor expected = prox_tv2d(few, lam.reshape({2, 1, 1, 1}));
  EXPECT_TRUE(at::equal(y.reshape(few.sizes()), expected));
  y.square().sum().backward();
  expected.square().sum().backward();
  EXPECT_TRUE(at::equal(x.grad().reshape(few.sizes()), few.grad()));
}

TEST(LibtorchProxTv2d, ReportsHowItEndedAndStartsThere) {
  const Tensor x = noise({3, 12, 20});
  const auto [y, info] =
      prox_tv2d_with_info(x, 0.5, {.method = Method2d::accelerated, .tol = 1e-6});
  EXPECT_TRUE((info.iterations % 4 == 0).all().item<bool>());
  EXPECT_EQ(info.gap.sizes(), at::IntArrayRef({3}));
  const auto [cold, cold_info] = prox_tv2d_with_info(x, 0.5, {.iterations = 1});
  const auto [warm, warm_info] = prox_tv2d_with_info(x, 0.5, {.iterations = 1, .start = info.dual});
  EXPECT_TRUE((warm_info.gap < 0.1 * cold_info.gap).all().item<bool>());
  const Tensor variable = x.clone().requires_grad_();
  const auto [recorded, recorded_info] =
      prox_tv2d_with_info(variable, 0.5, {.method = Method2d::accelerated, .tol = 1e-6});
  EXPECT_TRUE(at::equal(recorded, y) && recorded.requires_grad());
  EXPECT_FALSE(recorded_info.gap.requires_grad() || recorded_info.dual.requires_grad());
}

TEST(LibtorchProxTv2d, WithToleranceTheDefaultIsAccelerated) {
  const Tensor x = noise({3, 24, 24});
  const auto [y, info] = prox_tv2d_with_info(x, 0.5, {.tol = 1e-4});
  EXPECT_TRUE(info.converged.all().item<bool>());
  EXPECT_EQ(info.converged.sizes(), at::IntArrayRef({3}));
  EXPECT_TRUE(at::equal(y, prox_tv2d(x, 0.5, {.method = Method2d::accelerated, .tol = 1e-4})));
  const auto [slow, slow_info] =
      prox_tv2d_with_info(x, 0.5, {.method = Method2d::dykstra, .tol = 1e-4});
  EXPECT_TRUE((slow_info.iterations > info.iterations).all().item<bool>());
  EXPECT_TRUE(at::equal(prox_tv2d(x, 0.5), prox_tv2d(x, 0.5, {.method = Method2d::dykstra})));
}

/// The warnings of a call.
class Warnings : public c10::WarningHandler {
 public:
  explicit Warnings(const std::function<void()>& call) {
    const c10::WarningUtils::WarnAlways every_time;
    const c10::WarningUtils::WarningHandlerGuard guard(this);
    call();
  }
  void process(const c10::Warning& warning) override { texts.push_back(warning.msg()); }

  std::vector<std::string> texts;
};

TEST(LibtorchProxTv2d, TellsWhereTheToleranceIsMissed) {
  Tensor x = noise({3, 12, 17});
  x[1] *= 1e-3;  // constant at once
  tautstring::ProxTv2dInfo info;
  ProxTv2dOptions options = {.method = Method2d::dykstra, .iterations = 4, .tol = 1e-9};
  const auto solve = [&] { info = prox_tv2d_with_info(x, 0.5, options).second; };
  const std::vector<std::string> texts = Warnings(solve).texts;
  ASSERT_EQ(texts.size(), 1U);
  EXPECT_TRUE(texts[0].starts_with("prox_tv2d: 2 of 3 images stopped after 4 iterations to a gap"));
  EXPECT_TRUE(
      texts[0].ends_with("above tol 1e-09; allow more iterations, or use Method2d::accelerated"));
  EXPECT_TRUE(at::equal(info.converged, at::tensor({0, 1, 0}).to(at::kBool)));
  const Tensor variable = x.clone().requires_grad_();
  EXPECT_EQ(Warnings([&] { prox_tv2d(variable, 0.5, options); }).texts, texts);
  options.tol = {};
  EXPECT_TRUE(Warnings(solve).texts.empty());
  EXPECT_FALSE(info.converged[0].item<bool>());
  options = {.tol = 1e-3};
  EXPECT_TRUE(Warnings(solve).texts.empty());
  x.fill_(NAN);  // there is no solution
  EXPECT_TRUE(Warnings(solve).texts.empty());
}

TEST(LibtorchProxTv2d, GradientsMatchDifferences) {
  const Tensor x = noise({2, 4, 5});
  for (const ProxTv2dOptions& options : solvers()) {
    for (const Tensor& lam : {positive({}), positive({2, 1, 1})}) {
      expect_gradient([&](const Tensor& v) { return prox_tv2d(v, lam, options); }, x);
      expect_gradient([&](const Tensor& v) { return prox_tv2d(x, v, options); }, lam);
    }
    const Tensor rows = positive({4, 4});
    const Tensor columns = positive({3, 1});
    expect_gradient([&](const Tensor& v) { return prox_tv2d(x, {v, columns}, options); }, rows);
    expect_gradient([&](const Tensor& v) { return prox_tv2d(x, {rows, v}, options); }, columns);
  }
}

TEST(LibtorchProxTv2d, SecondDerivativesMatchDifferences) {
  const Tensor x = noise({2, 3, 4});
  const Tensor direction = noise({2, 3, 4}, 5);
  for (const ProxTv2dOptions& options : solvers()) {
    const auto first = [&](const Tensor& value, bool create_graph) {
      const Tensor samples = value.requires_grad() ? value : value.clone().requires_grad_();
      const Tensor rows = positive({2, 1, 1}).requires_grad_();
      const Tensor columns = positive({}).requires_grad_();
      const Tensor loss = prox_tv2d(samples, {rows, columns}, options).sin().sum();
      const auto gradients =
          torch::autograd::grad({loss}, {samples, rows, columns}, {}, true, create_graph);
      return (gradients[0] * direction).sum() + gradients[1].sum() + gradients[2];
    };
    const Tensor variable = x.clone().requires_grad_();
    const Tensor second = torch::autograd::grad({first(variable, true)}, {variable})[0];
    const Tensor expected = by_differences(
        [&](const Tensor& value) {
          const at::AutoGradMode grad_mode(true);
          return first(value, false).detach();
        },
        x);
    EXPECT_TRUE(at::allclose(second, expected, 1e-6, 1e-7)) << second << expected;
  }
}

TEST(LibtorchProxTv2d, KeepsDtypes) {
  for (const auto dtype : {at::kHalf, at::kBFloat16, at::kFloat, at::kDouble}) {
    const Tensor x = noise({3, 8, 9}).to(dtype).requires_grad_();
    const Tensor lam = positive({3, 1, 1}).requires_grad_();
    const Tensor y = prox_tv2d(x, lam);
    EXPECT_EQ(y.scalar_type(), dtype);
    y.sum().backward();
    EXPECT_EQ(x.grad().scalar_type(), dtype);
    EXPECT_EQ(lam.grad().scalar_type(), at::kDouble);
    EXPECT_EQ(lam.grad().sizes(), lam.sizes());
  }
}

TEST(LibtorchProxTv2d, RecordsNothingWhereNothingNeedsIt) {
  const Tensor x = noise({4, 6}).requires_grad_();
  EXPECT_TRUE(prox_tv2d(x, 0.3).requires_grad());
  EXPECT_FALSE(prox_tv2d(x.detach(), 0.3).requires_grad());
  const at::NoGradGuard no_grad;
  EXPECT_FALSE(prox_tv2d(x, 0.3).requires_grad());
}

TEST(LibtorchProxTv2d, NamesTheArgumentAtFault) {
  const Tensor x = noise({2, 3, 5});
  const Tensor minus = at::full({2, 1, 1}, -1.0, at::kDouble);
  const Tensor lam = positive({});
  EXPECT_EQ(error_of([&] { prox_tv2d(Tensor(), 1.0); }), "x: must be defined");
  EXPECT_EQ(error_of([&] { prox_tv2d(x[0][0], 1.0); }),
            "x: must have at least 2 dimensions, got 1");
  EXPECT_EQ(error_of([&] { prox_tv2d(x.to(at::kLong), 1.0); }),
            "x: dtype must be float16, bfloat16, float32 or float64, got Long");
  EXPECT_EQ(error_of([&] { prox_tv2d(x, -1.0); }), "lam: must be >= 0 and not NaN, got -1");
  EXPECT_EQ(error_of([&] { prox_tv2d(x, minus); }),
            "lam: must be >= 0 and not NaN, got -1 at index 0");
  EXPECT_EQ(error_of([&] {
              prox_tv2d(x, {lam, minus});
            }),
            "lam_cols: must be >= 0 and not NaN, got -1 at index 0");
  EXPECT_EQ(error_of([&] { prox_tv2d(x, positive({4})); }),
            "lam: must have size 1 along both dims, or be a pair, got shape [4]");
  EXPECT_EQ(error_of([&] {
              prox_tv2d(x, {lam, Tensor()});
            }),
            "lam: must be two numbers or two tensors that are defined");
  EXPECT_EQ(error_of([&] {
              prox_tv2d(x, 1.0, {.dims = {0, 3}});
            }),
            "dims: must be from -3 to 2 for this x, got 3");
  EXPECT_EQ(error_of([&] {
              prox_tv2d(x, 1.0, {.dims = {1, -2}});
            }),
            "dims: must be two different dimensions of x, got 1 and -2");
  EXPECT_EQ(error_of([&] { prox_tv2d(x, 1.0, {.iterations = 0}); }),
            "iterations: must be from 1 to 2147483647, got 0");
  EXPECT_EQ(error_of([&] { prox_tv2d(x, 1.0, {.tol = -1}); }),
            "tol: must be > 0 and finite, got -1");
  EXPECT_EQ(error_of([&] { prox_tv2d(x, 1.0, {.mode = static_cast<Mode>(7)}); }),
            "mode: must be Mode::smooth or Mode::sharp, got Mode(7)");
  EXPECT_EQ(error_of([&] { prox_tv2d(x, 1.0, {.method = static_cast<Method2d>(7)}); }),
            "method: must be Method2d::dykstra or Method2d::accelerated, got Method2d(7)");
  const Tensor start = noise({2, 3, 5}).requires_grad_();
  EXPECT_THROW(prox_tv2d(x, 1.0, {.start = start}), c10::NotImplementedError);
}

TEST(LibtorchGap2d, GivesTheCoresBits) {
  const Tensor x = noise({3, 12, 20});
  const auto [y, info] = prox_tv2d_with_info(x, 0.5);
  const auto images = [](const Tensor& tensor) {
    return tautstring::view(tensor.data_ptr<double>(), {3, 12, 20});
  };
  std::vector<double> alone(3), with_dual(3);
  const tautstring::Problem2d problem = {.x = images(x), .lam_rows = 0.5, .lam_cols = 0.5};
  ASSERT_TRUE(tautstring::gap2d(problem, {.y = images(y)}, alone).ok());
  ASSERT_TRUE(
      tautstring::gap2d(problem, {.y = images(y), .dual = images(info.dual)}, with_dual).ok());
  const Tensor lam = at::full({3, 1, 1}, 0.5, at::kDouble);
  EXPECT_TRUE(at::equal(gap2d(x, y, 0.5), at::tensor(alone, at::kDouble)));
  EXPECT_TRUE(at::equal(gap2d(x, y, lam), at::tensor(alone, at::kDouble)));
  EXPECT_TRUE(
      at::equal(gap2d(x, y, {0.5, 0.5}, {.dual = info.dual}), at::tensor(with_dual, at::kDouble)));
  EXPECT_TRUE((gap2d(x, y, lam, {.dual = info.dual}) <= info.gap).all().item<bool>());
}

TEST(LibtorchGap2d, TakesAnyDimsStridesAndDtypes) {
  const Tensor x = noise({4, 5, 6}).permute({2, 0, 1});
  const Tensor y = prox_tv2d(x, {0.3, 0.5}, {.dims = {0, 2}});
  const Tensor gap = gap2d(x, y.to(at::kFloat), {0.3, 0.5}, {.dims = {0, -1}});
  EXPECT_EQ(gap.sizes(), at::IntArrayRef({4}));
  EXPECT_EQ(gap.scalar_type(), at::kDouble);
  const Tensor moved = y.to(at::kFloat).permute({1, 0, 2});
  EXPECT_TRUE(at::equal(gap, gap2d(x.permute({1, 0, 2}), moved, {0.3, 0.5})));
}

TEST(LibtorchGap2d, HasNoGradient) {
  const Tensor x = noise({4, 6});
  const Tensor variable = x.clone().requires_grad_();
  const Tensor lam = positive({}).requires_grad_();
  EXPECT_FALSE(gap2d(x, x, 0.3).requires_grad());
  EXPECT_THROW(gap2d(variable, x, 0.3).backward(), c10::NotImplementedError);
  EXPECT_THROW(gap2d(x, variable, 0.3).backward(), c10::NotImplementedError);
  EXPECT_THROW(gap2d(x, x, lam).backward(), c10::NotImplementedError);
  EXPECT_THROW(gap2d(x, x, 0.3, {.dual = variable}).backward(), c10::NotImplementedError);
}

TEST(LibtorchGap2d, NamesTheArgumentAtFault) {
  const Tensor x = noise({2, 3, 5});
  const Tensor lam = positive({});
  EXPECT_EQ(error_of([&] { gap2d(Tensor(), x, 1.0); }), "x: must be defined");
  EXPECT_EQ(error_of([&] { gap2d(x, Tensor(), 1.0); }), "y: must be defined");
  EXPECT_EQ(error_of([&] { gap2d(x, x.to(at::kLong), 1.0); }),
            "y: dtype must be float16, bfloat16, float32 or float64, got Long");
  EXPECT_EQ(error_of([&] { gap2d(x, x, -1.0); }), "lam: must be >= 0 and not NaN, got -1");
  EXPECT_EQ(error_of([&] { gap2d(x, x, positive({4})); }),
            "lam: must have size 1 along both dims, or be a pair, got shape [4]");
  EXPECT_EQ(error_of([&] {
              gap2d(x, x, {lam, Tensor()});
            }),
            "lam: must be two numbers or two tensors that are defined");
  EXPECT_EQ(error_of([&] {
              gap2d(x, x, 1.0, {.dims = {0, 3}});
            }),
            "dims: must be from -3 to 2 for this x, got 3");
  EXPECT_TRUE(error_of([&] { gap2d(x, x[0], 1.0); }).starts_with("y: "));
  EXPECT_TRUE(error_of([&] { gap2d(x, x, 1.0, {.dual = x[0]}); }).starts_with("dual: "));
}

TEST(LibtorchProxTv2d, NamesALamThatIsOneForBothDirectionsLam) {
  const Tensor x = noise({2, 5, 6});
  const Tensor sparse = at::ones({2, 1, 1}).to_sparse();
  const Tensor negative = at::full({2, 1, 1}, -1.0);
  const Tensor negated = at::_neg_view(at::full({2, 1, 1}, 1.0));  // written out for the core
  EXPECT_TRUE(error_of([&] { prox_tv2d(x, sparse); }).starts_with("lam: must be a dense"));
  EXPECT_TRUE(error_of([&] { prox_tv2d(x, negative); }).starts_with("lam: must be >= 0"));
  EXPECT_TRUE(error_of([&] { prox_tv2d(x, negated); }).starts_with("lam: must be >= 0"));
  EXPECT_TRUE(error_of([&] { gap2d(x, x, negative); }).starts_with("lam: must be >= 0"));
  EXPECT_TRUE(error_of([&] {
                prox_tv2d(x, {at::ones({2, 1, 1}), negative});
              }).starts_with("lam_cols: must be >= 0"));
}

}  // namespace
