// Solves one image that fits in a block: all iterations, from samples in memory to values and codes
// in memory.
//
// Mapping: a block per image, one lane per row and, in the next pass, per column; see
// warp/image_block.cuh. Rows take X - Qb and return z, columns take z + Qb and return y, and Q is
// the input of the columns less y. While a line is searched, Qb or the input of its column is in
// registers. Traffic: x is read once, or, if it stays in memory, once per pass from a cache; y and
// 2 bits per element and pass are written once. Shared memory: one image, another one for X unless
// it stays in memory, and two more for momentum.
#pragma once

#include <cstdint>
#include <limits>

#include "cuda/warp/image_block.cuh"
#include "cuda/warp/image_state.cuh"
#include "cuda/warp/line_search.cuh"
#include "cuda/warp/placed_images.cuh"
#include "step/image/gap.h"

namespace tautstring::detail {

/// State that a call in several launches keeps between them; all arrays are packed.
struct SmallState {
  const ImageFacts* facts;  // null: the call has only this launch
  ImageProgress* progress;
  ImageArrays<float> arrays;
};

struct SmallImages {
  std::int64_t count;
  std::int32_t height;
  std::int32_t width;
  int iterations;  // of the call
  int first;       // of the launch
  int last;
  bool sharp;
  SmallState state;
  // One kernel serves all types of these: the time goes into the iterations.
  PlacedPixels<const void> x;
  PlacedPixels<void> y;
  PlacedLam lam_rows;  // one per row and one per column
  PlacedLam lam_cols;
  std::uint32_t* partitions;  // null: not wanted; so for the others
  SavedCodes saved;
  double* momentum;
  std::int32_t* iterations_done;  // for a call with only one launch
};

/// Samples that the search of a line reads at a time, for short and for long segments. The same
/// number of NaN follow a line.
inline constexpr int kShortLineGroup = 3;
inline constexpr int kLongLineGroup = 6;

/// The number of rows of shared memory for the lines of an image.
[[nodiscard]] __host__ __device__ constexpr int line_rows(int height, int width) noexcept {
  const int samples = height > width ? height : width;
  const int padded = samples + kLongLineGroup + 1;  // groups may start at the end
  return padded > whole_groups(samples) ? padded : whole_groups(samples);
}

/// Bytes of shared memory for an image.
[[nodiscard]] __host__ __device__ constexpr std::size_t image_bytes(int side, int height, int width,
                                                                    bool accelerated,
                                                                    bool x_in_shared) noexcept {
  const int images = (x_in_shared ? 1 : 0) + (accelerated ? 2 : 0);
  const int rows = line_rows(height, width) + images * whole_groups(height);
  return static_cast<std::size_t>(rows * side) * sizeof(float) +
         static_cast<std::size_t>(side / kLanes) * sizeof(double);
}

/// X less the image's first sample, by rows and by columns of a lane.
template <int kSide, bool kInShared>
struct ImageSamples {
  SharedFloats image;  // in parts: see warp/image_block.cuh

  [[nodiscard]] __device__ Part of_row(const ImageBlock<kSide>& block, int i) const noexcept {
    return block.row(image).exchanged(i / kPart).part(0);
  }
  [[nodiscard]] __device__ float of_column(const ImageBlock<kSide>& block, int i) const noexcept {
    return block.of_column(image, i);
  }
};
/// The same left in device memory, read through the cache: then more images fit on a
/// multiprocessor.
template <int kSide>
struct ImageSamples<kSide, false> {
  const float* row;
  const float* column;
  std::int64_t row_stride;
  float origin;

  [[nodiscard]] __device__ Part of_row(const ImageBlock<kSide>& /*block*/, int i) const noexcept {
    const float4 part = *reinterpret_cast<const float4*>(row + i);
    return {{part.x - origin, part.y - origin, part.z - origin, part.w - origin}};
  }
  [[nodiscard]] __device__ float of_column(const ImageBlock<kSide>& /*block*/,
                                           int i) const noexcept {
    return column[i * row_stride] - origin;
  }
};

template <int kSide, bool kAccelerated, bool kXInShared>
class AgentImage {
 public:
  using T = float;
  using Block = ImageBlock<kSide>;
  using Line = typename Block::Line;

