#include "data.h"
#include "device.h"
#include "random.cuh"
#include "storage.h"

namespace bench {
namespace {

constexpr int kThreads = 256;

__device__ float sine(std::uint64_t seed, std::int64_t row, std::int64_t i, std::int64_t n) {
  const std::uint64_t bits = hash(seed, row);
  const float periods = 1 + 7 * uniform(static_cast<std::uint32_t>(bits >> 32U));
  const float phase = uniform(static_cast<std::uint32_t>(bits));
  return sinpif(2 * (phase + periods * static_cast<float>(i) / static_cast<float>(n)));
}

__device__ float value_of(Family family, const Layout& layout, std::uint64_t seed, std::int64_t row,
                          std::int64_t i) {
  const std::int64_t index = row * layout.n + i;
  const float step = i < layout.n / 2 ? 0.0F : 1.0F;
  switch (family) {
    case Family::noise: return step + normal(seed, index);
    case Family::faint_noise: return step + 0.1F * normal(seed, index);
    case Family::sine: return sine(seed, row, i, layout.n);
    case Family::constants: return normal(seed, row);
    case Family::ramp: return static_cast<float>(i);
    case Family::ramp_noise: return static_cast<float>(i) + normal(seed, index);
    case Family::noise_one_ramp:
      return row == layout.middle_row() ? static_cast<float>(i) : step + normal(seed, index);
    case Family::walk: return 0;  // needs the previous element: see fill_walks
  }
  return 0;
}

/// Each thread generates one element; neighbours in memory are neighbours in a warp.
template <class T>
__global__ void fill_elements(Family family, Layout layout, std::uint64_t seed, T* values) {
  const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (at >= layout.elements()) return;
  const std::int64_t line = at / layout.width;  // of an image
  const std::int64_t row = line / layout.n * layout.width + at % layout.width;
  values[at] = static_cast<T>(value_of(family, layout, seed, row, line % layout.n));
}

/// Each thread generates one row.
template <class T>
__global__ void fill_walks(Layout layout, std::uint64_t seed, T* values) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (row >= layout.rows()) return;
  T* to = values + row / layout.width * layout.n * layout.width + row % layout.width;
  int level = static_cast<int>(hash(seed, row) % 256);
  for (std::int64_t i = 0; i < layout.n; ++i) {
    to[i * layout.width] = static_cast<T>(static_cast<float>(level));
    const int step = static_cast<int>(hash(seed + 1, row * layout.n + i) % 9) - 4;
    level = min(max(level + step, 0), 255);
  }
}

/// Each thread generates one penalty.
template <class T>
__global__ void fill_lams(float lam, float ramp_lam, std::int64_t ramp_row, bool vary,
                          std::int64_t lams_a_row, std::int64_t count, T* values) {
  const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (at >= count) return;
  const float base = at / lams_a_row == ramp_row ? ramp_lam : lam;
  const float factor = vary ? 0.5F + uniform(static_cast<std::uint32_t>(hash(0, at))) : 1.0F;
  values[at] = static_cast<T>(base * factor);
}

unsigned blocks_for(std::int64_t threads) {
  return static_cast<unsigned>((threads + kThreads - 1) / kThreads);
}

}  // namespace

template <class T>
void fill(Family family, const Layout& layout, std::uint64_t seed, T* values, cudaStream_t stream) {
  if (family == Family::walk) {
    fill_walks<<<blocks_for(layout.rows()), kThreads, 0, stream>>>(layout, seed, values);
  } else {
    fill_elements<<<blocks_for(layout.elements()), kThreads, 0, stream>>>(family, layout, seed,
                                                                          values);
  }
  check_cuda(cudaGetLastError());
}

template <class T>
void fill_lam(const Case& c, T* values, cudaStream_t stream) {
  const std::int64_t count = c.layout.rows() * c.lams_a_row();
  const std::int64_t ramp_row = c.family == Family::noise_one_ramp ? c.layout.middle_row() : -1;
  fill_lams<<<blocks_for(count), kThreads, 0, stream>>>(
      static_cast<float>(c.lam), static_cast<float>(kRampLam), ramp_row,
      c.lam_kind == LamKind::per_edge, c.lams_a_row(), count, values);
  check_cuda(cudaGetLastError());
}

template void fill(Family, const Layout&, std::uint64_t, float*, cudaStream_t);
template void fill(Family, const Layout&, std::uint64_t, double*, cudaStream_t);
template void fill(Family, const Layout&, std::uint64_t, BFloat16*, cudaStream_t);
template void fill_lam(const Case&, float*, cudaStream_t);
template void fill_lam(const Case&, double*, cudaStream_t);
template void fill_lam(const Case&, BFloat16*, cudaStream_t);

}  // namespace bench
