// Loads and stores images: of any dtype and strides, to and from contiguous arrays, row by row, in
// the arithmetic type.
#pragma once

#include <cstdint>

#include "backend.h"
#include "cpu/targets.h"
#include "step/row/row_io.h"

namespace tautstring::detail {

template <class T>
void load_image(const ImageSpan<const void>& from, std::int32_t height, std::int32_t width,
                T* to) noexcept {
  chosen_cpu_target().kernels<T>().load_pixels(from, height, width, to, width);
}

/// value_at(i) is the new value of pixel i, rounded once.
template <class ValueAt>
void store_image(const ImageSpan<void>& to, std::int32_t height, std::int32_t width,
                 const ValueAt& value_at) noexcept {
  with_storage(to.dtype, [&](auto storage) {
    using Storage = decltype(storage);
    auto* data = static_cast<Storage*>(to.data);
    std::int64_t i = 0;
    for (std::int32_t r = 0; r < height; ++r) {
      for (std::int32_t c = 0; c < width; ++c) {
        data[r * to.row_stride + c * to.column_stride] = to_storage<Storage>(value_at(i++));
      }
    }
  });
}

/// The same for an optional array.
template <class ValueAt>
void store_image(const ImageArray& array, const Images& images, std::int64_t image,
                 const ValueAt& value_at) noexcept {
  if (!array.given) return;
  store_image(array.image(images, image), array.height, array.width, value_at);
}

}  // namespace tautstring::detail
