// The derivative of all iterations on one image that fits in a block, from the codes alone.
// warp/image_block.cuh describes how a block stores an image, the CPU's backward2d.cpp has the
// recurrence. Since h is -gQ except in the last iteration, and gX receives gB - (gB - S gB), only
// this is needed:
//
//   columns: gB = S h, less h except in the last iteration
//   rows:    gX += S gB;   q_k = gB - S gB;   h = -(1 + b_k) q_k + b_{k+1} q_{k+1}
//
// Lines are in registers, means at the starts of their segments in shared memory. Traffic: grad_y
// and the codes are read once, grad_x is written once. Shared memory: two images, three with
// momentum.
#pragma once

#include <cstdint>

#include "cuda/warp/image_block.cuh"
#include "cuda/warp/line_search.cuh"
#include "cuda/warp/placed_images.cuh"

namespace tautstring::detail {

/// Where the gradients of lams are written, one per line.
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
  PlacedPixels<const void> grad_y;
  PlacedPixels<void> grad_x;
  LineGradients lam_rows;
  LineGradients lam_cols;
};

/// Bytes of shared memory for an image.
[[nodiscard]] constexpr std::size_t image_gradient_bytes(int side, int height, int width,
                                                         bool accelerated) noexcept {
  const int more = accelerated ? 2 : 1;
  const int rows = whole_groups(height > width ? height : width) + more * whole_groups(width);
  return static_cast<std::size_t>(rows * side) * sizeof(float);
}

template <int kSide, bool kAccelerated>
class AgentImageGradient {
 public:
  using T = float;
  using Block = ImageBlock<kSide>;
  using Line = typename Block::Line;

  __device__ AgentImageGradient(const SmallGradients& call, char* shared) noexcept
      : call_(call), height_(call.height), width_(call.width), block_(shared), lane_(block_.lane) {}

  __device__ void solve(std::int64_t image) noexcept {
    image_ = image;
    const SharedFloats more = block_.lines.from(whole_groups(max(height_, width_)) * kSide);
    LineValues<kSide> grad_x(more, lane_);
    LineValues<kSide> q_next(more.from(whole_groups(width_) * kSide), lane_);
    Block::for_each_part(width_, [&](int i) {
      grad_x.put_part(i, {});
      if constexpr (kAccelerated) q_next.put_part(i, {});
    });
    Line line;
    with_float32_storage(call_.grad_y.dtype,
                         [&](auto storage) { this->template stage<decltype(storage)>(line); });
    const int done = iterations_of(call_.done, call_.iterations, image_);
    CodesOfPasses<const std::uint32_t> row_codes =
        call_.saved.of_rows(call_.partitions, image_, lane_, done - 1);
    CodesOfPasses<const std::uint32_t> column_codes =
        call_.saved.of_columns(call_.partitions, image_, lane_, done - 1);
    ask_for_codes(column_codes, height_, width_);
    double lam_rows = 0;
    double lam_cols = 0;
    for (int k = done - 1; k >= 0; --k) {
      const bool is_last = k + 1 == done;
      read_codes();
      ask_for_codes(row_codes, width_, height_);
      row_codes.to_the_one_before();
      lam_cols += average(height_, line, [&](int i, const T(&means)[kPart]) {
#pragma unroll
        for (int j = 0; j < kPart; ++j) {
          line[i + j] = is_last ? means[j] : means[j] - line[i + j];
        }
      });
      block_.turn(line, height_, width_);

      read_codes();
      column_codes.to_the_one_before();
      if (k > 0) ask_for_codes(column_codes, height_, width_);
      const auto momentum = static_cast<T>(kAccelerated ? momentum_of(k, done) : 0);
      const auto after = static_cast<T>(kAccelerated ? momentum_of(k + 1, done) : 0);
      lam_rows += average(width_, line, [&](int i, const T(&means)[kPart]) {
        Part sum = grad_x.part(i);
#pragma unroll
        for (int j = 0; j < kPart; ++j) sum.at[j] += means[j];
        grad_x.put_part(i, sum);
        if constexpr (kAccelerated) {
          const Part next = q_next.part(i);
          Part q;
#pragma unroll
          for (int j = 0; j < kPart; ++j) {
            q.at[j] = line[i + j] - means[j];
            line[i + j] = after * next.at[j] - (1 + momentum) * q.at[j];
          }
          q_next.put_part(i, q);
        } else {
#pragma unroll
          for (int j = 0; j < kPart; ++j) line[i + j] = means[j] - line[i + j];
        }
      });
      if (k > 0) block_.turn(line, width_, height_);
    }
    store(call_.lam_rows, height_, lam_rows);
    store(call_.lam_cols, width_, lam_cols);
    if (call_.grad_x.data == nullptr) return;
    take_columns(grad_x, line);
    with_float32_storage(call_.grad_x.dtype,
                         [&](auto storage) { this->template store<decltype(storage)>(line); });
  }

 private:
  [[nodiscard]] __device__ double momentum_of(int k, int done) const noexcept {
    return k < done ? call_.momentum[image_ * call_.iterations + k] : 0;
  }

  /// Each lane loads a column.
  template <class Storage>
  __device__ void stage(Line& line) const noexcept {
    if (lane_ >= width_) return;
    const Storage* from = call_.grad_y.column<const Storage>(image_, lane_);
    Block::for_each(height_, [&](int i) {
      line[i] = i < height_ ? widen<T>(from[i * call_.grad_y.row_stride]) : 0;
    });
    if (!call_.sharp) return;
    Block::for_each(height_, [&](int i) { line[i] = -line[i]; });
  }

