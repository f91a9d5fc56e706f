#include "measure.h"

#include <algorithm>
#include <exception>
#include <vector>

#include "copy.h"
#include "statistics.h"

namespace bench {
namespace {

constexpr double kWarmUpMs = 30;  // raises the clocks
constexpr int kFewestWarmUps = 3;
constexpr int kMostWarmUps = 2000;
constexpr double kLongCallMs = 20;
constexpr double kLongCallsMs = 1000;  // approximate limit for all timings of a slow call
constexpr int kFewestRepeats = 5;
constexpr int kQueuedCalls = 20;

double time_one(const Stream& stream, Event& start, Event& end, const std::function<void()>& call) {
  start.record(stream.get());
  call();
  end.record(stream.get());
  return end.ms_since(start);
}

/// 0 if the call cannot be captured: that is reported, but is not an error.
std::size_t count_launches(const Stream& stream, const std::function<void()>& call) {
  try {
    return Graph(stream, call).launches();
  } catch (const std::exception&) {
    return 0;
  }
}

}  // namespace

Timing time_calls(const Stream& stream, int repeats, const std::function<void()>& call) {
  Event start;
  Event end;
  double last = 0;
  double warm_up = 0;
  for (int i = 0; i < kFewestWarmUps || (warm_up < kWarmUpMs && i < kMostWarmUps); ++i) {
    last = time_one(stream, start, end, call);
    warm_up += last;
  }
  if (last > kLongCallMs) {
    repeats = std::min(repeats, std::max(kFewestRepeats, static_cast<int>(kLongCallsMs / last)));
  }
  std::vector<double> times;
  for (int i = 0; i < repeats; ++i) times.push_back(time_one(stream, start, end, call));
  const double middle = median(times);
  return {.ms = middle, .spread = interquartile_range(times) / middle};
}

double copy_ms(const Stream& stream, int repeats, const void* from, void* to, std::size_t bytes) {
  const Timing ours =
      time_calls(stream, repeats, [&] { copy_by_kernel(from, to, bytes, stream.get()); });
  const Timing cudas = time_calls(stream, repeats, [&] {
    check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream.get()));
  });
  return std::min(ours.ms, cudas.ms);
}

Result measure(const Measured& measured, How how, const Stream& stream, int repeats) {
  std::optional<Graph> graph;
  std::function<void()> call = measured.call;
  if (how == How::from_graph) {
    graph.emplace(stream, measured.call);
    call = [&] { graph->replay(stream); };
  }
  call();
  stream.wait();
  Result result;
  result.checked = measured.check();
  if (!measured.ends_by_itself) {
    result.launches = graph ? graph->launches() : count_launches(stream, measured.call);
  }
  if (how == How::queued) {
    result.timing = time_calls(stream, repeats, [&] {
      for (int i = 0; i < kQueuedCalls; ++i) call();
    });
    result.timing.ms /= kQueuedCalls;
  } else {
    result.timing = time_calls(stream, repeats, call);
  }
  result.bytes = static_cast<std::int64_t>(2 * measured.copied_bytes + measured.lam_bytes);
  result.scratch_bytes = measured.scratch_bytes;
  result.saved_bytes = measured.saved_bytes;
  // Last, because it overwrites the result.
  result.copy_ms =
      copy_ms(stream, repeats, measured.copy_from, measured.copy_to, measured.copied_bytes);
  return result;
}

Result measure_empty_launch(const Stream& stream, int repeats) {
  Result result;
  result.timing = time_calls(stream, repeats, [&] { launch_nothing(stream.get()); });
  return result;
}

void report(const std::string& name, const Settings& settings,
            const std::function<Result()>& measure_it) {
  if (!settings.is_wanted(name)) return;
  Result result;
  try {
    result = measure_it();
  } catch (const std::exception& error) {
    result.error = error.what();
  }
  result.name = name;
  settings.report(result);
}

}  // namespace bench
