#include "forward.h"

#include <tautstring/tautstring.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "measure.h"
#include "problem.h"

namespace bench {
namespace {

template <class T>
void solve(benchmark::State& state, const ForwardCase& c, int threads, const std::string& name) {
  auto& batches = batches_of<T>(c.data);
  const Penalty<T> penalty(c);
  std::vector<T> y(c.data.elements());
  const auto y_view = view_of(y.data(), c.shape());
  std::vector<std::uint32_t> partition(
      static_cast<std::size_t>(c.data.rows * tautstring::partition_words(c.data.n)));
  tautstring::ThreadExecutor pool(threads);
  tautstring::Context context = {.executor = threads > 1 ? &pool : nullptr};
  std::size_t scratch = 0;
  if (!tautstring::prox_tv1d_workspace(y_view, false, c.dim(), context, scratch).ok()) {
    return state.SkipWithError("prox_tv1d_workspace failed");
  }
  const KeptWorkspace workspace(scratch, context);

  const auto solve_batch = [&](const T* x) {
    return tautstring::prox_tv1d(problem_of(c, x, penalty), y_view, partition, context);
  };

  const std::string& fault = fault_of(name, [&]() -> std::string {
    const T* x = batches.first();
    return solve_batch(x).ok() ? difference_from_reference(c, x, y) : "prox_tv1d failed";
  });
  if (!fault.empty()) return state.SkipWithError(fault.c_str());
  // After another benchmark, the memory of the first call is not in the caches.
  if (!solve_batch(batches.next()).ok()) return state.SkipWithError("prox_tv1d failed");
  for (auto _ : state) {
    if (!solve_batch(batches.next()).ok()) return state.SkipWithError("prox_tv1d failed");
  }
  count_elements(state, c.data.elements());
  state.counters["scratch_bytes"] = static_cast<double>(scratch);
}

template <class T>
void add(const ForwardCase& c, const std::string& who, int threads) {
  std::string name = c.name() + "/" + who + ":" + Storage<T>::kName;
  if (threads > 1) name.append(":").append(std::to_string(threads)).append("_threads");
  add_benchmark(name, [=](benchmark::State& state) { solve<T>(state, c, threads, name); });
}

}  // namespace

void add_ours(const ForwardCase& c, const std::string& who) {
  for (const int threads : c.threads) {
    add<float>(c, who, threads);
    add<double>(c, who, threads);
    if (c.with_bf16) add<BFloat16>(c, who, threads);
  }
}

}  // namespace bench
