// Lines solved by repairing partitions: the oracle's solution, and on every instruction set the
// same bits as in plain C++, whatever images the lines are from.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>

#include "cpu/vector/line_pass.h"
#include "reference/tv1d_reference.h"
#include "support/rows.h"
#include "support/targets.h"
#include "tautstring/partition.h"

namespace tautstring::testing {
namespace {

using detail::LinePass;
using detail::VectorKernels;

/// Images of lines of one family each, with a lam for every image.
template <class T>
struct LineImages {
  LineImages(Random& random, std::int32_t image_count, std::int32_t image_height,
             std::int32_t image_width)
      : count(image_count), height(image_height), width(image_width) {
    const auto pixels = static_cast<std::size_t>(height) * static_cast<std::size_t>(width);
    std::normal_distribution<double> noise;
    for (std::int32_t i = 0; i < count; ++i) {
      const Family& family = families()[random() % families().size()];
      const std::vector<double> values = family.make(random, static_cast<int>(pixels));
      for (const double value : values) {
        x.push_back(static_cast<T>(value));
        added.push_back(static_cast<T>(noise(random)));
      }
      lam.push_back(static_cast<T>(std::exp(1.5 * noise(random) - 1)));
    }
  }

  std::int32_t count, height, width;
  std::vector<T> x, added, lam;
};

/// What a target makes of such images, in passes over rows or over columns.
template <class T>
struct Passes {
  Passes(const VectorKernels<T>& kernels, const LineImages<T>& images, bool along_rows)
      : kernels_(kernels),
        n(along_rows ? images.width : images.height),
        lines(along_rows ? images.height : images.width),
        groups((std::int64_t{lines} * images.count + kernels.repair_lanes - 1) /
               kernels.repair_lanes) {
    const auto lanes = static_cast<std::size_t>(groups * kernels.repair_lanes);
    starts_.resize(lanes * static_cast<std::size_t>(detail::line_words(n)));
    ups_.resize(starts_.size());
    unsolved_.resize(static_cast<std::size_t>(groups));
    out.resize(images.x.size());
    codes.resize(static_cast<std::size_t>(std::int64_t{lines} * images.count * partition_words(n)));
    tile_.resize(static_cast<std::size_t>(2 * n * kernels.repair_lanes) + kAligned);
    pass_.n = n;
    pass_.lines = lines;
    pass_.images = images.count;
    pass_.image_step = std::int64_t{n} * lines;
    pass_.line_step = along_rows ? n : 1;
    pass_.sample_step = along_rows ? 1 : lines;
    pass_.lam = images.lam.data();
    pass_.partitions = {starts_.data(), ups_.data()};
    pass_.is_first = true;
    pass_.codes = codes.data();
    pass_.unsolved = unsolved_.data();
    void* tile = tile_.data();
    std::size_t room = tile_.size() * sizeof(T);
    pass_.tile = static_cast<T*>(std::align(64, 1, tile, room));
  }

  void run(const std::vector<T>& in, const std::vector<T>* added) {
    pass_.in = in.data();
    pass_.added = added == nullptr ? nullptr : added->data();
    pass_.out = out.data();
    kernels_.repair_lines(pass_, 0, groups);
    pass_.is_first = false;
  }

  [[nodiscard]] bool is_solved(std::int32_t line) const {
    const auto group = static_cast<std::size_t>(line / kernels_.repair_lanes);
    return (unsolved_[group] >> (line % kernels_.repair_lanes) & 1U) == 0;
  }
  [[nodiscard]] std::size_t at(std::int32_t line, std::int32_t k) const {
    return static_cast<std::size_t>(line / lines * pass_.image_step +
                                    line % lines * pass_.line_step + k * pass_.sample_step);
  }

 private:
  static constexpr std::size_t kAligned = 64;
  const VectorKernels<T>& kernels_;

 public:
  const std::int32_t n, lines;
  const std::int64_t groups;
  std::vector<T> out;
  std::vector<std::uint32_t> codes;

