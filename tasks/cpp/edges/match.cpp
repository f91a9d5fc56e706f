// Augmenting paths are searched depth first, in rounds (Pothen and Fan 1990): a round tries every
// predicted pixel without a partner, and no true pixel twice. Each pixel on a path first asks for a
// free true pixel. As close pixels are ranges of indices, the next one that is free or has not been
// tried is found without a look at the others, so a round takes about as long as the ranges are
// many. A round without a new pair has tried every path: the matching is a maximum.
//
// The true pixels that this last round tried are crowded: every maximum matching has a partner for
// each, and only among the predicted pixels close to these is there a choice of who gets one
// (Dulmage and Mendelsohn 1958). So distances have to be looked at only there.
#include "edges/match.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <tuple>

#include "edges/assign.h"

namespace tautstring_tasks::edges {
namespace {

constexpr int kNone = -1;

/// How far a distance reaches, in whole pixels: the whole map at most.
int reach(double distance, Size size) {
  const int most = std::max({size.height, size.width, 1}) - 1;
  return distance < most ? static_cast<int>(distance) : most;
}

/// The distance of two places, in hundredths of a pixel.
int cost(int place, int other, Size size) {
  const int dy = place / size.width - other / size.width;
  const int dx = place % size.width - other % size.width;
  return static_cast<int>(std::lround(100 * std::sqrt(static_cast<double>(dy * dy + dx * dx))));
}

}  // namespace

Truth::Truth(Bytes map, Size size, double max_distance) : size_(size), margin_(0), stride_(0) {
  if (!(max_distance >= 0)) throw std::invalid_argument("max_distance: must be at least 0");
  if (map.size() != size.pixels()) throw std::invalid_argument("truth: has another size");
  margin_ = reach(max_distance, size);
  stride_ = size.width + 2 * margin_ + 1;
  const int height = size.height + 2 * margin_;
  before_.resize(to_index(height) * to_index(stride_) + 1);
  std::size_t at = 0;
  for (int y = -margin_; y < size.height + margin_; ++y) {
    for (int x = -margin_; x <= size.width + margin_; ++x) {
      before_[at++] = count_;
      const bool is_inside = x >= 0 && x < size.width && y >= 0 && y < size.height;
      const int place = y * size.width + x;
      if (!is_inside || map[to_index(place)] == 0) continue;
      places_.push_back(place);
      ++count_;
    }
  }
  before_[at] = count_;

  std::vector<std::tuple<int, int, int>> steps;  // squared distance, dy, dx
  const auto to_step = [&](int dy, int dx) {
    return static_cast<std::size_t>(std::ptrdiff_t{dy} * stride_ + dx);
  };
  for (int row = 0; row <= 2 * margin_; ++row) {  // 0, -1, 1, -2, 2 ...
    const int dy = row % 2 == 0 ? row / 2 : -(row + 1) / 2;
    const double rest = max_distance * max_distance - static_cast<double>(dy) * dy;
    int width = kNone;
    while (width < margin_ && static_cast<double>(width + 1) * (width + 1) <= rest) ++width;
    if (width == kNone) continue;
    rows_.push_back({to_step(dy, -width), to_step(dy, width + 1)});
    for (int dx = -width; dx <= width; ++dx) steps.emplace_back(dy * dy + dx * dx, dy, dx);
  }
  std::sort(steps.begin(), steps.end());
  for (const auto& [distance, dy, dx] : steps) steps_.push_back(to_step(dy, dx));
}

bool Truth::is_alone(std::size_t start) const {
  for (int row = 0; row < ranges(); ++row) {
    const Range close = range(start, row);
    if (close.first < close.end) return false;
  }
  return true;
}

void Matching::Remaining::reset(int count) {
  next_.resize(to_index(count) + 1);
  std::iota(next_.begin(), next_.end(), 0);
}

int Matching::Remaining::find(int i) {
  while (next_[to_index(i)] != i) {
    int& next = next_[to_index(i)];
    next = next_[to_index(next)];  // later searches have half as far to go
    i = next;
  }
  return i;
}

Matching::Matching(const Truth& truth)
    : truth_(truth), partner_back_(to_index(truth.count()), kNone) {}

void Matching::match(std::span<const int> predicted) {
  places_.assign(predicted.begin(), predicted.end());
  partner_.assign(places_.size(), kNone);
  std::fill(partner_back_.begin(), partner_back_.end(), kNone);
  size_ = 0;
  complete();
  prefer_close();
}

void Matching::rematch(std::span<const int> predicted) {
  std::swap(places_, last_places_);
  std::swap(partner_, last_partner_);
  places_.assign(predicted.begin(), predicted.end());
  partner_.assign(places_.size(), kNone);
  std::fill(partner_back_.begin(), partner_back_.end(), kNone);
  size_ = 0;
  auto last = last_places_.begin();
  for (std::size_t i = 0; i < places_.size(); ++i) {
    while (last != last_places_.end() && *last < places_[i]) ++last;
    if (last == last_places_.end()) break;
    const int truth = last_partner_[static_cast<std::size_t>(last - last_places_.begin())];
    if (*last == places_[i] && truth != kNone) join(static_cast<int>(i), truth);
  }
  complete();
}

void Matching::complete() {
  without_.clear();
  starts_.clear();
  for (std::size_t i = 0; i < places_.size(); ++i) {
    starts_.push_back(truth_.start(places_[i]));
    if (partner_[i] == kNone && !truth_.is_alone(starts_[i])) {
      without_.push_back(static_cast<int>(i));
    }
  }
  match_closest();
  free_.reset(truth_.count());
  for (int i = 0; i < truth_.count(); ++i) {
    if (partner_back_[to_index(i)] != kNone) free_.remove(i);
  }
  for (bool is_better = true; is_better && !without_.empty();) {
    unvisited_.reset(truth_.count());
    const auto end = std::remove_if(without_.begin(), without_.end(),
                                    [&](int predicted) { return augment(predicted); });
    is_better = end != without_.end();
    without_.erase(end, without_.end());
  }
}

/// Joins pixels without a partner, the closest pairs first.
void Matching::match_closest() {
  for (std::size_t step = 0; step < truth_.steps() && !without_.empty(); ++step) {
    const auto is_joined = [&](int predicted) {
      const int truth = truth_.pixel_at(starts_[to_index(predicted)], step);
      if (truth == kNone || partner_back_[to_index(truth)] != kNone) return false;
      join(predicted, truth);
      return true;
    };
    without_.erase(std::remove_if(without_.begin(), without_.end(), is_joined), without_.end());
  }
}

/// Chooses partners for the crowded true pixels such that the sum of distances is least.
void Matching::prefer_close() {
  if (without_.empty()) return;
  std::vector<int> crowded;
  std::vector<int> row_of(to_index(truth_.count()), kNone);
  std::vector<int> rivals(without_);
  for (int truth = 0; truth < truth_.count(); ++truth) {
    if (unvisited_.has(truth)) continue;
    row_of[to_index(truth)] = static_cast<int>(crowded.size());
    crowded.push_back(truth);
    rivals.push_back(partner_back_[to_index(truth)]);
  }
  std::sort(rivals.begin(), rivals.end());

  const auto for_each_pair = [&](const auto& function) {
    for (std::size_t column = 0; column < rivals.size(); ++column) {
      const int place = places_[to_index(rivals[column])];
      const std::size_t start = starts_[to_index(rivals[column])];
      for (int row = 0; row < truth_.ranges(); ++row) {
        const Range close = truth_.range(start, row);
        for (int truth = close.first; truth < close.end; ++truth) {
          function(to_index(row_of[to_index(truth)]), static_cast<int>(column),
                   cost(place, truth_.place(truth), truth_.size()));
        }
      }
    }
  };
  Choices choices;
  choices.columns = static_cast<int>(rivals.size());
  choices.first.assign(crowded.size() + 1, 0);
  for_each_pair([&](std::size_t row, int, int) { ++choices.first[row + 1]; });
  std::partial_sum(choices.first.begin(), choices.first.end(), choices.first.begin());
  std::vector<int> end(choices.first.begin(), choices.first.end() - 1);
  choices.column.resize(to_index(choices.first.back()));
  choices.cost.resize(choices.column.size());
  for_each_pair([&](std::size_t row, int column, int distance) {
    const std::size_t at = to_index(end[row]++);
    choices.column[at] = column;
    choices.cost[at] = distance;
  });

  const std::vector<int> columns = assign(choices);
  for (const int predicted : rivals) partner_[to_index(predicted)] = kNone;
  for (std::size_t row = 0; row < crowded.size(); ++row) {
    const int predicted = rivals[to_index(columns[row])];
    partner_[to_index(predicted)] = crowded[row];
    partner_back_[to_index(crowded[row])] = predicted;
  }
}

void Matching::join(int predicted, int truth) {
  partner_[to_index(predicted)] = truth;
  partner_back_[to_index(truth)] = predicted;
  ++size_;
}

int Matching::find_free(int predicted) {
  const std::size_t start = starts_[to_index(predicted)];
  for (int row = 0; row < truth_.ranges(); ++row) {
    const Range close = truth_.range(start, row);
    if (close.first == close.end) continue;
    const int truth = free_.find(close.first);
    if (truth < close.end) return truth;
  }
  return kNone;
}

int Matching::find_unvisited(Visit& visit) {
  const std::size_t start = starts_[to_index(visit.predicted)];
  for (; visit.row < truth_.ranges(); ++visit.row) {
    const Range close = truth_.range(start, visit.row);
    if (close.first == close.end) continue;
    const int truth = unvisited_.find(close.first);
    if (truth < close.end) return truth;
  }
  return kNone;
}

/// Searches a path from a predicted pixel without a partner to a free true pixel: along pairs that
/// are close, and back along those of the matching. Exchanges them if there is such a path.
bool Matching::augment(int start) {
  path_.assign(1, {start, 0});
  bool is_new = true;
  while (!path_.empty()) {
    Visit& visit = path_.back();
    int truth = is_new ? find_free(visit.predicted) : kNone;
    if (truth != kNone) {
      free_.remove(truth);
      for (; !path_.empty(); path_.pop_back()) {
        const int predicted = path_.back().predicted;
        partner_back_[to_index(truth)] = predicted;
        std::swap(partner_[to_index(predicted)], truth);
      }
      ++size_;
      return true;
    }
    truth = find_unvisited(visit);
    is_new = truth != kNone;
    if (is_new) {
      unvisited_.remove(truth);
      path_.push_back({partner_back_[to_index(truth)], 0});
    } else {
      path_.pop_back();
    }
  }
  return false;
}

Matched matched(Bytes predicted, Bytes truth, Size size, double max_distance) {
  if (predicted.size() != size.pixels()) {
    throw std::invalid_argument("predicted: has another size than truth");
  }
  const Truth prepared(truth, size, max_distance);
  Matching matching(prepared);
  std::vector<int> places;
  std::vector<int> truths;
  for (int i = 0; to_index(i) < predicted.size(); ++i) {
    if (predicted[to_index(i)] != 0) places.push_back(i);
    if (truth[to_index(i)] != 0) truths.push_back(i);
  }
  matching.match(places);
  Matched result{.predicted = NewBytes(predicted.size()), .truth = NewBytes(truth.size())};
  for (std::size_t i = 0; i < places.size(); ++i) {
    const int partner = matching.partners()[i];
    if (partner == kNone) continue;
    result.predicted[to_index(places[i])] = 1;
    result.truth[to_index(truths[to_index(partner)])] = 1;
  }
  return result;
}

}  // namespace tautstring_tasks::edges
