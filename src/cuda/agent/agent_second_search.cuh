// Searches a row the other way: whole if it was searched in pieces, in pieces if it was streamed.
// Which way a kernel takes depends on batch size and layout, but whether a row needs care must not.
// So a row needs care if both ways read too many samples again.
//
// Mapping: a warp per row, a lane per piece. Traffic: x is read as often as needed, mostly from the
// first-level cache; values and codes at the starts of segments go to the warp's scratch memory,
// because y may be x; then y and codes are written once.
#pragma once

#include <cstdint>
#include <limits>

#include "cuda/agent/careful_scratch.cuh"
#include "cuda/warp/forward_rows.cuh"
#include "cuda/warp/search.cuh"
#include "step/segment.h"

namespace tautstring::detail {

template <class Call>
class AgentSecondSearch {
 public:
  using Storage = typename Call::Storage;
  using T = ArithmeticOf<Storage>;

  /// `scratch` is the slot of one lane, shared by all of them.
  __device__ AgentSecondSearch(const Call& call, std::byte* scratch, std::int64_t row) noexcept
      : call_(call),
        n_(call.shape.n),
        words_((n_ + 15) / 16),
        lane_(static_cast<int>(threadIdx.x) % kLanes),
        row_(row),
        x_(call.x.row(row)),
        origin_(origin_of_row<T>(x_, call.x.stride, n_)),
        values_(reinterpret_cast<T*>(scratch)),
        codes_(reinterpret_cast<std::uint32_t*>(values_ + n_)) {
    row_lam_ = T(call.lam_number);
    if (call.lam_data != nullptr) {
      row_lam_ = load_as<T>(call.lam_data, call.lam_dtype, call.lam.offset(row));
    }
    row_lam_ = min(row_lam_, SearchedLam<T>::kLargest);
  }

  /// Returns whether the row is solved.
  __device__ bool solve(CareReason reason) noexcept {
    if (reason == CareReason::whole_failed) return search_pieces();
    return reason == CareReason::pieces_failed &&
           search({0, n_, Code::plain, Code::continues, lane_ == 0});
  }

  // --- Source ---

  struct Lams {
    static constexpr bool kUniform = true;
    [[nodiscard]] __device__ T operator[](int) const noexcept { return 0; }
  };
  [[nodiscard]] __device__ T zero() const noexcept { return static_cast<T>(n_ >> 31); }
  [[nodiscard]] __device__ T sample(std::int32_t i) const noexcept {
    return widen<T>(x_[i * call_.x.stride]) - origin_;
  }
  [[nodiscard]] __device__ T lam(std::int32_t) const noexcept { return row_lam_; }
  __device__ void prepare(std::int32_t, std::int32_t, std::int32_t) const noexcept {}
  __device__ Lams load(std::int32_t i, std::int32_t last, T (&samples)[kGroup]) const noexcept {
#pragma unroll
    for (int j = 0; j < kGroup; ++j) {
      samples[j] = i + j < last ? sample(i + j) : std::numeric_limits<T>::quiet_NaN();
    }
    return {};
  }

 private:
  using Search = DeviceSearch<T>;

  __device__ bool search_pieces() noexcept {
    const int log_chunk = split_log_chunk(n_);
    const std::int32_t first = lane_ << log_chunk;
    const CommonJump jump = find_common_jump<Search, T>(
        *this, first, min(first + (1 << log_chunk), n_), n_, lane_ > 0 && first < n_);
    Piece piece = {0, n_, Code::plain, Code::continues, false};
    if (lane_ > 0) piece.first = jump.found ? jump.first : n_;
    if (lane_ > 0) piece.code = jump.code;
    for (int d = 1; d < kLanes; ++d) {
      const int from = min(lane_ + d, kLanes - 1);
      const std::int32_t their_first = __shfl_sync(kWarp, piece.first, from);
      const int their_code = __shfl_sync(kWarp, static_cast<int>(piece.code), from);
      if (lane_ + d < kLanes && their_first < piece.last) {
        piece.last = their_first;
        piece.after = static_cast<Code>(their_code);
      }
    }
    piece.active = piece.first < piece.last;
    // The search of the whole row has already failed.
    const bool joined = piece.active && is_lopsided(piece.last - piece.first, n_);
    return __any_sync(kWarp, joined) == 0 && search(piece);
  }

