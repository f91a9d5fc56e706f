#include "api/arguments.h"
#include "tautline/version.h"

namespace tautline {

Capabilities capabilities() noexcept {
  return {.version = kVersion,
          .cuda = detail::find_backend(Device::cuda) != nullptr,
          .compiler = TAUTLINE_COMPILER};
}

}  // namespace tautline
