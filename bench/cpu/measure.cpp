#include "measure.h"

#include <map>
#include <utility>

#include "statistics.h"

namespace bench {

void add_benchmark(const std::string& name, std::function<void(benchmark::State&)> function) {
  benchmark::RegisterBenchmark(name.c_str(), std::move(function))
      ->Unit(benchmark::kMicrosecond)
      ->ComputeStatistics("iqr", interquartile_range);
}

void count_elements(benchmark::State& state, std::size_t elements) {
  const auto count = static_cast<double>(elements);
  state.counters["elements"] = count;
  state.counters["s_per_element"] = benchmark::Counter(
      count, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

const std::string& fault_of(const std::string& name, const std::function<std::string()>& check) {
  static std::map<std::string, std::string> faults;
  const auto [place, is_new] = faults.try_emplace(name);
  if (is_new) place->second = check();
  return place->second;
}

}  // namespace bench
