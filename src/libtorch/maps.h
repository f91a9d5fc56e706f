// Autograd in C++: two linear maps over the saved parts of a solution, each the derivative of the
// other, as in python/tautstring/_derivatives.py. For 1D and 2D, each of which has its own ops.
#pragma once

#include <torch/csrc/autograd/custom_function.h>
#include <torch/custom_class.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tautstring::libtorch {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// A tensor that may be undefined, as the optional that autograd functions take.
inline std::optional<Tensor> if_defined(const Tensor& tensor) {
  return tensor.defined() ? std::optional(tensor) : std::nullopt;
}

/// One in 1D; in 2D, one along rows and one along columns.
inline constexpr std::size_t kMostLams = 2;
template <class T>
using PerLam = std::array<T, kMostLams>;

/// Which gradients of x and the lams are wanted, and the lams' sizes along their dims.
struct Wanted {
  bool x = false;
  PerLam<bool> lams = {};
  PerLam<std::int64_t> lam_sizes = {1, 1};
};

/// A solved batch without its tensors.
class Batch : public torch::CustomClassHolder {
 public:
  /// For each lam, the dimension of x along which it may have one element per edge.
  [[nodiscard]] virtual PerLam<std::int64_t> lam_dims() const = 0;

  /// The gradients of x (in `dtype`) and of the lams (in the arithmetic's dtype and x's shape, not
  /// summed, since the caller knows over which dimensions). Those that are not wanted are empty.
  [[nodiscard]] virtual variable_list pull_back(const variable_list& saved, const Tensor& grad_y,
                                                const Wanted& wanted,
                                                at::ScalarType dtype) const = 0;

  /// The tangent of y, in `dtype`; an undefined tensor means 0.
  [[nodiscard]] virtual Tensor push_forward(const variable_list& saved, const Tensor& tangent_x,
                                            const PerLam<Tensor>& tangent_lams,
                                            at::ScalarType dtype) const = 0;
};

/// What autograd saves of a solved batch.
struct Solved {
  c10::intrusive_ptr<torch::CustomClassHolder> batch;
  at::ScalarType dtype;  // of x and y
  variable_list saved;

  [[nodiscard]] const Batch& maps() const { return static_cast<const Batch&>(*batch); }

  void save(AutogradContext& context) const;
  static Solved load(AutogradContext& context);
};

/// The dtype that samples of `dtype` are computed in.
inline at::ScalarType arithmetic_dtype(at::ScalarType dtype) {
  return dtype == at::kDouble ? at::kDouble : at::kFloat;
}

/// Shape, dtype and device of an argument, and so of its gradient.
struct Argument {
  bool needs_gradient = false;
  std::vector<std::int64_t> shape;
  at::TensorOptions options;

  static void save(AutogradContext& context, const std::string& name,
                   const std::optional<Tensor>& tensor);

  /// The arguments of a function, in order: torch counts only those that were given.
  static std::vector<Argument> load(AutogradContext& context,
                                    std::initializer_list<std::string> names);

  /// Its size along dimension `dim` of the `ndim` that it broadcasts to.
  [[nodiscard]] std::int64_t size_along(std::int64_t dim, std::int64_t ndim) const;

  /// Its own gradient, summed from the one in x's shape; undefined if it is not needed.
  [[nodiscard]] Tensor sum(const Tensor& gradient) const;
};

/// What a function saves for its backward, with its arguments by name. Only the first of its
/// results has a gradient.
void save_for_backward(
    AutogradContext& context, const Solved& solved,
    std::initializer_list<std::pair<const char*, std::optional<Tensor>>> arguments,
    const variable_list& results);

/// The gradients of x and the lams, in the arguments' own shapes; they can be differentiated again.
/// Those that are not needed are undefined.
variable_list gradients_of_arguments(const Solved& solved, const Tensor& grad_y, const Argument& x,
                                     const PerLam<Argument>& lams);

/// The gradients of a function's first arguments, of these names: x, then the lams.
variable_list gradients_of_arguments(AutogradContext& context, const Tensor& grad_y,
                                     std::initializer_list<std::string> names);

}  // namespace tautstring::libtorch
