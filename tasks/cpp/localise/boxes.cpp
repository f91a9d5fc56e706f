// Maps have a margin of one pixel here, in which are the neighbours of all pixels. A place is an
// index of such a map.
#include "localise/boxes.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <queue>
#include <span>
#include <stdexcept>
#include <tuple>

namespace tautstring_tasks::localise {
namespace {

constexpr int kValues = 256;
constexpr unsigned kRing = 8;  // neighbours: east, north-east and so on

using Table = std::array<std::uint8_t, 256>;  // by which neighbours are in; bit k is neighbour k

/// Which neighbours to connect a new pixel to: one of each group that is connected without it.
constexpr Table joins(bool is_diagonal_near) {
  Table table{};
  for (unsigned code = 0; code < table.size(); ++code) {
    const auto is_in = [code](unsigned k) { return ((code >> (k % kRing)) & 1U) != 0; };
    // Along the ring, from one neighbour across an edge (an even number) to the next one.
    const auto is_linked = [&](unsigned k) {
      return is_in(k) && is_in(k + 2) && (is_diagonal_near || is_in(k + 1));
    };
    unsigned chosen = 0;
    for (unsigned k = 0; k < kRing; k += 2) {
      if (is_in(k) && !is_linked(k + kRing - 2)) chosen |= 1U << k;
      const bool is_alone = !is_in(k) && !is_in(k + 2);
      if (is_diagonal_near && is_in(k + 1) && is_alone) chosen |= 1U << (k + 1);
    }
    const bool is_round = is_linked(0) && is_linked(2) && is_linked(4) && is_linked(6);
    table[code] = static_cast<std::uint8_t>(is_round ? 1U : chosen);
  }
  return table;
}

/// By how much a new pixel enlarges the area inside the contour through the centres of pixels, in
/// half pixels. A square of four centres counts as 2 if all are in, as 1 if three are.
constexpr Table areas() {
  Table table{};
  for (unsigned code = 0; code < table.size(); ++code) {
    for (unsigned k = 0; k < kRing; k += 2) {
      const unsigned others =
          ((code >> k) & 1U) + ((code >> (k + 1)) & 1U) + ((code >> ((k + 2) % kRing)) & 1U);
      table[code] = static_cast<std::uint8_t>(table[code] + (others >= 2 ? 1U : 0U));
    }
  }
  return table;
}

constexpr Table kNear = joins(true);     // 8-connected
constexpr Table kAcross = joins(false);  // 4-connected
constexpr Table kAreas = areas();

Box joined(const Box& a, const Box& b) {
  return {std::min(a.x0, b.x0), std::min(a.y0, b.y0), std::max(a.x1, b.x1), std::max(a.y1, b.y1)};
}

/// Where the pixels of a map are in one with a margin. Rows begin at multiples of a power of two.
class Grid {
 public:
  explicit Grid(Size size)
      : size_(size),
        shift_(static_cast<int>(std::bit_width(static_cast<unsigned>(size.width) + 1))),
        stride_(1 << shift_),
        steps_{1, 1 - stride_, -stride_, -stride_ - 1, -1, stride_ - 1, stride_, stride_ + 1} {}

  [[nodiscard]] Size size() const { return size_; }
  [[nodiscard]] std::size_t places() const {
    return to_index(size_.height + 2) * to_index(stride_);
  }
  [[nodiscard]] int place(int y, int x) const { return (y + 1) * stride_ + x + 1; }
  [[nodiscard]] Box box(int place) const {
    const int y = (place >> shift_) - 1;
    const int x = (place & (stride_ - 1)) - 1;
    return {x, y, x, y};
  }
  [[nodiscard]] bool is_margin(int place) const {
    const Box at = box(place);
    return at.x0 < 0 || at.y0 < 0 || at.x0 >= size_.width || at.y0 >= size_.height;
  }
  [[nodiscard]] const std::array<int, kRing>& steps() const { return steps_; }

 private:
  Size size_;
  int shift_;
  int stride_;
  std::array<int, kRing> steps_;
};

/// The places of a map's pixels by their values.
class Sorted {
 public:
  Sorted(Bytes map, const Grid& grid) : places_(map.size()) {
    for (const std::uint8_t value : map) ++begins_[value + std::size_t{1}];
    for (std::size_t value = 0; value < kValues; ++value) begins_[value + 1] += begins_[value];
    std::array<std::size_t, kValues + 1> next = begins_;
    std::size_t index = 0;
    for (int y = 0; y < grid.size().height; ++y) {
      for (int x = 0; x < grid.size().width; ++x) {
        places_[next[map[index++]]++] = grid.place(y, x);
      }
    }
  }

