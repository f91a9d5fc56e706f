// Solves one image that a block holds: all iterations, from samples in memory to values and codes
// in memory.
//
// Mapping: a block an image, a lane a row and, in the next pass, a column; kSide, 32 or 64, lanes
// for images of up to as many rows and columns. Lines are in shared memory as [sample][lane], so
// that lanes never meet in a bank wherever each of them reads. Between two passes the image is
// transposed in its place: a lane takes the samples of its line in an order of its own, from its
// own number on, so that the 32 of a warp read and write all banks at every step. A pass takes in
// and gives z; the next takes z + (X - in), so that only X and `in` are ever held, the latter in
// registers while the line is searched. Traffic: x is read once, y and 2 bits an element and pass
// are written once. Shared memory: two images.
#pragma once

#include <cstdint>
#include <limits>

#include "cuda/kernels/kernel_images.cuh"
#include "cuda/warp/search.cuh"

namespace tautline::detail {

template <class Storage>
struct SmallImages {
  std::int64_t count;
  std::int32_t height;
  std::int32_t width;
  int iterations;
  bool sharp;
  PlacedRows<const Storage> x;
  PlacedRows<Storage> y;
  PlacedLam row_lam;  // one a row and one a column
  PlacedLam column_lam;
  std::uint32_t* partitions;  // null: not wanted; so the others
  std::int64_t row_words;     // of an image, and of all in an iteration
  std::int64_t column_words;
  double* momentum;
  std::int32_t* iterations_done;
};

/// The pitch of X in shared memory: even, so that steps of a line and a sample at once are odd.
[[nodiscard]] constexpr int image_pitch(int width) noexcept {
  return width + width % 2;
}

/// Where the segments of a line of up to 32 kWords samples start, and after which jumps.
template <int kWords>
struct LineStarts {
  std::uint32_t starts[kWords] = {};
  std::uint32_t ups[kWords] = {};
  std::uint32_t downs[kWords] = {};

  __device__ void clear() noexcept {
#pragma unroll
    for (int w = 0; w < kWords; ++w) starts[w] = ups[w] = downs[w] = 0;
    starts[0] = 1;
  }
  __device__ void mark(std::int32_t i, bool up, bool down) noexcept {
    const std::uint32_t bit = 1U << (i & 31);
#pragma unroll
    for (int w = 0; w < kWords; ++w) {
      const std::uint32_t own = kWords == 1 || i >> 5 == w ? bit : 0;
      starts[w] |= own;
      ups[w] |= up ? own : 0;
      downs[w] |= down ? own : 0;
    }
  }
  [[nodiscard]] __device__ bool starts_at(std::int32_t i) const noexcept {
    const std::uint32_t word = kWords == 1 || i < 32 ? starts[0] : starts[kWords - 1];
    return (word >> (i & 31) & 1U) != 0;
  }
  /// Direction of the jump to sample i.
  [[nodiscard]] __device__ float sign_at(std::int32_t i) const noexcept {
    const bool is_low = kWords == 1 || i < 32;
    const std::uint32_t up = is_low ? ups[0] : ups[kWords - 1];
    const std::uint32_t down = is_low ? downs[0] : downs[kWords - 1];
    const std::uint32_t bit = 1U << (i & 31);
    return (up & bit) != 0 ? 1.0F : ((down & bit) != 0 ? -1.0F : 0.0F);
  }
  /// The start of the segment that sample i is of.
  [[nodiscard]] __device__ std::int32_t start_of(std::int32_t i) const noexcept {
    const std::uint32_t up_to = (2U << (i & 31)) - 1;
    if (kWords == 1 || i < 32) return 31 - __clz(static_cast<int>(starts[0] & up_to));
    const std::uint32_t high = starts[kWords - 1] & up_to;
    return high != 0 ? 63 - __clz(static_cast<int>(high)) : 31 - __clz(static_cast<int>(starts[0]));
  }

