// The derivative of all iterations on one image that a block holds, from the codes alone: see
// agent_image.cuh for how a block holds it, and the CPU's backward2d.cpp for the recurrence. Since
// h is -gQ but for the last iteration, and gX takes gB - (gB - S gB), it needs no more than
//
//   columns: gB = S h, less h but for the last iteration
//   rows:    gX += S gB;   q_k = gB - S gB;   h = -(1 + b_k) q_k + b_{k+1} q_{k+1}
//
// Traffic: grad_y and the codes are read once, grad_x is written once.
#pragma once

#include <cstdint>

#include "cuda/agent/agent_image.cuh"
#include "cuda/warp/running_sum.cuh"

namespace tautline::detail {

/// Where the gradients of lams go, one a line.
struct LineGradients {
  void* data;  // null: not wanted
  DType dtype;
  PlacedImages lines;
};

template <class Storage>
struct SmallGradients {
  std::int64_t count;
  std::int32_t height;
  std::int32_t width;
  int iterations;
  bool sharp;
  const std::uint32_t* partitions;
  std::int64_t row_words;
  std::int64_t column_words;
  const double* momentum;
  const std::int32_t* done;  // null: all iterations
  PlacedRows<const Storage> grad_y;
  PlacedRows<Storage> grad_x;
  bool wants_x;
  LineGradients row_lam;
  LineGradients column_lam;
};

/// Bytes of shared memory of an image.
template <class T>
[[nodiscard]] constexpr std::size_t image_gradient_bytes(int side, bool accelerated) noexcept {
  const int more = side == kLanes ? 0 : (accelerated ? 2 : 1);
  return static_cast<std::size_t>(side * side * (1 + more)) * sizeof(T);
}

template <class Storage, int kSide, bool kAccelerated>
class AgentImageGradient {
 public:
  using T = ArithmeticOf<Storage>;
  using Block = ImageBlock<kSide>;

  __device__ AgentImageGradient(const SmallGradients<Storage>& call, char* shared) noexcept
      : call_(call), lane_(Block::lane()), lines_(reinterpret_cast<T*>(shared)) {}

  __device__ void solve(std::int64_t image) noexcept {
    image_ = image;
    T* more = lines_ + kSide * kSide;
    T in[kSide];
    StepValues<T, kSide, kSide == kLanes> grad_x(more);
    StepValues<T, kSide, kSide == kLanes> q_next(more + kSide * kSide);
    stage();
    Block::for_each_step([&](int s, int /*i*/) {
      grad_x[s] = 0;
      if constexpr (kAccelerated) q_next[s] = 0;
    });
    const int done = call_.done == nullptr ? call_.iterations : call_.done[image_];
    double row_lam = 0;
    double column_lam = 0;
    for (int k = done - 1; k >= 0; --k) {
      column_lam += average_line(call_.height, call_.width, false, k, in);
      const bool is_last = k + 1 == done;
      for_each_mean(call_.height, call_.width,
                    [&](int s, T mean) { in[s] = is_last ? mean : mean - in[s]; });
      transpose(in, call_.height, call_.width);
      row_lam += average_line(call_.width, call_.height, true, k, in);
      const auto momentum = static_cast<T>(kAccelerated ? momentum_of(k, done) : 0);
      const auto after = static_cast<T>(kAccelerated ? momentum_of(k + 1, done) : 0);
      for_each_mean(call_.width, call_.height, [&](int s, T mean) {
        grad_x[s] += mean;
        const T q = in[s] - mean;
        in[s] = -q;
        if constexpr (kAccelerated) {
          in[s] = after * q_next[s] - (1 + momentum) * q;
          q_next[s] = q;
        }
      });
      if (k > 0) transpose(in, call_.width, call_.height);
    }
    store(call_.row_lam, call_.height, row_lam);
    store(call_.column_lam, call_.width, column_lam);
    if (call_.wants_x) store(grad_x);
  }

