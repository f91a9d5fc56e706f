// The scratch memory of a call: the caller's workspace, or memory of the library.
#pragma once

#include <cstddef>
#include <memory>

#include "backend.h"
#include "cpu/kept_memory.h"

namespace tautstring::detail {

inline constexpr const char* kWorkspace1d = "must be at least what prox_tv1d_workspace gives";
inline constexpr const char* kWorkspaceNewton1d =
    "must be at least what prox_tv1d_newton_workspace gives";
inline constexpr const char* kWorkspacePath1d = "must be at least what path1d_workspace gives";
inline constexpr const char* kWorkspaceSelect1d =
    "must be at least what select_lam1d_workspace gives";
inline constexpr const char* kWorkspace2d = "must be at least what prox_tv2d_workspace gives";

/// How many bytes a call needs.
struct MemorySize {
  std::size_t working = 0;
  std::size_t spare = 0;  // for the data that need more; most calls never touch it

  [[nodiscard]] std::size_t total() const noexcept { return working + spare; }
};

struct MemoryBlocks {
  std::byte* working = nullptr;
  std::byte* spare = nullptr;
};

/// The two blocks of a workspace.
inline MemoryBlocks blocks_of(void* workspace, MemorySize size) noexcept {
  auto* const working = static_cast<std::byte*>(workspace);
  return {working, working + size.working};
}

class CallMemory {
 public:
  CallMemory(MemorySize size, const Context& context,
             const char* expected_size = kWorkspace1d) noexcept;

  [[nodiscard]] const Status& status() const noexcept { return status_; }
  [[nodiscard]] const MemoryBlocks& blocks() const noexcept { return blocks_; }

 private:
  struct GiveBack {
    void operator()(MemoryBlock* block) const noexcept { kept_memory.give_back(block); }
  };
  struct Free {
    void operator()(MemoryBlock* block) const noexcept { free_block(block); }
  };

  std::unique_ptr<MemoryBlock, GiveBack> working_;
  std::unique_ptr<MemoryBlock, Free> spare_;  // keeping it would keep what is hardly ever touched
  MemoryBlocks blocks_;
  Status status_;
};

}  // namespace tautstring::detail
