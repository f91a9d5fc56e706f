// The careful solution of single rows: any values, data weights.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backend.h"
#include "step/host_device.h"
#include "step/row/row_io.h"
#include "step/row/row_solver.h"
#include "step/row/row_values.h"
#include "step/row/scratch.h"

namespace tautstring::detail {

/// Solves one row at a time, of any kind.
class ForwardWorker {
 public:
  TAUTSTRING_HOST_DEVICE ForwardWorker(const Forward1d& call, const RowScratch& scratch) noexcept
      : call_(call), s_(scratch), solver_(s_) {}

  TAUTSTRING_HOST_DEVICE void operator()(std::int64_t row) noexcept {
    const std::int32_t n = call_.rows.n;
    const auto x = call_.x.row(call_.rows, row);
    const auto y = call_.y.row(call_.rows, row);
    const LoadedLam lam = load_lam(call_.lam, call_.rows, row, s_.lam);
    load_row(x, n, s_.x);
    if (call_.weight.given) load_row(call_.weight.row(call_.rows, row), n, s_.weight);
    if (is_zero(lam)) {
      copy_row(x, y);
    } else {
      solver_.solve({.n = n,
                     .weighted = call_.weight.given,
                     .per_edge = lam.per_edge,
                     .lam = lam.number,
                     .mode = call_.mode});
      store_row(y, n, s_.y);
    }
    if (call_.partition != nullptr) {
      pack_codes(s_.codes, n, call_.partition + row * partition_words(n));
    }
  }

 private:
  [[nodiscard]] constexpr bool is_zero(const LoadedLam& lam) const {
    if (!lam.per_edge) return lam.number == 0;
    const std::int32_t edges = call_.rows.n - 1;
    return std::all_of(s_.lam, s_.lam + edges, [](double value) { return value == 0; });
  }

  /// lam 0 is the identity bit for bit, whatever the values of x. A missing sample takes the bits
  /// of its left neighbour, a leading one those of the first present sample.
  TAUTSTRING_HOST_DEVICE void copy_row(const RowSpan<const void>& x,
                                       const RowSpan<void>& y) noexcept {
    const std::int32_t n = call_.rows.n;
    const auto is_present = [&](std::int32_t i) {
      return !call_.weight.given || s_.weight[i] != 0;
    };
    std::int32_t source = 0;
    while (source < n && !is_present(source)) ++source;
    if (source == n) {  // no sample at all: NaN
      solver_.solve({.n = n, .weighted = call_.weight.given});
      return store_row(y, n, s_.y);
    }
    // x may be y: samples that are still to be read are never overwritten. Only leading elements
    // have their source after them, and they are written last.
    const std::int32_t first = source;
    double previous = s_.x[first];
    for (std::int32_t i = first; i < n; ++i) {
      s_.codes[i] = Code::continues;
      if (is_present(i)) {
        source = i;
        const double value = s_.x[i];
        s_.codes[i] = value > previous ? Code::up : value < previous ? Code::down : Code::plain;
        previous = value;
      }
      copy_element(y, i, x, source);
    }
    for (std::int32_t i = 0; i < first; ++i) copy_element(y, i, x, first);
    std::fill(s_.codes, s_.codes + first + 1, Code::continues);
    s_.codes[0] = Code::plain;
  }

  const Forward1d& call_;
  RowScratch s_;
  RowSolver solver_;
};

}  // namespace tautstring::detail
