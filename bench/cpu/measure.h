// What all benchmarks share: the statistics, and the counters that the report reads.
#pragma once

#include <benchmark/benchmark.h>

#include <cstddef>
#include <functional>
#include <string>

namespace bench {

/// Registers a benchmark. CPU time is what the report compares (another program's share of the core
/// is not counted), but for threads.
void add_benchmark(const std::string& name, std::function<void(benchmark::State&)> function);

/// Says how many elements an iteration works on; the report divides by them.
void count_elements(benchmark::State& state, std::size_t elements);

/// What `check` finds wrong with a benchmark's result, empty if nothing. It is called once for a
/// name, not for each repetition; what it found holds for all of them.
[[nodiscard]] const std::string& fault_of(const std::string& name,
                                          const std::function<std::string()>& check);

}  // namespace bench
