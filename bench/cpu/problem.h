// A forward case as our library's arguments.
#pragma once

#include <tautline/tautline.h>

#include <span>
#include <string>
#include <vector>

#include "forward_case.h"
#include "reference.h"
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

  [[nodiscard]] const tautline::Lam& lam() const { return lam_; }

 private:
  std::vector<T> values_;
  tautline::Lam lam_;
};

template <class T>
[[nodiscard]] tautline::Problem1d problem_of(const ForwardCase& c, const T* x,
                                             const Penalty<T>& penalty) {
  return {.x = view_of(x, c.shape()), .lam = penalty.lam(), .dim = c.dim()};
}

/// The right answer of a case for the batch `x`, or nothing and in `why` the reason.
[[nodiscard]] inline std::vector<double> certified_solution(const ForwardCase& c,
                                                            std::span<const double> x,
                                                            std::string& why) {
  const Penalty<double> penalty(c);
  return certified_solution(problem_of(c, x.data(), penalty), why);
}

}  // namespace bench