  [[nodiscard]] std::span<const int> of(int value) const {
    const std::size_t begin = begins_[to_index(value)];
    return std::span(places_).subspan(begin, begins_[to_index(value) + 1] - begin);
  }

 private:
  std::array<std::size_t, kValues + 1> begins_{};
  std::vector<int> places_;
};

/// A component of pixels, or what became part of another one.
struct Component {
  Box box;
  int since = 0;   ///< The step of this box.
  int area = 0;    ///< In half pixels; right if there are no holes.
  int first = 0;   ///< The first place.
  int root = 0;    ///< The place that all others lead to.
  int pixels = 1;  ///< 0 if it is part of another one.
};

/// The components of pixels that are added one by one, in steps.
class Components {
 public:
  /// Boxes that change or end are appended to `ended`, with steps as their cuts.
  Components(const Grid& grid, const Table& joins, std::vector<Lasting>& ended)
      : grid_(grid), joins_(joins), ended_(ended), is_in_(grid.places()), parents_(grid.places()) {}

  /// Adds the margin, as a component that has no box.
  void add_margin() {
    for (std::size_t i = 0; i < is_in_.size(); ++i) {
      is_in_[i] = grid_.is_margin(static_cast<int>(i)) ? 1 : 0;
    }
    parents_[0] = ~0;  // the others have the parent 0
    components_.push_back({.box = {-1, -1, grid_.size().width, grid_.size().height}});
  }

  void add(int place, int step) {
    unsigned code = 0;
    for (unsigned k = 0; k < kRing; ++k) {
      code |= static_cast<unsigned>(is_in_[to_index(place + grid_.steps()[k])]) << k;
    }
    is_in_[to_index(place)] = 1;
    const Component alone{.box = grid_.box(place),
                          .since = step,
                          .area = kAreas[code],
                          .first = place,
                          .root = place};
    unsigned rest = joins_[code];
    if (rest == 0) {
      parents_[to_index(place)] = ~static_cast<int>(components_.size());
      components_.push_back(alone);
      return;
    }
    int number = find(place + step_to(rest));
    parents_[to_index(place)] = components_[to_index(number)].root;
    extend(components_[to_index(number)], alone, step);
    for (rest &= rest - 1; rest != 0; rest &= rest - 1) {
      number = unite(number, find(place + step_to(rest)), step);
    }
  }

  /// Ends the boxes of all components before a step.
  void end(int step) {
    for (const Component& each : components_) end(each, step);
  }

  /// The number of a place's component.
  [[nodiscard]] int find(int place) {
    while (parents_[to_index(place)] >= 0) {
      int& parent = parents_[to_index(place)];
      const int next = parents_[to_index(parent)];
      if (next < 0) return ~next;
      place = parent = next;
    }
    return ~parents_[to_index(place)];
  }

  [[nodiscard]] const Component& operator[](int number) const {
    return components_[to_index(number)];
  }

 private:
  /// The step to the first of some neighbours.
  [[nodiscard]] int step_to(unsigned code) const {
    return grid_.steps()[static_cast<std::size_t>(std::countr_zero(code))];
  }

  void end(const Component& component, int step) {
    const bool is_any = component.pixels > 0 && component.box.x0 >= 0;
    if (is_any && component.since < step) {
      ended_.push_back({component.box, component.since, step - 1});
    }
  }

  void extend(Component& component, const Component& by, int step) {
    const Box box = joined(component.box, by.box);
    if (box != component.box) {
      end(component, step);
      component.box = box;
      component.since = step;
    }
    component.area += by.area;
    component.first = std::min(component.first, by.first);
    component.pixels += by.pixels;
  }

  int unite(int one, int other, int step) {
    if (one == other) return one;
    if (components_[to_index(one)].pixels < components_[to_index(other)].pixels) {
      std::swap(one, other);
    }
    Component& larger = components_[to_index(one)];
    Component& smaller = components_[to_index(other)];
    end(smaller, step);
    extend(larger, smaller, step);
    parents_[to_index(smaller.root)] = larger.root;
    smaller.pixels = 0;
    return one;
  }

