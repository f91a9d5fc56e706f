// Checks the GPU's images: some of them against the CPU's iterations in float64, or, if they were
// solved to a gap, by the gap that the CPU proves for them; gradients of all of them against the
// CPU's from the GPU's own partitions.
#pragma once

#include <cstdint>
#include <span>

#include "image_cases.h"

namespace bench {

/// The arrays of a forward call, on the GPU.
struct SolvedImages {
  const float* x = nullptr;
  const float* y = nullptr;
};

/// The arrays of a backward call, on the GPU; one grad_lam per row and one per column.
struct ImageGradients {
  std::span<const std::uint32_t> partitions;
  std::span<const double> momentum;
  const float* grad_y = nullptr;
  const float* grad_x = nullptr;
  const float* grad_lam_rows = nullptr;
  const float* grad_lam_cols = nullptr;
};

/// Returns Checked::difference. Throws std::runtime_error if it is more than allowed.
[[nodiscard]] double check_images(const ImageCase& c, const SolvedImages& solved);

[[nodiscard]] double check_image_gradients(const ImageCase& c, const ImageGradients& gradients);

}  // namespace bench
