// The gradients of many rows without data weights: by the vector code, directly from and to the
// caller's memory where possible.
#pragma once

#include <cstdint>
#include <type_traits>

#include "backend.h"
#include "cpu/row_mover.h"
#include "cpu/row_places.h"
#include "cpu/targets.h"
#include "step/row/scratch.h"

namespace tautstring::detail {

/// How many rows are processed at a time, and the pitch of rows that have to be copied for that.
struct GradientLayout {
  /// The number of rows is a multiple of `together`.
  GradientLayout(const Rows& batch, int tasks, std::int32_t together) noexcept;

  std::int32_t rows;  // at most
  std::int32_t n;     // of a row
  std::int64_t pitch;
};

/// The rows of an array as the vector code takes them: in T, with contiguous samples.
template <class T, class Data>
class ArrayRows {
  using Sample = std::conditional_t<std::is_const_v<Data>, const T, T>;

 public:
  ArrayRows(const BasicRowArray<Data>& array, const Rows& rows, bool given) noexcept
      : array_(array), places_(array, rows), given_(given) {}

  [[nodiscard]] bool is_given() const noexcept { return given_; }
  /// Whether they have to be copied.
  [[nodiscard]] bool is_copied() const noexcept { return given_ && !is_direct(); }
  /// How many rows, starting with this one, can be processed together.
  [[nodiscard]] std::int64_t run(std::int64_t row, std::int64_t count) const noexcept;

  [[nodiscard]] Sample* data(std::int64_t row) const noexcept;
  [[nodiscard]] std::int64_t pitch() const noexcept { return places_.step(); }

  void load(std::int64_t row, std::int64_t count, const RowMover<T>& mover, T* to,
            std::int64_t pitch) const noexcept;
  void store(std::int64_t row, std::int64_t count, const RowMover<T>& mover, const T* from,
             std::int64_t pitch) const noexcept;

 private:
  [[nodiscard]] bool is_direct() const noexcept;

  const BasicRowArray<Data>& array_;
  RowPlaces<Data> places_;
  bool given_;
};

/// Takes chunks of rows of a backward call, in T's arithmetic.
template <class T>
class GradientBatch {
 public:
  GradientBatch(const Backward1d& call, const CpuTarget& target, const GradientLayout& layout,
                Scratch& scratch) noexcept;

  /// The bytes that a task needs; an upper bound if `call` is null.
  static std::size_t scratch_bytes(const GradientLayout& layout, const Backward1d* call) noexcept;

  void operator()(std::int64_t first, std::int64_t last) noexcept;

 private:
  void differentiate(std::int64_t first, std::int64_t count) noexcept;
  void store_row_lam(std::int64_t first, std::int64_t count) noexcept;

  const Backward1d& call_;
  const VectorKernels<T>& kernels_;
  const GradientLayout& layout_;
  LamGradient lam_;
  ArrayRows<T, const void> grad_y_;
  ArrayRows<T, void> grad_x_;
  ArrayRows<T, void> edge_lam_;
  RowPlaces<void> row_lam_;
  RowMover<T> mover_;
  double* lam_sums_ = nullptr;
  T* samples_ = nullptr;  // copies of grad_y, then of grad_x
  T* edges_ = nullptr;
};

}  // namespace tautstring::detail
