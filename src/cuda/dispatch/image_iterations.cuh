// The iterations of a batch of images on CUDA: alternating passes over all rows and all columns,
// and the steps between them. A pass reads its input and X and writes the input of the next one,
// except that a pass over columns writes its solution where that is needed.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cuda/dispatch/backward.h"
#include "cuda/dispatch/forward.h"
#include "cuda/dispatch/image_gap.cuh"
#include "cuda/dispatch/image_launches.cuh"
#include "cuda/dispatch/rows.h"
#include "cuda/dispatch/unweighted.h"
#include "cuda/kernels/kernel_images.cuh"
#include "cuda/warp/image_step.cuh"
#include "step/row/row_io.h"
#include "step/row/scratch.h"

namespace tautstring::detail {

inline std::size_t passes_workspace(const Images& images) noexcept {
  return std::max(unweighted_workspace(lines_of(images, Lines2d::rows)),
                  unweighted_workspace(lines_of(images, Lines2d::columns)));
}

inline RowLam lam_of_lines(const ImageLam& lam, const Images& images, Lines2d lines) noexcept {
  RowLam result = {lam.number, {}};
  if (lam.array.given) result.array = by_lines(lam.array, images.batch_dims, lines);
  return result;
}

/// What all passes of a call share.
template <class T>
class Passes {
 public:
  Passes(const Images& images, std::byte* workspace, const Context& context) noexcept
      : images_(images), context_(context) {
    context_.workspace = workspace;
    context_.workspace_size = passes_workspace(images);
  }

  [[nodiscard]] Status forward(Lines2d lines, const ImageLam& lam, const T* in, T* y,
                               std::uint32_t* partition) const noexcept {
    return unweighted_forward(forward_call(lines, lam, in, y, partition), context_);
  }
  /// A forward pass that writes the input of the pass over the other lines.
  [[nodiscard]] Status forward_on(Lines2d lines, const ImageLam& lam, const T* x, T* q, const T* in,
                                  T* next_in, std::uint32_t* partition) const noexcept {
    const ImagePass<T> pass = {x, q, lines == Lines2d::columns};
    return pass_in(forward_call(lines, lam, in, next_in, partition), pass, context_);
  }

  /// A backward pass that writes the incoming gradient of the previous pass. `grad_lam`, if given,
  /// is packed.
  [[nodiscard]] Status backward_on(Lines2d lines, const std::uint32_t* partition, const T* in,
                                   T* next_in, const ImageGradients<T>& gradients,
                                   const ImageArray& grad_lam) const noexcept {
    Backward1d call;
    call.solved.rows = lines_of(images_, lines);
    call.solved.partition = partition;
    call.grad_y = array<const void>(in, lines);
    call.grad_x = array<void>(next_in, lines);
    if (grad_lam.given) call.grad_lam = by_lines(grad_lam, images_.batch_dims, lines);
    return backward_pass_in(call, gradients, context_);
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
  [[nodiscard]] Forward1d forward_call(Lines2d lines, const ImageLam& lam, const T* in, T* out,
                                       std::uint32_t* partition) const noexcept {
    Forward1d call;
    call.rows = lines_of(images_, lines);
    call.x = array<const void>(in, lines);
    call.lam = lam_of_lines(lam, images_, lines);
    call.y = array<void>(out, lines);
    call.partition = partition;
    return call;
  }
  template <class Data>
  [[nodiscard]] BasicRowArray<Data> array(Data* data, Lines2d lines) const noexcept {
    return by_lines(packed_images(data, kDType<T>, images_, images_.height, images_.width),
                    images_.batch_dims, lines);
  }

  const Images& images_;
  Context context_;
};

/// Arrays of the whole batch.
template <class T>
struct PassArrays {
  PassArrays(Scratch& scratch, const Images& images) noexcept
      : x(scratch.take<T>(images.count * pixels_of(images))),
        input(scratch.take<T>(images.count * pixels_of(images))),
        y(scratch.take<T>(images.count * pixels_of(images))),
        q(scratch.take<T>(images.count * pixels_of(images))),
        q_ahead(scratch.take<T>(images.count * pixels_of(images))),
        sums(scratch.take<double>(images.count * ImageTiles(pixels_of(images)).tiles)),
        progress(scratch.take<ImageProgress>(images.count)),
        still_running(scratch.take<std::int32_t>(1)),
        facts(scratch, images),
        gaps(scratch, images),
        passes(scratch.take<std::byte>(static_cast<std::int64_t>(passes_workspace(images)))) {}

  T* x;
  T* input;
  T* y;
  T* q;
  T* q_ahead;
  double* sums;
  ImageProgress* progress;
  std::int32_t* still_running;
  FactArrays<T> facts;
  GapArrays gaps;
  std::byte* passes;
};

template <class T>
class BatchIterations {
 public:
  BatchIterations(const Images& images, const ImageLam& lam_rows, const ImageLam& lam_cols,
                  Method2d method, const PassArrays<T>& memory, const Context& context) noexcept
      : images_(images),
        method_(method),
        lam_rows_(lam_rows),
        lam_cols_(lam_cols),
        memory_(memory),
        tiles_(pixels_of(images)),
        passes_(images, memory.passes, context),
        launches_(context),
        samples_(memory.x) {
    arrays_ = {memory.x, memory.y, memory.input, memory.y, memory.q, memory.q_ahead};
    if (is_dykstra()) {  // it has no q, and needs y and the rows' input at the same time
      arrays_.row_input = memory.q;
      arrays_.q = nullptr;
    }
  }

