// The gradient of lams that several lines share: the sum of the lines' own gradients, in float64.
// The order of the additions depends on the shape of the batch alone, so the result does not depend
// on threads or on the layout, bit for bit.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend.h"
#include "cpu/image_io.h"
#include "step/row/scratch.h"

namespace tautstring::detail {

/// Rows longer than this have a term each, which costs them nothing.
inline constexpr std::int32_t kLongestJoined = 1024;
inline constexpr std::int32_t kMostRowsPerTerm = 16;

/// How many consecutive rows that share their lambda have one term of the sum.
std::int32_t rows_per_term(const Backward1d& call) noexcept;

/// Whether the lines of an image share their lambda: it then has one term of the sum.
[[nodiscard]] inline bool lines_share(const ImageArray& gradient) noexcept {
  return gradient.shared &&
         (gradient.height > 1 ? gradient.row_stride : gradient.column_stride) == 0;
}

/// Stores the gradient of the lams of one image: value_at(i) is that of line or edge i.
template <class ValueAt>
void store_lams(const ImageArray& gradient, const Images& images, std::int64_t image,
                const ValueAt& value_at) noexcept {
  if (!lines_share(gradient)) return store_image(gradient, images, image, value_at);
  const std::int64_t lines = std::int64_t{gradient.height} * gradient.width;
  double sum = 0;
  for (std::int64_t i = 0; i < lines; ++i) sum += value_at(i);
  store_image(gradient.image(images, image), 1, 1, [&](std::int64_t) { return sum; });
}

/// Adds up the terms of the gradient of one call's lams. If it is not shared, does nothing.
class SharedLams {
 public:
  SharedLams(const Rows& rows, const RowArray& gradient, std::int32_t rows_per_term) noexcept;
  SharedLams(const Images& images, const ImageArray& gradient) noexcept;

  [[nodiscard]] bool is_given() const noexcept { return dims_ > 0; }
  void take_memory(Scratch& scratch) noexcept;
  /// Takes what suffices for the lams of so many lines.
  static void take_most(Scratch& scratch, std::int64_t lines) noexcept;

  /// The array of float64 to which the call writes the terms: the gradient itself if it is not
  /// shared.
  [[nodiscard]] RowArray terms(const Rows& rows, const RowArray& gradient) const noexcept;
  [[nodiscard]] ImageArray terms(const Images& images, const ImageArray& gradient) const noexcept;

  /// Stores the sums of the terms in the gradient.
  void store() const noexcept;

 private:
  void add_dim(std::int64_t size, std::int64_t stride) noexcept;
  void sum_terms() const noexcept;

  void* gradient_ = nullptr;
  DType dtype_ = DType::float32;
  int dims_ = 0;  // of the terms; 0: the gradient is not shared
  std::int64_t sizes_[kMaxBatchDims] = {};
  std::int64_t strides_[kMaxBatchDims] = {};  // of the gradient; 0: shared
  std::int64_t term_count_ = 1;
  std::int64_t sum_count_ = 1;  // elements of the gradient
  double* terms_ = nullptr;
  double* sums_ = nullptr;  // null if there are no terms
};

}  // namespace tautstring::detail
