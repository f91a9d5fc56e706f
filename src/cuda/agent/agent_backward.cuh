// Sums of the incoming gradient over segments, from the codes alone.
//
// Mapping: a thread handles the sixteen elements of one word of codes; a warp handles a group of 32
// words of a row, or the words of several shorter rows. Traffic: grad_y and the codes are read
// once, grad_x is written once, through shared memory (warp/staged_words.cuh); in a pass over
// images grad_y is read again, mostly from a cache. Lanes exchange sums by shuffles; only the
// groups of one row need barriers.
//
// The sum of a segment is formed in a fixed order: the elements of a word in turn, the words of a
// group in a tree counted from the first word of the segment, groups in turn, tiles in turn, and
// last the elements of the word in which the segment ends. The order depends only on where in the
// row the segment lies.
#pragma once

#include <cstdint>

#include "cuda/warp/running_sum.cuh"
#include "cuda/warp/staged_words.cuh"

namespace tautstring::detail {

/// The sum of the elements of a segment up to some point, and the start of the segment.
template <class T>
struct OpenSum {
  RunningSum<T> sum;
  std::int32_t start = -1;  // -1: before everything seen so far
};

template <class Call, BackwardAccess kAccess, BackwardSpan kSpan>
class AgentBackward {
 public:
  using Storage = typename Call::Storage;
  using T = ArithmeticOf<Storage>;
  using Sum = RunningSum<T>;
  using Words = StagedWords<Call, kAccess>;

  /// What the groups of a row share, one entry per warp.
  struct Shared {
    OpenSum<T> tails[kMostBackwardWarps];
    T first_means[kMostBackwardWarps];
    T grad_lam[kMostBackwardWarps];
    bool has_end[kMostBackwardWarps];
  };
  static constexpr std::size_t kSharedBytes = (sizeof(Shared) + 127) / 128 * 128;

  [[nodiscard]] static std::size_t shared_bytes(const BackwardShape& shape) noexcept {
    return kSharedBytes + Words::bytes(shape);
  }

  __device__ AgentBackward(const Call& call, char* shared) noexcept
      : call_(call),
        shared_(*reinterpret_cast<Shared*>(shared)),
        place_(place_of(call)),
        words_(call, place_, shared + kSharedBytes),
        word_(place_.word()),
        is_last_word_(word_ == call.row_words - 1 ||
                      place_.word_in_tile() == call.shape.words - 1) {
    codes_ = place_.has_word() ? call.partition[place_.first_word + place_.lane] : 0;
    words_.arrive();
    words_.take(values_);
    // One bit for each element that starts a segment. The first element of a row always does.
    starts_ = (codes_ | codes_ >> 1) & kLowBits;
    if (word_ == 0) starts_ |= 1U;
  }

  /// Computes the gradients of the block's rows, or of a tile of them. kEdges: per-edge gradients
  /// of lam; otherwise one per row, if wanted.
  template <bool kEdges>
  __device__ void run() noexcept {
    const OpenSum<T> tail = sum_word();
    OpenSum<T> open = sum_before_word(tail);
    if (word_ == 0) open.start = 0;
    TilesBefore before;
    if (kHasGroups && place_.tile > 0 && open.start < 0 && place_.has_word()) {
      before = sum_before_tile();
    }

    // The segment that is open at the start of the word ends at the first close, or at the end of
    // the row. The last segment of a row ends with the row.
    const std::uint32_t closes = word_ == 0 ? starts_ & ~1U : starts_;
    const int first_close = (__ffs(static_cast<int>(closes)) - 1) / 2;
    T first_mean = 0;
    T last_mean = 0;
    if (closes != 0) {
      const Sum head = head_sum(open, first_close);
      const std::int32_t end = word_first() + first_close;
      first_mean = before.start < 0 ? mean_of(head, open.start, end)
                                    : mean_of(before.with(head), before.start, end);
    }
    if (is_last_word_) {
      if (tail.start >= 0) before = {};
      last_mean = mean_of_last(tail.start < 0 ? joined(open, tail) : tail, before);
    }
    replace_sums_by_means(closes, first_mean);
    if (closes == 0) first_mean = last_mean;
    T current = mean_behind_word(first_mean, closes != 0 || is_last_word_);
    if (is_last_word_) current = last_mean;

    if (kEdges && place_.has_word()) store_edges(closes, current);
    if (!kEdges && call_.lam_data != nullptr) {
      const T grad_lam = spread_means<true>(closes, current);
      if constexpr (kSteps) {
        const bool counts = place_.has_word() && call_.images.counts(place_.row());
        store_row_lam(counts ? grad_lam : T(0));
      } else {
        store_row_lam(call_.sharp ? -grad_lam : grad_lam);
      }
    } else {
      spread_means<false>(closes, current);
    }
    if (!call_.wants_x) return;
    if constexpr (kSteps) {
      words_.put(values_);
      words_.step(call_);
    } else {
      if (call_.sharp) sharpen();
      words_.put(values_);
      words_.store(call_);
    }
  }

