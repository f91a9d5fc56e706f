#include "reference/tv2d_reference.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <numeric>
#include <stdexcept>
#include <utility>

// A connected part of the image is cut at its mean t: the minimum cut separates the pixels where
// y >= t from those where y < t. The edges between them then carry their full lam, which leaves two
// smaller problems of the same kind with a changed x. If all of x - t can flow away along the
// edges, there is no such cut: y is t on the whole part, and the flow is the dual. (Hochbaum 2001;
// Darbon and Sigelle 2006; Chambolle and Darbon 2009.)
//
// The cut between {y >= t} and {y < t}, unlike other minimum cuts, never separates equal values:
// the parts that remain are the components of the solution.

namespace tautstring::reference {
namespace {

using Pixels = std::vector<std::size_t>;

class CutsAtTheMean {
 public:
  explicit CutsAtTheMean(const IntegerProblem2d& problem)
      : x_(problem.x),
        arcs_of_(x_.size()),
        excess_(x_.size()),
        distance_(x_.size()),
        waits_(x_.size()),
        labels_(x_.size()) {
    const auto height = static_cast<std::size_t>(problem.height);
    const auto width = static_cast<std::size_t>(problem.width);
    for (std::size_t i = 0; i < x_.size(); ++i) {
      if (i % width + 1 < width) add_edge(i, i + 1, problem.lam_rows[lam_.size()]);
    }
    const std::size_t along_rows = lam_.size();
    for (std::size_t i = 0; i + width < height * width; ++i) {
      add_edge(i, i + width, problem.lam_cols[lam_.size() - along_rows]);
    }
    residual_.resize(2 * lam_.size());
    dual_.resize(lam_.size());
  }

