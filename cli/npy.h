// NumPy's .npy format, versions 1 to 3. The reader trusts nothing in the file: every size is
// checked against the file's length before memory is allocated.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "sample_array.h"

namespace tautstring::cli {

/// Whether the bytes begin like an .npy file.
[[nodiscard]] bool has_npy_magic(std::span<const std::byte> bytes);

/// Reads f2, f4 and f8 unchanged; integers and booleans become float64.
/// Throws FormatError.
[[nodiscard]] SampleArray parse_npy(std::span<const std::byte> bytes);

/// Writes the dtype, byte order and element order of the array.
[[nodiscard]] std::vector<std::byte> format_npy(const SampleArray& array);

}  // namespace tautstring::cli
