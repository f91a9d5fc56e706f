#include "images.h"

#include <tautstring/tautstring.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <utility>

#include "measure.h"
#include "short_number.h"
#include "storage.h"

namespace bench {
namespace {

constexpr double kLams[] = {0.2, 1};
constexpr auto kSide = static_cast<std::size_t>(kImageSide);
constexpr int kMostIterations = 1024;

struct Problem {
  const GreyImage* image = nullptr;
  double lam = 0;
};

struct Variant {
  const char* what;
  tautstring::Method2d method;
  bool is_float64;
  int threads;

  [[nodiscard]] std::string name() const {
    std::string text = std::string(what) + (is_float64 ? ":fp64" : ":fp32");
    if (threads > 1) text.append(":").append(std::to_string(threads)).append("_threads");
    return text;
  }
};

constexpr Variant kVariants[] = {{"ours", tautstring::Method2d::accelerated, true, 1},
                                 {"ours", tautstring::Method2d::accelerated, true, 2},
                                 {"ours", tautstring::Method2d::accelerated, false, 1},
                                 {"ours", tautstring::Method2d::accelerated, false, 2},
                                 {"algorithm_1", tautstring::Method2d::dykstra, true, 1}};

double objective(const Problem& problem, const std::vector<double>& y) {
  const std::vector<float>& x = problem.image->pixels;
  double fidelity = 0;
  double variation = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double difference = y[i] - static_cast<double>(x[i]);
    fidelity += difference * difference;
    if (i % kSide != 0) variation += std::abs(y[i] - y[i - 1]);
    if (i >= kSide) variation += std::abs(y[i] - y[i - kSide]);
  }
  return fidelity / 2 + problem.lam * variation;
}

/// Our solver on one image, with memory and threads that are kept from call to call.
template <class T>
class OurImage {
 public:
  OurImage(const Problem& problem, tautstring::Method2d method, int threads)
      : problem_of_(problem),
        method_(method),
        x_(problem.image->pixels.begin(), problem.image->pixels.end()),
        y_(x_.size()),
        problem_{.x = view_of(std::as_const(x_).data(), {kImageSide, kImageSide}),
                 .lam_rows = problem.lam,
                 .lam_cols = problem.lam},
        pool_(threads) {
    context_.executor = threads > 1 ? &pool_ : nullptr;
    std::size_t bytes = 0;
    if (!tautstring::prox_tv2d_workspace(problem_, context_, bytes).ok()) return;
    workspace_ = std::make_unique_for_overwrite<CacheLine[]>(bytes / sizeof(CacheLine) + 1);
    context_.workspace = workspace_.get();
    context_.workspace_size = bytes;
  }

  [[nodiscard]] bool solve(int iterations) {
    return solve({.method = method_, .iterations = iterations}, {});
  }
  /// Returns whether the result reaches this gap, by its own duality gap.
  [[nodiscard]] bool solve_to(double relative_gap) {
    double gap = 0;
    const tautstring::Solver2d solver = {
        .method = method_, .iterations = 4 * kMostIterations, .tol = relative_gap};
    return solve(solver, {&gap, 1}) && gap <= relative_gap * objective(problem_of_, y());
  }
  [[nodiscard]] std::vector<double> y() const { return widened(std::span<const T>(y_)); }
  [[nodiscard]] std::size_t scratch_bytes() const { return context_.workspace_size; }

 private:
  [[nodiscard]] bool solve(const tautstring::Solver2d& solver, std::span<double> gap) {
    const tautstring::View y = view_of(y_.data(), {kImageSide, kImageSide});
    return tautstring::prox_tv2d(problem_, solver, {.y = y, .gap = gap}, context_).ok();
  }

  struct alignas(64) CacheLine {
    std::byte bytes[64];
  };
  Problem problem_of_;
  tautstring::Method2d method_;
  std::vector<T> x_;
  std::vector<T> y_;
  tautstring::Problem2d problem_;
  tautstring::ThreadExecutor pool_;
  std::unique_ptr<CacheLine[]> workspace_;
  tautstring::Context context_;
};

/// The distance of a result from the solution; smaller is better.
using Measure = std::function<double(const std::vector<double>& y)>;

/// The root mean square over the inner half of rows and columns, where the border has the least
/// effect.
double inner_distance(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t r = kSide / 4; r < kSide * 3 / 4; ++r) {
    for (std::size_t c = kSide / 4; c < kSide * 3 / 4; ++c) {
      const double difference = a[r * kSide + c] - b[r * kSide + c];
      sum += difference * difference;
    }
  }
  return std::sqrt(sum / (kSide / 2.0) / (kSide / 2.0));
}

/// The reference for distances; empty if it was not found.
std::vector<double> near_solution(const Problem& problem) {
  constexpr double kRelativeGap = 1e-8;
  OurImage<double> image(problem, tautstring::Method2d::accelerated, 1);
  return image.solve_to(kRelativeGap) ? image.y() : std::vector<double>();
}

/// The objective if objectives can be compared, otherwise the distance.
Measure measure_for(const PeerImageSolver& peer, const Problem& problem) {
  if (!peer.holds_border) {
    return [problem](const std::vector<double>& y) { return objective(problem, y); };
  }
  return [solution = near_solution(problem)](const std::vector<double>& y) {
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    return solution.empty() ? kNan : inner_distance(y, solution);
  };
}

