// The duality gap of any Y, with the dual variables of an iterate, for all images of a batch: see
// step/image/gap.h. All arrays are packed, in the arithmetic type of the call; sums are float64.
//
// Mapping: one warp per tile of 32 x 32 pixels of an image, one lane per column of the tile. Rows
// are read with coalesced loads. Each lane sums the dual variables along its column; the warp sums
// those along rows by a scan. What precedes a tile comes from sums over the tiles before it, which
// two kernels compute first if an image has several tiles. Traffic: the four arrays once, three of
// them once more for the sums, and 16 bytes per 32 pixels. The order of all sums depends only on
// the size of an image: no atomics, and the same bits in any batch.
#pragma once

#include <cstdint>
#include <limits>

#include "cuda/kernels/kernel_images.cuh"
#include "step/image/gap.h"

namespace tautstring::detail {

/// P = x - column_input and Q = column_input - column_output are the changes of the pixels by the
/// dual variables along rows and along columns; `y` may be column_output.
template <class T>
struct GapCall {
  Images images;
  const T* x;  // less the offset of its image, as the next three
  const T* column_input;
  const T* column_output;
  const T* y;
  PlacedLam lam_rows;
  PlacedLam lam_cols;
  const ImageFacts* facts;
  bool only_moved;  // images without an offset are skipped
  /// Sums of duals over tiles, later over the tiles before each: by image, tile along the row
  /// (column) and row (column). Null if an image has one tile.
  double* row_sums;
  double* column_sums;
  Quality* tiles;  // by image, row of tiles and tile in that row
};

[[nodiscard]] constexpr std::int64_t gap_tiles(std::int32_t length) noexcept {
  return (std::int64_t{length} + kLanes - 1) / kLanes;
}
/// The number of tiles of an image.
[[nodiscard]] constexpr std::int64_t gap_tiles(const Images& images) noexcept {
  return gap_tiles(images.height) * gap_tiles(images.width);
}

/// The tile of a warp, and the column of a lane in it.
template <class T>
class GapTile {
 public:
  __device__ explicit GapTile(const GapCall<T>& call) noexcept
      : call_(call),
        lane(static_cast<int>(threadIdx.x) % kLanes),
        index((std::int64_t{blockIdx.x} * kImageThreads + threadIdx.x) / kLanes) {
    image = index / gap_tiles(call.images);
    is_wanted = image < call.images.count && !(call.only_moved && call.facts[image].offset == 0);
    if (!is_wanted) return;
    const std::int64_t in_image = index - image * gap_tiles(call.images);
    down = in_image / gap_tiles(call.images.width);
    across = in_image - down * gap_tiles(call.images.width);
    first_row = static_cast<std::int32_t>(down * kLanes);
    first_column = static_cast<std::int32_t>(across * kLanes);
    column = first_column + lane;
    rows = min(call.images.height - first_row, kLanes);
    is_inside = column < call.images.width;
    scale = call.facts[image].scale;
  }

  /// The index of pixel (r, c) of the image.
  [[nodiscard]] __device__ std::int64_t at(std::int32_t r, std::int32_t c) const noexcept {
    return (image * call_.images.height + r) * call_.images.width + c;
  }
  [[nodiscard]] __device__ double difference(T from, T to) const noexcept {
    return scaled_difference(from, to, scale);
  }
  /// The contribution of pixel i to the dual variables along its row and along its column.
  [[nodiscard]] __device__ double row_term(std::int64_t i) const noexcept {
    return is_inside ? difference(call_.x[i], call_.column_input[i]) : 0;
  }
  [[nodiscard]] __device__ double column_term(std::int64_t i) const noexcept {
    return is_inside ? difference(call_.column_input[i], call_.column_output[i]) : 0;
  }
  /// The location of the tile's sum over the row first_row + lane, or over the lane's column.
  [[nodiscard]] __device__ double* row_sum() const noexcept {
    return call_.row_sums + (image * gap_tiles(call_.images.width) + across) * call_.images.height +
           first_row + lane;
  }
  [[nodiscard]] __device__ double* column_sum() const noexcept {
    return call_.column_sums +
           (image * gap_tiles(call_.images.height) + down) * call_.images.width + column;
  }

 private:
  const GapCall<T>& call_;

