#include "cuda/dispatch/image_passes.h"

#include <algorithm>
#include <type_traits>

#include "cuda/dispatch/component_means.cuh"
#include "cuda/dispatch/device.h"
#include "cuda/dispatch/image_iterations.cuh"
#include "cuda/dispatch/small_iterations.cuh"
#include "cuda/dispatch/workspace.h"

namespace tautstring::detail {
namespace {

template <class T>
struct ForwardArrays {
  ForwardArrays(Scratch& scratch, const Images& images) noexcept
      : iterations(scratch, images),
        partitions(scratch.take<std::uint32_t>(SavedPasses(images).words())),
        components(scratch, images, iterations.q) {}

  PassArrays<T> iterations;
  std::uint32_t* partitions;  // of the last passes, if the caller does not want them
  /// For polishing: parents use the memory of q, and polished values that of q_ahead, which only
  /// the iterations need.
  ComponentArrays components;
};

template <class T>
struct BackwardArrays {
  BackwardArrays(Scratch& scratch, const Images& images) noexcept {
    const std::int64_t all = images.count * pixels_of(images);
    for (T** array : {&grad_y, &grad_x, &row_incoming, &column_incoming, &q}) {
      *array = scratch.take<T>(all);
    }
    pass_lam = scratch.take<T>(all);  // there are more pixels than edges
    lam_rows = scratch.take<double>(all);
    lam_cols = scratch.take<double>(all);
    passes = scratch.take<std::byte>(static_cast<std::int64_t>(passes_workspace(images)));
  }

  T* grad_y;
  T* grad_x;
  T* row_incoming;     // the incoming gradient of a pass: gB
  T* column_incoming;  // h; in the first pass it is grad_y
  T* q;                // of the next iteration, if that has momentum
  T* pass_lam;
  double* lam_rows;
  double* lam_cols;
  std::byte* passes;
};

template <class T>
class ForwardPasses {
 public:
  ForwardPasses(const Forward2d& call, const ForwardArrays<T>& memory,
                const Context& context) noexcept
      : call_(call),
        images_(call.images),
        memory_(memory),
        context_(context),
        progress_(memory.iterations.progress),
        iterations_(call.images, call.lam_rows, call.lam_cols, call.solver.method,
                    memory.iterations, context),
        launches_(iterations_.launches()) {}

  Status run() noexcept {
    const Solver2d& solver = call_.solver;
    iterations_.load(call_.x);
    iterations_.begin(call_.start, {}, call_.momentum, solver.iterations);
    for (int k = 0; k < solver.iterations && launches_.status().ok();) {
      const int first = k;
      k = solver.tol > 0 ? std::min(k + kIterationsBetweenLooks, solver.iterations)
                         : solver.iterations;
      iterate(first, k);
      if (solver.tol > 0 || call_.wants_quality()) look_at_gaps(k);
      if (solver.tol > 0 && k < solver.iterations && iterations_.has_all_stopped()) {
        repeat_partitions(k - 1);
        break;
      }
    }
    if (polishes()) polish();
    finish();
    return launches_.status();
  }

 private:
  [[nodiscard]] bool is_implicit() const noexcept {
    return call_.solver.derivative == Derivative2d::implicit;
  }
  /// The partitions of the last passes only, or of all passes; null: none.
  [[nodiscard]] std::uint32_t* partitions() const noexcept {
    if (call_.partitions != nullptr) return call_.partitions;
    return polishes() ? memory_.partitions : nullptr;
  }
  [[nodiscard]] std::uint32_t* partition(Lines2d lines, int k) const noexcept {
    if (partitions() == nullptr) return nullptr;
    const SavedPasses saved(images_);
    const int kept = is_implicit() ? 0 : k;
    return partitions() + (lines == Lines2d::rows ? saved.rows(0, kept) : saved.columns(0, kept));
  }

  void iterate(int first, int last) noexcept {
    if constexpr (std::is_same_v<T, float>) {
      if (are_for_blocks(call_)) {
        launches_.add(small_images_iterate(call_,
                                           {iterations_.facts(), progress_, iterations_.arrays()},
                                           first, last, partitions(), context_));
        return;
      }
    }
    for (int k = first; k < last; ++k) {
      if (k > 0) iterations_.go_on(call_.momentum, call_.solver.iterations, k);
      iterations_.iterate(partition(Lines2d::rows, k), partition(Lines2d::columns, k),
                          k + 1 == last || call_.solver.tol > 0);
    }
  }

