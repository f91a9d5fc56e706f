// The components of images that fit in a block, and means over them, in one launch. Does what
// kernel_components.cuh does for larger images, with the same bits.
//
// Mapping: one block per image; each thread takes every kImageThreads-th pixel. Traffic: codes are
// read several times, through the cache; values twice; the result is written once. Shared memory:
// 12 bytes per pixel. Neighbouring pixels mostly belong to one component, so a warp first adds up
// the contributions of its lanes and then adds that sum to the component's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "cuda/kernels/kernel_components.cuh"

namespace tautstring::detail {

/// The number of blocks per multiprocessor that registers must allow: as many as the number of
/// threads allows on every architecture from 8.0 on, and as many 56 x 56 images as fit in the
/// shared memory of an H200.
#if __CUDA_ARCH__ >= 800
inline constexpr int kSmallComponentBlocks = 6;
#else
inline constexpr int kSmallComponentBlocks = 4;
#endif

/// One tile.
[[nodiscard]] constexpr bool is_small_for_components(std::int64_t pixels) noexcept {
  return pixels <= kImageTile;
}
[[nodiscard]] constexpr std::size_t small_components_bytes(std::int64_t pixels) noexcept {
  return sizeof(double) +
         static_cast<std::size_t>(pixels) * (sizeof(double) + sizeof(std::int32_t));
}

/// Neighbouring lanes that have the same root.
struct RunOfLanes {
  int lane;
  int first;
  bool is_last;  // this lane

  __device__ explicit RunOfLanes(std::int32_t root) noexcept
      : lane(static_cast<int>(threadIdx.x) % kLanes) {
    const std::int32_t before = __shfl_up_sync(kWarp, root, 1);
    const unsigned firsts = __ballot_sync(kWarp, static_cast<int>(lane == 0 || before != root));
    first = 31 - __clz(static_cast<int>(firsts & (~0U >> (kLanes - 1 - lane))));
    is_last = lane == kLanes - 1 || (firsts >> (lane + 1) & 1U) != 0;
  }

  /// The sum of the terms of the run, in its last lane. Integers in two's complement.
  [[nodiscard]] __device__ unsigned long long sum(unsigned long long term) const noexcept {
    for (int apart = 1; apart < kLanes; apart *= 2) {
      const unsigned long long before = __shfl_up_sync(kWarp, term, apart);
      if (lane >= apart) term += before;
    }
    const unsigned long long before = __shfl_sync(kWarp, term, max(first - 1, 0));
    return first == 0 ? term : term - before;
  }
};

/// The pixels of a block's image, distributed over its threads.
class SmallPixels {
 public:
  __device__ explicit SmallPixels(const LastPasses& passes) noexcept
      : count(passes.height * passes.width),
        width_(passes.width),
        rows_apart_(kImageThreads / passes.width),
        columns_apart_(kImageThreads - rows_apart_ * passes.width),
        first_(passes.pixel(static_cast<std::int32_t>(threadIdx.x))) {}

  /// Calls use(i, p) for each pixel.
  template <class Use>
  __device__ void for_each(const Use& use) const noexcept {
    walk(0, use);
  }
  /// The same by whole warps: also for positions past the last pixel.
  template <class Use>
  __device__ void for_each_of_warps(const Use& use) const noexcept {
    walk(static_cast<std::int32_t>(threadIdx.x) % kLanes, use);
  }

  const std::int32_t count;

 private:
  /// Continues while i - ahead is before the last pixel. The only division is for the first pixel.
  template <class Use>
  __device__ void walk(std::int32_t ahead, const Use& use) const noexcept {
    LastPasses::Pixel p = first_;
    for (auto i = static_cast<std::int32_t>(threadIdx.x); i - ahead < count; i += kImageThreads) {
      use(i, p);
      p.row += rows_apart_;
      p.column += columns_apart_;
      if (p.column >= width_) {
        p.column -= width_;
        ++p.row;
      }
    }
  }

  const std::int32_t width_;
  const std::int32_t rows_apart_;  // between two consecutive pixels of a thread
  const std::int32_t columns_apart_;
  const LastPasses::Pixel first_;
};

/// The components of a block's image. The whole block must take part in every call.
class SmallComponents {
  using Pixel = LastPasses::Pixel;

