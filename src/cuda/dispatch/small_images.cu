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

template <class Storage, int kSide, bool kAccelerated>
Status launch(const SmallImages<Storage>& call, const Context& context) noexcept {
  auto* kernel = &kernel_small_images<Storage, kSide, kAccelerated>;
  const std::size_t shared =
      image_bytes<ArithmeticOf<Storage>>(kSide, call.height, call.width, kAccelerated);
  if (const Status status = allow_shared_memory(kernel, shared); !status.ok()) return status;
  kernel<<<static_cast<unsigned>(call.count), kSide, shared, stream_of(context)>>>(call);
  return launch_status();
}

template <class Storage>
Status forward_in(const Forward2d& call, const Context& context) noexcept {
  const Images& images = call.images;
  const SavedPasses saved(images);
  SmallImages<Storage> small = {};
  small.count = images.count;
  small.height = images.height;
  small.width = images.width;
  small.iterations = call.solver.iterations;
  small.sharp = call.mode == Mode::sharp;
  small.x = {by_lines(call.x, images.batch_dims, Lines2d::rows), lines_of(images, Lines2d::rows)};
  small.y = {by_lines(call.y, images.batch_dims, Lines2d::rows), lines_of(images, Lines2d::rows)};
  small.row_lam = place(call.row_lam, images, Lines2d::rows);
  small.column_lam = place(call.column_lam, images, Lines2d::columns);
  small.partitions = call.partitions;
  small.row_words = saved.row_words;
  small.column_words = saved.column_words;
  small.momentum = call.momentum;
  small.iterations_done = call.iterations;
  const bool is_accelerated = call.solver.method == Method2d::accelerated;
  if (std::max(images.height, images.width) <= kLanes) {
    return is_accelerated ? launch<Storage, kLanes, true>(small, context)
                          : launch<Storage, kLanes, false>(small, context);
  }
  return is_accelerated ? launch<Storage, kLargestSide, true>(small, context)
                        : launch<Storage, kLargestSide, false>(small, context);
}

template <class Storage, int kSide, bool kAccelerated>
Status launch(const SmallGradients<Storage>& call, const Context& context) noexcept {
  auto* kernel = &kernel_small_gradients<Storage, kSide, kAccelerated>;
  const std::size_t shared = image_gradient_bytes<ArithmeticOf<Storage>>(kSide, kAccelerated);
  if (const Status status = allow_shared_memory(kernel, shared); !status.ok()) return status;
  kernel<<<static_cast<unsigned>(call.count), kSide, shared, stream_of(context)>>>(call);
  return launch_status();
}

LineGradients lay_out(const ImageArray& array, const Images& images, Lines2d lines) noexcept {
  if (!array.given) return {};
  return {array.data, array.dtype, place(array, images, lines)};
}

template <class Storage>
Status backward_in(const Backward2d& call, const Context& context) noexcept {
  const SolvedImages& solved = call.solved;
  const Images& images = solved.images;
  const SavedPasses saved(images);
  const Rows rows = lines_of(images, Lines2d::rows);
  SmallGradients<Storage> small = {};
  small.count = images.count;
  small.height = images.height;
  small.width = images.width;
  small.iterations = solved.iterations;
  small.sharp = solved.mode == Mode::sharp;
  small.partitions = solved.partitions;
  small.row_words = saved.row_words;
  small.column_words = saved.column_words;
  small.momentum = solved.momentum;
  small.done = solved.done;
  small.grad_y = {by_lines(call.grad_y, images.batch_dims, Lines2d::rows), rows};
  small.wants_x = call.grad_x.given;
  if (small.wants_x) {
    small.grad_x = {by_lines(call.grad_x, images.batch_dims, Lines2d::rows), rows};
  }
  small.row_lam = lay_out(call.grad_row_lam, images, Lines2d::rows);
  small.column_lam = lay_out(call.grad_column_lam, images, Lines2d::columns);
  const bool is_accelerated = solved.momentum != nullptr;
  if (std::max(images.height, images.width) <= kLanes) {
    return is_accelerated ? launch<Storage, kLanes, true>(small, context)
                          : launch<Storage, kLanes, false>(small, context);
  }
  return is_accelerated ? launch<Storage, kLargestSide, true>(small, context)
                        : launch<Storage, kLargestSide, false>(small, context);
}

}  // namespace

bool is_for_a_block(const Forward2d& call) noexcept {
  const bool by_edge = call.row_lam.array.width > 1 || call.column_lam.array.height > 1;
  return fits_a_block(call.images) && call.x.dtype != DType::float64 && !by_edge &&
         call.solver.tol == 0 && call.solver.derivative == Derivative2d::of_iterations &&
         !call.start.given && !call.dual.given && call.gap == nullptr;
}

Status small_images_forward(const Forward2d& call, const Context& context) noexcept {
  switch (call.x.dtype) {
    case DType::float16: return forward_in<__half>(call, context);
    case DType::bfloat16: return forward_in<__nv_bfloat16>(call, context);
    default: return forward_in<float>(call, context);
  }
}

bool is_for_a_block(const Backward2d& call) noexcept {
  const bool by_edge = call.grad_row_lam.width > 1 || call.grad_column_lam.height > 1;
  const bool has_lams = (!call.grad_row_lam.given || call.grad_row_lam.width == 1) &&
                        (!call.grad_column_lam.given || call.grad_column_lam.height == 1);
  const bool same_type = !call.grad_x.given || call.grad_x.dtype == call.grad_y.dtype;
  return fits_a_block(call.solved.images) && call.grad_y.dtype != DType::float64 && !by_edge &&
         has_lams && same_type && call.solved.derivative == Derivative2d::of_iterations;
}

Status small_images_backward(const Backward2d& call, const Context& context) noexcept {
  switch (call.grad_y.dtype) {
    case DType::float16: return backward_in<__half>(call, context);
    case DType::bfloat16: return backward_in<__nv_bfloat16>(call, context);
    default: return backward_in<float>(call, context);
  }
}

}  // namespace tautline::detail