  __device__ AgentImage(const SmallImages& call, char* shared) noexcept
      : call_(call),
        height_(call.height),
        width_(call.width),
        block_(shared),
        lane_(block_.lane),
        more_(block_.lines.from(line_rows(height_, width_) * kSide)),
        parts_(reinterpret_cast<double*>(
                   shared + image_bytes(kSide, height_, width_, kAccelerated, kXInShared)) -
               Block::kWords) {}

  __device__ void solve(std::int64_t image) noexcept {
    image_ = image;
    if (is_continued() && has_stopped()) return repeat_codes();
    Line line;
    with_float32_storage(call_.x.dtype,
                         [&](auto storage) { this->template stage<decltype(storage)>(line); });
    look_at_lams();
    bool copies = false;
    if (!is_continued()) {
      copies = !Block::any(has_lam_);
      if (Block::any(is_bad_) && !copies) return refuse();
    }
    const SharedFloats behind_x = more_.from(kXInShared ? whole_groups(height_) * kSide : 0);
    LineValues<kSide> q(behind_x, lane_);
    LineValues<kSide> ahead(behind_x.from(whole_groups(height_) * kSide), lane_);
    double t = 1;
    if (is_continued()) {
      resume(line, q, ahead, t);
    } else {
      begin(line, q, ahead);
    }
    CodesOfPasses<std::uint32_t> row_codes =
        call_.saved.of_rows(call_.partitions, image_, lane_, call_.first);
    CodesOfPasses<std::uint32_t> column_codes =
        call_.saved.of_columns(call_.partitions, image_, lane_, call_.first);
    for (int k = call_.first; k < call_.last; ++k) {
      solve_line(width_, height_, lam_rows_);
      store_codes(row_codes, width_, height_);
      block_.for_each_value(line_, width_, [&](int i, T value) { line[i] += value; });
      block_.turn(line, width_, height_);
      block_.put_own(line, height_);

      solve_line(height_, width_, lam_cols_);
      store_codes(column_codes, height_, width_);
      if (k + 1 == call_.last) break;
      block_.for_each_value(line_, height_, [&](int i, T value) { line[i] -= value; });  // Q
      go_on(line, q, ahead, t, k + 1);
      begin_rows(line);
    }
    if (is_continued()) return leave(line, q, ahead, t);
    if (copies) {
      call_.x.dtype == DType::float32 ? copy<std::uint32_t>() : copy<std::uint16_t>();
    } else {
      take_result(line);
      with_float32_storage(call_.y.dtype,
                           [&](auto storage) { this->template store<decltype(storage)>(line); });
    }
    if (call_.iterations_done != nullptr && lane_ == 0) {
      call_.iterations_done[image_] = copies ? 0 : call_.iterations;
    }
  }

 private:
  static constexpr T kNan = std::numeric_limits<T>::quiet_NaN();
  static constexpr double kLeast = std::numeric_limits<T>::min();  // of lams
  static constexpr double kMost = std::numeric_limits<T>::max() / 8;
  static constexpr T kConstant = std::numeric_limits<T>::infinity();

  struct Source {
    using Place = SharedFloats;
    static constexpr int kStep = kSide;

    SharedFloats samples;  // of the lane
    std::int32_t n;

    [[nodiscard]] __device__ Place place(std::int32_t i) const noexcept {
      return samples.from(i * kSide);
    }
    [[nodiscard]] __device__ T sample(const Place& at) const noexcept { return at[0]; }
    [[nodiscard]] __device__ T zero() const noexcept { return static_cast<T>(n >> 31); }
    template <int kSamples>
    __device__ void load(const Place& at, T (&group)[kSamples]) const noexcept {
#pragma unroll
      for (int j = 0; j < kSamples; ++j) group[j] = at[(j + 1) * kSide];
    }
  };
  struct Sink {
    LineStarts<Block::kWords>& line;

