// Corrupts many images on many threads. The random numbers of an image come from the seed, the
// corruption, the severity and the image's index, so threads, order and neighbours change no bit.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "cifar10c/corruption.h"
#include "support/parallel.h"

namespace tautstring_tasks::cifar10c {

class Corruptor {
 public:
  /// See `make`. Throws std::invalid_argument, with the argument's name and value.
  Corruptor(std::string_view name, int severity, std::uint64_t seed,
            std::span<const Overlay> overlays = {});

  /// The random numbers of an image: normals first, then uniforms.
  [[nodiscard]] std::vector<double> draw(std::uint64_t index) const;

  /// Fills `results` with the corrupted images, whose indices are first_index, first_index + 1 and
  /// so on. Both arrays have kValues bytes per image. Returns whether all was done (see for_each).
  [[nodiscard]] bool corrupt(std::span<const std::uint8_t> images, std::uint64_t first_index,
                             int threads, std::span<std::uint8_t> results,
                             const KeepGoing& keep_going = {}) const;

  /// The same for one image, with given random numbers.
  void corrupt(Image image, std::span<const double> random, Result result) const;

 private:
  void fill(std::uint64_t index, std::span<double> random) const;
  [[nodiscard]] std::size_t random_size() const;

  std::uint64_t seed_;
  std::uint32_t purpose_;
  std::unique_ptr<const Corruption> corruption_;
  RandomCounts counts_;
};

}  // namespace tautstring_tasks::cifar10c
