// The solution of single rows by projected Newton, and its proof: dual variables and gap.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "backend.h"
#include "step/host_device.h"
#include "step/image/gap.h"
#include "step/newton_row.h"
#include "step/row/forward_worker.h"
#include "step/row/returned_row.h"
#include "step/row/row_io.h"
#include "step/row/row_solver.h"
#include "step/row/row_values.h"
#include "step/row/scaling.h"
#include "step/row/scratch.h"
#include "step/row_quality.h"
#include "step/segment.h"
#include "step/taut_string.h"

namespace tautstring::detail {

/// All scratch memory for a row of n samples: 65 bytes per sample.
struct NewtonScratch {
  TAUTSTRING_HOST_DEVICE NewtonScratch(Scratch& scratch, std::int32_t n) noexcept
      : row(scratch, n, false),
        u(scratch.take<double>(n + 1)),
        next(scratch.take<double>(n + 1)),
        coarse_x(scratch.take<double>(newton_coarse_samples(n))),
        coarse_lam(scratch.take<double>(newton_coarse_samples(n))) {}

  RowScratch row;
  double* u;
  double* next;
  double* coarse_x;
  double* coarse_lam;
};

inline std::size_t newton_scratch_bytes(std::int32_t n) noexcept {
  Scratch counter(nullptr);
  NewtonScratch(counter, n);
  return counter.used();
}

/// Whether rows must be evaluated as they are returned.
[[nodiscard]] TAUTSTRING_HOST_DEVICE inline bool wants_quality(
    const NewtonForward1d& call) noexcept {
  return call.gap != nullptr || (call.converged != nullptr && call.newton.tol > 0);
}

/// The frame in which a row is computed: its samples minus an offset, times a power of two.
struct NewtonFrame {
  double offset = 0;
  double scale = 1;
  double range = 0;  // in that scale
};

/// The frame of a row with these samples.
TAUTSTRING_HOST_DEVICE inline NewtonFrame newton_frame(double low, double high,
                                                       double first) noexcept {
  NewtonFrame frame = {.offset = origin_of(low, high, first)};
  frame.scale = choose_scale(std::max(std::abs(low - frame.offset), std::abs(high - frame.offset)));
  frame.range = high * frame.scale - low * frame.scale;
  return frame;
}

/// Solves one row at a time. Rows that are unsuitable for Newton are solved directly: copied, not
/// finite, with an edge of lam 0, or, with `polish`, not converged.
class NewtonWorker {
 public:
  TAUTSTRING_HOST_DEVICE NewtonWorker(const NewtonForward1d& call,
                                      const NewtonScratch& scratch) noexcept
      : call_(call), s_(scratch), forward_(call.problem, s_.row), solver_(s_.row) {}

  TAUTSTRING_HOST_DEVICE void operator()(std::int64_t row) noexcept {
    if (n() == 0) return store_no_dual(row, 0);
    const Loaded loaded = load(row);
    if (loaded.kind == Kind::copied || loaded.kind == Kind::not_finite) {
      forward_(row);
      return store_no_dual(
          row, loaded.kind == Kind::copied ? 0 : std::numeric_limits<double>::quiet_NaN());
    }
    Outcome outcome;
    if (loaded.kind == Kind::usual) outcome = solve(row, loaded.frame);
    if (!outcome.converged && (loaded.kind == Kind::split || call_.newton.polish)) {
      solver_.solve({.n = n(), .per_edge = n() > 1});  // which finds nothing to scale there
    }
    store(row, loaded.frame, outcome);
  }

 private:
  enum class Kind : std::uint8_t {
    usual,
    split,  // at an edge of lam 0
    copied,
    not_finite,
  };

  /// The properties of the row in scratch.
  struct Loaded {
    Kind kind;
    NewtonFrame frame = {};
  };
  struct Outcome {
    int iterations = 0;
    bool converged = false;
  };

  [[nodiscard]] TAUTSTRING_HOST_DEVICE std::int32_t n() const noexcept {
    return call_.problem.rows.n;
  }

