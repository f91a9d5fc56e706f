// Precision and recall over thresholds, and the three numbers that sum them up.
#pragma once

#include <span>
#include <vector>

#include "edges/count.h"

namespace tautstring_tasks::edges {

struct Point {
  double threshold = 0;
  double recall = 0;
  double precision = 0;
  double f = 0;
};

/// The point of a threshold's counts; 0 / 0 is 0.
[[nodiscard]] Point point_of(const Counts& counts, double threshold);

/// The number of the threshold with the best F, the first if there are several.
[[nodiscard]] int best_threshold(std::span<const Counts> counts);

struct Summary {
  std::vector<Counts> counts;  ///< Summed over images, for each threshold.
  std::vector<Point> curve;    ///< Of these counts.
  Point ods;                   ///< The best point, between thresholds as well.
  Point ois;                   ///< Of each image's counts at its own best threshold, summed.
  double ap = 0;               ///< The area under precision over recall.
};

/// Sums up kThresholds counts of each image.
[[nodiscard]] Summary summarise(std::span<const Counts> counts);

}  // namespace tautstring_tasks::edges
