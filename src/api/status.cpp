#include "tautline/status.h"

#include <algorithm>
#include <cstdio>

namespace tautline {

std::size_t describe(const Status& status, char* buffer, std::size_t size) noexcept {
  int length = 0;
  switch (status.code) {
    case StatusCode::ok: length = std::snprintf(buffer, size, "ok"); break;
    case StatusCode::invalid_argument:
      length = status.index < 0 ? std::snprintf(buffer, size, "%s: %s, got %.9g", status.argument,
                                                status.expected, status.given)
                                : std::snprintf(buffer, size, "%s: %s, got %.9g at index %lld",
                                                status.argument, status.expected, status.given,
                                                static_cast<long long>(status.index));
      break;
    case StatusCode::unsupported_device:
      length = std::snprintf(buffer, size, "device: this build of tautline has no CUDA");
      break;
    case StatusCode::out_of_memory:
      length = std::snprintf(buffer, size, "out of memory: %.0f bytes of scratch", status.given);
      break;
  }
  return static_cast<std::size_t>(std::max(length, 0));
}

}  // namespace tautline
