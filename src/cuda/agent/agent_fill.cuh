// Sets every element of a long row to the value of its segment.
//
// Mapping: a thread handles the sixteen elements of one word of codes, a block one tile of a row.
// Traffic: codes and the values at segment starts are read, y is written once; x is read only if
// the output depends on it.
#pragma once

#include <cstdint>

#include "cuda/warp/long_rows.cuh"
#include "step/segment.h"

namespace tautstring::detail {

template <class Call>
class AgentFill {
 public:
  using Storage = typename Call::Storage;
  using T = ArithmeticOf<Storage>;

  __device__ AgentFill(const LongRows<Call>& call, std::int64_t row, std::int32_t tile,
                       std::int32_t* shared) noexcept
      : call_(call),
        row_(row),
        n_(call.rows.shape.n),
        words_((n_ - 1) / 16 + 1),
        first_word_(tile * kFillThreads),
        word_(first_word_ + static_cast<std::int32_t>(threadIdx.x)),
        values_(call.values + row * n_),
        codes_(call.codes_of(row)),
        last_starts_(shared) {}

  __device__ void fill_nan() const noexcept {
    if (word_ >= words_) return;
    for (int i = 0; i < 16; ++i) {
      const std::int32_t k = word_ * 16 + i;
      if (k < n_) y(k) = narrow<Storage>(std::numeric_limits<T>::quiet_NaN());
    }
    codes_[word_] = word_ == 0 ? 3U : 0U;
  }

  __device__ void fill() const noexcept {
    const std::uint32_t codes = word_ < words_ ? codes_[word_] : 0;
    const std::int32_t before = start_before(codes);
    if (word_ >= words_) return;
    T current = before >= 0 ? values_[before] : T(0);
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      const std::int32_t k = word_ * 16 + i;
      if ((codes >> (2 * i) & 3U) != 0) current = values_[k];
      if (k < n_) {
        if constexpr (Call::kOutput == ForwardOutput::next_input) {
          y(k) = call_.rows.changed(current, &x(k));
        } else {
          const T sample = call_.rows.sharp ? widen<T>(x(k)) : T(0);
          y(k) = narrow<Storage>(call_.rows.sharp ? mirror(sample, current) : current);
        }
      }
    }
  }

 private:
  [[nodiscard]] __device__ Storage& y(std::int32_t k) const noexcept {
    return call_.rows.y.row(row_)[k * call_.rows.y.stride];
  }
  [[nodiscard]] __device__ const Storage& x(std::int32_t k) const noexcept {
    return call_.rows.x.row(row_)[k * call_.rows.x.stride];
  }
  [[nodiscard]] static __device__ std::int32_t last_start(std::uint32_t codes,
                                                          std::int32_t word) noexcept {
    return codes == 0 ? -1 : word * 16 + (31 - __clz(static_cast<int>(codes))) / 2;
  }

  /// The last segment start before this thread's word.
  [[nodiscard]] __device__ std::int32_t start_before(std::uint32_t codes) const noexcept {
    const int lane = static_cast<int>(threadIdx.x) % kLanes;
    const int warp = static_cast<int>(threadIdx.x) / kLanes;
    std::int32_t up_to = last_start(codes, word_);
#pragma unroll
    for (int d = 1; d < kLanes; d <<= 1) {
      const std::int32_t other = __shfl_up_sync(kWarp, up_to, d);
      if (lane >= d) up_to = max(up_to, other);
    }
    if (lane == kLanes - 1) last_starts_[warp] = up_to;
    __syncthreads();
    std::int32_t before = __shfl_up_sync(kWarp, up_to, 1);
    if (lane == 0) before = -1;
    for (int w = 0; w < warp; ++w) before = max(before, last_starts_[w]);
    const bool all_know = __syncthreads_and(before >= 0 || first_word_ == 0) != 0;
    return all_know ? before : max(before, start_before_tile());
  }

  /// The last start before the tile. Searches backwards, a block of words at a time.
  [[nodiscard]] __device__ std::int32_t start_before_tile() const noexcept {
    for (std::int32_t first = first_word_ - kFillThreads; first > -kFillThreads;
         first -= kFillThreads) {
      const std::int32_t word = first + static_cast<std::int32_t>(threadIdx.x);
      std::int32_t found = word >= 0 ? last_start(codes_[word], word) : -1;
#pragma unroll
      for (int d = kLanes / 2; d > 0; d >>= 1) found = max(found, __shfl_xor_sync(kWarp, found, d));
      __syncthreads();
      if (threadIdx.x % kLanes == 0) last_starts_[threadIdx.x / kLanes] = found;
      __syncthreads();
      for (int w = 0; w < kFillThreads / kLanes; ++w) found = max(found, last_starts_[w]);
      if (found >= 0) return found;
    }
    return -1;
  }

  const LongRows<Call>& call_;
  const std::int64_t row_;
  const std::int32_t n_;
  const std::int32_t words_;
  const std::int32_t first_word_;
  const std::int32_t word_;
  const T* const values_;
  std::uint32_t* const codes_;
  std::int32_t* const last_starts_;
};

}  // namespace tautstring::detail
