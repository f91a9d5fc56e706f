// Shared by all benchmarks: the statistics, and the counters that the report reads.
#pragma once

#include <benchmark/benchmark.h>

#include <cstddef>
#include <functional>
#include <string>

namespace bench {

/// Registers a benchmark. The report compares CPU time, which does not count other programs on the
/// core; with several threads it compares wall-clock time.
void add_benchmark(const std::string& name, std::function<void(benchmark::State&)> function);

/// Sets the number of elements of an iteration; the report divides by it.
void count_elements(benchmark::State& state, std::size_t elements);

/// Returns what `check` finds wrong with a benchmark's result; empty if nothing. `check` is called
/// once per name; its result applies to all repetitions.
[[nodiscard]] const std::string& fault_of(const std::string& name,
                                          const std::function<std::string()>& check);

}  // namespace bench