 private:
  std::vector<std::uint32_t> starts_, ups_, unsolved_;
  std::vector<T> tile_;
  LinePass<T> pass_;
};

struct Size {
  std::int32_t count, height, width;
};
constexpr Size kSizes[] = {{1, 1, 1},   {1, 32, 32}, {3, 7, 7},  {5, 8, 8},   {2, 31, 33},
                           {1, 64, 17}, {1, 100, 5}, {2, 3, 65}, {1, 16, 16}, {1, 40, 300}};

class LineRepair : public OnEachTarget {};

template <class T>
void expect_same_bits(const VectorKernels<T>& kernels) {
  Random random(base_seed());
  for (int repetition = 0; repetition < 20; ++repetition) {
    for (const auto& [count, height, width] : kSizes) {
      const LineImages<T> images(random, count, height, width);
      LineImages<T> changed = images;
      std::normal_distribution<double> noise(0, 0.05);
      for (T& value : changed.x) value += static_cast<T>(noise(random));
      for (const bool along_rows : {true, false}) {
        Passes<T> ours(kernels, images, along_rows);
        Passes<T> plain(detail::kPortableTarget.kernels<T>(), images, along_rows);
        for (const std::vector<T>* in :
             std::initializer_list<const std::vector<T>*>{&images.x, &changed.x, &images.x}) {
          const std::vector<T>* added = in == &changed.x ? &images.added : nullptr;
          ours.run(*in, added);
          plain.run(*in, added);
          for (std::int32_t line = 0; line < ours.lines * count; ++line) {
            ASSERT_EQ(ours.is_solved(line), plain.is_solved(line));
            if (!ours.is_solved(line)) continue;
            for (std::int32_t k = 0; k < ours.n; ++k) {
              ASSERT_EQ(ours.out[ours.at(line, k)], plain.out[plain.at(line, k)])
                  << count << " images of " << height << " x " << width << ", line " << line;
            }
          }
          ASSERT_EQ(ours.codes, plain.codes);
        }
      }
    }
  }
}

TEST_P(LineRepair, HasTheBitsOfPlainCode) {
  expect_same_bits(kernels<float>());
  expect_same_bits(kernels<double>());
}

/// The largest error of solved lines relative to samples and lam, and how many were not
/// solved.
template <class T>
struct Errors {
  double largest = 0;
  int unsolved = 0;
  int lines = 0;
};

template <class T>
Errors<T> errors_of(const VectorKernels<T>& kernels) {
  Errors<T> errors;
  Random random(base_seed() + 1);
  for (int repetition = 0; repetition < 20; ++repetition) {
    for (const auto& [count, height, width] : kSizes) {
      const LineImages<T> images(random, count, height, width);
      Passes<T> passes(kernels, images, true);
      passes.run(images.x, nullptr);
      for (std::int32_t line = 0; line < height * count; ++line) {
        ++errors.lines;
        if (!passes.is_solved(line)) {
          ++errors.unsolved;
          continue;
        }
        std::vector<double> x;
        for (std::int32_t k = 0; k < width; ++k) {
          x.push_back(static_cast<double>(images.x[passes.at(line, k)]));
        }
        const auto image = static_cast<std::size_t>(line / height);
        const std::vector<double> lam(static_cast<std::size_t>(width - 1),
                                      static_cast<double>(images.lam[image]));
        const std::vector<double> expected = reference::prox_tv1d(x, lam);
        auto size = static_cast<double>(images.lam[image]);
        for (const double value : x) size = std::max(size, std::abs(value));
        const std::uint32_t* codes = passes.codes.data() + line * partition_words(width);
        for (std::int32_t k = 0; k < width; ++k) {
          const T value = passes.out[passes.at(line, k)];
          const double error =
              std::abs(static_cast<double>(value) - expected[static_cast<std::size_t>(k)]);
          errors.largest = std::max(errors.largest, error / size);
          if (k == 0) continue;
          const T before = passes.out[passes.at(line, k - 1)];
          const int way = (value > before ? 1 : 0) - (value < before ? 1 : 0);
          EXPECT_EQ(jump_sign(code_at(codes, k)), way);
        }
      }
    }
  }
  return errors;
}

TEST_P(LineRepair, FindsTheSolution) {
  const Errors<float> single = errors_of(kernels<float>());
  EXPECT_LE(single.largest, 1e-6);
  EXPECT_LE(single.unsolved, single.lines / 100);
  const Errors<double> wide = errors_of(kernels<double>());
  EXPECT_LE(wide.largest, 1e-15);
  EXPECT_LE(wide.unsolved, wide.lines / 100);
}

TAUTSTRING_ON_EACH_TARGET(LineRepair);

}  // namespace
}  // namespace tautstring::testing
