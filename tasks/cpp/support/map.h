// Sizes and maps. A map is stored row by row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tautstring_tasks {

struct Size {
  int height = 0;
  int width = 0;

  [[nodiscard]] std::size_t pixels() const {
    return static_cast<std::size_t>(height) * static_cast<std::size_t>(width);
  }
  bool operator==(const Size&) const = default;
};

using Bytes = std::span<const std::uint8_t>;
using NewBytes = std::vector<std::uint8_t>;

/// An index of an array, which is never negative.
inline std::size_t to_index(int i) {
  return static_cast<std::size_t>(i);
}

}  // namespace tautstring_tasks
