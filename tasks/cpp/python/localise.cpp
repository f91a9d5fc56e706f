#include "python/localise.h"

#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "localise/boxes.h"
#include "localise/heat.h"
#include "localise/score.h"
#include "python/arrays.h"
#include "python/maps.h"

namespace tautstring_tasks::python {
namespace {

namespace nb = nanobind;
using localise::Box;
using localise::kCuts;
using localise::kScored;

using BoxArray = Array<const std::int32_t, nb::shape<-1, 4>>;
using NewBoxArray = Array<std::int32_t, nb::ndim<2>>;
using NewOverlaps = Array<std::uint8_t, nb::ndim<3>>;
using NewCounts = Array<std::int64_t, nb::ndim<2>>;

NewBoxArray new_boxes(std::vector<std::int32_t> values, std::size_t columns) {
  const std::size_t rows = values.size() / columns;
  return new_array<std::int32_t, NewBoxArray>(std::move(values), {rows, columns});
}

/// A map as it is scored.
NewFloatMap prepare(const FloatMap& map) {
  return new_array<float, NewFloatMap>(
      localise::stretched(localise::resized({map.data(), map.size()}, size_of(map), kScored)),
      {to_index(kScored.height), to_index(kScored.width)});
}

/// All boxes as (x0, y0, x1, y1, first cut, last cut), and of each cut that of the largest contour.
std::tuple<NewBoxArray, NewBoxArray> boxes(const Map& map) {
  const localise::Boxes found = localise::boxes_of({map.data(), map.size()}, size_of(map));
  std::vector<std::int32_t> all;
  for (const auto& [box, first, last] : found.all) {
    all.insert(all.end(), {box.x0, box.y0, box.x1, box.y1, first, last});
  }
  std::vector<std::int32_t> largest;
  for (const Box& box : found.largest) {
    largest.insert(largest.end(), {box.x0, box.y0, box.x1, box.y1});
  }
  return {new_boxes(std::move(all), 6), new_boxes(std::move(largest), 4)};
}

void require_threads(int threads) {
  if (threads >= 0) return;
  throw std::invalid_argument("threads: must be at least 0, got " + std::to_string(threads));
}

void require_as_many(const std::string& name, std::size_t wanted, std::size_t got) {
  if (got == wanted) return;
  throw std::invalid_argument(name + ": must be " + std::to_string(wanted) + ", got " +
                              std::to_string(got));
}

std::vector<localise::Image> images_of(const std::vector<FloatMap>& maps) {
  std::vector<localise::Image> images;
  images.reserve(maps.size());
  for (const FloatMap& map : maps) {
    images.push_back(
        {.size = size_of(map), .map = {map.data(), map.size()}, .boxes = {}, .mask = {}});
  }
  return images;
}

/// Of shape (images, 2, cuts): the best overlap of all contours, and of the largest one.
NewOverlaps score(const std::vector<FloatMap>& maps, const std::vector<BoxArray>& truths,
                  int threads) {
  require_threads(threads);
  require_as_many("truths", maps.size(), truths.size());
  std::vector<localise::Image> images = images_of(maps);
  for (std::size_t i = 0; i < images.size(); ++i) {
    const std::int32_t* const end = truths[i].data() + truths[i].size();
    for (const std::int32_t* each = truths[i].data(); each != end; each += 4) {
      images[i].boxes.push_back({each[0], each[1], each[2], each[3]});
    }
  }
  std::vector<localise::Overlaps> found;
  {
    const nb::gil_scoped_release released;
    found = localise::score_boxes(images, threads);
  }
  std::vector<std::uint8_t> values;
  for (const auto& [all, largest] : found) {
    values.insert(values.end(), all.begin(), all.end());
    values.insert(values.end(), largest.begin(), largest.end());
  }
  return new_array<std::uint8_t, NewOverlaps>(std::move(values), {maps.size(), 2, kCuts});
}

/// Of shape (2, bins): pixels of objects, and others.
NewCounts count(const std::vector<FloatMap>& maps, const std::vector<Map>& masks, int threads) {
  require_threads(threads);
  require_as_many("masks", maps.size(), masks.size());
  std::vector<localise::Image> images = images_of(maps);
  for (std::size_t i = 0; i < images.size(); ++i) {
    images[i].mask = {masks[i].data(), masks[i].size()};
  }
  localise::PixelCounts found;
  {
    const nb::gil_scoped_release released;
    found = localise::count_pixels(images, threads);
  }
  std::vector<std::int64_t> values(found.objects.begin(), found.objects.end());
  values.insert(values.end(), found.others.begin(), found.others.end());
  return new_array<std::int64_t, NewCounts>(std::move(values), {2, localise::kBins});
}

}  // namespace

void add_localise(nb::module_& module) {
  module.attr("HEAT_SIZE") = nb::make_tuple(kScored.height, kScored.width);
  module.attr("HEAT_CUTS") = kCuts;
  module.attr("HEAT_BINS") = localise::kBins;
  module.attr("IGNORED") = localise::kIgnored;
  module.def("prepare_heat", &prepare, nb::arg("map").noconvert());
  module.def("heat_boxes", &boxes, nb::arg("map").noconvert());
  module.def("score_heat", &score, nb::arg("maps"), nb::arg("truths"), nb::arg("threads") = 0);
  module.def("count_heat", &count, nb::arg("maps"), nb::arg("masks"), nb::arg("threads") = 0);
}

}  // namespace tautstring_tasks::python
