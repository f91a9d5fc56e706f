// Sums of the incoming gradient over segments, from the codes alone.
//
// Mapping: a thread has the sixteen elements of one word of codes; a block has the words
// of one or more rows, or a tile of a long one. Along memory neighbouring threads have
// neighbouring words and exchange elements through shared memory, so that whole lines
// are read and written; across memory they have neighbouring rows. Traffic: grad_y and
// the codes are read once, grad_x is written once. Shared memory: sixteen elements a
// thread along memory, two sums a thread across it.
//
// The sum of a segment is taken in a fixed order: the elements of a word in turn, the
// words of a group in turn, groups in turn, tiles in turn. It depends on where in the
// row the segment lies, and on nothing else.
#pragma once

#include <cstdint>

#include "cuda/warp/backward_rows.cuh"
#include "cuda/warp/forward_rows.cuh"
#include "cuda/warp/running_sum.cuh"
#include "tautline/partition.h"

namespace tautline::detail {

/// A sum over elements, and where those begin (of what is open before a place) or end
/// (of what follows it).
template <class T>
struct OpenSum {
  RunningSum<T> sum;
  std::int32_t place;
};

template <class Storage, bool kAlongMemory>
class AgentBackward {
 public:
  using T = ArithmeticOf<Storage>;
  using Sum = RunningSum<T>;

  /// What the threads of a block leave for one another, by word and row; masks have a
  /// bit a word of a group.
  struct Shared {
    Sum* tails;
    T* first_means;
    Sum* group_tails;
    std::uint32_t* starts;
    std::uint32_t* ends;
    double* grad_lam;

    [[nodiscard]] static std::size_t bytes(const BackwardShape& shape) noexcept {
      const auto threads = static_cast<std::size_t>(shape.threads());
      const auto groups = static_cast<std::size_t>(shape.groups() * shape.rows);
      const std::size_t elements = kAlongMemory ? threads * kWordElements * sizeof(Storage) : 0;
      const std::size_t exchange = threads * (sizeof(Sum) + sizeof(T) + sizeof(double)) +
                                   groups * (sizeof(Sum) + 2 * sizeof(std::uint32_t));
      return elements + exchange;
    }
    __device__ Shared(char* block, const BackwardShape& shape) noexcept {
      const int threads = shape.threads();
      if (kAlongMemory) block += threads * kWordElements * static_cast<int>(sizeof(Storage));
      grad_lam = reinterpret_cast<double*>(block);
      tails = reinterpret_cast<Sum*>(grad_lam + threads);
      group_tails = tails + threads;
      first_means = reinterpret_cast<T*>(group_tails + shape.groups() * shape.rows);
      starts = reinterpret_cast<std::uint32_t*>(first_means + threads);
      ends = starts + shape.groups() * shape.rows;
    }
  };

  __device__ AgentBackward(const BackwardRows<Storage>& call, char* shared) noexcept
      : call_(call),
        shape_(call.shape),
        shared_(shared, shape_),
        thread_(static_cast<int>(threadIdx.x)),
        slot_(kAlongMemory ? quotient(thread_, shape_.words)
                           : thread_ - quotient(thread_, shape_.rows) * shape_.rows),
        word_in_tile_(kAlongMemory ? thread_ - slot_ * shape_.words
                                   : quotient(thread_, shape_.rows)),
        staging_(reinterpret_cast<Packed*>(shared) + thread_ / 32 * 32 * kVectors),
        knows_tiles_(call.tiles != nullptr) {}

