#include "cuda/dispatch/image_passes.h"

#include <algorithm>
#include <utility>

#include "cuda/dispatch/component_means.cuh"
#include "cuda/dispatch/device.h"
#include "cuda/dispatch/image_gap.cuh"
#include "cuda/dispatch/image_launches.cuh"
#include "cuda/dispatch/rows.h"
#include "cuda/dispatch/unweighted.h"
#include "cuda/dispatch/workspace.h"
#include "cuda/kernels/kernel_images.cuh"
#include "step/row/scratch.h"

namespace tautline::detail {
namespace {

template <class T>
constexpr DType kDType = sizeof(T) == sizeof(float) ? DType::float32 : DType::float64;

std::size_t passes_workspace(const Images& images) noexcept {
  return std::max(unweighted_workspace(lines_of(images, Lines2d::rows)),
                  unweighted_workspace(lines_of(images, Lines2d::columns)));
}

/// Arrays of the whole batch. Polishing takes its components' parents from those that the
/// iterations have left: see ForwardPasses.
template <class T>
struct ForwardArrays {
  ForwardArrays(Scratch& scratch, const Images& images) noexcept
      : x(scratch.take<T>(images.count * pixels_of(images))),
        input(scratch.take<T>(images.count * pixels_of(images))),
        y(scratch.take<T>(images.count * pixels_of(images))),
        q(scratch.take<T>(images.count * pixels_of(images))),
        q_ahead(scratch.take<T>(images.count * pixels_of(images))),
        sums(scratch.take<double>(images.count * ImageTiles(pixels_of(images)).tiles)),
        progress(scratch.take<ImageProgress>(images.count)),
        still_running(scratch.take<std::int32_t>(1)),
        partitions(scratch.take<std::uint32_t>(SavedPasses(images).words())),
        facts(scratch, images),
        gaps(scratch, images),
        components(scratch, images, q) {
    passes = scratch.take<std::byte>(static_cast<std::int64_t>(passes_workspace(images)));
  }

  T* x;
  T* input;
  T* y;
  T* q;
  T* q_ahead;
  double* sums;
  ImageProgress* progress;
  std::int32_t* still_running;
  std::uint32_t* partitions;  // of the last passes, where the caller does not want them
  FactArrays<T> facts;
  GapArrays gaps;
  ComponentArrays components;
  std::byte* passes;
};

template <class T>
struct BackwardArrays {
  BackwardArrays(Scratch& scratch, const Images& images) noexcept {
    const std::int64_t all = images.count * pixels_of(images);
    for (T** array : {&gradients.grad_y, &gradients.grad_x, &gradients.incoming, &gradients.mean,
                      &gradients.q_next, &gradients.q_after}) {
      *array = scratch.take<T>(all);
    }
    pass_lam = scratch.take<T>(all);  // there are more pixels than edges
    row_lam = scratch.take<double>(all);
    column_lam = scratch.take<double>(all);
    passes = scratch.take<std::byte>(static_cast<std::int64_t>(passes_workspace(images)));
  }

  GradientArrays<T> gradients;
  T* pass_lam;
  double* row_lam;
  double* column_lam;
  std::byte* passes;
};

RowLam lam_of_lines(const ImageLam& lam, const Images& images, Lines2d lines) noexcept {
  RowLam result = {lam.number, {}};
  if (lam.array.given) result.array = by_lines(lam.array, images.batch_dims, lines);
  return result;
}

/// What the passes of one call share.
template <class T>
class Passes {
 public:
  Passes(const Images& images, std::byte* workspace, const Context& context) noexcept
      : images_(images), context_(context) {
    context_.workspace = workspace;
    context_.workspace_size = passes_workspace(images);
  }

  [[nodiscard]] Status forward(Lines2d lines, const ImageLam& lam, const T* in, T* out,
                               std::uint32_t* partition) const noexcept {
    Forward1d call;
    call.rows = lines_of(images_, lines);
    call.x = array<const void>(in, lines);
    call.lam = lam_of_lines(lam, images_, lines);
    call.y = array<void>(out, lines);
    call.partition = partition;
    return unweighted_forward(call, context_);
  }

  /// `grad_lam`, where it is given, is packed.
  [[nodiscard]] Status backward(Lines2d lines, const std::uint32_t* partition, const T* in, T* mean,
                                const ImageArray& grad_lam) const noexcept {
    Backward1d call;
    call.solved.rows = lines_of(images_, lines);
    call.solved.partition = partition;
    call.grad_y = array<const void>(in, lines);
    call.grad_x = array<void>(mean, lines);
    if (grad_lam.given) call.grad_lam = by_lines(grad_lam, images_.batch_dims, lines);
    return unweighted_backward(call, context_);
  }

