#include "cpu/kept_memory.h"

#if __has_include(<sanitizer/asan_interface.h>)
#include <sanitizer/asan_interface.h>
#endif
#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#endif

#include <cstdint>
#include <new>

namespace tautstring::detail {
namespace {

/// Requests large pages for what the allocator takes from the system: getting memory page by page
/// takes longer than a pass over it. Nothing depends on the outcome.
void prefer_large_pages([[maybe_unused]] MemoryBlock* block) noexcept {
#ifdef MADV_HUGEPAGE
  constexpr std::size_t kPage = 4096;
  constexpr std::size_t kLargeBlock = std::size_t{32} << 20;  // allocators reuse smaller ones
  if (block->size < kLargeBlock) return;
  const std::size_t before_page = kPage - reinterpret_cast<std::uintptr_t>(block) % kPage;
  madvise(reinterpret_cast<std::byte*>(block) + before_page,
          (block->size - before_page) / kPage * kPage, MADV_HUGEPAGE);
#endif
}

/// Lets the address sanitizer find accesses after the bytes that a call asked for.
void forbid_bytes_after([[maybe_unused]] MemoryBlock* block,
                        [[maybe_unused]] std::size_t size) noexcept {
#ifdef ASAN_POISON_MEMORY_REGION
  ASAN_POISON_MEMORY_REGION(block->bytes() + size, block->size - size);
#endif
}
void allow_all_bytes([[maybe_unused]] MemoryBlock* block) noexcept {
#ifdef ASAN_POISON_MEMORY_REGION
  ASAN_UNPOISON_MEMORY_REGION(block->bytes(), block->size);
#endif
}

}  // namespace

MemoryBlock* allocate_block(std::size_t size) noexcept {
  void* const memory = ::operator new (sizeof(MemoryBlock) + size,
                                       std::align_val_t{alignof(MemoryBlock)}, std::nothrow);
  if (memory == nullptr) return nullptr;
  auto* const block = ::new (memory) MemoryBlock{size};
  prefer_large_pages(block);
  return block;
}

void free_block(MemoryBlock* block) noexcept {
  ::operator delete (block, std::align_val_t{alignof(MemoryBlock)});
}

constinit KeptMemory kept_memory;

MemoryBlock* KeptMemory::take_from(std::atomic<MemoryBlock*>& slot) noexcept {
  if (slot.load(std::memory_order_relaxed) == nullptr) return nullptr;
  MemoryBlock* const block = slot.exchange(nullptr, std::memory_order_acquire);
  if (block != nullptr) size_ -= block->size;
  return block;
}

MemoryBlock* KeptMemory::take(std::size_t size) noexcept {
  if (size < kSmallest || size > kMostKeptScratch) return allocate_block(size);
  for (auto& slot : slots_) {
    MemoryBlock* const block = take_from(slot);
    if (block == nullptr) continue;
    if (block->size >= size) {
      forbid_bytes_after(block, size);
      return block;
    }
    free_block(block);  // makes room for the larger one
  }
  return allocate_block(size);
}

void KeptMemory::give_back(MemoryBlock* block) noexcept {
  allow_all_bytes(block);
  const std::size_t size = block->size;
  if (size >= kSmallest && size <= kMostKeptScratch) {
    if (size_.fetch_add(size) <= kMostKeptScratch - size) {
      for (auto& slot : slots_) {
        MemoryBlock* empty = nullptr;
        if (slot.compare_exchange_strong(empty, block, std::memory_order_release,
                                         std::memory_order_relaxed)) {
          return;
        }
      }
    }
    size_ -= size;
  }
  free_block(block);
}

void KeptMemory::release() noexcept {
  for (auto& slot : slots_) {
    MemoryBlock* const block = take_from(slot);
    if (block != nullptr) free_block(block);
  }
}

}  // namespace tautstring::detail

namespace tautstring {

void release_scratch() noexcept {
  detail::kept_memory.release();
}

}  // namespace tautstring
