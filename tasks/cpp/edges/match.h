// One-to-one matching of predicted and true pixels that are close to one another.
//
// The original finds an assignment of least cost in which a pixel without a partner costs more than
// any detour. So what it counts is the size of a maximum matching, and that is found here directly.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "support/map.h"

namespace tautstring_tasks::edges {

/// A range of indices of true pixels.
struct Range {
  int first;
  int end;
};

/// The true pixels, prepared for the question which of them are close to a place. They are numbered
/// row by row, so those of one row that are close to a place are a range of indices, and no list of
/// close pairs is stored.
class Truth {
 public:
  /// Pixels other than 0 are true; `max_distance` is in pixels, a distance equal to it is close.
  Truth(Bytes map, Size size, double max_distance);

  [[nodiscard]] int count() const { return count_; }
  [[nodiscard]] Size size() const { return size_; }
  /// The number of ranges of each place.
  [[nodiscard]] int ranges() const { return static_cast<int>(rows_.size()); }
  /// What the next three functions need of a place.
  [[nodiscard]] std::size_t start(int place) const {
    const int y = place / size_.width;
    const int x = place - y * size_.width;
    return to_index(y + margin_) * to_index(stride_) + to_index(x + margin_);
  }
  /// Range number `row` of a place, from the rows next to it to those far away. May be empty.
  [[nodiscard]] Range range(std::size_t start, int row) const {
    const Row& each = rows_[to_index(row)];
    return {before_[start + each.from], before_[start + each.to]};
  }
  /// The number of steps to places that are close, beginning with the closest.
  [[nodiscard]] std::size_t steps() const { return steps_.size(); }
  /// The true pixel at a step from a place, -1 if there is none.
  [[nodiscard]] int pixel_at(std::size_t start, std::size_t step) const {
    const std::size_t at = start + steps_[step];
    return before_[at + 1] > before_[at] ? before_[at] : -1;
  }
  [[nodiscard]] bool is_alone(std::size_t start) const;
  /// The place of a true pixel.
  [[nodiscard]] int place(int truth) const { return places_[to_index(truth)]; }

 private:
  /// Where a range is in `before_`, relative to a place; negative steps wrap around.
  struct Row {
    std::size_t from;
    std::size_t to;
  };

  Size size_;
  int margin_;
  int stride_;
  int count_ = 0;
  std::vector<int> before_;  // number of true pixels before a place; with margins
  std::vector<int> places_;
  std::vector<Row> rows_;
  std::vector<std::size_t> steps_;
};

/// A maximum matching of predicted pixels with the true ones.
class Matching {
 public:
  explicit Matching(const Truth& truth);

  /// Matches predicted pixels, given by their places in ascending order. Which of them have a
  /// partner is, among the maximum matchings, that of one with the least sum of distances (in
  /// hundredths of a pixel, as in the original). Pairs themselves may be others.
  void match(std::span<const int> predicted);
  /// Begins with those pairs of the last matching that are still possible, which takes less time
  /// where most pixels are the same. Only the size is that of `match`.
  void rematch(std::span<const int> predicted);

  /// The number of pairs.
  [[nodiscard]] int size() const { return size_; }
  /// The true pixel of each predicted one, -1 where it has none.
  [[nodiscard]] std::span<const int> partners() const { return partner_; }

 private:
  /// Numbers that are removed one by one; finds the next one that remains.
  class Remaining {
   public:
    void reset(int count);
    void remove(int i) { next_[to_index(i)] = i + 1; }
    [[nodiscard]] bool has(int i) const { return next_[to_index(i)] == i; }
    /// The first that remains from i on; `count` if none does.
    int find(int i);

   private:
    std::vector<int> next_;
  };

  /// A predicted pixel on the path that is searched, and the range that it looks at next.
  struct Visit {
    int predicted;
    int row;
  };

  void complete();
  void match_closest();
  void prefer_close();
  void join(int predicted, int truth);
  int find_free(int predicted);
  int find_unvisited(Visit& visit);
  bool augment(int start);

  const Truth& truth_;
  int size_ = 0;
  std::vector<int> places_;  // of the predicted pixels
  std::vector<std::size_t> starts_;
  std::vector<int> partner_;       // of each predicted pixel
  std::vector<int> partner_back_;  // of each true pixel
  std::vector<int> last_places_;
  std::vector<int> last_partner_;
  std::vector<int> without_;  // predicted pixels that may still get a partner
  Remaining free_;            // true pixels without a partner
  Remaining unvisited_;       // true pixels that no path of this round has tried
  std::vector<Visit> path_;
};

/// The result for two maps: which pixels have a partner, as zeros and ones.
struct Matched {
  NewBytes predicted;
  NewBytes truth;
};

[[nodiscard]] Matched matched(Bytes predicted, Bytes truth, Size size, double max_distance);

}  // namespace tautstring_tasks::edges