  [[nodiscard]] Status jvp(Lines2d lines, const std::uint32_t* partition, const T* in,
                           const ConstImageArray& lam, T* out) const noexcept {
    Jvp1d call;
    call.solved.rows = lines_of(images_, lines);
    call.solved.partition = partition;
    call.tangent_x = array<const void>(in, lines);
    if (lam.given) call.tangent_lam = by_lines(lam, images_.batch_dims, lines);
    call.tangent_y = array<void>(out, lines);
    return rows_jvp(call, context_);
  }

 private:
  template <class Data>
  [[nodiscard]] BasicRowArray<Data> array(Data* data, Lines2d lines) const noexcept {
    return by_lines(packed_images(data, kDType<T>, images_, images_.height, images_.width),
                    images_.batch_dims, lines);
  }

  const Images& images_;
  Context context_;
};

template <class T>
class ForwardPasses {
 public:
  ForwardPasses(const Forward2d& call, const ForwardArrays<T>& memory,
                const Context& context) noexcept
      : call_(call),
        images_(call.images),
        memory_(memory),
        tiles_(pixels_of(call.images)),
        passes_(call.images, memory.passes, context),
        launches_(context) {}

  Status run() noexcept {
    begin();
    const Solver2d& solver = call_.solver;
    for (int k = 0; k < solver.iterations && launches_.status().ok(); ++k) {
      if (k > 0) begin_iteration(k);
      launches_.add(passes_.forward(Lines2d::rows, call_.row_lam, arrays_.input, arrays_.y,
                                    partition(Lines2d::rows, k)));
      over_tiles(&kernel_begin_columns<T>, arrays_);
      launches_.add(passes_.forward(Lines2d::columns, call_.column_lam, arrays_.input, arrays_.y,
                                    partition(Lines2d::columns, k)));
      const bool is_last = k + 1 == solver.iterations;
      const bool looks = solver.tol > 0 && ((k + 1) % kIterationsBetweenLooks == 0 || is_last);
      if (looks || (is_last && call_.gap != nullptr)) look_at_gaps(k + 1);
      if (looks && !is_last && has_all_stopped()) {
        repeat_partitions(k);
        break;
      }
    }
    if (polishes()) polish();
    finish();
    return launches_.status();
  }

 private:
  static constexpr int kIterationsBetweenLooks = 4;

  template <class... Parameters, class... Arguments>
  void over_tiles(void (*kernel)(ImageTiles, Parameters...),
                  const Arguments&... arguments) noexcept {
    launches_.launch(kernel, images_.count * tiles_.tiles, tiles_, arguments...);
  }

  [[nodiscard]] const ImageFacts* facts() const noexcept { return memory_.facts.facts; }

  void begin() noexcept {
    const bool in_place = call_.y.data == call_.x.data;
    const bool is_ready = call_.x.dtype == kDType<T> && is_packed(call_.x, images_);
    arrays_ = {is_ready && !in_place ? static_cast<const T*>(call_.x.data) : memory_.x,
               memory_.input, memory_.y, memory_.q, memory_.q_ahead};
    if (arrays_.x == memory_.x) launches_.pack(call_.x, images_, memory_.x);
    const T* start = nullptr;
    if (call_.start.given) {  // for a while in y's place
      launches_.pack(call_.start, images_, memory_.y);
      start = memory_.y;
    }
    find_facts(launches_, images_, arrays_.x, start, call_.row_lam, call_.column_lam,
               memory_.facts);
    over_tiles(&kernel_begin_images<T>, arrays_, facts(), start, memory_.progress, call_.momentum,
               call_.solver.iterations);
  }

  void begin_iteration(int k) noexcept {
    const int iterations = call_.solver.iterations;
    if (call_.solver.method == Method2d::dykstra) {
      over_tiles(&kernel_begin_rows<T>, arrays_, facts(), memory_.progress, call_.momentum,
                 iterations, k);
      return;
    }
    over_tiles(&kernel_momentum_terms<T>, arrays_, facts(), memory_.sums);
    over_tiles(&kernel_accelerate_rows<T>, arrays_, facts(), memory_.sums, memory_.progress,
               call_.momentum, iterations, k);
  }

