// A block's image in shared memory, one line per lane: rows, and in the next pass columns.
//
// While lines are searched they are stored as [sample][lane], so lanes have no bank conflicts
// wherever each of them reads. Between passes they are transposed: lanes write their lines as rows
// of 16-byte parts and read columns. To avoid bank conflicts there too, the parts of row r are
// permuted: part p is at p XOR (r mod 8). kSide, 32 or 64, is the number of lanes and the largest
// number of samples in a line.
#pragma once

#include <cstdint>

#include "cuda/warp/forward_rows.cuh"
#include "tautstring/partition.h"

namespace tautstring::detail {

/// The most that one access of shared memory moves.
inline constexpr int kPart = 4;
struct Part {
  float at[kPart];
};

/// float32 in shared memory, by its shared address: with a generic pointer the compiler computes
/// the base of shared memory again for every element.
class SharedFloats {
 public:
  constexpr SharedFloats() noexcept = default;  // constexpr functions have variables of this type
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
  [[nodiscard]] __device__ Part part(int i) const noexcept {
    Part part;
    asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(part.at[0]), "=f"(part.at[1]), "=f"(part.at[2]), "=f"(part.at[3])
                 : "r"(address_ + 4U * i));
    return part;
  }
  __device__ void put_part(int i, const Part& part) const noexcept {
    asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(address_ + 4U * i),
                 "f"(part.at[0]), "f"(part.at[1]), "f"(part.at[2]), "f"(part.at[3])
                 : "memory");
  }
  /// The elements from element i on.
  [[nodiscard]] __device__ SharedFloats from(int i) const noexcept {
    SharedFloats rest = *this;
    rest.address_ += 4U * i;
    return rest;
  }
  /// The same address, but values derived from it are not kept from one use to the next: that would
  /// take registers.
  [[nodiscard]] __device__ SharedFloats found_anew() const noexcept {
    SharedFloats same = *this;
    asm volatile("" : "+r"(same.address_));
    return same;
  }
  __device__ SharedFloats& operator+=(int i) noexcept { return *this = from(i); }
  /// The part whose number differs in these bits, for rows that start at a multiple of their size.
  [[nodiscard]] __device__ SharedFloats exchanged(int parts) const noexcept {
    SharedFloats other = *this;
    other.address_ ^= 16U * parts;
    return other;
  }

 private:
  unsigned address_ = 0;
};

/// Where the segments of a line of up to 32 kWords samples start, and the direction of the jump
/// there: down, none (`flats`, which include the start of the line), otherwise up.
template <int kWords>
struct LineStarts {
  std::uint32_t starts[kWords];
  std::uint32_t downs[kWords];
  std::uint32_t flats[kWords];

