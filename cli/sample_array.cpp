// Sizes, indices and values of a SampleArray.
#include "sample_array.h"

#include <fmt/format.h>

#include <functional>
#include <numeric>

namespace tautstring::cli {
std::int64_t SampleArray::count() const {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::vector<std::int64_t> SampleArray::strides() const {
  std::vector<std::int64_t> result(shape.size());
  std::int64_t stride = 1;
  for (std::size_t step = 0; step < shape.size(); ++step) {
    const std::size_t d = fortran_order ? step : shape.size() - 1 - step;
    result[d] = stride;
    stride *= shape[d];
  }
  return result;
}

double SampleArray::at(std::int64_t offset) const {
  return value_at({.data = data.data(), .dtype = dtype}, offset);
}

View view_of(SampleArray& array) {
  return view(static_cast<void*>(array.data.data()), array.dtype, array.shape, array.strides());
}

ConstView view_of(const SampleArray& array) {
  return view(static_cast<const void*>(array.data.data()), array.dtype, array.shape,
              array.strides());
}

View view_like(const SampleArray& array, double* data) {
  return view(data, array.shape, array.strides());
}

std::vector<std::int64_t> index_of(const SampleArray& array, std::int64_t offset) {
  const std::vector<std::int64_t> strides = array.strides();
  std::vector<std::int64_t> index(array.shape.size());
  for (std::size_t d = 0; d < index.size(); ++d) index[d] = offset / strides[d] % array.shape[d];
  return index;
}

std::string name_of(DType dtype) {
  switch (dtype) {
    case DType::float16: return "float16";
    case DType::bfloat16: return "bfloat16";
    case DType::float32: return "float32";
    case DType::float64: return "float64";
  }
  return "?";
}

std::string tuple_text(const std::vector<std::int64_t>& numbers) {
  return fmt::format("({}{})", fmt::join(numbers, ", "), numbers.size() == 1 ? "," : "");
}

}  // namespace tautstring::cli
