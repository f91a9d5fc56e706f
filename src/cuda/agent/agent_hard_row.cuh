// Solves a row that no search can solve, because the search would read too many samples again, as
// in rows that are smooth over hundreds of samples. Works level by level (step/threshold_split.h),
// in float64.
//
// Mapping: a warp per row, each lane one stretch of its samples. Traffic: x is read and y is
// written once; values of segments are written to the warp's scratch memory and read back, mostly
// from caches. Shared memory: the room for samples and codes that the warp already has,
// [sample][lane].
#pragma once

#include <cstdint>
#include <limits>

#include "cuda/agent/careful_scratch.cuh"
#include "cuda/warp/forward_rows.cuh"
#include "cuda/warp/search.cuh"
#include "step/segment.h"
#include "step/slope_search.h"
#include "step/threshold_split.h"

namespace tautstring::detail {

template <class Call>
class AgentHardRow {
 public:
  using Storage = typename Call::Storage;
  using T = ArithmeticOf<Storage>;

  /// `samples` and `codes` have room for a row of the call's shape.
  __device__ AgentHardRow(const Call& call, T* samples, std::uint32_t* codes, std::byte* scratch,
                          std::int64_t row) noexcept
      : call_(call),
        n_(call.shape.n),
        lane_(static_cast<int>(threadIdx.x) % kLanes),
        log_stretch_(HardScratch::log_stretch(n_)),
        lanes_(HardScratch::lanes(n_)),
        first_(min(lane_ << log_stretch_, n_)),
        last_(min(first_ + (1 << log_stretch_), n_)),
        row_(row),
        x_(call.x.row(row)),
        samples_(samples),
        codes_(codes),
        values_(reinterpret_cast<double*>(scratch)),
        origin_(origin_of_row<T>(x_, call.x.stride, n_)) {
    row_lam_ = call.lam_number;
    if (call.lam_data != nullptr) {
      row_lam_ = load_as<double>(call.lam_data, call.lam_dtype, call.lam.offset(row));
    }
  }

  /// Returns whether that succeeded. If not, nothing has been written.
  __device__ bool solve() noexcept {
    if (!stage() || !split()) return false;
    store();
    __syncwarp();
    return true;
  }

  // --- The interface that SplitLane needs ---

  /// One of the lane's own samples.
  [[nodiscard]] __device__ double sample(std::int32_t i) const noexcept {
    return static_cast<double>(samples_[(i - first_) * kLanes + lane_]) -
           static_cast<double>(origin_);
  }
  [[nodiscard]] __device__ double lam(std::int32_t) const noexcept { return row_lam_; }
  [[nodiscard]] __device__ Code code(std::int32_t i) const noexcept {
    return static_cast<Code>(codes_[word_of(i)] >> (2 * (i % 16)) & 3U);
  }
  __device__ void cut(std::int32_t i, bool down) const noexcept {
    mark(i, down ? Code::down : Code::up);
  }

 private:
  // --- Positions ---

  [[nodiscard]] __device__ int place(std::int32_t i) const noexcept {
    return in_stretch(i) * kLanes + (i >> log_stretch_);
  }
  [[nodiscard]] __device__ int in_stretch(std::int32_t i) const noexcept {
    return i & ((1 << log_stretch_) - 1);
  }
  [[nodiscard]] __device__ int word_of(std::int32_t i) const noexcept {
    return (in_stretch(i) >> 4) * kLanes + (i >> log_stretch_);
  }
  [[nodiscard]] __device__ int scratch_place(std::int32_t i) const noexcept {
    return in_stretch(i) * lanes_ + (i >> log_stretch_);
  }
  __device__ void mark(std::int32_t i, Code code) const noexcept {
    atomicOr(codes_ + word_of(i), static_cast<std::uint32_t>(code) << (2 * (i % 16)));
  }
  __device__ void unmark(std::int32_t i) const noexcept {
    atomicAnd(codes_ + word_of(i), ~(3U << (2 * (i % 16))));
  }
  /// Marks the start of the row and clears all other codes.
  __device__ void clear_codes() const noexcept {
    __syncwarp();
    for (int w = 0; w < 1 << (log_stretch_ - 4); ++w) codes_[w * kLanes + lane_] = 0;
    if (lane_ == 0) codes_[0] = static_cast<std::uint32_t>(Code::plain);
    __syncwarp();
  }