  const Grid& grid_;
  const Table& joins_;
  std::vector<Lasting>& ended_;
  std::vector<std::uint8_t> is_in_;
  std::vector<int> parents_;  // towards a root, which has ~ the number of its component
  std::vector<Component> components_;
};

/// The box of a contour, of the first to the last pixel that it runs through.
Box generous(Box box, Size size) {
  box.x1 = std::min(box.x1 + 1, size.width - 1);
  box.y1 = std::min(box.y1 + 1, size.height - 1);
  return box;
}

/// Steps from high to low values; step s is cut kCuts - 1 - s.
void find_pixels_above(const Sorted& sorted, const Grid& grid, std::vector<Lasting>& result) {
  const std::size_t before = result.size();
  Components components(grid, kNear, result);
  for (int step = 0; step < kCuts; ++step) {
    for (const int place : sorted.of(kCuts - step)) components.add(place, step);
  }
  components.end(kCuts);
  for (Lasting& each : std::span(result).subspan(before)) {
    each = {generous(each.box, grid.size()), kCuts - 1 - each.last, kCuts - 1 - each.first};
  }
}

/// Steps from low to high values; step s is cut s. What is connected to the margin is no hole.
void find_holes(const Sorted& sorted, const Grid& grid, std::vector<Lasting>& result) {
  const std::size_t before = result.size();
  Components components(grid, kAcross, result);
  components.add_margin();
  for (int step = 0; step < kCuts; ++step) {
    for (const int place : sorted.of(step)) components.add(place, step);
  }
  components.end(kCuts);
  for (Lasting& each : std::span(result).subspan(before)) {
    const auto [x0, y0, x1, y1] = each.box;  // the contour runs around it
    each.box = generous({x0 - 1, y0 - 1, x1 + 1, y1 + 1}, grid.size());
  }
}

/// A map whose cuts have no holes: each pixel gets the least value that a path across edges from it
/// to the margin must pass.
NewBytes filled(Bytes map, const Grid& grid) {
  NewBytes result(grid.places());
  std::vector<std::uint8_t> is_open(grid.places());
  const auto [height, width] = grid.size();
  std::array<std::vector<int>, kValues> waiting;  // by value
  std::size_t index = 0;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const int place = grid.place(y, x);
      const std::uint8_t value = result[to_index(place)] = map[index++];
      const bool is_border = y == 0 || x == 0 || y == height - 1 || x == width - 1;
      is_open[to_index(place)] = is_border ? 0 : 1;
      if (is_border) waiting[value].push_back(place);
    }
  }
  for (std::size_t value = 0; value < kValues; ++value) {
    while (!waiting[value].empty()) {
      const int place = waiting[value].back();
      waiting[value].pop_back();
      for (unsigned k = 0; k < kRing; k += 2) {
        const auto next = to_index(place + grid.steps()[k]);
        if (is_open[next] == 0) continue;
        is_open[next] = 0;
        result[next] = std::max(result[next], static_cast<std::uint8_t>(value));
        waiting[result[next]].push_back(static_cast<int>(next));
      }
    }
  }
  NewBytes without_margin;
  without_margin.reserve(map.size());
  for (int y = 0; y < height; ++y) {
    const auto row = result.begin() + grid.place(y, 0);
    without_margin.insert(without_margin.end(), row, row + width);
  }
  return without_margin;
}

/// A hole's contour, and all inside it, has at most the area of the contour around it, which comes
/// before it in the benchmark's list. So only outermost contours count, and these are those of the
/// map without holes.
std::array<Box, kCuts> largest_of(Bytes map, const Grid& grid) {
  std::array<Box, kCuts> result{};
  const Sorted sorted(filled(map, grid), grid);
  std::vector<Lasting> unused;
  Components components(grid, kNear, unused);
  using Rank = std::tuple<int, int, int>;  // area, first place, number of the component
  std::priority_queue<Rank> ranks;         // some of them are outdated
  for (int step = 0; step < kCuts; ++step) {
    for (const int place : sorted.of(kCuts - step)) components.add(place, step);
    int last = -1;
    for (const int place : sorted.of(kCuts - step)) {
      const int number = components.find(place);
      if (number == last) continue;
      last = number;
      ranks.emplace(components[number].area, components[number].first, number);
    }
    while (!ranks.empty()) {
      const auto [area, first, number] = ranks.top();
      const Component& found = components[number];
      if (found.pixels > 0 && found.area == area && found.first == first) {
        result[to_index(kCuts - 1 - step)] = generous(found.box, grid.size());
        break;
      }
      ranks.pop();
    }
  }
  return result;
}

}  // namespace

Boxes boxes_of(Bytes map, Size size) {
  if (map.size() != size.pixels() || map.empty()) {
    throw std::invalid_argument("map: does not have its size, or is empty");
  }
  const Grid grid(size);
  const Sorted sorted(map, grid);
  Boxes result;
  find_pixels_above(sorted, grid, result.all);
  find_holes(sorted, grid, result.all);
  const int most = *std::max_element(map.begin(), map.end());
  if (most < kCuts) result.all.push_back({{}, most, kCuts - 1});
  result.largest = largest_of(map, grid);
  return result;
}

}  // namespace tautstring_tasks::localise
