#include "cifar10c/batch.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "support/random.h"

namespace tautstring_tasks::cifar10c {
namespace {

constexpr std::size_t kImagesPerItem = 16;  // so that threads rarely meet

/// The random numbers of each corruption and severity are a purpose of their own.
std::uint32_t purpose_of(std::string_view name, int severity) {
  constexpr std::uint32_t first = 0x10C00000;  // other users of streams take other ranges
  return first + static_cast<std::uint32_t>(index_of(name)) * 16 +
         static_cast<std::uint32_t>(severity);
}

}  // namespace

Corruptor::Corruptor(std::string_view name, int severity, std::uint64_t seed,
                     std::span<const Overlay> overlays)
    : seed_(seed),
      purpose_(purpose_of(name, severity)),
      corruption_(make(name, severity, overlays)),
      counts_(corruption_->random_counts()) {}

std::size_t Corruptor::random_size() const {
  return to_index(counts_.normals + counts_.uniforms);
}

void Corruptor::fill(std::uint64_t index, std::span<double> random) const {
  Stream stream(seed_, purpose_, index);
  const auto normals = to_index(counts_.normals);
  for (double& value : random.first(normals)) value = stream.normal();
  for (double& value : random.subspan(normals)) value = stream.uniform();
}

std::vector<double> Corruptor::draw(std::uint64_t index) const {
  std::vector<double> random(random_size());
  fill(index, random);
  return random;
}

bool Corruptor::corrupt(std::span<const std::uint8_t> images, std::uint64_t first_index,
                        int threads, std::span<std::uint8_t> results,
                        const KeepGoing& keep_going) const {
  if (images.size() % kValues != 0 || images.size() != results.size()) {
    throw std::invalid_argument("images, results: must have " + std::to_string(kValues) +
                                " bytes per image each, got " + std::to_string(images.size()) +
                                " and " + std::to_string(results.size()));
  }
  const std::size_t count = images.size() / kValues;
  const std::size_t items = (count + kImagesPerItem - 1) / kImagesPerItem;
  const auto work = [&](std::size_t item) {
    std::vector<double> random(random_size());
    const std::size_t first = item * kImagesPerItem;
    for (std::size_t i = first; i < std::min(first + kImagesPerItem, count); ++i) {
      fill(first_index + i, random);
      corruption_->apply(images.subspan(i * kValues).first<kValues>(), random,
                         results.subspan(i * kValues).first<kValues>());
    }
  };
  const auto report = [&](std::size_t done) {
    return !keep_going || keep_going(std::min(done * kImagesPerItem, count));
  };
  return for_each(items, threads, work, report);
}

void Corruptor::corrupt(Image image, std::span<const double> random, Result result) const {
  if (random.size() != random_size()) {
    throw std::invalid_argument("random: must have " + std::to_string(random_size()) +
                                " numbers, got " + std::to_string(random.size()));
  }
  const auto normals = to_index(counts_.normals);
  for (const double value : random.first(normals)) {
    if (!std::isfinite(value)) throw std::invalid_argument("random: normals must be finite");
  }
  for (const double value : random.subspan(normals)) {
    if (!(value >= 0 && value < 1)) {
      throw std::invalid_argument("random: uniforms must be in [0, 1), got " +
                                  std::to_string(value));
    }
  }
  corruption_->apply(image, random, result);
}

}  // namespace tautstring_tasks::cifar10c