  /// Loads x and lam, one per edge.
  TAUTSTRING_HOST_DEVICE Loaded load(std::int64_t row) noexcept {
    const Forward1d& problem = call_.problem;
    double* x = s_.row.x;
    double* lam = s_.row.lam;
    const LoadedLam loaded_lam = load_lam(problem.lam, problem.rows, row, lam);
    if (!loaded_lam.per_edge) std::fill(lam, lam + n(), loaded_lam.number);
    double lam_low = loaded_lam.number;
    double lam_high = loaded_lam.number;
    if (loaded_lam.per_edge) {
      lam_low = lam_high = lam[0];
      for (std::int32_t e = 1; e < n() - 1; ++e) {
        lam_low = std::min(lam_low, lam[e]);
        lam_high = std::max(lam_high, lam[e]);
      }
    }
    if (lam_high == 0) return {Kind::copied};
    load_row(problem.x.row(problem.rows, row), n(), x);
    if (!std::isfinite(largest_size(x, n()))) return {Kind::not_finite};

    double low = x[0];
    double high = x[0];
    for (std::int32_t i = 1; i < n(); ++i) {
      low = std::min(low, x[i]);
      high = std::max(high, x[i]);
    }
    const NewtonFrame frame = newton_frame(low, high, x[0]);
    if (frame.offset != 0) {
      for (std::int32_t i = 0; i < n(); ++i) x[i] -= frame.offset;
    }
    multiply(x, n(), frame.scale);
    for (std::int32_t e = 0; e < n() - 1; ++e) lam[e] = scale_lam(lam[e], frame.scale, 1);
    return {lam_low == 0 ? Kind::split : Kind::usual, frame};
  }

  /// With a tolerance, iterations end when their target is within it. The result, from which jumps
  /// that are held the wrong way are removed, may not be within it: then they continue to the end.
  TAUTSTRING_HOST_DEVICE Outcome solve(std::int64_t row, const NewtonFrame& frame) noexcept {
    for (double tol = call_.newton.tol;; tol = 0) {
      const Outcome outcome = iterate(row, frame, tol);
      if (tol == 0 || !outcome.converged) return outcome;
      find_dual();
      const auto as_it_is = [](double value, double /*sample*/) { return value; };
      if (quality_of(as_it_is).is_within(tol)) return outcome;
    }
  }

  /// Leaves values and codes in scratch, as the direct solver does.
  TAUTSTRING_HOST_DEVICE Outcome iterate(std::int64_t row, const NewtonFrame& frame,
                                         double tol) noexcept {
    const NewtonArrays arrays = {.x = s_.row.x,
                                 .lam = s_.row.lam,
                                 .u = s_.u,
                                 .next = s_.next,
                                 .target = s_.row.y,
                                 .fixed = s_.row.lower,
                                 .coarse_x = s_.coarse_x,
                                 .coarse_lam = s_.coarse_lam};
    NewtonRow newton(arrays, n(), frame.range,
                     {.iterations = call_.newton.iterations,
                      .tol = tol,
                      .halves = call_.newton.line_search == LineSearch::halving});
    Outcome outcome;
    outcome.converged = newton.solve(load_start(row, frame.scale));
    outcome.iterations = newton.iterations();
    newton.store_codes(s_.row.codes);
    fill_values(s_.row.x, UnitWeights{}, EdgeLam<double>{s_.row.lam}, s_.row.codes, n(), s_.row.y);
    return outcome;
  }

  /// Loads the start, if it is given and finite.
  TAUTSTRING_HOST_DEVICE bool load_start(std::int64_t row, double scale) noexcept {
    if (!call_.start.given) return false;
    double* start = s_.row.y;
    const std::int32_t edges = n() - 1;
    load_row(call_.start.row(call_.problem.rows, row), edges, start + 1);
    if (!std::isfinite(largest_size(start + 1, edges))) return false;
    multiply(start + 1, edges, scale);
    start[0] = start[n()] = 0;
    // A dual variable that was at its bound must be there again, although it was rounded.
    const double unit = unit_of(call_.start.dtype);
    for (std::int32_t e = 0; e < edges; ++e) {
      const double bound = s_.row.lam[e];
      if (std::abs(start[e + 1]) > bound - unit * bound) {
        start[e + 1] = std::copysign(bound, start[e + 1]);
      }
    }
    return true;
  }

