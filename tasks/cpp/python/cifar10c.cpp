#include "python/cifar10c.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "cifar10c/batch.h"
#include "python/arrays.h"

namespace tautstring_tasks::python {
namespace {

namespace nb = nanobind;
using cifar10c::Corruptor;
using cifar10c::Overlay;

using Images = Array<const std::uint8_t, nb::shape<-1, cifar10c::kSize, cifar10c::kSize, 3>>;
using NewImages = Array<std::uint8_t, nb::shape<-1, cifar10c::kSize, cifar10c::kSize, 3>>;
using OneImage = Array<const std::uint8_t, nb::shape<cifar10c::kSize, cifar10c::kSize, 3>>;
using Picture = Array<const std::uint8_t, nb::shape<-1, -1, 3>>;
using Numbers = Array<const double, nb::ndim<1>>;

std::vector<Overlay> overlays_of(const std::vector<Picture>& pictures) {
  std::vector<Overlay> overlays;
  overlays.reserve(pictures.size());
  for (const Picture& picture : pictures) {
    overlays.push_back({.height = static_cast<int>(picture.shape(0)),
                        .width = static_cast<int>(picture.shape(1)),
                        .values = {picture.data(), picture.data() + picture.size()}});
  }
  return overlays;
}

NewImages corrupt(const Images& images, const std::string& corruption, int severity,
                  std::uint64_t seed, std::uint64_t first_index, int threads,
                  const std::vector<Picture>& overlays, const nb::object& progress) {
  if (threads < 0) {
    throw std::invalid_argument("threads: must be at least 0, got " + std::to_string(threads));
  }
  const Corruptor corruptor(corruption, severity, seed, overlays_of(overlays));
  std::vector<std::uint8_t> results(images.size());
  {
    const nb::gil_scoped_release released;
    [[maybe_unused]] const bool is_done = corruptor.corrupt(  // only an exception stops it
        {images.data(), images.size()}, first_index, threads, results, reporting_to(progress));
  }
  if (!progress.is_none()) progress(images.shape(0));
  return new_array<std::uint8_t, NewImages>(
      std::move(results), {images.shape(0), cifar10c::kSize, cifar10c::kSize, cifar10c::kColours});
}

Array<double> draw(const std::string& corruption, int severity, std::uint64_t seed,
                   std::uint64_t index, const std::vector<Picture>& overlays) {
  std::vector<double> random =
      Corruptor(corruption, severity, seed, overlays_of(overlays)).draw(index);
  const std::size_t size = random.size();
  return new_array<double, Array<double>>(std::move(random), {size});
}

NewImages corrupt_with(const OneImage& image, const Numbers& random, const std::string& corruption,
                       int severity, const std::vector<Picture>& overlays) {
  std::vector<std::uint8_t> result(image.size());
  Corruptor(corruption, severity, 0, overlays_of(overlays))
      .corrupt(cifar10c::Image(image.data(), cifar10c::kValues), {random.data(), random.size()},
               cifar10c::Result(result.data(), cifar10c::kValues));
  return new_array<std::uint8_t, NewImages>(
      std::move(result), {1, cifar10c::kSize, cifar10c::kSize, cifar10c::kColours});
}

}  // namespace

void add_cifar10c(nb::module_& module) {
  nb::list names;
  for (const std::string_view name : cifar10c::kNames)
    names.append(nb::str(name.data(), name.size()));
  module.attr("CORRUPTIONS") = nb::tuple(names);
  module.attr("SEVERITIES") = cifar10c::kSeverities;
  module.def("corrupt", &corrupt, nb::arg("images").noconvert(), nb::arg("corruption"),
             nb::arg("severity"), nb::arg("seed") = 0, nb::arg("first_index") = 0,
             nb::arg("threads") = 0, nb::arg("overlays") = nb::tuple(),
             nb::arg("progress") = nb::none());
  module.def("draw", &draw, nb::arg("corruption"), nb::arg("severity"), nb::arg("seed") = 0,
             nb::arg("index") = 0, nb::arg("overlays") = nb::tuple());
  module.def("corrupt_with", &corrupt_with, nb::arg("image").noconvert(), nb::arg("random"),
             nb::arg("corruption"), nb::arg("severity"), nb::arg("overlays") = nb::tuple());
}

}  // namespace tautstring_tasks::python
