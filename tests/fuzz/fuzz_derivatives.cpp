// Fuzzes the derivatives of rows and of images: backward and jvp are adjoint,
//   <grad_y, J tangent> = <J^T grad_y, tangent>,
// in x, in lams per line or per edge, and in the weights of rows.
#include <fuzzer/FuzzedDataProvider.h>
#include <tautstring/tautstring.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "support/require.h"
#include "support/row.h"
#include "support/values.h"

namespace {

using tautstring::Sizes;
using tautstring::View;
using tautstring::view;
using tautstring::fuzz::require;
using tautstring::fuzz::Row;
using tautstring::fuzz::Values;

std::size_t count_of(const Sizes& shape) {
  std::int64_t count = 1;
  for (std::size_t d = 0; d < shape.count(); ++d) count *= shape[d];
  return static_cast<std::size_t>(count);
}

/// Small irregular integers, in an array that a call may read.
struct Direction {
  Direction(const Sizes& shape_, std::size_t step, std::size_t period)
      : shape(shape_), values(count_of(shape)) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<double>(i * step % period) - static_cast<double>(period / 2);
    }
  }
  [[nodiscard]] tautstring::ConstView read() const { return view(values.data(), shape); }

  Sizes shape;
  std::vector<double> values;
};

/// An optional argument of the solver: its direction and its gradient.
struct Argument {
  Argument(const Sizes& shape, std::size_t step, std::size_t period, bool is_given_ = true)
      : is_given(is_given_),
        direction(is_given ? shape : Sizes{0}, step, period),
        gradient(direction.values.size()) {}
  [[nodiscard]] tautstring::ConstView tangent() const {
    return is_given ? direction.read() : tautstring::ConstView{};
  }
  [[nodiscard]] tautstring::View grad() {
    return is_given ? view(gradient.data(), direction.shape) : tautstring::View{};
  }

  bool is_given;
  Direction direction;
  std::vector<double> gradient;
};

/// A sum of products, and the scale of its rounding errors.
struct Inner {
  void add(std::span<const double> a, std::span<const double> b) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      value += a[i] * b[i];
      size += std::abs(a[i] * b[i]);
    }
  }

  double value = 0;
  double size = 0;
};

void check_adjoint(const Direction& grad_y, const std::vector<double>& tangent_y,
                   std::initializer_list<const Argument*> arguments) {
  Inner forward;
  Inner backward;
  forward.add(grad_y.values, tangent_y);
  for (const Argument* const argument : arguments) {
    backward.add(argument->gradient, argument->direction.values);
  }
  require(std::abs(forward.value - backward.value) <= 1e-11 * (1 + forward.size + backward.size));
}

void check_row(FuzzedDataProvider& data) {
  const Row row(data);
  if (row.weighted && row.kind == Values::any_bits) return;  // sums of terms of any size
  const Sizes shape = {row.n};
  std::vector<double> y(row.x.size()), tangent_y(row.x.size());
  std::vector<std::uint32_t> partition(
      static_cast<std::size_t>(tautstring::partition_words(row.n)));
  const View result = view(y.data(), shape);
  if (!tautstring::prox_tv1d(row.problem(row.mode), result, partition).ok()) return;

  tautstring::Solved1d solved = {.partition = partition, .mode = row.mode};
  if (row.weighted) {
    solved.x = view(row.x.data(), shape);
    solved.y = result;
    solved.weight = view(row.weight.data(), shape);
  }
  const Direction grad_y(shape, 7, 11);
  Argument x(shape, 5, 13);
  Argument lam({row.per_edge ? row.n - 1 : 1}, 3, 7);
  Argument weight(shape, 11, 5, row.weighted);
  require(tautstring::prox_tv1d_jvp(
              solved, {.x = x.tangent(), .lam = lam.tangent(), .weight = weight.tangent()},
              view(tangent_y.data(), shape))
              .ok());
  require(tautstring::prox_tv1d_backward(
              solved, grad_y.read(), {.x = x.grad(), .lam = lam.grad(), .weight = weight.grad()})
              .ok());
  check_adjoint(grad_y, tangent_y, {&x, &lam, &weight});
}

tautstring::Solver2d settings(FuzzedDataProvider& data) {
  constexpr double kTols[] = {0, 1e-6, 1e-2};
  return {.method = data.ConsumeBool() ? tautstring::Method2d::accelerated
                                       : tautstring::Method2d::dykstra,
          .iterations = data.ConsumeIntegralInRange(1, 12),
          .tol = data.PickValueInArray(kTols),
          .derivative = data.ConsumeBool() ? tautstring::Derivative2d::implicit
                                           : tautstring::Derivative2d::unrolled};
}

void check_images(FuzzedDataProvider& data) {
  const tautstring::Solver2d solver = settings(data);
  const auto kind = data.ConsumeEnum<Values>();
  const bool per_edge = data.ConsumeBool();
  const auto count = data.ConsumeIntegralInRange<std::int64_t>(1, 3);
  const auto height = data.ConsumeIntegralInRange<std::int64_t>(1, 9);
  const auto width = data.ConsumeIntegralInRange<std::int64_t>(1, 9);
  const Sizes shape = {count, height, width};
  tautstring::Problem2d problem = {
      .lam_rows = penalty(data, kind),
      .lam_cols = penalty(data, kind),
      .mode = data.ConsumeBool() ? tautstring::Mode::sharp : tautstring::Mode::smooth};
  std::vector<double> samples(count_of(shape)), y(samples.size()), tangent_y(samples.size());
  for (double& value : samples) value = sample(data, kind);
  problem.x = view(samples.data(), shape);

  const bool implicit = solver.derivative == tautstring::Derivative2d::implicit;
  const auto saved = tautstring::saved_words2d(problem.x, implicit ? 1 : solver.iterations);
  std::vector<std::uint32_t> partitions(static_cast<std::size_t>(saved));
  std::vector<double> momentum(count_of({count, solver.iterations}));
  std::vector<std::int32_t> done(count_of({count}));
  if (!tautstring::prox_tv2d(problem, solver,
                             {.y = view(y.data(), shape),
                              .partitions = partitions,
                              .momentum = momentum,
                              .iterations = done})
           .ok()) {
    return;
  }

  const tautstring::Solved2d solved = {.partitions = partitions,
                                       .momentum = momentum,
                                       .done = done,
                                       .iterations = solver.iterations,
                                       .derivative = solver.derivative,
                                       .mode = problem.mode};
  const Direction grad_y(shape, 7, 11);
  Argument x(shape, 5, 13);
  Argument lam_rows({count, height, per_edge ? width - 1 : 1}, 3, 7);
  Argument lam_cols({count, per_edge ? height - 1 : 1, width}, 5, 9);
  require(tautstring::prox_tv2d_jvp(
              solved,
              {.x = x.tangent(), .lam_rows = lam_rows.tangent(), .lam_cols = lam_cols.tangent()},
              view(tangent_y.data(), shape))
              .ok());
  require(tautstring::prox_tv2d_backward(
              solved, grad_y.read(),
              {.x = x.grad(), .lam_rows = lam_rows.grad(), .lam_cols = lam_cols.grad()})
              .ok());
  check_adjoint(grad_y, tangent_y, {&x, &lam_rows, &lam_cols});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  FuzzedDataProvider data(bytes, size);
  if (data.ConsumeBool()) {
    check_images(data);
  } else {
    check_row(data);
  }
  return 0;
}
