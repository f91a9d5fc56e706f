// Images whose pixels are interleaved in memory, as those of channels-last tensors are: copied to
// and from scratch memory, several at a time. One by one, each would read or write all cache lines
// of its neighbours.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "backend.h"
#include "cpu/targets.h"
#include "step/row/scratch.h"

namespace tautstring::detail {

/// How many images are copied together, at most: by their size alone, so that the scratch memory
/// does not depend on strides.
[[nodiscard]] inline std::int64_t images_together(const Images& images, int tasks) noexcept {
  constexpr std::int64_t kMostPixels = 1 << 16;  // more would not stay in the second-level cache
  constexpr std::int64_t kMost = 16;
  constexpr std::int64_t kGroupsPerTask = 4;  // fewer would leave tasks idle at the end
  const std::int64_t pixels = std::max<std::int64_t>(std::int64_t{images.height} * images.width, 1);
  const std::int64_t share = images.count / (kGroupsPerTask * tasks);
  return std::clamp<std::int64_t>(std::min(kMostPixels / pixels, share), 1, kMost);
}

/// From one image in scratch memory to the next, in elements. A whole number of pages would put the
/// same pixel of all images into one set of the cache.
[[nodiscard]] inline std::int64_t stage_pitch(const Images& images) noexcept {
  constexpr std::int64_t kLine = 32;  // at least a cache line, for elements of any size
  return std::int64_t{images.height} * images.width + kLine;
}

/// Scratch memory for so many images.
[[nodiscard]] inline std::int64_t stage_bytes(const Images& images, std::int64_t together,
                                              std::size_t element_size) noexcept {
  if (together == 1) return 0;
  return together * stage_pitch(images) * static_cast<std::int64_t>(element_size);
}

/// Whether neighbours in memory are pixels of different images.
template <class Data>
[[nodiscard]] bool is_interleaved(const Images& images,
                                  const BasicImageArray<Data>& array) noexcept {
  const int inner = images.batch_dims - 1;
  return array.given && inner >= 0 && images.batch_shape[inner] > 1 &&
         array.batch_strides[inner] == 1 && array.column_stride != 1;
}

/// An array of images, of which a group is in scratch memory if that is faster. Data is const void
/// for input, void for output.
template <class Data>
class ImageStage {
 public:
  /// Elements of the array have at most `element_size` bytes.
  ImageStage(Scratch& scratch, const Images& images, const BasicImageArray<Data>& array,
             std::int64_t together, std::size_t element_size) noexcept
      : images_(images),
        array_(array),
        pixels_(std::int64_t{images.height} * images.width),
        pitch_(stage_pitch(images)) {
    auto* const memory = scratch.take<std::byte>(stage_bytes(images, together, element_size));
    if (together > 1 && is_interleaved(images, array)) copies_ = memory;
  }

  /// Image `index` of the group that begins with image `first`.
  [[nodiscard]] ImageSpan<Data> image(std::int64_t index, std::int64_t first) const noexcept {
    if (copies_ == nullptr) return array_.image(images_, index);
    return {copies_ + (index - first) * pitch_ * size_of(array_.dtype), array_.dtype, images_.width,
            1};
  }

  /// Copies images [first, last) to the scratch memory.
  void load(std::int64_t first, std::int64_t last) const noexcept {
    for_each_run(first, last, [&](const auto& columns, auto* array, auto* copies, Run run) {
      columns.gather(array, run.stride, run.images, run.pixels, copies, pitch_);
    });
  }
  /// Copies them from there to the array.
  void store(std::int64_t first, std::int64_t last) const noexcept {
    for_each_run(first, last, [&](const auto& columns, auto* array, auto* copies, Run run) {
      columns.scatter(copies, pitch_, run.images, run.pixels, array, run.stride);
    });
  }

 private:
  /// Pixels of neighbouring images, evenly spaced.
  struct Run {
    std::int32_t images;
    std::int32_t pixels;
    std::int64_t stride;
  };

  template <class Use>
  void for_each_run(std::int64_t first, std::int64_t last, const Use& use) const noexcept {
    if (copies_ == nullptr) return;
    const CpuTarget& target = chosen_cpu_target();
    switch (size_of(array_.dtype)) {
      case 2: return for_each_run_of(first, last, target.columns16, use);
      case 4: return for_each_run_of(first, last, target.float32.columns, use);
      default: return for_each_run_of(first, last, target.float64.columns, use);
    }
  }
  template <class T, class Use>
  void for_each_run_of(std::int64_t first, std::int64_t last, const ColumnMoves<T>& columns,
                       const Use& use) const noexcept {
    using Element = std::conditional_t<std::is_const_v<Data>, const T, T>;
    const std::int64_t neighbours = images_.batch_shape[images_.batch_dims - 1];
    const bool is_even = array_.row_stride == images_.width * array_.column_stride;
    auto* copies = reinterpret_cast<T*>(copies_);
    while (first < last) {
      const std::int64_t count = std::min(last - first, neighbours - first % neighbours);
      auto* from = static_cast<Element*>(array_.image(images_, first).data);
      Run run = {static_cast<std::int32_t>(count), images_.width, array_.column_stride};
      if (is_even) run.pixels = static_cast<std::int32_t>(pixels_);
      for (std::int64_t pixel = 0, r = 0; pixel < pixels_; pixel += run.pixels, ++r) {
        use(columns, from + r * array_.row_stride, copies + pixel, run);
      }
      copies += count * pitch_;
      first += count;
    }
  }

  const Images& images_;
  const BasicImageArray<Data>& array_;
  std::int64_t pixels_;
  std::int64_t pitch_;
  std::byte* copies_ = nullptr;  // null: images are used where they are
};

}  // namespace tautstring::detail
