// The lambda of each row that a criterion selects, and the noise that it assumes.
#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/cpu_backend.h"
#include "cpu/loaded_row.h"
#include "cpu/parallel.h"
#include "cpu/value_checks.h"
#include "step/row/row_io.h"

namespace tautstring::detail {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// The standard deviation of the noise in the scale of the row; NaN if it is not known.
double estimate_sigma(LoadedRow& row) noexcept {
  constexpr double kNormalMedian = 0.6744897501960817;  // of the size of a normal number
  double* const sizes = row.spare();
  std::int32_t count = 0;
  for (std::int32_t i = 0; i + 2 < row.count(); ++i) {
    if (row.place_of(i + 2) - row.place_of(i) != 2) continue;  // one between them is missing
    const double bend = row.sample(i) - 2 * row.sample(i + 1) + row.sample(i + 2);
    const double variance = 1 / row.weight(i) + 4 / row.weight(i + 1) + 1 / row.weight(i + 2);
    sizes[count++] = std::abs(bend) / std::sqrt(variance);
  }
  if (count == 0) return kNan;
  std::nth_element(sizes, sizes + count / 2, sizes + count);
  return sizes[count / 2] / kNormalMedian;
}

/// The lambda with the smallest loss + price * segments. Between two mergers only the loss grows,
/// so it is the lambda of a merger, or 0.
double cheapest_lam(MergingRow& row, double price) noexcept {
  double best = 0;
  double lowest = price * row.segments();
  while (!row.is_one_segment()) {
    row.merge();
    const double cost = row.loss_at(row.lam()) + price * row.segments();
    if (cost < lowest) {
      lowest = cost;
      best = row.lam();
    }
  }
  return best;
}

/// The largest lambda up to which the loss is at most this much; that of the last merger if the
/// loss never exceeds it.
double largest_lam(MergingRow& row, double loss) noexcept {
  while (!row.is_one_segment()) {
    if (row.loss_at(row.next_lam()) > loss) return std::max(row.lam_of(loss), row.lam());
    row.merge();
  }
  return row.lam();
}

double lam_of_segments(MergingRow& row, std::int64_t most) noexcept {
  while (row.segments() > most) row.merge();
  return row.lam();
}

class SelectWorker {
 public:
  SelectWorker(const Select1d& call, Scratch& scratch) noexcept
      : call_(call), row_(scratch, call.rows.n, call.weight.given) {}

  void operator()(std::int64_t first, std::int64_t last) noexcept {
    for (std::int64_t row = first; row < last; ++row) {
      const double found = find(row);
      store_row(call_.out.row(call_.rows, row), 1, &found);
    }
  }

 private:
  double find(std::int64_t row) noexcept {
    if (!row_.load(call_.x, call_.weight, call_.rows, row)) return kNan;
    if (!call_.selects) return row_.unscaled_sigma(estimate_sigma(row_));
    if (call_.criterion == Criterion::segments) {
      return row_.unscaled_lam(lam_of_segments(row_.start(), call_.segments));
    }
    const double sigma = call_.sigma.given
                             ? row_.scaled_sigma(load_element(call_.sigma.row(call_.rows, row), 0))
                             : estimate_sigma(row_);
    return std::isnan(sigma) ? kNan : row_.unscaled_lam(select(sigma * sigma));
  }

  double select(double variance) noexcept {
    MergingRow& row = row_.start();
    switch (call_.criterion) {
      case Criterion::bic: return cheapest_lam(row, variance * std::log(row_.count()));
      case Criterion::discrepancy: return largest_lam(row, variance * row_.count());
      case Criterion::sure:
      case Criterion::segments: break;
    }
    return cheapest_lam(row, 2 * variance);
  }

  const Select1d& call_;
  LoadedRow row_;
};

std::size_t worker_bytes(const Rows& rows, bool weighted) noexcept {
  Scratch scratch(nullptr);
  LoadedRow(scratch, rows.n, weighted);
  return scratch.used();
}

}  // namespace

std::size_t select1d_workspace(const Rows& rows, bool weighted, const Context& context) noexcept {
  return worker_bytes(rows, weighted) * static_cast<std::size_t>(share_rows(rows, context).tasks);
}

Status select1d(const Select1d& call, const Context& context) noexcept {
  const Rows& rows = call.rows;
  if (const Status status = check_weight(call.weight, rows); !status.ok()) return status;
  if (call.sigma.given) {
    const Status status = check_values(call.sigma, rows, "sigma", "must be >= 0 and finite",
                                       [](auto value) { return is_allowed_weight(value); });
    if (!status.ok()) return status;
  }
  if (rows.count == 0) return {};
  const bool weighted = call.weight.given;
  const CallMemory memory({select1d_workspace(rows, weighted, context)}, context,
                          kWorkspaceSelect1d);
  if (!memory.status().ok()) return memory.status();
  for_each_chunk(share_rows(rows, context), memory.blocks().working, worker_bytes(rows, weighted),
                 context, [&](Scratch& scratch) { return SelectWorker(call, scratch); });
  return {};
}

}  // namespace tautstring::detail
