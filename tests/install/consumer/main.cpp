// Uses the library as a user would; the result says whether it works.
#include <tautstring/tautstring.h>

#include <bit>
#include <cstdint>
#include <string_view>
#include <vector>

namespace {

/// Looks at the bits: this file may be compiled with -ffast-math.
bool is_nan(float value) {
  return (std::bit_cast<std::uint32_t>(value) & 0x7FFFFFFFU) > 0x7F800000U;
}

}  // namespace

int main() {
  const float nan = std::bit_cast<float>(0x7FC00000U);
  std::vector<float> x = {0, 4, nan, 4};
  tautstring::ThreadExecutor threads(2);
  const tautstring::View rows = tautstring::view(x.data(), {2, 2});
  const tautstring::Status status =
      tautstring::prox_tv1d({.x = rows, .lam = 1.0}, rows, {}, {.executor = &threads});
  const bool versions_match =
      std::string_view(tautstring::capabilities().version) == tautstring::kVersion;
#ifdef EXPECT_CPU_TARGETS
  if (tautstring::cpu_targets().size() != EXPECT_CPU_TARGETS) return 2;
#endif
  if (std::string_view(tautstring::cpu_targets().back()) != "portable") return 3;
  const bool solved = x[0] == 1 && x[1] == 3 && is_nan(x[2]) && is_nan(x[3]);
  return status.ok() && versions_match && solved ? 0 : 1;
}
