// The gap of any image on the CPU: iterations whose dual variables bound the optimum from below.
#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/cpu_backend.h"
#include "cpu/image_iterations.h"
#include "cpu/value_checks.h"

namespace tautstring::detail {
namespace {

/// In float64, whatever the dtypes: the bound must not be coarser than the image it is for.
class ImageGap {
 public:
  ImageGap(const Gap2d& call, Scratch& scratch, int tasks, const Context& context) noexcept
      : call_(call),
        context_(context),
        iterations_(call.images, call.lam_rows, call.lam_cols,
                    IterationArrays<double>(scratch, call.images, tasks), context),
        y_(scratch.take<double>(iterations_.arrays().pixels)) {}

  static std::size_t bytes(const Images& images, int tasks) noexcept {
    Gap2d call;
    call.images = images;
    Scratch scratch(nullptr);
    const ImageGap counted(call, scratch, tasks, {});
    return scratch.used();
  }

  void operator()(std::int64_t image, std::int64_t /*end*/) noexcept {
    call_.gap[image] = gap_of(image);
  }

 private:
  double gap_of(std::int64_t image) noexcept {
    if (!iterations_.load(call_.x.image(call_.images, image), image) || !load(image)) {
      return std::numeric_limits<double>::quiet_NaN();
    }
    iterations_.start(call_.dual);
    const int most = call_.dual.given ? 1 : kGapIterations;
    double gap = std::numeric_limits<double>::infinity();
    for (int done = 1;; ++done) {
      iterations_.iterate(nullptr, nullptr);
      if (is_interrupted(context_)) return gap;
      const bool is_last = done == most;
      if (is_last || done % kIterationsBetweenLooks == 0) {
        gap = std::fmin(gap, iterations_.quality_of(y_).gap);  // one that overflows is NaN
        if (is_last || is_little_to_gain(iterations_.quality_of(iterations_.arrays().y), gap))
          break;
      }
      iterations_.go_on(Method2d::accelerated);
    }
    return gap / iterations_.scale() / iterations_.scale();
  }

  /// Loads y; returns whether all of it is finite.
  bool load(std::int64_t image) noexcept {
    const Images& images = call_.images;
    load_image(call_.y.image(images, image), images.height, images.width, y_);
    if (!iterations_.extent_of(y_).finite) return false;
    const double offset = iterations_.offset();
    for (std::int64_t i = 0; i < iterations_.arrays().pixels; ++i) y_[i] -= offset;
    return true;
  }

  const Gap2d& call_;
  const Context context_;  // of the passes
  ImageIterations<double> iterations_;
  double* y_;  // minus x's offset
};

}  // namespace

std::size_t gap2d_workspace(const Images& images, const Context& context) noexcept {
  return ImageTasks(images, ImageGap::bytes(images, pass_tasks(images, context)), context).bytes();
}

Status gap2d(const Gap2d& call, const Context& context) noexcept {
  const Images& images = call.images;
  if (const Status status = check_lams(call.lam_rows, call.lam_cols); !status.ok()) return status;
  if (images.count == 0 || images.height == 0 || images.width == 0) {
    std::fill_n(call.gap, images.count, 0.0);  // images without pixels are optimal
    return {};
  }
  return ImageTasks(images, ImageGap::bytes(images, pass_tasks(images, context)), context)
      .run([&](Scratch& scratch, const Context& passes) {
        return ImageGap(call, scratch, concurrency(passes), passes);
      });
}

}  // namespace tautstring::detail