  __device__ LineStarts() noexcept { clear(); }
  /// Leaves one segment.
  __device__ void clear() noexcept {
#pragma unroll
    for (int w = 0; w < kWords; ++w) starts[w] = downs[w] = flats[w] = 0;
    starts[0] = flats[0] = 1;
  }
  __device__ void mark(std::int32_t i, bool is_real, bool down) noexcept {
    const std::uint32_t bit = is_real ? 1U << (i & 31) : 0;
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
      const std::uint32_t own = kWords == 1 || i >> 5 == w ? bit : 0;
      starts[w] |= own;
      downs[w] |= down ? own : 0;
    }
  }
  __device__ void mark_flat(std::int32_t i) noexcept {
    mark(i, true, false);
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
      if (kWords == 1 || i >> 5 == w) flats[w] |= 1U << (i & 31);
    }
  }
  [[nodiscard]] __device__ std::uint32_t ups(int w) const noexcept {
    return starts[w] & ~downs[w] & ~flats[w];
  }
  [[nodiscard]] __device__ bool starts_at(std::int32_t i) const noexcept {
    return is_set(starts, i);
  }
  [[nodiscard]] static __device__ bool is_set(const std::uint32_t (&plane)[kWords],
                                              std::int32_t i) noexcept {
    const std::uint32_t word = kWords == 1 || i < 32 ? plane[0] : plane[kWords - 1];
    return (word & 1U << (i & 31)) != 0;
  }
  /// The start of the segment that contains sample i.
  [[nodiscard]] __device__ std::int32_t start_of(std::int32_t i) const noexcept {
    const std::uint32_t up_to = (2U << (i & 31)) - 1;
    if (kWords == 1 || i < 32) return 31 - __clz(static_cast<int>(starts[0] & up_to));
    const std::uint32_t high = starts[kWords - 1] & up_to;
    return high != 0 ? 63 - __clz(static_cast<int>(high)) : 31 - __clz(static_cast<int>(starts[0]));
  }

  /// Word w of the line's codes.
  [[nodiscard]] __device__ std::uint32_t codes(int w) const noexcept {
    const int shift = w % 2 * 16;
    const std::uint32_t not_down = starts[w / 2] & ~downs[w / 2];
    const std::uint32_t not_up = starts[w / 2] & (downs[w / 2] | flats[w / 2]);
    return spread(not_down >> shift & 0xFFFFU) | spread(not_up >> shift & 0xFFFFU) << 1;
  }
  /// The inverse of codes().
  __device__ void read(int w, std::uint32_t codes) noexcept {
    const std::uint32_t not_down = gather(codes);
    const std::uint32_t not_up = gather(codes >> 1);
    const int shift = w % 2 * 16;
    starts[w / 2] |= (not_down | not_up) << shift;
    downs[w / 2] |= (not_up & ~not_down) << shift;
    flats[w / 2] |= (not_up & not_down) << shift;
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

/// Samples of a line that are processed together, whether the line has all of them or not.
inline constexpr int kSamplesAtOnce = 8;

[[nodiscard]] __host__ __device__ constexpr int whole_groups(int n) noexcept {
  return (n + kSamplesAtOnce - 1) / kSamplesAtOnce * kSamplesAtOnce;
}

template <int kLanesWide>
struct ImageBlock {
  using T = float;
  static constexpr int kSide = kLanesWide;
  static constexpr int kWords = kSide / 32;
  using Line = T[kSide];  // values past the end of the line do not matter

  SharedFloats lines;
  const int lane;

  __device__ explicit ImageBlock(const void* shared) noexcept : lines(shared), lane(own_lane()) {}

  /// Kept in a register: reading the thread index is slow.
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
  /// Combines the values of all lanes by combine(a, b). `parts` is shared memory for one value per
  /// warp.
  template <class Value, class Combine>
  [[nodiscard]] __device__ Value combined(Value own, Value* parts,
                                          const Combine& combine) const noexcept {
    for (int apart = kLanes / 2; apart > 0; apart /= 2) {
      own = combine(own, __shfl_xor_sync(kWarp, own, apart));
    }
    if constexpr (kSide == kLanes) return own;
    __syncthreads();
    if (lane % kLanes == 0) parts[lane / kLanes] = own;
    __syncthreads();
    return combine(parts[0], parts[kWords - 1]);
  }

  /// Calls use(i) for the first sample of each group, for lines of n samples.
  template <class Use>
  static __device__ void for_each_group(std::int32_t n, const Use& use) noexcept {
#pragma unroll
    for (int i = 0; i < kSide; i += kSamplesAtOnce) {
      if (i >= n) break;
      use(i);
    }
  }

  /// Calls use(i) for every sample, or for the first sample of every part.
  template <class Use>
  static __device__ void for_each(std::int32_t n, const Use& use) noexcept {
    for_each_group(n, [&](int i) {
#pragma unroll
      for (int j = i; j < i + kSamplesAtOnce; ++j) use(j);
    });
  }
  template <class Use>
  static __device__ void for_each_part(std::int32_t n, const Use& use) noexcept {
    for_each_group(n, [&](int i) {
#pragma unroll
      for (int j = i; j < i + kSamplesAtOnce; j += kPart) use(j);
    });
  }

  /// The lane's line in the layout for searches.
  [[nodiscard]] __device__ SharedFloats own() const noexcept {
    return lines.from(lane);
  }
  __device__ void put_own(const Line& line, std::int32_t n) const noexcept {
    const SharedFloats to = own();
    for_each(n, [&](int i) { to.put(i * kSide, line[i]); });
  }

  /// Row `lane` of an image in parts.
  [[nodiscard]] __device__ SharedFloats row(const SharedFloats& image) const noexcept {
    return image.from(lane * kSide).exchanged(lane % 8);
  }
  /// Sample i of column `lane`.
  [[nodiscard]] __device__ T of_column(const SharedFloats& image, int i) const noexcept {
    return image.from(lane).exchanged(i % 8)[i * kSide];
  }

  /// Transposes: from `count` lines of n samples to the n lines across them.
  __device__ void turn(Line& line, std::int32_t n, std::int32_t count) const noexcept {
    const SharedFloats image = lines.found_anew();
    sync();
    if (lane < count) {
      const SharedFloats to = row(image);
      for_each_part(n, [&](int i) {
        to.exchanged(i / kPart).put_part(0, {{line[i], line[i + 1], line[i + 2], line[i + 3]}});
      });
    }
    sync();
    if (lane < n) {
      for_each(count, [&](int i) { line[i] = of_column(image, i); });
    }
    sync();
  }

  /// Calls use(i, values from sample i on) for each group of samples of the lane's line, which has
  /// the values of its segments at their starts.
  template <class Use>
  __device__ void for_each_values(const LineStarts<kWords>& starts, std::int32_t n,
                                  const Use& use) const noexcept {
    const SharedFloats from = own();
    T value = 0;
    for_each_group(n, [&](int i) {
      T values[kSamplesAtOnce];
#pragma unroll
      for (int j = 0; j < kSamplesAtOnce; ++j) values[j] = from[(i + j) * kSide];
#pragma unroll
      for (int j = 0; j < kSamplesAtOnce; ++j) {
        value = starts.starts_at(i + j) ? values[j] : value;
        values[j] = value;
      }
      use(i, values);
    });
  }
  /// Calls use(i, value) for all samples of the lane's line.
  template <class Use>
  __device__ void for_each_value(const LineStarts<kWords>& starts, std::int32_t n,
                                 const Use& use) const noexcept {
    for_each_values(starts, n, [&](int i, const T(&values)[kSamplesAtOnce]) {
#pragma unroll
      for (int j = 0; j < kSamplesAtOnce; ++j) use(i + j, values[j]);
    });
  }
};

/// The codes of a lane's line, pass by pass over the same lines.
template <class Word>
struct CodesOfPasses {
  Word* words;
  std::int64_t apart;

  __device__ void to_the_next() noexcept { words += apart; }
  __device__ void to_the_one_before() noexcept { words -= apart; }
};

/// Where the codes of the images are stored.
struct SavedCodes {
  std::int64_t count;      // of images
  std::int64_t row_words;  // per image
  std::int64_t column_words;
  std::int64_t apart;  // from one iteration to the next; 0: only those of the last one are kept
  std::int32_t height;
  std::int32_t width;

  /// From iteration k on.
  template <class Word>
  [[nodiscard]] __device__ CodesOfPasses<Word> of_rows(Word* codes, std::int64_t image, int row,
                                                       int k) const noexcept {
    return {codes + k * apart + image * row_words + row * words_of(width), apart};
  }
  template <class Word>
  [[nodiscard]] __device__ CodesOfPasses<Word> of_columns(Word* codes, std::int64_t image,
                                                          int column, int k) const noexcept {
    const std::int64_t behind_rows = k * apart + count * row_words;
    return {codes + behind_rows + image * column_words + column * words_of(height), apart};
  }

 private:
  [[nodiscard]] static __device__ int words_of(std::int32_t n) noexcept {
    return (n + kCodesPerWord - 1) / kCodesPerWord;
  }
};

/// One value per sample of each lane's line; no other lane reads them.
template <int kSide>
struct LineValues {
  SharedFloats values;
  __device__ LineValues(const SharedFloats& shared, int lane) noexcept
      : values(shared.from(lane * kPart)) {}
  [[nodiscard]] __device__ Part part(int i) const noexcept { return values.part(i * kSide); }
  __device__ void put_part(int i, const Part& part) const noexcept {
    values.put_part(i * kSide, part);
  }
};

}  // namespace tautstring::detail
