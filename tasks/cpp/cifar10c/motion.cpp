// Motion blur at a random angle.
#include "cifar10c/families.h"
#include "cifar10c/motion_line.h"

namespace tautstring_tasks::cifar10c {
namespace {

struct Motion {
  int radius;
  double sigma;
};

class MotionBlur final : public Corruption {
 public:
  explicit MotionBlur(const Motion& motion) : line_(motion.radius, motion.sigma) {}

  [[nodiscard]] RandomCounts random_counts() const override { return {.uniforms = 1}; }

  void apply(Image image, std::span<const double> random, Result result) const override {
    line_.apply(image, -45 + 90 * random[0], result);
  }

 private:
  MotionLine line_;
};

}  // namespace

Made make_motion_blur(int severity) {
  constexpr PerSeverity<Motion> constants = {{{6, 1}, {6, 1.5}, {6, 2}, {8, 2}, {9, 2.5}}};
  return std::make_unique<MotionBlur>(constant_of(constants, severity));
}

}  // namespace tautstring_tasks::cifar10c