  /// Word w of the line's codes.
  [[nodiscard]] __device__ std::uint32_t codes(int w) const noexcept {
    const int shift = w % 2 * 16;
    const std::uint32_t start = starts[w / 2] >> shift & 0xFFFFU;
    const std::uint32_t up = ups[w / 2] >> shift & 0xFFFFU;
    const std::uint32_t down = downs[w / 2] >> shift & 0xFFFFU;
    return spread(start & ~down) | spread(start & ~up) << 1;  // neither: both bits
  }
  /// The inverse of codes().
  __device__ void read(int w, std::uint32_t codes) noexcept {
    const std::uint32_t low = gather(codes);
    const std::uint32_t high = gather(codes >> 1);
    const int shift = w % 2 * 16;
    starts[w / 2] |= (low | high) << shift;
    ups[w / 2] |= (low & ~high) << shift;
    downs[w / 2] |= (high & ~low) << shift;
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

/// What lanes of an image have in common, forward and backward.
template <int kSide>
struct ImageBlock {
  static constexpr int kWords = kSide / 32;

  [[nodiscard]] static __device__ int lane() noexcept { return static_cast<int>(threadIdx.x); }
  /// Calls use(step, sample) for the samples of the lane's line in its order. Where each of them
  /// is must be found anew every time: kept, it would take more registers than there are.
  template <class Use>
  static __device__ void for_each_step(const Use& use) noexcept {
    int first = lane();
    asm volatile("" : "+r"(first));  // which no compiler sees through
#pragma unroll
    for (int s = 0; s < kSide; ++s) use(s, (first + s) & (kSide - 1));
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
  /// `parts` is shared memory for one a warp.
  [[nodiscard]] static __device__ double sum(double term, double* parts) noexcept {
    for (int apart = kLanes / 2; apart > 0; apart /= 2) {
      term += __shfl_xor_sync(kWarp, term, apart);
    }
    if constexpr (kSide == kLanes) return term;
    __syncthreads();
    if (lane() % kLanes == 0) parts[lane() / kLanes] = term;
    __syncthreads();
    return parts[0] + parts[kWords - 1];
  }
};

/// One value a step of each lane: in registers, or in shared memory where these are too few.
template <class T, int kSide, bool kInRegisters>
struct StepValues {
  T values[kSide];
  __device__ explicit StepValues(T* /*shared*/) noexcept {}
  __device__ T& operator[](int s) noexcept { return values[s]; }
};
template <class T, int kSide>
struct StepValues<T, kSide, false> {
  T* values;
  __device__ explicit StepValues(T* shared) noexcept : values(shared + threadIdx.x) {}
  __device__ T& operator[](int s) noexcept { return values[s * kSide]; }
};

/// Bytes of shared memory of an image.
template <class T>
[[nodiscard]] constexpr std::size_t image_bytes(int side, int height, int width,
                                                bool accelerated) noexcept {
  const int lines = (side + kGroup) * side;
  const int samples = height * image_pitch(width);
  const int more = accelerated && side > kLanes ? side * side : 0;
  return static_cast<std::size_t>(lines + samples + more) * sizeof(T) +
         static_cast<std::size_t>(side / kLanes) * sizeof(double);
}

template <class Storage, int kSide, bool kAccelerated>
class AgentImage {
 public:
  using T = ArithmeticOf<Storage>;
  using Block = ImageBlock<kSide>;

  __device__ AgentImage(const SmallImages<Storage>& call, char* shared) noexcept
      : call_(call),
        pitch_(image_pitch(call.width)),
        lane_(Block::lane()),
        parts_(reinterpret_cast<double*>(shared)),
        lines_(reinterpret_cast<T*>(parts_ + Block::kWords)),
        x_(lines_ + (kSide + kGroup) * kSide) {}

  __device__ void solve(std::int64_t image) noexcept {
    image_ = image;
    stage();
    const bool copies = !Block::any(look_at_lams());
    if (Block::any(is_bad_) && !copies) return refuse();
    T in[kSide];
    StepValues<T, kSide, true> q(nullptr);
    StepValues<T, kSide, kSide == kLanes> ahead(x_ + call_.height * pitch_);
    begin(in, q, ahead);
    double t = 1;
    tell_momentum(0, 0);
    for (int k = 0; k < call_.iterations; ++k) {
      row_pass(in, k);
      solve_line(call_.height, call_.width, column_lam_, in);
      store_codes(false, k);
      if (k + 1 == call_.iterations) break;
      if constexpr (kAccelerated) {
        accelerate(in, q, ahead, t, k + 1);
      } else {
        tell_momentum(k + 1, 0);
        leave_line<false>(in, call_.height, call_.width);
      }
      transpose(in, call_.height, call_.width);
    }
    store_values(copies);
    if (call_.iterations_done != nullptr && lane_ == 0) {
      call_.iterations_done[image_] = call_.iterations;
    }
  }

 private:
  static constexpr T kNan = std::numeric_limits<T>::quiet_NaN();
  using Search = DeviceSearch<T>;

  struct UniformGroup {
    static constexpr bool kUniform = true;
    __device__ T operator[](int /*j*/) const noexcept { return 0; }
  };
  struct Source {
    const T* samples;  // of the lane
    T row_lam;
    std::int32_t n;

    [[nodiscard]] __device__ T sample(std::int32_t i) const noexcept { return samples[i * kSide]; }
    [[nodiscard]] __device__ T lam(std::int32_t /*i*/) const noexcept { return row_lam; }
    [[nodiscard]] __device__ T zero() const noexcept { return static_cast<T>(n >> 31); }
    __device__ void prepare(std::int32_t, std::int32_t, std::int32_t) const noexcept {}
    __device__ auto load(std::int32_t i, std::int32_t /*last*/, T (&group)[kGroup]) const noexcept {
      const T* from = samples + min(i, n) * kSide;  // NaN stand behind a line
#pragma unroll
      for (int j = 0; j < kGroup; ++j) group[j] = from[j * kSide];
      return UniformGroup{};
    }
  };
  struct Sink {
    T* samples;
    LineStarts<Block::kWords>& line;

    __device__ void put(std::int32_t first, bool is_real, bool down, T value) noexcept {
      samples[first * kSide] = value;
      if (is_real && first > 0) line.mark(first, !down, down);
    }
  };

  // --- From memory ---

  __device__ void stage() noexcept {
    is_bad_ = false;
    for (int r = 0; r < call_.height; ++r) {
      const Storage* from = call_.x.row(image_ * call_.height + r);
      for (int c = lane_; c < call_.width; c += kSide) {
        const T value = widen<T>(from[c * call_.x.stride]);
        x_[r * pitch_ + c] = value;
        is_bad_ = is_bad_ || value - value != 0;
      }
    }
    Block::sync();
  }

  /// Whether the lane's row or column has a lam that is not 0.
  [[nodiscard]] __device__ bool look_at_lams() noexcept {
    const auto look = [&](const PlacedLam& lams, std::int32_t lines, std::int32_t n) -> T {
      if (lane_ >= lines || n < 2) return 0;
      const double lam = lams.at(image_ * lines + lane_, 0);
      is_bad_ = is_bad_ || !(lam >= 0);
      if (lam != 0) has_lam_ = true;
      return lam < static_cast<double>(SearchedLam<T>::kSmallest)
                 ? T(0)
                 : static_cast<T>(fmin(lam, static_cast<double>(SearchedLam<T>::kLargest)));
    };
    has_lam_ = false;
    row_lam_ = look(call_.row_lam, call_.height, call_.width);
    column_lam_ = look(call_.column_lam, call_.width, call_.height);
    return has_lam_;
  }

  template <class Values, class MoreValues>
  __device__ void begin(T (&in)[kSide], Values& q, MoreValues& ahead) noexcept {
    Block::for_each_step([&](int s, int c) {
      if (lane_ < call_.height && c < call_.width) {
        lines_[c * kSide + lane_] = x_[lane_ * pitch_ + c];
      }
      if constexpr (kAccelerated) q[s] = ahead[s] = 0;
    });
  }

  // --- Passes ---

  __device__ void row_pass(T (&in)[kSide], int k) noexcept {
    solve_line(call_.width, call_.height, row_lam_, in);
    store_codes(true, k);
    leave_line<true>(in, call_.width, call_.height);
    transpose(in, call_.width, call_.height);
  }

  /// Puts values at the starts of the segments of the lane's line, and keeps its samples.
  __device__ void solve_line(std::int32_t n, std::int32_t lines, T lam, T (&in)[kSide]) noexcept {
    T* own = lines_ + lane_;
    const bool is_active = lane_ < lines;
    Block::for_each_step([&](int s, int i) { in[s] = i < n ? own[i * kSide] : T(0); });
#pragma unroll
    for (int j = 0; j < kGroup; ++j) own[(n + j) * kSide] = kNan;
    line_.clear();
    Sink sink = {own, line_};
    search_piece<Search, T>(Source{own, lam, n},
                            {0, n, Code::plain, Code::continues, is_active && lam > 0}, sink);
    if (!is_active || lam > 0) return;
    for (int i = 1; i < n; ++i) {  // every sample is its own value
      const T rise = own[i * kSide] - own[(i - 1) * kSide];
      line_.mark(i, rise > 0, rise < 0);
    }
  }

  /// What the next pass takes in place of what this one took: z + (X - in).
  template <bool kRows>
  __device__ void leave_line(T (&in)[kSide], std::int32_t n, std::int32_t lines) noexcept {
    for_each_value(n, lines,
                   [&](int s, int i, T value) { in[s] = value + (x_at<kRows>(i) - in[s]); });
  }
  template <bool kRows>
  [[nodiscard]] __device__ T x_at(int i) const noexcept {
    return kRows ? x_[lane_ * pitch_ + i] : x_[i * pitch_ + lane_];
  }

  /// Calls use(step, sample, value) for all of the lane's line.
  template <class Use>
  __device__ void for_each_value(std::int32_t n, std::int32_t lines, const Use& use) noexcept {
    const T* own = lines_ + lane_;
    const bool is_active = lane_ < lines;
    T value = own[line_.start_of(min(lane_, n - 1)) * kSide];
    Block::for_each_step([&](int s, int i) {
      if (is_active && i < n) {
        if (line_.starts_at(i)) value = own[i * kSide];
        use(s, i, value);
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

  /// The momentum of iteration k, and what its rows begin with.
  template <class Values, class MoreValues>
  __device__ void accelerate(T (&in)[kSide], Values& q, MoreValues& ahead, double& t,
                             int k) noexcept {
    double leads_away = 0;
    for_each_value(call_.height, call_.width, [&](int s, int /*i*/, T value) {
      in[s] -= value;  // Q
      leads_away += static_cast<double>((ahead[s] - in[s]) * (in[s] - q[s]));
    });
    if (Block::sum(leads_away, parts_) > 0) t = 1;
    const double next = (1 + sqrt(1 + 4 * t * t)) / 2;
    const auto momentum = static_cast<T>((t - 1) / next);
    t = next;
    tell_momentum(k, momentum);
    Block::for_each_step([&](int s, int i) {
      const T next_ahead = in[s] + momentum * (in[s] - q[s]);
      q[s] = in[s];
      ahead[s] = next_ahead;
      if (lane_ < call_.width && i < call_.height) in[s] = x_at<false>(i) - next_ahead;
    });
  }

  // --- To memory ---

  __device__ void tell_momentum(int k, T momentum) const noexcept {
    if (call_.momentum == nullptr || lane_ != 0) return;
    call_.momentum[image_ * call_.iterations + k] = momentum;
  }

  __device__ void store_codes(bool of_rows, int k) const noexcept {
    if (call_.partitions == nullptr) return;
    const std::int32_t lines = of_rows ? call_.height : call_.width;
    const std::int32_t n = of_rows ? call_.width : call_.height;
    if (lane_ >= lines) return;
    const int words = (n + kCodesPerWord - 1) / kCodesPerWord;
    std::uint32_t* to = call_.partitions + k * call_.count * (call_.row_words + call_.column_words);
    to += of_rows ? image_ * call_.row_words
                  : call_.count * call_.row_words + image_ * call_.column_words;
#pragma unroll
    for (int w = 0; w < 2 * Block::kWords; ++w) {
      if (w < words) to[lane_ * words + w] = line_.codes(w);
    }
  }

  /// Behind the last pass over the columns a lane has one.
  __device__ void store_values(bool copies) const noexcept {
    if (lane_ >= call_.width) return;
    const T* own = lines_ + lane_;
    T value = 0;
    for (int r = 0; r < call_.height; ++r) {
      if (line_.starts_at(r)) value = own[r * kSide];
      const std::int64_t row = image_ * call_.height + r;
      Storage* to = call_.y.row(row) + lane_ * call_.y.stride;
      if (copies) {
        *to = call_.x.row(row)[lane_ * call_.x.stride];
      } else {
        const T x = x_[r * pitch_ + lane_];
        *to = narrow<Storage>(call_.sharp ? x + (x - value) : value);
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
    if (lane_ < call_.width) {
      for (int r = 0; r < call_.height; ++r) {
        call_.y.row(image_ * call_.height + r)[lane_ * call_.y.stride] = narrow<Storage>(kNan);
      }
    }
    if (call_.iterations_done != nullptr && lane_ == 0) call_.iterations_done[image_] = 0;
  }

  const SmallImages<Storage>& call_;
  const int pitch_;
  const int lane_;
  double* const parts_;  // of sums over the image
  T* const lines_;
  T* const x_;

  std::int64_t image_ = 0;
  LineStarts<Block::kWords> line_;
  T row_lam_ = 0;
  T column_lam_ = 0;
  bool is_bad_ = false;
  bool has_lam_ = false;
};

}  // namespace tautline::detail
