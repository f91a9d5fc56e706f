// Launches over the images of a batch, and their arguments in the form that kernels take.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "cuda/dispatch/device.h"
#include "cuda/dispatch/image_lines.h"
#include "cuda/dispatch/launch.h"
#include "cuda/kernels/kernel_images.cuh"

namespace tautstring::detail {

inline std::int64_t pixels_of(const Images& images) noexcept {
  return std::int64_t{images.height} * images.width;
}

inline PlacedImages place(const ConstImageArray& array, const Images& images,
                          Lines2d lines) noexcept {
  return {by_lines(array, images.batch_dims, lines), lines_of(images, lines)};
}
inline PlacedImages place(const ImageArray& array, const Images& images, Lines2d lines) noexcept {
  return {by_lines(array, images.batch_dims, lines), lines_of(images, lines)};
}

/// Places an array by images.
template <class Data>
PlacedPixels<Data> place_pixels(const BasicImageArray<Data>& array, const Images& images) noexcept {
  if (!array.given) return {};
  Rows batch;
  batch.batch_dims = images.batch_dims;
  std::copy_n(images.batch_shape, images.batch_dims, batch.batch_shape);
  return {array.data,
          array.dtype,
          {by_lines(array, images.batch_dims, Lines2d::rows), batch},
          array.row_stride};
}

/// An array of lams; 0 if it is not given.
inline PlacedLam place_lam(const ConstImageArray& array, const Images& images,
                           Lines2d lines) noexcept {
  if (!array.given) return {0, nullptr, DType::float32, {}};
  const PlacedImages placed = place(array, images, lines);
  if (placed.size == 0) return {0, nullptr, DType::float32, {}};  // no edge
  return {0, array.data, array.dtype, placed};
}
inline PlacedLam place(const ImageLam& lam, const Images& images, Lines2d lines) noexcept {
  PlacedLam placed = place_lam(lam.array, images, lines);
  if (!lam.array.given) placed.number = lam.number;
  return placed;
}

/// Places an array of lams, whose size differs from that of the images, by its own rows.
inline PlacedImages place_own(const ImageArray& array, const Images& images) noexcept {
  Images shape = images;
  shape.height = array.height;
  shape.width = array.width;
  return place(array, shape, Lines2d::rows);
}

template <class Data>
PackedElements elements_of(const BasicImageArray<Data>& array, const Images& images) noexcept {
  return {images.count * array.height * array.width, std::max(array.width, 1)};
}

/// Launches over a batch. Keeps the first error.
class Launches {
 public:
  explicit Launches(const Context& context) noexcept : stream_(stream_of(context)) {}

  [[nodiscard]] const Status& status() const noexcept { return status_; }
  [[nodiscard]] cudaStream_t stream() const noexcept { return stream_; }

  /// Launches this many blocks of kImageThreads.
  template <class... Parameters, class... Arguments>
  void launch(void (*kernel)(Parameters...), std::int64_t blocks,
              const Arguments&... arguments) noexcept {
    launch_sharing(kernel, blocks, 0, arguments...);
  }
  /// The same with dynamic shared memory in each block.
  template <class... Parameters, class... Arguments>
  void launch_sharing(void (*kernel)(Parameters...), std::int64_t blocks, std::size_t shared,
                      const Arguments&... arguments) noexcept {
    if (!status_.ok()) return;
    if (blocks > std::numeric_limits<std::int32_t>::max()) {
      add(device_status(cudaErrorInvalidConfiguration));
      return;
    }
    add(allow_shared_memory(kernel, shared));
    if (!status_.ok()) return;
    kernel<<<static_cast<unsigned>(blocks), kImageThreads, shared, stream_>>>(arguments...);
    add(launch_status());
  }
  /// One thread per element, or one for several elements.
  template <class... Parameters, class... Arguments>
  void launch_over(void (*kernel)(Parameters...), std::int64_t elements,
                   const Arguments&... arguments) noexcept {
    constexpr std::int64_t kMostBlocks = 1 << 20;
    launch(kernel, std::min((elements + kImageThreads - 1) / kImageThreads, kMostBlocks),
           arguments...);
  }
  /// Copies the values of a strided array to a packed one, and back. An array of lams may differ in
  /// size from the images.
  template <class T>
  void pack(const ConstImageArray& array, const Images& images, T* to) noexcept {
    const PackedElements elements = elements_of(array, images);
    launch_over(&kernel_pack_images<T>, elements.count, elements,
                place(array, images, Lines2d::rows), array.data, array.dtype, to);
  }
  template <class T>
  void unpack(const ImageArray& array, const Images& images, const T* from) noexcept {
    if (!array.given) return;
    const PackedElements elements = elements_of(array, images);
    if (elements.count == 0) return;
    launch_over(&kernel_unpack_images<T>, elements.count, elements, place_own(array, images),
                array.data, array.dtype, from);
  }
  /// Sets all elements to 0.
  void clear(const ImageArray& array, const Images& images) noexcept {
    const PackedElements elements = elements_of(array, images);
    if (!array.given || elements.count == 0) return;
    launch_over(&kernel_clear_images, elements.count, elements, place_own(array, images),
                array.data, array.dtype);
  }
  template <class Item>
  void clear(Item* items, std::int64_t count) noexcept {
    set_bytes(items, 0, count * static_cast<std::int64_t>(sizeof(Item)));
  }
  void fill(std::uint8_t* items, std::int64_t count, std::uint8_t value) noexcept {
    set_bytes(items, value, count);
  }
  void add(const Status& status) noexcept {
    if (status_.ok()) status_ = status;
  }
  void add(cudaError_t error) noexcept { add(device_status(error)); }

 private:
  void set_bytes(void* first, int value, std::int64_t count) noexcept {
    if (first == nullptr || count == 0) return;
    add(cudaMemsetAsync(first, value, static_cast<std::size_t>(count), stream_));
  }

  cudaStream_t stream_;
  Status status_;
};

}  // namespace tautstring::detail
