// prox_tv1d on LibTorch tensors.
#include "tautstring/torch/tv1d.h"

#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/forward_grad.h>
#include <torch/csrc/autograd/variable.h>

#include <limits>
#include <vector>

#include "support.h"

namespace {

using at::Tensor;
using tautstring::Mode;
using tautstring::prox_tv1d;

/// Tensors whose memory does not contain their values: it has the negated values, or nothing.
Tensor with_negative_bit(const Tensor& values) {
  Tensor negative = at::imag(at::complex(at::zeros_like(values), -values).conj());
  EXPECT_TRUE(negative.is_neg());
  return negative;
}

Tensor without_memory(at::IntArrayRef shape) {
  Tensor zeros = at::_efficientzerotensor(shape, at::TensorOptions(at::kDouble));
  EXPECT_TRUE(zeros._is_zerotensor());
  return zeros;
}

TEST(LibtorchProxTv1d, GivesTheCoresBits) {
  const Tensor x = noise({3, 20});
  Tensor expected = at::empty_like(x);
  const auto status =
      tautstring::prox_tv1d({.x = tautstring::view(x.data_ptr<double>(), {3, 20}), .lam = 0.5},
                            tautstring::view(expected.data_ptr<double>(), {3, 20}));
  ASSERT_TRUE(status.ok());
  EXPECT_TRUE(at::equal(prox_tv1d(x, 0.5), expected));
  EXPECT_TRUE(at::equal(prox_tv1d(x, at::full({3, 1}, 0.5, at::kDouble)), expected));
}

TEST(LibtorchProxTv1d, TakesAnyDimAndStrides) {
  const Tensor x = noise({4, 5, 6}).permute({2, 0, 1});
  for (const std::int64_t dim : {0, 1, 2, -1}) {
    const Tensor y = prox_tv1d(x, 0.3, {.dim = dim});
    EXPECT_EQ(y.strides(), x.strides());
    EXPECT_TRUE(at::equal(y, prox_tv1d(x.contiguous(), 0.3, {.dim = dim})));
  }
  const Tensor number = at::tensor(2.5);
  EXPECT_TRUE(at::equal(prox_tv1d(number, 0.3), number));
}

TEST(LibtorchProxTv1d, KeepsDtypes) {
  for (const auto dtype : {at::kHalf, at::kBFloat16, at::kFloat, at::kDouble}) {
    const Tensor x = noise({3, 20}).to(dtype).requires_grad_();
    const Tensor lam = positive({1}).requires_grad_();
    const Tensor y = prox_tv1d(x, lam);
    EXPECT_EQ(y.scalar_type(), dtype);
    y.sum().backward();
    EXPECT_EQ(x.grad().scalar_type(), dtype);
    EXPECT_EQ(lam.grad().scalar_type(), at::kDouble);
  }
}

class LibtorchModes : public testing::TestWithParam<Mode> {};

TEST_P(LibtorchModes, GradientsMatchDifferences) {
  const Tensor x = noise({2, 7});
  for (const Tensor& lam : {positive({}), positive({2, 1}), positive({6}), positive({2, 6})}) {
    expect_gradient([&](const Tensor& v) { return prox_tv1d(v, lam, {.mode = GetParam()}); }, x);
    expect_gradient([&](const Tensor& v) { return prox_tv1d(x, v, {.mode = GetParam()}); }, lam);
  }
}

TEST_P(LibtorchModes, GradientsWithWeightsMatchDifferences) {
  const Tensor x = noise({2, 7});
  const Tensor lam = positive({1});
  const Tensor weight = positive({2, 7});
  const auto solve = [&](const Tensor& samples, const Tensor& penalty, const Tensor& weights) {
    return prox_tv1d(samples, penalty, {.weight = weights, .mode = GetParam()});
  };
  expect_gradient([&](const Tensor& v) { return solve(v, lam, weight); }, x);
  expect_gradient([&](const Tensor& v) { return solve(x, v, weight); }, lam);
  expect_gradient([&](const Tensor& v) { return solve(x, lam, v); }, weight);
}

TEST_P(LibtorchModes, SecondDerivativesMatchDifferences) {
  const Tensor x = noise({2, 6});
  const Tensor lam = positive({2, 1});
  const Tensor direction = noise({2, 6}, 5);
  const auto first = [&](const Tensor& value, bool create_graph) {
    const Tensor samples = value.requires_grad() ? value : value.clone().requires_grad_();
    const Tensor penalty = lam.clone().requires_grad_();
    const Tensor loss = prox_tv1d(samples, penalty, {.mode = GetParam()}).sin().sum();
    const auto gradients =
        torch::autograd::grad({loss}, {samples, penalty}, {}, true, create_graph);
    return (gradients[0] * direction).sum() + gradients[1].sum();
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

INSTANTIATE_TEST_SUITE_P(All, LibtorchModes, testing::Values(Mode::smooth, Mode::sharp));

TEST(LibtorchProxTv1d, SecondDerivativeWithWeightsSaysThatItIsNotThere) {
  const Tensor x = noise({2, 6}).requires_grad_();
  const Tensor y = prox_tv1d(x, 0.3, {.weight = positive({6})});
  const Tensor grad = torch::autograd::grad({y.square().sum()}, {x}, {}, true, true)[0];
  EXPECT_THROW(grad.sum().backward(), c10::NotImplementedError);
}

TEST(LibtorchProxTv1d, ForwardDerivativesSayThatTheyAreNotThere) {
  const Tensor x = noise({2, 6});
  const Tensor lam = positive({1});
  const Tensor variable = x.clone().requires_grad_();
  const std::uint64_t level = torch::autograd::ForwardADLevel::get_next_idx();
  const auto dual = [&](const Tensor& primal) {
    return at::_make_dual(primal, at::ones_like(primal), static_cast<std::int64_t>(level));
  };
  EXPECT_THROW(prox_tv1d(dual(x), lam), c10::NotImplementedError);
  EXPECT_THROW(prox_tv1d(x, dual(lam)), c10::NotImplementedError);
  EXPECT_THROW(prox_tv1d(variable, dual(lam)), c10::NotImplementedError);
  EXPECT_THROW(prox_tv1d(x, lam, {.weight = dual(positive({6}))}), c10::NotImplementedError);
  const Tensor y = prox_tv1d(variable, lam);
  EXPECT_THROW(torch::autograd::grad({y}, {variable}, {dual(x)}), c10::Error);
  torch::autograd::ForwardADLevel::release_idx(level);
}

TEST(LibtorchProxTv1d, RecordsNothingWhereNothingNeedsIt) {
  const Tensor x = noise({2, 6}).requires_grad_();
  EXPECT_TRUE(prox_tv1d(x, 0.3).requires_grad());
  EXPECT_FALSE(prox_tv1d(x.detach(), 0.3).requires_grad());
  const at::NoGradGuard no_grad;
  EXPECT_FALSE(prox_tv1d(x, 0.3).requires_grad());
}

TEST(LibtorchProxTv1d, NamesTheArgumentAtFault) {
  const Tensor x = noise({3, 5});
  EXPECT_EQ(error_of([&] { prox_tv1d(x, -1.0); }), "lam: must be >= 0 and not NaN, got -1");
  EXPECT_EQ(error_of([&] { prox_tv1d(x, 1.0, {.dim = 2}); }),
            "dim: must be from -2 to 1 for this x, got 2");
  EXPECT_EQ(error_of([&] { prox_tv1d(x, 1.0, {.mode = static_cast<Mode>(7)}); }),
            "mode: must be Mode::smooth or Mode::sharp, got Mode(7)");
  EXPECT_EQ(error_of([&] { prox_tv1d(x.to(at::kLong), 1.0); }),
            "x: dtype must be float16, bfloat16, float32 or float64, got Long");
  EXPECT_EQ(error_of([&] { prox_tv1d(x, Tensor()); }), "lam: must be defined");
  EXPECT_EQ(error_of([&] { prox_tv1d(x[0][0], x); }),
            "lam: must not have more dimensions than x, got 2");
}

TEST(LibtorchProxTv1d, ReadsTensorsWithTheNegativeBit) {
  const Tensor x = noise({3, 5});
  const Tensor lam = positive({3, 1});
  const Tensor weight = positive({5});
  const Tensor expected = prox_tv1d(x, lam, {.weight = weight});
  const auto solve = [&](const Tensor& samples) {
    return prox_tv1d(samples, with_negative_bit(lam), {.weight = with_negative_bit(weight)});
  };
  EXPECT_TRUE(at::equal(solve(with_negative_bit(x)), expected));
  EXPECT_TRUE(at::equal(solve(with_negative_bit(x).requires_grad_()), expected));
  const Tensor columns = with_negative_bit(x.t());
  EXPECT_TRUE(at::equal(prox_tv1d(columns, 0.3, {.dim = 0}), prox_tv1d(x, 0.3).t()));
}

TEST(LibtorchProxTv1d, ReadsGradientsWithTheNegativeBit) {
  const Tensor grad_y = noise({2, 6}, 5);
  const Tensor lam = positive({2, 1}).requires_grad_();
  for (const Tensor& weight : {Tensor(), positive({6})}) {
    const Tensor x = noise({2, 6}).requires_grad_();
    const Tensor y = prox_tv1d(x, lam, {.weight = weight});
    const auto expected = torch::autograd::grad({y}, {x, lam}, {grad_y}, true);
    const auto gradients = torch::autograd::grad({y}, {x, lam}, {with_negative_bit(grad_y)}, true);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_TRUE(at::equal(gradients[i], expected[i]));
    }
  }
}

TEST(LibtorchProxTv1d, ReadsTensorsWithoutMemoryAsZeros) {
  const Tensor x = noise({3, 5}).requires_grad_();
  const Tensor zeros = without_memory({3, 5});
  EXPECT_TRUE(at::equal(prox_tv1d(zeros, 0.3), at::zeros({3, 5}, at::kDouble)));
  EXPECT_TRUE(at::equal(prox_tv1d(x, without_memory({3, 1})), x));
  EXPECT_TRUE(prox_tv1d(x, 0.3, {.weight = zeros}).isnan().all().item<bool>());
  const Tensor gradient = torch::autograd::grad({prox_tv1d(x, 0.3)}, {x}, {zeros})[0];
  EXPECT_TRUE(at::equal(gradient, at::zeros({3, 5}, at::kDouble)));
}

TEST(LibtorchProxTv1d, RefusesTensorsThatAreNotDense) {
  const Tensor x = noise({3, 5});
  EXPECT_EQ(error_of([&] { prox_tv1d(x.to_sparse(), 1.0); }),
            "x: must be a dense tensor, got layout Sparse");
  EXPECT_EQ(error_of([&] {
              prox_tv1d(x, positive({3, 1}).to_sparse_csr());
            }),
            "lam: must be a dense tensor, got layout SparseCsr");
  const Tensor weight = positive({3, 5}).to(at::kFloat).to_mkldnn();
  EXPECT_EQ(error_of([&] { prox_tv1d(x, 1.0, {.weight = weight}); }),
            "weight: must be a dense tensor, got layout Mkldnn");
  const Tensor nested = at::_nested_tensor_from_tensor_list({x[0], x[1]});
  EXPECT_EQ(error_of([&] { prox_tv1d(nested, 1.0); }),
            "x: must be a dense tensor, got a nested one");
  const Tensor variable = x.clone().requires_grad_();
  const Tensor y = prox_tv1d(variable, 1.0);
  EXPECT_EQ(error_of([&] { torch::autograd::grad({y}, {variable}, {x.to_sparse()}); }),
            "grad_y: must be a dense tensor, got layout Sparse");
}

TEST(LibtorchProxTv1d, RefusesDevicesByName) {
  const Tensor x = noise({3, 5});
  const Tensor elsewhere = at::ones({3, 1}, at::TensorOptions(at::kDouble).device(at::kMeta));
  EXPECT_EQ(error_of([&] { prox_tv1d(elsewhere, elsewhere); }),
            "x: must be on the CPU or on CUDA, got meta");
  EXPECT_EQ(error_of([&] { prox_tv1d(x, elsewhere); }),
            "lam: must be on the CPU or on CUDA, got meta");
  EXPECT_EQ(error_of([&] { prox_tv1d(x, 1.0, {.weight = elsewhere}); }),
            "weight: must be on the CPU or on CUDA, got meta");
}

}  // namespace
