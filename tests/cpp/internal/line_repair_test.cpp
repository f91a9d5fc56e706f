// Lines solved by repairing partitions, and their derivative: the oracle's solution, and on every
// instruction set the same bits as in plain C++.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "cpu/vector/line_pass.h"
#include "reference/tv1d_reference.h"
#include "support/rows.h"
#include "support/targets.h"
#include "tautstring/partition.h"

namespace tautstring::testing {
namespace {

using detail::LineAverages;
using detail::LinePass;
using detail::LineShape;
using detail::VectorKernels;

struct Size {
  std::int32_t height, width;
};
constexpr Size kSizes[] = {{1, 1},   {32, 32}, {7, 7},  {8, 8},   {31, 33},
                           {64, 17}, {100, 5}, {3, 65}, {16, 16}, {40, 300}};

template <class T>
std::vector<T> noise(Random& random, std::size_t count, double size) {
  std::vector<T> values(count);
  std::normal_distribution<double> normal(0, size);
  for (T& value : values) value = static_cast<T>(normal(random));
  return values;
}

/// An image of lines of one family, with a lam.
template <class T>
struct Image {
  Image(Random& random, Size image_size) : size(image_size) {
    const Family& family = families()[random() % families().size()];
    for (const double value : family.make(random, size.height * size.width)) {
      x.push_back(static_cast<T>(value));
    }
    lam = std::exp(noise<T>(random, 1, 1.5)[0] - 1);
  }

  [[nodiscard]] LineShape shape(bool along_rows) const {
    return along_rows ? LineShape{size.width, size.height, size.width, 1}
                      : LineShape{size.height, size.width, 1, size.width};
  }

  Size size;
  std::vector<T> x;
  T lam;
};

/// Aligned scratch memory.
template <class T>
struct Tile {
  explicit Tile(std::size_t count) : memory(count + 64) {}
  T* data() {
    void* at = memory.data();
    std::size_t room = memory.size() * sizeof(T);
    return static_cast<T*>(std::align(64, 1, at, room));
  }
  std::vector<T> memory;
};

/// What a target makes of an image, pass after pass.
template <class T>
struct Passes {
  Passes(const VectorKernels<T>& target, const Image<T>& image, bool along_rows)
      : kernels(target),
        shape(image.shape(along_rows)),
        groups((shape.lines + kernels.line_lanes - 1) / kernels.line_lanes),
        out(image.x.size()),
        codes(static_cast<std::size_t>(shape.lines * partition_words(shape.n))),
        starts(static_cast<std::size_t>(groups * kernels.line_lanes * detail::line_words(shape.n))),
        ups(starts.size()),
        unsolved(static_cast<std::size_t>(groups)),
        lams(static_cast<std::size_t>(groups * kernels.line_lanes), image.lam),
        tile(static_cast<std::size_t>(2 * shape.n * kernels.line_lanes)) {
    pass.shape = shape;
    for (std::size_t line = 0; line < lams.size(); ++line) lams[line] *= T(1 + line % 3);
    pass.lams = lams.data();
    pass.partitions = {starts.data(), ups.data()};
    pass.is_first = true;
    pass.codes = codes.data();
    pass.unsolved = unsolved.data();
    pass.tile = tile.data();
  }

  void run(const std::vector<T>& in) {
    pass.in = in.data();
    pass.out = out.data();
    kernels.repair_lines(pass, 0, groups);
    pass.is_first = false;
  }

  [[nodiscard]] bool is_solved(std::int32_t line) const {
    const auto group = static_cast<std::size_t>(line / kernels.line_lanes);
    return (unsolved[group] >> (line % kernels.line_lanes) & 1U) == 0;
  }
  [[nodiscard]] T at(std::int32_t line, std::int32_t k) const {
    return out[static_cast<std::size_t>(line * shape.line_step + k * shape.sample_step)];
  }

