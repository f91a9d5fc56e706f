// A block's image in shared memory, a line a lane: rows, and in the next pass columns.
//
// Lines are there as [sample][lane], so that lanes never meet in a bank wherever each of them
// reads. To transpose the image in its place, lanes take the samples of their lines into registers
// in an order of their own, from their own number on: at every step the 32 of a warp then read,
// and when they write the other way round write, all banks. kSide, 32 or 64, is the number of lanes
// and the most samples of a line.
#pragma once

#include <cstdint>

#include "cuda/warp/forward_rows.cuh"
#include "tautline/partition.h"

namespace tautline::detail {

/// float32 in shared memory by its own address: from a pointer a compiler finds the place of
/// shared memory anew for every element.
class SharedFloats {
 public:
  __device__ explicit SharedFloats(const void* shared) noexcept
      : address_(static_cast<unsigned>(__cvta_generic_to_shared(shared))) {
    asm volatile("" : "+r"(address_));
  }
  [[nodiscard]] __device__ float operator[](int i) const noexcept {
    float value;
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(value) : "r"(address_ + 4U * i));
    return value;
  }
  __device__ void put(int i, float value) const noexcept {
    asm volatile("st.shared.f32 [%0], %1;" ::"r"(address_ + 4U * i), "f"(value) : "memory");
  }
  /// From element i on.
  [[nodiscard]] __device__ SharedFloats from(int i) const noexcept {
    SharedFloats part = *this;
    part.address_ += 4U * i;
    return part;
  }

 private:
  unsigned address_;
};

/// Where the segments of a line of up to 32 kWords samples start, and after which jumps.
template <int kWords>
struct LineStarts {
  std::uint32_t starts[kWords];
  std::uint32_t ups[kWords];
  std::uint32_t downs[kWords];

  __device__ LineStarts() noexcept { clear(); }
  /// One segment.
  __device__ void clear() noexcept {
#pragma unroll
    for (int w = 0; w < kWords; ++w) starts[w] = ups[w] = downs[w] = 0;
    starts[0] = 1;
  }
  __device__ void mark(std::int32_t i, bool up, bool down) noexcept {
    const std::uint32_t bit = 1U << (i & 31);
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
      const std::uint32_t own = kWords == 1 || i >> 5 == w ? bit : 0;
      starts[w] |= own;
      ups[w] |= up ? own : 0;
      downs[w] |= down ? own : 0;
    }
  }
  [[nodiscard]] __device__ bool starts_at(std::int32_t i) const noexcept {
    const std::uint32_t word = kWords == 1 || i < 32 ? starts[0] : starts[kWords - 1];
    return (word >> (i & 31) & 1U) != 0;
  }
  /// The start of the segment that sample i is of.
  [[nodiscard]] __device__ std::int32_t start_of(std::int32_t i) const noexcept {
    const std::uint32_t up_to = (2U << (i & 31)) - 1;
    if (kWords == 1 || i < 32) return 31 - __clz(static_cast<int>(starts[0] & up_to));
    const std::uint32_t high = starts[kWords - 1] & up_to;
    return high != 0 ? 63 - __clz(static_cast<int>(high)) : 31 - __clz(static_cast<int>(starts[0]));
  }

  /// Word w of the line's codes.
  [[nodiscard]] __device__ std::uint32_t codes(int w) const noexcept {
    const int shift = w % 2 * 16;
    const std::uint32_t start = starts[w / 2] >> shift & 0xFFFFU;
    const std::uint32_t up = ups[w / 2] >> shift & 0xFFFFU;
    const std::uint32_t down = downs[w / 2] >> shift & 0xFFFFU;
    return spread(start & ~down) | spread(start & ~up) << 1;  // neither: both bits
  }
  /// The inverse of codes().
  __device__ void read(int w, std::uint32_t codes) noexcept {
    const std::uint32_t low = gather(codes);
    const std::uint32_t high = gather(codes >> 1);
    const int shift = w % 2 * 16;
    starts[w / 2] |= (low | high) << shift;
    ups[w / 2] |= (low & ~high) << shift;
    downs[w / 2] |= (high & ~low) << shift;
  }

 private:
  [[nodiscard]] static __device__ std::uint32_t spread(std::uint32_t bits) noexcept {
    bits = (bits | bits << 8) & 0x00FF00FFU;
    bits = (bits | bits << 4) & 0x0F0F0F0FU;
    bits = (bits | bits << 2) & 0x33333333U;
    return (bits | bits << 1) & 0x55555555U;
  }
  [[nodiscard]] static __device__ std::uint32_t gather(std::uint32_t bits) noexcept {
    bits &= 0x55555555U;
    bits = (bits | bits >> 1) & 0x33333333U;
    bits = (bits | bits >> 2) & 0x0F0F0F0FU;
    bits = (bits | bits >> 4) & 0x00FF00FFU;
    return (bits | bits >> 8) & 0x0000FFFFU;
  }
};

/// A plane of a line's bits by steps: bit s is that of the sample which the lane takes at step s.
template <int kWords>
class StepBits {
 public:
  __device__ StepBits(const std::uint32_t (&plane)[kWords], int lane) noexcept {
    const auto first = static_cast<unsigned>(lane);
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
      const bool swaps = (first & 32U) != 0;
      const std::uint32_t own = kWords > 1 && swaps ? plane[kWords - 1 - w] : plane[w];
      const std::uint32_t next = kWords > 1 && !swaps ? plane[kWords - 1 - w] : plane[w];
      bits_[w] = __funnelshift_r(own, next, first & 31U);
    }
  }
  [[nodiscard]] __device__ bool operator[](int s) const noexcept {
    return (bits_[s / 32] & (1U << (s % 32))) != 0;
  }

 private:
  std::uint32_t bits_[kWords];
};