  /// Computes the dual from the smooth values in scratch.y: at a jump it is the bound itself; from
  /// one jump to the next it is the running sum of the change, clipped to its bounds.
  TAUTSTRING_HOST_DEVICE void find_dual() noexcept {
    double sum = 0;
    for (std::int32_t e = 0; e + 1 < n(); ++e) {
      const double lam = s_.row.lam[e];
      const int jump = jump_sign(s_.row.codes[e + 1]);
      sum = jump == 0 ? sum + (s_.row.x[e] - s_.row.y[e]) : -jump * lam;
      s_.u[e] = std::min(std::max(sum, -lam), lam);
    }
  }
  TAUTSTRING_HOST_DEVICE void store_dual(std::int64_t row, double scale) noexcept {
    multiply(s_.u, n() - 1, 1 / scale);
    store_row(call_.dual.row(call_.problem.rows, row), n() - 1, s_.u);
  }

  TAUTSTRING_HOST_DEVICE void store_no_dual(std::int64_t row, double value) noexcept {
    if (call_.dual.given) {
      std::fill(s_.u, s_.u + n(), value);
      store_row(call_.dual.row(call_.problem.rows, row), n() - 1, s_.u);
    }
    if (call_.gap != nullptr) call_.gap[row] = value;
    store_outcome(row, {});
  }

  TAUTSTRING_HOST_DEVICE void store(std::int64_t row, const NewtonFrame& frame,
                                    Outcome outcome) noexcept {
    if (call_.dual.given || wants_quality(call_)) find_dual();
    store_y(row, frame);
    if (wants_quality(call_)) {
      const Forward1d& problem = call_.problem;
      const ReturnedRow returned = {problem.y.dtype, problem.mode == Mode::sharp, frame.offset,
                                    frame.scale};
      const RowQuality quality =
          quality_of([&](double result, double x) { return returned.smooth(result, x); });
      if (call_.gap != nullptr) {
        call_.gap[row] = quality.reported_gap() / frame.scale / frame.scale;
      }
      outcome.converged = outcome.converged && quality.is_within(call_.newton.tol);
    }
    if (call_.dual.given) store_dual(row, frame.scale);
    store_outcome(row, outcome);
  }

  /// The quality, by the dual in scratch.u, of the row `smooth(value, sample)` for the values in
  /// scratch.y.
  template <class Smooth>
  [[nodiscard]] TAUTSTRING_HOST_DEVICE RowQuality quality_of(const Smooth& smooth) const noexcept {
    const NewtonScratch& s = s_;
    return quality_of_row(
        n(), [&](std::int32_t i) { return s.row.x[i]; },
        [&](std::int32_t i) { return smooth(s.row.y[i], s.row.x[i]); },
        [&](std::int32_t e) { return s.u[e]; }, [&](std::int32_t e) { return s.row.lam[e]; });
  }

  TAUTSTRING_HOST_DEVICE void store_y(std::int64_t row, const NewtonFrame& frame) noexcept {
    const Forward1d& problem = call_.problem;
    double* y = s_.row.y;
    if (problem.mode == Mode::sharp) {
      for (std::int32_t i = 0; i < n(); ++i) y[i] = mirror(s_.row.x[i], y[i]);
    }
    multiply(y, n(), 1 / frame.scale);
    if (frame.offset != 0) {
      for (std::int32_t i = 0; i < n(); ++i) y[i] += frame.offset;
    }
    store_row(problem.y.row(problem.rows, row), n(), y);
    if (problem.partition != nullptr) {
      pack_codes(s_.row.codes, n(), problem.partition + row * partition_words(n()));
    }
  }

  TAUTSTRING_HOST_DEVICE void store_outcome(std::int64_t row, const Outcome& outcome) noexcept {
    if (call_.iterations != nullptr) call_.iterations[row] = outcome.iterations;
    if (call_.converged != nullptr) call_.converged[row] = outcome.converged ? 1 : 0;
  }

  const NewtonForward1d& call_;
  NewtonScratch s_;
  ForwardWorker forward_;
  RowSolver solver_;
};

}  // namespace tautstring::detail
