// Shortest augmenting paths with prices of columns (Jonker and Volgenant 1987), for sparse choices.
// Prices are at most 0, and 0 for columns that nobody has; a row has a column that is the cheapest
// for it, with prices subtracted. That proves that the sum is least.
#include "edges/assign.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <stdexcept>
#include <utility>

namespace tautstring_tasks::edges {
namespace {

constexpr int kNone = -1;
constexpr int kFar = std::numeric_limits<int>::max();

std::size_t index(int i) {
  return static_cast<std::size_t>(i);
}

class Assignment {
 public:
  explicit Assignment(const Choices& choices)
      : choices_(choices),
        column_of_(choices.first.size() - 1, kNone),
        row_of_(index(choices.columns), kNone),
        price_(index(choices.columns), 0),
        length_(index(choices.columns), kFar),
        from_(index(choices.columns), kNone) {}

  std::vector<int> solve() {
    const int rows = static_cast<int>(column_of_.size());
    for (int row = 0; row < rows; ++row) take_cheapest(row);
    for (int row = 0; row < rows; ++row) {
      if (column_of_[index(row)] == kNone) augment(row);
    }
    return column_of_;
  }

 private:
  /// Gives a row one of its cheapest columns if that is free, while all prices are 0.
  void take_cheapest(int row) {
    int least = kFar;
    for (int k = begin(row); k < end(row); ++k) least = std::min(least, choices_.cost[index(k)]);
    for (int k = begin(row); k < end(row); ++k) {
      const int column = choices_.column[index(k)];
      if (choices_.cost[index(k)] != least || row_of_[index(column)] != kNone) continue;
      column_of_[index(row)] = column;
      row_of_[index(column)] = row;
      return;
    }
  }

  /// Notes the columns of a row at the end of a path, `offset` being the path's length less the
  /// price that the row pays.
  void look_from(int row, int offset) {
    for (int k = begin(row); k < end(row); ++k) {
      const int column = choices_.column[index(k)];
      const int length = offset + choices_.cost[index(k)] - price_[index(column)];
      if (length >= length_[index(column)]) continue;
      if (length_[index(column)] == kFar) touched_.push_back(column);
      length_[index(column)] = length;
      from_[index(column)] = row;
      queue_.emplace_back(length, column);
      std::push_heap(queue_.begin(), queue_.end(), std::greater<>());
    }
  }

  /// Finds the shortest path from a row without a column to a free column, and exchanges along it.
  void augment(int start) {
    queue_.clear();
    touched_.clear();
    done_.clear();
    look_from(start, 0);
    int last = kNone;
    int total = 0;
    while (last == kNone) {
      if (queue_.empty()) throw std::invalid_argument("choices: some row can get no column");
      std::pop_heap(queue_.begin(), queue_.end(), std::greater<>());
      const auto [length, column] = queue_.back();
      queue_.pop_back();
      if (length > length_[index(column)]) continue;  // a shorter path was found since
      total = length;
      const int row = row_of_[index(column)];
      if (row == kNone) {
        last = column;
      } else {
        done_.push_back(column);
        look_from(row, length - cost_of(row, column) + price_[index(column)]);
      }
    }
    for (const int column : done_) price_[index(column)] += length_[index(column)] - total;
    for (int column = last; column != kNone;) {
      const int row = from_[index(column)];
      row_of_[index(column)] = row;
      std::swap(column, column_of_[index(row)]);
    }
    for (const int column : touched_) length_[index(column)] = kFar;
  }

  [[nodiscard]] int begin(int row) const { return choices_.first[index(row)]; }
  [[nodiscard]] int end(int row) const { return choices_.first[index(row) + 1]; }

  [[nodiscard]] int cost_of(int row, int column) const {
    int k = begin(row);
    while (choices_.column[index(k)] != column) ++k;
    return choices_.cost[index(k)];
  }

  const Choices& choices_;
  std::vector<int> column_of_;
  std::vector<int> row_of_;
  std::vector<int> price_;
  std::vector<int> length_;  // of the shortest path to each column
  std::vector<int> from_;    // the row before it on that path
  std::vector<std::pair<int, int>> queue_;
  std::vector<int> touched_;
  std::vector<int> done_;  // columns whose shortest path is known
};

}  // namespace

std::vector<int> assign(const Choices& choices) {
  if (choices.first.empty()) throw std::invalid_argument("choices: first must not be empty");
  return Assignment(choices).solve();
}

}  // namespace tautstring_tasks::edges