    __device__ void put(const SharedFloats& place, std::int32_t first, bool is_real, bool down,
                        T value) noexcept {
      place.put(0, value);
      line.mark(first, is_real, down);
    }
  };

  // --- From memory ---

  /// Loads the samples, less the image's offset.
  template <class Storage>
  __device__ void stage(Line& line) noexcept {
    const T first = widen<T>(*call_.x.column<const Storage>(image_, 0));
    T low = first;
    T high = first;
    T bad = 0;  // or NaN
    if (lane_ < width_) {
      const Storage* from = call_.x.column<const Storage>(image_, lane_);
      Block::for_each(height_, [&](int i) {
        line[i] = i < height_ ? widen<T>(from[i * call_.x.row_stride]) : first;
      });
      Block::for_each(height_, [&](int i) {
        low = fminf(low, line[i]);
        high = fmaxf(high, line[i]);
        bad += 0 * line[i];
      });
    }
    is_bad_ = bad != 0;
    if (is_continued()) {
      origin_ = 0;  // x has been reduced by it already
      largest_ = static_cast<T>(call_.state.facts[image_].largest);
    } else {
      auto* parts = reinterpret_cast<T*>(parts_);
      low = block_.combined(low, parts, [](T a, T b) { return fminf(a, b); });
      high = block_.combined(high, parts, [](T a, T b) { return fmaxf(a, b); });
      origin_ = origin_of(low, high, first);
      largest_ = fmaxf(fabsf(low - origin_), fabsf(high - origin_));
    }
    if (kXInShared && lane_ < width_) {
      Block::for_each(height_, [&](int i) {
        more_.from(lane_).exchanged(i % 8).put(i * kSide, line[i] - origin_);
      });
    }
    if constexpr (kXInShared) {
      x_.image = more_;
    } else {
      const float* first = call_.x.column<const float>(image_, 0);
      x_ = {first + lane_ * call_.x.row_stride, first + lane_, call_.x.row_stride, origin_};
    }
    Block::sync();
  }

  __device__ void look_at_lams() noexcept {
    has_lam_ = false;
    const auto look = [&](const PlacedLam& lams, std::int32_t lines, std::int32_t n) -> T {
      const bool has_edges = lane_ < lines && n > 1;
      if (!has_edges && lams.data != nullptr) return 0;  // a number is checked even without edges
      const double lam = lams.at(image_ * lines + lane_, 0);
      is_bad_ = is_bad_ || !(lam >= 0);
      has_lam_ = has_lam_ || lam != 0;
      // Above the value that makes any line constant, a larger lam would only cost digits of the
      // sums.
      const double most = fmin(4.0 * n * static_cast<double>(largest_), kMost);
      if (lam < kLeast) return 0;
      return lam > most ? kConstant : static_cast<T>(lam);
    };
    lam_rows_ = look(call_.lam_rows, height_, width_);
    lam_cols_ = look(call_.lam_cols, width_, height_);
  }

  // --- Between launches ---

  [[nodiscard]] __device__ bool is_continued() const noexcept {
    return call_.state.facts != nullptr;
  }
  /// False for copied images: they have partitions too.
  [[nodiscard]] __device__ bool has_stopped() const noexcept {
    return call_.state.progress[image_].is_stopped && !call_.state.facts[image_].is_copied;
  }
  /// The position of sample i of the lane's column in packed arrays.
  [[nodiscard]] __device__ std::int64_t packed(int i) const noexcept {
    return (image_ * height_ + i) * width_ + lane_;
  }
  __device__ void load(const T* from, LineValues<kSide>& to) const noexcept {
    Block::for_each_part(height_, [&](int i) {
      Part part;
#pragma unroll
      for (int j = 0; j < kPart; ++j) part.at[j] = i + j < height_ ? from[packed(i + j)] : 0;
      to.put_part(i, part);
    });
  }
  __device__ void store(const LineValues<kSide>& from, T* to) const noexcept {
    Block::for_each_part(height_, [&](int i) {
      const Part part = from.part(i);
#pragma unroll
      for (int j = 0; j < kPart; ++j) {
        if (i + j < height_) to[packed(i + j)] = part.at[j];
      }
    });
  }

