// Statistics of many timings of one benchmark.
#pragma once

#include <vector>

namespace bench {

[[nodiscard]] double median(std::vector<double> times);

[[nodiscard]] double interquartile_range(const std::vector<double>& times);

}  // namespace bench
