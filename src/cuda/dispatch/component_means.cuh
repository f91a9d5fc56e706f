// The linear map that the derivatives of the exact solution and polishing share: from values to the
// means of their components.
#pragma once

#include <cstdint>
#include <limits>

#include "cuda/dispatch/image_launches.cuh"
#include "cuda/kernels/kernel_components.cuh"
#include "cuda/kernels/kernel_small_components.cuh"
#include "step/row/scratch.h"

namespace tautstring::detail {

struct ComponentArrays {
  /// The parents may use memory that the caller needs before or after.
  ComponentArrays(Scratch& scratch, const Images& images, void* memory_of_parents) noexcept
      : values(scratch.take<double>(images.count * pixels_of(images))) {
    if (is_small_for_components(pixels_of(images))) return;
    parents = static_cast<std::int32_t*>(memory_of_parents);
    sizes = scratch.take<std::int32_t>(images.count * pixels_of(images));
    sums = scratch.take<unsigned long long>(images.count * pixels_of(images));
    largest = scratch.take<double>(images.count);
  }
  /// Null if none is needed.
  [[nodiscard]] static void* take_parents(Scratch& scratch, const Images& images) noexcept {
    if (is_small_for_components(pixels_of(images))) return nullptr;
    return scratch.take<std::int32_t>(images.count * pixels_of(images));
  }

  double* values;
  // Only for images that do not fit in a block.
  std::int32_t* parents = nullptr;
  std::int32_t* sizes = nullptr;
  unsigned long long* sums = nullptr;
  double* largest = nullptr;
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
    passes_ = {{partitions + saved.rows(0, 0), partitions + saved.columns(0, 0), images.height,
                images.width}};
    if (!can_find_components(images)) launches_.add(cudaErrorInvalidConfiguration);
  }

  [[nodiscard]] double* values() const noexcept { return arrays_.values; }
  [[nodiscard]] const LastPassesOfImages& passes() const noexcept { return passes_; }
  /// Whether an image fits in a block.
  [[nodiscard]] bool are_small() const noexcept { return is_small_for_components(tiles_.pixels); }

  template <class... Parameters, class... Arguments>
  void over_tiles(void (*kernel)(ImageTiles, Parameters...),
                  const Arguments&... arguments) noexcept {
    launches_.launch(kernel, images_.count * tiles_.tiles, tiles_, arguments...);
  }

  /// One block per image, with shared memory for it. Small images only.
  template <class... Parameters, class... Arguments>
  void over_small_images(void (*kernel)(Parameters...), const Arguments&... arguments) noexcept {
    launches_.launch_sharing(kernel, images_.count, small_components_bytes(tiles_.pixels),
                             arguments...);
  }

  /// Computes the means of the values.
  void average(double* means) noexcept {
    find();
    average_found(means);
  }
  /// Adds the pull of the lams to the values and computes the means.
  template <class Mean>
  void average_pulled(const PlacedLam& lam_rows, const PlacedLam& lam_cols, Mean* means) noexcept {
    if (are_small()) {
      over_small_images(&kernel_small_pulled_means<Mean>, passes_, lam_rows, lam_cols,
                        arrays_.values, means);
      return;
    }
    find();
    over_tiles(&kernel_add_pulls, passes_, components(), lam_rows, lam_cols, arrays_.values);
    average_found(means);
  }

 private:
  void find() noexcept {
    over_tiles(&kernel_begin_components, passes_, components());
    over_tiles(&kernel_join_components, passes_, components());
    over_tiles(&kernel_count_components, components());
  }
  template <class Mean>
  void average_found(Mean* means) noexcept {
    launches_.clear(arrays_.largest, images_.count);
    over_tiles(&kernel_largest, arrays_.values, arrays_.largest);
    over_tiles(&kernel_sum_components, arrays_.values, components());
    over_tiles(&kernel_average_components<Mean>, arrays_.values, components(), means);
  }
  [[nodiscard]] Components components() const noexcept {
    return {arrays_.parents, arrays_.sizes, arrays_.sums, arrays_.largest};
  }

  const Images& images_;
  const ImageTiles tiles_;
  const ComponentArrays arrays_;
  LastPassesOfImages passes_ = {};
  Launches& launches_;
};

}  // namespace tautstring::detail
