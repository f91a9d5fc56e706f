// Zoom blur: the mean of an image and its enlargements, in float32. Factor 1 is among the
// enlargements, so the image itself counts twice.
#include <cstddef>
#include <vector>

#include "cifar10c/clipped_zoom.h"
#include "cifar10c/families.h"

namespace tautstring_tasks::cifar10c {
namespace {

class ZoomBlur final : public Corruption {
 public:
  explicit ZoomBlur(int factors) {
    // As NumPy computes the range from 1 in steps of .01.
    const double step = 1.01 - 1;
    for (int i = 0; i < factors; ++i) zooms_.emplace_back(1 + i * step);
  }

  void apply(Image image, std::span<const double> /*random*/, Result result) const override {
    const Colours<float> values = scaled<float>(image);
    Colours<float> sums = {};
    Colours<float> enlarged;
    for (const ClippedZoom& zoom : zooms_) {
      zoom.apply(values, enlarged);
      for (std::size_t i = 0; i < kValues; ++i) sums[i] += enlarged[i];
    }
    const auto terms = static_cast<float>(zooms_.size() + 1);
    for (std::size_t i = 0; i < kValues; ++i) result[i] = to_byte((values[i] + sums[i]) / terms);
  }

 private:
  std::vector<ClippedZoom> zooms_;
};

}  // namespace

Made make_zoom_blur(int severity) {
  // The ranges end before 1.06, 1.11, 1.16, 1.21 and 1.26; in floating point the first two ends are
  // above the number that they should exclude.
  constexpr PerSeverity<int> factors = {7, 12, 16, 21, 26};
  return std::make_unique<ZoomBlur>(constant_of(factors, severity));
}

}  // namespace tautstring_tasks::cifar10c
