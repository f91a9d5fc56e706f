// prox_tv1d_newton on LibTorch tensors.
#include "tautstring/torch/newton1d.h"

#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/forward_grad.h>

#include <vector>

#include "support.h"
#include "tautstring/torch/tv1d.h"

namespace {

using at::Tensor;
using tautstring::LineSearch;
using tautstring::Mode;
using tautstring::prox_tv1d;
using tautstring::prox_tv1d_newton;
using tautstring::prox_tv1d_newton_with_info;
using tautstring::ProxTv1dNewtonOptions;

/// Calls that converge by themselves, or are finished by the direct solver, from any start.
const std::vector<ProxTv1dNewtonOptions>& solvers() {
  static const std::vector<ProxTv1dNewtonOptions> all = {
      {},
      {.mode = Mode::sharp, .line_search = LineSearch::halving},
      {.iterations = 1, .start = at::full({2, 6}, 0.1, at::kDouble)}};
  return all;
}

TEST(LibtorchProxTv1dNewton, GivesTheCoresBits) {
  const Tensor x = noise({3, 20});
  Tensor y = at::empty_like(x);
  Tensor dual = at::empty({3, 19}, at::kDouble);
  std::vector<double> gap(3);
  std::vector<std::int32_t> iterations(3);
  std::vector<std::uint8_t> converged(3);
  const auto status = tautstring::prox_tv1d_newton(
      {.x = tautstring::view(x.data_ptr<double>(), {3, 20}), .lam = 0.5}, {},
      {.y = tautstring::view(y.data_ptr<double>(), {3, 20}),
       .dual = tautstring::view(dual.data_ptr<double>(), {3, 19}),
       .gap = gap,
       .iterations = iterations,
       .converged = converged});
  ASSERT_TRUE(status.ok());
  EXPECT_TRUE(at::equal(prox_tv1d_newton(x, 0.5), y));
  for (const auto& [solution, info] :
       {prox_tv1d_newton_with_info(x, 0.5),
        prox_tv1d_newton_with_info(x, at::full({3, 1}, 0.5, at::kDouble))}) {
    EXPECT_TRUE(at::equal(solution, y));
    EXPECT_TRUE(at::equal(info.iterations, at::tensor(iterations, at::kInt)));
    EXPECT_TRUE(at::equal(info.gap, at::tensor(gap, at::kDouble)));
    EXPECT_TRUE(at::equal(info.converged, at::tensor(converged, at::kByte).to(at::kBool)));
    EXPECT_TRUE(at::equal(info.dual, dual));
  }
}

TEST(LibtorchProxTv1dNewton, AgreesWithTheDirectSolver) {
  const Tensor x = noise({2, 7});
  for (const ProxTv1dNewtonOptions& options : solvers()) {
    const Tensor expected = prox_tv1d(x, 0.3, {.mode = options.mode});
    EXPECT_TRUE(at::allclose(prox_tv1d_newton(x, 0.3, options), expected, 0, 1e-12));
  }
}

TEST(LibtorchProxTv1dNewton, TakesAnyDimAndStrides) {
  const Tensor x = noise({4, 5, 6}).permute({2, 0, 1});
  for (const std::int64_t dim : {0, 1, 2, -1}) {
    const auto [y, info] = prox_tv1d_newton_with_info(x, 0.3, {.dim = dim});
    EXPECT_EQ(y.strides(), x.strides());
    EXPECT_TRUE(at::equal(y, prox_tv1d_newton(x.contiguous(), 0.3, {.dim = dim})));
    EXPECT_EQ(info.gap.sizes(), x.select(dim, 0).sizes());
    EXPECT_EQ(info.dual.sizes(), x.narrow(dim, 1, x.size(dim) - 1).sizes());
  }
  const Tensor number = at::tensor(2.5);
  const auto [y, info] = prox_tv1d_newton_with_info(number, 0.3);
  EXPECT_TRUE(at::equal(y, number));
  EXPECT_EQ(info.gap.dim(), 0);
}

TEST(LibtorchProxTv1dNewton, StartsWhereAnEarlierCallEnded) {
  const Tensor x = noise({3, 200});
  const auto [y, cold] = prox_tv1d_newton_with_info(x, 0.5);
  const auto [again, warm] = prox_tv1d_newton_with_info(x, 0.5, {.start = cold.dual});
  EXPECT_TRUE((warm.iterations < cold.iterations).all().item<bool>());
  EXPECT_TRUE(at::allclose(again, y, 0, 1e-12));
}

TEST(LibtorchProxTv1dNewton, GradientsMatchDifferences) {
  const Tensor x = noise({2, 7});
  for (const ProxTv1dNewtonOptions& options : solvers()) {
    for (const Tensor& lam : {positive({}), positive({2, 1}), positive({6}), positive({2, 6})}) {
      expect_gradient([&](const Tensor& v) { return prox_tv1d_newton(v, lam, options); }, x);
      expect_gradient([&](const Tensor& v) { return prox_tv1d_newton(x, v, options); }, lam);
    }
  }
}

TEST(LibtorchProxTv1dNewton, SecondDerivativesAreThoseOfTheDirectSolver) {
  const Tensor x = noise({2, 7});
  const Tensor direction = noise({2, 7}, 5);
  const auto second = [&](const auto& solve) {
    const Tensor samples = x.clone().requires_grad_();
    const Tensor lam = positive({2, 1}).requires_grad_();
    const auto first =
        torch::autograd::grad({solve(samples, lam).sin().sum()}, {samples, lam}, {}, true, true);
    const Tensor sum = (first[0] * direction).sum() + first[1].sum();
    return torch::autograd::grad({sum}, {samples, lam});
  };
  const auto expected =
      second([](const Tensor& samples, const Tensor& lam) { return prox_tv1d(samples, lam); });
  const auto result = second(
      [](const Tensor& samples, const Tensor& lam) { return prox_tv1d_newton(samples, lam); });
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_GT(expected[i].abs().max().item<double>(), 0);
    EXPECT_TRUE(at::allclose(result[i], expected[i], 0, 1e-11));
  }
}

