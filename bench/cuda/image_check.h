// Whether the GPU's images are right: some of them against the CPU's iterations in float64, or by
// the gap that the CPU proves of them where they were solved to one; gradients of all of them
// against the CPU's from the GPU's own partitions.
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

/// The arrays of a backward call, on the GPU; one grad_lam a row and a column.
struct ImageGradients {
  std::span<const std::uint32_t> partitions;
  std::span<const double> momentum;
  const float* grad_y = nullptr;
  const float* grad_x = nullptr;
  const float* grad_row_lam = nullptr;
  const float* grad_column_lam = nullptr;
};

/// Returns Checked::difference; throws std::runtime_error where it is more than is allowed.
[[nodiscard]] double check_images(const ImageCase& c, const SolvedImages& solved);

[[nodiscard]] double check_image_gradients(const ImageCase& c, const ImageGradients& gradients);

}  // namespace bench
