#include "cifar10c/corruption.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "cifar10c/families.h"

namespace tautstring_tasks::cifar10c {
namespace {

using Make = Made (*)(int severity);

/// In the order of kNames; frost, which takes overlays, is empty.
constexpr std::array<Make, kNames.size()> kMakers = {make_gaussian_noise,
                                                     make_shot_noise,
                                                     make_impulse_noise,
                                                     make_defocus_blur,
                                                     make_glass_blur,
                                                     make_motion_blur,
                                                     make_zoom_blur,
                                                     make_snow,
                                                     nullptr,
                                                     make_fog,
                                                     make_brightness,
                                                     make_contrast,
                                                     make_elastic_transform,
                                                     make_pixelate,
                                                     make_jpeg_compression};

}  // namespace

std::size_t index_of(std::string_view name) {
  const auto* const found = std::find(kNames.begin(), kNames.end(), name);
  if (found != kNames.end()) return static_cast<std::size_t>(found - kNames.begin());
  std::string all;
  for (const std::string_view each : kNames) all.append(all.empty() ? "" : ", ").append(each);
  throw std::invalid_argument("corruption: must be one of " + all + "; got " + std::string(name));
}

std::unique_ptr<const Corruption> make(std::string_view name, int severity,
                                       std::span<const Overlay> overlays) {
  const Make maker = kMakers[index_of(name)];
  if (severity < 1 || severity > kSeverities) {
    throw std::invalid_argument("severity: must be in 1..5, got " + std::to_string(severity));
  }
  return maker != nullptr ? maker(severity) : make_frost(severity, overlays);
}

}  // namespace tautstring_tasks::cifar10c