TEST(LibtorchProxTv1dNewton, KeepsDtypes) {
  for (const auto dtype : {at::kHalf, at::kBFloat16, at::kFloat, at::kDouble}) {
    const Tensor x = noise({3, 20}).to(dtype).requires_grad_();
    const Tensor lam = positive({1}).requires_grad_();
    const auto [y, info] = prox_tv1d_newton_with_info(x, lam);
    EXPECT_EQ(y.scalar_type(), dtype);
    EXPECT_EQ(info.dual.scalar_type(), at::kDouble);
    y.sum().backward();
    EXPECT_EQ(x.grad().scalar_type(), dtype);
    EXPECT_EQ(lam.grad().scalar_type(), at::kDouble);
  }
}

TEST(LibtorchProxTv1dNewton, RecordsNothingWhereNothingNeedsIt) {
  const Tensor x = noise({2, 6}).requires_grad_();
  const auto [y, info] = prox_tv1d_newton_with_info(x, 0.3);
  EXPECT_TRUE(y.requires_grad());
  EXPECT_FALSE(info.gap.requires_grad() || info.dual.requires_grad());
  EXPECT_FALSE(prox_tv1d_newton(x.detach(), 0.3).requires_grad());
  const at::NoGradGuard no_grad;
  EXPECT_FALSE(prox_tv1d_newton(x, 0.3).requires_grad());
}

TEST(LibtorchProxTv1dNewton, ForwardDerivativesSayThatTheyAreNotThere) {
  const Tensor x = noise({2, 6});
  const std::uint64_t level = torch::autograd::ForwardADLevel::get_next_idx();
  const Tensor dual = at::_make_dual(x, at::ones_like(x), static_cast<std::int64_t>(level));
  EXPECT_THROW(prox_tv1d_newton(dual, 0.3), c10::NotImplementedError);
  EXPECT_THROW(prox_tv1d_newton(x, 0.3, {.start = dual}), c10::NotImplementedError);
  torch::autograd::ForwardADLevel::release_idx(level);
}

TEST(LibtorchProxTv1dNewton, NamesTheArgumentAtFault) {
  const Tensor x = noise({3, 5});
  EXPECT_EQ(error_of([&] { prox_tv1d_newton(Tensor(), 1.0); }), "x: must be defined");
  EXPECT_EQ(error_of([&] { prox_tv1d_newton(x, Tensor()); }), "lam: must be defined");
  EXPECT_EQ(error_of([&] { prox_tv1d_newton(x, -1.0); }), "lam: must be >= 0 and not NaN, got -1");
  EXPECT_EQ(error_of([&] { prox_tv1d_newton(x, 1.0, {.dim = 2}); }),
            "dim: must be from -2 to 1 for this x, got 2");
  EXPECT_EQ(error_of([&] { prox_tv1d_newton(x, 1.0, {.mode = static_cast<Mode>(7)}); }),
            "mode: must be Mode::smooth or Mode::sharp, got Mode(7)");
  EXPECT_EQ(
      error_of([&] { prox_tv1d_newton(x, 1.0, {.line_search = static_cast<LineSearch>(7)}); }),
      "line_search: must be LineSearch::interpolation or LineSearch::halving, got LineSearch(7)");
  EXPECT_EQ(error_of([&] { prox_tv1d_newton(x, 1.0, {.iterations = 0}); }),
            "iterations: must be from 1 to 2147483647, got 0");
  EXPECT_EQ(error_of([&] { prox_tv1d_newton(x, 1.0, {.tol = -1}); }),
            "tol: must be >= 0 and finite, got -1");
  EXPECT_EQ(error_of([&] { prox_tv1d_newton(x, 1.0, {.start = x}); }),
            "start: must have size n - 1 (one per edge) along dim, got 5 at index 1");
  EXPECT_EQ(error_of([&] { prox_tv1d_newton(x, 1.0, {.start = x.to(at::kLong)}); }),
            "start: dtype must be float16, bfloat16, float32 or float64, got Long");
  const Tensor start = noise({3, 4}).requires_grad_();
  EXPECT_THROW(prox_tv1d_newton(x, 1.0, {.start = start}), c10::NotImplementedError);
}

}  // namespace