  /// The gradients of tile `tile` of the block's rows, from `first_row` on.
  __device__ void run(std::int64_t first_row, std::int32_t tile) noexcept {
    place(first_row, tile);
    load(first_row);
    const std::uint32_t starts = starts_of(codes_);
    const std::uint32_t closes = word_ == 0 ? starts & ~1U : starts;

    // The mean of what lies before each element, from the last start in the word on.
    T means[kWordElements];
    Sum head;  // before the first close
    Sum tail;
    float count = 0;
#pragma unroll
    for (int i = 0; i < kWordElements; ++i) {
      const std::uint32_t bit = 1U << (2 * i);
      means[i] = i == 0 ? T(0) : tail.mean(static_cast<T>(count));
      if ((closes & (2 * bit - 1)) == bit) head = tail;
      if ((starts & bit) != 0) {
        tail = Sum{values_[i]};
        count = 1;
      } else {
        tail.add(values_[i]);
        count += 1;
      }
    }
    const OpenSum<T> open = sum_before_word(starts, tail);

    // The segment that is open where the word begins ends at the first close, or with
    // the row; the last one of a row ends with it.
    const int first_close = (__ffs(static_cast<int>(closes)) - 1) / 2;
    T first_mean = 0;
    if (closes != 0) {
      Sum sum = open.sum;
      if (first_close > 0) sum.add(head);
      first_mean = sum.mean(static_cast<T>(word_ * kWordElements + first_close - open.place));
    }
    const T last_mean = is_last_word_ ? mean_of_last(starts, tail, open, tile) : T(0);
    T current =
        mean_behind_word(closes != 0 ? first_mean : last_mean, closes != 0 || is_last_word_);
    if (is_last_word_) current = last_mean;

    // Backwards, each element takes the mean of its segment. A segment of one element is
    // that element, bit for bit.
    const std::uint32_t alone = starts & ends_of(starts);
    const std::uint32_t signs = word_ == 0 ? codes_ & ~3U : codes_;
    const std::uint32_t ups = signs & ~(signs >> 1) & 0x55555555U;
    const std::uint32_t downs = signs >> 1 & ~signs & 0x55555555U;
    if (active_ && call_.lam_data != nullptr && call_.lam.size > 1) {
      store_edges(means, closes, first_close, first_mean, current, ups, downs);
    }
    T lam_sum = 0;
#pragma unroll
    for (int i = kWordElements - 1; i >= 0; --i) {
      const std::uint32_t bit = 1U << (2 * i);
      const T mean = i == first_close ? first_mean : means[i];
      const T step = mean - current;
      if ((ups & bit) != 0) lam_sum += step;
      if ((downs & bit) != 0) lam_sum -= step;
      const T through = call_.sharp ? T(2) * values_[i] - current : current;
      values_[i] = (alone & bit) != 0 ? values_[i] : through;
      if ((closes & bit) != 0) current = mean;
    }
    store(first_row);
    if (call_.lam_data != nullptr && call_.lam.size == 1) {
      store_row_lam(static_cast<double>(call_.sharp ? -lam_sum : lam_sum), tile);
    }
  }

  /// Leaves the sums of a tile for its neighbours.
  __device__ void sum_tile(std::int64_t first_row, std::int32_t tile) noexcept {
    knows_tiles_ = false;
    place(first_row, tile);
    load(first_row);
    const std::uint32_t starts = starts_of(codes_);
    Sum head;
    Sum tail;
    bool any = false;
#pragma unroll
    for (int i = 0; i < kWordElements; ++i) {
      if ((starts >> (2 * i) & 1U) != 0) {
        if (!any) head = tail;
        any = true;
        tail = Sum{values_[i]};
      } else {
        tail.add(values_[i]);
      }
    }
    const OpenSum<T> open = sum_before_word(starts, tail);
    if (!active_) return;
    TileSums& sums = call_.tiles[row_ * call_.tile_count() + tile];
    const std::uint32_t first_starts = first_start_word();
    const bool has_any = first_starts != kNone;
    // The first word with a start knows the head, the last word the tail.
    if (any && static_cast<std::uint32_t>(word_in_tile_) == first_starts) {
      Sum sum = open.sum;
      if ((starts & 1U) == 0) sum.add(head);
      sums.head = sum.wide();
      sums.first_start = word_ * kWordElements + (__ffs(static_cast<int>(starts)) - 1) / 2;
    }
    if (is_last_word_) {
      Sum sum = tail;
      std::int32_t last_start = word_ * kWordElements + (31 - __clz(static_cast<int>(starts))) / 2;
      if (!any) {
        sum = open.sum;
        sum.add(tail);
        last_start = has_any ? open.place : -1;
      }
      sums.tail = sum.wide();
      sums.last_start = last_start;
      if (!has_any) {
        sums.head = sums.tail;
        sums.first_start = -1;
      }
    }
  }

 private:
  static constexpr int kVectors = kWordElements * sizeof(Storage) / 16;  // a word of codes
  static constexpr int kPerVector = 16 / sizeof(Storage);
  static constexpr std::uint32_t kNone = ~0U;

  struct alignas(16) Packed {
    Storage item[kPerVector];
  };

  /// a / b of small numbers.
  [[nodiscard]] static __device__ int quotient(int a, int b) noexcept {
    return static_cast<int>((static_cast<float>(a) + 0.5F) / static_cast<float>(b));
  }

