// Scratch memory that the library keeps between calls. Fresh memory costs a page fault per page,
// and for large blocks the allocator asks the system for fresh memory in every call.
#pragma once

#include <atomic>
#include <cstddef>

#include "step/row/scratch.h"
#include "tautstring/context.h"

namespace tautstring::detail {

/// The beginning of a block of memory; its bytes follow.
struct alignas(Scratch::kAlignment) MemoryBlock {
  std::size_t size;

  [[nodiscard]] std::byte* bytes() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
};

/// Null if there is no memory.
[[nodiscard]] MemoryBlock* allocate_block(std::size_t size) noexcept;
void free_block(MemoryBlock* block) noexcept;

/// Blocks that no call uses at the moment. Any number of threads may take blocks and give them
/// back, without waiting for one another. A block belongs to one call at a time; a call that finds
/// none gets a new one.
///
/// In a forked child, blocks that were kept are kept there, too. Those that other threads were
/// using are lost to it, as all memory of those threads is.
class KeptMemory {
 public:
  /// Smaller blocks are left to the allocator, which has them at hand, and without threads having
  /// to share anything.
  static constexpr std::size_t kSmallest = std::size_t{256} << 10;

  /// Returns at least `size` bytes, with any contents; null if there is no memory.
  [[nodiscard]] MemoryBlock* take(std::size_t size) noexcept;
  /// Keeps a block, or frees it where it is too small or the sum would be more than
  /// kMostKeptScratch.
  void give_back(MemoryBlock* block) noexcept;
  void release() noexcept;

  /// How much is kept; for a moment, less may be.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  static constexpr int kMostBlocks = 16;

  [[nodiscard]] MemoryBlock* take_from(std::atomic<MemoryBlock*>& slot) noexcept;

  std::atomic<std::size_t> size_{0};  // at least that of all blocks together
  std::atomic<MemoryBlock*> slots_[kMostBlocks] = {};
};

/// That of the process. It is never destroyed, as a call may run while the process ends.
extern KeptMemory kept_memory;

}  // namespace tautstring::detail
