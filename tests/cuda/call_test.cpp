// Calls on the caller's device memory, streams and workspaces, and how their results agree with the
// CPU's.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>

#include "device_array.h"
#include "stream.h"
#include "support/rows.h"
#include "support/solve.h"
#include "tautstring/error.h"
#include "workspace.h"

namespace tautstring::testing {
namespace {

using CudaCalls = OnGpu;

std::vector<float> noise(std::uint64_t seed, std::int64_t size) {
  Random random(base_seed() + seed);
  std::vector<float> values(static_cast<std::size_t>(size));
  for (float& value : values) value = std::normal_distribution<float>()(random);
  return values;
}

/// The results of a forward and a backward call.
struct Results {
  std::vector<float> y, grad_x, grad_lam;
  std::vector<std::uint32_t> partition;
  bool operator==(const Results&) const = default;
};

/// A batch in device memory and the calls on it, with or without data weights.
struct Batch {
  Batch(std::uint64_t seed, std::int64_t row_count, std::int64_t length, bool has_weight)
      : rows(row_count),
        n(length),
        weighted(has_weight),
        x(noise(seed, rows * n)),
        weight(std::vector<float>(static_cast<std::size_t>(rows * n), 0.5F)),
        y(x.size()),
        grad_x(x.size()),
        grad_lam(static_cast<std::size_t>(rows)),
        partition(static_cast<std::size_t>(rows * partition_words(n))),
        workspace(rows, n, weighted) {
    clear();
  }

  void enqueue(cudaStream_t stream) {
    const Context context = workspace.context(stream);
    const ConstView weights = weighted ? shaped(weight) : ConstView{};
    check(prox_tv1d({.x = shaped(x), .lam = 0.7, .weight = weights}, shaped(y), words(), context));
    Solved1d solved = {.partition = words()};
    if (weighted) {
      solved.x = shaped(x);
      solved.y = shaped(y);
      solved.weight = weights;
    }
    check(prox_tv1d_backward(solved, shaped(x),
                             {.x = shaped(grad_x), .lam = view(grad_lam.data(), {rows, 1})},
                             context));
  }

  void clear() {
    y.upload(std::vector<float>(y.size(), -7));
    grad_x.upload(std::vector<float>(y.size(), -7));
    grad_lam.upload(std::vector<float>(grad_lam.size(), -7));
    partition.upload(std::vector<std::uint32_t>(partition.size(), 0xABCD));
  }

  [[nodiscard]] Results results() {
    return {y.download(), grad_x.download(), grad_lam.download(), partition.download()};
  }
  [[nodiscard]] View shaped(DeviceArray<float>& array) const {
    return view(array.data(), {rows, n});
  }
  [[nodiscard]] std::span<std::uint32_t> words() { return {partition.data(), partition.size()}; }

