// Gradients of lams that several lines share: the sums of the lines' own gradients.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <string>

#include "support/images.h"
#include "support/solve.h"

namespace tautstring::testing {
namespace {

using Shape = std::vector<std::int64_t>;

std::int64_t count_of(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::string text_of(const Shape& shape) {
  std::string text;
  for (const std::int64_t size : shape) text += (text.empty() ? "" : " x ") + std::to_string(size);
  return text;
}

std::vector<double> noise(Random& random, std::int64_t count) {
  std::vector<double> values(static_cast<std::size_t>(count));
  for (double& value : values) value = std::normal_distribution<double>()(random);
  return values;
}

/// Terms of the shape `from` summed to the shape `to`, which is aligned from the last dimension.
/// With `magnitudes`, their absolute values.
std::vector<double> sum_to(const std::vector<double>& terms, const Shape& from, const Shape& to,
                           bool magnitudes = false) {
  std::vector<double> sums(static_cast<std::size_t>(count_of(to)));
  for (std::size_t i = 0; i < terms.size(); ++i) {
    std::size_t rest = i;
    std::size_t at = 0;
    std::size_t step = 1;
    for (std::size_t back = 1; back <= from.size(); ++back) {
      const auto size = static_cast<std::size_t>(from[from.size() - back]);
      if (back <= to.size() && to[to.size() - back] != 1) at += rest % size * step;
      if (back <= to.size()) step *= static_cast<std::size_t>(to[to.size() - back]);
      rest /= size;
    }
    sums[at] += magnitudes ? std::abs(terms[i]) : terms[i];
  }
  return sums;
}

Shape with_size(Shape shape, std::size_t dim, std::int64_t size) {
  shape[dim] = size;
  return shape;
}

/// Memory with the alignment of a workspace.
class Workspace {
 public:
  explicit Workspace(std::size_t bytes)
      : size_(bytes), memory_(std::aligned_alloc(64, (bytes + 63) / 64 * 64), std::free) {}
  void put_into(Context& context) const {
    context.workspace = memory_.get();
    context.workspace_size = size_;
  }

 private:
  std::size_t size_;
  std::unique_ptr<void, decltype(&std::free)> memory_;
};

/// A solved batch of rows and an incoming gradient, in arrays of T.
template <class T>
struct Rows {
  Rows(Random& random, Shape batch, int along, bool weighted, Mode how)
      : shape(std::move(batch)), dim(along), mode(how) {
    const std::int64_t count = count_of(shape);
    const auto filled = [&] {
      const std::vector<double> values = noise(random, count);
      return std::vector<T>(values.begin(), values.end());
    };
    x = filled();
    grad_y = filled();
    y.resize(x.size());
    if (weighted) {
      weight.resize(x.size());
      for (T& value : weight) value = static_cast<T>(1 + random() % 3);
    }
    const ConstView rows = view(x.data(), shape);
    partition.resize(static_cast<std::size_t>(row_count(rows, dim)) *
                     static_cast<std::size_t>(partition_words(row_length(rows, dim))));
    const Status status = prox_tv1d({.x = rows, .lam = 0.4, .weight = weights(), .dim = dim},
                                    view(y.data(), shape), partition);
    EXPECT_TRUE(status.ok());
  }

  [[nodiscard]] ConstView weights() const {
    return weight.empty() ? ConstView{} : ConstView(view(weight.data(), shape));
  }
  /// The gradient of lam in any shape and dtype; that of x goes along.
  template <class G>
  [[nodiscard]] std::vector<G> backward(const Shape& lam, const Context& context = {}) const {
    std::vector<G> grad_lam(static_cast<std::size_t>(count_of(lam)), G(99));
    std::vector<T> grad_x(x.size());
    const Status status = prox_tv1d_backward(
        {.partition = partition,
         .x = view(x.data(), shape),
         .y = view(y.data(), shape),
         .weight = weights(),
         .dim = dim,
         .mode = mode},
        view(grad_y.data(), shape),
        {.x = view(grad_x.data(), shape), .lam = view(grad_lam.data(), lam)}, context);
    EXPECT_TRUE(status.ok()) << status.argument << ": " << status.expected;
    return grad_lam;
  }

  Shape shape;
  int dim;
  Mode mode;
  std::vector<T> x, y, weight, grad_y;
  std::vector<std::uint32_t> partition;
};

/// A batch, the dimension of its rows, and shapes of lams that its rows share.
struct Case {
  Shape batch;
  int dim;
  std::vector<Shape> lams;
};

std::vector<Case> cases() {
  return {
      {{70, 9}, 1, {{1, 1}, {1}, {}}},
      {{9, 96}, 0, {{1, 1}, {}}},
      {{3, 4, 32, 8}, 3, {{1, 4, 1, 1}, {1, 1, 1, 1}, {3, 1, 1, 1}, {1, 1, 32, 1}, {4, 1, 1}, {}}},
      {{3, 4, 8, 32}, 2, {{1, 4, 1, 1}, {3, 1, 1, 32}, {3, 4, 1, 1}, {}}},
      {{5, 48, 1, 20}, -1, {{1, 48, 1, 1}, {1, 1, 1, 1}, {5, 1, 1, 1}}},
      {{2, 3, 2, 3, 2, 3, 7}, 6, {{1, 3, 1, 3, 1, 3, 1}, {2, 1, 2, 1, 2, 1, 1}, {2, 1, 1}}},
      {{4, 6, 1500}, 2, {{1, 6, 1}, {4, 1, 1}, {}}},
      {{6, 4, 2}, 2, {{1, 4, 1}, {}}},
      {{6, 4, 1}, 2, {{1, 4, 1}, {}}},
  };
}

template <class T, class G>
void expect_sums(const Rows<T>& rows, const Case& given, double tolerance) {
  const auto dim =
      static_cast<std::size_t>(rows.dim < 0 ? rows.dim + int(rows.shape.size()) : rows.dim);
  const Shape each = with_size(rows.shape, dim, 1);
  const std::vector<T> single = rows.template backward<T>(each);
  const std::vector<double> terms(single.begin(), single.end());
  for (const Shape& lam : given.lams) {
    SCOPED_TRACE(text_of(rows.shape) + ", lam " + text_of(lam));
    const std::vector<double> sums = sum_to(terms, each, lam);
    const std::vector<double> sizes = sum_to(terms, each, lam, true);
    const std::vector<G> shared = rows.template backward<G>(lam);
    ASSERT_EQ(shared.size(), sums.size());
    for (std::size_t i = 0; i < sums.size(); ++i) {
      EXPECT_NEAR(static_cast<double>(shared[i]), sums[i], tolerance * sizes[i]) << i;
    }
    for (const int threads : {2, 3, 16}) {
      ThreadExecutor executor(threads);
      EXPECT_EQ(rows.template backward<G>(lam, {.executor = &executor}), shared) << threads;
    }
  }
}

TEST(SharedLams, AreTheSumsOverRows) {
  Random random(base_seed());
  for (const Case& given : cases()) {
    for (const bool weighted : {false, true}) {
      for (const Mode mode : {Mode::smooth, Mode::sharp}) {
        const Rows<double> rows(random, given.batch, given.dim, weighted, mode);
        expect_sums<double, double>(rows, given, 1e-14);
      }
    }
  }
}

/// Terms of float32 arithmetic, whatever the dtype of the sum.
TEST(SharedLams, AreSummedInFloat64) {
  Random random(base_seed());
  for (const Case& given : cases()) {
    const Rows<float> rows(random, given.batch, given.dim, false, Mode::smooth);
    expect_sums<float, float>(rows, given, 1e-7);
    expect_sums<float, double>(rows, given, 6e-8);
  }
}

TEST(SharedLams, AMillionRowsLoseNothing) {
  constexpr std::int64_t kRows = 1 << 20;
  // Each row is a tie of two samples whose border has the gradient 1/2.
  std::vector<float> x(2 * kRows), y(2 * kRows), grad_y(2 * kRows);
  for (std::size_t i = 0; i < x.size(); i += 2) x[i + 1] = grad_y[i] = 1;
  std::vector<std::uint32_t> partition(kRows);
  const Shape shape = {kRows, 2};
  ASSERT_TRUE(
      prox_tv1d({.x = view(x.data(), shape), .lam = 0.25}, view(y.data(), shape), partition).ok());
  float sum = 0;
  ASSERT_TRUE(prox_tv1d_backward({.partition = partition}, view(grad_y.data(), shape),
                                 {.lam = view(&sum, {1})})
                  .ok());
  EXPECT_EQ(sum, float{kRows});
}

TEST(SharedLams, OfNoRowsAreZero) {
  std::vector<double> lam(3, 99);
  const ConstView none = view(static_cast<const double*>(nullptr), {0, 3, 5});
  EXPECT_TRUE(
      prox_tv1d_backward({.partition = {}}, none, {.lam = view(lam.data(), {1, 3, 1})}).ok());
  EXPECT_EQ(lam, std::vector<double>(3, 0));
  lam.assign(3, 99);
  const ConstView empty = view(static_cast<const double*>(nullptr), {4, 3, 0});
  EXPECT_TRUE(
      prox_tv1d_backward({.partition = {}}, empty, {.lam = view(lam.data(), {1, 3, 1})}).ok());
  EXPECT_EQ(lam, std::vector<double>(3, 0));
  lam.assign(3, 99);
  EXPECT_TRUE(prox_tv1d_backward({.partition = {}}, none,
                                 {.lam = view(lam.data(), Shape{0, 3, 1}, Shape{0, 1, 1})})
                  .ok());
  EXPECT_EQ(lam, std::vector<double>(3, 99)) << "an empty gradient has nothing to write to";
}

TEST(SharedLams, UseTheCallersWorkspace) {
  Random random(base_seed());
  for (const Case& given : cases()) {
    for (const bool weighted : {false, true}) {
      const Rows<double> rows(random, given.batch, given.dim, weighted, Mode::smooth);
      for (const int threads : {1, 3}) {
        ThreadExecutor executor(threads);
        Context context = {.executor = &executor};
        std::size_t bytes = 0;
        ASSERT_TRUE(
            prox_tv1d_workspace(view(rows.x.data(), rows.shape), weighted, rows.dim, context, bytes)
                .ok());
        const Workspace workspace(bytes);
        for (const Shape& lam : given.lams) {
          const std::vector<double> shared = rows.backward<double>(lam);
          workspace.put_into(context);
          EXPECT_EQ(rows.backward<double>(lam, context), shared) << text_of(lam);
          context.workspace = nullptr;
        }
      }
    }
  }
}

TEST(SharedLams, ByEdgeAreAnErrorThatNamesTheSize) {
  Random random(base_seed());
  const Rows<double> rows(random, {3, 4, 8}, 2, false, Mode::smooth);
  std::vector<double> lam(28, 99);
  const Status status =
      prox_tv1d_backward({.partition = rows.partition}, view(rows.grad_y.data(), rows.shape),
                         {.lam = view(lam.data(), {1, 4, 7})});
  EXPECT_EQ(status.code, StatusCode::invalid_argument);
  EXPECT_STREQ(status.argument, "gradients.lam");
  EXPECT_EQ(status.given, 7);
  EXPECT_EQ(lam, std::vector<double>(28, 99));
}

TEST(SharedLams, OfAWrongSizeAreAnError) {
  Random random(base_seed());
  const Rows<double> rows(random, {3, 4, 8}, 2, false, Mode::smooth);
  std::vector<double> lam(30);
  const auto differentiate = [&](const Shape& shape, const Shape& strides) {
    return prox_tv1d_backward({.partition = rows.partition}, view(rows.grad_y.data(), rows.shape),
                              {.lam = view(lam.data(), shape, strides)});
  };
  EXPECT_STREQ(differentiate({1, 5, 1}, {5, 1, 1}).argument, "gradients.lam");
  EXPECT_STREQ(differentiate({1, 1, 4, 1}, {4, 4, 1, 1}).argument, "gradients.lam");
  EXPECT_STREQ(differentiate({3, 4, 1}, {0, 1, 1}).expected,
               "must not have two elements at the same address")
      << "size 1 says that rows share an element, not stride 0";
}

/// Images of T with lams that lines share, and an incoming gradient.
template <class T>
struct ImagesCall {
  ImagesCall(Random& random, Shape batch, Derivative2d how, Mode sharp_or_smooth)
      : shape(std::move(batch)), derivative(how), mode(sharp_or_smooth) {
    const std::vector<double> values = noise(random, count_of(shape));
    const std::vector<double> incoming = noise(random, count_of(shape));
    x.assign(values.begin(), values.end());
    grad_y.assign(incoming.begin(), incoming.end());
    y.resize(x.size());
    const Problem2d problem = {
        .x = view(x.data(), shape), .lam_rows = 0.3, .lam_cols = 0.2, .mode = mode};
    const int saved = derivative == Derivative2d::implicit ? 1 : kIterations;
    partitions.resize(static_cast<std::size_t>(saved_words2d(problem.x, saved)));
    const Status status = prox_tv2d(problem, {.iterations = kIterations, .derivative = derivative},
                                    {.y = view(y.data(), shape), .partitions = partitions});
    EXPECT_TRUE(status.ok()) << status.argument << ": " << status.expected;
  }

  template <class G>
  [[nodiscard]] std::pair<std::vector<G>, std::vector<G>> backward(
      const Shape& rows, const Shape& cols, const Context& context = {}) const {
    std::vector<G> lam_rows(static_cast<std::size_t>(count_of(rows)), G(99));
    std::vector<G> lam_cols(static_cast<std::size_t>(count_of(cols)), G(99));
    std::vector<T> grad_x(x.size());
    const Status status = prox_tv2d_backward({.partitions = partitions,
                                              .iterations = kIterations,
                                              .derivative = derivative,
                                              .mode = mode},
                                             view(grad_y.data(), shape),
                                             {.x = view(grad_x.data(), shape),
                                              .lam_rows = view(lam_rows.data(), rows),
                                              .lam_cols = view(lam_cols.data(), cols)},
                                             context);
    EXPECT_TRUE(status.ok()) << status.argument << ": " << status.expected;
    return {lam_rows, lam_cols};
  }

  static constexpr int kIterations = 3;
  Shape shape;
  Derivative2d derivative;
  Mode mode;
  std::vector<T> x, y, grad_y;
  std::vector<std::uint32_t> partitions;
};

/// Shapes of both lams, for a batch of 3 x 4 images of 6 x 9.
const std::vector<std::pair<Shape, Shape>>& image_lams() {
  static const std::vector<std::pair<Shape, Shape>> lams = {
      {{1, 4, 1, 1}, {1, 4, 1, 1}}, {{}, {}},
      {{3, 1, 1, 1}, {1, 4, 1, 9}}, {{1, 1, 6, 1}, {3, 4, 1, 1}},
      {{3, 4, 6, 1}, {1, 1, 1, 1}}, {{3, 4, 6, 8}, {4, 1, 1}},
  };
  return lams;
}

template <class T, class G>
void expect_image_sums(Random& random, double tolerance) {
  const Shape batch = {3, 4, 6, 9};
  for (const Derivative2d derivative : {Derivative2d::unrolled, Derivative2d::implicit}) {
    for (const Mode mode : {Mode::smooth, Mode::sharp}) {
      const ImagesCall<T> call(random, batch, derivative, mode);
      const Shape each_row = {3, 4, 6, 1};
      const Shape each_column = {3, 4, 1, 9};
      const auto [row_terms, column_terms] = call.template backward<T>(each_row, each_column);
      for (const auto& [rows, cols] : image_lams()) {
        SCOPED_TRACE(text_of(rows) + " and " + text_of(cols));
        const auto shared = call.template backward<G>(rows, cols);
        const auto expect_near = [&](const std::vector<G>& sums, const std::vector<T>& terms,
                                     const Shape& from, const Shape& to) {
          if (to.size() == 4 && to[3] == 8) return;  // by edge
          const std::vector<double> all(terms.begin(), terms.end());
          const std::vector<double> expected = sum_to(all, from, to);
          const std::vector<double> sizes = sum_to(all, from, to, true);
          for (std::size_t i = 0; i < expected.size(); ++i) {
            EXPECT_NEAR(static_cast<double>(sums[i]), expected[i], tolerance * sizes[i]) << i;
          }
        };
        expect_near(shared.first, row_terms, each_row, rows);
        expect_near(shared.second, column_terms, each_column, cols);
        for (const int threads : {2, 3, 16}) {
          ThreadExecutor executor(threads);
          EXPECT_EQ(call.template backward<G>(rows, cols, {.executor = &executor}), shared)
              << threads;
        }
      }
    }
  }
}

TEST(SharedLams, OfImagesAreTheSumsOverLines) {
  Random random(base_seed());
  expect_image_sums<double, double>(random, 1e-14);
  expect_image_sums<float, float>(random, 2e-7);
}

TEST(SharedLams, OfImagesUseTheCallersWorkspace) {
  Random random(base_seed());
  for (const Derivative2d derivative : {Derivative2d::unrolled, Derivative2d::implicit}) {
    const ImagesCall<double> call(random, {3, 4, 6, 9}, derivative, Mode::smooth);
    for (const auto& [rows, cols] : image_lams()) {
      ThreadExecutor executor(2);
      Context context = {.executor = &executor};
      std::size_t bytes = 0;
      ASSERT_TRUE(prox_tv2d_workspace({.x = view(call.x.data(), call.shape)}, context, bytes).ok());
      const Workspace workspace(bytes);
      workspace.put_into(context);
      EXPECT_EQ(call.backward<double>(rows, cols, context), call.backward<double>(rows, cols));
      context.workspace_size = 64;
      std::vector<double> lam(4);
      const Status status = prox_tv2d_backward({.partitions = call.partitions,
                                                .iterations = ImagesCall<double>::kIterations,
                                                .derivative = derivative},
                                               view(call.grad_y.data(), call.shape),
                                               {.lam_rows = view(lam.data(), {4, 1, 1})}, context);
      EXPECT_STREQ(status.argument, "workspace_size");
      EXPECT_EQ(status.given, 64);
    }
  }
}

TEST(SharedLams, OfNoImagesAreZero) {
  std::vector<double> rows(3, 99);
  std::vector<double> cols(1, 99);
  for (const Shape& shape : {Shape{0, 3, 4, 5}, Shape{2, 3, 4, 0}, Shape{2, 3, 0, 5}}) {
    rows.assign(3, 99);
    cols.assign(1, 99);
    const ConstView none = view(static_cast<const double*>(nullptr), shape);
    std::vector<std::uint32_t> partitions(static_cast<std::size_t>(saved_words2d(none, 4)));
    const Status status = prox_tv2d_backward(
        {.partitions = partitions}, none,
        {.lam_rows = view(rows.data(), {1, 3, 1, 1}), .lam_cols = view(cols.data(), {})});
    ASSERT_TRUE(status.ok()) << status.argument << ": " << status.expected;
    EXPECT_EQ(rows, std::vector<double>(3, 0)) << text_of(shape);
    EXPECT_EQ(cols, std::vector<double>(1, 0)) << text_of(shape);
  }
}

}  // namespace
}  // namespace tautstring::testing
