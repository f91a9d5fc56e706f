#include "support/solve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "step/small_float.h"
#include "tautstring/error.h"

namespace tautstring::testing {
namespace {

template <class Use>
void with_type(DType dtype, Use use) {
  switch (dtype) {
    case DType::float16: return use(detail::Float16{});
    case DType::bfloat16: return use(detail::BFloat16{});
    case DType::float32: return use(float{});
    case DType::float64: return use(double{});
  }
}

double largest_size(const std::vector<double>& values) {
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

}  // namespace

Lam lam_of(const Row& row) {
  const auto edges = static_cast<std::int64_t>(row.lam.size());
  if (edges == 1) return row.lam.front();
  return tautstring::view(row.lam.data(), {edges});
}

std::string dtype_name(DType dtype) {
  constexpr const char* kNames[] = {"float16", "bfloat16", "float32", "float64"};
  return kNames[static_cast<std::size_t>(dtype)];
}

Array::Array(DType dtype, std::size_t size)
    : dtype_(dtype), size_(size), bytes_(size * static_cast<std::size_t>(size_of(dtype))) {}

Array::Array(DType dtype, std::span<const double> values) : Array(dtype, values.size()) {
  with_type(dtype, [&](auto type) {
    using T = decltype(type);
    for (std::size_t i = 0; i < size_; ++i) {
      reinterpret_cast<T*>(bytes_.data())[i] = static_cast<T>(values[i]);
    }
  });
}

View Array::view() {
  return view({static_cast<std::int64_t>(size_)});
}

ConstView Array::view() const {
  return tautstring::view(static_cast<const void*>(bytes_.data()), dtype_,
                          {static_cast<std::int64_t>(size_)});
}

View Array::view(std::initializer_list<std::int64_t> shape) {
  return tautstring::view(static_cast<void*>(bytes_.data()), dtype_, shape);
}

std::vector<double> Array::values() const {
  std::vector<double> values(size_);
  with_type(dtype_, [&](auto type) {
    using T = decltype(type);
    for (std::size_t i = 0; i < size_; ++i) {
      values[i] = static_cast<double>(reinterpret_cast<const T*>(bytes_.data())[i]);
    }
  });
  return values;
}

Solution::Solution(const Row& row, DType dtype, Mode mode_)
    : partition(static_cast<std::size_t>(partition_words(static_cast<std::int64_t>(row.x.size())))),
      x_array(dtype, row.x),
      weight_array(DType::float64, row.weight),
      y_array(dtype, row.x.size()),
      weighted(!row.weight.empty()),
      mode(mode_) {
  const Problem1d problem = {.x = std::as_const(x_array).view(),
                             .lam = lam_of(row),
                             .weight = weighted ? std::as_const(weight_array).view() : ConstView{},
                             .mode = mode};
  Status status = prox_tv1d(problem, y_array.view(), partition);
  EXPECT_TRUE(status.ok()) << message(status);
  y = y_array.values();
  if (mode == Mode::smooth) {
    status =
        certificate1d(problem, std::as_const(y_array).view(), tautstring::view(&certificate, {1}));
    EXPECT_TRUE(status.ok()) << message(status);
  }
}

Solved1d Solution::solved() const {
  Solved1d solved = {.partition = partition, .mode = mode};
  if (weighted) {
    solved.x = x_array.view();
    solved.y = y_array.view();
    solved.weight = weight_array.view();
  }
  return solved;
}

std::vector<Code> Solution::codes() const {
  std::vector<Code> codes(y.size());
  for (std::size_t i = 0; i < codes.size(); ++i) {
    codes[i] = code_at(partition.data(), static_cast<std::int64_t>(i));
  }
  return codes;
}

Row rounded(Row row, DType dtype) {
  row.x = Array(dtype, row.x).values();
  return row;
}

double unit_in_last_place(DType dtype, double value) {
  const int digits = dtype == DType::float64   ? 53
                     : dtype == DType::float32 ? 24
                     : dtype == DType::float16 ? 11
                                               : 8;
  const int smallest = dtype == DType::float16 ? -14 : dtype == DType::float64 ? -1022 : -126;
  const int exponent = value == 0 ? smallest : std::max(std::ilogb(value), smallest);
  return std::ldexp(1.0, exponent + 1 - digits);
}

double value_fraction(DType dtype) {
  return dtype == DType::float64 ? 1e-12 : 1e-6;
}

double value_tolerance(DType dtype, const Row& row) {
  const std::vector<double> samples = present_samples(row);
  return value_fraction(dtype) * range_of(samples) +
         unit_in_last_place(dtype, largest_size(samples));
}

double certificate_tolerance(DType dtype, const Row& row) {
  const std::vector<double> samples = present_samples(row);
  const double width = row.weight.empty()
                           ? static_cast<double>(row.x.size())
                           : std::accumulate(row.weight.begin(), row.weight.end(), 0.0);
  double size = range_of(samples);
  for (const double lam : row.lam) {
    if (std::isfinite(lam)) size = std::max(size, lam);
  }
  const double rounding = width * unit_in_last_place(dtype, largest_size(samples)) / 2;
  return value_fraction(DType::float64) + (size > 0 ? rounding / size : 0);
}

}  // namespace tautstring::testing
