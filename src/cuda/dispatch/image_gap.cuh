// The duality gaps of all images of a batch, for any Y, with the dual variables of an iterate.
#pragma once

#include <cstdint>

#include "cuda/dispatch/image_launches.cuh"
#include "cuda/kernels/kernel_image_gap.cuh"
#include "step/row/scratch.h"

namespace tautstring::detail {

/// Memory for the batch.
struct GapArrays {
  GapArrays(Scratch& scratch, const Images& images) noexcept
      : tiles(scratch.take<Quality>(images.count * gap_tiles(images))) {
    if (gap_tiles(images) == 1) return;
    row_sums = scratch.take<double>(images.count * images.height * gap_tiles(images.width));
    column_sums = scratch.take<double>(images.count * images.width * gap_tiles(images.height));
  }

  Quality* tiles;
  double* row_sums = nullptr;
  double* column_sums = nullptr;
};

/// Facts about the images, needed for their gaps and for the passes over them.
template <class T>
struct FactArrays {
  FactArrays(Scratch& scratch, const Images& images) noexcept
      : facts(scratch.take<ImageFacts>(images.count)),
        looks(scratch.take<Look<T>>(images.count * ImageTiles(pixels_of(images)).tiles)),
        start_looks(scratch.take<Look<T>>(images.count * ImageTiles(pixels_of(images)).tiles)),
        candidate_looks(scratch.take<Look<T>>(images.count * ImageTiles(pixels_of(images)).tiles)) {
  }

  ImageFacts* facts;
  Look<T>* looks;
  Look<T>* start_looks;
  Look<T>* candidate_looks;
};

/// Packed arrays from which the facts are computed.
template <class T>
struct FactsCall {
  const T* x = nullptr;
  const T* start = nullptr;  // may be null; so may the candidate
  /// If given, images whose candidate is not finite are refused, and no image is copied.
  const T* candidate = nullptr;
};

template <class T>
void find_facts(Launches& launches, const Images& images, const ImageLam& lam_rows,
                const ImageLam& lam_cols, const FactsCall<T>& call,
                const FactArrays<T>& memory) noexcept {
  const ImageTiles tiles(pixels_of(images));
  const std::int64_t blocks = images.count * tiles.tiles;
  const auto look_at = [&](const T* values, const PlacedLam& rows, const PlacedLam& columns,
                           Look<T>* looks) -> const Look<T>* {
    if (values == nullptr) return nullptr;
    launches.launch(&kernel_look_at_tiles<T>, blocks, tiles, values, images, rows, columns, looks);
    return looks;
  };
  const Look<T>* looks = look_at(call.x, place(lam_rows, images, Lines2d::rows),
                                 place(lam_cols, images, Lines2d::columns), memory.looks);
  const Look<T>* start = look_at(call.start, {}, {}, memory.start_looks);
  const Look<T>* candidate = look_at(call.candidate, {}, {}, memory.candidate_looks);
  const bool has_lam_number = (!lam_rows.array.given && lam_rows.number != 0) ||
                              (!lam_cols.array.given && lam_cols.number != 0);
  launches.launch(&kernel_know_images<T>, images.count, tiles, call.x, looks, start, candidate,
                  has_lam_number, memory.facts);
}

/// Leaves the gaps of the tiles (gap_tiles per image), times the square of the image's scale. The
/// call must have everything except the memory.
template <class T>
void find_gaps(Launches& launches, GapCall<T> call, const GapArrays& memory) noexcept {
  call.row_sums = memory.row_sums;
  call.column_sums = memory.column_sums;
  call.tiles = memory.tiles;
  const Images& images = call.images;
  const std::int64_t threads = images.count * gap_tiles(images) * kLanes;
  const std::int64_t blocks = (threads + kImageThreads - 1) / kImageThreads;
  if (memory.row_sums != nullptr) {
    const std::int64_t lines = images.count * (std::int64_t{images.height} + images.width);
    launches.launch(&kernel_gap_sums<T>, blocks, call);
    launches.launch_over(&kernel_gap_sums_before<T>, lines, call);
  }
  launches.launch(&kernel_gap<T>, blocks, call);
}

}  // namespace tautstring::detail
