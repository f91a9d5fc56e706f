// Solves one image that a block holds: all iterations, from samples in memory to values and codes
// in memory.
//
// Mapping: a block an image, a lane a row and, in the next pass, a column; see
// warp/image_block.cuh. A pass takes in and gives z; the next takes z + (X - in), so that only X
// and `in` are ever held, the latter in registers while the line is searched. Traffic: x is read
// once, y and 2 bits an element and pass are written once. Shared memory: two images, and for the
// momentum of those of more than 32 x 32 a third.
#pragma once

#include <cstdint>
#include <limits>

#include "cuda/warp/image_block.cuh"
#include "cuda/warp/line_search.cuh"
#include "cuda/warp/placed_images.cuh"
#include "cuda/warp/search.cuh"

namespace tautline::detail {

struct SmallImages {
  std::int64_t count;
  std::int32_t height;
  std::int32_t width;
  int iterations;
  bool sharp;
  DType dtype;  // of x and y; one kernel for all, since it is iterations that take the time
  PlacedImages x;
  const void* x_data;
  PlacedImages y;
  void* y_data;
  PlacedLam row_lam;  // one a row and one a column
  PlacedLam column_lam;
  std::uint32_t* partitions;  // null: not wanted; so the others
  SavedCodes saved;
  double* momentum;
  std::int32_t* iterations_done;
};

/// Samples that a line's search reads at a time, and that stand behind a line for it.
inline constexpr int kLineGroup = 6;

/// The pitch of X in shared memory: even, so that steps of a line and a sample at once are odd.
[[nodiscard]] constexpr int image_pitch(int width) noexcept {
  return width + width % 2;
}

/// Bytes of shared memory of an image.
[[nodiscard]] constexpr std::size_t image_bytes(int side, int height, int width,
                                                bool accelerated) noexcept {
  const int lines = (side + kLineGroup) * side;
  const int samples = height * image_pitch(width);
  const int more = accelerated && side > kLanes ? side * side : 0;
  return static_cast<std::size_t>(lines + samples + more) * sizeof(float) +
         static_cast<std::size_t>(side / kLanes) * sizeof(double);
}

template <int kSide, bool kAccelerated>
class AgentImage {
 public:
  using T = float;
  using Block = ImageBlock<kSide>;
  using Steps = typename Block::Steps;

  __device__ AgentImage(const SmallImages& call, char* shared) noexcept
      : call_(call),
        height_(call.height),
        width_(call.width),
        pitch_(image_pitch(width_)),
        parts_(reinterpret_cast<double*>(shared)),
        block_(parts_ + Block::kWords),
        lane_(block_.lane),
        x_(block_.lines.from((kSide + kLineGroup) * kSide)) {}

  __device__ void solve(std::int64_t image) noexcept {
    image_ = image;
    stage();
    look_at_lams();
    const bool copies = !Block::any(has_lam_);
    if (Block::any(is_bad_) && !copies) return refuse();
    Steps in;
    StepValues<kSide, true> q(x_, lane_);
    StepValues<kSide, kSide == kLanes> ahead(x_.from(height_ * pitch_), lane_);
    if constexpr (kAccelerated) {
#pragma unroll
      for (int s = 0; s < kSide; ++s) {
        q.set(s, 0);
        ahead.set(s, 0);
      }
    }
    begin();
    double t = 1;
    tell_momentum(0, 0);
    for (int k = 0; k < call_.iterations; ++k) {
      solve_line(width_, height_, row_lam_, in);
      store_codes(true, k);
      if (lane_ < height_) {
        block_.for_each_value(line_, width_, [&](int s, int /*i*/, bool wraps, T value) {
          in[s] = value + (x_of_row(s, wraps) - in[s]);
        });
      }
      block_.put_across(in, width_, height_);

      solve_line(height_, width_, column_lam_, in);
      store_codes(false, k);
      if (k + 1 == call_.iterations) break;
      if constexpr (kAccelerated) {
        accelerate(in, q, ahead, t, k + 1);
      } else if (tell_momentum(k + 1, 0); lane_ < width_) {
        block_.for_each_value(line_, height_, [&](int s, int i, bool /*wraps*/, T value) {
          in[s] = value + (x_of_column(i) - in[s]);
        });
      }
      block_.put_across(in, height_, width_);
    }
    store_values(copies);
    if (call_.iterations_done != nullptr && lane_ == 0) {
      call_.iterations_done[image_] = copies ? 0 : call_.iterations;
    }
  }