 public:
  const int lane;
  const std::int64_t index;
  std::int64_t image;
  std::int64_t down;  // number of tiles above it, and to its left
  std::int64_t across;
  std::int32_t first_row;
  std::int32_t first_column;
  std::int32_t column;
  std::int32_t rows;
  bool is_wanted;
  bool is_inside;
  double scale;
};

template <class T>
__global__ void kernel_gap_sums(const __grid_constant__ GapCall<T> call) {
  const GapTile<T> tile(call);
  if (!tile.is_wanted) return;  // a whole warp
  double of_row = 0;
  double of_column = 0;
#pragma unroll 4
  for (std::int32_t k = 0; k < tile.rows; ++k) {
    const std::int64_t i = tile.at(tile.first_row + k, tile.column);
    double sum = tile.row_term(i);
    of_column += tile.column_term(i);
    for (int apart = kLanes / 2; apart > 0; apart /= 2) {
      sum += __shfl_xor_sync(kWarp, sum, apart);
    }
    if (tile.lane == k) of_row = sum;
  }
  if (tile.lane < tile.rows) *tile.row_sum() = of_row;
  if (tile.is_inside) *tile.column_sum() = of_column;
}

/// Replaces the sums over tiles by sums over the tiles before each. One thread per line; neighbour
/// threads have neighbour lines.
template <class T>
__global__ void kernel_gap_sums_before(const __grid_constant__ GapCall<T> call) {
  const std::int64_t rows = call.images.count * call.images.height;
  const std::int64_t columns = call.images.count * call.images.width;
  const auto sum_up = [](double* sums, std::int64_t line, std::int32_t lines, std::int64_t tiles) {
    const std::int64_t image = line / lines;
    double* own = sums + image * tiles * lines + (line - image * lines);
    double before = 0;
    for (std::int64_t k = 0; k < tiles; ++k) {
      const double sum = own[k * lines];
      own[k * lines] = before;
      before += sum;
    }
  };
  const std::int64_t step = std::int64_t{gridDim.x} * kImageThreads;
  for (std::int64_t line = std::int64_t{blockIdx.x} * kImageThreads + threadIdx.x;
       line < rows + columns; line += step) {
    if (line < rows) {
      sum_up(call.row_sums, line, call.images.height, gap_tiles(call.images.width));
    } else {
      sum_up(call.column_sums, line - rows, call.images.width, gap_tiles(call.images.height));
    }
  }
}

template <class T>
__global__ void kernel_gap(const __grid_constant__ GapCall<T> call) {
  const GapTile<T> tile(call);
  if (!tile.is_wanted) return;  // a whole warp
  const std::int32_t height = call.images.height;
  const std::int32_t width = call.images.width;
  const double largest = call.facts[tile.image].largest * tile.scale;
  const auto counted = [&](double dual, double lam, double rise) {
    return counted_dual<T>(dual, lam, rise, largest);
  };
  // One row per lane: its dual variable at the edge before the tile, as summed and as used for the
  // gap.
  double row_before = 0;
  double row_counted_before = 0;
  if (tile.across > 0 && tile.lane < tile.rows) {
    const std::int32_t r = tile.first_row + tile.lane;
    const std::int64_t i = tile.at(r, tile.first_column);
    const double lam = call.lam_rows.at(tile.image * height + r, tile.first_column - 1);
    row_before = *tile.row_sum();
    row_counted_before = counted(row_before, scaled_lam<T>(lam, tile.scale),
                                 tile.difference(call.y[i - 1], call.y[i]));
  }
  // One column per lane.
  double v = 0;
  double above = 0;
  T y = 0;
  LineLams lams_of_column = {};
  if (tile.is_inside) {
    const std::int64_t i = tile.at(tile.first_row, tile.column);
    y = call.y[i];
    lams_of_column = call.lam_cols.of(tile.image * width + tile.column);
    if (tile.down > 0) {
      const double lam = lams_of_column.at(tile.first_row - 1);
      v = *tile.column_sum();
      above = counted(v, scaled_lam<T>(lam, tile.scale), tile.difference(call.y[i - width], y));
    }
  }
  const bool has_right = tile.column + 1 < width;
  Quality own;
  for (std::int32_t k = 0; k < tile.rows; ++k) {
    const std::int32_t r = tile.first_row + k;
    const std::int64_t i = tile.at(r, tile.column);
    double u = tile.row_term(i);
    for (int apart = 1; apart < kLanes; apart *= 2) {
      const double before = __shfl_up_sync(kWarp, u, apart);
      if (tile.lane >= apart) u += before;
    }
    u += __shfl_sync(kWarp, row_before, k);
    T y_right = __shfl_down_sync(kWarp, y, 1);
    if (has_right && tile.lane == kLanes - 1) y_right = call.y[i + 1];
    double right = 0;
    if (has_right) {
      const double lam =
          scaled_lam<T>(call.lam_rows.at(tile.image * height + r, tile.column), tile.scale);
      const double rise = tile.difference(y, y_right);
      right = counted(u, lam, rise);
      own.gap += edge_gap(right, lam, rise);
      own.objective += edge_objective(lam, rise);
    }
    double left = __shfl_up_sync(kWarp, right, 1);
    const double left_of_tile = __shfl_sync(kWarp, row_counted_before, k);
    if (tile.lane == 0) left = left_of_tile;
    if (!tile.is_inside) continue;
    v += tile.column_term(i);
    double below = 0;
    T y_below = 0;
    if (r + 1 < height) {
      y_below = call.y[i + width];
      const double lam = scaled_lam<T>(lams_of_column.at(r), tile.scale);
      const double rise = tile.difference(y, y_below);
      below = counted(v, lam, rise);
      own.gap += edge_gap(below, lam, rise);
      own.objective += edge_objective(lam, rise);
    }
    const double change = tile.difference(y, call.x[i]);
    const double residual = pixel_residual(left, right, above, below, change);
    own.gap += residual * residual / 2;
    own.objective += change * change / 2;
    above = below;
    y = y_below;
  }
  for (int apart = kLanes / 2; apart > 0; apart /= 2) {
    own.gap += __shfl_xor_sync(kWarp, own.gap, apart);
    own.objective += __shfl_xor_sync(kWarp, own.objective, apart);
  }
  if (tile.lane == 0) call.tiles[tile.index] = own;
}

/// The quality of a block's image, in all its threads.
[[nodiscard]] __device__ inline Quality sum_of_tiles(const Quality* tiles, std::int64_t image,
                                                     std::int64_t each) noexcept {
  Quality own;
  for (std::int64_t i = threadIdx.x; i < each; i += kImageThreads) {
    own.gap += tiles[image * each + i].gap;
    own.objective += tiles[image * each + i].objective;
  }
  return {sum_of_block(own.gap), sum_of_block(own.objective)};
}

/// One block per image: stops images whose gap is small enough, and counts those that continue.
__global__ inline void kernel_stop_images(const Quality* tiles, std::int64_t each, double tol,
                                          int done, ImageProgress* progress,
                                          std::int32_t* still_running) {
  const Quality quality = sum_of_tiles(tiles, blockIdx.x, each);
  ImageProgress& own = progress[blockIdx.x];
  if (threadIdx.x != 0 || own.is_stopped) return;
  own.quality = quality;
  if (tol > 0 && is_within(quality, tol)) {
    own.is_stopped = true;
    own.done = done;
  } else {
    atomicAdd(still_running, 1);
  }
}

/// The gap of candidates, one block per image: keeps the smallest so far.
__global__ inline void kernel_lower_gaps(const Quality* tiles, std::int64_t each,
                                         ImageProgress* progress) {
  const double gap = sum_of_tiles(tiles, blockIdx.x, each).gap;
  ImageProgress& own = progress[blockIdx.x];
  if (threadIdx.x == 0 && !own.is_stopped) own.quality.gap = fmin(own.quality.gap, gap);
}

/// The gap of the same iterations: stops images whose gap more iterations would hardly lower.
__global__ inline void kernel_stop_gaps(const Quality* tiles, std::int64_t each,
                                        ImageProgress* progress, std::int32_t* still_running) {
  const Quality quality = sum_of_tiles(tiles, blockIdx.x, each);
  ImageProgress& own = progress[blockIdx.x];
  if (threadIdx.x != 0 || own.is_stopped) return;
  own.is_stopped = is_little_to_gain(quality, own.quality.gap);
  if (!own.is_stopped) atomicAdd(still_running, 1);
}

/// Subtracts from candidates the offsets of their images.
template <class T>
__global__ void kernel_count_candidates(ImageTiles tiles, const ImageFacts* facts, T* y) {
  const auto offset = offset_of<T>(facts, tiles.image());
  tiles.for_each_pixel([&](std::int64_t i) { y[i] -= offset; });
}

/// One block per image: takes the polished values if they have the smaller gap.
__global__ inline void kernel_take_polished(const Quality* tiles, std::int64_t each,
                                            ImageProgress* progress) {
  const Quality quality = sum_of_tiles(tiles, blockIdx.x, each);
  ImageProgress& own = progress[blockIdx.x];
  if (threadIdx.x != 0 || !(quality.gap < own.quality.gap)) return;
  own.is_polished = true;
  own.quality = quality;
}

/// One block per image: stores the quality of the returned image. Images that GapCall::only_moved
/// skips keep theirs.
__global__ inline void kernel_take_qualities(const Quality* tiles, std::int64_t each,
                                             bool only_moved, const ImageFacts* facts,
                                             ImageProgress* progress) {
  if (only_moved && facts[blockIdx.x].offset == 0) return;
  const Quality quality = sum_of_tiles(tiles, blockIdx.x, each);
  if (threadIdx.x == 0) progress[blockIdx.x].quality = quality;
}

}  // namespace tautstring::detail
