// Compiles the vector code once per instruction set, and lists the results. Highway's headers do
// the former; its run-time library is not needed.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/vector/vector_targets.cpp"
// One variant of AVX-512 is enough, SSE is used with all its extensions or not at all, and of AVX2
// only what compilers can query the processor for. On 64-bit ARM it is NEON: vectors of SVE have no
// fixed size, so they cannot be members, as they are here.
#if defined(__aarch64__)
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#elif defined(__SANITIZE_THREAD__)
// No set makes threads share more than another one does.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3 | HWY_AVX3_DL)
#elif defined(TAUTSTRING_SANITIZED)  // saves minutes of compile time; the widest set reads furthest
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX2 | HWY_AVX3_DL)
#else
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL)
#endif
// Highway's assertions would abort, and need its library.
#define HWY_IS_DEBUG_BUILD 0
#define HWY_DISABLE_PCLMUL_AES 1
#define HWY_DISABLE_F16C 1
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// portable.cpp takes the place of Highway's own scalar target.
#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
#include "cpu/vector/columns-inl.h"
#include "cpu/vector/find_jumps-inl.h"
#include "cpu/vector/gradients-inl.h"
#include "cpu/vector/line_average-inl.h"
#include "cpu/vector/line_repair-inl.h"
#include "cpu/vector/newton-inl.h"
#include "cpu/vector/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tautstring::detail::HWY_NAMESPACE {

template <class T>
void load_pixels(const ImageSpan<const void>& from, std::int32_t height, std::int32_t width, T* to,
                 std::int64_t pitch) noexcept {
  detail::load_pixels(from, height, width, to, pitch);
}
template <class T>
void store_pixels(const PixelStore<T>& store) noexcept {
  detail::store_pixels(store);
}
template <class T>
void add_row_quality(const QualityRow<T>& row, Quality& quality) noexcept {
  detail::add_row_quality(row, quality);
}
template <class T>
double take_q(const AcceleratedStep<T>& step, std::int64_t count, double scale) noexcept {
  return detail::take_q(step, count, scale);
}
template <class T>
void extrapolate(const AcceleratedStep<T>& step, std::int64_t count, T momentum) noexcept {
  detail::extrapolate(step, count, momentum);
}

template <class T>
inline constexpr VectorKernels<T> kKernels = {
    .lanes = kJobsAtOnce<T>,
    .find_jumps = find_jumps<T>,
    .finish = finish<T>,
    .pack = pack,
    .average = average<T>,
    .copy_rows = copy_rows<T>,
    .measure_rows = measure_rows<T>,
    .columns = {gather_columns<T>, scatter_columns<T>},
    .repair_lines = repair_lines<T>,
    .average_lines = average_lines<T>,
    .line_lanes = static_cast<std::int32_t>(hn::MaxLanes(hn::ScalableTag<T>())),
    .load_pixels = load_pixels<T>,
    .store_pixels = store_pixels<T>,
    .add_row_quality = add_row_quality<T>,
    .take_q = take_q<T>,
    .extrapolate = extrapolate<T>,
};

/// All vector code of this instruction set.
constexpr CpuTarget target(const char* name) noexcept {
  return {name,
          kKernels<float>,
          kKernels<double>,
          {gather_columns<std::uint16_t>, scatter_columns<std::uint16_t>},
          kNewtonLanes,
          newton_in_lanes};
}

}  // namespace tautstring::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif

#if HWY_ONCE
#include "cpu/targets.h"

namespace tautstring::detail {
namespace {

#if HWY_TARGETS & HWY_AVX3
constexpr CpuTarget kAvx512 = N_AVX3::target("avx512");
#endif
#if HWY_TARGETS & HWY_AVX2
constexpr CpuTarget kAvx2 = N_AVX2::target("avx2");
#endif
#if HWY_TARGETS & HWY_SSE4
constexpr CpuTarget kSse4 = N_SSE4::target("sse4");
#endif
#if HWY_TARGETS & HWY_NEON
constexpr CpuTarget kNeon = N_NEON::target("neon");
#endif

}  // namespace

void add_vector_targets(CpuTargetList& list) noexcept {
#if HWY_TARGETS & HWY_AVX3
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512cd")) {
    list.add(kAvx512);
  }
#endif
#if HWY_TARGETS & HWY_AVX2
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2")) {
    list.add(kAvx2);
  }
#endif
#if HWY_TARGETS & HWY_SSE4
  if (__builtin_cpu_supports("sse4.2")) list.add(kSse4);
#endif
#if HWY_TARGETS & HWY_NEON
  list.add(kNeon);
#endif
}

}  // namespace tautstring::detail
#endif  // HWY_ONCE