  void look_at_gaps(int done) noexcept {
    launches_.clear(memory_.iterations.still_running, 1);
    iterations_.find_gaps_of(iterations_.arrays().y, false, &kernel_stop_images, call_.solver.tol,
                             done, progress_, memory_.iterations.still_running);
  }

  /// Fills the partitions of iterations that were not run: an image that has stopped would repeat
  /// its last iteration.
  void repeat_partitions(int last) noexcept {
    if (call_.partitions == nullptr || is_implicit()) return;
    const auto words = static_cast<std::size_t>(SavedPasses(images_).words());
    for (int k = last + 1; k < call_.solver.iterations; ++k) {
      launches_.add(cudaMemcpyAsync(partition(Lines2d::rows, k), partition(Lines2d::rows, last),
                                    words * sizeof(std::uint32_t), cudaMemcpyDeviceToDevice,
                                    launches_.stream()));
    }
  }

  /// Whether the values of the components may replace the result: with implicit derivatives, for
  /// images that have come near the solution, the components of the derivatives also determine the
  /// values.
  [[nodiscard]] bool polishes() const noexcept {
    return is_implicit() && call_.solver.tol > 0 && can_find_components(images_);
  }
  [[nodiscard]] T* polished() const noexcept { return memory_.iterations.q_ahead; }
  void polish() noexcept {
    ComponentMeans components(images_, partitions(), memory_.components, launches_);
    iterations_.over_tiles(&kernel_samples<T>, iterations_.arrays().x, components.values());
    components.average_pulled(iterations_.lam_rows(), iterations_.lam_cols(), polished());
    iterations_.find_gaps_of(polished(), false, &kernel_take_polished, progress_);
  }

  void finish() noexcept {
    const std::int64_t pixels = pixels_of(images_);
    const std::int64_t all = images_.count * pixels;
    T* returned = call_.wants_quality() ? memory_.iterations.q : nullptr;
    FinishCall<T> finish = {};
    finish.elements = {all, images_.width};
    finish.pixels = pixels;
    finish.arrays = iterations_.arrays();
    finish.facts = iterations_.facts();
    finish.progress = progress_;
    finish.polished = polishes() ? polished() : nullptr;
    finish.returned = returned;
    finish.sharp = call_.mode == Mode::sharp;
    finish.x = place(call_.x, images_, Lines2d::rows);
    finish.x_data = call_.x.data;
    finish.dtype = call_.x.dtype;
    finish.y = place(call_.y, images_, Lines2d::rows);
    finish.y_data = call_.y.data;
    if (call_.dual.given) {
      finish.dual = place(call_.dual, images_, Lines2d::rows);
      finish.dual_data = call_.dual.data;
      finish.dual_dtype = call_.dual.dtype;
    }
    with_device_storage(call_.x.dtype, [&](auto storage) {
      launches_.launch_over(&kernel_finish_images<decltype(storage), T>, all, finish);
    });
    if (returned != nullptr) {  // the gap includes rounding to the dtype and by the offset
      const bool only_moved = call_.x.dtype == kDType<T> && !finish.sharp;
      iterations_.find_gaps_of(returned, only_moved, &kernel_take_qualities, only_moved,
                               iterations_.facts(), progress_);
    }
    const TellCall tell = {.height = images_.height,
                           .width = images_.width,
                           .facts = iterations_.facts(),
                           .progress = progress_,
                           .tol = held_to(call_.solver, call_.x.dtype),
                           .iterations = call_.iterations,
                           .gaps = call_.gap,
                           .objectives = call_.objective,
                           .converged = call_.converged,
                           .partitions = call_.partitions,
                           .saved = SavedPasses(images_),
                           .kept = is_implicit() ? 1 : call_.solver.iterations};
    launches_.launch(&kernel_tell_images, images_.count, tell);
  }

