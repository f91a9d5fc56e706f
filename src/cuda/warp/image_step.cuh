// One pass of the derivative of the iterations over images, from the means of what comes in. See
// agent/agent_image_gradient.cuh for the recurrence.
#pragma once

#include <cstdint>

#include "cuda/warp/placed_images.cuh"

namespace tautstring::detail {

/// What a pass is told of its images. They lie one behind the other in all arrays.
template <class T>
struct ImageGradients {
  std::int64_t pixels;       // of an image
  std::int64_t lines;        // of an image, that the pass is over
  int iterations;            // of the call
  int k;                     // whose pass this is
  const std::int32_t* done;  // null: all iterations
  const double* momentum;    // null: none
  T* grad_x;                 // null: a pass over columns
  T* q;                      // of the iteration behind, where that has momentum, then of this one

  [[nodiscard]] __device__ int done_of(std::int64_t image) const noexcept {
    return iterations_of(done, iterations, image);
  }
  /// Whether the iteration is one of those that the image of a line has had.
  [[nodiscard]] __device__ bool counts(std::int64_t line) const noexcept {
    return done == nullptr || k < done_of(line / lines);
  }
  /// The first iteration's rows are the last that anything comes in at.
  [[nodiscard]] __device__ bool goes_on() const noexcept { return k > 0 || grad_x == nullptr; }
};

/// What is done with pixels, which come in the order of memory.
template <class T>
class ImageStep {
 public:
  __device__ explicit ImageStep(const ImageGradients<T>& call) noexcept : call_(call) {}

  __device__ void go_to(std::int64_t pixel) noexcept {
    if (pixel < end_) return;
    const std::int64_t image = pixel / call_.pixels;
    end_ = (image + 1) * call_.pixels;
    const int done = call_.done_of(image);
    behind_ = done - 1 - call_.k;
    momentum_ = momentum_of(image, call_.k, done);
    after_ = momentum_of(image, call_.k + 1, done);
  }

  /// What comes in at the pass before, from what came in at this one. In iterations that an image
  /// has not had, that stays what it is.
  [[nodiscard]] __device__ T next(T mean, T incoming) const noexcept {
    const bool is_whole = behind_ == 0 && call_.grad_x == nullptr;
    const T next = is_whole ? mean : mean - incoming;
    return behind_ < 0 ? incoming : next;
  }
  /// Whether the one below tells that, never where the image has not had the iteration.
  [[nodiscard]] __device__ bool has_momentum() const noexcept {
    return momentum_ != 0 || after_ != 0;
  }
  [[nodiscard]] __device__ T next_with_momentum(T mean, T incoming,
                                                std::int64_t pixel) const noexcept {
    const T q = incoming - mean;
    const T q_behind = after_ != 0 ? call_.q[pixel] : T(0);
    if (momentum_ != 0) call_.q[pixel] = q;
    return after_ * q_behind - (1 + momentum_) * q;
  }
  /// grad_x with a pass over rows; 0 leaves every bit.
  [[nodiscard]] __device__ T sum(T mean, T before) const noexcept {
    if (behind_ == 0) return mean;
    return behind_ < 0 || mean == 0 ? before : before + mean;
  }

 private:
  [[nodiscard]] __device__ T momentum_of(std::int64_t image, int k, int done) const noexcept {
    if (call_.momentum == nullptr || call_.grad_x == nullptr || k >= done) return 0;
    return static_cast<T>(call_.momentum[image * call_.iterations + k]);
  }

  const ImageGradients<T>& call_;
  std::int64_t end_ = 0;  // of the image that was gone to
  int behind_ = 0;        // iterations that the image has had behind this one
  T momentum_ = 0;        // of this iteration, and of the one behind
  T after_ = 0;
};

}  // namespace tautstring::detail
