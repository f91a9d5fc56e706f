#include "tautstring/torch/layer.h"

#include <cmath>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "libtorch/arguments.h"

namespace tautstring {
namespace {

/// The number of dimensions after the channels: those of the signal or of the image.
std::int64_t dims_behind_channels(Direction direction) {
  return direction == Direction::signal ? 1 : 2;
}

/// Null if the value is not a direction.
const char* name_of(Direction direction) {
  switch (direction) {
    case Direction::image: return "image";
    case Direction::row: return "row";
    case Direction::col: return "col";
    case Direction::signal: return "signal";
  }
  return nullptr;
}

void require_known(Direction direction) {
  TORCH_CHECK_VALUE(name_of(direction) != nullptr,
                    "direction: must be Direction::image, row, col or signal, got Direction(",
                    static_cast<int>(direction), ")");
}

/// Checks the iteration options, which are for images only.
void require_solver(const TVLayerOptions& options) {
  if (options.method()) libtorch::require_known(*options.method());
  if (options.derivative()) libtorch::require_known(*options.derivative());
  libtorch::require_solver(options.iterations(), options.tol());
  if (options.direction() == Direction::image) return;
  const char* const is_for_images = ": is for Direction::image only";
  TORCH_CHECK_VALUE(!options.method(), "method", is_for_images);
  TORCH_CHECK_VALUE(!options.iterations(), "iterations", is_for_images);
  TORCH_CHECK_VALUE(!options.tol(), "tol", is_for_images);
  TORCH_CHECK_VALUE(!options.derivative(), "derivative", is_for_images);
}

/// Returns one lambda per channel, or throws an error that says what is wrong.
torch::Tensor start_values(const TVLayerOptions& options) {
  const std::vector<double>& lam = options.lam();
  const auto count = static_cast<std::int64_t>(lam.size());
  TORCH_CHECK_VALUE(count == 1 || count == options.channels(),
                    "lam: must be one number or one for each of ", options.channels(),
                    " channels, got ", count);
  for (const double value : lam) {
    if (options.learnable()) {
      TORCH_CHECK_VALUE(value > 0 && std::isfinite(value),
                        "lam: must be > 0 and finite where it is learnable, got ", value);
    } else {
      TORCH_CHECK_VALUE(value >= 0, "lam: must be >= 0 and not NaN, got ", value);
    }
  }
  return torch::tensor(lam, torch::kDouble).expand({options.channels()}).clone();
}

torch::Tensor at_least_float32(const torch::Tensor& values) {
  const bool is_small =
      values.scalar_type() == torch::kHalf || values.scalar_type() == torch::kBFloat16;
  return is_small ? values.to(torch::kFloat) : values;
}

/// The first few values, in the same format as Python's layer.
std::string shown(const torch::Tensor& values) {
  constexpr std::int64_t kMostShown = 4;
  constexpr int kDigits = 4;
  const torch::Tensor first = values.detach().slice(0, 0, kMostShown).to(torch::kCPU);
  std::ostringstream text;
  text.precision(kDigits);
  for (std::int64_t i = 0; i < first.numel(); ++i) {
    text << (i == 0 ? "" : ", ") << first[i].item<double>();
  }
  if (values.numel() > kMostShown) text << ", ...";
  return text.str();
}

}  // namespace

TVLayerImpl::TVLayerImpl(TVLayerOptions given) : options(std::move(given)) {
  // NOLINTNEXTLINE(clang-analyzer-optin.cplusplus.VirtualCall): torch's own modules do so
  reset();
}

void TVLayerImpl::reset() {
  TORCH_CHECK_VALUE(options.channels() >= 1, "channels: must be an integer >= 1, got ",
                    options.channels());
  libtorch::require_known(options.mode());
  require_known(options.direction());
  require_solver(options);
  const torch::Tensor lam = start_values(options);
  const auto dtype = torch::get_default_dtype();
  if (options.learnable()) {
    // The inverse of softplus, without cancellation for small or large lambdas.
    raw_lam = register_parameter("raw_lam", (lam + (-(-lam).expm1()).log()).to(dtype));
  } else {
    fixed_lam = register_buffer("fixed_lam", lam.to(dtype));
  }
}

torch::Tensor TVLayerImpl::lam() const {
  if (!options.learnable()) return at_least_float32(fixed_lam);
  return torch::softplus(at_least_float32(raw_lam));
}

torch::Tensor TVLayerImpl::forward(const torch::Tensor& x, const torch::Tensor& lam) {
  TORCH_CHECK_VALUE(x.defined(), "x: must be defined");
  const Direction direction = options.direction();
  const std::int64_t dims = dims_behind_channels(direction) + 1;
  TORCH_CHECK_VALUE(
      x.dim() == dims || x.dim() == dims + 1, "x: must have shape ",
      direction == Direction::signal ? "(N, C, L) or (C, L)" : "(N, C, H, W) or (C, H, W)",
      " with direction ", name_of(direction), ", got shape ", x.sizes());
  const torch::Tensor lams = lam.defined() ? lam : lam_of_channels(x);
  if (direction == Direction::image) {
    return prox_tv2d(x, lams,
                     {.mode = options.mode(),
                      .method = options.method(),
                      .iterations = options.iterations(),
                      .tol = options.tol(),
                      .derivative = options.derivative()});
  }
  return prox_tv1d(x, lams, {.dim = direction == Direction::col ? -2 : -1, .mode = options.mode()});
}

void TVLayerImpl::pretty_print(std::ostream& stream) const {
  stream << "tautstring::TVLayer(" << options.channels()
         << ", mode=" << (options.mode() == Mode::sharp ? "sharp" : "smooth")
         << ", direction=" << name_of(options.direction())
         << ", learnable=" << (options.learnable() ? "true" : "false") << ", lam=[" << shown(lam())
         << "])";
}

/// The layer's lambdas, aligned with the channels of x.
torch::Tensor TVLayerImpl::lam_of_channels(const torch::Tensor& x) const {
  const std::int64_t behind = dims_behind_channels(options.direction());
  const std::int64_t channels = x.size(-1 - behind);
  TORCH_CHECK_VALUE(options.channels() == 1 || options.channels() == channels, "x: must have ",
                    options.channels(), " channels, got ", channels, " in shape ", x.sizes());
  std::vector<std::int64_t> shape(static_cast<std::size_t>(1 + behind), 1);
  shape[0] = options.channels();
  return lam().view(shape);
}

}  // namespace tautstring
