#include "tautstring/status.h"

#include <algorithm>
#include <cstdio>

#include "api/arguments.h"

namespace tautstring {
namespace {

int describe_argument(const Status& s, char* buffer, std::size_t size) {
  if (!s.has_given) return std::snprintf(buffer, size, "%s: %s", s.argument, s.expected);
  if (s.index < 0) {
    return std::snprintf(buffer, size, "%s: %s, got %.9g", s.argument, s.expected, s.given);
  }
  return std::snprintf(buffer, size, "%s: %s, got %.9g at index %lld", s.argument, s.expected,
                       s.given, static_cast<long long>(s.index));
}

int describe_device_error(const Status& s, char* buffer, std::size_t size) {
  const detail::Backend* backend = detail::find_backend(Device::cuda);
  const char* text =
      backend == nullptr ? "no CUDA in this build" : backend->error_text(s.device_error);
  return std::snprintf(buffer, size, "CUDA error %d: %s", s.device_error, text);
}

}  // namespace

std::size_t describe(const Status& status, char* buffer, std::size_t size) noexcept {
  int length = 0;
  switch (status.code) {
    case StatusCode::ok: length = std::snprintf(buffer, size, "ok"); break;
    case StatusCode::invalid_argument: length = describe_argument(status, buffer, size); break;
    case StatusCode::unsupported_device:
      length = std::snprintf(buffer, size, "device: this build of tautstring has no CUDA");
      break;
    case StatusCode::out_of_memory:
      length = std::snprintf(buffer, size, "out of memory: %.0f bytes of scratch", status.given);
      break;
    case StatusCode::device_error: length = describe_device_error(status, buffer, size); break;
    case StatusCode::interrupted:
      length = std::snprintf(buffer, size, "interrupted: the call was stopped before its end");
      break;
  }
  return static_cast<std::size_t>(std::max(length, 0));
}

}  // namespace tautstring
