// The exact borders of a row or of a piece of one, by the string for data weights: on small
// integers with lam a multiple of 1/4 it does not round.
#pragma once

#include <vector>

#include "step/prefix_sums.h"
#include "step/taut_string.h"

namespace tautstring::testing {

/// lam has one element per edge; u_start and u_end are the sums of x - y before the piece and after
/// it. The first code is `continues`.
inline std::vector<Code> exact_borders(std::vector<double> x, const std::vector<double>& lam,
                                       double u_start = 0, double u_end = 0) {
  const auto n = static_cast<std::int32_t>(x.size());
  x.front() += u_start;
  x.back() -= u_end;
  std::vector<double> totals(x.size() + 1);
  detail::PlainSums<double> sums{totals.data()};
  sums.start();
  for (std::int32_t i = 0; i < n; ++i) sums.append(i, x[static_cast<std::size_t>(i)] - x[0]);
  std::vector<Code> codes(x.size(), Code::continues);
  std::vector<std::int32_t> lower(x.size()), upper(x.size());
  const detail::Tube<double, detail::PlainSums<double>, detail::UnitSums<double>,
                     detail::EdgeLam<double>>
      tube{sums, {}, {lam.data()}, n};
  detail::pull_taut_string<double>(
      tube, lower.data(), upper.data(),
      [&](std::int32_t k, Code code) { codes[static_cast<std::size_t>(k)] = code; });
  return codes;
}

}  // namespace tautstring::testing
