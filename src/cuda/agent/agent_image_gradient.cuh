// The derivative of all iterations on one image that a block holds, from the codes alone: see
// warp/image_block.cuh for how a block holds it, and the CPU's backward2d.cpp for the recurrence.
// Since h is -gQ but for the last iteration, and gX takes gB - (gB - S gB), it needs no more than
//
//   columns: gB = S h, less h but for the last iteration
//   rows:    gX += S gB;   q_k = gB - S gB;   h = -(1 + b_k) q_k + b_{k+1} q_{k+1}
//
// Means are found in registers, in the lane's order of samples: back from the sample before its
// own number to the line's start and from the line's end to its own number. Traffic: grad_y and
// the codes are read once, grad_x is written once. Shared memory: an image, of more than 32 x 32
// two or, with momentum, three.
#pragma once

#include <cstdint>

#include "cuda/warp/image_block.cuh"
#include "cuda/warp/placed_images.cuh"

namespace tautline::detail {

/// Where the gradients of lams go, one a line.
struct LineGradients {
  void* data;  // null: not wanted
  DType dtype;
  PlacedImages lines;
};

struct SmallGradients {
  std::int64_t count;
  std::int32_t height;
  std::int32_t width;
  int iterations;
  bool sharp;
  const std::uint32_t* partitions;
  SavedCodes saved;
  const double* momentum;
  const std::int32_t* done;  // null: all iterations
  PlacedImages grad_y;
  const void* grad_y_data;
  DType grad_y_dtype;
  PlacedImages grad_x;
  void* grad_x_data;  // null: not wanted
  DType grad_x_dtype;
  LineGradients row_lam;
  LineGradients column_lam;
};

/// Bytes of shared memory of an image.
[[nodiscard]] constexpr std::size_t image_gradient_bytes(int side, bool accelerated) noexcept {
  const int more = side == kLanes ? 0 : (accelerated ? 2 : 1);
  return static_cast<std::size_t>(side * side * (1 + more)) * sizeof(float);
}

template <int kSide, bool kAccelerated>
class AgentImageGradient {
 public:
  using T = float;
  using Block = ImageBlock<kSide>;
  using Steps = typename Block::Steps;

  __device__ AgentImageGradient(const SmallGradients& call, char* shared) noexcept
      : call_(call), height_(call.height), width_(call.width), block_(shared), lane_(block_.lane) {}

  __device__ void solve(std::int64_t image) noexcept {
    image_ = image;
    Steps in;
    StepValues<kSide, kSide == kLanes> grad_x(block_.lines.from(kSide * kSide), lane_);
    StepValues<kSide, kSide == kLanes> q_next(block_.lines.from(2 * kSide * kSide), lane_);
    stage();
#pragma unroll
    for (int s = 0; s < kSide; ++s) {
      in[s] = 0;
      grad_x.set(s, 0);
      if constexpr (kAccelerated) q_next.set(s, 0);
    }
    const int done = iterations_of(call_.done, call_.iterations, image_);
    double row_lam = 0;
    double column_lam = 0;
    for (int k = done - 1; k >= 0; --k) {
      const bool is_last = k + 1 == done;
      read_codes(false, k);
      block_.take(in, height_);
      column_lam += average_line(height_, width_, in,
                                 [&](int s, T mean) { in[s] = is_last ? mean : mean - in[s]; });
      block_.put_across(in, height_, width_);

      read_codes(true, k);
      block_.take(in, width_);
      const auto momentum = static_cast<T>(kAccelerated ? momentum_of(k, done) : 0);
      const auto after = static_cast<T>(kAccelerated ? momentum_of(k + 1, done) : 0);
      row_lam += average_line(width_, height_, in, [&](int s, T mean) {
        grad_x.set(s, grad_x.get(s) + mean);
        const T q = in[s] - mean;
        in[s] = -q;
        if constexpr (kAccelerated) {
          in[s] = after * q_next.get(s) - (1 + momentum) * q;
          q_next.set(s, q);
        }
      });
      if (k > 0) block_.put_across(in, width_, height_);
    }
    store(call_.row_lam, height_, row_lam);
    store(call_.column_lam, width_, column_lam);
    if (call_.grad_x_data != nullptr) store(grad_x);
  }

 private:
  [[nodiscard]] __device__ double momentum_of(int k, int done) const noexcept {
    return k < done ? call_.momentum[image_ * call_.iterations + k] : 0;
  }

  /// In the lane's column.
  [[nodiscard]] __device__ T load_grad_y(std::int64_t row) const noexcept {
    return load_as<T>(call_.grad_y_data, call_.grad_y_dtype,
                      call_.grad_y.offset(row) + lane_ * call_.grad_y.stride);
  }

