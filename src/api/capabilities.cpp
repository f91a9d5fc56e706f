#include "api/arguments.h"
#include "tautstring/version.h"

namespace tautstring {

Capabilities capabilities() noexcept {
  const char* target = detail::kCpuBackend.target();
  return {.version = kVersion,
          .cuda = detail::find_backend(Device::cuda) != nullptr,
          .compiler = TAUTSTRING_COMPILER,
          .cpu_target = target == nullptr ? "none" : target};
}

std::span<const char* const> cpu_targets() noexcept {
  return detail::kCpuBackend.targets();
}

}  // namespace tautstring