  __device__ void place(std::int64_t first_row, std::int32_t tile) noexcept {
    row_ = first_row + slot_;
    tile_first_ = tile * kTileWords;
    word_ = tile_first_ + word_in_tile_;
    const std::int32_t words = (call_.n + kWordElements - 1) / kWordElements;
    active_ =
        slot_ < shape_.rows && word_in_tile_ < shape_.words && row_ < call_.count && word_ < words;
    is_last_word_ = active_ && (word_in_tile_ == shape_.words - 1 || word_ == words - 1);
    row_words_ = words;
  }
  /// One bit for each element that starts a segment; a row's first always does.
  [[nodiscard]] __device__ std::uint32_t starts_of(std::uint32_t codes) const noexcept {
    const std::uint32_t starts = (codes | codes >> 1) & 0x55555555U;
    return word_ == 0 ? starts | 1U : starts;
  }

  // --- Memory ---

  [[nodiscard]] static __device__ int swizzled(int lane, int vector) noexcept {
    return lane * kVectors + (vector ^ (lane / (8 / kVectors) & (kVectors - 1)));
  }
  /// Elements of the warp, where rows lie one behind the other without gaps, from
  /// first_row's on; how many of them there are.
  [[nodiscard]] __device__ std::int64_t warp_offset() const noexcept {
    return std::int64_t{tile_first_ + thread_ / 32 * 32} * kWordElements;
  }
  [[nodiscard]] __device__ std::int64_t warp_size(std::int64_t first_row) const noexcept {
    const std::int64_t all = min(call_.count - first_row, std::int64_t{shape_.rows}) * call_.n;
    const std::int64_t here = std::int64_t{tile_first_} * kWordElements +
                              std::int64_t{shape_.words} * shape_.rows * kWordElements;
    return min(all, here) - warp_offset();
  }

  __device__ void load(std::int64_t first_row) noexcept {
    codes_ = active_ ? call_.partition[row_ * row_words_ + word_] : 0;
    if (kAlongMemory && call_.whole_vectors) {
      const int lane = thread_ % 32;
      const Storage* from = call_.grad_y.row(first_row) + warp_offset();
      const std::int64_t size = warp_size(first_row);
#pragma unroll
      for (int j = 0; j < kVectors; ++j) {
        const int vector = j * 32 + lane;
        Packed packed = {};
        if (vector * kPerVector < size) packed = reinterpret_cast<const Packed*>(from)[vector];
        staging_[swizzled(vector / kVectors, vector % kVectors)] = packed;
      }
      __syncwarp();
#pragma unroll
      for (int i = 0; i < kVectors; ++i) {
        const Packed packed = staging_[swizzled(lane, i)];
#pragma unroll
        for (int j = 0; j < kPerVector; ++j) values_[i * kPerVector + j] = widen<T>(packed.item[j]);
      }
      return;
    }
    const Storage* from = active_ ? call_.grad_y.row(row_) : nullptr;
    const std::int32_t first = word_ * kWordElements;
#pragma unroll
    for (int i = 0; i < kWordElements; ++i) {
      values_[i] =
          active_ && first + i < call_.n ? widen<T>(from[(first + i) * call_.grad_y.stride]) : T(0);
    }
  }

  __device__ void store(std::int64_t first_row) noexcept {
    if (!call_.wants_x) return;
    if (kAlongMemory && call_.whole_vectors) {
      const int lane = thread_ % 32;
      __syncwarp();
#pragma unroll
      for (int i = 0; i < kVectors; ++i) {
        Packed packed;
#pragma unroll
        for (int j = 0; j < kPerVector; ++j) {
          packed.item[j] = narrow<Storage>(values_[i * kPerVector + j]);
        }
        staging_[swizzled(lane, i)] = packed;
      }
      __syncwarp();
      Storage* to = call_.grad_x.row(first_row) + warp_offset();
      const std::int64_t size = warp_size(first_row);
#pragma unroll
      for (int j = 0; j < kVectors; ++j) {
        const int vector = j * 32 + lane;
        if (vector * kPerVector < size) {
          reinterpret_cast<Packed*>(to)[vector] =
              staging_[swizzled(vector / kVectors, vector % kVectors)];
        }
      }
      return;
    }
    if (!active_) return;
    Storage* to = call_.grad_x.row(row_);
    const std::int32_t first = word_ * kWordElements;
#pragma unroll
    for (int i = 0; i < kWordElements; ++i) {
      if (first + i < call_.n) to[(first + i) * call_.grad_x.stride] = narrow<Storage>(values_[i]);
    }
  }

  // --- Exchange ---