  std::int64_t rows;
  std::int64_t n;
  bool weighted;
  DeviceArray<float> x, weight, y, grad_x, grad_lam;
  DeviceArray<std::uint32_t> partition;
  Workspace workspace;
};

TEST_F(CudaCalls, CapturedInAGraphGiveTheSameBitsInEveryReplay) {
  for (const bool weighted : {false, true}) {
    for (const std::int64_t n : {32, 300, 5000}) {
      Stream stream;
      Batch batch(1, 64, n, weighted);
      batch.enqueue(stream.get());
      stream.wait();
      const Results expected = batch.results();

      const CapturedCalls captured(stream, [&](cudaStream_t on) { batch.enqueue(on); });
      for (int i = 0; i < 3; ++i) {
        batch.clear();
        captured.replay();
        EXPECT_TRUE(batch.results() == expected) << "n=" << n << " weighted=" << weighted;
      }
      // A replay reads the data that is there at that time.
      batch.x.upload(noise(2, 64 * n));
      captured.replay();
      EXPECT_FALSE(batch.results() == expected);
    }
  }
}

TEST_F(CudaCalls, OnTwoStreamsAtOnceDoNotDisturbOneAnother) {
  Stream first, second;
  Batch a(3, 500, 200, true), b(4, 300, 700, false);
  a.enqueue(first.get());
  first.wait();
  b.enqueue(first.get());
  first.wait();
  const Results expected_a = a.results();
  const Results expected_b = b.results();
  for (int trial = 0; trial < 10; ++trial) {
    a.clear();
    b.clear();
    for (int i = 0; i < 3; ++i) {
      a.enqueue(first.get());
      b.enqueue(second.get());
    }
    first.wait();
    second.wait();
    EXPECT_TRUE(a.results() == expected_a);
    EXPECT_TRUE(b.results() == expected_b);
  }
}

TEST_F(CudaCalls, RunOnTheCurrentDeviceAndLeaveItCurrent) {
  if (device_count() < 2) GTEST_SKIP() << "one GPU only";
  const auto run_on = [](int device) {
    EXPECT_EQ(cudaSetDevice(device), cudaSuccess);
    Stream stream;
    Batch batch(5, 100, 100, true);
    batch.enqueue(stream.get());
    stream.wait();
    int current = -1;
    EXPECT_EQ(cudaGetDevice(&current), cudaSuccess);
    EXPECT_EQ(current, device);
    return batch.results();
  };
  const Results on_second = run_on(1);
  EXPECT_TRUE(run_on(0) == on_second);
}

TEST_F(CudaCalls, ReachBeyondFourGigabytes) {
  constexpr std::int64_t kApart = (std::int64_t{1} << 31) + 17;
  float* x = nullptr;
  if (cudaMalloc(reinterpret_cast<void**>(&x), 4 * kApart * sizeof(float)) != cudaSuccess) {
    cudaGetLastError();  // otherwise the next launch would report it
    GTEST_SKIP() << "less than 34 GB of device memory free";
  }
  for (std::int64_t r = 0; r < 4; ++r) {
    const float row[2] = {static_cast<float>(r), static_cast<float>(r + 4)};
    ASSERT_EQ(cudaMemcpy(x + r * kApart, row, sizeof(row), cudaMemcpyHostToDevice), cudaSuccess);
  }
  const View rows = view(x, {4, 2}, {kApart, 1});
  Workspace workspace(4, 2, false);
  check(prox_tv1d({.x = rows, .lam = 1.0}, rows, {}, workspace.context()));
  for (std::int64_t r = 0; r < 4; ++r) {
    float row[2];
    ASSERT_EQ(cudaMemcpy(row, x + r * kApart, sizeof(row), cudaMemcpyDeviceToHost), cudaSuccess);
    EXPECT_EQ(row[0], static_cast<float>(r + 1));
    EXPECT_EQ(row[1], static_cast<float>(r + 3));
  }
  cudaFree(x);
}

TEST_F(CudaCalls, TakeMoreRowsThanFitIn31Bits) {
  constexpr std::int64_t kMany = (std::int64_t{1} << 31) + 1000;
  constexpr std::uint16_t kOne = 0x3C00;  // of float16
  std::uint16_t* x = nullptr;
  if (cudaMalloc(reinterpret_cast<void**>(&x), 2 * kMany * sizeof(*x)) != cudaSuccess) {
    cudaGetLastError();  // otherwise the next launch would report it
    GTEST_SKIP() << "less than 9 GB of device memory free";
  }
  std::uint16_t* y = x + kMany;
  ASSERT_EQ(cudaMemset(x, 0, 2 * kMany * sizeof(*x)), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(x + kMany - 1, &kOne, sizeof(kOne), cudaMemcpyHostToDevice), cudaSuccess);
  const auto rows = [](std::uint16_t* data) {
    return view(static_cast<void*>(data), DType::float16, {kMany, 1});
  };
  Workspace workspace(kMany, 1, false);
  check(prox_tv1d({.x = rows(x), .lam = 1.0}, rows(y), {}, workspace.context()));
  std::uint16_t last = 0;
  ASSERT_EQ(cudaMemcpy(&last, y + kMany - 1, sizeof(last), cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(last, kOne);
  cudaFree(x);
}

/// The row code is the same on both devices: it serves data weights on the CPU too, and everything
/// that the vector code does not support.
struct WeightedCalls {
  static constexpr std::int64_t kRows = 400;
  static constexpr std::int64_t kLength = 193;
  static constexpr std::int64_t kSize = kRows * kLength;
  static constexpr std::size_t kResults = 4 * kSize + kRows * (kLength - 1) + 3 * kRows;

  WeightedCalls() : x(kSize), weight(kSize), lam(kRows * (kLength - 1)) {
    Random random(base_seed());
    for (std::int64_t r = 0; r < kRows; ++r) {
      const Family& family = families()[static_cast<std::size_t>(r) % families().size()];
      const std::vector<double> row = family.make(random, kLength);
      std::copy(row.begin(), row.end(), x.begin() + r * kLength);
    }
    for (double& value : weight) value = 0.3 * static_cast<double>(random() % 5);
    for (double& value : lam) {
      value = random() % 50 == 0 ? 0 : 0.2 * static_cast<double>(random() % 20);
    }
  }

  /// Every call on arrays in one kind of memory; all results in one array.
  static void run(const double* x, const double* weight, const double* lam, double* results,
                  std::span<std::uint32_t> partition, const Context& context) {
    const auto take = [&](std::int64_t n) {
      const View taken = view(results, {kRows, n});
      results += kRows * n;
      return taken;
    };
    const Problem1d problem = {.x = view(x, {kRows, kLength}),
                               .lam = view(lam, {kRows, kLength - 1}),
                               .weight = view(weight, {kRows, kLength})};
    const View y = take(kLength);
    check(prox_tv1d(problem, y, partition, context));
    const Solved1d solved = {
        .partition = partition, .x = problem.x, .y = y, .weight = problem.weight};
    check(prox_tv1d_backward(
        solved, problem.x, {.x = take(kLength), .lam = take(kLength - 1), .weight = take(kLength)},
        context));
    check(prox_tv1d_jvp(solved,
                        {.x = problem.weight, .lam = problem.lam.array, .weight = problem.x},
                        take(kLength), context));
    check(certificate1d(problem, y, take(1), context));
    check(lam_max(problem.x, take(1), problem.weight, -1, context));
    check(tv(problem.x, take(1), -1, context));
  }

  std::vector<double> x, weight, lam;
};

TEST_F(CudaCalls, WithDataWeightsGiveTheCpusBits) {
  const WeightedCalls calls;
  std::vector<double> expected(WeightedCalls::kResults);
  std::vector<std::uint32_t> expected_partition(
      static_cast<std::size_t>(WeightedCalls::kRows * partition_words(WeightedCalls::kLength)));
  WeightedCalls::run(calls.x.data(), calls.weight.data(), calls.lam.data(), expected.data(),
                     expected_partition, {});

  DeviceArray<double> x(calls.x), weight(calls.weight), lam(calls.lam), results(expected.size());
  DeviceArray<std::uint32_t> partition(expected_partition.size());
  Workspace workspace(WeightedCalls::kRows, WeightedCalls::kLength, true);
  WeightedCalls::run(x.data(), weight.data(), lam.data(), results.data(),
                     {partition.data(), partition.size()}, workspace.context());
  EXPECT_EQ(partition.download(), expected_partition);
  EXPECT_EQ(results.download(), expected);
}

/// Rows whose partitions differ between the CPU and the GPU.
std::int64_t differing_rows(DType dtype, const std::vector<double>& values, std::int64_t rows,
                            std::int64_t n, double lam) {
  const Array x(dtype, values);
  Array y(dtype, values.size());
  const auto words = partition_words(n);
  std::vector<std::uint32_t> expected(static_cast<std::size_t>(rows * words));
  const auto shaped = [&](const void* data) { return view(data, dtype, {rows, n}); };
  check(prox_tv1d({.x = shaped(x.bytes().data()), .lam = lam}, y.view({rows, n}), expected));

  DeviceArray<std::byte> on_device(x.bytes());
  DeviceArray<std::byte> result(x.bytes().size());
  DeviceArray<std::uint32_t> partition(expected.size());
  Workspace workspace(rows, n, false);
  check(prox_tv1d({.x = shaped(on_device.data()), .lam = lam},
                  view(static_cast<void*>(result.data()), dtype, {rows, n}),
                  {partition.data(), partition.size()}, workspace.context()));
  const std::vector<std::uint32_t> found = partition.download();
  std::int64_t different = 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    const auto at = r * words;
    different +=
        std::equal(found.begin() + at, found.begin() + at + words, expected.begin() + at) ? 0 : 1;
  }
  return different;
}

TEST_F(CudaCalls, FindTheCpusPartitionOnSmallIntegers) {
  Random random(base_seed());
  for (const DType dtype : {DType::float64, DType::float32, DType::float16, DType::bfloat16}) {
    for (const std::int64_t n : {1, 2, 17, 128, 1000}) {
      std::vector<double> x(static_cast<std::size_t>(500 * n));
      for (double& value : x) value = static_cast<double>(random() % 9);
      for (const double lam : {0.0, 0.25, 1.0, 2.75, 40.0}) {
        EXPECT_EQ(differing_rows(dtype, x, 500, n, lam), 0)
            << dtype_name(dtype) << " n=" << n << " lam=" << lam;
      }
    }
  }
}

TEST_F(CudaCalls, FindTheCpusPartitionOnNoiseInAllButAFewRows) {
  constexpr double kMostOfAll = 1e-3;
  Random random(base_seed());
  for (const DType dtype : {DType::float64, DType::float32}) {
    std::int64_t different = 0;
    std::int64_t all = 0;
    for (const std::int64_t n : {32, 200, 1000}) {
      constexpr std::int64_t kRows = 2000;
      std::vector<double> x(static_cast<std::size_t>(kRows * n));
      for (double& value : x) value = std::normal_distribution<double>()(random);
      for (const double lam : {0.05, 1.0, 10.0}) {
        different += differing_rows(dtype, x, kRows, n, lam);
        all += kRows;
      }
    }
    RecordProperty("rows_that_differ_" + dtype_name(dtype), std::to_string(different));
    EXPECT_LT(static_cast<double>(different), kMostOfAll * static_cast<double>(all))
        << dtype_name(dtype);
  }
}

/// A call that is refused before the device is used: needs no GPU.
struct RefusedCall {
  alignas(64) std::byte memory[4096] = {};
  std::vector<float> x = std::vector<float>(6), y = std::vector<float>(6, -7);
  std::vector<float> weight = std::vector<float>(6, 1);
  Context context = {.device = Device::cuda, .workspace = memory, .workspace_size = sizeof(memory)};

  Status run(double lam = 1.0) {
    return prox_tv1d(
        {.x = view(x.data(), {2, 3}), .lam = lam, .weight = view(weight.data(), {2, 3})},
        view(y.data(), {2, 3}), {}, context);
  }
};

TEST(CudaArguments, AWorkspaceMustBeGiven) {
  RefusedCall call;
  call.context.workspace = nullptr;
  EXPECT_STREQ(call.run().argument, "workspace");
}

TEST(CudaArguments, AWorkspaceMustBeLargeEnough) {
  RefusedCall call;
  call.context.workspace_size = 8;
  const Status status = call.run();
  EXPECT_STREQ(status.argument, "workspace_size");
  EXPECT_EQ(status.given, 8);
}

TEST(CudaArguments, AWorkspaceMustBeAligned) {
  RefusedCall call;
  call.context.workspace = call.memory + 8;
  call.context.workspace_size = 4088;
  EXPECT_STREQ(call.run().argument, "workspace");
}

TEST(CudaArguments, ALamThatIsABadNumberIsAnError) {
  RefusedCall call;
  EXPECT_STREQ(call.run(-1).argument, "lam");
}

TEST(CudaArguments, AWorkspaceForWeightsServesCallsWithoutThem) {
  const float nothing = 0;
  const Context cuda = {.device = Device::cuda};
  for (std::int64_t n = 1; n < std::int64_t{1} << 31; n = n * 5 / 3 + 1) {
    for (const std::int64_t rows : {1, 7, 1000, 1 << 30}) {
      std::size_t with = 0;
      std::size_t without = 0;
      const ConstView shape = view(&nothing, {rows, n}, {0, 0});
      check(prox_tv1d_workspace(shape, true, -1, cuda, with));
      check(prox_tv1d_workspace(shape, false, -1, cuda, without));
      EXPECT_GE(with, without) << rows << " x " << n;
    }
  }
}

TEST(CudaArguments, AnEmptyBatchNeedsNoWorkspace) {
  const View none = view(static_cast<float*>(nullptr), {0, 5});
  EXPECT_TRUE(prox_tv1d({.x = none, .lam = 1.0}, none, {}, {.device = Device::cuda}).ok());
}

TEST(CudaArguments, WithoutAGpuTheRuntimesErrorIsTheStatus) {
  if (device_count() > 0) GTEST_SKIP() << "there is a GPU";
  RefusedCall call;
  const Status status = call.run();
  EXPECT_EQ(status.code, StatusCode::device_error) << message(status);
  EXPECT_NE(status.device_error, 0);
  EXPECT_EQ(message(status).find("CUDA error "), 0U) << message(status);
}

}  // namespace
}  // namespace tautstring::testing