  const Forward2d& call_;
  const Images& images_;
  const ForwardArrays<T> memory_;
  const Context& context_;
  ImageProgress* const progress_;
  BatchIterations<T> iterations_;
  Launches& launches_;
};

template <class T>
class BackwardPasses {
 public:
  BackwardPasses(const Backward2d& call, const BackwardArrays<T>& memory,
                 const Context& context) noexcept
      : call_(call),
        images_(call.solved.images),
        memory_(memory),
        tiles_(pixels_of(images_)),
        passes_(images_, memory.passes, context),
        launches_(context) {}

  Status run() noexcept {
    const SolvedImages& solved = call_.solved;
    launches_.pack(call_.grad_y, images_, memory_.grad_y);
    if (solved.mode == Mode::sharp) over_tiles(&kernel_negate_gradients<T>, memory_.grad_y);
    launches_.clear(memory_.lam_rows, lam_count(call_.grad_lam_rows));
    launches_.clear(memory_.lam_cols, lam_count(call_.grad_lam_cols));
    const SavedPasses saved(images_);
    const T* incoming = memory_.grad_y;
    for (int k = solved.iterations - 1; k >= 0; --k) {
      pass(Lines2d::columns, k, solved.partitions + saved.columns(0, k), incoming,
           memory_.row_incoming, call_.grad_lam_cols, memory_.lam_cols);
      pass(Lines2d::rows, k, solved.partitions + saved.rows(0, k), memory_.row_incoming,
           memory_.column_incoming, call_.grad_lam_rows, memory_.lam_rows);
      incoming = memory_.column_incoming;
    }
    if (solved.mode == Mode::sharp) {
      over_tiles(&kernel_mirror_gradients<T>, memory_.grad_y, memory_.grad_x);
    }
    launches_.unpack(call_.grad_x, images_, memory_.grad_x);
    launches_.unpack(call_.grad_lam_rows, images_, memory_.lam_rows);
    launches_.unpack(call_.grad_lam_cols, images_, memory_.lam_cols);
    return launches_.status();
  }

 private:
  template <class... Parameters, class... Arguments>
  void over_tiles(void (*kernel)(ImageTiles, Parameters...),
                  const Arguments&... arguments) noexcept {
    launches_.launch(kernel, images_.count * tiles_.tiles, tiles_, arguments...);
  }

  [[nodiscard]] std::int64_t lam_count(const ImageArray& gradient) const noexcept {
    return gradient.given ? elements_of(gradient, images_).count : 0;
  }

  void pass(Lines2d lines, int k, const std::uint32_t* partition, const T* in, T* next_in,
            const ImageArray& grad_lam, double* sums) noexcept {
    const bool is_of_rows = lines == Lines2d::rows;
    ImageGradients<T> gradients = {};
    gradients.pixels = tiles_.pixels;
    gradients.lines = is_of_rows ? images_.height : images_.width;
    gradients.iterations = call_.solved.iterations;
    gradients.k = k;
    gradients.done = call_.solved.done;
    gradients.momentum = call_.solved.momentum;
    gradients.grad_x = is_of_rows ? memory_.grad_x : nullptr;
    gradients.q = memory_.q;
    ImageArray terms;
    const std::int64_t count = lam_count(grad_lam);
    if (count > 0) {
      terms = packed_images<void>(memory_.pass_lam, kDType<T>, images_, grad_lam.height,
                                  grad_lam.width);
    }
    launches_.add(passes_.backward_on(lines, partition, in, next_in, gradients, terms));
    if (count > 0) {
      launches_.launch_over(&kernel_add_grad_lam<T>, count, count, memory_.pass_lam, sums);
    }
  }

