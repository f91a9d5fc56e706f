#include "edges/count.h"

#include <cmath>
#include <stdexcept>
#include <string>

#include "edges/match.h"
#include "edges/thin.h"

namespace tautstring_tasks::edges {
namespace {

// An image's thresholds are several items, so that a few images keep all threads busy.
constexpr int kParts = 4;

/// The least byte b with b / 255 >= the threshold.
std::uint8_t level_of(int k) {
  return static_cast<std::uint8_t>((255 * (k + 1) + 99) / 100);
}

void check(std::span<const Image> images, const CountOptions& options, std::size_t counts) {
  if (!(options.max_dist >= 0 && options.max_dist <= 1)) {
    throw std::invalid_argument("max_dist: must be in [0, 1], got " +
                                std::to_string(options.max_dist));
  }
  if (counts != images.size() * kThresholds) {
    throw std::invalid_argument("counts: must have " + std::to_string(kThresholds) +
                                " items per image");
  }
  for (std::size_t i = 0; i < images.size(); ++i) {
    const Image& image = images[i];
    const std::string name = "image " + std::to_string(i) + ": ";
    if (image.truths.empty()) throw std::invalid_argument(name + "has no truth");
    bool fits = image.map.size() == image.size.pixels();
    for (const Bytes& truth : image.truths) fits = fits && truth.size() == image.map.size();
    if (!fits) throw std::invalid_argument(name + "the map and its truths differ in size");
  }
}

/// Counts of the thresholds from `begin` to before `end`.
void count_part(const Image& image, const CountOptions& options, int begin, int end,
                std::span<Counts> counts) {
  const double diagonal = std::sqrt(static_cast<double>(image.size.height) * image.size.height +
                                    static_cast<double>(image.size.width) * image.size.width);
  std::vector<Truth> truths;
  truths.reserve(image.truths.size());  // matchings refer to them
  std::vector<Matching> matchings;
  for (const Bytes& truth : image.truths) {
    truths.emplace_back(truth, image.size, options.max_dist * diagonal);
    matchings.emplace_back(truths.back());
  }
  Thinner thinner(image.size);
  std::vector<bool> is_matched;
  for (int k = end - 1; k >= begin; --k) {  // mostly, pixels are added
    const std::span<const int> predicted = thinner.thin(image.map, level_of(k));
    Counts& result = counts[to_index(k)] = {};
    result.predicted = static_cast<std::int64_t>(predicted.size());
    is_matched.assign(predicted.size(), false);
    for (std::size_t a = 0; a < truths.size(); ++a) {
      Matching& matching = matchings[a];
      // Which pixels are matched counts only where there are several annotators: that must not
      // depend on other thresholds.
      if (truths.size() == 1) {
        matching.rematch(predicted);
      } else {
        matching.match(predicted);
      }
      result.truth += truths[a].count();
      result.matched_truth += matching.size();
      for (std::size_t i = 0; i < predicted.size(); ++i) {
        if (matching.partners()[i] >= 0) is_matched[i] = true;
      }
    }
    for (const bool each : is_matched) result.matched_predicted += each ? 1 : 0;
  }
}

}  // namespace

Counts& Counts::operator+=(const Counts& other) {
  matched_truth += other.matched_truth;
  truth += other.truth;
  matched_predicted += other.matched_predicted;
  predicted += other.predicted;
  return *this;
}

bool count(std::span<const Image> images, const CountOptions& options, std::span<Counts> counts,
           const KeepGoing& keep_going) {
  check(images, options, counts.size());
  const auto work = [&](std::size_t item) {
    const std::size_t image = item / kParts;
    const int part = static_cast<int>(item % kParts);
    count_part(images[image], options, kThresholds * part / kParts,
               kThresholds * (part + 1) / kParts, counts.subspan(image * kThresholds, kThresholds));
  };
  const auto report = [&](std::size_t done) { return !keep_going || keep_going(done / kParts); };
  return for_each(images.size() * kParts, options.threads, work, report);
}

}  // namespace tautstring_tasks::edges