 public:
  __device__ SmallComponents(const LastPasses& passes, void* shared) noexcept
      : passes_(passes),
        pixels(passes),
        largest_(static_cast<unsigned long long*>(shared)),
        sums_(largest_ + 1),
        parents_(reinterpret_cast<std::int32_t*>(sums_ + pixels.count)) {}

  __device__ void find() noexcept {
    pixels.for_each([&](std::int32_t i, const Pixel& p) {
      parents_[i] = first_parent(passes_, p);
      sums_[i] = 0;
    });
    if (threadIdx.x == 0) *largest_ = 0;
    __syncthreads();
    pixels.for_each([&](std::int32_t /*i*/, const Pixel& p) { join_pixel(passes_, p, parents_); });
    __syncthreads();
    pixels.for_each([&](std::int32_t i, const Pixel& /*p*/) { point_at_root(parents_, i); });
    __syncthreads();
    pixels.for_each([&](std::int32_t i, const Pixel& /*p*/) {
      if (parents_[i] == i) parents_[i] = kNoPixels;
    });
    __syncthreads();
    pixels.for_each_of_warps([&](std::int32_t i, const Pixel& /*p*/) {
      const std::int32_t root = i < pixels.count ? root_at(i) : kNoRoot;
      const RunOfLanes run(root);
      if (run.is_last && root != kNoRoot) atomicAdd(parents_ + root, run.lane - run.first + 1);
    });
    __syncthreads();
  }

  /// The first pixel of i's component. find() must have been called.
  [[nodiscard]] __device__ std::int32_t root_at(std::int32_t i) const noexcept {
    // At roots other threads count pixels at the same time, in find().
    const std::int32_t parent = *static_cast<const volatile std::int32_t*>(parents_ + i);
    return parent < 0 ? i : parent;
  }

  /// Computes the means of value_of(i, p). It is called by the thread that has the pixel.
  template <class ValueOf>
  __device__ void average(const ValueOf& value_of) noexcept {
    unsigned long long own = 0;
    pixels.for_each(
        [&](std::int32_t i, const Pixel& p) { own = max(own, size_bits(value_of(i, p))); });
    own = largest_of_warp(own);
    if (threadIdx.x % kLanes == 0) atomicMax(largest_, own);
    __syncthreads();
    const double largest = __longlong_as_double(static_cast<long long>(*largest_));
    pixels.for_each_of_warps([&](std::int32_t i, const Pixel& p) {
      std::int32_t root = kNoRoot;
      unsigned long long term = 0;
      if (i < pixels.count) {
        root = root_at(i);
        term = sum_term(value_of(i, p), largest, size_of(root));
      }
      const RunOfLanes run(root);
      const unsigned long long sum = run.sum(term);
      if (run.is_last && root != kNoRoot) add_to_sum(root, sum);
    });
    __syncthreads();
    pixels.for_each([&](std::int32_t i, const Pixel& p) {
      if (parents_[i] >= 0) return;
      const double mean = component_mean(sums_[i], largest, size_of(i), value_of(i, p));
      sums_[i] = static_cast<unsigned long long>(__double_as_longlong(mean));
    });
    __syncthreads();
    pixels.for_each([&](std::int32_t i, const Pixel& /*p*/) {
      if (parents_[i] >= 0) sums_[i] = sums_[parents_[i]];
    });
    __syncthreads();
  }

  /// The mean of i's component. average() must have been called.
  [[nodiscard]] __device__ double mean_at(std::int32_t i) const noexcept {
    return __longlong_as_double(static_cast<long long>(sums_[i]));
  }

 private:
  /// Stored at roots in place of a parent; the number of pixels is added to it.
  static constexpr std::int32_t kNoPixels = std::numeric_limits<std::int32_t>::min();
  static constexpr std::int32_t kNoRoot = -1;