  [[nodiscard]] __device__ int at(int word) const noexcept {
    return kAlongMemory ? slot_ * shape_.words + word : word * shape_.rows + slot_;
  }
  [[nodiscard]] __device__ int mask_at(int group) const noexcept {
    return slot_ * shape_.groups() + group;
  }

  /// The sum of the segment that is open where this word begins.
  [[nodiscard]] __device__ OpenSum<T> sum_before_word(std::uint32_t starts, Sum tail) noexcept {
    const int group = word_in_tile_ / kGroupWords;
    const int in_group = word_in_tile_ % kGroupWords;
    for (int i = thread_; i < shape_.groups() * shape_.rows; i += static_cast<int>(blockDim.x)) {
      shared_.starts[i] = shared_.ends[i] = 0;
    }
    __syncthreads();
    if (active_) {
      shared_.tails[at(word_in_tile_)] = tail;
      if (starts != 0) atomicOr(shared_.starts + mask_at(group), 1U << in_group);
    }
    __syncthreads();
    OpenSum<T> open = {Sum{}, 0};
    if (active_) {
      // Within the group.
      const std::uint32_t mask = shared_.starts[mask_at(group)] & ((1U << in_group) - 1);
      const int from = mask != 0 ? 31 - __clz(static_cast<int>(mask)) : 0;
      for (int w = from; w < in_group; ++w) {
        const Sum other = shared_.tails[at(group * kGroupWords + w)];
        if (w == from) {
          open.sum = other;
        } else {
          open.sum.add(other);
        }
      }
      const bool knows = mask != 0;
      if (knows) open.place = last_start_in(group * kGroupWords + from);
      if (in_group == kGroupWords - 1) {
        Sum group_tail = tail;
        if (starts == 0) {
          group_tail = open.sum;
          group_tail.add(tail);
        }
        shared_.group_tails[mask_at(group)] = group_tail;
      }
      knows_ = knows;
    }
    __syncthreads();
    if (active_ && !knows_) open = sum_before_group(group, open.sum);
    return open;
  }

  /// The same where the segment began in an earlier group, or in an earlier tile.
  [[nodiscard]] __device__ OpenSum<T> sum_before_group(int group, Sum within) const noexcept {
    int from = group - 1;
    while (from >= 0 && shared_.starts[mask_at(from)] == 0) --from;
    Sum sum;
    std::int32_t start = 0;
    if (from >= 0) {
      const std::uint32_t mask = shared_.starts[mask_at(from)];
      start = last_start_in(from * kGroupWords + 31 - __clz(static_cast<int>(mask)));
    } else if (knows_tiles_) {
      sum = sum_before_tile(start);
    }
    for (int g = max(from, 0); g < group; ++g) sum.add(shared_.group_tails[mask_at(g)]);
    sum.add(within);
    return {sum, start};
  }

  [[nodiscard]] __device__ Sum sum_before_tile(std::int32_t& start) const noexcept {
    const std::int32_t tile = tile_first_ / kTileWords;
    const TileSums* tiles = call_.tiles + row_ * call_.tile_count();
    if (tile == 0) return {};
    std::int32_t from = tile - 1;
    while (from > 0 && tiles[from].last_start < 0) --from;
    start = tiles[from].last_start;
    double sum = 0;
    for (std::int32_t t = from; t < tile; ++t) sum += tiles[t].tail;
    return Sum{static_cast<T>(sum)};
  }

  /// The last start in a word of this row and tile that has one.
  [[nodiscard]] __device__ std::int32_t last_start_in(int word_in_tile) const noexcept {
    const std::int32_t word = tile_first_ + word_in_tile;
    const std::uint32_t starts = call_.partition[row_ * row_words_ + word];
    return word * kWordElements +
           (starts == 0 ? 0 : (31 - __clz(static_cast<int>(starts))) / 2);  // 0: the row's first
  }
  [[nodiscard]] __device__ std::uint32_t first_start_word() const noexcept {
    for (int g = 0; g < shape_.groups(); ++g) {
      const std::uint32_t mask = shared_.starts[mask_at(g)];
      if (mask != 0)
        return static_cast<std::uint32_t>(g * kGroupWords + __ffs(static_cast<int>(mask)) - 1);
    }
    return kNone;
  }

