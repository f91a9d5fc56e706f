#include "cpu/gradient_batch.h"

#include <algorithm>
#include <numeric>

#include "cpu/tile_pitch.h"
#include "step/row/row_io.h"

namespace tautstring::detail {
namespace {

/// Samples that a task works on at a time: few enough for the second-level cache, and enough to
/// make the cost of distributing chunks negligible.
constexpr std::int64_t kChunkSamples = 16384;

/// Columns are read and written one cache line at a time; for very long rows that would take too
/// much memory.
constexpr std::int64_t kFewestRows = 16;
constexpr std::int64_t kLongRow = 65536;

LamGradient lam_gradient(const Backward1d& call) noexcept {
  if (!call.grad_lam.given || call.grad_lam.size == 0) return LamGradient::none;
  return call.grad_lam.size == 1 ? LamGradient::row : LamGradient::edges;
}

}  // namespace

GradientLayout::GradientLayout(const Rows& batch, int tasks, std::int32_t together) noexcept
    : n(batch.n), pitch(tile_pitch(batch.n)) {
  const std::int64_t fewest = n <= kLongRow ? kFewestRows : 1;
  const std::int64_t share = (batch.count + tasks - 1) / tasks;
  const std::int64_t wanted = std::max(kChunkSamples / std::max(n, 1), fewest);
  rows = static_cast<std::int32_t>(std::max<std::int64_t>(std::min(share, wanted) / together, 1) *
                                   together);
}

template <class T, class Data>
bool ArrayRows<T, Data>::is_direct() const noexcept {
  return array_.dtype == kDType<T> && array_.stride == 1;
}

template <class T, class Data>
std::int64_t ArrayRows<T, Data>::run(std::int64_t row, std::int64_t count) const noexcept {
  return given_ ? std::min(count, places_.neighbours(row)) : count;
}

template <class T, class Data>
auto ArrayRows<T, Data>::data(std::int64_t row) const noexcept -> Sample* {
  return static_cast<Sample*>(places_[row].data);
}

template <class T, class Data>
void ArrayRows<T, Data>::load(std::int64_t row, std::int64_t count, const RowMover<T>& mover, T* to,
                              std::int64_t pitch) const noexcept {
  mover.load(places_[row], places_.step(), static_cast<std::int32_t>(count), to, pitch);
}

template <class T, class Data>
void ArrayRows<T, Data>::store(std::int64_t row, std::int64_t count, const RowMover<T>& mover,
                               const T* from, std::int64_t pitch) const noexcept {
  mover.store(from, pitch, static_cast<std::int32_t>(count), places_[row], places_.step());
}

template <class T>
GradientBatch<T>::GradientBatch(const Backward1d& call, const CpuTarget& target,
                                const GradientLayout& layout, Scratch& scratch) noexcept
    : call_(call),
      kernels_(target.kernels<T>()),
      layout_(layout),
      lam_(lam_gradient(call)),
      grad_y_(call.grad_y, call.solved.rows, true),
      grad_x_(call.grad_x, call.solved.rows, call.grad_x.given),
      edge_lam_(call.grad_lam, call.solved.rows, lam_ == LamGradient::edges),
      row_lam_(call.grad_lam, call.solved.rows),
      mover_(target, scratch.take<std::uint16_t>(layout.rows * layout.pitch)) {
  const std::int64_t samples = layout.rows * layout.pitch;
  if (lam_ == LamGradient::row) lam_sums_ = scratch.take<double>(layout.rows);
  if (grad_y_.is_copied() || grad_x_.is_copied()) samples_ = scratch.take<T>(samples);
  if (edge_lam_.is_copied()) edges_ = scratch.take<T>(samples);
}

template <class T>
std::size_t GradientBatch<T>::scratch_bytes(const GradientLayout& layout,
                                            const Backward1d* call) noexcept {
  Scratch scratch(nullptr);
  if (call != nullptr) {
    GradientBatch(*call, kPortableTarget, layout, scratch);
    return scratch.used();
  }
  scratch.take<std::uint16_t>(layout.rows * layout.pitch);
  scratch.take<double>(layout.rows);
  scratch.take<T>(layout.rows * layout.pitch);
  scratch.take<T>(layout.rows * layout.pitch);
  return scratch.used();
}

template <class T>
void GradientBatch<T>::operator()(std::int64_t first, std::int64_t last) noexcept {
  while (first < last) {
    std::int64_t count = grad_y_.run(first, last - first);
    count = grad_x_.run(first, count);
    count = edge_lam_.run(first, count);
    differentiate(first, count);
    first += count;
  }
}

template <class T>
void GradientBatch<T>::differentiate(std::int64_t first, std::int64_t count) noexcept {
  GradientRows<T> rows = {.count = count,
                          .n = layout_.n,
                          .sharp = call_.solved.mode == Mode::sharp,
                          .words = call_.solved.partition + first * partition_words(layout_.n),
                          .row_lam = lam_sums_};
  rows.g = grad_y_.is_copied() ? samples_ : grad_y_.data(first);
  rows.g_pitch = grad_y_.is_copied() ? layout_.pitch : grad_y_.pitch();
  if (grad_x_.is_given()) {
    rows.grad_x = grad_x_.is_copied() ? samples_ : grad_x_.data(first);
    rows.grad_x_pitch = grad_x_.is_copied() ? layout_.pitch : grad_x_.pitch();
  }
  if (edge_lam_.is_given()) {
    rows.edge_lam = edge_lam_.is_copied() ? edges_ : edge_lam_.data(first);
    rows.edge_lam_pitch = edge_lam_.is_copied() ? layout_.pitch : edge_lam_.pitch();
  }
  if (grad_y_.is_copied()) grad_y_.load(first, count, mover_, samples_, layout_.pitch);
  kernels_.average(rows, lam_);
  if (grad_x_.is_copied()) grad_x_.store(first, count, mover_, samples_, layout_.pitch);
  if (edge_lam_.is_copied()) edge_lam_.store(first, count, mover_, edges_, layout_.pitch);
  if (lam_ == LamGradient::row) store_row_lam(first, count);
}

template <class T>
void GradientBatch<T>::store_row_lam(std::int64_t first, std::int64_t count) noexcept {
  if (call_.grad_lam.shared) {
    auto* const terms = static_cast<double*>(call_.grad_lam.data);
    const std::int64_t together = call_.rows_per_term;
    for (std::int64_t r = 0; r < count; r += together) {
      terms[(first + r) / together] = std::accumulate(lam_sums_ + r, lam_sums_ + r + together, 0.0);
    }
    return;
  }
  for (std::int64_t r = 0; r < count; ++r) store_row(row_lam_[first + r], 1, lam_sums_ + r);
}

template class GradientBatch<float>;
template class GradientBatch<double>;

}  // namespace tautstring::detail