  /// Stores the sums of a tile for its neighbours.
  __device__ void sum_tile() noexcept {
    const OpenSum<T> tail_of_word = sum_word();
    const OpenSum<T> open = sum_before_word(tail_of_word);
    if (!place_.has_word()) return;
    TileSums& sums = tile_sums()[place_.tile];
    if (starts_ != 0 && open.start < 0) {  // the tile's first start
      const int first = (__ffs(static_cast<int>(starts_)) - 1) / 2;
      sums.head = head_sum(open, first).wide();
      sums.first_start = word_first() + first;
    }
    if (!is_last_word_) return;
    const OpenSum<T> tail = tail_of_word.start < 0 ? joined(open, tail_of_word) : tail_of_word;
    sums.tail = tail.sum.wide();
    sums.last_start = tail.start;
    if (tail.start < 0) {
      sums.head = sums.tail;
      sums.first_start = -1;
    }
  }

 private:
  static constexpr bool kSteps = Call::kOutput == BackwardOutput::next_incoming;
  static constexpr bool kHasGroups = kSpan == BackwardSpan::group;
  static constexpr unsigned kAllLanes = 0xFFFFFFFFU;
  static constexpr std::uint32_t kLowBits = 0x55555555U;

  /// The first element of the word.
  [[nodiscard]] __device__ std::int32_t word_first() const noexcept {
    return word_ * kWordElements;
  }
  [[nodiscard]] static constexpr __device__ std::uint32_t bit_of(int i) noexcept {
    return 1U << (2 * i);
  }

  /// The same bits, in a form that the compiler cannot track: testing them again is cheaper than
  /// keeping sixteen results in registers.
  [[nodiscard]] static __device__ std::uint32_t looked_at_anew(std::uint32_t bits) noexcept {
    asm("" : "+r"(bits));
    return bits;
  }

  [[nodiscard]] static __device__ WordPlace place_of(const Call& call) noexcept {
    const BackwardShape& shape = call.shape;
    WordPlace place;
    place.lane = static_cast<int>(threadIdx.x % 32);
    place.warp = static_cast<int>(threadIdx.x / 32);
    place.tile = 0;
    place.group = 0;
    place.in_group = place.lane;
    if constexpr (!kHasGroups) {
      const auto row = static_cast<int>(threadIdx.x % 32 * shape.word_inverse >> 16);
      place.in_group -= row * shape.words;
      place.block_row = std::int64_t{blockIdx.x} * shape.rows;
      place.first_slot = place.warp * shape.warp_rows;
      place.slot = place.first_slot + row;
      place.first_word = (place.block_row + place.first_slot) * shape.words;
      // Some of a warp's rows may be past the last row of the block or of the batch.
      const int words = min(shape.warp_rows, shape.rows - place.first_slot) * shape.words;
      const std::int64_t left = call.word_count - place.first_word;
      place.warp_words = left < words ? static_cast<int>(left) : words;
    } else {
      unsigned block = blockIdx.x;
      if (call.tile_count > 1) {
        const auto tiles = static_cast<unsigned>(call.tile_count);
        place.tile = static_cast<std::int32_t>(block % tiles);
        block /= tiles;
      }
      place.block_row = std::int64_t{block} * shape.rows;
      place.first_slot = kAccess == BackwardAccess::across
                             ? static_cast<int>(threadIdx.x / 32 * shape.group_inverse >> 16)
                             : 0;
      place.slot = place.first_slot;
      place.group = place.warp - place.slot * shape.groups;
      const std::int32_t first = place.tile * kTileWords + place.group * kGroupWords;
      place.first_word = place.row() * call.row_words + first;
      place.warp_words = place.row() < call.count ? min(call.row_words - first, kGroupWords) : 0;
    }
    return place;
  }