 private:
  [[nodiscard]] __device__ double momentum_of(int k, int done) const noexcept {
    return k < done ? call_.momentum[image_ * call_.iterations + k] : 0;
  }

  __device__ void stage() const noexcept {
    for (int r = 0; r < call_.height; ++r) {
      const Storage* from = call_.grad_y.row(image_ * call_.height + r);
      if (lane_ >= call_.width) continue;
      const T g = widen<T>(from[lane_ * call_.grad_y.stride]);
      lines_[r * kSide + lane_] = call_.sharp ? -g : g;
    }
  }

  /// Keeps the lane's line, puts the means of its segments at their starts, and gives the
  /// gradient of its lam.
  __device__ double average_line(std::int32_t n, std::int32_t lines, bool of_rows, int k,
                                 T (&in)[kSide]) noexcept {
    T* own = lines_ + lane_;
    const bool is_active = lane_ < lines;
    Block::for_each_step([&](int s, int i) { in[s] = i < n ? own[i * kSide] : T(0); });
    if (!is_active) return 0;
    read_codes(n, of_rows, k);
    T grad_lam = 0;
    RunningSum<T> sum;
    T size = 0;
    T sign_behind = 0;
#pragma unroll 4
    for (int i = n - 1; i >= 0; --i) {
      sum.add(own[i * kSide]);
      size += 1;
      if (!line_.starts_at(i)) continue;
      const T mean = sum.mean(size, true);
      const T sign = line_.sign_at(i);
      own[i * kSide] = mean;
      grad_lam += mean * (sign_behind - sign);
      sign_behind = sign;
      sum = {};
      size = 0;
    }
    return static_cast<double>(grad_lam);
  }

  __device__ void read_codes(std::int32_t n, bool of_rows, int k) noexcept {
    const int words = (n + kCodesPerWord - 1) / kCodesPerWord;
    const std::uint32_t* from =
        call_.partitions + k * call_.count * (call_.row_words + call_.column_words);
    from += of_rows ? image_ * call_.row_words
                    : call_.count * call_.row_words + image_ * call_.column_words;
    line_ = {};
#pragma unroll
    for (int w = 0; w < 2 * Block::kWords; ++w) {
      if (w < words) line_.read(w, from[lane_ * words + w]);
    }
  }

  /// Calls use(step, mean) for all of the lane's line.
  template <class Use>
  __device__ void for_each_mean(std::int32_t n, std::int32_t lines, const Use& use) noexcept {
    const T* own = lines_ + lane_;
    const bool is_active = lane_ < lines;
    T mean = own[line_.start_of(min(lane_, n - 1)) * kSide];
    Block::for_each_step([&](int s, int i) {
      if (is_active && i < n) {
        if (line_.starts_at(i)) mean = own[i * kSide];
        use(s, mean);
      }
    });
  }

  __device__ void transpose(const T (&in)[kSide], std::int32_t n, std::int32_t lines) noexcept {
    Block::sync();
    Block::for_each_step([&](int s, int i) {
      if (lane_ < lines && i < n) lines_[lane_ * kSide + i] = in[s];
    });
    Block::sync();
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
    Block::sync();
    Block::for_each_step([&](int s, int c) {
      if (lane_ < call_.height && c < call_.width) lines_[lane_ * kSide + c] = grad_x[s];
    });
    Block::sync();
    if (lane_ >= call_.width) return;
    for (int r = 0; r < call_.height; ++r) {
      const std::int64_t row = image_ * call_.height + r;
      T value = lines_[r * kSide + lane_];
      if (call_.sharp) {
        value += 2 * widen<T>(call_.grad_y.row(row)[lane_ * call_.grad_y.stride]);
      }
      call_.grad_x.row(row)[lane_ * call_.grad_x.stride] = narrow<Storage>(value);
    }
  }

  const SmallGradients<Storage>& call_;
  const int lane_;
  T* const lines_;

  std::int64_t image_ = 0;
  LineStarts<Block::kWords> line_;
};

}  // namespace tautline::detail
