#include "patches.h"

#include <algorithm>

namespace denoise {
namespace {

constexpr std::int64_t kOrientations = 8;  // of a square

}  // namespace

Patches::Patches(const std::vector<Picture>& pictures, const NoiseOptions& options,
                 torch::Device device)
    : options_(options) {
  std::vector<torch::Tensor> pixels;
  std::vector<std::int64_t> heights, widths;
  for (const Picture& picture : pictures) {
    const std::int64_t smallest = std::min(picture.height, picture.width);
    TORCH_CHECK_VALUE(smallest >= options.patch, "patch: must fit the smallest image, ", smallest,
                      " pixels, got ", options.patch);
    pixels.push_back(torch::tensor(picture.pixels, torch::kByte).view({-1, kColours}));
    heights.push_back(picture.height);
    widths.push_back(picture.width);
  }
  pixels_ = torch::cat(pixels).to(device);
  heights_ = torch::tensor(heights).to(device);
  widths_ = torch::tensor(widths).to(device);
  const torch::Tensor counts = heights_ * widths_;
  starts_ = counts.cumsum(0) - counts;
}

Batch Patches::draw(std::int64_t count, torch::Generator random) const {
  const auto on_device = torch::TensorOptions(pixels_.device());
  const auto below = [&](const auto& limits) {
    const torch::Tensor drawn = torch::rand({count}, random, on_device.dtype(torch::kDouble));
    return (drawn * limits).to(torch::kLong);
  };
  const torch::Tensor picture = below(starts_.numel());
  const torch::Tensor widths = widths_.index({picture});
  const torch::Tensor top = below(heights_.index({picture}) - options_.patch + 1);
  const torch::Tensor left = below(widths - options_.patch + 1);
  const auto [row, column] = oriented(below(kOrientations));
  const torch::Tensor index = starts_.index({picture}) + (row + top) * widths + (column + left);
  const torch::Tensor pixels = pixels_.index({index.permute({2, 0, 1}).contiguous()});
  const torch::Tensor clean = pixels.permute({0, 3, 1, 2}).contiguous().to(torch::kFloat) / 255;
  const torch::Tensor noise = torch::randn(clean.sizes(), random, on_device);
  return {clean, clean + noise * (options_.sigma / 255)};
}

std::pair<torch::Tensor, torch::Tensor> Patches::oriented(const torch::Tensor& turn) const {
  const torch::Tensor along = torch::arange(options_.patch, turn.device());
  const torch::Tensor down = along.view({-1, 1, 1});
  const torch::Tensor across = along.view({1, -1, 1});
  const torch::Tensor is_transposed = (turn & 1).to(torch::kBool);
  const torch::Tensor row = torch::where(is_transposed, across, down);
  const torch::Tensor column = torch::where(is_transposed, down, across);
  const std::int64_t last = options_.patch - 1;
  return {torch::where((turn & 2).to(torch::kBool), last - row, row),
          torch::where((turn & 4).to(torch::kBool), last - column, column)};
}

}  // namespace denoise
