// How a call on the GPU is timed, and what is reported about it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "device.h"

namespace bench {

struct Timing {
  double ms = 0;      // median
  double spread = 0;  // interquartile range, as a fraction of the median
};

/// Times `repeats` calls one by one, with CUDA events, after untimed calls. Slow calls are repeated
/// less often.
[[nodiscard]] Timing time_calls(const Stream& stream, int repeats,
                                const std::function<void()>& call);

/// The faster of our kernel and CUDA's own copy.
[[nodiscard]] double copy_ms(const Stream& stream, int repeats, const void* from, void* to,
                             std::size_t bytes);

/// The result of a check.
struct Checked {
  double difference =
      0;  // the largest difference from the CPU's result, as a fraction of the range;
          // with a tolerance: the largest gap, as a fraction of the objective
  std::int32_t iterations = 0;  // the most that an image or row took; 0: a fixed number
  double left = 0;              // share of rows that did not converge
};

/// One line of the results, as bench/measurements.py reads it.
struct Result {
  std::string name;
  Timing timing;
  double copy_ms = 0;      // of the same bytes, in the same run
  std::int64_t bytes = 0;  // read and written, as many as by the copy; 1D: without the partition
  std::size_t scratch_bytes = 0;
  std::size_t saved_bytes = 0;  // for the backward (2D)
  std::size_t launches = 0;     // 0: could not be captured
  Checked checked;
  std::string error;  // why there is no time
};

/// A call to be measured, with everything that is reported about it except its times.
struct Measured {
  std::function<void()> call;
  std::function<Checked()> check;  // throws if the difference is too large
  const void* copy_from = nullptr;
  void* copy_to = nullptr;
  std::size_t copied_bytes = 0;
  std::size_t lam_bytes = 0;
  std::size_t scratch_bytes = 0;
  std::size_t saved_bytes = 0;
  bool ends_by_itself = false;  // decides itself when to stop, so it cannot run in a graph
};

/// queued: many calls in a row, as in a training loop, so that the host's part of a call overlaps
/// with work of the device.
enum class How : std::uint8_t { called, queued, from_graph };

/// Checks, then times. Throws if anything fails or is wrong.
[[nodiscard]] Result measure(const Measured& measured, How how, const Stream& stream, int repeats);

/// A lower bound on the time of any call.
[[nodiscard]] Result measure_empty_launch(const Stream& stream, int repeats);

struct Settings {
  int repeats = 50;
  std::function<bool(const std::string& name)> is_wanted;
  std::function<void(const Result&)> report;  // called once for each wanted name
};

/// If the name is wanted, reports the result of `measure_it`, or the error that it throws.
void report(const std::string& name, const Settings& settings,
            const std::function<Result()>& measure_it);

}  // namespace bench