  // --- From memory ---

  /// Loads the row. Returns whether no sum of the samples, nor such a sum times a length, can
  /// overflow.
  __device__ bool stage() const noexcept {
    bool is_small = true;
    __syncwarp();
#pragma unroll 8
    for (std::int32_t i = lane_; i < n_; i += kLanes) {
      const T value = widen<T>(x_[i * call_.x.stride]);
      samples_[place(i)] = value;
      is_small = is_small && fabs(static_cast<double>(value)) <= 0x1p900;
    }
    __syncwarp();
    return __all_sync(kWarp, is_small) != 0;
  }

  // --- Level by level ---

  /// Rows that need more levels are solved by one lane. Ramps need 13, powers of two about 70.
  static constexpr int kMostLevels = 256;

  using Lane = SplitLane<const AgentHardRow>;

  /// The first and the last border of the lane; if it has none, its end and its beginning.
  struct Borders {
    std::int32_t first;
    std::int32_t last;
  };
  /// The segments of the lane's first and last sample.
  struct Segments {
    SharedSegment head;
    SharedSegment tail;
  };

  __device__ bool split() noexcept {
    clear_codes();
    for (int level = 0; split_level();) {
      if (++level > kMostLevels) return false;
    }
    do find_values();
    while (drop_made_up_borders());
    return true;
  }

  [[nodiscard]] __device__ Borders borders() const noexcept {
    Borders borders = {last_, first_};
    for (std::int32_t i = first_; i < last_; i += 16) {
      const std::uint32_t word = codes_[word_of(i)];
      if (word == 0) continue;
      borders.first = min(borders.first, i + (__ffs(static_cast<int>(word)) - 1) / 2);
      borders.last = i + (31 - __clz(static_cast<int>(word))) / 2;
    }
    return borders;
  }
  /// The nearest earlier lane that has a border.
  [[nodiscard]] __device__ int left_of(unsigned lanes_with_border) const noexcept {
    const unsigned before = lanes_with_border & ((1U << lane_) - 1);
    return before != 0 ? 31 - __clz(static_cast<int>(before)) : 0;
  }

  [[nodiscard]] __device__ Segments segments(const Borders& borders) const noexcept {
    const bool has_border = borders.first < last_;
    double head_sum = 0;
    for (std::int32_t i = first_; i < borders.first; ++i) head_sum += sample(i);
    double tail_sum = 0;
    for (std::int32_t i = has_border ? borders.last : last_; i < last_; ++i) tail_sum += sample(i);
    // The sum over the lanes from the last border up to this lane, for its segment.
    double up_to = has_border ? tail_sum : head_sum;
    bool restarts = has_border;
#pragma unroll
    for (int d = 1; d < kLanes; d *= 2) {
      const double before = __shfl_up_sync(kWarp, up_to, d);
      const bool restarted = __shfl_up_sync(kWarp, restarts ? 1 : 0, d) != 0;
      if (lane_ >= d && !restarts) {
        up_to += before;
        restarts = restarted;
      }
    }
    const unsigned with = __ballot_sync(kWarp, has_border);
    const unsigned behind = with & ~((2U << lane_) - 1);
    const int right = behind != 0 ? __ffs(static_cast<int>(behind)) - 1 : kLanes - 1;
    const std::int32_t border_behind = __shfl_sync(kWarp, borders.first, right);
    // The last lane of the segment may have a border itself; its samples before that border still
    // belong to the segment.
    const double before_right = __shfl_sync(kWarp, up_to, behind != 0 ? right - 1 : right);
    const double head_of_right = __shfl_sync(kWarp, head_sum, right);
    const SharedSegment own = {borders.last, behind != 0 ? border_behind : n_,
                               before_right + (behind != 0 ? head_of_right : 0)};
    const int left = left_of(with);
    const SharedSegment shared = {__shfl_sync(kWarp, own.first, left),
                                  __shfl_sync(kWarp, own.last, left),
                                  __shfl_sync(kWarp, own.sum, left)};
    return {borders.first > first_ ? shared : own, has_border ? own : shared};
  }
  [[nodiscard]] __device__ Lane lane_of(const Segments& segments) const noexcept {
    return {*this, first_, last_, n_, segments.head, segments.tail};
  }

