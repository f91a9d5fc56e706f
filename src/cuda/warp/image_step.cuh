// One backward pass over images, computed from the means of the incoming gradients.
// agent/agent_image_gradient.cuh has the recurrence.
#pragma once

#include <cstdint>

#include "cuda/warp/placed_images.cuh"

namespace tautstring::detail {

/// The arguments of a pass over images. The images are contiguous in all arrays.
template <class T>
struct ImageGradients {
  std::int64_t pixels;       // of an image
  std::int64_t lines;        // of an image, in the direction of the pass
  int iterations;            // of the call
  int k;                     // the iteration of this pass
  const std::int32_t* done;  // null: all iterations
  const double* momentum;    // null: none
  T* grad_x;                 // null for a pass over columns
  T* q;                      // of the next iteration, if that has momentum; then of this one

  [[nodiscard]] __device__ int done_of(std::int64_t image) const noexcept {
    return iterations_of(done, iterations, image);
  }
  /// Whether the image of this line has had this iteration.
  [[nodiscard]] __device__ bool counts(std::int64_t line) const noexcept {
    return done == nullptr || k < done_of(line / lines);
  }
  /// Whether another pass follows. The rows of the first iteration are the last pass.
  [[nodiscard]] __device__ bool goes_on() const noexcept { return k > 0 || grad_x == nullptr; }
};

/// What is done with pixels, which come in memory order.
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

  /// The incoming gradient of the pass before, from that of this pass. Unchanged in iterations that
  /// an image has not had.
  [[nodiscard]] __device__ T next(T mean, T incoming) const noexcept {
    const bool is_whole = behind_ == 0 && call_.grad_x == nullptr;
    const T next = is_whole ? mean : mean - incoming;
    return behind_ < 0 ? incoming : next;
  }
  /// Whether next_with_momentum must be used; never in iterations that the image has not had.
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
  /// grad_x after a pass over rows. A mean of 0 keeps all its bits.
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
  std::int64_t end_ = 0;  // of the current image
  int behind_ = 0;        // iterations of the image after this one
  T momentum_ = 0;        // of this iteration, and of the one after it
  T after_ = 0;
};

}  // namespace tautstring::detail
