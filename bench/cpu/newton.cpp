#include "newton.h"

#include <tautstring/tautstring.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "contest.h"
#include "forward.h"
#include "measure.h"
#include "problem.h"

namespace bench {
namespace {

constexpr const char* kPeer = "prox_tv:projected_newton";

std::vector<ForwardCase> newton_cases() {
  std::vector<ForwardCase> cases;
  for (const Data& data :
       {Data{&kNoise, 8192, 32}, Data{&kNoise, 4096, 224}, Data{&kNoise, 1024, 1024},
        Data{&kWalk, 4096, 224}, Data{&kSine, 1024, 1024}, Data{&kRamp, 256, 4096}}) {
    for (const double lam : {0.05, 1.0, 10.0}) {
      cases.push_back({.group = "newton", .data = data, .lam = lam});
    }
  }
  return cases;
}

/// The solver alone: rows that do not converge are left as they are and counted.
template <class T>
void solve(benchmark::State& state, const ForwardCase& c, tautstring::LineSearch line_search,
           const std::string& name) {
  auto& batches = batches_of<T>(c.data);
  const Penalty<T> penalty(c);
  std::vector<T> y(c.data.elements());
  const auto rows = static_cast<std::size_t>(c.data.rows);
  const std::int64_t words = c.data.rows * tautstring::partition_words(c.data.n);
  std::vector<std::uint32_t> partition(static_cast<std::size_t>(words));
  std::vector<std::int32_t> iterations(rows);
  std::vector<std::uint8_t> converged(rows);
  tautstring::Context context;
  std::size_t scratch = 0;
  const auto y_view = view_of(y.data(), c.shape());
  if (!tautstring::prox_tv1d_newton_workspace(y_view, c.dim(), context, scratch).ok()) {
    return state.SkipWithError("prox_tv1d_newton_workspace failed");
  }
  const KeptWorkspace workspace(scratch, context);
  const auto solve_batch = [&](const T* x) {
    return tautstring::prox_tv1d_newton(
        problem_of(c, x, penalty), {.line_search = line_search, .polish = false},
        {.y = y_view, .partition = partition, .iterations = iterations, .converged = converged},
        context);
  };
  const std::string& fault = fault_of(name, [&]() -> std::string {
    const T* x = batches.first();
    return solve_batch(x).ok() ? difference_from_reference(c, x, y) : "prox_tv1d_newton failed";
  });
  if (!fault.empty()) return state.SkipWithError(fault.c_str());
  for (auto _ : state) {
    if (!solve_batch(batches.next()).ok()) return state.SkipWithError("prox_tv1d_newton failed");
  }
  count_elements(state, c.data.elements());
  state.counters["solver_iterations"] = *std::ranges::max_element(iterations);
  const auto left = std::ranges::count(converged, 0);
  state.counters["left"] = static_cast<double>(left) / static_cast<double>(rows);
}

template <class T>
void add(const ForwardCase& c, const std::string& who, tautstring::LineSearch line_search) {
  const std::string name = c.name() + "/" + who + ":" + Storage<T>::kName;
  add_benchmark(name, [=](benchmark::State& state) { solve<T>(state, c, line_search, name); });
}

}  // namespace

std::map<std::string, std::string> add_newton(
    const Peers& peers, const std::function<bool(const std::string&)>& wanted) {
  Peers newton = peers;
  std::erase_if(newton.solvers, [](const PeerSolver& solver) { return solver.name != kPeer; });
  std::map<std::string, std::string> trials;
  for (const ForwardCase& c : newton_cases()) {
    add<float>(c, "ours", tautstring::LineSearch::interpolation);
    add<double>(c, "ours", tautstring::LineSearch::interpolation);
    add<double>(c, "halving", tautstring::LineSearch::halving);
    add_ours(c, "direct");
    const std::string trial = add_fastest_peers(c, newton, wanted);
    if (!trial.empty()) trials.emplace(c.name(), trial);
  }
  return trials;
}

}  // namespace bench
