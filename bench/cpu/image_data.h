// The images of the 2D benchmarks: grey, row by row, as float32 values, so that float32 and float64
// solvers get the same numbers.
#pragma once

#include <string>
#include <vector>

namespace bench {

inline constexpr int kImageSide = 512;

struct GreyImage {
  std::string family;
  std::vector<float> pixels;  // kImageSide x kImageSide
};

/// The images to measure: noise, and the middle of the photo in the file, in [0, 1]. Without a
/// file, a rendered scene replaces the photo. Throws std::runtime_error with a message for the user
/// if the file has no such image.
[[nodiscard]] std::vector<GreyImage> benchmark_images(const std::string& photo_file);

}  // namespace bench
