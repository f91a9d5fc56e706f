// Shared by the tests of tautstring::torch.
#pragma once

#include <c10/util/Exception.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <string>

/// The text of the argument error that a call throws.
inline std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const c10::ValueError& error) {
    return error.what_without_backtrace();
  }
  return "no error";
}

inline at::Tensor noise(at::IntArrayRef shape, std::uint64_t seed = 0) {
  at::manual_seed(seed);
  return at::randn(shape, at::kDouble);
}

inline at::Tensor positive(at::IntArrayRef shape) {
  at::manual_seed(7);
  return at::rand(shape, at::kDouble) * 0.6 + 0.2;
}

/// The gradient of a scalar function by central differences.
inline at::Tensor by_differences(const std::function<at::Tensor(const at::Tensor&)>& function,
                                 const at::Tensor& at) {
  constexpr double kStep = 1e-5;
  const at::NoGradGuard no_grad;
  const at::Tensor flat = at.flatten();
  at::Tensor gradient = at::empty_like(flat);
  for (std::int64_t i = 0; i < flat.numel(); ++i) {
    const auto moved = [&](double step) {
      at::Tensor copy = flat.clone();
      copy[i] += step;
      return function(copy.view(at.sizes())).item<double>();
    };
    gradient[i] = (moved(kStep) - moved(-kStep)) / (2 * kStep);
  }
  return gradient.view(at.sizes());
}

/// Checks the gradient of sum(y^2) for one argument.
inline void expect_gradient(const std::function<at::Tensor(const at::Tensor&)>& solve,
                            const at::Tensor& argument) {
  const auto loss = [&](const at::Tensor& value) { return solve(value).square().sum(); };
  const at::Tensor variable = argument.clone().requires_grad_();
  const at::Tensor gradient = torch::autograd::grad({loss(variable)}, {variable})[0];
  const at::Tensor expected = by_differences(loss, argument);
  EXPECT_EQ(gradient.sizes(), argument.sizes());
  EXPECT_TRUE(at::allclose(gradient, expected, 1e-6, 1e-7)) << gradient << expected;
}
