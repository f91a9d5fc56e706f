// Maps for the tests, drawn with characters.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>
#include <string_view>

#include "support/map.h"

namespace tautstring_tasks::edges {

/// A map and its size.
struct Drawing {
  NewBytes map;
  Size size;
};

/// One string per row; a space or a point is 0, anything else is `value`.
inline Drawing drawn(std::initializer_list<std::string_view> rows, std::uint8_t value = 1) {
  Drawing drawing;
  drawing.size = {static_cast<int>(rows.size()), static_cast<int>(rows.begin()->size())};
  for (const std::string_view row : rows) {
    for (const char c : row) drawing.map.push_back(c == '.' || c == ' ' ? 0 : value);
  }
  return drawing;
}

/// The same the other way round.
inline std::string text_of(Bytes map, Size size) {
  std::string text;
  for (std::size_t i = 0; i < map.size(); ++i) {
    text += map[i] != 0 ? '#' : '.';
    if ((i + 1) % to_index(size.width) == 0) text += '\n';
  }
  return text;
}

/// Pixels that are set with a probability of `percent`.
inline Drawing scattered(Size size, unsigned percent, std::mt19937& random) {
  Drawing drawing{NewBytes(size.pixels()), size};
  for (auto& pixel : drawing.map) pixel = random() % 100 < percent ? 1 : 0;
  return drawing;
}

/// Bytes of any value.
inline Drawing noise(Size size, std::mt19937& random) {
  Drawing drawing{NewBytes(size.pixels()), size};
  for (auto& pixel : drawing.map) pixel = static_cast<std::uint8_t>(random() % 256);
  return drawing;
}

}  // namespace tautstring_tasks::edges
