#include "edges/curve.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace tautstring_tasks::edges {
namespace {

constexpr int kBetween = 100;  // points on the line from one threshold to the next
constexpr int kRecalls = 100;  // intervals of recall for the area

double ratio(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

double f_of(double recall, double precision) {
  return ratio(2 * precision * recall, precision + recall);
}

Point best_between(std::span<const Point> curve) {
  Point best = curve.front();
  for (std::size_t k = 0; k + 1 < curve.size(); ++k) {
    for (int i = 0; i < kBetween; ++i) {
      const double after = static_cast<double>(i) / (kBetween - 1);
      const auto mixed = [&](double Point::*value) {
        return (1 - after) * curve[k].*value + after * curve[k + 1].*value;
      };
      Point point{mixed(&Point::threshold), mixed(&Point::recall), mixed(&Point::precision), 0};
      point.f = f_of(point.recall, point.precision);
      if (point.f > best.f) best = point;
    }
  }
  return best;
}

/// The sum over recalls 0, .01 ... 1 of the precision there, divided by 100. Precision is linear
/// between the points of the curve, and 0 where the curve does not reach.
double area(std::span<const Point> curve) {
  std::vector<Point> points(curve.begin(), curve.end());
  const auto is_less = [](const Point& a, const Point& b) { return a.recall < b.recall; };
  const auto is_same = [](const Point& a, const Point& b) { return a.recall == b.recall; };
  std::stable_sort(points.begin(), points.end(), is_less);  // of the same, the lowest threshold
  points.erase(std::unique(points.begin(), points.end(), is_same), points.end());
  if (points.size() < 2) return 0;
  double sum = 0;
  for (int i = 0; i <= kRecalls; ++i) {
    const Point at{.recall = static_cast<double>(i) / kRecalls};
    const auto after = std::lower_bound(points.begin(), points.end(), at, is_less);
    if (after == points.end()) break;
    if (after->recall == at.recall) {
      sum += after->precision;
    } else if (after != points.begin()) {
      const Point& before = *(after - 1);
      const double share = (at.recall - before.recall) / (after->recall - before.recall);
      sum += before.precision + share * (after->precision - before.precision);
    }
  }
  return sum / kRecalls;
}

}  // namespace

Point point_of(const Counts& counts, double threshold) {
  const double recall =
      ratio(static_cast<double>(counts.matched_truth), static_cast<double>(counts.truth));
  const double precision =
      ratio(static_cast<double>(counts.matched_predicted), static_cast<double>(counts.predicted));
  return {threshold, recall, precision, f_of(recall, precision)};
}

int best_threshold(std::span<const Counts> counts) {
  const auto is_less = [](const Counts& a, const Counts& b) {
    return point_of(a, 0).f < point_of(b, 0).f;
  };
  return static_cast<int>(std::max_element(counts.begin(), counts.end(), is_less) - counts.begin());
}

Summary summarise(std::span<const Counts> counts) {
  if (counts.empty() || counts.size() % kThresholds != 0) {
    throw std::invalid_argument("counts: must have " + std::to_string(kThresholds) +
                                " items per image, of at least one image");
  }
  Summary summary;
  summary.counts.resize(kThresholds);
  Counts best;
  for (std::size_t first = 0; first < counts.size(); first += kThresholds) {
    const auto image = counts.subspan(first, kThresholds);
    for (int k = 0; k < kThresholds; ++k) summary.counts[to_index(k)] += image[to_index(k)];
    best += image[to_index(best_threshold(image))];
  }
  for (int k = 0; k < kThresholds; ++k) {
    summary.curve.push_back(point_of(summary.counts[to_index(k)], threshold(k)));
  }
  summary.ods = best_between(summary.curve);
  summary.ois = point_of(best, 0);
  summary.ap = area(summary.curve);
  return summary;
}

}  // namespace tautstring_tasks::edges