  struct Sink {
    const AgentSecondSearch& agent;
    T first_value = std::numeric_limits<T>::quiet_NaN();
    T last_value = std::numeric_limits<T>::quiet_NaN();

    __device__ void put(std::int32_t first, bool is_real, bool down, T value) noexcept {
      if (first_value != first_value) first_value = value;
      if (!is_real) return;
      last_value = value;
      agent.values_[first] = value + agent.origin_;
      const Code code = down ? Code::down : Code::up;
      atomicOr(agent.codes_ + first / 16, static_cast<std::uint32_t>(code) << (2 * (first % 16)));
    }
  };

  __device__ bool search(const Piece& piece) noexcept {
    for (std::int32_t w = lane_; w < words_; w += kLanes) codes_[w] = w == 0 ? 3U : 0U;
    __syncwarp();
    Sink sink = {*this};
    const PieceResult result = search_piece<Search, T>(*this, piece, sink);
    // The first jump of a piece may be made up by rounding, as in agent_forward.cuh.
    const unsigned before = __ballot_sync(kWarp, piece.active) & ((1U << lane_) - 1);
    const T left =
        __shfl_sync(kWarp, sink.last_value, before != 0 ? 31 - __clz(static_cast<int>(before)) : 0);
    if (piece.active && before != 0 &&
        !is_real_jump(piece.code == Code::down, left, sink.first_value)) {
      atomicAnd(codes_ + piece.first / 16, ~(3U << (2 * (piece.first % 16))));
    }
    __syncwarp();
    if (__any_sync(kWarp, result.gave_up || result.is_odd) != 0) return false;
    store();
    return true;
  }

  /// Lanes take words of codes in turn.
  __device__ void store() const noexcept {
    Storage* y = call_.y.row(row_);
    T before = 0;  // the value before the words of these lanes
    for (std::int32_t first = 0; first < words_; first += kLanes) {
      const std::int32_t w = first + lane_;
      const std::uint32_t codes = w < words_ ? codes_[w] : 0;
      T last = 0;
      if (codes != 0) last = values_[w * 16 + (31 - __clz(static_cast<int>(codes))) / 2];
      const unsigned with = __ballot_sync(kWarp, codes != 0);
      const unsigned with_before = with & ((1U << lane_) - 1);
      const T from_lane = __shfl_sync(
          kWarp, last, with_before != 0 ? 31 - __clz(static_cast<int>(with_before)) : 0);
      T current = with_before != 0 ? from_lane : before;
      if (with != 0) before = __shfl_sync(kWarp, last, 31 - __clz(static_cast<int>(with)));
      for (std::int32_t i = w * 16; i < min(w * 16 + 16, n_); ++i) {
        if ((codes >> (2 * (i % 16)) & 3U) != 0) current = values_[i];
        T value = current;
        if constexpr (Call::kOutput == ForwardOutput::next_input) {
          value = call_.changed(current, x_ + i * call_.x.stride);
        } else {
          value = call_.sharp ? mirror(widen<T>(x_[i * call_.x.stride]), current) : current;
        }
        y[i * call_.y.stride] = narrow<Storage>(value);
      }
      if (call_.partition != nullptr && w < words_) call_.partition[row_ * words_ + w] = codes;
    }
  }

  const Call& call_;
  const std::int32_t n_;
  const std::int32_t words_;
  const int lane_;
  const std::int64_t row_;
  const Storage* x_;
  const T origin_;
  T* const values_;
  std::uint32_t* const codes_;
  T row_lam_;
};

}  // namespace tautstring::detail
