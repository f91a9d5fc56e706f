// The images of the 2D benchmarks: grey, row by row, as float32 values, so that float32 and float64
// solvers get the same numbers.
#pragma once

#include <string>
#include <vector>

namespace bench {

inline constexpr int kImageSide = 512;

struct GreyImage {
  std::string family;
  std::vector<float> pixels;  // kImageSide rows of as many
};

/// The images to measure: noise, and the photo in the file, its middle in [0, 1]; without a file a
/// rendered scene in its place. Throws std::runtime_error with a reason for the user where there is
/// no such image in the file.
[[nodiscard]] std::vector<GreyImage> benchmark_images(const std::string& photo_file);

}  // namespace bench
