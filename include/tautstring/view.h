// Views of arrays that the caller owns: pointer, element type, shape, strides. Any strides are
// allowed (negative ones too, and 0 in inputs, for broadcasting), so rows, columns and slices of a
// larger array need no copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <type_traits>

#include "tautstring/export.h"

namespace tautstring {

/// Element types. float16 (IEEE binary16) and bfloat16 are storage types only: arithmetic is never
/// narrower than float32.
enum class DType : std::uint8_t { float16, bfloat16, float32, float64 };

[[nodiscard]] constexpr std::int64_t size_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::float16:
    case DType::bfloat16: return 2;
    case DType::float32: return 4;
    case DType::float64: return 8;
  }
  return 0;
}

namespace detail {
template <class T>
inline constexpr bool kIsNativeSample =
    std::is_same_v<std::remove_const_t<T>, float> || std::is_same_v<std::remove_const_t<T>, double>;
}  // namespace detail

/// Element types that are built into C++.
template <class T>
concept NativeSample = detail::kIsNativeSample<T>;

/// Data whose element type is passed separately.
template <class Data>
concept UntypedData = std::is_void_v<Data>;

/// A list of sizes: a span, vector or array of int64.
template <class Range>
concept SizeRange = std::is_convertible_v<const Range&, std::span<const std::int64_t>>;

/// Maximum number of dimensions of a view. Calls fold batch dimensions that all their arrays step
/// through evenly, as contiguous arrays do, into one; at most 8 may be left.
inline constexpr int kMaxDims = 32;

/// A strided array, aligned to its element size. `Data` is `void` for outputs and `const void` for
/// inputs. A default-constructed view means "not given".
template <class Data>
struct BasicView {
  Data* data = nullptr;
  DType dtype = DType::float32;
  int ndim = -1;                        // -1: not given; 0: one element
  std::int64_t shape[kMaxDims] = {};    // of dimensions 0 .. ndim - 1
  std::int64_t strides[kMaxDims] = {};  // in elements, not bytes

  [[nodiscard]] constexpr bool given() const noexcept { return ndim >= 0; }

  // An output can be passed wherever an input is expected.
  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr operator BasicView<const void>() const noexcept requires(!std::is_const_v<Data>) {
    BasicView<const void> view;
    view.data = data;
    view.dtype = dtype;
    view.ndim = ndim;
    for (int d = 0; d < ndim && d < kMaxDims; ++d) {
      view.shape[d] = shape[d];
      view.strides[d] = strides[d];
    }
    return view;
  }
};

using View = BasicView<void>;
using ConstView = BasicView<const void>;

/// Returns the element at `view.data` + `offset` elements, in host memory and of any dtype, as
/// float64.
[[nodiscard]] TAUTSTRING_API double value_at(const ConstView& view, std::int64_t offset) noexcept;

/// A shape or strides: a list in braces, or a span, vector or array of int64. With more than
/// kMaxDims values only the count is kept, for the error message.
class Sizes {
 public:
  constexpr Sizes() noexcept = default;
  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr Sizes(std::initializer_list<std::int64_t> values) noexcept
      : Sizes(std::span(values.begin(), values.size())) {}
  template <SizeRange Range>
  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr Sizes(const Range& range) noexcept {
    const std::span<const std::int64_t> values = range;
    count_ = values.size();
    for (std::size_t d = 0; d < count_ && d < kMaxDims; ++d) values_[d] = values[d];
  }

  [[nodiscard]] constexpr std::size_t count() const noexcept { return count_; }
  [[nodiscard]] constexpr std::int64_t operator[](std::size_t d) const noexcept {
    return values_[d];
  }

 private:
  std::int64_t values_[kMaxDims] = {};
  std::size_t count_ = 0;
};

/// A view of `data` with the given shape and strides (in elements). With more than kMaxDims
/// dimensions, or a different number of strides, the view is invalid: every call returns an error
/// that names it.
template <UntypedData Data>
[[nodiscard]] constexpr BasicView<Data> view(Data* data, DType dtype, const Sizes& shape,
                                             const Sizes& strides) noexcept {
  BasicView<Data> view;
  view.data = data;
  view.dtype = dtype;
  view.ndim = kMaxDims + 1;
  if (shape.count() != strides.count() || shape.count() > kMaxDims) return view;
  view.ndim = static_cast<int>(shape.count());
  for (std::size_t d = 0; d < shape.count(); ++d) {
    view.shape[d] = shape[d];
    view.strides[d] = strides[d];
  }
  return view;
}

/// The same for a contiguous array, last dimension fastest.
template <UntypedData Data>
[[nodiscard]] constexpr BasicView<Data> view(Data* data, DType dtype, const Sizes& shape) noexcept {
  BasicView<Data> result = view(data, dtype, shape, shape);
  if (result.ndim > kMaxDims) return result;
  std::uint64_t stride = 1;  // unsigned: a shape that is too large is rejected later
  for (int d = result.ndim - 1; d >= 0; --d) {
    result.strides[d] = static_cast<std::int64_t>(stride);
    stride *= static_cast<std::uint64_t>(result.shape[d]);
  }
  return result;
}

/// The same for float and double arrays, whose dtype is known.
///
/// \code
/// std::vector<float> image(480 * 640);
/// const auto rows = tautstring::view(image.data(), {480, 640});               // along each row
/// const auto columns = tautstring::view(image.data(), {640, 480}, {1, 640});  // along each column
/// assert(rows.ndim == 2 && rows.strides[0] == 640 && columns.strides[1] == 640);
/// \endcode
template <NativeSample T>
[[nodiscard]] constexpr auto view(T* data, const Sizes& shape) noexcept {
  using Data = std::conditional_t<std::is_const_v<T>, const void, void>;
  constexpr DType dtype = sizeof(T) == sizeof(double) ? DType::float64 : DType::float32;
  return view(static_cast<Data*>(data), dtype, shape);
}

template <NativeSample T>
[[nodiscard]] constexpr auto view(T* data, const Sizes& shape, const Sizes& strides) noexcept {
  using Data = std::conditional_t<std::is_const_v<T>, const void, void>;
  constexpr DType dtype = sizeof(T) == sizeof(double) ? DType::float64 : DType::float32;
  return view(static_cast<Data*>(data), dtype, shape, strides);
}

}  // namespace tautstring
