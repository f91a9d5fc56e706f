// The 2D function with autograd, as in python/tautstring/_images.py.
#include "tautstring/torch/tv2d.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <array>
#include <string>
#include <tuple>

#include "libtorch/arguments.h"
#include "libtorch/calls.h"
#include "libtorch/maps.h"
#include "torch/tv2d.h"

namespace tautstring {
namespace {

using at::Tensor;
using namespace libtorch;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// The options as the op takes them.
struct Call {
  std::int64_t height_dim;
  std::int64_t width_dim;
  bool sharpen;
  bool accelerated;
  std::int64_t iterations;
  double tol;
  bool implicit;
};

/// A batch of images; its partitions, momentum and done iterations are saved.
class Images final : public libtorch::Batch {
 public:
  Images(const Call& call, const Tensor& x)
      : call_(call), height_(x.size(call.height_dim)), width_(x.size(call.width_dim)) {}

  [[nodiscard]] PerLam<std::int64_t> lam_dims() const override {
    return {call_.width_dim, call_.height_dim};
  }

  [[nodiscard]] variable_list pull_back(const variable_list& saved, const Tensor& grad_y,
                                        const Wanted& wanted, at::ScalarType dtype) const override {
    return libtorch::call([&] {
      const at::ScalarType lam_dtype = arithmetic_dtype(dtype);
      const auto [grad_x, grad_lam_rows, grad_lam_cols] = torch_ops::backward2d(
          to_stable("grad_y", grad_y), to_stable("partitions", saved[0]),
          to_stable("momentum", saved[1]), to_stable("done", saved[2]), call_.height_dim,
          call_.width_dim, call_.sharpen, call_.iterations, call_.implicit, dtype,
          wanted.lam_sizes[0], {}, lam_dtype, wanted.lam_sizes[1], {}, lam_dtype, wanted.x,
          wanted.lams[0], wanted.lams[1]);
      return variable_list{from_stable(grad_x), from_stable(grad_lam_rows),
                           from_stable(grad_lam_cols)};
    });
  }

  [[nodiscard]] Tensor push_forward(const variable_list& saved, const Tensor& tangent_x,
                                    const PerLam<Tensor>& tangent_lams,
                                    at::ScalarType dtype) const override {
    return libtorch::call([&] {
      return from_stable(torch_ops::jvp2d(
          to_stable("partitions", saved[0]), to_stable("momentum", saved[1]),
          to_stable("done", saved[2]), to_optional("tangent_x", tangent_x),
          to_optional("tangent_lam_rows", tangent_lams[0]),
          to_optional("tangent_lam_cols", tangent_lams[1]), call_.height_dim, call_.width_dim,
          call_.sharpen, call_.iterations, call_.implicit, height_, width_, dtype));
    });
  }

