// What GCC and Clang spell in a way of their own. With MSVC nothing has been tried.
#pragma once

#include <cstdint>
#include <limits>

/// For functions that are compiled for several instruction sets: called, they would be compiled for
/// one.
#ifdef _MSC_VER
#define TAUTSTRING_FORCE_INLINE __forceinline
#else
#define TAUTSTRING_FORCE_INLINE inline __attribute__((always_inline))
#endif

namespace tautstring::detail {

/// Adds or multiplies, and returns whether the result fits in 64 bits; if not, `result` keeps its
/// value.
[[nodiscard]] constexpr bool add(std::int64_t a, std::int64_t b, std::int64_t& result) noexcept {
  using Limits = std::numeric_limits<std::int64_t>;
  if (b >= 0 ? a > Limits::max() - b : a < Limits::min() - b) return false;
  result = a + b;
  return true;
}

[[nodiscard]] constexpr bool multiply(std::int64_t a, std::int64_t b,
                                      std::int64_t& result) noexcept {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  if (a > 0 && b > 0 && a > kMost / b) return false;
  if (a < 0 && b < 0 && b < kMost / a) return false;
  if (a > 0 && b < 0 && b < kLeast / a) return false;
  if (a < 0 && b > 0 && a < kLeast / b) return false;
  result = a * b;
  return true;
}

}  // namespace tautstring::detail
