// Solves rows whose segments are too long for searches from the middle: from the start of each row
// to its end.
//
// Mapping: one lane per row. Each lane keeps a ring of its row's samples in shared memory, as large
// as its chunk of a split row would be. Blocks of samples are loaded into it as needed, and again
// if the search goes back to a segment that the ring no longer has. Traffic: x is read about twice,
// mostly from caches; values and codes at the starts of segments are written and read again, and y
// is written.
//
// Sums are formed as for other rows, so the bits are the same whichever kernel solves a row.
#pragma once

#include <cstdint>
#include <limits>

#include "cuda/agent/careful_scratch.cuh"
#include "cuda/warp/forward_rows.cuh"
#include "cuda/warp/search.cuh"

namespace tautstring::detail {

template <class Call, bool kAlongMemory>
class AgentStream {
 public:
  using Storage = typename Call::Storage;
  using T = ArithmeticOf<Storage>;
  using Search = DeviceSearch<T>;

  /// `ring` has the depth of the call's shape; `codes` has room for the codes of 32 rows.
  __device__ AgentStream(const Call& call, T* ring, std::uint32_t* codes) noexcept
      : call_(call),
        n_(call.shape.n),
        chunk_(call.shape.chunk),
        words_((n_ + 15) / 16),
        x_stride_(call.x.stride),
        y_stride_(call.y.stride),
        whole_vectors_(kAlongMemory && call.whole_vectors),
        lane_(static_cast<int>(threadIdx.x) % kLanes),
        ring_(ring + lane_),
        warp_codes_(codes) {}

  /// Solves the rows of the first `count` lanes, except those that need care.
  __device__ void solve(std::int64_t row, int count) noexcept {
    has_row_ = lane_ < count;
    row_ = row;
    x_ = call_.x.row(row_);
    y_ = call_.y.row(row_);
    codes_ = codes_of(lane_, row_);
    row_lam_ = T(call_.lam_number);
    if (call_.lam_data != nullptr) {
      row_lam_ = load_as<T>(call_.lam_data, call_.lam_dtype, call_.lam.offset(row_));
    }
    const bool takes_lam = row_lam_ >= SearchedLam<T>::kSmallest;
    const bool has_huge_lam = row_lam_ > SearchedLam<T>::kLargest;
    row_lam_ = min(row_lam_, SearchedLam<T>::kLargest);
    origin_ = origin_of_row<T>(x_, x_stride_, n_);
    filled_ = 0;
    word_ = 0;
    codes_of_word_ = 0;
    if (has_row_) fill_block();

    const bool active = has_row_ && takes_lam;
    const Piece piece = {0, n_, Code::plain, Code::continues, active};
    const PieceResult result = search_piece<Search, T>(Source{*this}, piece, *this);
    const bool is_unsearchable = !active || result.is_odd || (has_huge_lam && result.jumps);
    needs_care_ = has_row_ && (is_unsearchable || result.gave_up);
    reason_ = is_unsearchable ? CareReason::unsearchable : CareReason::whole_failed;
    if (has_row_) finish_words(words_);
    __syncwarp();
    expand(count);
    __syncwarp();
  }
  [[nodiscard]] __device__ bool needs_care() const noexcept { return needs_care_; }
  [[nodiscard]] __device__ CareReason care_reason() const noexcept { return reason_; }

  /// Receives the start of a segment.
  __device__ void put(std::int32_t first, bool is_real, bool down, T value) noexcept {
    if (!is_real) return;
    y_[first * y_stride_] = narrow<Storage>(value + origin_);
    finish_words(first / 16);
    const Code code = first == 0 ? Code::plain : down ? Code::down : Code::up;
    codes_of_word_ |= static_cast<std::uint32_t>(code) << (2 * (first % 16));
  }

 private:
  static constexpr int kBlock = 128 / sizeof(T);
  static constexpr int kPerVector = 16 / sizeof(T);

  struct Lams {
    static constexpr bool kUniform = true;
    [[nodiscard]] __device__ T operator[](int) const noexcept { return 0; }
  };

