#pragma once

namespace tautstring::fuzz {

/// Stops the fuzzer if a property does not hold.
inline void require(bool holds) {
  if (!holds) __builtin_trap();
}

}  // namespace tautstring::fuzz
