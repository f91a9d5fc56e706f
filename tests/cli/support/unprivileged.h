// Tests of missing rights run as root, too: a child gives up what root may do beyond others.
#pragma once

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

namespace tautstring::cli::test {

/// Gives up all capabilities, for good. The user stays the same: root then has the rights that the
/// mode of a file gives its owner, as any other user has.
inline void give_up_privileges() {
  __user_cap_header_struct self = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  const __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {};
  if (syscall(SYS_capset, &self, none) != 0) std::abort();
  // Without this, exec would give them back to root.
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) std::abort();
}

}  // namespace tautstring::cli::test