  /// Returns whether any segment was split.
  __device__ bool split_level() const noexcept {
    const Lane lane = lane_of(segments(borders()));
    ClampedShift carried = lane.carry();
#pragma unroll
    for (int d = 1; d < kLanes; d *= 2) {
      const ClampedShift other = {__shfl_up_sync(kWarp, carried.shift, d),
                                  __shfl_up_sync(kWarp, carried.low, d),
                                  __shfl_up_sync(kWarp, carried.high, d)};
      if (lane_ >= d) carried = other.then(carried);
    }
    // A row starts with a border, so the composed maps are constants: their bounds are the
    // messages.
    const OpenEnds ends = lane.walk(__shfl_up_sync(kWarp, carried.high, 1));
    const unsigned known = __ballot_sync(kWarp, ends.head != Side::unknown);
    const unsigned behind = known & ~((2U << lane_) - 1);
    const int from = behind != 0 ? __ffs(static_cast<int>(behind)) - 1 : lane_;
    const auto side_behind =
        static_cast<Side>(__shfl_sync(kWarp, static_cast<int>(ends.head), from));
    const bool is_cut = behind != 0 && lane.cut_between(ends, side_behind);
    __syncwarp();
    return __any_sync(kWarp, is_cut || ends.any_cut) != 0;
  }

  /// Writes the value of each segment at its start.
  __device__ void find_values() const noexcept {
    const Borders own = borders();
    const Segments shared = segments(own);
    const Lane lane = lane_of(shared);
    for (std::int32_t i = own.first; i < last_;) {
      SharedSegment segment = shared.tail;
      if (i < own.last) {
        segment = {i, i, 0};
        do segment.sum += sample(segment.last++);
        while (code(segment.last) == Code::continues);
      }
      values_[scratch_place(i)] = lane.value(segment) + static_cast<double>(origin_);
      i = segment.last;
    }
    __syncwarp();
  }
  /// Removes borders that rounding put where the solution does not jump. Returns whether there were
  /// any.
  __device__ bool drop_made_up_borders() const noexcept {
    const Borders own = borders();
    const int from = left_of(__ballot_sync(kWarp, own.first < last_));
    double left = values_[scratch_place(__shfl_sync(kWarp, own.last, from))];
    bool any = false;
    for (std::int32_t i = own.first; i < last_; ++i) {
      const Code here = code(i);
      if (here == Code::continues) continue;
      const double value = values_[scratch_place(i)];
      if (i > 0 && !is_real_jump(here == Code::down, left, value)) {
        unmark(i);
        any = true;
      }
      left = value;
    }
    __syncwarp();
    return __any_sync(kWarp, any) != 0;
  }

  // --- To memory ---

  __device__ void store() const noexcept {
    const Borders own = borders();
    const int from = left_of(__ballot_sync(kWarp, own.first < last_));
    const std::int32_t before = __shfl_sync(kWarp, own.last, from);
    if (first_ < last_) {
      auto current = static_cast<T>(values_[scratch_place(before)]);
      for (std::int32_t i = first_; i < last_; ++i) {
        if (code(i) != Code::continues) current = static_cast<T>(values_[scratch_place(i)]);
        T& item = samples_[place(i)];
        item = call_.sharp ? mirror(item, current) : current;
      }
    }
    if (call_.partition != nullptr) {
      std::uint32_t* to = call_.partition + row_ * ((n_ + 15) / 16);
      for (std::int32_t i = first_; i < last_; i += 16) to[i / 16] = codes_[word_of(i)];
    }
    __syncwarp();
    Storage* y = call_.y.row(row_);
#pragma unroll 8
    for (std::int32_t i = lane_; i < n_; i += kLanes) {
      T value = samples_[place(i)];
      if constexpr (Call::kOutput == ForwardOutput::next_input) {
        value = call_.changed(value, x_ + i * call_.x.stride);
      }
      y[i * call_.y.stride] = narrow<Storage>(value);
    }
  }

  const Call& call_;
  const std::int32_t n_;
  const int lane_;
  const int log_stretch_;
  const std::int32_t lanes_;  // that have samples
  const std::int32_t first_;  // of the lane
  const std::int32_t last_;
  const std::int64_t row_;
  const Storage* x_;
  T* const samples_;
  std::uint32_t* const codes_;
  double* const values_;
  const T origin_;
  double row_lam_;
};

}  // namespace tautstring::detail