 private:
  Call call_;
  std::int64_t height_;
  std::int64_t width_;
};

/// The lams as the ops take them. One lam for both directions is one tensor, which the ops and the
/// core then call `lam`, too.
std::array<torch::stable::Tensor, 2> stable_lams(const ImageLams& lam) {
  const auto& [rows, columns] = lam.tensors();
  if (lam.is_pair()) return {to_stable("lam_rows", rows), to_stable("lam_cols", columns)};
  const auto both = to_stable("lam", rows);
  return {both, both};
}

/// y, partitions, momentum, done, gap, objective, converged, dual.
variable_list call_solve(const Tensor& x, const ImageLams& lam, const Tensor& start,
                         const Call& call, bool keep_partitions, bool report) {
  const auto solve = [&] {
    const auto samples = to_stable("x", x);
    const auto first = to_optional("start", start);
    const auto with_tensors = [&] {
      const auto [lam_rows, lam_cols] = stable_lams(lam);
      return torch_ops::solve2d(samples, lam_rows, lam_cols, first, call.height_dim, call.width_dim,
                                call.sharpen, call.accelerated, call.iterations, call.tol,
                                call.implicit, keep_partitions, report);
    };
    const auto results =
        lam.tensors()[0].defined()
            ? with_tensors()
            : torch_ops::solve2d_number(samples, lam.numbers()[0], lam.numbers()[1], first,
                                        call.height_dim, call.width_dim, call.sharpen,
                                        call.accelerated, call.iterations, call.tol, call.implicit,
                                        keep_partitions, report);
    return std::apply([](const auto&... tensors) { return variable_list{from_stable(tensors)...}; },
                      results);
  };
  return libtorch::call(solve);
}

class Solve : public torch::autograd::Function<Solve> {
 public:
  static variable_list forward(AutogradContext* context, const Tensor& x,
                               const std::optional<Tensor>& lam_rows,
                               const std::optional<Tensor>& lam_cols, const ImageLams& lam,
                               const ProxTv2dOptions& options, const Call& call, bool report) {
    variable_list results = call_solve(x, lam, options.start, call, true, report);
    const Solved solved = {.batch = c10::make_intrusive<Images>(call, x),
                           .dtype = x.scalar_type(),
                           .saved = {results[1], results[2], results[3]}};
    save_for_backward(*context, solved, {{"x", x}, {"lam_rows", lam_rows}, {"lam_cols", lam_cols}},
                      results);
    return results;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    variable_list result(7);
    if (!gradients[0].defined()) return result;
    const variable_list pulled =
        libtorch::gradients_of_arguments(*context, gradients[0], {"x", "lam_rows", "lam_cols"});
    std::copy(pulled.begin(), pulled.end(), result.begin());
    return result;
  }
};

void require_one_an_image(const Tensor& x, const Tensor& lam,
                          const std::array<std::int64_t, 2>& dims) {
  for (const std::int64_t dim : dims) {
    const std::int64_t own = dim - (x.dim() - lam.dim());
    TORCH_CHECK_VALUE(own < 0 || own >= lam.dim() || lam.size(own) == 1,
                      "lam: must have size 1 along both dims, or be a pair, got shape ",
                      lam.sizes());
  }
}

/// The dimensions of x along an image's height and width, counted from the front.
std::array<std::int64_t, 2> read_dims(const Tensor& x, const std::array<std::int64_t, 2>& dims) {
  const std::int64_t count = x.dim();
  TORCH_CHECK_VALUE(count >= 2, "x: must have at least 2 dimensions, got ", count);
  for (const std::int64_t dim : dims) {
    TORCH_CHECK_VALUE(dim >= -count && dim < count, "dims: must be from ", -count, " to ",
                      count - 1, " for this x, got ", dim);
  }
  const auto from_front = [&](std::int64_t dim) { return dim < 0 ? dim + count : dim; };
  const std::array<std::int64_t, 2> read = {from_front(dims[0]), from_front(dims[1])};
  TORCH_CHECK_VALUE(read[0] != read[1], "dims: must be two different dimensions of x, got ",
                    dims[0], " and ", dims[1]);
  return read;
}

/// Checks the lams of any call; errors use their names.
void require_lams(const char* function, const Tensor& x, const ImageLams& lam,
                  const std::array<std::int64_t, 2>& dims) {
  const auto& [lam_rows, lam_cols] = lam.tensors();
  TORCH_CHECK_VALUE(lam_rows.defined() == lam_cols.defined(),
                    "lam: must be two numbers or two tensors that are defined");
  require_tensor(function, lam.is_pair() ? "lam_rows" : "lam", lam_rows);
  require_tensor(function, lam.is_pair() ? "lam_cols" : "lam", lam_cols);
  if (lam_rows.defined() && !lam.is_pair()) require_one_an_image(x, lam_rows, dims);
}

Call read(const Tensor& x, const ProxTv2dOptions& options) {
  libtorch::require_known(options.mode);
  if (options.method) libtorch::require_known(*options.method);
  if (options.derivative) libtorch::require_known(*options.derivative);
  const std::array<std::int64_t, 2> dims = read_dims(x, options.dims);
  const double tol = options.tol.value_or(0);
  const Method2d method = options.method.value_or(default_method(tol));
  const Call call = {.height_dim = dims[0],
                     .width_dim = dims[1],
                     .sharpen = options.mode == Mode::sharp,
                     .accelerated = method == Method2d::accelerated,
                     .iterations = options.iterations.value_or(default_iterations(method, tol)),
                     .tol = tol,
                     .implicit = options.derivative ? *options.derivative == Derivative2d::implicit
                                                    : options.tol.has_value()};
  libtorch::require_solver(options.iterations, options.tol);
  return call;
}

/// Indices of the results of a call.
constexpr std::size_t kDone = 3;
constexpr std::size_t kGap = 4;
constexpr std::size_t kObjective = 5;
constexpr std::size_t kConverged = 6;
constexpr std::size_t kDual = 7;

/// Warns if images missed the tolerance, and gives the same advice as Python.
void warn_of_missed(const variable_list& results, const Call& call) {
  const Tensor missed = ~results[kConverged] & ~results[kGap].isnan();  // NaN: not finite
  const auto count = missed.sum().item<std::int64_t>();
  if (count == 0) return;
  const Tensor fraction = (results[kGap] / results[kObjective]).masked_select(missed);
  const auto worst = fraction.argmax().item<std::int64_t>();
  const at::ScalarType dtype = results[0].scalar_type();
  const Tensor did_all = results[kDone] == call.iterations;
  const bool needs_more = (missed & did_all).any().item<bool>();
  const bool lost_by_rounding = (missed & ~did_all).any().item<bool>();
  const bool is_half = dtype == at::kHalf || dtype == at::kBFloat16;
  std::string advice;
  const auto advise = [&](const char* what) {
    advice += advice.empty() ? "; " : ", or ";
    advice += what;
  };
  if (needs_more) advise("allow more iterations");
  if (needs_more && !call.accelerated) advise("use Method2d::accelerated");
  if (is_half || lost_by_rounding) {
    advise(is_half ? "raise tol or pass x in float32" : "raise tol or pass x in float64");
  }
  TORCH_WARN_ONCE("prox_tv2d: ", count, " of ", missed.numel(), " images stopped after ",
                  results[kDone].masked_select(missed)[worst].item<std::int32_t>(),
                  " iterations to a gap of ", fraction[worst].item<double>(),
                  " of the objective, which is above tol ", call.tol, advice);
}

/// All results of the op; without `report`, those of the report may be empty.
variable_list solve(const Tensor& x, const ImageLams& lam, const ProxTv2dOptions& options,
                    bool report) {
  TORCH_CHECK_VALUE(x.defined(), "x: must be defined");
  require_tensor("prox_tv2d", "x", x);
  require_tensor("prox_tv2d", "start", options.start);
  const Call call = read(x, options);
  require_lams("prox_tv2d", x, lam, {call.height_dim, call.width_dim});
  const auto& [lam_rows, lam_cols] = lam.tensors();
  const bool records = at::GradMode::is_enabled() &&
                       (needs_gradient(x) || needs_gradient(lam_rows) || needs_gradient(lam_cols));
  TORCH_CHECK_NOT_IMPLEMENTED(!at::GradMode::is_enabled() || !needs_gradient(options.start),
                              "prox_tv2d: treats start as a constant; pass it detached");
  const bool warns = call.tol > 0 && x.is_cpu();  // on CUDA it would wait for the device
  const bool reports = report || warns;
  variable_list results;
  if (records) {
    results =
        Solve::apply(x, if_defined(lam_rows), if_defined(lam_cols), lam, options, call, reports);
  }
  const at::NoGradGuard nothing_to_record;
  if (!records) results = call_solve(x, lam, options.start, call, false, reports);
  if (warns) warn_of_missed(results, call);
  return results;
}

/// Throws if a gradient is requested: there is none.
class Gap : public torch::autograd::Function<Gap> {
 public:
  static Tensor forward(AutogradContext* /*context*/, const Tensor& x, const Tensor& y,
                        const std::optional<Tensor>& /*lam_rows*/,
                        const std::optional<Tensor>& /*lam_cols*/,
                        const std::optional<Tensor>& dual, const ImageLams& lam,
                        const std::array<std::int64_t, 2>& dims) {
    return libtorch::call([&] {
      const auto samples = to_stable("x", x);
      const auto images = to_stable("y", y);
      const auto duals = to_optional("dual", dual.value_or(Tensor()));
      if (!lam.tensors()[0].defined()) {
        return from_stable(torch_ops::find_gap2d_number(samples, images, lam.numbers()[0],
                                                        lam.numbers()[1], duals, dims[0], dims[1]));
      }
      const auto [lam_rows, lam_cols] = stable_lams(lam);
      return from_stable(
          torch_ops::find_gap2d(samples, images, lam_rows, lam_cols, duals, dims[0], dims[1]));
    });
  }

