#include "image_cases.h"

#include <sstream>

#include "short_number.h"

namespace bench {
namespace {

using tautstring::Derivative2d;
using tautstring::Method2d;

constexpr ImageShape kSmallImages = {.samples = 256, .height = 32, .width = 32};
constexpr ImageShape kFeatureMaps = {.samples = 16, .channels = 64, .height = 56, .width = 56};
constexpr ImageShape kNetLayer = {.samples = 128, .channels = 96, .height = 32, .width = 32};
constexpr double kSmallLam = 0.05;  // for data with little or no noise

const char* name_of(ImageFamily family) {
  switch (family) {
    case ImageFamily::noise: return "noise";
    case ImageFamily::smooth: return "smooth";
    case ImageFamily::features: return "features";
  }
  return "";
}

/// So short that queued calls differ from single ones.
void add_small(std::vector<ImageCase>& cases) {
  for (const ImageShape& shape : {kSmallImages, kFeatureMaps}) {
    cases.push_back({.group = "images_small",
                     .shape = shape,
                     .ways = {How::called, How::queued, How::from_graph},
                     .with_empty_launch = true});
  }
  cases.push_back({.group = "images_small",
                   .family = ImageFamily::features,
                   .shape = kFeatureMaps,
                   .lam = kSmallLam,
                   .with_empty_launch = true});
  cases.push_back({.group = "images_net", .shape = kNetLayer});
}

/// Odd shapes, and the squares that they are compared with.
void add_odd(std::vector<ImageCase>& cases) {
  constexpr std::int64_t kImages = 1024;
  for (const auto& [height, width] : {std::array{37, 53}, {48, 64}, {61, 23}, {56, 56}, {64, 64}}) {
    cases.push_back({.group = "images_odd",
                     .shape = {.samples = kImages, .height = height, .width = width},
                     .ways = {How::called, How::queued}});
  }
}

void add_large(std::vector<ImageCase>& cases) {
  for (const ImageFamily family : {ImageFamily::noise, ImageFamily::smooth}) {
    for (const ImageShape& shape :
         {ImageShape{.samples = 8, .channels = 3, .height = 512, .width = 512},
          ImageShape{.samples = 64, .height = 256, .width = 256},
          ImageShape{.height = 2048, .width = 2048}}) {
      cases.push_back({.group = "images_large",
                       .family = family,
                       .shape = shape,
                       .lam = family == ImageFamily::noise ? 1 : kSmallLam,
                       .traffic = Traffic::passes});
    }
  }
}

void add_accelerated(std::vector<ImageCase>& cases) {
  for (const ImageShape& shape : {kNetLayer, kFeatureMaps}) {
    cases.push_back({.group = "images_dykstra16", .shape = shape, .solver = {.iterations = 16}});
    cases.push_back({.group = "images_accelerated16",
                     .shape = shape,
                     .solver = {.method = Method2d::accelerated, .iterations = 16}});
  }
}

void add_to_gap(std::vector<ImageCase>& cases) {
  const tautstring::Solver2d solver = {.method = Method2d::accelerated,
                                       .iterations = 128,
                                       .tol = 1e-4,
                                       .derivative = Derivative2d::implicit};
  cases.push_back({.group = "images_to_gap", .shape = kSmallImages, .solver = solver});
  cases.push_back({.group = "images_to_gap",
                   .family = ImageFamily::features,
                   .shape = kFeatureMaps,
                   .lam = kSmallLam,
                   .solver = solver});
}

}  // namespace

std::string ImageCase::name() const {
  std::ostringstream text;
  text << group << '/' << name_of(family) << '/' << shape.samples << 'x' << shape.channels << 'x'
       << shape.height << 'x' << shape.width << "/lam:" << short_number(lam);
  return text.str();
}

std::size_t ImageCase::bytes_moved() const {
  const auto elements = static_cast<std::size_t>(shape.elements());
  if (traffic == Traffic::arrays) {
    return elements * 2 * sizeof(float) +
           elements * static_cast<std::size_t>(saved_iterations()) / 2;
  }
  const auto passes = 2 * static_cast<std::size_t>(solver.iterations);
  return passes * (elements * 3 * sizeof(float) + elements / 4);
}

int ImageCase::saved_iterations() const {
  return solver.derivative == Derivative2d::implicit ? 1 : solver.iterations;
}

std::vector<ImageCase> all_image_cases() {
  std::vector<ImageCase> cases;
  add_small(cases);
  add_odd(cases);
  add_large(cases);
  add_accelerated(cases);
  add_to_gap(cases);
  return cases;
}

}  // namespace bench