  /// Loads the codes of a pass, in the order in which passes need them: the loads overlap with the
  /// work on the previous pass.
  __device__ void ask_for_codes(const CodesOfPasses<const std::uint32_t>& codes, int n,
                                int lines) noexcept {
    if (lane_ >= lines) return;
#pragma unroll
    for (int w = 0; w < 2 * Block::kWords; ++w) {
      codes_[w] = w * kCodesPerWord < n ? codes.words[w] : 0;
    }
  }
  __device__ void read_codes() noexcept {
    line_.clear();
    line_.starts[0] = line_.flats[0] = 0;
#pragma unroll
    for (int w = 0; w < 2 * Block::kWords; ++w) line_.read(w, codes_[w]);
  }

  /// Calls use(i, means from sample i on) for parts of the lane's line. Returns the gradient of its
  /// lam: the sum of its jumps down less that of its jumps up.
  template <class Use>
  [[nodiscard]] __device__ double average(std::int32_t n, Line& line,
                                          const Use& use) const noexcept {
    find_means(n, line);
    std::uint32_t ups[Block::kWords];
#pragma unroll
    for (int w = 0; w < Block::kWords; ++w) ups[w] = line_.ups(w);
    const T first = block_.own()[0];
    T before = first;
    T rises = 0;
    block_.for_each_values(line_, n, [&](int i, const T(&means)[kSamplesAtOnce]) {
#pragma unroll
      for (int j = 0; j < kSamplesAtOnce; ++j) {
        if (LineStarts<Block::kWords>::is_set(ups, i + j)) rises += means[j] - before;
        before = means[j];
      }
#pragma unroll
      for (int j = 0; j < kSamplesAtOnce; j += kPart) {
        use(i + j, {means[j], means[j + 1], means[j + 2], means[j + 3]});
      }
    });
    return static_cast<double>((before - first - rises_of_flats()) - 2 * rises);
  }

  /// The sum of the jumps without a direction.
  [[nodiscard]] __device__ T rises_of_flats() const noexcept {
    const SharedFloats own = block_.own();
    T rises = 0;
    for (int w = 0; w < Block::kWords; ++w) {
      for (std::uint32_t flats = line_.flats[w] & (w == 0 ? ~1U : ~0U); flats != 0;
           flats &= flats - 1) {
        const int i = 32 * w + __ffs(static_cast<int>(flats)) - 1;
        rises += own[i * kSide] - own[line_.start_of(i - 1) * kSide];
      }
    }
    return rises;
  }

  /// Writes the means of the segments of the lane's line at their starts.
  __device__ void find_means(std::int32_t n, Line& line) const noexcept {
    const SharedFloats own = block_.own();
    T sum = 0;
    T size = 0;
#pragma unroll
    for (int i = kSide - kSamplesAtOnce; i >= 0; i -= kSamplesAtOnce) {
      if (i >= n) continue;
      if (i + kSamplesAtOnce > n) {  // nothing is past the end of the line
        size = static_cast<T>(n - i - kSamplesAtOnce);
#pragma unroll
        for (int j = i; j < i + kSamplesAtOnce; ++j) line[j] = j < n ? line[j] : 0;
      }
#pragma unroll
      for (int j = i + kSamplesAtOnce - 1; j >= i; --j) {
        sum += line[j];
        size += 1;
        if (line_.starts_at(j)) {
          own.put(j * kSide, sum * DeviceLineArithmetic::reciprocal(size));
          sum = 0;
          size = 0;
        }
      }
    }
  }

  __device__ void store(const LineGradients& gradients, std::int32_t lines,
                        double value) const noexcept {
    if (gradients.data == nullptr || lane_ >= lines) return;
    store_as(gradients.data, gradients.dtype, gradients.lines.offset(image_ * lines + lane_),
             value);
  }

  /// From rows to columns: each store then writes to a row of the image.
  template <class Values>
  __device__ void take_columns(const Values& grad_x, Line& line) const noexcept {
    Block::for_each_part(width_, [&](int i) {
      const Part part = grad_x.part(i);
#pragma unroll
      for (int j = 0; j < kPart; ++j) line[i + j] = part.at[j];
    });
    block_.turn(line, width_, height_);
    if (!call_.sharp || lane_ >= width_) return;
    with_float32_storage(call_.grad_y.dtype, [&](auto storage) {
      using Storage = decltype(storage);
      const Storage* from = call_.grad_y.column<const Storage>(image_, lane_);
      Block::for_each(height_, [&](int i) {
        if (i < height_) line[i] += 2 * widen<T>(from[i * call_.grad_y.row_stride]);
      });
    });
  }
  template <class Storage>
  __device__ void store(const Line& line) const noexcept {
    if (lane_ >= width_) return;
    Storage* to = call_.grad_x.column<Storage>(image_, lane_);
    Block::for_each(height_, [&](int i) {
      if (i < height_) to[i * call_.grad_x.row_stride] = narrow<Storage>(line[i]);
    });
  }

  const SmallGradients& call_;
  const std::int32_t height_;
  const std::int32_t width_;
  const Block block_;
  const int lane_;

  std::int64_t image_ = 0;
  LineStarts<Block::kWords> line_;
  std::uint32_t codes_[2 * Block::kWords] = {};  // of the next pass
};

}  // namespace tautstring::detail
