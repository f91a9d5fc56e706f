#include "check.h"

#include <tautstring/error.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "device.h"
#include "differences.h"
#include "reference.h"
#include "storage.h"

namespace bench {
namespace {

constexpr std::int64_t kCheckedRows = 64;

/// The index of the k-th checked row in the batch. The middle row is one of the checked rows.
std::int64_t checked_row(const Layout& layout, std::int64_t k) {
  return k * layout.rows() / std::min(kCheckedRows, layout.rows());
}

/// The checked rows of an array on the GPU, contiguous.
template <class T>
std::vector<T> fetch(const T* from, const Layout& layout) {
  const std::int64_t count = std::min(kCheckedRows, layout.rows());
  const auto n = static_cast<std::size_t>(layout.n);
  std::vector<T> rows(static_cast<std::size_t>(count) * n);
  for (std::int64_t k = 0; k < count; ++k) {
    const std::int64_t row = checked_row(layout, k);
    const T* start = from + row / layout.width * layout.n * layout.width + row % layout.width;
    T* to = rows.data() + static_cast<std::size_t>(k) * n;
    if (layout.width == 1) {
      check_cuda(cudaMemcpy(to, start, n * sizeof(T), cudaMemcpyDeviceToHost));
    } else {
      const std::size_t pitch = static_cast<std::size_t>(layout.width) * sizeof(T);
      check_cuda(cudaMemcpy2D(to, sizeof(T), start, pitch, sizeof(T), n, cudaMemcpyDeviceToHost));
    }
  }
  return rows;
}

/// The same for an array with `n` elements per row and contiguous rows.
template <class T>
std::vector<T> fetch(const T* from, const Layout& layout, std::int64_t n) {
  return fetch(from, {.images = layout.rows(), .n = n});
}

template <class T>
std::vector<double> widen(const std::vector<T>& values) {
  return widened(std::span<const T>(values));
}

}  // namespace

template <class T>
double check_forward(const Case& c, const ForwardArrays<T>& arrays) {
  const std::vector<double> x = widen(fetch(arrays.x, c.layout));
  const std::vector<double> y = widen(fetch(arrays.y, c.layout));
  const auto rows = static_cast<std::int64_t>(x.size()) / c.layout.n;
  std::vector<double> lam;
  tautstring::Problem1d problem = {.x = view_of(x.data(), {rows, c.layout.n}), .lam = c.lam};
  if (arrays.lam != nullptr) {
    lam = widen(fetch(arrays.lam, c.layout, c.lams_a_row()));
    problem.lam = view_of(lam.data(), {rows, c.lams_a_row()});
  }
  std::string why;
  const std::vector<double> right = certified_solution(problem, why);
  if (right.empty()) throw std::runtime_error(why);
  return compare<T>("y", right, y, x, static_cast<std::size_t>(c.layout.n));
}

template <class T>
double check_backward(const Case& c, const BackwardArrays<T>& arrays) {
  const std::int64_t n = c.layout.n;
  const std::vector<std::uint32_t> partition =
      fetch(arrays.partition, c.layout, tautstring::partition_words(n));
  const std::vector<double> grad_y = widen(fetch(arrays.grad_y, c.layout));
  const auto rows = static_cast<std::int64_t>(grad_y.size()) / n;
  std::vector<double> right_x(grad_y.size());
  std::vector<double> edges(static_cast<std::size_t>(rows * (n - 1)));  // the terms of grad_lam
  tautstring::check(tautstring::prox_tv1d_backward(
      {.partition = partition}, view_of(grad_y.data(), {rows, n}),
      {.x = view_of(right_x.data(), {rows, n}), .lam = view_of(edges.data(), {rows, n - 1})}));

  const std::vector<double> grad_lam = widen(fetch(arrays.grad_lam, c.layout, 1));
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto terms = std::span(edges).subspan(static_cast<std::size_t>(row * (n - 1)),
                                                static_cast<std::size_t>(n - 1));
    compare_sum<T>("grad_lam", grad_lam[static_cast<std::size_t>(row)], terms);
  }
  const std::vector<double> grad_x = widen(fetch(arrays.grad_x, c.layout));
  return compare<T>("grad_x", right_x, grad_x, grad_y, static_cast<std::size_t>(n));
}

template double check_forward(const Case&, const ForwardArrays<float>&);
template double check_forward(const Case&, const ForwardArrays<double>&);
template double check_forward(const Case&, const ForwardArrays<BFloat16>&);
template double check_backward(const Case&, const BackwardArrays<float>&);
template double check_backward(const Case&, const BackwardArrays<double>&);
template double check_backward(const Case&, const BackwardArrays<BFloat16>&);

}  // namespace bench
