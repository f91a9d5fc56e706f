// Which row or column stands for one outside the image.
#pragma once

#include <algorithm>

namespace tautstring_tasks::cifar10c {

/// The nearest one: a a a | a b c d | d d d.
struct NearestBorder {
  [[nodiscard]] static int inside(int i, int size) { return std::clamp(i, 0, size - 1); }
};

/// A mirror beyond the edge: c b a | a b c d | d c b.
struct ReflectBorder {
  [[nodiscard]] static int inside(int i, int size) {
    while (i < 0 || i >= size) i = i < 0 ? -i - 1 : 2 * size - i - 1;
    return i;
  }
};

/// A mirror on the edge: d c b | a b c d | c b a.
struct MirrorBorder {
  [[nodiscard]] static int inside(int i, int size) {
    while (i < 0 || i >= size) i = i < 0 ? -i : 2 * size - i - 2;
    return i;
  }
};

}  // namespace tautstring_tasks::cifar10c
