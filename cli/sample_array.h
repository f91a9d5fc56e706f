// An array of samples in memory, as stored in signal files. Independent of the file format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tautstring/view.h"

namespace tautstring::cli {

struct SampleArray {
  DType dtype = DType::float64;
  std::vector<std::int64_t> shape;  // at most kMaxDims; empty: one number
  bool fortran_order = false;       // first dimension fastest
  bool big_endian = false;          // in the file; `data` is always in native order
  std::vector<std::byte> data;

  [[nodiscard]] std::int64_t count() const;
  [[nodiscard]] std::vector<std::int64_t> strides() const;

  /// The sample at an offset in memory, as stored.
  [[nodiscard]] double at(std::int64_t offset) const;
};

[[nodiscard]] View view_of(SampleArray& array);
[[nodiscard]] ConstView view_of(const SampleArray& array);

/// A view of other samples with the memory layout of `array`.
[[nodiscard]] View view_like(const SampleArray& array, double* data);

/// The position of the sample at `offset`: one index per dimension.
[[nodiscard]] std::vector<std::int64_t> index_of(const SampleArray& array, std::int64_t offset);

/// "float32", as NumPy names it.
[[nodiscard]] std::string name_of(DType dtype);

/// "(3, 4)", as NumPy writes a shape or an index.
[[nodiscard]] std::string tuple_text(const std::vector<std::int64_t>& numbers);

}  // namespace tautstring::cli
