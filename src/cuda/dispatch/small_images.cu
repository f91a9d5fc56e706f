#include "cuda/dispatch/small_images.h"

#include <algorithm>
#include <limits>

#include "cuda/dispatch/device.h"
#include "cuda/dispatch/image_launches.cuh"
#include "cuda/dispatch/small_iterations.cuh"
#include "cuda/kernels/kernel_small_images.cuh"

namespace tautstring::detail {
namespace {

constexpr int kLargestSide = 64;

/// Whether x can be read in whole groups of 16-byte parts.
bool may_stay_in_memory(const SmallImages& call) noexcept {
  const PlacedPixels<const void>& x = call.x;
  bool fits = x.dtype == DType::float32 && call.height % kSamplesAtOnce == 0 &&
              call.width % kSamplesAtOnce == 0 && x.images.stride == 1 &&
              x.row_stride % kPart == 0 &&
              reinterpret_cast<std::uintptr_t>(x.data) % sizeof(Part) == 0;
  for (int d = 0; d < x.images.dims; ++d) fits = fits && x.images.step[d] % kPart == 0;
  return fits;
}

template <class Call>
Status launch(void (*kernel)(Call), int side, std::size_t shared, const Call& call,
              const Context& context) noexcept {
  if (const Status status = allow_shared_memory(kernel, shared); !status.ok()) return status;
  kernel<<<static_cast<unsigned>(call.count), side, shared, stream_of(context)>>>(call);
  return launch_status();
}

template <int kSide, bool kAccelerated, bool kXInShared>
Status launch_forward(const SmallImages& call, const Context& context) noexcept {
  return launch(&kernel_small_images<kSide, kAccelerated, kXInShared>, kSide,
                image_bytes(kSide, call.height, call.width, kAccelerated, kXInShared), call,
                context);
}
template <int kSide, bool kAccelerated>
Status launch(const SmallImages& call, const Context& context) noexcept {
  if constexpr (kSide > kLanes || kAccelerated) {  // otherwise shared memory is not the limit
    if (may_stay_in_memory(call)) {
      return launch_forward<kSide, kAccelerated, false>(call, context);
    }
  }
  return launch_forward<kSide, kAccelerated, true>(call, context);
}
template <int kSide, bool kAccelerated>
Status launch(const SmallGradients& call, const Context& context) noexcept {
  return launch(&kernel_small_gradients<kSide, kAccelerated>, kSide,
                image_gradient_bytes(kSide, call.height, call.width, kAccelerated), call, context);
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

SavedCodes saved_codes(const Images& images, Derivative2d derivative) noexcept {
  const SavedPasses saved(images);
  const bool keeps_all = derivative == Derivative2d::unrolled;
  return {images.count,  saved.row_words, saved.column_words, keeps_all ? saved.words() : 0,
          images.height, images.width};
}

LineGradients lay_out(const ImageArray& array, const Images& images, Lines2d lines) noexcept {
  if (!array.given) return {};
  return {array.data, array.dtype, place(array, images, lines)};
}

}  // namespace

bool are_for_blocks(const Images& images, DType dtype, bool by_edge) noexcept {
  return std::max(images.height, images.width) <= kLargestSide &&
         images.count <= std::numeric_limits<std::int32_t>::max() && dtype != DType::float64 &&
         !by_edge;
}

bool are_for_blocks(const Forward2d& call) noexcept {
  return are_for_blocks(call.images, call.x.dtype,
                        is_by_edge(call.lam_rows.array, call.lam_cols.array));
}

bool is_for_a_block(const Forward2d& call) noexcept {
  return is_plain(call) && are_for_blocks(call);
}

bool is_for_a_block(const Backward2d& call) noexcept {
  return is_plain(call) && are_for_blocks(call.solved.images, call.grad_y.dtype,
                                          is_by_edge(call.grad_lam_rows, call.grad_lam_cols));
}

namespace {

SmallImages lay_out(const Forward2d& call) noexcept {
  const Images& images = call.images;
  SmallImages small = {};
  small.count = images.count;
  small.height = images.height;
  small.width = images.width;
  small.iterations = call.solver.iterations;
  small.last = call.solver.iterations;
  small.sharp = call.mode == Mode::sharp;
  small.lam_rows = place(call.lam_rows, images, Lines2d::rows);
  small.lam_cols = place(call.lam_cols, images, Lines2d::columns);
  small.partitions = call.partitions;
  small.saved = saved_codes(images, call.solver.derivative);
  small.momentum = call.momentum;
  return small;
}

}  // namespace

Status small_images_forward(const Forward2d& call, const Context& context) noexcept {
  SmallImages small = lay_out(call);
  small.x = place_pixels(call.x, call.images);
  small.y = place_pixels(call.y, call.images);
  small.iterations_done = call.iterations;
  return launch_for_size(small, call.solver.method == Method2d::accelerated, context);
}

Status small_images_iterate(const Forward2d& call, const SmallState& state, int first, int last,
                            std::uint32_t* partitions, const Context& context) noexcept {
  const Images& images = call.images;
  SmallImages small = lay_out(call);
  small.x = place_pixels(packed_images<const void>(state.arrays.x, DType::float32, images,
                                                   images.height, images.width),
                         images);
  small.state = state;
  small.first = first;
  small.last = last;
  small.partitions = partitions;
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
  small.saved = saved_codes(images, solved.derivative);
  small.momentum = solved.momentum;
  small.done = solved.done;
  small.grad_y = place_pixels(call.grad_y, images);
  small.grad_x = place_pixels(call.grad_x, images);
  small.lam_rows = lay_out(call.grad_lam_rows, images, Lines2d::rows);
  small.lam_cols = lay_out(call.grad_lam_cols, images, Lines2d::columns);
  return launch_for_size(small, solved.momentum != nullptr, context);
}

}  // namespace tautstring::detail