  __device__ void stage() const noexcept {
    if (lane_ >= width_) return;
#pragma unroll 8
    for (int r = 0; r < height_; ++r) {
      const T g = load_grad_y(image_ * height_ + r);
      block_.lines.put(r * kSide + lane_, call_.sharp ? -g : g);
    }
  }

  __device__ void read_codes(bool of_rows, int k) noexcept {
    if (lane_ >= (of_rows ? height_ : width_)) return;
    const int words = ((of_rows ? width_ : height_) + kCodesPerWord - 1) / kCodesPerWord;
    const std::uint32_t* from =
        call_.partitions + call_.saved.at(image_, of_rows, k) + lane_ * words;
    line_.clear();
    line_.starts[0] = 0;
#pragma unroll
    for (int w = 0; w < 2 * Block::kWords; ++w) {
      if (w < words) line_.read(w, from[w]);
    }
  }

  [[nodiscard]] static __device__ T reciprocal(T size) noexcept {
    T share;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(share) : "f"(size));
    return share;
  }

  /// Calls use(step, mean of its segment) for the samples of the lane's line, and gives the
  /// gradient of its lam.
  template <class Use>
  [[nodiscard]] __device__ double average_line(std::int32_t n, std::int32_t lines, const Steps& in,
                                               const Use& use) const noexcept {
    if (lane_ >= lines) return 0;
    find_means(n, in);
    const StepBits<Block::kWords> ups(line_.ups, lane_);
    const StepBits<Block::kWords> downs(line_.downs, lane_);
    T grad_lam = 0;
    T before = 0;
    T first = 0;
    const auto jump = [&](int s, T to) {
      const T rise = to - before;
      if (ups[s]) grad_lam -= rise;
      if (downs[s]) grad_lam += rise;
    };
    block_.for_each_value(line_, n, [&](int s, int /*i*/, bool /*wraps*/, T mean) {
      if (s == 0) {
        first = mean;
      } else {
        jump(s, mean);
      }
      before = mean;
      use(s, mean);
    });
    jump(0, first);
    return static_cast<double>(grad_lam);
  }

  /// Puts the means of the segments of the lane's line at their starts.
  __device__ void find_means(std::int32_t n, const Steps& in) const noexcept {
    const StepBits<Block::kWords> starts(line_.starts, lane_);
    T sum = 0;
    T size = 0;
    int first = lane_;
    asm volatile("" : "+r"(first));  // as in Imageblock_.for_each_step
#pragma unroll
    for (int s = kSide - 1; s >= 0; --s) {
      const bool wraps = first >= kSide - s;
      if (first + s - (wraps ? kSide : 0) < n) {
        sum += in[s];
        size += 1;
      }
      if (starts[s]) {
        block_.lines.put(block_.along(s, wraps), sum * reciprocal(size));
        sum = 0;
        size = 0;
      }
    }
    if (starts[0]) return;
    // What is left belongs to the segment that came first, with what is before the lane's number.
    const int start = line_.start_of(min(lane_, n - 1));
    const auto size_before = static_cast<T>(min(lane_, n) - start);
    const T mean_before = block_.lines[start * kSide + lane_];
    block_.lines.put(start * kSide + lane_,
                     (sum + mean_before * size_before) * reciprocal(size + size_before));
  }

  __device__ void store(const LineGradients& gradients, std::int32_t lines,
                        double value) const noexcept {
    if (gradients.data == nullptr || lane_ >= lines) return;
    store_as(gradients.data, gradients.dtype, gradients.lines.offset(image_ * lines + lane_),
             value);
  }

  /// A lane has a row; what is written goes by rows too.
  template <class Values>
  __device__ void store(Values& grad_x) noexcept {
    Steps values;
#pragma unroll
    for (int s = 0; s < kSide; ++s) values[s] = grad_x.get(s);
    block_.put_across(values, width_, height_);
    if (lane_ >= width_) return;
#pragma unroll 4
    for (int r = 0; r < height_; ++r) {
      const std::int64_t row = image_ * height_ + r;
      T value = block_.lines[r * kSide + lane_];
      if (call_.sharp) value += 2 * load_grad_y(row);
      store_as(call_.grad_x_data, call_.grad_x_dtype,
               call_.grad_x.offset(row) + lane_ * call_.grad_x.stride, value);
    }
  }

  const SmallGradients& call_;
  const std::int32_t height_;
  const std::int32_t width_;
  const Block block_;
  const int lane_;

  std::int64_t image_ = 0;
  LineStarts<Block::kWords> line_;
};

}  // namespace tautline::detail