 private:
  static constexpr T kNan = std::numeric_limits<T>::quiet_NaN();

  struct Source {
    SharedFloats samples;  // of the lane
    std::int32_t n;

    [[nodiscard]] __device__ T sample(std::int32_t i) const noexcept { return samples[i * kSide]; }
    [[nodiscard]] __device__ T zero() const noexcept { return static_cast<T>(n >> 31); }
    __device__ void load(std::int32_t i, T (&group)[kLineGroup]) const noexcept {
      const SharedFloats from = samples.from(min(i, n) * kSide);  // NaN stand behind a line
#pragma unroll
      for (int j = 0; j < kLineGroup; ++j) group[j] = from[j * kSide];
    }
  };
  struct Sink {
    SharedFloats samples;
    LineStarts<Block::kWords>& line;

    __device__ void put(std::int32_t first, bool is_real, bool down, T value) noexcept {
      samples.put(first * kSide, value);
      if (is_real && first > 0) line.mark(first, !down, down);
    }
  };

  // --- From memory ---

  /// Brings the samples, less the image's first one, which is small where the image's range is.
  __device__ void stage() noexcept {
    is_bad_ = false;
    const std::int64_t first_row = image_ * height_;
    origin_ = load_as<T>(call_.x_data, call_.dtype, call_.x.offset(first_row));
    if (origin_ - origin_ != 0) origin_ = 0;
    if (lane_ < width_) {
#pragma unroll 8
      for (int r = 0; r < height_; ++r) {
        const T value = load_as<T>(call_.x_data, call_.dtype, x_place(first_row + r)) - origin_;
        x_.put(r * pitch_ + lane_, value);
        is_bad_ = is_bad_ || value - value != 0;
      }
    }
    Block::sync();
  }

  __device__ void look_at_lams() noexcept {
    has_lam_ = false;
    const auto look = [&](const PlacedLam& lams, std::int32_t lines, std::int32_t n) -> T {
      if (lane_ >= lines || n < 2) return 0;
      const double lam = lams.at(image_ * lines + lane_, 0);
      is_bad_ = is_bad_ || !(lam >= 0);
      has_lam_ = has_lam_ || lam != 0;
      return lam < static_cast<double>(SearchedLam<T>::kSmallest)
                 ? T(0)
                 : static_cast<T>(fmin(lam, static_cast<double>(SearchedLam<T>::kLargest)));
    };
    row_lam_ = look(call_.row_lam, height_, width_);
    column_lam_ = look(call_.column_lam, width_, height_);
  }

  /// The first pass takes X.
  __device__ void begin() noexcept {
    if (lane_ >= height_) return;
    block_.for_each_step(width_, [&](int s, int /*i*/, bool wraps) {
      block_.lines.put(block_.along(s, wraps), x_of_row(s, wraps));
    });
  }

  // --- Passes ---

  /// X where the lane's row is at step s, and where its column has sample i.
  [[nodiscard]] __device__ T x_of_row(int s, bool wraps) const noexcept {
    const int own = lane_ * pitch_ + lane_;
    return x_[(wraps ? own - kSide : own) + s];
  }
  [[nodiscard]] __device__ T x_of_column(int i) const noexcept {
    return x_[i * pitch_ + lane_];
  }

  /// Puts values at the starts of the segments of the lane's line, and keeps its samples.
  __device__ void solve_line(std::int32_t n, std::int32_t lines, T lam, Steps& in) noexcept {
    const SharedFloats own = block_.lines.from(lane_);
    const bool is_active = lane_ < lines;
    block_.take(in, n);
#pragma unroll
    for (int j = 0; j < kLineGroup; ++j) own.put((n + j) * kSide, kNan);
    line_.clear();
    Sink sink = {own, line_};
    search_line<kLineGroup, DeviceLineArithmetic>(Source{own, n}, n, lam, is_active && lam > 0,
                                                  sink);
    if (!is_active || lam > 0) return;
    for (int i = 1; i < n; ++i) {  // every sample is its own value
      const T rise = own[i * kSide] - own[(i - 1) * kSide];
      line_.mark(i, rise > 0, rise < 0);
    }
  }