  // --- Sums ---

  /// Returns the sum of the word's elements from the last start in it, or of all elements. Replaces
  /// each element by the sum of the elements before it, from the last start in the word.
  [[nodiscard]] __device__ OpenSum<T> sum_word() noexcept {
    Sum sum;
#pragma unroll
    for (int i = 0; i < kWordElements; ++i) {
      const T value = values_[i];
      values_[i] = sum.total();
      if ((starts_ & bit_of(i)) != 0) {
        sum = Sum{value};
      } else {
        sum.add(value);
      }
    }
    const int last = (31 - __clz(static_cast<int>(starts_))) / 2;
    return {sum, starts_ != 0 ? word_first() + last : -1};
  }

  [[nodiscard]] static __device__ OpenSum<T> joined(const OpenSum<T>& open,
                                                    const OpenSum<T>& rest) noexcept {
    OpenSum<T> both = open;
    both.sum.add(rest.sum);
    return both;
  }

  /// The sum of the segment that is open at the start of the word, up to the first start or close
  /// in the word.
  [[nodiscard]] __device__ Sum head_sum(const OpenSum<T>& open, int first) const noexcept {
    Sum sum = open.sum;
    sum.add(sum_before(first));
    return sum;
  }

  /// The segment that is open at the start of the word, as far as the tile knows it.
  [[nodiscard]] __device__ OpenSum<T> sum_before_word(OpenSum<T> open) noexcept {
    // Each lane doubles the number of words in its sum until these have a start. The first word of
    // a row has one, so rows in one warp do not mix.
    for (int distance = 1; distance < kGroupWords; distance *= 2) {
      const bool reaches_back = open.start < 0 && place_.in_group >= distance;
      if (__any_sync(kAllLanes, reaches_back) == 0) break;
      const OpenSum<T> other = from_lane_before(open, distance);
      if (reaches_back) {
        open.sum.add(other.sum);
        open.start = other.start;
      }
    }
    OpenSum<T> before = from_lane_before(open, 1);
    if (place_.in_group == 0) before = OpenSum<T>{};
    if (kHasGroups) {
      if (place_.lane == kGroupWords - 1) shared_.tails[place_.warp] = open;
      __syncthreads();
      if (before.start < 0) before = sum_before_group(before.sum);
    }
    return before;
  }

  [[nodiscard]] static __device__ OpenSum<T> from_lane_before(const OpenSum<T>& open,
                                                              int distance) noexcept {
    return {open.sum.from_lane_before(distance), __shfl_up_sync(kAllLanes, open.start, distance)};
  }

  /// The same if no word of the group before this one has a start; `within` is their sum.
  [[nodiscard]] __device__ OpenSum<T> sum_before_group(const Sum& within) const noexcept {
    const int row_first = place_.warp - place_.group;
    int from = place_.warp - 1;
    while (from > row_first && shared_.tails[from].start < 0) --from;
    OpenSum<T> open;
    if (place_.group > 0) {
      open = shared_.tails[from];
      for (int g = from + 1; g < place_.warp; ++g) open.sum.add(shared_.tails[g].sum);
    }
    open.sum.add(within);
    return open;
  }

  [[nodiscard]] __device__ TileSums* tile_sums() const noexcept {
    return call_.tiles + place_.row() * call_.tile_count;
  }

  /// The segment that is open at the start of a tile. The sums of a segment's tiles are added from
  /// the left, in double, wherever its mean is needed, so all get the same mean.
  struct TilesBefore {
    double sum = -0.0;
    std::int32_t start = -1;  // none

    [[nodiscard]] __device__ Sum with(const Sum& next) const noexcept {
      return Sum{static_cast<T>(sum + next.wide())};
    }
  };
  [[nodiscard]] __device__ TilesBefore sum_before_tile() const noexcept {
    const TileSums* tiles = tile_sums();
    std::int32_t from = place_.tile - 1;
    while (from > 0 && tiles[from].last_start < 0) --from;
    TilesBefore before = {-0.0, tiles[from].last_start};
    for (std::int32_t t = from; t < place_.tile; ++t) before.sum += tiles[t].tail;
    return before;
  }

