// A forward case as our library's arguments.
#pragma once

#include <tautstring/tautstring.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "forward_case.h"
#include "reference.h"
#include "short_number.h"
#include "storage.h"

namespace bench {

/// The penalty of a case, with the memory of its array if it has one.
template <class T>
class Penalty {
 public:
  explicit Penalty(const ForwardCase& c) : lam_(c.lam) {
    if (c.lam_kind == LamKind::number) return;
    for (const float value : lam_values(c)) values_.push_back(static_cast<T>(value));
    const auto per_row = static_cast<std::int64_t>(values_.size()) / c.data.rows;
    lam_ = view_of(values_.data(), {c.data.rows, per_row});
  }
  Penalty(const Penalty&) = delete;
  Penalty& operator=(const Penalty&) = delete;

  [[nodiscard]] const tautstring::Lam& lam() const { return lam_; }

 private:
  std::vector<T> values_;
  tautstring::Lam lam_;
};

template <class T>
[[nodiscard]] tautstring::Problem1d problem_of(const ForwardCase& c, const T* x,
                                               const Penalty<T>& penalty) {
  return {.x = view_of(x, c.shape()), .lam = penalty.lam(), .dim = c.dim()};
}

/// The correct result of a case for the batch `x`; on failure nothing, and the reason in `why`.
[[nodiscard]] inline std::vector<double> certified_solution(const ForwardCase& c,
                                                            std::span<const double> x,
                                                            std::string& why) {
  const Penalty<double> penalty(c);
  return certified_solution(problem_of(c, x.data(), penalty), why);
}

/// Returns a text with the error of a result; empty if it is correct.
template <class T>
[[nodiscard]] std::string difference_from_reference(const ForwardCase& c, const T* x,
                                                    const std::vector<T>& y) {
  const std::vector<double> exact_x = widened(std::span(x, y.size()));
  const std::vector<double> exact_y = widened(std::span(y));
  std::string why;
  const auto reference = certified_solution(c, exact_x, why);
  if (reference.empty()) return why;
  const double error = largest_difference(reference, exact_y);
  if (error <= kTolerance * range_of(exact_x) + rounding_of<T>(reference)) return {};
  return "wrong by " + short_number(error);
}

/// A workspace that all later calls with a context use.
class KeptWorkspace {
 public:
  KeptWorkspace(std::size_t bytes, tautstring::Context& context)
      : lines_(std::make_unique_for_overwrite<CacheLine[]>(bytes / sizeof(CacheLine) + 1)) {
    context.workspace = lines_.get();
    context.workspace_size = bytes;
  }

 private:
  struct alignas(64) CacheLine {
    std::byte bytes[64];
  };

  std::unique_ptr<CacheLine[]> lines_;
};

}  // namespace bench