/// The measure of a peer's result; NaN if it failed.
double measure_peer(const PeerImageSolver& peer, const Problem& problem, const Measure& measure) {
  std::vector<double> x(problem.image->pixels.begin(), problem.image->pixels.end());
  std::vector<double> y(x.size(), std::numeric_limits<double>::quiet_NaN());
  const PeerImage image = {x.data(), y.data(), kImageSide, kImageSide, problem.lam, 1};
  return peer.solve(image) ? measure(y) : std::numeric_limits<double>::quiet_NaN();
}

/// The fewest iterations after which the measure is at most `most`; 0 if kMostIterations do not
/// reach it. Assumes that more iterations are better.
template <class T>
int fewest_iterations(const Problem& problem, tautstring::Method2d method, const Measure& measure,
                      double most) {
  OurImage<T> image(problem, method, 1);
  const auto suffices = [&](int iterations) {
    return image.solve(iterations) && measure(image.y()) <= most;
  };
  int enough = 1;
  while (!suffices(enough)) {
    enough *= 2;
    if (enough > kMostIterations) return 0;
  }
  int too_few = enough / 2;
  while (enough - too_few > 1) {
    const int middle = (enough + too_few) / 2;
    (suffices(middle) ? enough : too_few) = middle;
  }
  return enough;
}

template <class T>
void time_ours(benchmark::State& state, const Problem& problem, const Variant& variant,
               int iterations) {
  if (iterations == 0)
    return state.SkipWithError("does not come as near to the solution as the peer");
  OurImage<T> image(problem, variant.method, variant.threads);
  // As with rows, the first call is not timed. One image is enough: no branch predictor learns the
  // branches of so many passes over different values.
  if (!image.solve(iterations)) return state.SkipWithError("prox_tv2d failed");
  for (auto _ : state) {
    if (!image.solve(iterations)) return state.SkipWithError("prox_tv2d failed");
  }
  count_elements(state, kSide * kSide);
  state.counters["solver_iterations"] = iterations;
  state.counters["scratch_bytes"] = static_cast<double>(image.scratch_bytes());
}

void time_peer(benchmark::State& state, const Problem& problem, const PeerImageSolver& peer,
               int threads) {
  std::vector<double> x(problem.image->pixels.begin(), problem.image->pixels.end());
  std::vector<double> y(x.size());
  const PeerImage image = {x.data(), y.data(), kImageSide, kImageSide, problem.lam, threads};
  if (!peer.solve(image)) return state.SkipWithError("the peer failed");
  for (auto _ : state) {
    if (!peer.solve(image)) return state.SkipWithError("the peer failed");
    benchmark::ClobberMemory();
  }
  count_elements(state, kSide * kSide);
}

std::string case_name(const Problem& problem, const PeerImageSolver& peer) {
  const std::string side = std::to_string(kImageSide);
  return (peer.holds_border ? "image_inner/" : "image/") + problem.image->family + "/" + side +
         "x" + side + "/lam:" + short_number(problem.lam);
}

/// Returns what the peer reached; empty if nothing is wanted.
std::string add_case(const Problem& problem, const PeerImageSolver& peer,
                     const std::function<bool(const std::string&)>& wanted) {
  const std::string start = case_name(problem, peer) + "/";
  std::string note;
  Measure measure;
  double reached = 0;
  std::map<std::pair<std::string, bool>, int> needed;  // iterations of ours
  const auto prepare = [&] {
    if (measure) return;
    measure = measure_for(peer, problem);
    reached = measure_peer(peer, problem, measure);
    note = peer.name + " reaches " + (peer.holds_border ? "an inner distance of " : "objective ") +
           short_number(reached);
  };
  for (const int threads : {1, 2}) {
    std::string name = start + peer.name;
    if (threads > 1 && !peer.takes_threads) continue;
    if (threads > 1) name.append(":").append(std::to_string(threads)).append("_threads");
    if (!wanted(name)) continue;
    prepare();
    add_benchmark(name, [=](benchmark::State& state) { time_peer(state, problem, peer, threads); });
  }
  for (const Variant& variant : kVariants) {
    const std::string name = start + variant.name();
    if (!wanted(name)) continue;
    prepare();
    // The result does not depend on the number of threads.
    const auto [found, is_new] = needed.try_emplace({variant.what, variant.is_float64});
    if (is_new) {
      const auto fewest = variant.is_float64 ? fewest_iterations<double> : fewest_iterations<float>;
      found->second = fewest(problem, variant.method, measure, reached);
    }
    const int iterations = found->second;
    add_benchmark(name, [=](benchmark::State& state) {
      (variant.is_float64 ? time_ours<double> : time_ours<float>)(state, problem, variant,
                                                                  iterations);
    });
  }
  return note;
}

}  // namespace

std::vector<CaseNote> add_images(const std::vector<GreyImage>& images, const Peers& peers,
                                 const std::function<bool(const std::string&)>& wanted) {
  std::vector<CaseNote> notes;
  for (const PeerImageSolver& peer : peers.image_solvers) {
    for (const GreyImage& image : images) {
      for (const double lam : kLams) {
        const Problem problem = {&image, lam};
        const std::string note = add_case(problem, peer, wanted);
        if (!note.empty()) notes.emplace_back(case_name(problem, peer), note);
      }
    }
  }
  return notes;
}

}  // namespace bench
