// The step functions of src/step on a GPU: the same bits as on the host.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "cuda/warp/storage.cuh"
#include "device_array.h"
#include "step/direct.h"
#include "step/fast_taut_string.h"
#include "step/prefix_sums.h"
#include "step/segment.h"
#include "step/small_float.h"
#include "step/taut_string.h"
#include "support/rows.h"

namespace tautstring::testing {
namespace {

using detail::PlainSums;
using detail::UniformLam;
using detail::UnitSums;

template <class T>
using RowTube = detail::Tube<T, PlainSums<T>, UnitSums<T>, UniformLam<T>>;

/// One row: running sums, then the string, then the first segment's value.
template <class T>
constexpr void solve_row(const T* x, std::int32_t n, T lam, T* sums, std::int32_t* lower,
                         std::int32_t* upper, Code* codes, T* first_value) {
  PlainSums<T> row_sums{sums};
  row_sums.start();
  for (std::int32_t i = 0; i < n; ++i) {
    row_sums.append(i, x[i] - x[0]);
    codes[i] = i == 0 ? Code::plain : Code::continues;
  }
  const RowTube<T> tube{row_sums, {}, {lam}, n};
  detail::pull_taut_string<T>(tube, lower, upper,
                              [&](std::int32_t k, Code code) { codes[k] = code; });
  std::int32_t last = 1;
  while (last < n && codes[last] == Code::continues) ++last;
  const int right_sign = last < n ? jump_sign(codes[last]) : 0;
  const T borders = detail::border_term<T>(UniformLam<T>{lam}, -1, 0, last - 1, right_sign);
  *first_value =
      detail::segment_value(x[0], row_sums.between(0, last), borders, static_cast<T>(last));
}

/// All arrays of a batch, in one kind of memory.
template <class T>
struct Batch {
  const T* x;
  std::int32_t rows;
  std::int32_t n;
  T lam;
  T* sums;
  std::int32_t* lower;
  std::int32_t* upper;
  Code* codes;
  T* first_values;
};

template <class T>
constexpr void solve_nth_row(const Batch<T>& b, std::int32_t r) {
  const std::int64_t at = static_cast<std::int64_t>(r) * b.n;
  solve_row(b.x + at, b.n, b.lam, b.sums + at + r, b.lower + at, b.upper + at, b.codes + at,
            b.first_values + r);
}

template <class T>
__global__ void solve_rows(Batch<T> batch) {
  const auto r = static_cast<std::int32_t>(blockIdx.x * blockDim.x + threadIdx.x);
  if (r < batch.rows) solve_nth_row(batch, r);
}

using CudaStep = OnGpu;

/// Contiguous rows of every family in turn.
template <class T>
std::vector<T> rows_of_all_families(std::int32_t rows, std::int32_t n) {
  std::vector<T> x;
  Random random(base_seed());
  for (std::int32_t r = 0; r < rows; ++r) {
    const auto& family = families()[static_cast<std::size_t>(r) % families().size()];
    for (const double value : family.make(random, n)) x.push_back(static_cast<T>(value));
  }
  return x;
}

template <class T>
void expect_same_bits_on_both(double lam) {
  constexpr std::int32_t kRows = 2000;
  constexpr std::int32_t kLength = 193;
  const std::vector<T> x = rows_of_all_families<T>(kRows, kLength);
  const std::size_t size = x.size();

  std::vector<T> sums(size + kRows), first_values(kRows);
  std::vector<std::int32_t> lower(size), upper(size);
  std::vector<Code> codes(size);
  const Batch<T> host{x.data(),     kRows,        kLength,      static_cast<T>(lam), sums.data(),
                      lower.data(), upper.data(), codes.data(), first_values.data()};
  for (std::int32_t r = 0; r < kRows; ++r) solve_nth_row(host, r);

  DeviceArray<T> d_x(size), d_sums(size + kRows), d_first_values(kRows);
  DeviceArray<std::int32_t> d_lower(size), d_upper(size);
  DeviceArray<Code> d_codes(size);
  d_x.upload(x);
  solve_rows<<<(kRows + 63) / 64, 64>>>(Batch<T>{d_x.data(), kRows, kLength, static_cast<T>(lam),
                                                 d_sums.data(), d_lower.data(), d_upper.data(),
                                                 d_codes.data(), d_first_values.data()});
  ASSERT_EQ(cudaGetLastError(), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_TRUE(d_codes.download() == codes);
  EXPECT_EQ(d_first_values.download(), first_values);
}

TEST_F(CudaStep, TautStringGivesTheHostsBitsInFloat64) {
  for (const double lam : {0.05, 0.75, 10.0}) expect_same_bits_on_both<double>(lam);
}

TEST_F(CudaStep, TautStringGivesTheHostsBitsInFloat32) {
  for (const double lam : {0.05, 0.75, 10.0}) expect_same_bits_on_both<float>(lam);
}

/// The jumps of rows, by the direct method and then the string.
template <class T>
struct JumpSearch {
  const T* x;
  std::int32_t rows;
  std::int32_t n;
  T lam;
  Code* codes;
  detail::Knot* knots;        // 2 per sample
  std::int32_t* handed_over;  // per row: where the string began; -1: nowhere
};

template <class T>
constexpr void search_nth_row(const JumpSearch<T>& s, std::int32_t r) {
  const std::int64_t at = static_cast<std::int64_t>(r) * s.n;
  const T* x = s.x + at;
  Code* codes = s.codes + at;
  for (std::int32_t i = 0; i < s.n; ++i) codes[i] = Code::continues;
  const detail::HandedOver rest = detail::find_jumps_directly<detail::JobEnd::row>(
      detail::DirectJob<T>{x, nullptr, 0, s.n - 1, s.lam, T(0), T(0)}, codes);
  s.handed_over[r] = rest.sample;
  if (rest.sample < 0) return;
  const std::int32_t from = rest.sample;
  codes[from] = rest.code;
  const double u_start = -jump_sign(rest.code) * static_cast<double>(s.lam);
  detail::pull_unweighted_string(x + from, s.n - from, UniformLam<T>{s.lam}, u_start, 0.0,
                                 s.knots + 2 * at,
                                 [&](std::int32_t k, Code code) { codes[from + k] = code; });
}

template <class T>
__global__ void search_rows(JumpSearch<T> search) {
  const auto r = static_cast<std::int32_t>(blockIdx.x * blockDim.x + threadIdx.x);
  if (r < search.rows) search_nth_row(search, r);
}

template <class T>
void expect_same_jumps_on_both(double lam) {
  constexpr std::int32_t kRows = 1000;
  constexpr std::int32_t kLength = 400;
  std::vector<T> x = rows_of_all_families<T>(kRows, kLength);
  for (std::int32_t r = 0; r < kRows; r += 4) {  // ramps are the rows that are handed over
    T* row = x.data() + static_cast<std::ptrdiff_t>(r) * kLength;
    for (std::int32_t i = 0; i < kLength; ++i) row[i] = static_cast<T>(i * (r + 1)) / 64;
  }
  const std::size_t size = x.size();

  std::vector<Code> codes(size);
  std::vector<detail::Knot> knots(2 * size);
  std::vector<std::int32_t> handed_over(kRows);
  const JumpSearch<T> host{x.data(),     kRows,        kLength,           static_cast<T>(lam),
                           codes.data(), knots.data(), handed_over.data()};
  for (std::int32_t r = 0; r < kRows; ++r) search_nth_row(host, r);

  DeviceArray<T> d_x(size);
  DeviceArray<Code> d_codes(size);
  DeviceArray<detail::Knot> d_knots(2 * size);
  DeviceArray<std::int32_t> d_handed_over(kRows);
  d_x.upload(x);
  search_rows<<<(kRows + 63) / 64, 64>>>(JumpSearch<T>{d_x.data(), kRows, kLength,
                                                       static_cast<T>(lam), d_codes.data(),
                                                       d_knots.data(), d_handed_over.data()});
  ASSERT_EQ(cudaGetLastError(), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_TRUE(d_codes.download() == codes);
  EXPECT_EQ(d_handed_over.download(), handed_over);
  EXPECT_LT(std::count(handed_over.begin(), handed_over.end(), -1), kRows);
}

TEST_F(CudaStep, DirectMethodAndItsStringFindTheHostsJumpsInFloat64) {
  for (const double lam : {0.75, 10.0, 300.0}) expect_same_jumps_on_both<double>(lam);
}

TEST_F(CudaStep, DirectMethodAndItsStringFindTheHostsJumpsInFloat32) {
  for (const double lam : {0.75, 10.0, 300.0}) expect_same_jumps_on_both<float>(lam);
}

template <class T>
constexpr void sum_up(const T* values, std::int32_t n, detail::CompensatedSums<T> sums) {
  sums.start();
  for (std::int32_t i = 0; i < n; ++i) sums.append(i, values[i]);
}

template <class T>
__global__ void sum_up_on_device(const T* values, std::int32_t n, detail::CompensatedSums<T> sums) {
  sum_up(values, n, sums);
}

TEST_F(CudaStep, CompensatedSumsKeepTheHostsErrorTerms) {
  constexpr std::int32_t kCount = 5000;
  Random random(base_seed());
  std::vector<double> values(kCount);
  for (double& value : values) {
    value = std::ldexp(std::uniform_real_distribution<double>()(random),
                       static_cast<int>(random() % 90));
  }
  std::vector<double> total(kCount + 1), error(kCount + 1), rest(kCount + 1);
  sum_up(values.data(), kCount,
         detail::CompensatedSums<double>{total.data(), error.data(), rest.data()});

  DeviceArray<double> d_values(kCount), d_total(kCount + 1), d_error(kCount + 1),
      d_rest(kCount + 1);
  d_values.upload(values);
  sum_up_on_device<<<1, 1>>>(
      d_values.data(), kCount,
      detail::CompensatedSums<double>{d_total.data(), d_error.data(), d_rest.data()});
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(d_total.download(), total);
  EXPECT_EQ(d_error.download(), error);
  EXPECT_EQ(d_rest.download(), rest);
}

constexpr detail::Float16 narrowed(float value, detail::Float16 /*as*/) {
  return detail::to_float16(value);
}
constexpr detail::BFloat16 narrowed(float value, detail::BFloat16 /*as*/) {
  return detail::to_bfloat16(value);
}

/// A small float converted to float64 and to float32, and back, also from slightly larger values.
struct Conversions {
  double wide;
  float single;
  std::uint16_t from_wide;
  std::uint16_t from_single;

  bool operator==(const Conversions&) const = default;
};

template <class Small>
constexpr Conversions convert(std::uint32_t bits) {
  Small value;
  value.bits = static_cast<std::uint16_t>(bits);
  const auto wide = static_cast<double>(value);
  const float single = detail::to_float(value);
  return {wide, single, Small(wide * 1.0009765625).bits,
          narrowed(single * 1.0009765625F, value).bits};
}

template <class Small>
__global__ void convert_all(Conversions* all) {
  const std::uint32_t bits = blockIdx.x * blockDim.x + threadIdx.x;
  all[bits] = convert<Small>(bits);
}

template <class Small>
void expect_same_conversions() {
  DeviceArray<Conversions> d_all(65536);
  convert_all<Small><<<256, 256>>>(d_all.data());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const std::vector<Conversions> all = d_all.download();
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const Conversions expected = convert<Small>(bits);
    if (expected.wide != expected.wide) continue;  // NaN payloads are not promised
    ASSERT_TRUE(all[bits] == expected) << bits;
  }
}

/// Near the middle between two small floats, where rounding twice goes wrong.
template <class Small>
std::vector<double> near_ties() {
  std::vector<double> values;
  for (std::uint32_t bits = 0; bits + 1 < Small::kInfinity; ++bits) {
    Small low, high;
    low.bits = static_cast<std::uint16_t>(bits);
    high.bits = static_cast<std::uint16_t>(bits + 1);
    const double middle = static_cast<double>(low) / 2 + static_cast<double>(high) / 2;
    for (const double value :
         {std::nextafter(middle, 0.0), middle, std::nextafter(middle, 1e300)}) {
      values.push_back(value);
      values.push_back(-value);
    }
  }
  return values;
}

template <class Storage>
__global__ void narrow_all(const double* values, std::int32_t count, Storage* all) {
  const auto i = static_cast<std::int32_t>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) all[i] = detail::narrow<Storage>(values[i]);
}

template <class Storage, class Small>
void expect_rounded_once() {
  const std::vector<double> values = near_ties<Small>();
  const auto count = static_cast<std::int32_t>(values.size());
  DeviceArray<double> d_values(values);
  DeviceArray<Storage> d_all(values.size());
  narrow_all<<<(count + 255) / 256, 256>>>(d_values.data(), count, d_all.data());
  const std::vector<Storage> all = d_all.download();
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, &all[i], sizeof(bits));
    ASSERT_EQ(bits, Small(values[i]).bits) << values[i];
  }
}

TEST_F(CudaStep, Float64IsRoundedToSmallFloatsOnce) {
  expect_rounded_once<__half, detail::Float16>();
  expect_rounded_once<__nv_bfloat16, detail::BFloat16>();
}

TEST_F(CudaStep, SmallFloatsConvertAsOnTheHost) {
  expect_same_conversions<detail::Float16>();
  expect_same_conversions<detail::BFloat16>();
}

}  // namespace
}  // namespace tautstring::testing