  // --- Means ---

  [[nodiscard]] static __device__ T mean_of(const Sum& sum, std::int32_t start,
                                            std::int32_t end) noexcept {
    return sum.mean(static_cast<T>(end - start), true);
  }

  /// The mean of the last segment of the tile, which may begin before the tile and end after it.
  [[nodiscard]] __device__ T mean_of_last(const OpenSum<T>& own,
                                          const TilesBefore& before) const noexcept {
    const bool has_tiles = kHasGroups && call_.tiles != nullptr && place_.has_word();
    if (!has_tiles) return mean_of(own.sum, own.start, call_.n);
    const TileSums* tiles = tile_sums();
    double sum = before.start < 0 ? own.sum.wide() : before.sum + own.sum.wide();
    std::int32_t end = call_.n;
    bool reaches_on = false;
    for (std::int32_t t = place_.tile + 1; t < call_.tile_count; ++t) {
      // A tile that begins with a start contains nothing of the segment.
      if (tiles[t].first_start != t * kBackwardTile) {
        sum += tiles[t].head;
        reaches_on = true;
      }
      if (tiles[t].first_start >= 0) {
        end = tiles[t].first_start;
        break;
      }
    }
    if (before.start < 0 && !reaches_on) return mean_of(own.sum, own.start, end);
    const std::int32_t start = before.start < 0 ? own.start : before.start;
    return mean_of(Sum{static_cast<T>(sum)}, start, end);
  }

  /// Replaces each element by the mean of the segment that closes before it.
  __device__ void replace_sums_by_means(std::uint32_t closes, T first_mean) noexcept {
    const std::uint32_t starts = looked_at_anew(starts_);
    const std::uint32_t first = closes & (0U - closes);
    const std::uint32_t others = closes ^ first;
    T count = 1;
#pragma unroll
    for (int i = 0; i < kWordElements; ++i) {
      const T mean = Sum{values_[i]}.mean(count, (others & bit_of(i)) != 0);
      values_[i] = (first & bit_of(i)) != 0 ? first_mean : mean;
      count = (starts & bit_of(i)) != 0 ? T(1) : count + T(1);
    }
  }

  /// values_[i] after sum_word(). Each value is in a register, so it is selected by halving.
  [[nodiscard]] __device__ T sum_before(int i) const noexcept {
    T chosen[kWordElements / 2];
#pragma unroll
    for (int j = 0; j < kWordElements / 2; ++j) {
      chosen[j] = (i & kWordElements / 2) != 0 ? values_[j + kWordElements / 2] : values_[j];
    }
#pragma unroll
    for (int half = kWordElements / 4; half > 0; half /= 2) {
#pragma unroll
      for (int j = 0; j < half; ++j) chosen[j] = (i & half) != 0 ? chosen[j + half] : chosen[j];
    }
    return chosen[0];
  }

  /// The mean of the segment that is open at the end of the word. The nearest later word in which a
  /// segment ends has it. The last word of a row is always one.
  [[nodiscard]] __device__ T mean_behind_word(T first_mean, bool has_end) noexcept {
    const unsigned ends = __ballot_sync(kAllLanes, has_end && place_.has_word());
    const unsigned behind = ends & (~1U << place_.lane);
    const int nearest = __ffs(static_cast<int>(behind)) - 1;
    T mean = __shfl_sync(kAllLanes, first_mean, nearest & 31);
    if (kHasGroups) {
      const int first = __ffs(static_cast<int>(ends)) - 1;
      if (place_.lane == (first & 31)) {
        shared_.first_means[place_.warp] = first_mean;
        shared_.has_end[place_.warp] = ends != 0;
      }
      __syncthreads();
      if (behind == 0 && place_.has_word() && !is_last_word_) {
        int warp = place_.warp + 1;
        while (!shared_.has_end[warp]) ++warp;
        mean = shared_.first_means[warp];
      }
    }
    return mean;
  }

