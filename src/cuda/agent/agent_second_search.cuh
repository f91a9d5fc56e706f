// Searches a row the other way round: whole where it was searched in pieces, in pieces where
// it was searched whole. Which way a kernel takes depends on the batch and the layout; that
// a row needs care must not. So it does where both ways read too much again.
//
// Mapping: one lane a row, from memory. Traffic: x is read as often as it must, mostly from
// the first cache; the segments go to the row's scratch, as y may be x.
#pragma once

#include <cstdint>
#include <limits>

#include "cuda/agent/careful_scratch.cuh"
#include "cuda/warp/forward_rows.cuh"
#include "cuda/warp/search.cuh"

namespace tautline::detail {

template <class Storage>
class AgentSecondSearch {
 public:
  using T = ArithmeticOf<Storage>;

  __device__ AgentSecondSearch(const ForwardRows<Storage>& call, const CarefulScratch& scratch,
                               std::int64_t row) noexcept
      : n_(call.shape.n),
        call_(call),
        s_(scratch),
        x_(call.x.row(row)),
        lam_offset_(call.lam_data == nullptr ? 0 : call.lam.offset(row)),
        has_edges_(call.lam_data != nullptr && call.lam.size > 1),
        origin_(widen<T>(x_[0])) {
    row_lam_ = T(call.lam_number);
    if (call.lam_data != nullptr && !has_edges_) row_lam_ = lam_at(lam_offset_);
    row_lam_ = min(row_lam_, SearchedLam<T>::kLargest);
  }

  /// Both say whether they found all segments of the row.
  __device__ bool search_whole() noexcept {
    count_ = 0;
    return search({0, n_, Code::plain, Code::continues, true});
  }
  __device__ bool search_pieces() noexcept {
    count_ = 0;
    const int log_chunk = split_log_chunk(n_);
    const int lanes = (n_ + (1 << log_chunk) - 1) >> log_chunk;
    std::int32_t starts[kLanes];
    bool down[kLanes];
    for (int lane = 0; lane < lanes; ++lane) {
      const std::int32_t first = lane << log_chunk;
      const CommonJump jump = find_common_jump<Search, T>(
          *this, first, min(first + (1 << log_chunk), n_), n_, lane > 0);
      starts[lane] = lane == 0 ? 0 : jump.found ? jump.first : n_;
      down[lane] = jump.code == Code::down;
    }
    for (int lane = 0; lane < lanes; ++lane) {
      std::int32_t last = n_;
      Code after = Code::continues;
      for (int other = lane + 1; other < lanes; ++other) {
        if (starts[other] < last) {
          last = starts[other];
          after = down[other] ? Code::down : Code::up;
        }
      }
      if (starts[lane] >= last) continue;
      const Code code = lane == 0 ? Code::plain : down[lane] ? Code::down : Code::up;
      if (!search({starts[lane], last, code, after, true})) return false;
    }
    return true;
  }

  // --- What was found ---

  [[nodiscard]] __device__ std::int32_t count() const noexcept { return count_; }
  [[nodiscard]] __device__ std::int32_t start(std::int32_t i) const noexcept {
    return i < count_ ? s_.lower[i] : n_;
  }
  [[nodiscard]] __device__ Code code(std::int32_t i) const noexcept {
    return i == 0 ? Code::plain : s_.upper[i] != 0 ? Code::down : Code::up;
  }
  [[nodiscard]] __device__ T value(std::int32_t i) const noexcept {
    return static_cast<T>(s_.sums[i]) + origin_;
  }

  // --- Source ---

  struct Lams {
    static constexpr bool kUniform = false;
    T lam[kGroup];
    [[nodiscard]] __device__ T operator[](int j) const noexcept { return lam[j]; }
  };
  [[nodiscard]] __device__ T zero() const noexcept { return static_cast<T>(n_ >> 31); }
  [[nodiscard]] __device__ T sample(std::int32_t i) const noexcept {
    return widen<T>(x_[i * call_.x.stride]) - origin_;
  }
  /// Behind the last sample there is no edge: what stands for it bounds nothing.
  [[nodiscard]] __device__ T lam(std::int32_t e) const noexcept {
    if (!has_edges_) return row_lam_;
    constexpr T kLargest = SearchedLam<T>::kLargest;
    return e + 1 < n_ ? min(lam_at(lam_offset_ + e * call_.lam.stride), kLargest) : kLargest;
  }
  __device__ void prepare(std::int32_t, std::int32_t, std::int32_t) const noexcept {}
  __device__ Lams load(std::int32_t i, std::int32_t last, T (&samples)[kGroup]) const noexcept {
    Lams lams;
#pragma unroll
    for (int j = 0; j < kGroup; ++j) {
      const bool is_there = i + j < last;
      samples[j] = is_there ? sample(i + j) : std::numeric_limits<T>::quiet_NaN();
      lams.lam[j] = is_there ? lam(i + j) : T(0);
    }
    return lams;
  }

  // --- Sink ---

  __device__ void put(std::int32_t first, bool is_real, bool down, T value) noexcept {
    if (!is_real) return;
    s_.lower[count_] = first;
    s_.upper[count_] = down ? 1 : 0;
    s_.sums[count_] = static_cast<double>(value);
    ++count_;
  }

 private:
  using Search = DeviceSearch<T, LoneArithmetic<T>>;

  [[nodiscard]] __device__ T lam_at(std::int64_t at) const noexcept {
    return load_as<T>(call_.lam_data, call_.lam_dtype, at);
  }

  /// Searches a piece behind those that were searched before.
  __device__ bool search(const Piece& piece) noexcept {
    const std::int32_t before = count_;
    const T left = before > 0 ? static_cast<T>(s_.sums[before - 1]) : T(0);
    const PieceResult result = search_piece<Search, T>(*this, piece, *this);
    if (result.gave_up || result.is_odd) return false;
    // A piece's first jump may be made up, as that of a lane's piece may.
    if (before > 0 &&
        !is_real_jump(piece.code == Code::down, left, static_cast<T>(s_.sums[before]))) {
      for (std::int32_t i = before + 1; i < count_; ++i) {
        s_.lower[i - 1] = s_.lower[i];
        s_.upper[i - 1] = s_.upper[i];
        s_.sums[i - 1] = s_.sums[i];
      }
      --count_;
    }
    return true;
  }

  const std::int32_t n_;
  const ForwardRows<Storage>& call_;
  const CarefulScratch& s_;
  const Storage* x_;
  const std::int64_t lam_offset_;
  const bool has_edges_;
  const T origin_;
  T row_lam_;
  std::int32_t count_ = 0;
};

}  // namespace tautline::detail