  /// The input of the first pass is X.
  __device__ void begin(Line& line, LineValues<kSide>& q, LineValues<kSide>& ahead) noexcept {
    tell_momentum(0, 0);
    for_each_part_of_row([&](int i, T x) { line[i] = x; });
    block_.put_own(line, width_);
    Block::for_each(width_, [&](int i) { line[i] = 0; });
    if constexpr (kAccelerated) {
      Block::for_each_part(height_, [&](int i) {
        q.put_part(i, {});
        ahead.put_part(i, {});
      });
    }
  }

  /// Restores the state that the previous launch left.
  __device__ void resume(Line& line, LineValues<kSide>& q, LineValues<kSide>& ahead,
                         double& t) noexcept {
    const ImageArrays<T>& arrays = call_.state.arrays;
    const bool is_first = call_.first == 0;
    if (kAccelerated && lane_ < width_) {
      load(arrays.q, q);
      load(arrays.q_ahead, ahead);
    }
    t = call_.state.progress[image_].t[0];
    if (lane_ < width_) {
      Block::for_each(height_, [&](int i) {
        if (i >= height_) return;
        line[i] = is_first ? arrays.q_ahead[packed(i)] : arrays.new_q(packed(i));
      });
    }
    if (!is_first) go_on(line, q, ahead, t, call_.first);
    begin_rows(line);
  }

  /// Saves the state for the next launch, and for the check of the last pass.
  __device__ void leave(const Line& line, const LineValues<kSide>& q,
                        const LineValues<kSide>& ahead, double t) const noexcept {
    const ImageArrays<T>& arrays = call_.state.arrays;
    if (lane_ == 0) call_.state.progress[image_].t[0] = t;
    if (lane_ >= width_) return;
    block_.for_each_value(line_, height_, [&](int i, T value) {
      if (i >= height_) return;
      arrays.input[packed(i)] = line[i];
      arrays.y[packed(i)] = value;
    });
    if constexpr (kAccelerated) {
      store(q, arrays.q);
      store(ahead, arrays.q_ahead);
    }
  }

  /// Writes the codes of an image that has stopped: it would repeat its last iteration.
  __device__ void repeat_codes() const noexcept {
    const int done = call_.state.progress[image_].done;
    if (call_.partitions == nullptr || call_.saved.apart == 0 || done == 0) return;
    repeat(call_.saved.of_rows(call_.partitions, image_, lane_, done - 1), width_, height_, done);
    repeat(call_.saved.of_columns(call_.partitions, image_, lane_, done - 1), height_, width_,
           done);
  }
  __device__ void repeat(const CodesOfPasses<std::uint32_t>& last, std::int32_t n,
                         std::int32_t lines, int done) const noexcept {
    if (lane_ >= lines) return;
    for (int w = 0; w * kCodesPerWord < n; ++w) {
      const std::uint32_t codes = last.words[w];
      for (int k = call_.first; k < call_.last; ++k) {
        last.words[w + (k + 1 - done) * last.apart] = codes;
      }
    }
  }

  // --- Passes ---

  /// Calls use(i, X at i) for the lane's row.
  template <class Use>
  __device__ void for_each_part_of_row(const Use& use) const noexcept {
    if (lane_ >= height_) return;
    Block::for_each_part(width_, [&](int i) {
      const Part x = x_.of_row(block_, i);
#pragma unroll
      for (int j = 0; j < kPart; ++j) use(i + j, x.at[j]);
    });
  }

