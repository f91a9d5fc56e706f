// Batches of rows: the derivatives of their solutions, for any solver, and the checks of their
// arguments.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <utility>

#include "libtorch/maps.h"
#include "tautstring/tv1d.h"

namespace tautstring::libtorch {

/// A batch of rows of n samples along `dim`; its partition is saved.
class Rows final : public Batch {
 public:
  Rows(std::int64_t dim, bool sharpen, std::int64_t n) : dim_(dim), sharpen_(sharpen), n_(n) {}

  [[nodiscard]] PerLam<std::int64_t> lam_dims() const override { return {dim_, dim_}; }
  [[nodiscard]] variable_list pull_back(const variable_list& saved, const Tensor& grad_y,
                                        const Wanted& wanted, at::ScalarType dtype) const override;
  [[nodiscard]] Tensor push_forward(const variable_list& saved, const Tensor& tangent_x,
                                    const PerLam<Tensor>& tangent_lams,
                                    at::ScalarType dtype) const override;

  /// With weights: the gradients of x, lam and weight.
  [[nodiscard]] variable_list weighted_pull_back(const variable_list& saved, const Tensor& grad_y,
                                                 const Wanted& wanted, bool wants_weight) const;

 private:
  std::int64_t dim_;
  bool sharpen_;
  std::int64_t n_;
};

/// Checks the arguments of a function on rows: x, the tensors that broadcast to it (undefined if
/// not given), the mode and dim. Returns dim counted from the front.
std::int64_t require_rows(const char* function, const Tensor& x,
                          std::initializer_list<std::pair<const char*, Tensor>> broadcast,
                          Mode mode, std::int64_t dim);

}  // namespace tautstring::libtorch
