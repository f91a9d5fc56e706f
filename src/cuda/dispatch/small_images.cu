#include "cuda/dispatch/small_images.h"

#include <algorithm>
#include <limits>

#include "cuda/dispatch/device.h"
#include "cuda/dispatch/image_launches.cuh"
#include "cuda/kernels/kernel_small_images.cuh"

namespace tautline::detail {
namespace {

constexpr int kLargestSide = 64;

bool fits_a_block(const Images& images) noexcept {
  return std::max(images.height, images.width) <= kLargestSide &&
         images.count <= std::numeric_limits<std::int32_t>::max();
}

template <class Call>
Status launch(void (*kernel)(Call), int side, std::size_t shared, const Call& call,
              const Context& context) noexcept {
  if (const Status status = allow_shared_memory(kernel, shared); !status.ok()) return status;
  kernel<<<static_cast<unsigned>(call.count), side, shared, stream_of(context)>>>(call);
  return launch_status();
}

template <int kSide, bool kAccelerated>
Status launch(const SmallImages& call, const Context& context) noexcept {
  return launch(&kernel_small_images<kSide, kAccelerated>, kSide,
                image_bytes(kSide, call.height, call.width, kAccelerated), call, context);
}
template <int kSide, bool kAccelerated>
Status launch(const SmallGradients& call, const Context& context) noexcept {
  return launch(&kernel_small_gradients<kSide, kAccelerated>, kSide,
                image_gradient_bytes(kSide, kAccelerated), call, context);
}

template <class Call>
Status launch_for_size(const Call& call, bool is_accelerated, const Context& context) noexcept {
  if (std::max(call.height, call.width) <= kLanes) {
    return is_accelerated ? launch<kLanes, true>(call, context)
                          : launch<kLanes, false>(call, context);
  }
  return is_accelerated ? launch<kLargestSide, true>(call, context)
                        : launch<kLargestSide, false>(call, context);
}

SavedCodes saved_codes(const Images& images) noexcept {
  const SavedPasses saved(images);
  return {images.count, saved.row_words, saved.column_words};
}

LineGradients lay_out(const ImageArray& array, const Images& images, Lines2d lines) noexcept {
  if (!array.given) return {};
  return {array.data, array.dtype, place(array, images, lines)};
}

}  // namespace

bool is_for_a_block(const Forward2d& call) noexcept {
  const bool by_edge = call.row_lam.array.width > 1 || call.column_lam.array.height > 1;
  return fits_a_block(call.images) && call.x.dtype != DType::float64 && !by_edge &&
         call.solver.tol == 0 && call.solver.derivative == Derivative2d::of_iterations &&
         !call.start.given && !call.dual.given && call.gap == nullptr;
}

bool is_for_a_block(const Backward2d& call) noexcept {
  const bool by_line = (!call.grad_row_lam.given || call.grad_row_lam.width == 1) &&
                       (!call.grad_column_lam.given || call.grad_column_lam.height == 1);
  return fits_a_block(call.solved.images) && call.grad_y.dtype != DType::float64 && by_line &&
         call.solved.derivative == Derivative2d::of_iterations;
}

Status small_images_forward(const Forward2d& call, const Context& context) noexcept {
  const Images& images = call.images;
  SmallImages small = {};
  small.count = images.count;
  small.height = images.height;
  small.width = images.width;
  small.iterations = call.solver.iterations;
  small.sharp = call.mode == Mode::sharp;
  small.dtype = call.x.dtype;
  small.x = place(call.x, images, Lines2d::rows);
  small.x_data = call.x.data;
  small.y = place(call.y, images, Lines2d::rows);
  small.y_data = call.y.data;
  small.row_lam = place(call.row_lam, images, Lines2d::rows);
  small.column_lam = place(call.column_lam, images, Lines2d::columns);
  small.partitions = call.partitions;
  small.saved = saved_codes(images);
  small.momentum = call.momentum;
  small.iterations_done = call.iterations;
  return launch_for_size(small, call.solver.method == Method2d::accelerated, context);
}

Status small_images_backward(const Backward2d& call, const Context& context) noexcept {
  const SolvedImages& solved = call.solved;
  const Images& images = solved.images;
  SmallGradients small = {};
  small.count = images.count;
  small.height = images.height;
  small.width = images.width;
  small.iterations = solved.iterations;
  small.sharp = solved.mode == Mode::sharp;
  small.partitions = solved.partitions;
  small.saved = saved_codes(images);
  small.momentum = solved.momentum;
  small.done = solved.done;
  small.grad_y = place(call.grad_y, images, Lines2d::rows);
  small.grad_y_data = call.grad_y.data;
  small.grad_y_dtype = call.grad_y.dtype;
  if (call.grad_x.given) {
    small.grad_x = place(call.grad_x, images, Lines2d::rows);
    small.grad_x_data = call.grad_x.data;
    small.grad_x_dtype = call.grad_x.dtype;
  }
  small.row_lam = lay_out(call.grad_row_lam, images, Lines2d::rows);
  small.column_lam = lay_out(call.grad_column_lam, images, Lines2d::columns);
  return launch_for_size(small, solved.momentum != nullptr, context);
}

}  // namespace tautline::detail
