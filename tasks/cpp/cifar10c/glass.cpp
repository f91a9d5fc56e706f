// Glass blur: Gaussian filter, pixels replaced by a neighbour, Gaussian filter. The original means
// to swap two pixels, but what it assigns are views of one array, so that the first becomes a copy
// of the second and the second stays. Between the filters values are bytes, truncated.
#include <optional>

#include "cifar10c/families.h"
#include "cifar10c/gaussian_filter.h"

namespace tautstring_tasks::cifar10c {
namespace {

struct Glass {
  double sigma;
  int rounds;
};

constexpr int kFirst = kSize - 1;  // rows and columns, descending
constexpr int kLast = 2;
constexpr int kPixelsPerRound = (kFirst - kLast + 1) * (kFirst - kLast + 1);

class GlassBlur final : public Corruption {
 public:
  explicit GlassBlur(const Glass& glass) : filter_(glass.sigma, 4), rounds_(glass.rounds) {}

  [[nodiscard]] RandomCounts random_counts() const override {
    return {.uniforms = 2 * rounds_ * kPixelsPerRound};
  }

  void apply(Image image, std::span<const double> random, Result result) const override {
    Colours<double> values = scaled<double>(image);
    filter_.apply(values);
    store(values, result);
    const double* next = random.data();
    // The original excludes the upper end of its range: a step is -1 or 0.
    const auto step = [&] { return *next++ < 0.5 ? -1 : 0; };
    for (int round = 0; round < rounds_; ++round) {
      for (int y = kFirst; y >= kLast; --y) {
        for (int x = kFirst; x >= kLast; --x) {
          const int step_x = step();
          const int step_y = step();
          for (int c = 0; c < kColours; ++c) {
            result[value_at(y, x, c)] = result[value_at(y + step_y, x + step_x, c)];
          }
        }
      }
    }
    values = scaled<double>(result);
    filter_.apply(values);
    store(values, result);
  }

 private:
  GaussianFilter<NearestBorder> filter_;
  int rounds_;
};

}  // namespace

Made make_glass_blur(int severity) {
  constexpr PerSeverity<Glass> constants = {{{.05, 1}, {.25, 1}, {.4, 1}, {.25, 2}, {.4, 2}}};
  return std::make_unique<GlassBlur>(constant_of(constants, severity));
}

}  // namespace tautstring_tasks::cifar10c