  [[nodiscard]] bool is_of_solution() const noexcept {
    return call_.solver.derivative == Derivative2d::of_solution;
  }
  /// Of the last passes alone, of all, or none.
  [[nodiscard]] std::uint32_t* partitions() const noexcept {
    if (call_.partitions != nullptr) return call_.partitions;
    return polishes() ? memory_.partitions : nullptr;
  }
  [[nodiscard]] std::uint32_t* partition(Lines2d lines, int k) const noexcept {
    if (partitions() == nullptr) return nullptr;
    const SavedPasses saved(images_);
    const int kept = is_of_solution() ? 0 : k;
    return partitions() + (lines == Lines2d::rows ? saved.rows(0, kept) : saved.columns(0, kept));
  }

  /// Leaves what the tiles of images have, of any y by the last iterate.
  void find_gaps_of(const T* y, bool only_moved) noexcept {
    GapCall<T> gap = {};
    gap.images = images_;
    gap.x = arrays_.x;
    gap.column_input = arrays_.input;
    gap.column_output = arrays_.y;
    gap.y = y;
    gap.row_lam = place(call_.row_lam, images_, Lines2d::rows);
    gap.column_lam = place(call_.column_lam, images_, Lines2d::columns);
    gap.facts = facts();
    gap.only_moved = only_moved;
    find_gaps(launches_, gap, memory_.gaps);
  }

  void look_at_gaps(int done) noexcept {
    launches_.clear(memory_.still_running, 1);
    find_gaps_of(arrays_.y, false);
    launches_.launch(&kernel_stop_images, images_.count, memory_.gaps.tiles, gap_tiles(images_),
                     call_.solver.tol, done, memory_.progress, memory_.still_running);
  }

  /// Waits for the device, but not while a graph is captured, which runs all iterations.
  [[nodiscard]] bool has_all_stopped() noexcept {
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    launches_.add(cudaStreamIsCapturing(launches_.stream(), &capture));
    if (capture != cudaStreamCaptureStatusNone || !launches_.status().ok()) return false;
    std::int32_t still_running = 0;
    launches_.add(cudaMemcpyAsync(&still_running, memory_.still_running, sizeof(still_running),
                                  cudaMemcpyDeviceToHost, launches_.stream()));
    launches_.add(cudaStreamSynchronize(launches_.stream()));
    return still_running == 0 && launches_.status().ok();
  }

  /// An image that has stopped would do its last iteration again and again.
  void repeat_partitions(int last) noexcept {
    if (call_.partitions == nullptr || is_of_solution()) return;
    const auto words = static_cast<std::size_t>(SavedPasses(images_).words());
    for (int k = last + 1; k < call_.solver.iterations; ++k) {
      launches_.add(cudaMemcpyAsync(partition(Lines2d::rows, k), partition(Lines2d::rows, last),
                                    words * sizeof(std::uint32_t), cudaMemcpyDeviceToDevice,
                                    launches_.stream()));
    }
  }

  /// Where the solution's derivatives are wanted of images that have come near it, the components
  /// that these are taken on also give its values.
  [[nodiscard]] bool polishes() const noexcept {
    return is_of_solution() && call_.solver.tol > 0 && can_find_components(images_);
  }
  /// What only iterations need gives its memory: q the components' parents, q_ahead the values.
  [[nodiscard]] T* polished() const noexcept { return memory_.q_ahead; }
  void polish() noexcept {
    ComponentMeans components(images_, partitions(), memory_.components, launches_);
    components.find();
    over_tiles(&kernel_samples<T>, arrays_.x, facts(), components.values());
    components.add_pulls(place(call_.row_lam, images_, Lines2d::rows),
                         place(call_.column_lam, images_, Lines2d::columns));
    components.average(polished());
    find_gaps_of(polished(), false);
    launches_.launch(&kernel_take_polished, images_.count, memory_.gaps.tiles, gap_tiles(images_),
                     memory_.progress);
  }

  void finish() noexcept {
    const std::int64_t all = images_.count * tiles_.pixels;
    T* returned = call_.gap != nullptr ? memory_.q : nullptr;
    FinishCall<T> finish = {};
    finish.elements = {all, images_.width};
    finish.pixels = tiles_.pixels;
    finish.arrays = arrays_;
    finish.facts = facts();
    finish.progress = memory_.progress;
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
    if (returned != nullptr) {  // what the result loses by its offset belongs to the gap
      find_gaps_of(returned, true);
      launches_.launch(&kernel_take_gaps, images_.count, memory_.gaps.tiles, gap_tiles(images_),
                       facts(), memory_.progress);
    }
    const TellCall tell = {
        images_.height,   images_.width,        facts(),
        memory_.progress, call_.iterations,     call_.gap,
        call_.partitions, SavedPasses(images_), is_of_solution() ? 1 : call_.solver.iterations};
    launches_.launch(&kernel_tell_images, images_.count, tell);
  }