  /// The lane's row, read through its ring.
  struct Source {
    AgentStream& agent;

    [[nodiscard]] __device__ T zero() const noexcept { return static_cast<T>(agent.n_ >> 31); }
    [[nodiscard]] __device__ T lam(std::int32_t) const noexcept { return agent.row_lam_; }
    [[nodiscard]] __device__ T sample(std::int32_t i) const noexcept {
      if (i >= agent.filled_ - agent.chunk_) return agent.ring_[agent.place(i)];
      agent.filled_ = i / kBlock * kBlock;  // no longer in the ring: the ring starts again here
      return widen<T>(agent.x_[i * agent.x_stride_]) - agent.origin_;
    }
    /// If any lane runs dry, all lanes with less than half a ring of samples left load more, so
    /// that this is rare. So do lanes whose ring has no samples to lose that they may still need.
    __device__ void prepare(std::int32_t first, std::int32_t next,
                            std::int32_t last) const noexcept {
      const auto runs_dry = [&] { return next + kGroup > agent.filled_ && agent.filled_ < last; };
      while (__any_sync(kWarp, runs_dry())) {
        const bool has_few = agent.filled_ - next <= agent.chunk_ / 2;
        const bool has_room = agent.filled_ + kBlock - agent.chunk_ <= first;
        if (agent.filled_ < last && (has_few || has_room)) agent.fill_block();
      }
    }
    __device__ Lams load(std::int32_t i, std::int32_t last, T (&samples)[kGroup]) const noexcept {
      const T* from = agent.ring_ + agent.place(i);
#pragma unroll
      for (int j = 0; j < kGroup; ++j) {
        samples[j] = i + j < last ? from[j * kLanes] : std::numeric_limits<T>::quiet_NaN();
      }
      return {};
    }
  };

  [[nodiscard]] __device__ int place(std::int32_t i) const noexcept {
    return (i & (chunk_ - 1)) * kLanes;
  }
  [[nodiscard]] __device__ std::uint32_t* codes_of(int lane, std::int64_t row) const noexcept {
    return call_.partition != nullptr ? call_.partition + row * words_
                                      : warp_codes_ + static_cast<std::int64_t>(lane) * words_;
  }

  /// Loads one more block of samples into the ring. The first group of the ring is repeated after
  /// its end, so that a group never wraps around.
  __device__ void fill_block() noexcept {
    T samples[kBlock];
    if (whole_vectors_) {
      struct alignas(sizeof(Storage) * kPerVector) Packed {
        Storage item[kPerVector];
      };
#pragma unroll
      for (int v = 0; v < kBlock; v += kPerVector) {
        Packed packed = {};
        if (filled_ + v < n_) packed = *reinterpret_cast<const Packed*>(x_ + filled_ + v);
#pragma unroll
        for (int j = 0; j < kPerVector; ++j) samples[v + j] = widen<T>(packed.item[j]) - origin_;
      }
    } else {
#pragma unroll
      for (int k = 0; k < kBlock; ++k) {
        const std::int32_t i = min(filled_ + k, n_ - 1);
        samples[k] = widen<T>(x_[i * x_stride_]) - origin_;
      }
    }
    T* to = ring_ + place(filled_);
#pragma unroll
    for (int k = 0; k < kBlock; ++k) to[k * kLanes] = samples[k];
    if (place(filled_) == 0) {
#pragma unroll
      for (int k = 0; k < kGroup; ++k) ring_[(chunk_ + k) * kLanes] = samples[k];
    }
    filled_ += kBlock;
  }

  /// Writes the words of codes before word number `word`.
  __device__ void finish_words(std::int32_t word) noexcept {
    for (; word_ < word; ++word_) {
      codes_[word_] = codes_of_word_;
      codes_of_word_ = 0;
    }
  }

  // --- Every element gets the value of its segment, read at the segment's start ---

  __device__ void expand(int count) const noexcept {
    if constexpr (kAlongMemory) {
      for (int r = 0; r < count; ++r) {
        if (__shfl_sync(kWarp, needs_care_ ? 1 : 0, r) == 0) {
          expand_row(r, __shfl_sync(kWarp, row_, r));
        }
      }
    } else if (has_row_ && !needs_care_) {
      Storage current = {};
      for (std::int32_t w = 0; w < words_; ++w) {
        current = expand_word(x_, y_, w, codes_[w], current);
      }
    }
  }

