// Assignments against all that there are.
#include "edges/assign.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <random>
#include <stdexcept>

namespace tautstring_tasks::edges {
namespace {

constexpr int kNever = 1 << 20;

/// Costs of each row and column; kNever where a row may not get a column.
using Table = std::vector<std::vector<int>>;

Choices choices_of(const Table& table) {
  Choices choices;
  choices.columns = static_cast<int>(table.front().size());
  choices.first = {0};
  for (const auto& row : table) {
    for (std::size_t column = 0; column < row.size(); ++column) {
      if (row[column] == kNever) continue;
      choices.column.push_back(static_cast<int>(column));
      choices.cost.push_back(row[column]);
    }
    choices.first.push_back(static_cast<int>(choices.column.size()));
  }
  return choices;
}

int cost_of(const Table& table, const std::vector<int>& columns) {
  int sum = 0;
  for (std::size_t row = 0; row < table.size(); ++row) {
    sum += table[row][static_cast<std::size_t>(columns[row])];
  }
  return sum;
}

int least_of_all(const Table& table) {
  std::vector<int> order(table.front().size());
  std::iota(order.begin(), order.end(), 0);
  int least = kNever;
  do {
    least = std::min(least, cost_of(table, order));
  } while (std::next_permutation(order.begin(), order.end()));
  return least;
}

TEST(Assign, TheSumIsLeast) {
  std::mt19937 random(1);
  int possible = 0;
  for (int round = 0; round < 300; ++round) {
    Table table(1 + random() % 5, std::vector<int>(5 + random() % 2));
    for (auto& row : table) {
      for (int& cost : row) cost = random() % 3 == 0 ? kNever : static_cast<int>(random() % 9);
    }
    const int least = least_of_all(table);
    if (least >= kNever) {
      EXPECT_THROW(static_cast<void>(assign(choices_of(table))), std::invalid_argument);
      continue;
    }
    ++possible;
    const std::vector<int> columns = assign(choices_of(table));
    EXPECT_EQ(cost_of(table, columns), least);
    std::vector<int> sorted(columns);
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(std::adjacent_find(sorted.begin(), sorted.end()), sorted.end()) << "one column twice";
  }
  EXPECT_GT(possible, 200);
}

TEST(Assign, NoRowsNeedNoColumn) {
  EXPECT_TRUE(assign({.first = {0}, .column = {}, .cost = {}, .columns = 3}).empty());
}

}  // namespace
}  // namespace tautstring_tasks::edges
