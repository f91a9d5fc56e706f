// Assignments of least cost, where every row can get a column of its own.
#pragma once

#include <vector>

namespace tautstring_tasks::edges {

/// The columns that each row may get: those of row r are at first[r] .. first[r + 1] - 1.
struct Choices {
  std::vector<int> first;
  std::vector<int> column;
  std::vector<int> cost;  // at least 0
  int columns = 0;
};

/// Returns a column for each row, no column twice, such that the sum of costs is least. Of several
/// such assignments, always the same one. Throws std::invalid_argument if there is none.
[[nodiscard]] std::vector<int> assign(const Choices& choices);

}  // namespace tautstring_tasks::edges
