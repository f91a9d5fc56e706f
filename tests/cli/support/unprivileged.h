// Tests of missing rights run as root, too: a child gives root's rights up.
#pragma once

#include <unistd.h>

#include <cstdlib>

namespace tautstring::cli::test {

/// Turns root into nobody, for good. Others have no such rights anyway.
inline void give_up_root() {
  constexpr uid_t nobody = 65534;
  if (geteuid() == 0 && setresuid(nobody, nobody, nobody) != 0) std::abort();
}

}  // namespace tautstring::cli::test