  void solve() {
    Pixels all(x_.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    std::vector<Pixels> parts = connected_parts(all);
    while (!parts.empty()) {
      const Pixels part = std::move(parts.back());
      parts.pop_back();
      const std::int64_t sum = sum_of_x(part);
      start_flow(part, sum);
      maximise_flow(part);
      if (std::ranges::all_of(part, [&](std::size_t i) { return excess_[i] == 0; })) {
        record_component(part, sum);
      } else {
        cut(part);
        for (Pixels& smaller : connected_parts(part)) parts.push_back(std::move(smaller));
      }
    }
  }

  [[nodiscard]] const std::vector<std::size_t>& labels() const { return labels_; }
  [[nodiscard]] const std::vector<Fraction>& components() const { return components_; }
  /// First on the edges along rows, then on those along columns.
  [[nodiscard]] const std::vector<Fraction>& dual() const { return dual_; }

 private:
  // Arc 2e runs along edge e, arc 2e + 1 in the opposite direction.
  static std::size_t edge_of(std::size_t arc) { return arc / 2; }
  static std::size_t reverse(std::size_t arc) { return arc ^ 1; }

  void add_edge(std::size_t from, std::size_t to, std::int64_t lam) {
    arcs_of_[from].push_back(head_.size());
    head_.push_back(to);
    arcs_of_[to].push_back(head_.size());
    head_.push_back(from);
    lam_.push_back(lam);
  }

  /// The connected parts of `pixels`. No edge with lam > 0 may leave `pixels`.
  std::vector<Pixels> connected_parts(const Pixels& pixels) {
    for (const std::size_t i : pixels) waits_[i] = true;
    std::vector<Pixels> parts;
    for (const std::size_t start : pixels) {
      if (!waits_[start]) continue;
      waits_[start] = false;
      Pixels part = {start};
      for (std::size_t k = 0; k < part.size(); ++k) {
        for (const std::size_t arc : arcs_of_[part[k]]) {
          const std::size_t next = head_[arc];
          if (lam_[edge_of(arc)] == 0 || !waits_[next]) continue;
          waits_[next] = false;
          part.push_back(next);
        }
      }
      parts.push_back(std::move(part));
    }
    return parts;
  }

  [[nodiscard]] std::int64_t sum_of_x(const Pixels& part) const {
    std::int64_t sum = 0;
    for (const std::size_t i : part) sum += x_[i];
    return sum;
  }

  /// The excess that has to flow away is x minus the mean; times the number of pixels it is an
  /// integer. Let M be the largest of |x| and lam. Then x_ is within 5 M, as four edges may have
  /// been cut around a pixel, and `sum` is within M size, as it is also the sum of y. So an excess
  /// starts within 6 M size, and the sum of all is within 6 M size^2 < 2^63.
  void start_flow(const Pixels& part, std::int64_t sum) {
    const auto size = static_cast<std::int64_t>(part.size());
    for (const std::size_t i : part) {
      excess_[i] = size * x_[i] - sum;
      for (const std::size_t arc : arcs_of_[i]) residual_[arc] = size * lam_[edge_of(arc)];
    }
  }

  /// Push-relabel, until no excess can reach a pixel with a deficit. Distances are lower bounds;
  /// they are recomputed exactly from time to time and at the end.
  void maximise_flow(const Pixels& part) {
    while (true) {
      measure_distances(part);
      std::deque<std::size_t> active;
      for (const std::size_t i : part) {
        waits_[i] = excess_[i] > 0 && distance_[i] < part.size();
        if (waits_[i]) active.push_back(i);
      }
      if (active.empty()) return;
      for (std::size_t relabels = 0; !active.empty() && relabels < part.size();) {
        const std::size_t i = active.front();
        active.pop_front();
        waits_[i] = false;
        relabels += discharge(i, part.size(), active);
      }
    }
  }

  /// Computes the number of arcs to the nearest pixel with a deficit. If none can be reached, it is
  /// the number of pixels, which is more than any distance.
  void measure_distances(const Pixels& part) {
    Pixels reached;
    for (const std::size_t i : part) {
      distance_[i] = excess_[i] < 0 ? 0 : part.size();
      if (excess_[i] < 0) reached.push_back(i);
    }
    for (std::size_t k = 0; k < reached.size(); ++k) {
      for (const std::size_t arc : arcs_of_[reached[k]]) {
        const std::size_t before = head_[arc];
        if (residual_[reverse(arc)] == 0 || distance_[before] < part.size()) continue;
        distance_[before] = distance_[reached[k]] + 1;
        reached.push_back(before);
      }
    }
  }

  /// Pushes the excess of pixel i on until it is gone or cannot go anywhere. Returns how often the
  /// distance was raised.
  std::size_t discharge(std::size_t i, std::size_t unreachable, std::deque<std::size_t>& active) {
    std::size_t relabels = 0;
    while (excess_[i] > 0 && distance_[i] < unreachable) {
      std::size_t nearest = unreachable;
      for (const std::size_t arc : arcs_of_[i]) {
        const std::size_t next = head_[arc];
        if (residual_[arc] > 0 && distance_[i] == distance_[next] + 1) {
          push(arc, std::min(excess_[i], residual_[arc]), i);
          if (excess_[next] > 0 && !waits_[next]) {
            waits_[next] = true;
            active.push_back(next);
          }
          if (excess_[i] == 0) return relabels;
        }
        if (residual_[arc] > 0) nearest = std::min(nearest, distance_[next] + 1);
      }
      distance_[i] = nearest;
      ++relabels;
    }
    return relabels;
  }

  void push(std::size_t arc, std::int64_t amount, std::size_t from) {
    excess_[from] -= amount;
    excess_[head_[arc]] += amount;
    residual_[arc] -= amount;
    residual_[reverse(arc)] += amount;
  }

  /// All excess has flowed away. The dual of an edge is the flow against its direction.
  void record_component(const Pixels& part, std::int64_t sum) {
    const auto size = static_cast<std::int64_t>(part.size());
    for (const std::size_t i : part) {
      labels_[i] = components_.size();
      for (const std::size_t arc : arcs_of_[i]) {
        const std::size_t edge = edge_of(arc);
        if (lam_[edge] > 0) dual_[edge] = {residual_[2 * edge] - size * lam_[edge], size};
      }
    }
    components_.push_back({sum, size});
  }

  /// Excess remains where no pixel with a deficit can be reached: there y >= mean.
  void cut(const Pixels& part) {
    const auto is_up = [&](std::size_t i) { return distance_[i] == part.size(); };
    for (const std::size_t i : part) {
      if (!is_up(i)) continue;
      for (const std::size_t arc : arcs_of_[i]) {
        const std::size_t next = head_[arc];
        std::int64_t& lam = lam_[edge_of(arc)];
        if (lam == 0 || is_up(next)) continue;
        x_[i] -= lam;
        x_[next] += lam;
        dual_[edge_of(arc)] = {arc % 2 == 0 ? -lam : lam, 1};
        lam = 0;  // no more flow along this edge
        residual_[arc] = 0;
        residual_[reverse(arc)] = 0;
      }
    }
  }

  // The remaining problem: lam is 0 on the edges that have been cut, and x includes their duals.
  std::vector<std::int64_t> x_;
  std::vector<std::int64_t> lam_;

  std::vector<std::vector<std::size_t>> arcs_of_;
  std::vector<std::size_t> head_;  // the pixel at the end of an arc

  std::vector<std::int64_t> residual_;  // how much more may flow along an arc
  std::vector<std::int64_t> excess_;    // what still has to flow away; negative: a deficit
  std::vector<std::size_t> distance_;
  std::vector<bool> waits_;

  std::vector<std::size_t> labels_;
  std::vector<Fraction> components_;
  std::vector<Fraction> dual_;
};

void check(const IntegerProblem2d& problem) {
  constexpr std::int64_t kMostPixels = std::int64_t{1} << 30;
  const std::int64_t height = problem.height;
  const std::int64_t width = problem.width;
  if (height < 0 || width < 0 || (width > 0 && height > kMostPixels / width)) {
    throw std::invalid_argument("height and width must be >= 0 and their product at most 2^30");
  }
  const auto has_size = [](const std::vector<std::int64_t>& values, std::int64_t size) {
    return values.size() == static_cast<std::size_t>(size);
  };
  if (!has_size(problem.x, height * width) ||
      !has_size(problem.lam_rows, height * std::max<std::int64_t>(width - 1, 0)) ||
      !has_size(problem.lam_cols, std::max<std::int64_t>(height - 1, 0) * width)) {
    throw std::invalid_argument(
        "x must be height x width, lam_rows height x (width - 1), lam_cols (height - 1) x width");
  }
  const std::int64_t pixels = std::max<std::int64_t>(height * width, 1);
  const std::int64_t largest = (std::int64_t{1} << 60) / pixels / pixels;
  const auto is_within = [&](const std::vector<std::int64_t>& values, std::int64_t least) {
    return std::ranges::all_of(values,
                               [&](auto value) { return least <= value && value <= largest; });
  };
  if (!is_within(problem.x, -largest) || !is_within(problem.lam_rows, 0) ||
      !is_within(problem.lam_cols, 0)) {
    throw std::invalid_argument("|x| and lam must be at most 2^60 / pixels^2, lam must be >= 0");
  }
}

std::vector<double> rounded(const std::vector<Fraction>& fractions) {
  std::vector<double> values;
  values.reserve(fractions.size());
  for (const Fraction& fraction : fractions) values.push_back(fraction.value());
  return values;
}

}  // namespace

ExactSolution2d prox_tv2d(const IntegerProblem2d& problem) {
  check(problem);
  CutsAtTheMean cuts(problem);
  cuts.solve();
  const auto first_of_cols = cuts.dual().begin() + std::ssize(problem.lam_rows);
  ExactSolution2d solution = {.labels = cuts.labels(),
                              .components = cuts.components(),
                              .exact_u = {cuts.dual().begin(), first_of_cols},
                              .exact_v = {first_of_cols, cuts.dual().end()},
                              .y = {},
                              .u = {},
                              .v = {}};
  for (const std::size_t label : solution.labels) {
    solution.y.push_back(solution.components[label].value());
  }
  solution.u = rounded(solution.exact_u);
  solution.v = rounded(solution.exact_v);
  return solution;
}

}  // namespace tautstring::reference