  /// The momentum of iteration k, and what its rows begin with.
  template <class Values, class MoreValues>
  __device__ void accelerate(Steps& in, Values& q, MoreValues& ahead, double& t, int k) noexcept {
    double leads_away = 0;
    if (lane_ < width_) {
      block_.for_each_value(line_, height_, [&](int s, int /*i*/, bool /*wraps*/, T value) {
        in[s] -= value;  // Q
        leads_away += static_cast<double>((ahead.get(s) - in[s]) * (in[s] - q.get(s)));
      });
    }
    if (block_.sum(leads_away, parts_) > 0) t = 1;
    const double next = (1 + sqrt(1 + 4 * t * t)) / 2;
    const auto momentum = static_cast<T>((t - 1) / next);
    t = next;
    tell_momentum(k, momentum);
    if (lane_ >= width_) return;
    block_.for_each_step(height_, [&](int s, int i, bool /*wraps*/) {
      const T next_ahead = in[s] + momentum * (in[s] - q.get(s));
      q.set(s, in[s]);
      ahead.set(s, next_ahead);
      in[s] = x_of_column(i) - next_ahead;
    });
  }

  // --- To memory ---

  [[nodiscard]] __device__ std::int64_t x_place(std::int64_t row) const noexcept {
    return call_.x.offset(row) + lane_ * call_.x.stride;
  }
  [[nodiscard]] __device__ std::int64_t y_place(std::int64_t row) const noexcept {
    return call_.y.offset(row) + lane_ * call_.y.stride;
  }
  /// Bit for bit.
  __device__ void copy(std::int64_t row) const noexcept {
    if (call_.dtype == DType::float32) {
      static_cast<std::uint32_t*>(call_.y_data)[y_place(row)] =
          static_cast<const std::uint32_t*>(call_.x_data)[x_place(row)];
    } else {
      static_cast<std::uint16_t*>(call_.y_data)[y_place(row)] =
          static_cast<const std::uint16_t*>(call_.x_data)[x_place(row)];
    }
  }

  __device__ void tell_momentum(int k, T momentum) const noexcept {
    if (call_.momentum == nullptr || lane_ != 0) return;
    call_.momentum[image_ * call_.iterations + k] = momentum;
  }

  __device__ void store_codes(bool of_rows, int k) const noexcept {
    if (call_.partitions == nullptr || lane_ >= (of_rows ? height_ : width_)) return;
    const int words = ((of_rows ? width_ : height_) + kCodesPerWord - 1) / kCodesPerWord;
    std::uint32_t* to = call_.partitions + call_.saved.at(image_, of_rows, k) + lane_ * words;
#pragma unroll
    for (int w = 0; w < 2 * Block::kWords; ++w) {
      if (w < words) to[w] = line_.codes(w);
    }
  }

  /// Behind the last pass over the columns a lane has one.
  __device__ void store_values(bool copies) const noexcept {
    if (lane_ >= width_) return;
    const SharedFloats own = block_.lines.from(lane_);
    const std::int64_t first_row = image_ * height_;
    T value = 0;
#pragma unroll 4
    for (int r = 0; r < height_; ++r) {
      const T sample = own[r * kSide];
      value = line_.starts_at(r) ? sample : value;
      const T x = x_[r * pitch_ + lane_];
      const T result = (call_.sharp ? x + (x - value) : value) + origin_;
      if (copies) {
        copy(first_row + r);
      } else {
        store_as(call_.y_data, call_.dtype, y_place(first_row + r), result);
      }
    }
  }

  /// An image without a solution: NaN, with a partition of one segment a line.
  __device__ void refuse() noexcept {
    line_.clear();
    for (int k = 0; k < call_.iterations; ++k) {
      store_codes(true, k);
      store_codes(false, k);
      tell_momentum(k, 0);
    }
    if (lane_ < width_) {
      for (int r = 0; r < height_; ++r) {
        store_as(call_.y_data, call_.dtype, y_place(image_ * height_ + r), kNan);
      }
    }
    if (call_.iterations_done != nullptr && lane_ == 0) call_.iterations_done[image_] = 0;
  }

  const SmallImages& call_;
  const std::int32_t height_;
  const std::int32_t width_;
  const int pitch_;
  double* const parts_;  // of sums over the image
  const Block block_;
  const int lane_;
  const SharedFloats x_;

  std::int64_t image_ = 0;
  LineStarts<Block::kWords> line_;
  T origin_ = 0;
  T row_lam_ = 0;
  T column_lam_ = 0;
  bool is_bad_ = false;
  bool has_lam_ = false;
};

}  // namespace tautline::detail