  /// Lanes take neighbouring words of the row's codes.
  __device__ void expand_row(int r, std::int64_t row) const noexcept {
    const std::uint32_t* codes = codes_of(r, row);
    const Storage* x = call_.x.row(row);
    Storage* y = call_.y.row(row);
    Storage before = {};  // the value before the words of these lanes
    for (std::int32_t first = 0; first < words_; first += kLanes) {
      const std::int32_t w = first + lane_;
      const std::uint32_t word = w < words_ ? codes[w] : 0;
      Storage last = {};
      if (word != 0) last = y[w * 16 + (31 - __clz(static_cast<int>(word))) / 2];
      const unsigned with = __ballot_sync(kWarp, word != 0);
      const unsigned with_before = with & ((1U << lane_) - 1);
      const Storage from_lane = __shfl_sync(
          kWarp, last, with_before != 0 ? 31 - __clz(static_cast<int>(with_before)) : 0);
      if (w < words_) expand_word(x, y, w, word, with_before != 0 ? from_lane : before);
      if (with != 0) before = __shfl_sync(kWarp, last, 31 - __clz(static_cast<int>(with)));
    }
  }
  __device__ Storage expand_word(const Storage* x, Storage* y, std::int32_t w, std::uint32_t word,
                                 Storage current) const noexcept {
    struct alignas(sizeof(Storage) * kPerVector) Packed {
      Storage item[kPerVector];
    };
    Packed packed[16 / kPerVector];
    const std::int32_t first = w * 16;
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      const bool starts = (word >> (2 * i) & 3U) != 0;
      if (starts) packed[i / kPerVector].item[i % kPerVector] = y[(first + i) * y_stride_];
    }
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      const bool starts = (word >> (2 * i) & 3U) != 0;
      Storage& item = packed[i / kPerVector].item[i % kPerVector];
      current = starts ? item : current;
      item = current;
    }
    if constexpr (Call::kOutput == ForwardOutput::next_input) {
#pragma unroll
      for (int v = 0; v < 16; v += kPerVector) {
        if (whole_vectors_) {
          if (first + v < n_) call_.change_packed(packed[v / kPerVector], x + first + v);
        } else {
#pragma unroll
          for (int j = 0; j < kPerVector; ++j) {
            Storage& item = packed[v / kPerVector].item[j];
            if (first + v + j < n_) item = call_.changed(item, x + (first + v + j) * x_stride_);
          }
        }
      }
    }
#pragma unroll
    for (int v = 0; v < 16; v += kPerVector) {
      if (whole_vectors_) {
        if (first + v < n_) *reinterpret_cast<Packed*>(y + first + v) = packed[v / kPerVector];
      } else {
#pragma unroll
        for (int j = 0; j < kPerVector; ++j) {
          if (first + v + j < n_) y[(first + v + j) * y_stride_] = packed[v / kPerVector].item[j];
        }
      }
    }
    return current;
  }

  const Call& call_;
  const std::int32_t n_;
  const std::int32_t chunk_;
  const std::int32_t words_;
  const std::int64_t x_stride_;
  const std::int64_t y_stride_;
  const bool whole_vectors_;
  const int lane_;
  T* const ring_;
  std::uint32_t* const warp_codes_;

  std::int64_t row_ = 0;
  bool has_row_ = false;
  bool needs_care_ = false;
  CareReason reason_ = CareReason::unsearchable;
  const Storage* x_ = nullptr;
  Storage* y_ = nullptr;
  std::uint32_t* codes_ = nullptr;
  T row_lam_ = 0;
  T origin_ = 0;
  std::int32_t filled_ = 0;  // samples before this one are in the ring, as many as fit
  std::int32_t word_ = 0;    // the first word of codes that is not written yet
  std::uint32_t codes_of_word_ = 0;
};

}  // namespace tautstring::detail