  const VectorKernels<T>& kernels;
  const LineShape shape;
  const std::int64_t groups;
  std::vector<T> out;
  std::vector<std::uint32_t> codes, starts, ups, unsolved;
  std::vector<T> lams;
  Tile<T> tile;
  LinePass<T> pass;
};

class LineRepair : public OnEachTarget {};

/// Runs use(image, along_rows) for images of many sizes and families.
template <class T, class Use>
void for_each_image(std::uint64_t seed, const Use& use) {
  Random random(seed);
  for (int repetition = 0; repetition < 20; ++repetition) {
    for (const Size& size : kSizes) {
      const Image<T> image(random, size);
      for (const bool along_rows : {true, false}) {
        SCOPED_TRACE(std::to_string(size.height) + " x " + std::to_string(size.width) +
                     (along_rows ? " rows" : " columns"));
        use(random, image, along_rows);
      }
    }
  }
}

template <class T>
void expect_bits_of_plain_code(const VectorKernels<T>& kernels) {
  for_each_image<T>(base_seed(), [&](Random& random, const Image<T>& image, bool along_rows) {
    const std::size_t pixels = image.x.size();
    std::vector<T> changed = noise<T>(random, pixels, 0.05);
    for (std::size_t i = 0; i < pixels; ++i) changed[i] += image.x[i];
    const std::vector<T> added = noise<T>(random, pixels, 1);
    std::vector<T> q(pixels), plain_q(pixels);
    Passes<T> ours(kernels, image, along_rows);
    Passes<T> plain(detail::kPortableTarget.kernels<T>(), image, along_rows);
    for (int k = 0; k < 4; ++k) {
      for (auto* passes : {&ours, &plain}) {
        passes->pass.added = k == 1 ? added.data() : nullptr;
        passes->pass.x = k == 2 ? image.x.data() : nullptr;
        passes->pass.next_q = passes == &ours ? q.data() : plain_q.data();
        passes->run(k % 2 == 0 ? image.x : changed);
      }
      for (std::int32_t line = 0; line < ours.shape.lines; ++line) {
        ASSERT_EQ(ours.is_solved(line), plain.is_solved(line));
        if (!ours.is_solved(line)) return;
      }
      ASSERT_EQ(ours.out, plain.out);
      ASSERT_EQ(ours.codes, plain.codes);
      ASSERT_EQ(q, plain_q);
    }
  });
}

TEST_P(LineRepair, HasTheBitsOfPlainCode) {
  expect_bits_of_plain_code(kernels<float>());
  expect_bits_of_plain_code(kernels<double>());
}

/// The largest error of a solution, relative to samples and lam.
template <class T>
double expect_solutions(const VectorKernels<T>& kernels) {
  double largest = 0;
  int lines = 0;
  int unsolved = 0;
  for_each_image<T>(base_seed() + 1, [&](Random& /*random*/, const Image<T>& image,
                                         bool along_rows) {
    Passes<T> passes(kernels, image, along_rows);
    passes.run(image.x);
    const LineShape& shape = passes.shape;
    for (std::int32_t line = 0; line < shape.lines; ++line) {
      ++lines;
      if (!passes.is_solved(line)) {
        ++unsolved;
        continue;
      }
      std::vector<double> x;
      const auto own_lam = static_cast<double>(passes.lams[static_cast<std::size_t>(line)]);
      double size = own_lam;
      for (std::int32_t k = 0; k < shape.n; ++k) {
        const auto at = static_cast<std::size_t>(line * shape.line_step + k * shape.sample_step);
        x.push_back(static_cast<double>(image.x[at]));
        size = std::max(size, std::abs(x.back()));
      }
      const std::vector<double> lam(x.size() - 1, own_lam);
      const std::vector<double> expected = reference::prox_tv1d(x, lam);
      const std::uint32_t* codes = passes.codes.data() + line * partition_words(shape.n);
      for (std::int32_t k = 0; k < shape.n; ++k) {
        const auto value = static_cast<double>(passes.at(line, k));
        largest = std::max(largest, std::abs(value - expected[static_cast<std::size_t>(k)]) / size);
        if (k == 0) continue;
        const auto before = static_cast<double>(passes.at(line, k - 1));
        EXPECT_EQ(jump_sign(code_at(codes, k)), (value > before) - (value < before));
      }
    }
  });
  EXPECT_LE(unsolved, lines / 1000);
  return largest;
}

TEST_P(LineRepair, FindsTheSolution) {
  EXPECT_LE(expect_solutions(kernels<float>()), 4e-7);
  EXPECT_LE(expect_solutions(kernels<double>()), 1e-15);
}

/// Averages over the partitions that a pass found.
template <class T>
void expect_averages_of_plain_code(const VectorKernels<T>& kernels) {
  for_each_image<T>(base_seed() + 2, [&](Random& random, const Image<T>& image, bool along_rows) {
    Passes<T> solved(detail::kPortableTarget.kernels<T>(), image, along_rows);
    solved.run(image.x);
    const std::vector<T> in = noise<T>(random, image.x.size(), 1);
    const std::vector<T> sum = noise<T>(random, image.x.size(), 1);
    struct Result {
      std::vector<T> out, sum, edge_lam;
      std::vector<double> lam;
      bool any_ties;
    };
    const auto average = [&](const VectorKernels<T>& target, bool keeps_mean) {
      const LineShape shape = solved.shape;
      Result result = {std::vector<T>(in.size()), sum, sum,
                       std::vector<double>(static_cast<std::size_t>(shape.lines), 1), false};
      const std::int32_t words = 4 * detail::line_words(shape.n);
      Tile<T> tile(static_cast<std::size_t>((2 * shape.n + words) * target.line_lanes));
      LineAverages<T> pass;
      pass.shape = shape;
      pass.codes = solved.codes.data();
      pass.in = in.data();
      pass.out = result.out.data();
      pass.sum = keeps_mean ? nullptr : result.sum.data();
      pass.sign = -1;
      pass.lam = result.lam.data();
      pass.edge_lam = result.edge_lam.data();
      pass.edges = {shape.n - 1, shape.lines, along_rows ? shape.n - 1 : 1,
                    along_rows ? 1 : shape.lines};
      pass.lam_sign = -1;
      pass.tile = tile.data();
      result.any_ties =
          target.average_lines(pass, 0, (shape.lines + target.line_lanes - 1) / target.line_lanes);
      return result;
    };
    for (const bool keeps_mean : {true, false}) {
      const Result ours = average(kernels, keeps_mean);
      const Result plain = average(detail::kPortableTarget.kernels<T>(), keeps_mean);
      ASSERT_EQ(ours.out, plain.out);
      ASSERT_EQ(ours.sum, plain.sum);
      ASSERT_EQ(ours.lam, plain.lam);
      ASSERT_EQ(ours.edge_lam, plain.edge_lam);
      ASSERT_EQ(ours.any_ties, plain.any_ties);
    }
  });
}

TEST_P(LineRepair, AveragesWithTheBitsOfPlainCode) {
  expect_averages_of_plain_code(kernels<float>());
  expect_averages_of_plain_code(kernels<double>());
}

TAUTSTRING_ON_EACH_TARGET(LineRepair);

}  // namespace
}  // namespace tautstring::testing