  /// The mean of the last segment of the tile, which may end behind it.
  [[nodiscard]] __device__ T mean_of_last(std::uint32_t starts, Sum tail, const OpenSum<T>& open,
                                          std::int32_t tile) const noexcept {
    Sum sum = tail;
    std::int32_t start = word_ * kWordElements + (31 - __clz(static_cast<int>(starts))) / 2;
    if (starts == 0) {
      sum = open.sum;
      sum.add(tail);
      start = open.place;
    }
    std::int32_t end = call_.n;
    if (call_.tiles != nullptr) {
      const TileSums* tiles = call_.tiles + row_ * call_.tile_count();
      double behind = 0;
      for (std::int32_t t = tile + 1; t < call_.tile_count(); ++t) {
        behind += tiles[t].head;
        if (tiles[t].first_start >= 0) {
          end = tiles[t].first_start;
          break;
        }
      }
      sum.add(static_cast<T>(behind));
    }
    return sum.mean(static_cast<T>(end - start));
  }

  /// The mean of the segment that is open where this word ends: the nearest word behind it
  /// in which a segment ends knows.
  [[nodiscard]] __device__ T mean_behind_word(T first_mean, bool has_end) noexcept {
    const int group = word_in_tile_ / kGroupWords;
    const int in_group = word_in_tile_ % kGroupWords;
    if (active_ && has_end) {
      shared_.first_means[at(word_in_tile_)] = first_mean;
      atomicOr(shared_.ends + mask_at(group), 1U << in_group);
    }
    __syncthreads();
    if (!active_ || is_last_word_) return 0;
    std::uint32_t mask =
        in_group == kGroupWords - 1 ? 0 : shared_.ends[mask_at(group)] & (~1U << in_group);
    int g = group;
    while (mask == 0) mask = shared_.ends[mask_at(++g)];  // the last word has an end
    return shared_.first_means[at(g * kGroupWords + __ffs(static_cast<int>(mask)) - 1)];
  }

  /// One bit for each element that ends a segment.
  [[nodiscard]] __device__ std::uint32_t ends_of(std::uint32_t starts) const noexcept {
    if (!active_) return 0;
    const std::int32_t left = call_.n - word_ * kWordElements;  // elements of the row
    if (left <= kWordElements) return starts >> 2 | 1U << (2 * (left - 1));
    const std::uint32_t next = call_.partition[row_ * row_words_ + word_ + 1];
    return starts >> 2 | ((next & 3U) != 0 ? 1U << 30 : 0U);
  }

  // --- Gradients of lam ---

  /// One an edge: a jump's sign times the difference of the means at its sides.
  __device__ void store_edges(const T (&means)[kWordElements], std::uint32_t closes,
                              int first_close, T first_mean, T current, std::uint32_t ups,
                              std::uint32_t downs) const noexcept {
    const std::int64_t lam_offset = call_.lam.offset(row_);
#pragma unroll
    for (int i = kWordElements - 1; i >= 0; --i) {
      const std::uint32_t bit = 1U << (2 * i);
      const T mean = i == first_close ? first_mean : means[i];
      const T step = call_.sharp ? current - mean : mean - current;
      const T term = (ups & bit) != 0 ? step : (downs & bit) != 0 ? -step : T(0);
      if ((closes & bit) != 0) current = mean;
      const std::int32_t k = word_ * kWordElements + i;
      if (k > 0 && k < call_.n) {
        store_grad_lam(call_, lam_offset + (k - 1) * call_.lam.stride, static_cast<double>(term));
      }
    }
  }

  /// In the order of the words.
  __device__ void store_row_lam(double grad_lam, std::int32_t tile) noexcept {
    if (active_) shared_.grad_lam[at(word_in_tile_)] = grad_lam;
    __syncthreads();
    if (!active_ || word_in_tile_ != 0) return;
    double sum = 0;
    const int words = min(shape_.words, row_words_ - tile_first_);
    for (int w = 0; w < words; ++w) sum += shared_.grad_lam[at(w)];
    if (call_.tiles == nullptr) {
      store_grad_lam(call_, call_.lam.offset(row_), sum);
    } else {
      call_.tiles[row_ * call_.tile_count() + tile].grad_lam = sum;
    }
  }

  const BackwardRows<Storage>& call_;
  const BackwardShape& shape_;
  const Shared shared_;
  const int thread_;
  const int slot_;
  const int word_in_tile_;
  Packed* const staging_;
  bool knows_tiles_;  // the sums of the tiles before

  std::int64_t row_ = 0;
  std::int32_t row_words_ = 0;
  std::int32_t tile_first_ = 0;  // word
  std::int32_t word_ = 0;
  bool active_ = false;
  bool is_last_word_ = false;  // of the tile
  bool knows_ = true;          // where its open segment begins, within its group
  std::uint32_t codes_ = 0;
  T values_[kWordElements];
};

}  // namespace tautline::detail
