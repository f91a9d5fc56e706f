// Work on many independent items, by threads that end with the call.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>

namespace tautstring_tasks {

/// Called on the calling thread while the work is done, with the number of items that are finished;
/// false stops the work. May throw, which stops it too.
using KeepGoing = std::function<bool(std::size_t done)>;

inline constexpr std::chrono::milliseconds kBetweenReports(50);

/// The number of threads of this machine, at least 1.
[[nodiscard]] int hardware_threads() noexcept;

/// Calls work(i) once for every i in [0, count), on up to `threads` threads; below 1: one per
/// hardware thread. Returns whether all was done. An exception of the work stops it and is thrown
/// again; which one, if several items throw, is not determined.
bool for_each(std::size_t count, int threads, const std::function<void(std::size_t i)>& work,
              const KeepGoing& keep_going = {});

}  // namespace tautstring_tasks