  const Forward2d& call_;
  const Images& images_;
  const ForwardArrays<T> memory_;
  const ImageTiles tiles_;
  const Passes<T> passes_;
  Launches launches_;
  ImageArrays<T> arrays_ = {};
};

template <class T>
class BackwardPasses {
 public:
  BackwardPasses(const Backward2d& call, const BackwardArrays<T>& memory,
                 const Context& context) noexcept
      : call_(call),
        images_(call.solved.images),
        memory_(memory),
        arrays_(memory.gradients),
        tiles_(pixels_of(images_)),
        passes_(images_, memory.passes, context),
        launches_(context) {}

  Status run() noexcept {
    const SolvedImages& solved = call_.solved;
    launches_.pack(call_.grad_y, images_, arrays_.grad_y);
    over_tiles(&kernel_begin_gradients<T>, arrays_, solved.mode == Mode::sharp);
    launches_.clear(memory_.row_lam, lam_count(call_.grad_row_lam));
    launches_.clear(memory_.column_lam, lam_count(call_.grad_column_lam));
    const SavedPasses saved(images_);
    for (int k = solved.iterations - 1; k >= 0; --k) {
      over_tiles(&kernel_gradient_of_columns<T>, arrays_, solved.momentum, solved.done,
                 solved.iterations, k);
      pass(Lines2d::columns, solved.partitions + saved.columns(0, k), call_.grad_column_lam,
           memory_.column_lam);
      over_tiles(&kernel_gradient_of_rows<T>, arrays_, solved.done, solved.iterations, k);
      pass(Lines2d::rows, solved.partitions + saved.rows(0, k), call_.grad_row_lam,
           memory_.row_lam);
      over_tiles(&kernel_gradient_before<T>, arrays_);
      std::swap(arrays_.q_next, arrays_.q_after);
    }
    if (solved.mode == Mode::sharp) over_tiles(&kernel_mirror_gradients<T>, arrays_);
    launches_.unpack(call_.grad_x, images_, arrays_.grad_x);
    launches_.unpack(call_.grad_row_lam, images_, memory_.row_lam);
    launches_.unpack(call_.grad_column_lam, images_, memory_.column_lam);
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

  void pass(Lines2d lines, const std::uint32_t* partition, const ImageArray& grad_lam,
            double* sums) noexcept {
    ImageArray terms;
    const std::int64_t count = lam_count(grad_lam);
    if (count > 0) {
      terms = packed_images<void>(memory_.pass_lam, kDType<T>, images_, grad_lam.height,
                                  grad_lam.width);
    }
    launches_.add(passes_.backward(lines, partition, arrays_.incoming, arrays_.mean, terms));
    if (count > 0) {
      launches_.launch_over(&kernel_add_grad_lam<T>, count, count, memory_.pass_lam, sums);
    }
  }

  const Backward2d& call_;
  const Images& images_;
  const BackwardArrays<T> memory_;
  GradientArrays<T> arrays_;
  const ImageTiles tiles_;
  const Passes<T> passes_;
  Launches launches_;
};

template <class T>
Status jvp_in(const Jvp2d& call, const Context& context) noexcept {
  const SolvedImages& solved = call.solved;
  const Images& images = solved.images;
  Scratch scratch(static_cast<std::byte*>(context.workspace));
  const ForwardArrays<T> memory(scratch, images);
  const ImageTiles tiles(pixels_of(images));
  const std::int64_t all = images.count * tiles.pixels;
  const Passes<T> passes(images, memory.passes, context);
  Launches launches(context);
  const ImageArrays<T> arrays = {memory.x, memory.input, memory.y, memory.q, memory.q_ahead};
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
    launches.add(passes.jvp(Lines2d::rows, solved.partitions + saved.rows(0, k), arrays.input,
                            call.tangent_row_lam, arrays.y));
    launches.launch(&kernel_begin_columns<T>, blocks, tiles, arrays);
    launches.add(passes.jvp(Lines2d::columns, solved.partitions + saved.columns(0, k), arrays.input,
                            call.tangent_column_lam, arrays.y));
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
  launches.clear(call.iterations, count);
  return launches.status();
}

Status empty_images_backward(const Backward2d& call, const Context& context) noexcept {
  Launches launches(context);
  launches.clear(call.grad_row_lam, call.solved.images);
  launches.clear(call.grad_column_lam, call.solved.images);
  return launches.status();
}

}  // namespace tautline::detail