  [[nodiscard]] Launches& launches() noexcept { return launches_; }
  [[nodiscard]] const ImageTiles& tiles() const noexcept { return tiles_; }
  [[nodiscard]] const ImageArrays<T>& arrays() const noexcept { return arrays_; }
  [[nodiscard]] const ImageFacts* facts() const noexcept { return memory_.facts.facts; }
  [[nodiscard]] PlacedLam lam_rows() const noexcept {
    return place(lam_rows_, images_, Lines2d::rows);
  }
  [[nodiscard]] PlacedLam lam_cols() const noexcept {
    return place(lam_cols_, images_, Lines2d::columns);
  }

  template <class... Parameters, class... Arguments>
  void over_tiles(void (*kernel)(ImageTiles, Parameters...),
                  const Arguments&... arguments) noexcept {
    launches_.launch(kernel, images_.count * tiles_.tiles, tiles_, arguments...);
  }

  /// Samples that are already packed in the arithmetic type are used in place.
  void load(const ConstImageArray& x) noexcept {
    if (x.dtype == kDType<T> && is_packed(x, images_)) {
      samples_ = static_cast<const T*>(x.data);
    } else {
      launches_.pack(x, images_, memory_.x);
    }
  }

  /// Called after load(). `momentum`, if not null, receives that of all `iterations`.
  void begin(const ConstImageArray& start, const FactsCall<T>& call, double* momentum,
             int iterations) noexcept {
    FactsCall<T> own = call;
    own.x = samples_;
    if (start.given) {  // stored in y for now
      launches_.pack(start, images_, memory_.y);
      own.start = memory_.y;
    }
    find_facts(launches_, images_, lam_rows_, lam_cols_, own, memory_.facts);
    if (is_dykstra()) {
      launches_.clear(momentum, images_.count * iterations);
      momentum = nullptr;
    }
    over_tiles(&kernel_begin_images<T>, samples_, memory_.x, arrays_, facts(), own.start,
               memory_.progress, momentum, iterations);
    row_input_ = start.given ? arrays_.row_input : arrays_.x;
  }

  /// Partitions may be null. Writes the y of the iteration or, without `gives_y` in Dykstra's
  /// method, only the input of the rows of the next iteration.
  void iterate(std::uint32_t* rows, std::uint32_t* columns, bool gives_y) noexcept {
    // If rows start from X itself, their solution is the input of the columns.
    launches_.add(row_input_ == arrays_.x
                      ? passes_.forward(Lines2d::rows, lam_rows_, arrays_.x, arrays_.input, rows)
                      : passes_.forward_on(Lines2d::rows, lam_rows_, arrays_.x, arrays_.q_ahead,
                                           row_input_, arrays_.input, rows));
    has_y_ = gives_y || !is_dykstra();
    launches_.add(
        has_y_ ? passes_.forward(Lines2d::columns, lam_cols_, arrays_.input, arrays_.y, columns)
               : passes_.forward_on(Lines2d::columns, lam_cols_, arrays_.x, arrays_.q_ahead,
                                    arrays_.input, arrays_.row_input, columns));
    row_input_ = arrays_.row_input;
  }

  /// Prepares iteration k.
  void go_on(double* momentum, int iterations, int k) noexcept {
    if (is_dykstra()) {
      if (has_y_) over_tiles(&kernel_begin_rows<T>, arrays_, memory_.progress);
      return;
    }
    over_tiles(&kernel_momentum_terms<T>, arrays_, facts(), memory_.sums);
    over_tiles(&kernel_accelerate_rows<T>, arrays_, memory_.sums, memory_.progress, momentum,
               iterations, k);
  }

  /// Launches `use`, a kernel with one block per image, on the gaps of the tiles: those of any y
  /// with the dual variables of the last iterate.
  template <class... Parameters, class... Arguments>
  void find_gaps_of(const T* y, bool only_moved,
                    void (*use)(const Quality*, std::int64_t, Parameters...),
                    const Arguments&... arguments) noexcept {
    GapCall<T> gap = {};
    gap.images = images_;
    gap.x = arrays_.x;
    gap.column_input = arrays_.input;
    gap.column_output = arrays_.y;
    gap.y = y;
    gap.lam_rows = lam_rows();
    gap.lam_cols = lam_cols();
    gap.facts = facts();
    gap.only_moved = only_moved;
    find_gaps(launches_, gap, memory_.gaps);
    launches_.launch(use, images_.count, memory_.gaps.tiles, gap_tiles(images_), arguments...);
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

 private:
  // In the first iteration rows read x as begin() left it; an image that has stopped reads its own
  // input again.
  static_assert(kIterationsBetweenLooks > 1);

  [[nodiscard]] bool is_dykstra() const noexcept { return method_ == Method2d::dykstra; }

  const Images& images_;
  const Method2d method_;
  const ImageLam& lam_rows_;
  const ImageLam& lam_cols_;
  const PassArrays<T> memory_;
  const ImageTiles tiles_;
  const Passes<T> passes_;
  Launches launches_;
  const T* samples_;  // as given, packed
  ImageArrays<T> arrays_;
  const T* row_input_ = nullptr;  // of the next iteration
  bool has_y_ = false;
};

}  // namespace tautstring::detail