  static variable_list backward(AutogradContext* /*context*/, const variable_list& /*gradients*/) {
    TORCH_CHECK_NOT_IMPLEMENTED(false, "gap2d: has no gradient; pass detached tensors");
  }
};

}  // namespace

Tensor prox_tv2d(const Tensor& x, const ImageLams& lam, const ProxTv2dOptions& options) {
  return solve(x, lam, options, false)[0];
}

std::pair<Tensor, ProxTv2dInfo> prox_tv2d_with_info(const Tensor& x, const ImageLams& lam,
                                                    const ProxTv2dOptions& options) {
  const variable_list results = solve(x, lam, options, true);
  return {results[0],
          {.iterations = results[kDone],
           .gap = results[kGap],
           .converged = results[kConverged],
           .dual = results[kDual]}};
}

Tensor gap2d(const Tensor& x, const Tensor& y, const ImageLams& lam, const Gap2dOptions& options) {
  TORCH_CHECK_VALUE(x.defined(), "x: must be defined");
  TORCH_CHECK_VALUE(y.defined(), "y: must be defined");
  require_tensor("gap2d", "x", x);
  require_tensor("gap2d", "y", y);
  require_tensor("gap2d", "dual", options.dual);
  const std::array<std::int64_t, 2> dims = read_dims(x, options.dims);
  require_lams("gap2d", x, lam, dims);
  const auto& [lam_rows, lam_cols] = lam.tensors();
  return Gap::apply(x, y, if_defined(lam_rows), if_defined(lam_cols), if_defined(options.dual), lam,
                    dims);
}

}  // namespace tautstring
