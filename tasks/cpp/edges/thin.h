// Thinning: wears a binary map down to lines that are one pixel wide.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "support/map.h"

namespace tautstring_tasks::edges {

/// The two-pass algorithm of Guo and Hall (1989), until nothing changes; Matlab's "thin". Its
/// memory is used again by the next call.
class Thinner {
 public:
  explicit Thinner(Size size);

  /// Thins the pixels of a map that are at least `level`, which must be above 0. Returns the places
  /// that remain, in ascending order; valid until the next call.
  std::span<const int> thin(Bytes map, std::uint8_t level);

 private:
  using Places = std::vector<int>;

  void pass(int number);
  [[nodiscard]] int neighbours(int place) const;
  void find_candidates(int number);

  Size size_;
  int stride_;
  std::array<int, 8> steps_;              // to the neighbours: east, north-east and so on
  std::vector<std::uint8_t> is_set_;      // with a margin of one pixel
  std::vector<std::uint32_t> listed_in_;  // the search in which a pixel was last a candidate
  std::uint32_t search_ = 0;
  Places all_;
  Places candidates_;
  std::array<Places, 2> removed_;  // by the last pass of each kind
  Places result_;
};

/// The same for one map of zeros and others.
[[nodiscard]] NewBytes thinned(Bytes map, Size size);

}  // namespace tautstring_tasks::edges