  [[nodiscard]] __device__ std::int32_t size_of(std::int32_t root) const noexcept {
    return parents_[root] - kNoPixels;
  }
  /// In two halves: shared memory has atomic additions of 32 bits, but emulates those of 64 bits by
  /// retries. Each overflow of the low half is seen by one thread, which carries it.
  __device__ void add_to_sum(std::int32_t root, unsigned long long sum) noexcept {
    auto* halves = reinterpret_cast<unsigned*>(sums_ + root);
    const auto low = static_cast<unsigned>(sum);
    const unsigned before = atomicAdd(halves, low);
    const unsigned carry = before > ~low ? 1 : 0;
    atomicAdd(halves + 1, static_cast<unsigned>(sum >> 32) + carry);
  }

  const LastPasses& passes_;

 public:
  const SmallPixels pixels;

 private:
  unsigned long long* largest_;  // bits of the number
  unsigned long long* sums_;     // at roots; later the bits of the mean, at all pixels
  std::int32_t* parents_;        // at roots: the number of pixels, added to kNoPixels
};

/// The means of values plus the pull of the lams.
template <class Mean>
__global__ void __launch_bounds__(kImageThreads, kSmallComponentBlocks)
    kernel_small_pulled_means(LastPassesOfImages all_passes,
                              const __grid_constant__ PlacedLam lam_rows,
                              const __grid_constant__ PlacedLam lam_cols, double* values,
                              Mean* means) {
  extern __shared__ __align__(16) char shared[];
  const std::int64_t image = blockIdx.x;
  const LastPasses passes = all_passes.of(image);
  SmallComponents components(passes, shared);
  double* own = values + image * components.pixels.count;
  components.find();
  components.pixels.for_each([&](std::int32_t i, const LastPasses::Pixel& p) {
    const auto is_with = [&](std::int32_t apart) {
      return components.root_at(i) == components.root_at(i + apart);
    };
    own[i] = pulled(own[i], passes, image, p, lam_rows, lam_cols, is_with);
  });
  components.average([&](std::int32_t i, const LastPasses::Pixel& /*p*/) { return own[i]; });
  Mean* own_means = means + image * components.pixels.count;
  components.pixels.for_each([&](std::int32_t i, const LastPasses::Pixel& /*p*/) {
    own_means[i] = static_cast<Mean>(components.mean_at(i));
  });
}

/// The gradients of all inputs of the exact solution.
struct SmallSolutionGradients {
  LastPassesOfImages passes;
  bool sharp;
  PlacedPixels<const void> grad_y;
  PlacedPixels<void> grad_x;
  LamGradient lam_rows;
  LamGradient lam_cols;
};

__global__ inline void __launch_bounds__(kImageThreads, kSmallComponentBlocks)
    kernel_small_solution_gradients(const __grid_constant__ SmallSolutionGradients call) {
  extern __shared__ __align__(16) char shared[];
  const std::int64_t image = blockIdx.x;
  const LastPasses passes = call.passes.of(image);
  SmallComponents components(passes, shared);
  const std::int64_t from = call.grad_y.first(image);
  const auto grad_y = [&](const LastPasses::Pixel& p) {
    return load_as<double>(call.grad_y.data, call.grad_y.dtype,
                           from + call.grad_y.apart(p.row, p.column));
  };
  components.find();
  components.average([&](std::int32_t /*i*/, const LastPasses::Pixel& p) { return grad_y(p); });
  const auto write_lam = [&](const LamGradient& lam, unsigned thread) {
    if (lam.data == nullptr) return;
    for (auto i = static_cast<std::int32_t>(thread); i < lam.height * lam.width;
         i += kImageThreads) {
      const std::int32_t r = i / lam.width;
      lam.write(passes, image, r, i - r * lam.width,
                [&](std::int32_t k) { return components.mean_at(k); });
    }
  };
  write_lam(call.lam_rows, threadIdx.x);
  // If there is one lam per line, by other warps at the same time.
  write_lam(call.lam_cols, (threadIdx.x + kImageThreads / 2) % kImageThreads);
  if (call.grad_x.data == nullptr) return;
  const std::int64_t to = call.grad_x.first(image);
  components.pixels.for_each([&](std::int32_t i, const LastPasses::Pixel& p) {
    const double mean = components.mean_at(i);
    store_as(call.grad_x.data, call.grad_x.dtype, to + call.grad_x.apart(p.row, p.column),
             call.sharp ? mirror(grad_y(p), mean) : mean);
  });
}

}  // namespace tautstring::detail
