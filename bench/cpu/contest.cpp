#include "contest.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <iomanip>
#include <limits>
#include <span>
#include <sstream>

#include "measure.h"
#include "problem.h"
#include "reference.h"

namespace bench {
namespace {

constexpr int kRounds = 3;
constexpr double kSecondsARound = 0.03;
constexpr int kElementsAtOnce = 8192;  // between two looks at the clock
constexpr std::int64_t kLongestTrialRow = 1'000'000;
// Trials are short: the measurement decides between those near the best.
constexpr double kNearTheBest = 1.15;
constexpr double kOutOfReach = 3;
constexpr std::size_t kMostPeers = 3;

struct Trial {
  const PeerSolver* solver = nullptr;
  double ns_per_element = std::numeric_limits<double>::infinity();  // of the best round
  double error = 0;                                                 // as a fraction of the range

  [[nodiscard]] bool right() const { return error <= kTolerance; }
};

double cpu_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

/// Solves row after row until the time is up, and compares these rows with the reference.
void play_round(Trial& trial, const PeerBatch& all, std::span<const double> reference) {
  // Otherwise the result of the previous solver could pass for this one's.
  std::fill_n(all.y, reference.size(), std::numeric_limits<double>::quiet_NaN());
  PeerBatch batch = all;
  int solved = 0;
  double taken = 0;
  const double start = cpu_seconds();
  while (solved < all.rows && taken < kSecondsARound) {
    batch.rows = std::min(all.rows - solved, std::max(1, kElementsAtOnce / all.n));
    trial.solver->solve(batch);
    batch.x += static_cast<std::ptrdiff_t>(batch.rows) * all.n;
    batch.y += static_cast<std::ptrdiff_t>(batch.rows) * all.n;
    if (all.edge_lam != nullptr) {
      batch.edge_lam += static_cast<std::ptrdiff_t>(batch.rows) * (all.n - 1);
    }
    solved += batch.rows;
    taken = cpu_seconds() - start;
  }
  const std::size_t done = static_cast<std::size_t>(solved) * static_cast<std::size_t>(all.n);
  trial.ns_per_element = std::min(trial.ns_per_element, taken * 1e9 / static_cast<double>(done));
  const double difference = largest_difference(reference.first(done), std::span(all.y, done));
  const double error = difference / range_of(std::span(all.x, done));
  if (!(error <= trial.error)) trial.error = error;  // also if it is NaN
}

/// The rounds of all solvers are interleaved, so that other load on the machine affects all of
/// them.
std::vector<Trial> play(const std::vector<const PeerSolver*>& solvers, const PeerBatch& batch,
                        std::span<const double> reference) {
  std::vector<Trial> trials;
  for (const PeerSolver* solver : solvers) trials.push_back({.solver = solver});
  double best = std::numeric_limits<double>::infinity();
  for (int round = 0; round < kRounds; ++round) {
    for (Trial& trial : trials) {
      if (round > 0 && trial.ns_per_element > kOutOfReach * best) continue;
      play_round(trial, batch, reference);
      if (trial.right()) best = std::min(best, trial.ns_per_element);
    }
  }
  std::ranges::stable_sort(trials, [](const Trial& a, const Trial& b) {
    return a.right() != b.right() ? a.right() : a.ns_per_element < b.ns_per_element;
  });
  return trials;
}

std::string describe(const std::vector<Trial>& trials) {
  std::ostringstream line;
  for (const Trial& trial : trials) {
    line << (&trial == trials.data() ? "" : ", ") << trial.solver->name << ' ' << std::fixed
         << std::setprecision(1) << trial.ns_per_element;
    if (!trial.right()) {
      line << " (wrong by " << std::scientific << trial.error << " of the range)";
    }
  }
  return line.str();
}

std::vector<double> edge_lam_of(const ForwardCase& c) {
  if (c.lam_kind == LamKind::number) return {};
  const std::vector<float> values = lam_values(c);
  return {values.begin(), values.end()};
}

PeerBatch peer_batch(const ForwardCase& c, double* x, double* y, std::vector<double>& edge_lam) {
  return {.x = x,
          .y = y,
          .rows = static_cast<int>(c.data.rows),
          .n = static_cast<int>(c.data.n),
          .lam = c.lam,
          .edge_lam = edge_lam.empty() ? nullptr : edge_lam.data()};
}

void measure(benchmark::State& state, const ForwardCase& c, const PeerSolver& solver) {
  auto& batches = batches_of<double>(c.data);
  std::vector<double> y(c.data.elements());
  std::vector<double> edge_lam = edge_lam_of(c);
  const auto solve_next = [&] {
    solver.solve(peer_batch(c, batches.next(), y.data(), edge_lam));
    benchmark::ClobberMemory();
  };
  solve_next();  // untimed, as for ours
  for (auto _ : state) solve_next();
  count_elements(state, c.data.elements());
}

}  // namespace

std::string add_fastest_peers(const ForwardCase& c, const Peers& peers,
                              const std::function<bool(const std::string&)>& wanted) {
  std::vector<const PeerSolver*> candidates;
  for (const PeerSolver& solver : peers.solvers) {
    const bool can = solver.takes_edge_lam == (c.lam_kind != LamKind::number);
    if (can && wanted(c.name() + "/" + solver.name)) candidates.push_back(&solver);
  }
  if (candidates.empty()) return {};

  ForwardCase tried = c;
  tried.data.n = std::min(c.data.n, kLongestTrialRow);
  double* x = batches_of<double>(tried.data).first();
  std::vector<double> y(tried.data.elements());
  std::vector<double> edge_lam = edge_lam_of(tried);
  std::string why;
  const auto reference = certified_solution(tried, std::span(x, y.size()), why);
  if (reference.empty()) return "not tried, because there is no reference: " + why;

  const std::vector<Trial> trials =
      play(candidates, peer_batch(tried, x, y.data(), edge_lam), reference);
  for (std::size_t i = 0; i < std::min(trials.size(), kMostPeers); ++i) {
    const Trial& trial = trials[i];
    if (!trial.right() || trial.ns_per_element > kNearTheBest * trials[0].ns_per_element) break;
    add_benchmark(
        c.name() + "/" + trial.solver->name,
        [c, solver = *trial.solver](benchmark::State& state) { measure(state, c, solver); });
  }
  return describe(trials);
}

void add_empty_calls(const std::vector<ForwardCase>& cases) {
  std::vector<Data> added;
  for (const ForwardCase& c : cases) {
    if (!c.with_peers || std::ranges::find(added, c.data) != added.end()) continue;
    added.push_back(c.data);
    add_benchmark(c.name() + "/empty_call", [c, solver = empty_call()](benchmark::State& state) {
      measure(state, c, solver);
    });
  }
}

}  // namespace bench