  /// Rows take X - Qb. Lanes have Qb by columns before this call, by rows after it.
  __device__ void begin_rows(Line& line) noexcept {
    block_.turn(line, height_, width_);
    const SharedFloats own = block_.own();
    for_each_part_of_row([&](int i, T x) { own.put(i * kSide, x - line[i]); });
  }

  /// Writes values at the starts of the segments of the lane's line.
  __device__ void solve_line(std::int32_t n, std::int32_t lines, T lam) noexcept {
    const SharedFloats own = block_.own();
    const bool is_active = lane_ < lines;
#pragma unroll
    for (int j = 0; j < kLongLineGroup; ++j) own.put((n + j) * kSide, kNan);
    line_.clear();
    Sink sink = {line_};
    const Source source = {own, n};
    const bool is_searched = is_active && lam > 0 && lam != kConstant;
    if (are_short_) {
      search_line<kShortLineGroup, DeviceLineArithmetic>(source, n, lam, is_searched, sink);
    } else {
      search_line<kLongLineGroup, DeviceLineArithmetic>(source, n, lam, is_searched, sink);
    }
    line_.downs[0] &= ~1U;  // the start of the line is not a jump
    are_short_ = are_mostly_short(n);
    if (!is_active || is_searched) return;
    if (lam == kConstant) return put_mean(n);
    for (int i = 1; i < n; ++i) {  // every sample is its own value
      const T rise = own[i * kSide] - own[(i - 1) * kSide];
      if (rise == 0) {
        line_.mark_flat(i);
      } else {
        line_.mark(i, true, rise < 0);
      }
    }
  }

  __device__ void put_mean(std::int32_t n) const noexcept {
    const SharedFloats own = block_.own();
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += static_cast<double>(own[i * kSide]);
    own.put(0, static_cast<T>(sum / n));
  }

  /// Whether most lines of the warp have segments of less than three samples on average. Those of
  /// the next pass will be similar.
  [[nodiscard]] __device__ bool are_mostly_short(std::int32_t n) const noexcept {
    int segments = 0;
#pragma unroll
    for (int w = 0; w < Block::kWords; ++w) segments += __popc(line_.starts[w]);
    return 2 * __popc(__ballot_sync(kWarp, 3 * segments > n)) > kLanes;
  }

  /// From Q to Qb, for iteration k.
  __device__ void go_on(Line& line, LineValues<kSide>& q, LineValues<kSide>& ahead, double& t,
                        int k) noexcept {
    if constexpr (!kAccelerated) {
      tell_momentum(k, 0);
    } else {
      accelerate(line, q, ahead, t, k);
    }
  }
  __device__ void accelerate(Line& line, LineValues<kSide>& q, LineValues<kSide>& ahead, double& t,
                             int k) noexcept {
    const T scale = exp2f(static_cast<T>(-ilogbf(fmaxf(largest_, std::numeric_limits<T>::min()))));
    double leads_away = 0;
    Block::for_each_part(height_, [&](int i) {
      const Part before = q.part(i);
      const Part from = ahead.part(i);
      T terms = 0;
#pragma unroll
      for (int j = 0; j < kPart; ++j) {
        const T now = line[i + j];
        const T term = (from.at[j] - now) * scale * ((now - before.at[j]) * scale);
        if (i + j < height_) terms += term;
      }
      leads_away += static_cast<double>(terms);
    });
    leads_away = block_.combined(lane_ < width_ ? leads_away : 0, parts_,
                                 [](double a, double b) { return a + b; });
    if (leads_away > 0) t = 1;
    const double next = (1 + sqrt(1 + 4 * t * t)) / 2;
    const auto momentum = static_cast<T>((t - 1) / next);
    t = next;
    tell_momentum(k, momentum);
    if (lane_ >= width_) return;
    Block::for_each_part(height_, [&](int i) {
      const Part before = q.part(i);
      Part now;
      Part from;
#pragma unroll
      for (int j = 0; j < kPart; ++j) {
        now.at[j] = line[i + j];
        from.at[j] = now.at[j] + momentum * (now.at[j] - before.at[j]);
        line[i + j] = from.at[j];
      }
      q.put_part(i, now);
      ahead.put_part(i, from);
    });
  }