  /// Going backwards, gives each element the mean of its segment. Returns the gradient of lam.
  template <bool kGradLam>
  __device__ T spread_means(std::uint32_t closes, T current) noexcept {
    const std::uint32_t ups = kGradLam ? ups_of_word() : 0;
    const std::uint32_t downs = kGradLam ? downs_of_word() : 0;
    T grad_lam = 0;
#pragma unroll
    for (int i = kWordElements - 1; i >= 0; --i) {
      const T mean = values_[i];  // of the previous segment
      if (kGradLam) {
        const T step = mean - current;
        if ((ups & bit_of(i)) != 0) grad_lam += step;
        if ((downs & bit_of(i)) != 0) grad_lam -= step;
      }
      values_[i] = current;
      if ((closes & bit_of(i)) != 0) current = mean;
    }
    return grad_lam;
  }

  /// A segment of one element keeps that element bit for bit.
  __device__ void sharpen() noexcept {
    T given[kWordElements];
    words_.take(given);
#pragma unroll
    for (int i = 0; i < kWordElements; ++i) {
      const T mean = values_[i];
      values_[i] = given[i] == mean ? given[i] : T(2) * given[i] - mean;
    }
  }

  // --- Gradients of lam ---

  /// One bit for each element after a jump up, or down.
  [[nodiscard]] __device__ std::uint32_t signs_of_word() const noexcept {
    return word_ == 0 ? codes_ & ~3U : codes_;
  }
  [[nodiscard]] __device__ std::uint32_t ups_of_word() const noexcept {
    return signs_of_word() & ~(signs_of_word() >> 1) & kLowBits;
  }
  [[nodiscard]] __device__ std::uint32_t downs_of_word() const noexcept {
    return signs_of_word() >> 1 & ~signs_of_word() & kLowBits;
  }

  /// One value per edge: the sign of the jump times the difference of the means on its two sides.
  __device__ void store_edges(std::uint32_t closes, T current) const noexcept {
    const std::int64_t lam_offset = call_.lam.offset(place_.row());
    std::uint32_t ups = ups_of_word();
    std::uint32_t downs = downs_of_word();
    if constexpr (kSteps) {
      if (!call_.images.counts(place_.row())) ups = downs = 0;
    }
#pragma unroll
    for (int i = kWordElements - 1; i >= 0; --i) {
      const T mean = values_[i];
      const T step = call_.sharp ? current - mean : mean - current;
      const T term = (ups & bit_of(i)) != 0 ? step : (downs & bit_of(i)) != 0 ? -step : T(0);
      if ((closes & bit_of(i)) != 0) current = mean;
      const std::int32_t k = word_first() + i;
      if (k > 0 && k < call_.n) {
        store_grad_lam(call_, lam_offset + (k - 1) * call_.lam.stride, static_cast<double>(term));
      }
    }
  }

  /// Adds the words of a group in a tree, and the groups in turn.
  __device__ void store_row_lam(T grad_lam) noexcept {
    const int group_words = min(call_.shape.words - place_.group * kGroupWords, int{kGroupWords});
#pragma unroll
    for (int distance = 1; distance < kGroupWords; distance *= 2) {
      const T other = __shfl_down_sync(kAllLanes, grad_lam, distance);
      if (place_.in_group + distance < group_words) grad_lam += other;
    }
    double sum = static_cast<double>(grad_lam);
    if (kHasGroups) {
      if (place_.lane == 0) shared_.grad_lam[place_.warp] = grad_lam;
      __syncthreads();
      if (place_.group == 0 && place_.lane == 0) {
        for (int g = 1; g < call_.shape.groups; ++g) {
          sum += static_cast<double>(shared_.grad_lam[place_.warp + g]);
        }
      }
    }
    if (!place_.has_word() || place_.word_in_tile() != 0) return;
    if (!kHasGroups || call_.tiles == nullptr) {
      store_grad_lam(call_, call_.lam.offset(place_.row()), sum);
    } else {
      tile_sums()[place_.tile].grad_lam = sum;
    }
  }

  const Call& call_;
  Shared& shared_;
  const WordPlace place_;
  Words words_;
  const std::int32_t word_;  // of the row
  const bool is_last_word_;  // of the tile
  std::uint32_t codes_;
  std::uint32_t starts_;
  T values_[kWordElements];
};

}  // namespace tautstring::detail
