// The edges of a row in the order in which they close: a binary heap that knows where each edge is,
// so that its lambda can change.
#pragma once

#include <cstdint>
#include <utility>

#include "step/row/scratch.h"

namespace tautstring::detail {

class EdgeQueue {
 public:
  /// Room for edges 0 .. n - 1.
  EdgeQueue(Scratch& scratch, std::int32_t n) noexcept
      : lams_(scratch.take<double>(n)),
        heap_(scratch.take<std::int32_t>(n)),
        places_(scratch.take<std::int32_t>(n)) {}

  void clear() noexcept { size_ = 0; }
  [[nodiscard]] bool is_empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::int32_t first() const noexcept { return heap_[0]; }
  [[nodiscard]] double lam(std::int32_t edge) const noexcept { return lams_[edge]; }

  /// Adds an edge without an order; order() makes it.
  void add(std::int32_t edge, double lam) noexcept {
    lams_[edge] = lam;
    place(size_++, edge);
  }
  void order() noexcept {
    for (std::int32_t i = size_ / 2; i-- > 0;) sink(i);
  }

  void change(std::int32_t edge, double lam) noexcept {
    const bool is_sooner = lam < lams_[edge];
    lams_[edge] = lam;
    if (is_sooner) {
      rise(places_[edge]);
    } else {
      sink(places_[edge]);
    }
  }

  void remove(std::int32_t edge) noexcept {
    const std::int32_t at = places_[edge];
    const std::int32_t last = heap_[--size_];
    if (last == edge) return;
    place(at, last);
    rise(at);
    sink(places_[last]);
  }

 private:
  /// Equal lambdas close from left to right, so that the result does not depend on the heap.
  [[nodiscard]] bool is_before(std::int32_t a, std::int32_t b) const noexcept {
    return lams_[a] < lams_[b] || (lams_[a] == lams_[b] && a < b);
  }
  void place(std::int32_t at, std::int32_t edge) noexcept {
    heap_[at] = edge;
    places_[edge] = at;
  }
  void rise(std::int32_t at) noexcept {
    const std::int32_t edge = heap_[at];
    for (std::int32_t above = (at - 1) / 2; at > 0 && is_before(edge, heap_[above]);
         above = (at - 1) / 2) {
      place(at, heap_[above]);
      at = above;
    }
    place(at, edge);
  }
  void sink(std::int32_t at) noexcept {
    const std::int32_t edge = heap_[at];
    for (std::int32_t below = 2 * at + 1; below < size_; below = 2 * at + 1) {
      if (below + 1 < size_ && is_before(heap_[below + 1], heap_[below])) ++below;
      if (!is_before(heap_[below], edge)) break;
      place(at, heap_[below]);
      at = below;
    }
    place(at, edge);
  }

  double* lams_;
  std::int32_t* heap_;
  std::int32_t* places_;  // in the heap
  std::int32_t size_ = 0;
};

}  // namespace tautstring::detail
