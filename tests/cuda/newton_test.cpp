// Newton on the caller's device memory and streams.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "device_array.h"
#include "stream.h"
#include "support/rows.h"
#include "tautstring/error.h"
#include "tautstring/tautstring.h"

namespace tautstring::testing {
namespace {

using CudaNewton = OnGpu;

/// Contiguous rows of every family.
std::vector<double> make_rows(std::int64_t count, std::int64_t n, std::uint64_t seed) {
  Random random(base_seed() + seed);
  std::vector<double> x;
  for (std::int64_t r = 0; r < count; ++r) {
    const Family& family = families()[static_cast<std::size_t>(r) % families().size()];
    const std::vector<double> row = family.make(random, static_cast<int>(n));
    x.insert(x.end(), row.begin(), row.end());
  }
  return x;
}

/// All results of a call.
struct Results {
  std::vector<double> y, dual, gap;
  std::vector<std::uint32_t> partition;
  std::vector<std::int32_t> iterations;
  std::vector<std::uint8_t> converged;
  bool operator==(const Results&) const = default;
};

/// Rows in device memory and the call on them.
class Batch {
 public:
  Batch(const std::vector<double>& rows, std::int64_t n)
      : n_(n),
        rows_(static_cast<std::int64_t>(rows.size()) / n),
        x_(rows),
        y_(rows.size()),
        dual_(static_cast<std::size_t>(rows_ * (n - 1))),
        gap_(static_cast<std::size_t>(rows_)),
        partition_(static_cast<std::size_t>(rows_ * partition_words(n))),
        iterations_(gap_.size()),
        converged_(gap_.size()),
        workspace_(workspace_bytes()) {}

  void enqueue(cudaStream_t stream) {
    check(prox_tv1d_newton({.x = view(x_.data(), {rows_, n_}), .lam = 0.7}, {},
                           {.y = view(y_.data(), {rows_, n_}),
                            .partition = {partition_.data(), partition_.size()},
                            .dual = view(dual_.data(), {rows_, n_ - 1}),
                            .gap = {gap_.data(), gap_.size()},
                            .iterations = {iterations_.data(), iterations_.size()},
                            .converged = {converged_.data(), converged_.size()}},
                           {.device = Device::cuda,
                            .stream = stream,
                            .workspace = workspace_.data(),
                            .workspace_size = workspace_.size()}));
  }
  void upload(const std::vector<double>& rows) { x_.upload(rows); }
  void clear() {
    y_.upload(std::vector<double>(y_.size(), -7));
    dual_.upload(std::vector<double>(dual_.size(), -7));
    gap_.upload(std::vector<double>(gap_.size(), -7));
    partition_.upload(std::vector<std::uint32_t>(partition_.size(), 0xABCD));
    iterations_.upload(std::vector<std::int32_t>(iterations_.size(), -7));
    converged_.upload(std::vector<std::uint8_t>(converged_.size(), 77));
  }
  [[nodiscard]] Results results() {
    return {y_.download(),         dual_.download(),       gap_.download(),
            partition_.download(), iterations_.download(), converged_.download()};
  }

 private:
  [[nodiscard]] std::size_t workspace_bytes() {
    std::size_t bytes = 0;
    check(prox_tv1d_newton_workspace(view(y_.data(), {rows_, n_}), -1, {.device = Device::cuda},
                                     bytes));
    return bytes;
  }

  std::int64_t n_;
  std::int64_t rows_;
  DeviceArray<double> x_, y_, dual_, gap_;
  DeviceArray<std::uint32_t> partition_;
  DeviceArray<std::int32_t> iterations_;
  DeviceArray<std::uint8_t> converged_;
  DeviceArray<std::byte> workspace_;
};

/// One launch for the rows of a batch and one for those that it leaves: no call waits to learn how
/// many these are.
TEST_F(CudaNewton, CapturedInAGraphGivesTheSameBitsByTwoLaunches) {
  constexpr std::int64_t kRows = 64;
  for (const std::int64_t n : {32, 60, 300, 1500, 5000}) {
    SCOPED_TRACE(n);
    const Stream stream;
    Batch batch(make_rows(kRows, n, 1), n);
    batch.enqueue(stream.get());
    stream.wait();
    const Results expected = batch.results();
    const CapturedCalls captured(stream, [&](cudaStream_t on) { batch.enqueue(on); });
    EXPECT_EQ(captured.launches(), n <= 4096 ? 2 : 1);
    for (int i = 0; i < 3; ++i) {
      batch.clear();
      captured.replay();
      EXPECT_TRUE(batch.results() == expected);
    }
    // A replay reads the data that is there at that time.
    batch.upload(make_rows(kRows, n, 2));
    captured.replay();
    EXPECT_FALSE(batch.results() == expected);
  }
}

TEST_F(CudaNewton, ARowsBitsDoNotDependOnItsBatch) {
  constexpr std::int64_t kRows = 2000;
  for (const std::int64_t n : {1, 2, 31, 64, 100, 224, 500, 1000, 2000}) {
    SCOPED_TRACE(n);
    const Stream stream;
    const std::vector<double> x = make_rows(kRows, n, 3);
    Batch batch(x, n);
    batch.enqueue(stream.get());
    stream.wait();
    const Results all = batch.results();
    for (std::int64_t r = 0; r < kRows; r += 37) {
      Batch alone({x.begin() + r * n, x.begin() + (r + 1) * n}, n);
      alone.enqueue(stream.get());
      stream.wait();
      const Results own = alone.results();
      const auto row = static_cast<std::size_t>(r);
      EXPECT_TRUE(std::equal(own.y.begin(), own.y.end(), all.y.begin() + r * n)) << "row " << r;
      EXPECT_TRUE(std::equal(own.partition.begin(), own.partition.end(),
                             all.partition.begin() + r * partition_words(n)))
          << "row " << r;
      EXPECT_EQ(own.iterations[0], all.iterations[row]) << "row " << r;
      EXPECT_EQ(own.gap[0], all.gap[row]) << "row " << r;
    }
  }
}

}  // namespace
}  // namespace tautstring::testing