  // --- To memory ---

  __device__ void tell_momentum(int k, T momentum) const noexcept {
    if (call_.momentum == nullptr || lane_ != 0) return;
    call_.momentum[image_ * call_.iterations + k] = momentum;
  }

  /// Stores the codes of the lane's line, one of `lines` of n samples, and moves on to the next
  /// pass.
  __device__ void store_codes(CodesOfPasses<std::uint32_t>& codes, std::int32_t n,
                              std::int32_t lines) const noexcept {
    if (call_.partitions == nullptr) return;
    if (lane_ < lines) {
#pragma unroll
      for (int w = 0; w < 2 * Block::kWords; ++w) {
        if (w * kCodesPerWord < n) codes.words[w] = line_.codes(w);
      }
    }
    codes.to_the_next();
  }

  /// Takes the result. After the last pass over columns a lane has a column.
  __device__ void take_result(Line& line) const noexcept {
    block_.for_each_value(line_, height_, [&](int i, T value) { line[i] = value; });
    if (!call_.sharp || lane_ >= width_) return;
    Block::for_each(height_, [&](int i) {
      const T x = x_.of_column(block_, i);
      line[i] = x + (x - line[i]);
    });
  }
  template <class Storage>
  __device__ void store(const Line& line) const noexcept {
    if (lane_ >= width_) return;
    Storage* to = call_.y.column<Storage>(image_, lane_);
    Block::for_each(height_, [&](int i) {
      if (i < height_) to[i * call_.y.row_stride] = narrow<Storage>(line[i] + origin_);
    });
  }
  /// Copies bit for bit, as integers of the storage's size.
  template <class Bits>
  __device__ void copy() const noexcept {
    if (lane_ >= width_) return;
    const Bits* from = call_.x.column<const Bits>(image_, lane_);
    Bits* to = call_.y.column<Bits>(image_, lane_);
    for (int r = 0; r < height_; ++r) to[r * call_.y.row_stride] = from[r * call_.x.row_stride];
  }

  /// An image without a solution becomes NaN, with a partition of one segment per line.
  __device__ void refuse() noexcept {
    line_.clear();
    CodesOfPasses<std::uint32_t> row_codes =
        call_.saved.of_rows(call_.partitions, image_, lane_, 0);
    CodesOfPasses<std::uint32_t> column_codes =
        call_.saved.of_columns(call_.partitions, image_, lane_, 0);
    for (int k = 0; k < call_.iterations; ++k) {
      store_codes(row_codes, width_, height_);
      store_codes(column_codes, height_, width_);
      tell_momentum(k, 0);
    }
    with_float32_storage(call_.y.dtype, [&](auto storage) {
      using Storage = decltype(storage);
      if (lane_ >= width_) return;
      Storage* to = call_.y.column<Storage>(image_, lane_);
      for (int r = 0; r < height_; ++r) to[r * call_.y.row_stride] = narrow<Storage>(kNan);
    });
    if (call_.iterations_done != nullptr && lane_ == 0) call_.iterations_done[image_] = 0;
  }

  const SmallImages& call_;
  const std::int32_t height_;
  const std::int32_t width_;
  const Block block_;
  const int lane_;
  const SharedFloats more_;  // after the lines
  double* const parts_;      // of sums over the image

  std::int64_t image_ = 0;
  ImageSamples<kSide, kXInShared> x_;
  LineStarts<Block::kWords> line_;
  T origin_ = 0;
  T largest_ = 0;  // the largest |x - origin|
  T lam_rows_ = 0;
  T lam_cols_ = 0;
  bool is_bad_ = false;
  bool has_lam_ = false;
  bool are_short_ = true;
};

}  // namespace tautstring::detail
