// An array of samples in memory, as signal files hold it. Knows no file format.
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

  /// The sample at a place of the memory, as stored.
  [[nodiscard]] double at(std::int64_t offset) const;
};

[[nodiscard]] View view_of(SampleArray& array);
[[nodiscard]] ConstView view_of(const SampleArray& array);

/// A view of other samples that lie in memory just as those of `array` do.
[[nodiscard]] View view_like(const SampleArray& array, double* data);

/// Where the sample at `offset` stands: one index a dimension.
[[nodiscard]] std::vector<std::int64_t> index_of(const SampleArray& array, std::int64_t offset);

/// "float32", as NumPy says it.
[[nodiscard]] std::string name_of(DType dtype);

/// "(3, 4)", as NumPy writes a shape or an index.
[[nodiscard]] std::string tuple_text(const std::vector<std::int64_t>& numbers);

}  // namespace tautstring::cli
