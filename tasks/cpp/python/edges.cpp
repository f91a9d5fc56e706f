#include "python/edges.h"

#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "edges/count.h"
#include "edges/curve.h"
#include "edges/match.h"
#include "edges/nms.h"
#include "edges/thin.h"
#include "python/arrays.h"
#include "python/maps.h"

namespace tautstring_tasks::python {
namespace {

namespace nb = nanobind;
using edges::Counts;

using CountArray = Array<const std::int64_t, nb::shape<-1, edges::kThresholds, 4>>;
using NewCountArray = Array<std::int64_t, nb::ndim<3>>;

Bytes bytes_of(const Map& map) {
  return {map.data(), map.size()};
}

NewMap new_map(NewBytes values, Size size) {
  return new_array<std::uint8_t, NewMap>(std::move(values),
                                         {to_index(size.height), to_index(size.width)});
}

void must_have_size(const Map& map, Size size, const std::string& name) {
  if (size_of(map) != size) {
    throw std::invalid_argument(name + ": must have " + std::to_string(size.height) + " x " +
                                std::to_string(size.width) + " pixels like its prediction, got " +
                                std::to_string(map.shape(0)) + " x " +
                                std::to_string(map.shape(1)));
  }
}

NewMap suppress(const FloatMap& map, int radius, int border, double factor) {
  const Size size = size_of(map);
  NewBytes result;
  {
    const nb::gil_scoped_release released;
    result = edges::suppress({map.data(), map.size()}, size,
                             {.radius = radius, .border = border, .factor = factor});
  }
  return new_map(std::move(result), size);
}

NewMap thin(const Map& map) {
  return new_map(edges::thinned(bytes_of(map), size_of(map)), size_of(map));
}

std::tuple<NewMap, NewMap> match(const Map& predicted, const Map& truth, double max_distance) {
  const Size size = size_of(predicted);
  must_have_size(truth, size, "truth");
  edges::Matched result = edges::matched(bytes_of(predicted), bytes_of(truth), size, max_distance);
  return {new_map(std::move(result.predicted), size), new_map(std::move(result.truth), size)};
}

NewCountArray count(const std::vector<Map>& maps, const std::vector<std::vector<Map>>& truths,
                    double max_dist, int threads, const nb::object& progress) {
  if (threads < 0) {
    throw std::invalid_argument("threads: must be at least 0, got " + std::to_string(threads));
  }
  if (truths.size() != maps.size()) {
    throw std::invalid_argument("truths: must be " + std::to_string(maps.size()) +
                                " lists of maps, got " + std::to_string(truths.size()));
  }
  std::vector<edges::Image> images;
  for (std::size_t i = 0; i < maps.size(); ++i) {
    edges::Image image{.size = size_of(maps[i]), .map = bytes_of(maps[i]), .truths = {}};
    for (const Map& truth : truths[i]) {
      must_have_size(truth, image.size, "truths[" + std::to_string(i) + "]");
      image.truths.push_back(bytes_of(truth));
    }
    images.push_back(std::move(image));
  }
  std::vector<Counts> counts(images.size() * edges::kThresholds);
  {
    const nb::gil_scoped_release released;
    [[maybe_unused]] const bool is_done = edges::count(  // only an exception stops it
        images, {.max_dist = max_dist, .threads = threads}, counts, reporting_to(progress));
  }
  if (!progress.is_none()) progress(images.size());
  std::vector<std::int64_t> values;
  for (const Counts& each : counts) {
    values.insert(values.end(),
                  {each.matched_truth, each.truth, each.matched_predicted, each.predicted});
  }
  return new_array<std::int64_t, NewCountArray>(std::move(values),
                                                {images.size(), edges::kThresholds, 4});
}

std::vector<Counts> counts_of(const CountArray& values) {
  std::vector<Counts> counts;
  for (const std::int64_t* each = values.data(); each != values.data() + values.size(); each += 4) {
    counts.push_back({each[0], each[1], each[2], each[3]});
  }
  return counts;
}

nb::tuple tuple_of(const edges::Point& point) {
  return nb::make_tuple(point.threshold, point.recall, point.precision, point.f);
}

/// The curve, ODS, OIS and AP; a point is (threshold, recall, precision, F).
nb::tuple summarise(const CountArray& values) {
  const edges::Summary summary = edges::summarise(counts_of(values));
  nb::list curve;
  for (const edges::Point& point : summary.curve) curve.append(tuple_of(point));
  return nb::make_tuple(curve, tuple_of(summary.ods), tuple_of(summary.ois), summary.ap);
}

/// The point of each image at its own best threshold.
nb::list best(const CountArray& values) {
  const std::vector<Counts> counts = counts_of(values);
  nb::list points;
  for (std::size_t first = 0; first < counts.size(); first += edges::kThresholds) {
    const auto image = std::span(counts).subspan(first, edges::kThresholds);
    const int k = edges::best_threshold(image);
    points.append(tuple_of(edges::point_of(image[to_index(k)], edges::threshold(k))));
  }
  return points;
}

}  // namespace

void add_edges(nb::module_& module) {
  module.attr("EDGE_THRESHOLDS") = edges::kThresholds;
  module.def("suppress_edges", &suppress, nb::arg("map").noconvert(), nb::arg("radius") = 1,
             nb::arg("border") = 5, nb::arg("factor") = 1.03);
  module.def("thin_edges", &thin, nb::arg("map").noconvert());
  module.def("match_edges", &match, nb::arg("predicted").noconvert(), nb::arg("truth").noconvert(),
             nb::arg("max_distance"));
  module.def("count_edges", &count, nb::arg("maps"), nb::arg("truths"),
             nb::arg("max_dist") = 0.0075, nb::arg("threads") = 0,
             nb::arg("progress") = nb::none());
  module.def("summarise_edges", &summarise, nb::arg("counts").noconvert());
  module.def("best_edges", &best, nb::arg("counts").noconvert());
}

}  // namespace tautstring_tasks::python