template <int kLanesWide>
struct ImageBlock {
  using T = float;
  static constexpr int kSide = kLanesWide;
  static constexpr int kWords = kSide / 32;
  using Steps = T[kSide];  // one value a step of the lane

  SharedFloats lines;

  const int lane;

  __device__ explicit ImageBlock(const void* shared) noexcept : lines(shared), lane(own_lane()) {}

  /// Kept in a register: to ask for it takes long.
  [[nodiscard]] static __device__ int own_lane() noexcept {
    int own = static_cast<int>(threadIdx.x);
    asm volatile("" : "+r"(own));
    return own;
  }
  static __device__ void sync() noexcept {
    if constexpr (kSide == kLanes) {
      __syncwarp();
    } else {
      __syncthreads();
    }
  }
  [[nodiscard]] static __device__ bool any(bool condition) noexcept {
    if constexpr (kSide == kLanes) {
      return __any_sync(kWarp, condition) != 0;
    } else {
      return __syncthreads_or(static_cast<int>(condition)) != 0;
    }
  }
  /// `parts` is shared memory for one a warp.
  [[nodiscard]] __device__ double sum(double term, double* parts) const noexcept {
    for (int apart = kLanes / 2; apart > 0; apart /= 2) {
      term += __shfl_xor_sync(kWarp, term, apart);
    }
    if constexpr (kSide == kLanes) return term;
    __syncthreads();
    if (lane % kLanes == 0) parts[lane / kLanes] = term;
    __syncthreads();
    return parts[0] + parts[kWords - 1];
  }

  /// Calls use(step, sample, wraps) for samples below n of a line in the lane's order; `wraps`
  /// where that has come to the line's start again. What depends on the lane must be found anew
  /// every time: kept, it would take more registers than there are.
  template <class Use>
  __device__ void for_each_step(std::int32_t n, const Use& use) const noexcept {
    int first = lane;
    asm volatile("" : "+r"(first));  // which no compiler sees through
#pragma unroll
    for (int s = 0; s < kSide; ++s) {
      const bool wraps = first >= kSide - s;
      const int i = first + s - (wraps ? kSide : 0);
      if (i < n) use(s, i, wraps);
    }
  }

  /// Where the sample of step s is, in the lane's line and in the one across it.
  [[nodiscard]] __device__ int along(int s, bool wraps) const noexcept {
    const int own = lane * kSide + lane;
    return (wraps ? own - kSide * kSide : own) + s * kSide;
  }
  [[nodiscard]] __device__ int across(int s, bool wraps) const noexcept {
    const int own = lane * kSide + lane;
    return (wraps ? own - kSide : own) + s;
  }

  /// Takes the samples of the lane's line to registers.
  __device__ void take(Steps& steps, std::int32_t n) const noexcept {
    for_each_step(n, [&](int s, int /*i*/, bool wraps) { steps[s] = lines[along(s, wraps)]; });
  }
  /// Puts them back as the samples of the lines across the lane's.
  __device__ void put_across(const Steps& steps, std::int32_t n,
                             std::int32_t line_count) const noexcept {
    sync();
    if (lane < line_count) {
      for_each_step(n,
                    [&](int s, int /*i*/, bool wraps) { lines.put(across(s, wraps), steps[s]); });
    }
    sync();
  }

  /// Calls use(step, sample, wraps, value) for all samples of the lane's line, which has the
  /// values of its segments at their starts.
  template <class Use>
  __device__ void for_each_value(const LineStarts<kWords>& line, std::int32_t n,
                                 const Use& use) const noexcept {
    constexpr int kAtOnce = 8;
    const StepBits<kWords> starts(line.starts, lane);
    T value = lines[line.start_of(min(lane, n - 1)) * kSide + lane];
    int first = lane;
    asm volatile("" : "+r"(first));  // as in for_each_step
#pragma unroll
    for (int s0 = 0; s0 < kSide; s0 += kAtOnce) {
      T values[kAtOnce];
#pragma unroll
      for (int j = 0; j < kAtOnce; ++j) {
        values[j] = lines[along(s0 + j, first >= kSide - (s0 + j))];
      }
#pragma unroll
      for (int j = 0; j < kAtOnce; ++j) {
        const int s = s0 + j;
        const bool wraps = first >= kSide - s;
        const int i = first + s - (wraps ? kSide : 0);
        value = starts[s] ? values[j] : value;
        if (i < n) use(s, i, wraps, value);
      }
    }
  }
};

/// Where the codes of a pass over an image are.
struct SavedCodes {
  std::int64_t count;      // of images
  std::int64_t row_words;  // of an image
  std::int64_t column_words;

  [[nodiscard]] __device__ std::int64_t at(std::int64_t image, bool of_rows, int k) const noexcept {
    const std::int64_t before = k * count * (row_words + column_words);
    return before + (of_rows ? image * row_words : count * row_words + image * column_words);
  }
};

/// One value a step of each lane: in registers, or in shared memory where these are too few.
template <int kSide, bool kInRegisters>
struct StepValues {
  float values[kSide];
  __device__ StepValues(const SharedFloats& /*shared*/, int /*lane*/) noexcept {}
  [[nodiscard]] __device__ float get(int s) const noexcept { return values[s]; }
  __device__ void set(int s, float value) noexcept { values[s] = value; }
};
template <int kSide>
struct StepValues<kSide, false> {
  SharedFloats values;
  __device__ StepValues(const SharedFloats& shared, int lane) noexcept
      : values(shared.from(lane)) {}
  [[nodiscard]] __device__ float get(int s) const noexcept { return values[s * kSide]; }
  __device__ void set(int s, float value) noexcept { values.put(s * kSide, value); }
};

}  // namespace tautline::detail