  const Backward2d& call_;
  const Images& images_;
  const BackwardArrays<T> memory_;
  const ImageTiles tiles_;
  const Passes<T> passes_;
  Launches launches_;
};

template <class T>
Status jvp_in(const Jvp2d& call, const Context& context) noexcept {
  const SolvedImages& solved = call.solved;
  const Images& images = solved.images;
  Scratch scratch(static_cast<std::byte*>(context.workspace));
  const PassArrays<T> memory(scratch, images);
  const ImageTiles tiles(pixels_of(images));
  const std::int64_t all = images.count * tiles.pixels;
  const Passes<T> passes(images, memory.passes, context);
  Launches launches(context);
  const ImageArrays<T> arrays = {memory.x, memory.input, memory.input,
                                 memory.y, memory.q,     memory.q_ahead};
  if (call.tangent_x.given) {
    launches.pack(call.tangent_x, images, memory.x);
  } else {
    launches.add(
        cudaMemsetAsync(memory.x, 0, static_cast<std::size_t>(all) * sizeof(T), launches.stream()));
  }
  const SavedPasses saved(images);
  const std::int64_t blocks = images.count * tiles.tiles;
  for (int k = 0; k < solved.iterations; ++k) {
    launches.launch(&kernel_begin_tangents<T>, blocks, tiles, arrays, solved.momentum, solved.done,
                    solved.iterations, k);
    launches.add(passes.jvp(Lines2d::rows, solved.partitions + saved.rows(0, k), arrays.row_input,
                            call.tangent_lam_rows, arrays.y));
    launches.launch(&kernel_begin_column_tangents<T>, blocks, tiles, arrays);
    launches.add(passes.jvp(Lines2d::columns, solved.partitions + saved.columns(0, k), arrays.input,
                            call.tangent_lam_cols, arrays.y));
  }
  if (solved.mode == Mode::sharp) {
    launches.launch(&kernel_mirror_tangents<T>, blocks, tiles, arrays);
  }
  launches.unpack(call.tangent_y, images, static_cast<const T*>(memory.y));
  return launches.status();
}

template <class T>
std::size_t workspace_in(const Images& images) noexcept {
  Scratch forward(nullptr);
  ForwardArrays<T>(forward, images);
  Scratch backward(nullptr);
  BackwardArrays<T>(backward, images);
  return std::max(forward.used(), backward.used());
}

}  // namespace

std::size_t image_passes_workspace(const Images& images, DType dtype) noexcept {
  return dtype == DType::float64 ? workspace_in<double>(images) : workspace_in<float>(images);
}

namespace {

template <class T>
Status forward_in(const Forward2d& call, const Context& context) noexcept {
  Scratch scratch(static_cast<std::byte*>(context.workspace));
  return ForwardPasses<T>(call, ForwardArrays<T>(scratch, call.images), context).run();
}

template <class T>
Status backward_in(const Backward2d& call, const Context& context) noexcept {
  Scratch scratch(static_cast<std::byte*>(context.workspace));
  return BackwardPasses<T>(call, BackwardArrays<T>(scratch, call.solved.images), context).run();
}

Status check_memory(const Images& images, DType dtype, const Context& context) noexcept {
  return check_workspace(image_passes_workspace(images, dtype), context, kImagesWorkspace);
}

}  // namespace

Status image_passes_forward(const Forward2d& call, const Context& context) noexcept {
  const Status status = check_memory(call.images, call.x.dtype, context);
  if (!status.ok()) return status;
  return call.x.dtype == DType::float64 ? forward_in<double>(call, context)
                                        : forward_in<float>(call, context);
}

Status image_passes_backward(const Backward2d& call, const Context& context) noexcept {
  const DType dtype = call.grad_y.dtype;
  const Status status = check_memory(call.solved.images, dtype, context);
  if (!status.ok()) return status;
  return dtype == DType::float64 ? backward_in<double>(call, context)
                                 : backward_in<float>(call, context);
}

Status image_passes_jvp(const Jvp2d& call, const Context& context) noexcept {
  const DType dtype = call.tangent_y.dtype;
  const Status status = check_memory(call.solved.images, dtype, context);
  if (!status.ok()) return status;
  return dtype == DType::float64 ? jvp_in<double>(call, context) : jvp_in<float>(call, context);
}

Status empty_images_forward(const Forward2d& call, const Context& context) noexcept {
  Launches launches(context);
  const std::int64_t count = call.images.count;
  launches.clear(call.momentum, count * call.solver.iterations);
  launches.clear(call.gap, count);
  launches.clear(call.objective, count);
  launches.fill(call.converged, count, 1);  // images without pixels are solved
  launches.clear(call.iterations, count);
  return launches.status();
}

Status empty_images_gap(const Gap2d& call, const Context& context) noexcept {
  Launches launches(context);
  launches.clear(call.gap, call.images.count);
  return launches.status();
}

Status empty_images_backward(const Backward2d& call, const Context& context) noexcept {
  Launches launches(context);
  launches.clear(call.grad_lam_rows, call.solved.images);
  launches.clear(call.grad_lam_cols, call.solved.images);
  return launches.status();
}

}  // namespace tautstring::detail
