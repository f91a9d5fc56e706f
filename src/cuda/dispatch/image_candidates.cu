#include "cuda/dispatch/image_candidates.h"

#include "cuda/dispatch/image_iterations.cuh"
#include "cuda/dispatch/workspace.h"

namespace tautstring::detail {
namespace {

/// In float64 for all dtypes, as on the CPU.
struct CandidateArrays {
  CandidateArrays(Scratch& scratch, const Images& images) noexcept
      : iterations(scratch, images), y(scratch.take<double>(images.count * pixels_of(images))) {}

  PassArrays<double> iterations;
  double* y;  // without x's offset
};

}  // namespace

std::size_t image_candidates_workspace(const Images& images) noexcept {
  Scratch scratch(nullptr);
  CandidateArrays(scratch, images);
  return scratch.used();
}

Status image_candidates_gap(const Gap2d& call, const Context& context) noexcept {
  const Images& images = call.images;
  const Status status =
      check_workspace(image_candidates_workspace(images), context, kImagesWorkspace);
  if (!status.ok()) return status;
  Scratch scratch(static_cast<std::byte*>(context.workspace));
  const CandidateArrays memory(scratch, images);
  BatchIterations<double> iterations(images, call.lam_rows, call.lam_cols, Method2d::accelerated,
                                     memory.iterations, context);
  Launches& launches = iterations.launches();
  ImageProgress* progress = memory.iterations.progress;
  const int most = call.dual.given ? 1 : kGapIterations;
  iterations.load(call.x);
  launches.pack(call.y, images, memory.y);
  iterations.begin(call.dual, {.candidate = memory.y}, nullptr, most);
  iterations.over_tiles(&kernel_count_candidates<double>, iterations.facts(), memory.y);
  for (int done = 1; launches.status().ok(); ++done) {
    iterations.iterate(nullptr, nullptr, true);
    const bool is_last = done == most;
    if (is_last || done % kIterationsBetweenLooks == 0) {
      iterations.find_gaps_of(memory.y, false, &kernel_lower_gaps, progress);
      if (is_last) break;
      launches.clear(memory.iterations.still_running, 1);
      iterations.find_gaps_of(iterations.arrays().y, false, &kernel_stop_gaps, progress,
                              memory.iterations.still_running);
      if (iterations.has_all_stopped()) break;
    }
    iterations.go_on(nullptr, most, done);
  }
  const TellCall tell = {.height = images.height,
                         .width = images.width,
                         .facts = iterations.facts(),
                         .progress = progress,
                         .gaps = call.gap,
                         .saved = SavedPasses(images)};
  launches.launch(&kernel_tell_images, images.count, tell);
  return launches.status();
}

}  // namespace tautstring::detail
