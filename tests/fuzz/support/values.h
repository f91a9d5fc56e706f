// Numbers to solve with: on grids, where ties are everywhere, or of arbitrary bits.
#pragma once

#include <fuzzer/FuzzedDataProvider.h>

#include <cmath>
#include <cstdint>
#include <limits>

namespace tautstring::fuzz {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

enum class Values : std::uint8_t { thirds, quarters, sevenths, any_bits, kMaxValue = any_bits };

inline double sample(FuzzedDataProvider& data, Values kind) {
  switch (kind) {
    case Values::thirds: return data.ConsumeIntegralInRange(-9, 9) / 3.0;
    case Values::quarters: return data.ConsumeIntegralInRange(-20, 20) / 4.0;
    case Values::sevenths: return data.ConsumeIntegralInRange(-20, 20) / 7.0;
    case Values::any_bits: break;
  }
  return data.ConsumeFloatingPoint<double>();
}

/// A lam; with arbitrary bits it may be NaN.
inline double penalty(FuzzedDataProvider& data, Values kind) {
  if (kind == Values::any_bits) return std::abs(data.ConsumeFloatingPoint<double>());
  const int choice = data.ConsumeIntegralInRange(-1, 40);
  return choice < 0 ? kInfinity : choice / (kind == Values::sevenths ? 7.0 : 12.0);
}

}  // namespace tautstring::fuzz
