// Counts of edge pixels that are found, for many images and all thresholds, on many threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "support/map.h"
#include "support/parallel.h"

namespace tautstring_tasks::edges {

inline constexpr int kThresholds = 99;  // .01, .02 ... .99

/// Threshold number k.
inline double threshold(int k) {
  return (k + 1) / 100.0;
}

/// Of one threshold: summed over annotators, and a predicted pixel counts as matched if it is by
/// any of them.
struct Counts {
  std::int64_t matched_truth = 0;
  std::int64_t truth = 0;
  std::int64_t matched_predicted = 0;
  std::int64_t predicted = 0;

  Counts& operator+=(const Counts& other);
  bool operator==(const Counts&) const = default;
};

/// A map of edges after suppression, and what annotators drew: not 0 where an edge is.
struct Image {
  Size size;
  Bytes map;
  std::vector<Bytes> truths;
};

struct CountOptions {
  double max_dist = 0.0075;  ///< How far apart a pair may be, as a fraction of the diagonal.
  int threads = 0;           ///< Below 1: one per hardware thread. Does not change the counts.
};

/// Fills `counts` with kThresholds items per image. Returns whether all was done (see for_each;
/// progress is in images). Throws std::invalid_argument, with the argument's name and value.
bool count(std::span<const Image> images, const CountOptions& options, std::span<Counts> counts,
           const KeepGoing& keep_going = {});

}  // namespace tautstring_tasks::edges
