// The 2D cases: data, shape, penalty and solver of each, all in float32. The goals are in
// bench/cuda_image_goals.py.
#pragma once

#include <tautstring/tautstring.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "measure.h"

namespace bench {

enum class ImageFamily : std::uint8_t {
  noise,     // standard normal
  smooth,    // four waves of random direction, at most three periods per image and axis; no noise
  features,  // three of these with faint noise, after a random 3 x 3 convolution and a rectifier
};

struct ImageShape {
  std::int64_t samples = 1;
  std::int64_t channels = 1;
  std::int64_t height = 1;
  std::int64_t width = 1;

  [[nodiscard]] constexpr std::int64_t images() const { return samples * channels; }
  [[nodiscard]] constexpr std::int64_t pixels() const { return height * width; }  // of an image
  [[nodiscard]] constexpr std::int64_t elements() const { return images() * pixels(); }
  [[nodiscard]] std::array<std::int64_t, 4> sizes() const {
    return {samples, channels, height, width};
  }
};

/// The bytes moved by the copy that a case is compared with. arrays: x, y and partitions of 4 bits
/// per pixel and iteration, the least that a call needs. passes: the traffic of every pass if an
/// image is too large to stay on the chip: a pass reads its input and x and writes its output and 2
/// bits, 12.25 bytes per pixel.
enum class Traffic : std::uint8_t { arrays, passes };

struct ImageCase {
  std::string group;  // goals are set per group
  ImageFamily family = ImageFamily::noise;
  ImageShape shape;
  double lam = 1;                    // a number, for rows and for columns
  tautstring::Solver2d solver = {};  // the paper's Algorithm 1, 4 iterations
  Traffic traffic = Traffic::arrays;
  std::vector<How> ways = {How::called};
  bool with_empty_launch = false;  // measured next to the case

  [[nodiscard]] std::string name() const;  // group/family/shape/lam
  [[nodiscard]] std::size_t bytes_moved() const;
  /// Iterations whose partitions and momentum are saved.
  [[nodiscard]] int saved_iterations() const;
};

[[nodiscard]] std::vector<ImageCase> all_image_cases();

}  // namespace bench
