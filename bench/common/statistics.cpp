#include "statistics.h"

#include <algorithm>
#include <cstddef>

namespace bench {

double median(std::vector<double> times) {
  std::ranges::sort(times);
  const std::size_t half = times.size() / 2;
  return times.size() % 2 != 0 ? times[half] : (times[half - 1] + times[half]) / 2;
}

double interquartile_range(const std::vector<double>& times) {
  std::vector<double> sorted = times;
  std::ranges::sort(sorted);
  const std::size_t quarter = sorted.size() / 4;
  return sorted[sorted.size() - 1 - quarter] - sorted[quarter];
}

}  // namespace bench
