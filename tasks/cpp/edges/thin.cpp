#include "edges/thin.h"

#include <algorithm>
#include <stdexcept>

namespace tautstring_tasks::edges {
namespace {

/// Whether a pass of each kind removes a pixel, by its neighbours; bit k is neighbour k.
constexpr std::array<std::array<bool, 256>, 2> removals() {
  std::array<std::array<bool, 256>, 2> table{};
  for (unsigned code = 0; code < 256; ++code) {
    const auto is_set = [code](unsigned k) { return ((code >> (k % 8)) & 1U) != 0; };
    int runs = 0;    // of neighbours in one piece
    int pairs = 0;   // set pairs of neighbours, paired in one way
    int others = 0;  // and in the other
    for (unsigned k = 0; k < 8; k += 2) {
      runs += static_cast<int>(!is_set(k) && (is_set(k + 1) || is_set(k + 2)));
      pairs += static_cast<int>(is_set(k + 1) || is_set(k));
      others += static_cast<int>(is_set(k + 1) || is_set(k + 2));
    }
    const int count = std::min(pairs, others);
    const bool is_end_of_none = runs == 1 && (count == 2 || count == 3);
    table[0][code] = is_end_of_none && !((is_set(1) || is_set(2) || !is_set(7)) && is_set(0));
    table[1][code] = is_end_of_none && !((is_set(5) || is_set(6) || !is_set(3)) && is_set(4));
  }
  return table;
}

constexpr auto kRemovals = removals();

}  // namespace

Thinner::Thinner(Size size)
    : size_(size),
      stride_(size.width + 2),
      steps_{1, 1 - stride_, -stride_, -stride_ - 1, -1, stride_ - 1, stride_, stride_ + 1},
      is_set_(to_index(size.height + 2) * to_index(stride_)),
      listed_in_(is_set_.size()) {}

int Thinner::neighbours(int place) const {
  int code = 0;
  for (std::size_t k = 0; k < steps_.size(); ++k) {
    code |= is_set_[to_index(place + steps_[k])] << k;
  }
  return code;
}

/// Lists the pixels about which a pass may decide differently from the last pass of its kind: those
/// next to a pixel that was removed since.
void Thinner::find_candidates(int number) {
  if (number < 2) {
    candidates_.assign(all_.begin(), all_.end());
    return;
  }
  candidates_.clear();
  ++search_;
  for (const Places& removed : removed_) {
    for (const int place : removed) {
      for (const int step : steps_) {
        const auto next = to_index(place + step);
        if (is_set_[next] == 0 || listed_in_[next] == search_) continue;
        listed_in_[next] = search_;
        candidates_.push_back(place + step);
      }
    }
  }
}

/// Decides about all pixels before it removes any.
void Thinner::pass(int number) {
  find_candidates(number);
  const auto kind = to_index(number % 2);
  removed_[kind].clear();
  for (const int place : candidates_) {
    const bool is_removed =
        is_set_[to_index(place)] != 0 && kRemovals[kind][to_index(neighbours(place))];
    if (is_removed) removed_[kind].push_back(place);
  }
  for (const int place : removed_[kind]) is_set_[to_index(place)] = 0;
}

std::span<const int> Thinner::thin(Bytes map, std::uint8_t level) {
  if (map.size() != size_.pixels()) throw std::invalid_argument("map: has another size");
  all_.clear();
  for (int y = 0; y < size_.height; ++y) {
    const std::uint8_t* const row = &map[to_index(y) * to_index(size_.width)];
    const int first = (y + 1) * stride_ + 1;
    for (int x = 0; x < size_.width; ++x) {
      const bool is_set = row[x] >= level;
      is_set_[to_index(first + x)] = is_set ? 1 : 0;
      if (is_set) all_.push_back(first + x);
    }
  }
  for (Places& removed : removed_) removed.clear();
  listed_in_.assign(listed_in_.size(), search_ = 0);
  for (int number = 0; number < 2 || !removed_[0].empty() || !removed_[1].empty(); ++number) {
    pass(number);
  }
  result_.clear();
  for (const int place : all_) {
    if (is_set_[to_index(place)] == 0) continue;
    const int y = place / stride_ - 1;
    result_.push_back(y * size_.width + place % stride_ - 1);
  }
  return result_;
}

NewBytes thinned(Bytes map, Size size) {
  NewBytes result(map.size());
  Thinner thinner(size);
  for (const int place : thinner.thin(map, 1)) result[to_index(place)] = 1;
  return result;
}

}  // namespace tautstring_tasks::edges
