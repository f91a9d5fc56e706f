// NumPy's .npy format, versions 1 to 3. The reader trusts nothing in the file:
// every size is checked against the file's length before memory is asked for.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "sample_array.h"

namespace tautstring::cli {

/// Whether the bytes begin as every .npy file does.
[[nodiscard]] bool has_npy_magic(std::span<const std::byte> bytes);

/// Reads f2, f4 and f8 as they are; integers and booleans become float64.
/// Throws FormatError.
[[nodiscard]] SampleArray parse_npy(std::span<const std::byte> bytes);

/// Writes dtype, byte order and element order as the array says.
[[nodiscard]] std::vector<std::byte> format_npy(const SampleArray& array);

}  // namespace tautstring::cli
