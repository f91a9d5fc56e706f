#include "cpu/shared_lams.h"

#include <algorithm>
#include <numeric>

#include "cpu/sum_in_lanes.h"
#include "step/row/row_io.h"

namespace tautstring::detail {
namespace {

/// Contiguous strides of a batch of arrays with `inner` elements each.
void set_strides(const std::int64_t* shape, int dims, std::int64_t inner,
                 std::int64_t* strides) noexcept {
  for (int d = dims - 1; d >= 0; --d) {
    strides[d] = inner;
    inner *= shape[d];
  }
}

std::int64_t line_count(const ImageArray& gradient) noexcept {
  return std::max(gradient.height, gradient.width);
}

}  // namespace

std::int32_t rows_per_term(const Backward1d& call) noexcept {
  const Rows& rows = call.solved.rows;
  if (!call.grad_lam.shared || call.solved.weight.given || rows.n == 0 || rows.n > kLongestJoined) {
    return 1;
  }
  for (int d = rows.batch_dims - 1; d >= 0; --d) {
    if (rows.batch_shape[d] == 1) continue;
    if (call.grad_lam.batch_strides[d] != 0) return 1;
    return static_cast<std::int32_t>(std::gcd(rows.batch_shape[d], kMostRowsPerTerm));
  }
  return 1;
}

SharedLams::SharedLams(const Rows& rows, const RowArray& gradient,
                       std::int32_t rows_per_term) noexcept
    : gradient_(gradient.data), dtype_(gradient.dtype) {
  if (!gradient.shared) return;
  for (int d = 0; d < rows.batch_dims; ++d) {
    add_dim(rows.batch_shape[d], gradient.batch_strides[d]);
  }
  sizes_[dims_ - 1] /= rows_per_term;
  term_count_ /= rows_per_term;
}

SharedLams::SharedLams(const Images& images, const ImageArray& gradient) noexcept
    : gradient_(gradient.data), dtype_(gradient.dtype) {
  if (!gradient.shared) return;
  for (int d = 0; d < images.batch_dims; ++d) {
    add_dim(images.batch_shape[d], gradient.batch_strides[d]);
  }
  if (lines_share(gradient)) {
    add_dim(1, 0);
  } else {
    add_dim(line_count(gradient),
            gradient.height > 1 ? gradient.row_stride : gradient.column_stride);
  }
}

/// Joins neighbouring dimensions that are shared, so that the last one is as long as possible.
void SharedLams::add_dim(std::int64_t size, std::int64_t stride) noexcept {
  if (size == 1 && dims_ > 0) return;
  term_count_ *= size;
  if (stride != 0) sum_count_ *= size;
  if (dims_ > 0 && stride == 0 && strides_[dims_ - 1] == 0) {
    sizes_[dims_ - 1] *= size;
    return;
  }
  sizes_[dims_] = size;
  strides_[dims_] = stride;
  ++dims_;
}

void SharedLams::take_memory(Scratch& scratch) noexcept {
  if (!is_given()) return;
  if (term_count_ == 0) return;
  terms_ = scratch.take<double>(term_count_);
  sums_ = scratch.take<double>(sum_count_);
}

void SharedLams::take_most(Scratch& scratch, std::int64_t lines) noexcept {
  scratch.take<double>(lines);
  scratch.take<double>(lines);
}

RowArray SharedLams::terms(const Rows& rows, const RowArray& gradient) const noexcept {
  if (!is_given()) return gradient;
  RowArray array = gradient;
  array.data = terms_;
  array.dtype = DType::float64;
  set_strides(rows.batch_shape, rows.batch_dims, 1, array.batch_strides);
  return array;
}

ImageArray SharedLams::terms(const Images& images, const ImageArray& gradient) const noexcept {
  if (!is_given()) return gradient;
  ImageArray array = gradient;
  array.data = terms_;
  array.dtype = DType::float64;
  const bool by_image = lines_share(gradient);
  array.row_stride = array.column_stride = by_image ? 0 : 1;
  set_strides(images.batch_shape, images.batch_dims, by_image ? 1 : line_count(gradient),
              array.batch_strides);
  return array;
}

void SharedLams::sum_terms() const noexcept {
  std::int64_t sum_strides[kMaxBatchDims] = {};
  std::int64_t dense = 1;
  for (int d = dims_ - 1; d >= 0; --d) {
    if (strides_[d] == 0) continue;
    sum_strides[d] = dense;
    dense *= sizes_[d];
  }
  std::fill_n(sums_, sum_count_, 0.0);
  const int last = dims_ - 1;
  std::int64_t index[kMaxBatchDims] = {};
  double* sum = sums_;
  for (const double* term = terms_; term < terms_ + term_count_; term += sizes_[last]) {
    if (strides_[last] == 0) {
      *sum += sum_in_lanes(sizes_[last], [&](std::int64_t i) { return term[i]; });
    } else {
      for (std::int64_t i = 0; i < sizes_[last]; ++i) sum[i] += term[i];
    }
    for (int d = last - 1; d >= 0; --d) {
      sum += sum_strides[d];
      if (++index[d] < sizes_[d]) break;
      sum -= sum_strides[d] * sizes_[d];
      index[d] = 0;
    }
  }
}

void SharedLams::store() const noexcept {
  if (!is_given()) return;
  if (term_count_ > 0) sum_terms();
  for (std::int64_t i = 0; i < sum_count_; ++i) {
    const double sum = term_count_ > 0 ? sums_[i] : 0;
    std::int64_t offset = 0;
    std::int64_t rest = i;
    for (int d = dims_ - 1; d >= 0; --d) {
      if (strides_[d] == 0) continue;
      offset += rest % sizes_[d] * strides_[d];
      rest /= sizes_[d];
    }
    store_row({static_cast<std::byte*>(gradient_) + offset * size_of(dtype_), dtype_, 1, 1}, 1,
              &sum);
  }
}

}  // namespace tautstring::detail
