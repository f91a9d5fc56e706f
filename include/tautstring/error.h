// Optional: turns a bad Status into an exception. This is the only public header that needs
// exceptions; tautstring.h does not include it.
#pragma once

#include <stdexcept>
#include <string>

#include "tautstring/export.h"
#include "tautstring/status.h"

namespace tautstring {

/// The line that describe() writes, as a string.
inline std::string message(const Status& status) {
  std::string text(describe(status, nullptr, 0), '\0');
  describe(status, text.data(), text.size() + 1);
  return text;
}

class TAUTSTRING_API Error : public std::runtime_error {
 public:
  explicit Error(const Status& status) : std::runtime_error(message(status)), status_(status) {}
  [[nodiscard]] const Status& status() const noexcept { return status_; }

 private:
  Status status_;
};

/// Throws Error unless `status` is ok.
///
/// \code
/// std::vector<float> x = {0, 4};
/// try {
///   tautstring::check(tautstring::prox_tv1d({.x = tautstring::view(x.data(), {2}), .lam = -1.0},
///                                       tautstring::view(x.data(), {2})));
///   assert(!"not reached");
/// } catch (const tautstring::Error& error) {
///   assert(std::string(error.what()) == "lam: must be >= 0 and not NaN, got -1");
/// }
/// \endcode
inline void check(const Status& status) {
  if (!status.ok()) throw Error(status);
}

}  // namespace tautstring
