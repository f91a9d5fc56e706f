// std::bit_cast, where the standard library does not have it yet; included before all sources.
#pragma once

#include <bit>

#ifndef __cpp_lib_bit_cast
namespace std {
template <class To, class From>
constexpr To bit_cast(const From& from) noexcept {
  return __builtin_bit_cast(To, from);
}
}  // namespace std
#endif
