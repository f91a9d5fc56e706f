// The linear map that the derivatives of the exact solution and its polishing share: values to the
// means of their components.
#pragma once

#include <cstdint>
#include <limits>

#include "cuda/dispatch/image_launches.cuh"
#include "cuda/kernels/kernel_components.cuh"
#include "step/row/scratch.h"

namespace tautline::detail {

struct ComponentArrays {
  /// The parents, one a pixel, may have memory that the caller needs before or after.
  ComponentArrays(Scratch& scratch, const Images& images, void* memory_of_parents) noexcept
      : parents(static_cast<std::int32_t*>(memory_of_parents)),
        sizes(scratch.take<std::int32_t>(images.count * pixels_of(images))),
        sums(scratch.take<unsigned long long>(images.count * pixels_of(images))),
        values(scratch.take<double>(images.count * pixels_of(images))),
        largest(scratch.take<double>(images.count)) {}

  std::int32_t* parents;
  std::int32_t* sizes;
  unsigned long long* sums;
  double* values;
  double* largest;
};

/// Pixels are counted in 32 bits.
[[nodiscard]] inline bool can_find_components(const Images& images) noexcept {
  return pixels_of(images) <= std::numeric_limits<std::int32_t>::max();
}

class ComponentMeans {
 public:
  ComponentMeans(const Images& images, const std::uint32_t* partitions,
                 const ComponentArrays& arrays, Launches& launches) noexcept
      : images_(images), tiles_(pixels_of(images)), arrays_(arrays), launches_(launches) {
    const SavedPasses saved(images);
    passes_ = {partitions + saved.rows(0, 0), partitions + saved.columns(0, 0), images.height,
               images.width};
    if (!can_find_components(images)) launches_.add(cudaErrorInvalidConfiguration);
  }

  [[nodiscard]] double* values() const noexcept { return arrays_.values; }
  [[nodiscard]] const LastPasses& passes() const noexcept { return passes_; }

  template <class... Parameters, class... Arguments>
  void over_tiles(void (*kernel)(ImageTiles, Parameters...),
                  const Arguments&... arguments) noexcept {
    launches_.launch(kernel, images_.count * tiles_.tiles, tiles_, arguments...);
  }

  void find() noexcept {
    over_tiles(&kernel_begin_components, components());
    over_tiles(&kernel_join_components, passes_, components());
    over_tiles(&kernel_count_components, components());
  }
  /// Adds to values what lams pull at them. Components have been found.
  void add_pulls(const PlacedLam& row_lam, const PlacedLam& column_lam) noexcept {
    over_tiles(&kernel_add_pulls, passes_, components(), row_lam, column_lam, arrays_.values);
  }
  /// The means of values. Components have been found.
  template <class Mean>
  void average(Mean* means) noexcept {
    launches_.clear(arrays_.largest, images_.count);
    over_tiles(&kernel_largest, arrays_.values, arrays_.largest);
    over_tiles(&kernel_sum_components, arrays_.values, components());
    over_tiles(&kernel_average_components<Mean>, arrays_.values, components(), means);
  }

 private:
  [[nodiscard]] Components components() const noexcept {
    return {arrays_.parents, arrays_.sizes, arrays_.sums, arrays_.largest};
  }

  const Images& images_;
  const ImageTiles tiles_;
  const ComponentArrays arrays_;
  LastPasses passes_ = {};
  Launches& launches_;
};

}  // namespace tautline::detail
