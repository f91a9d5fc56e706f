#include "image_data.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <span>
#include <stdexcept>
#include <vips/vips8>

#include "data.h"

namespace bench {
namespace {

constexpr auto kPixels = static_cast<std::size_t>(kImageSide) * kImageSide;

GreyImage noise() {
  std::mt19937 random(1);
  std::vector<float> pixels(kPixels);
  const std::span<float> all(pixels);
  for (int r = 0; r < kImageSide; ++r) {
    const auto first = static_cast<std::size_t>(r) * kImageSide;
    kNoise.fill_row(random, r, all.subspan(first, kImageSide));
  }
  return {kNoise.name, pixels};
}

/// Has the properties of a natural photo: soft light, sharp outlines of overlapping objects of all
/// sizes (discs whose number falls with the cube of their radius, each with its own slope and fine
/// grain), a little sensor noise, 8 bits.
GreyImage scene() {
  constexpr int kDiscs = 4000;
  constexpr float kSmallest = 3;
  constexpr float kLargest = 160;
  constexpr float kSensorNoise = 0.01F;
  std::mt19937 random(7);
  std::uniform_real_distribution<float> uniform(0, 1);
  std::normal_distribution<float> normal;
  std::vector<float> pixels(kPixels);
  for (std::size_t i = 0; i < kPixels; ++i) {
    pixels[i] = 0.7F - 0.4F * static_cast<float>(i) / static_cast<float>(kPixels);
  }
  constexpr float kRareEnd = 1 / (kLargest * kLargest);
  constexpr float kOftenEnd = 1 / (kSmallest * kSmallest);
  for (int disc = 0; disc < kDiscs; ++disc) {
    const float radius = 1 / std::sqrt(kRareEnd + uniform(random) * (kOftenEnd - kRareEnd));
    const float centre_row = uniform(random) * kImageSide;
    const float centre_column = uniform(random) * kImageSide;
    const float grey = 0.1F + 0.8F * uniform(random);
    const float slope = 0.2F * (uniform(random) - 0.5F) / radius;
    const float grain = 0.05F * uniform(random) * uniform(random);
    const auto begin = [&](float centre) { return std::max(0, static_cast<int>(centre - radius)); };
    const auto end = [&](float centre) {
      return std::min(kImageSide, static_cast<int>(centre + radius) + 1);
    };
    for (int r = begin(centre_row); r < end(centre_row); ++r) {
      for (int c = begin(centre_column); c < end(centre_column); ++c) {
        const float down = static_cast<float>(r) - centre_row;
        const float across = static_cast<float>(c) - centre_column;
        if (std::hypot(down, across) > radius) continue;
        pixels[static_cast<std::size_t>(r) * kImageSide + static_cast<std::size_t>(c)] =
            grey + slope * (down + across) + grain * normal(random);
      }
    }
  }
  for (float& value : pixels) {
    const float seen = std::clamp(value + kSensorNoise * normal(random), 0.0F, 1.0F);
    value = std::round(seen * 255) / 255;
  }
  return {"scene", pixels};
}

vips::VImage middle_of_photo(const std::string& file) {
  const vips::VImage photo = vips::VImage::new_from_file(file.c_str());
  if (std::min(photo.width(), photo.height()) < kImageSide) {
    throw std::runtime_error("--photo: " + file + " is smaller than 512 x 512 pixels");
  }
  return photo.colourspace(VIPS_INTERPRETATION_B_W)
      .extract_band(0)
      .cast(VIPS_FORMAT_UCHAR)
      .crop((photo.width() - kImageSide) / 2, (photo.height() - kImageSide) / 2, kImageSide,
            kImageSide);
}

GreyImage photo(const std::string& file) {
  if (VIPS_INIT("tautstring_bench_cpu") != 0) {
    throw std::runtime_error("--photo: cannot start libvips");
  }
  try {
    std::vector<float> pixels(kPixels);
    std::size_t bytes = 0;
    auto* const found = static_cast<unsigned char*>(middle_of_photo(file).write_to_memory(&bytes));
    std::transform(found, found + kPixels, pixels.begin(),
                   [](unsigned char value) { return static_cast<float>(value) / 255; });
    g_free(found);
    return {"photo", pixels};
  } catch (const vips::VError& error) {
    throw std::runtime_error("--photo: " + std::string(error.what()));
  }
}

}  // namespace

std::vector<GreyImage> benchmark_images(const std::string& photo_file) {
  return {photo_file.empty() ? scene() : photo(photo_file), noise()};
}

}  // namespace bench
