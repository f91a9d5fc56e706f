// Fuzzes the formats that the command line reads itself: .npy and CSV. A file is read or rejected
// with a FormatError, and an array that was read is the same after it is written and read again.
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "csv.h"
#include "errors.h"
#include "npy.h"
#include "support/require.h"

namespace {

using tautstring::cli::SampleArray;
using tautstring::fuzz::require;

bool same_samples(const SampleArray& a, const SampleArray& b) {
  if (a.shape != b.shape || a.count() != b.count()) return false;
  for (std::int64_t i = 0; i < a.count(); ++i) {
    const bool both_nan = std::isnan(a.at(i)) && std::isnan(b.at(i));
    if (!both_nan && a.at(i) != b.at(i)) return false;
  }
  return true;
}

void round_trip_npy(std::span<const std::byte> bytes) {
  const SampleArray array = tautstring::cli::parse_npy(bytes);
  require(same_samples(tautstring::cli::parse_npy(tautstring::cli::format_npy(array)), array));
}

void round_trip_csv(std::string_view text) {
  const tautstring::cli::CsvTable table = tautstring::cli::parse_csv(text);
  const std::string again = tautstring::cli::format_csv(table.samples, table.style);
  require(same_samples(tautstring::cli::parse_csv(again).samples, table.samples));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::span<const std::byte> all{reinterpret_cast<const std::byte*>(bytes), size};
  try {
    if (tautstring::cli::has_npy_magic(all)) {
      round_trip_npy(all);
    } else {
      round_trip_csv({reinterpret_cast<const char*>(bytes), size});
    }
  } catch (const tautstring::cli::FormatError&) {
    // rejected, as expected
  }
  return 0;
}
