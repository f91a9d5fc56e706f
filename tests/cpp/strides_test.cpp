// Rows, columns, slices, channels, reversed and broadcast arrays without a copy.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include "support/solve.h"

namespace tautstring::testing {
namespace {

std::vector<double> noise(std::size_t size) {
  Random random(base_seed());
  return families()[0].make(random, static_cast<int>(size));
}

std::vector<double> solve_alone(const std::vector<double>& x, double lam = 0.6) {
  return Solution(Row{"", x, {lam}, {}}).y;
}

TEST(Strides, ColumnsEqualRowsOfTheTranspose) {
  constexpr std::int64_t height = 13;
  constexpr std::int64_t width = 21;
  const std::vector<double> x = noise(height * width);
  std::vector<double> y(x.size());
  ASSERT_TRUE(prox_tv1d({.x = view(x.data(), {height, width}), .lam = 0.6, .dim = 0},
                        view(y.data(), {height, width}))
                  .ok());
  for (std::int64_t c = 0; c < width; ++c) {
    std::vector<double> column, solved;
    for (std::int64_t r = 0; r < height; ++r) {
      column.push_back(x[static_cast<std::size_t>(r * width + c)]);
      solved.push_back(y[static_cast<std::size_t>(r * width + c)]);
    }
    ASSERT_EQ(solved, solve_alone(column));
  }
}

TEST(Strides, InterleavedChannelsAreSolvedOneByOne) {
  constexpr std::int64_t n = 17;
  const std::vector<double> x = noise(2 * n * 3);
  std::vector<double> y(x.size());
  // Two rows of n pixels with 3 channels: batch (row, channel), along the row.
  ASSERT_TRUE(prox_tv1d({.x = view(x.data(), {2, 3, n}, {3 * n, 1, 3}), .lam = 0.6},
                        view(y.data(), {2, 3, n}, {3 * n, 1, 3}))
                  .ok());
  for (std::int64_t r = 0; r < 2; ++r) {
    for (std::int64_t c = 0; c < 3; ++c) {
      std::vector<double> channel, solved;
      for (std::int64_t i = 0; i < n; ++i) {
        channel.push_back(x[static_cast<std::size_t>(r * 3 * n + i * 3 + c)]);
        solved.push_back(y[static_cast<std::size_t>(r * 3 * n + i * 3 + c)]);
      }
      ASSERT_EQ(solved, solve_alone(channel));
    }
  }
}

/// Expects channels-last rows of n samples to have the bits and the partition of contiguous ones.
void expect_bits_of_contiguous_rows(std::int64_t n, DType dtype, Mode mode, Executor* executor) {
  constexpr std::int64_t batch = 4, channels = 37, height = 3;
  const std::vector<std::int64_t> shape = {batch, channels, height, n};
  const std::vector<std::int64_t> dense = {channels * height * n, height * n, n, 1};
  const std::vector<std::int64_t> strides = {height * n * channels, 1, n * channels, channels};
  std::vector<double> values = noise(static_cast<std::size_t>(batch * channels * height * n));
  // Some rows are left to wider arithmetic, others to the careful solver.
  const auto row = [&](std::int64_t r) { return values.begin() + r * n; };
  for (std::int64_t i = 0; i < n; ++i) row(5)[i] = 1e3 + 1e-4 * row(5)[i];
  row(40)[n / 2] = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> reordered(values.size());
  const auto place = [&](std::size_t i) {  // in channels-last memory
    const auto at = static_cast<std::int64_t>(i);
    const std::int64_t channel = at / (height * n) % channels;
    return static_cast<std::size_t>(at / (channels * height * n) * strides[0] + channel +
                                    at % (height * n) * channels);
  };
  for (std::size_t i = 0; i < values.size(); ++i) reordered[place(i)] = values[i];
  std::vector<double> lams(channels);
  for (std::size_t c = 0; c < lams.size(); ++c) lams[c] = 0.1 * static_cast<double>(1 + c % 7);
  const auto words = static_cast<std::size_t>(batch * channels * height * partition_words(n));
  const auto solve = [&](Array& x, Array& y, const std::vector<std::int64_t>& steps,
                         std::vector<std::uint32_t>& partition, Executor* threads) {
    Context context;
    context.executor = threads;
    return prox_tv1d({.x = view(x.view().data, dtype, shape, steps),
                      .lam = view(lams.data(), {channels, 1, 1}),
                      .mode = mode},
                     view(y.view().data, dtype, shape, steps), partition, context);
  };
  Array x(dtype, values), y(dtype, values.size());
  Array last(dtype, reordered), y_last(dtype, values.size());
  std::vector<std::uint32_t> partition(words), partition_last(words);
  ASSERT_TRUE(solve(x, y, dense, partition, nullptr).ok());
  ASSERT_TRUE(solve(last, y_last, strides, partition_last, executor).ok());
  EXPECT_EQ(partition_last, partition);
  const std::vector<double> expected = y.values(), found = y_last.values();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_TRUE(found[place(i)] == expected[i] ||
                (std::isnan(found[place(i)]) && std::isnan(expected[i])))
        << i;
  }
}

TEST(Strides, ChannelsLastHasTheBitsOfContiguousRows) {
  ThreadExecutor threads(3);
  // Tiles of whole rows without gaps, with gaps, and of several images.
  for (const std::int64_t n : {2, 16, 21, 32, 64, 224, 256}) {
    for (const DType dtype : {DType::float16, DType::bfloat16, DType::float32, DType::float64}) {
      for (const Mode mode : {Mode::smooth, Mode::sharp}) {
        for (Executor* executor :
             {static_cast<Executor*>(nullptr), static_cast<Executor*>(&threads)}) {
          SCOPED_TRACE(std::to_string(n) + " samples of " + dtype_name(dtype) +
                       (mode == Mode::sharp ? ", sharp" : "") + (executor ? ", 3 threads" : ""));
          expect_bits_of_contiguous_rows(n, dtype, mode, executor);
        }
      }
    }
  }
}

TEST(Strides, InputAndOutputMayDiffer) {
  const std::vector<double> x = noise(24);
  std::vector<double> dense(12), y(48, -9);
  ASSERT_TRUE(
      prox_tv1d({.x = view(x.data(), {3, 4}, {8, 2}), .lam = 0.6}, view(dense.data(), {3, 4}))
          .ok());
  ASSERT_TRUE(prox_tv1d({.x = view(x.data(), {3, 4}, {8, 2}), .lam = 0.6},
                        view(y.data() + 1, {3, 4}, {16, 3}))
                  .ok());
  for (std::size_t r = 0; r < 3; ++r) {
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(y[1 + r * 16 + i * 3], dense[r * 4 + i]);
  }
  EXPECT_EQ(y[0], -9);
  EXPECT_EQ(y[2], -9);
}

TEST(Strides, NothingIsWrittenBetweenRows) {
  // All pitches up to a few vectors: one may equal that of the library's own tiles.
  constexpr std::int64_t rows = 40;
  constexpr double guard = -77;
  for (std::int64_t n = 1; n <= 40; ++n) {
    for (std::int64_t pitch = n; pitch <= n + 40; ++pitch) {
      const std::vector<double> x = noise(static_cast<std::size_t>(rows * pitch));
      std::vector<double> y(x.size(), guard);
      ASSERT_TRUE(prox_tv1d({.x = view(x.data(), {rows, n}, {pitch, 1}), .lam = 0.6},
                            view(y.data(), {rows, n}, {pitch, 1}))
                      .ok());
      for (std::int64_t i = 0; i < rows * pitch; ++i) {
        ASSERT_EQ(i % pitch >= n, y[static_cast<std::size_t>(i)] == guard) << n << " " << pitch;
      }
    }
  }
}

TEST(Strides, NegativeStridesReadARowBackwards) {
  const std::vector<double> x = noise(10);
  std::vector<double> y(10);
  ASSERT_TRUE(
      prox_tv1d({.x = view(x.data() + 9, {10}, {-1}), .lam = 0.6}, view(y.data() + 9, {10}, {-1}))
          .ok());
  const std::vector<double> reversed = solve_alone({x.rbegin(), x.rend()});
  EXPECT_EQ(y, std::vector<double>(reversed.rbegin(), reversed.rend()));
}

TEST(Strides, AnInputOfStrideZeroIsBroadcast) {
  const std::vector<double> x = noise(8);
  std::vector<double> y(24);
  ASSERT_TRUE(
      prox_tv1d({.x = view(x.data(), {3, 8}, {0, 1}), .lam = 0.6}, view(y.data(), {3, 8})).ok());
  const std::vector<double> alone = solve_alone(x);
  for (std::size_t i = 0; i < 24; ++i) EXPECT_EQ(y[i], alone[i % 8]);
}

TEST(Strides, LamBroadcastsOverTheBatch) {
  // A tensor (2, 3, 2, 5) with one lam per channel: shape (3, 1, 1).
  const std::vector<double> x = noise(60);
  const std::vector<double> lam = {0.1, 0.5, 2};
  std::vector<double> y(60);
  ASSERT_TRUE(prox_tv1d({.x = view(x.data(), {2, 3, 2, 5}), .lam = view(lam.data(), {3, 1, 1})},
                        view(y.data(), {2, 3, 2, 5}))
                  .ok());
  for (std::size_t r = 0; r < 12; ++r) {
    const std::vector<double> row(x.begin() + static_cast<std::ptrdiff_t>(5 * r),
                                  x.begin() + static_cast<std::ptrdiff_t>(5 * r + 5));
    const std::vector<double> solved(y.begin() + static_cast<std::ptrdiff_t>(5 * r),
                                     y.begin() + static_cast<std::ptrdiff_t>(5 * r + 5));
    ASSERT_EQ(solved, solve_alone(row, lam[r / 2 % 3]));
  }
}

TEST(Strides, EdgeMapsAndWeightsBroadcastOverTheBatch) {
  const std::vector<double> x = noise(15);
  const std::vector<double> lam = {0.1, 0.5, 2, 0.3}, weight = {1, 2, 0, 1, 3};
  std::vector<double> y(15);
  ASSERT_TRUE(prox_tv1d({.x = view(x.data(), {3, 5}),
                         .lam = view(lam.data(), {4}),
                         .weight = view(weight.data(), {5})},
                        view(y.data(), {3, 5}))
                  .ok());
  for (std::size_t r = 0; r < 3; ++r) {
    const std::vector<double> row(x.begin() + static_cast<std::ptrdiff_t>(5 * r),
                                  x.begin() + static_cast<std::ptrdiff_t>(5 * r + 5));
    const std::vector<double> solved(y.begin() + static_cast<std::ptrdiff_t>(5 * r),
                                     y.begin() + static_cast<std::ptrdiff_t>(5 * r + 5));
    ASSERT_EQ(solved, Solution(Row{"", row, lam, weight}).y);
  }
}

TEST(Strides, InPlaceGivesTheSameBits) {
  std::vector<double> x = noise(12 * 7);
  std::vector<double> y(x.size());
  ASSERT_TRUE(
      prox_tv1d({.x = view(x.data(), {12, 7}), .lam = 0.6, .dim = 0}, view(y.data(), {12, 7}))
          .ok());
  ASSERT_TRUE(
      prox_tv1d({.x = view(x.data(), {12, 7}), .lam = 0.6, .dim = 0}, view(x.data(), {12, 7}))
          .ok());
  EXPECT_EQ(x, y);
}

TEST(Strides, GradientsFollowThem) {
  constexpr std::int64_t height = 6;
  constexpr std::int64_t width = 9;
  const std::vector<double> x = noise(height * width), grad = noise(height * width);
  std::vector<double> y(x.size()), grad_x(x.size()), grad_lam(width), dy(x.size());
  std::vector<std::uint32_t> partition(width);
  ASSERT_TRUE(prox_tv1d({.x = view(x.data(), {height, width}), .lam = 0.6, .dim = 0},
                        view(y.data(), {height, width}), partition)
                  .ok());
  const Solved1d solved = {.partition = partition, .dim = 0};
  ASSERT_TRUE(prox_tv1d_backward(solved, view(grad.data(), {height, width}),
                                 {.x = view(grad_x.data(), {height, width}),
                                  .lam = view(grad_lam.data(), {1, width})})
                  .ok());
  ASSERT_TRUE(prox_tv1d_jvp(solved, {.x = view(grad.data(), {height, width})},
                            view(dy.data(), {height, width}))
                  .ok());
  // Without a lam tangent the map is its own adjoint.
  for (std::size_t i = 0; i < dy.size(); ++i) EXPECT_NEAR(dy[i], grad_x[i], 1e-14);
  for (std::int64_t c = 0; c < width; ++c) {
    std::vector<double> column, column_grad;
    for (std::int64_t r = 0; r < height; ++r) {
      column.push_back(x[static_cast<std::size_t>(r * width + c)]);
      column_grad.push_back(grad[static_cast<std::size_t>(r * width + c)]);
    }
    const Solution alone(Row{"", column, {0.6}, {}});
    std::vector<double> expected(column.size());
    double expected_lam = 0;
    ASSERT_TRUE(
        prox_tv1d_backward(alone.solved(), view(column_grad.data(), {height}),
                           {.x = view(expected.data(), {height}), .lam = view(&expected_lam, {1})})
            .ok());
    for (std::int64_t r = 0; r < height; ++r) {
      ASSERT_EQ(grad_x[static_cast<std::size_t>(r * width + c)],
                expected[static_cast<std::size_t>(r)]);
    }
    ASSERT_EQ(grad_lam[static_cast<std::size_t>(c)], expected_lam);
  }
}

TEST(Strides, ReachBeyondFourGigabytes) {
  // Four rows 2^31 elements apart, in memory that exists only where it is touched.
  constexpr std::int64_t kApart = (std::int64_t{1} << 31) + 17;
  const std::size_t bytes = 4 * kApart * sizeof(float);
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* x = static_cast<float*>(memory);
  for (std::int64_t r = 0; r < 4; ++r) {
    x[r * kApart] = static_cast<float>(r);
    x[r * kApart + 1] = static_cast<float>(r + 4);
  }
  const View rows = view(x, {4, 2}, {kApart, 1});
  EXPECT_TRUE(prox_tv1d({.x = rows, .lam = 1.0}, rows).ok());
  for (std::int64_t r = 0; r < 4; ++r) {
    EXPECT_EQ(x[r * kApart], static_cast<float>(r + 1));
    EXPECT_EQ(x[r * kApart + 1], static_cast<float>(r + 3));
  }
  munmap(memory, bytes);
}

/// x in more dimensions than a backend knows: 96 rows of 5, with sizes of 1 here and there.
const std::vector<std::int64_t> kManyDims = {2, 1, 3, 2, 1, 2, 1, 2, 1, 1, 2, 5};

TEST(Strides, ManyDimensionsFold) {
  const std::vector<double> x = noise(480);
  const std::vector<double> lam = {0.1, 0.5}, weight = {1, 2, 0, 1, 3};
  std::vector<double> y(x.size());
  std::vector<std::uint32_t> partition(96);
  // One lam for each place of the dimension of size 2 that is the fourth.
  ASSERT_TRUE(prox_tv1d({.x = view(x.data(), kManyDims),
                         .lam = view(lam.data(), {2, 1, 1, 1, 1, 1, 1, 1, 1}),
                         .weight = view(weight.data(), {5})},
                        view(y.data(), kManyDims), partition)
                  .ok());
  for (std::size_t r = 0; r < 96; ++r) {
    const auto first = static_cast<std::ptrdiff_t>(5 * r);
    const Solution alone(
        Row{"", {x.begin() + first, x.begin() + first + 5}, {lam[r / 8 % 2]}, weight});
    ASSERT_EQ(std::vector<double>(y.begin() + first, y.begin() + first + 5), alone.y) << r;
    ASSERT_EQ(partition[r], alone.partition[0]) << r;
  }
}

TEST(Strides, ManyDimensionsFoldOnBothSidesOfTheRows) {
  const std::vector<double> x = noise(1920);
  const std::vector<std::int64_t> shape = {2, 3, 2, 2, 5, 2, 2, 2, 2, 1};
  std::vector<double> y(x.size()), expected(x.size());
  for (const int dim : {4, -6}) {
    ASSERT_TRUE(
        prox_tv1d({.x = view(x.data(), shape), .lam = 0.6, .dim = dim}, view(y.data(), shape))
            .ok());
    ASSERT_TRUE(prox_tv1d({.x = view(x.data(), {24, 5, 16}), .lam = 0.6, .dim = 1},
                          view(expected.data(), {24, 5, 16}))
                    .ok());
    EXPECT_EQ(y, expected);
  }
}

TEST(Strides, ManyDimensionsFoldOnlyWhereAllArraysDo) {
  // x does not move along its last three batch dimensions; row r of y has every 256th element.
  const std::vector<double> x = noise(160);
  std::vector<double> y(1280), alone(160);
  const std::vector<std::int64_t> shape = {2, 2, 2, 2, 2, 1, 2, 2, 2, 5};
  ASSERT_TRUE(
      prox_tv1d({.x = view(x.data(), shape, {80, 40, 20, 10, 5, 9, 0, 0, 0, 1}), .lam = 0.6},
                view(y.data(), shape, {128, 64, 32, 16, 8, 7, 4, 2, 1, 256}))
          .ok());
  ASSERT_TRUE(
      prox_tv1d({.x = view(x.data(), {32, 5}), .lam = 0.6}, view(alone.data(), {32, 5})).ok());
  for (std::size_t r = 0; r < 256; ++r) {
    for (std::size_t i = 0; i < 5; ++i) ASSERT_EQ(y[r + 256 * i], alone[r / 8 * 5 + i]) << r;
  }
}

TEST(Strides, DerivativesOfManyDimensionsFold) {
  const std::vector<double> x = noise(480), g = noise(480);
  std::vector<double> y(480);
  std::vector<std::uint32_t> partition(96);
  ASSERT_TRUE(
      prox_tv1d({.x = view(x.data(), {96, 5}), .lam = 0.6}, view(y.data(), {96, 5}), partition)
          .ok());
  const Solved1d solved = {.partition = partition};
  std::vector<double> grad_x(480), grad_lam(96), dy(480);
  ASSERT_TRUE(
      prox_tv1d_backward(solved, view(g.data(), {96, 5}),
                         {.x = view(grad_x.data(), {96, 5}), .lam = view(grad_lam.data(), {96, 1})})
          .ok());
  // The same for one lam of each of two places, as in ManyDimensionsFold.
  const std::vector<double> shared = {1, 2};
  std::vector<double> of_rows(96);
  for (std::size_t r = 0; r < 96; ++r) of_rows[r] = shared[r / 8 % 2];
  ASSERT_TRUE(prox_tv1d_jvp(solved,
                            {.x = view(g.data(), {96, 5}), .lam = view(of_rows.data(), {96, 1})},
                            view(dy.data(), {96, 5}))
                  .ok());
  std::vector<double> many_x(480), many_lam(96), many_dy(480);
  std::vector<std::int64_t> of_lam = kManyDims;
  of_lam.back() = 1;
  ASSERT_TRUE(prox_tv1d_backward(
                  solved, view(g.data(), kManyDims),
                  {.x = view(many_x.data(), kManyDims), .lam = view(many_lam.data(), of_lam)})
                  .ok());
  ASSERT_TRUE(prox_tv1d_jvp(solved,
                            {.x = view(g.data(), kManyDims),
                             .lam = view(shared.data(), {2, 1, 1, 1, 1, 1, 1, 1, 1})},
                            view(many_dy.data(), kManyDims))
                  .ok());
  EXPECT_EQ(many_x, grad_x);
  EXPECT_EQ(many_lam, grad_lam);
  EXPECT_EQ(many_dy, dy);
}

TEST(Strides, ScalarsAndEmptyBatches) {
  double x = 3;
  double y = 0;
  ASSERT_TRUE(prox_tv1d({.x = view(&x, {}), .lam = 1.0}, view(&y, {})).ok());
  EXPECT_EQ(y, 3);
  const View no_rows = view(static_cast<double*>(nullptr), {0, 5});
  EXPECT_TRUE(prox_tv1d({.x = no_rows, .lam = 1.0}, no_rows).ok());
  const View no_samples = view(static_cast<double*>(nullptr), {5, 0});
  EXPECT_TRUE(prox_tv1d({.x = no_samples, .lam = 1.0}, no_samples).ok());
  // More rows than could ever be counted, none of which has a sample.
  const View many = view(static_cast<double*>(nullptr), {std::int64_t{1} << 60, 0});
  EXPECT_TRUE(prox_tv1d({.x = many, .lam = 1.0}, many).ok());
  EXPECT_TRUE(prox_tv1d_jvp({.partition = {}}, {.x = many}, many).ok());
  EXPECT_TRUE(prox_tv1d_backward({.partition = {}}, many, {.x = many}).ok());
}

}  // namespace
}  // namespace tautstring::testing
