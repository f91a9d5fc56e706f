#include "cpu/call_memory.h"

#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#endif

#include <cstdint>
#include <new>

namespace tautstring::detail {
namespace {

/// Requests large pages: getting memory page by page takes longer than a pass over it, and a large
/// block is new in every call. Nothing depends on the outcome.
void prefer_large_pages([[maybe_unused]] std::byte* block,
                        [[maybe_unused]] std::size_t bytes) noexcept {
#ifdef MADV_HUGEPAGE
  constexpr std::size_t kPage = 4096;
  constexpr std::size_t kLargeBlock = std::size_t{32} << 20;  // allocators reuse smaller ones
  if (bytes < kLargeBlock) return;
  const std::size_t before_page = kPage - reinterpret_cast<std::uintptr_t>(block) % kPage;
  madvise(block + before_page, (bytes - before_page) / kPage * kPage, MADV_HUGEPAGE);
#endif
}

}  // namespace

void CallMemory::AlignedDelete::operator()(std::byte* block) const noexcept {
  ::operator delete[](block, std::align_val_t{Scratch::kAlignment});
}

CallMemory::OwnBlock CallMemory::allocate(std::size_t bytes) noexcept {
  auto* const block = static_cast<std::byte*>(
      ::operator new[](bytes, std::align_val_t{Scratch::kAlignment}, std::nothrow));
  if (block != nullptr) prefer_large_pages(block, bytes);
  return OwnBlock(block);
}

CallMemory::CallMemory(MemorySize size, const Context& context,
                       const char* expected_size) noexcept {
  if (context.workspace == nullptr) {
    working_ = allocate(size.working);
    if (size.spare > 0) spare_ = allocate(size.spare);
    blocks_ = {working_.get(), spare_.get()};
    if (blocks_.working == nullptr || (size.spare > 0 && blocks_.spare == nullptr)) {
      status_ = {.code = StatusCode::out_of_memory,
                 .argument = "workspace",
                 .given = static_cast<double>(size.total())};
    }
    return;
  }
  if (context.workspace_size < size.total()) {
    status_ = {.code = StatusCode::invalid_argument,
               .argument = "workspace_size",
               .expected = expected_size,
               .given = static_cast<double>(context.workspace_size),
               .has_given = true};
  } else if (reinterpret_cast<std::uintptr_t>(context.workspace) % Scratch::kAlignment != 0) {
    status_ = {.code = StatusCode::invalid_argument,
               .argument = "workspace",
               .expected = "must be aligned to 64 bytes"};
  } else {
    blocks_ = blocks_of(context.workspace, size);
  }
}

}  // namespace tautstring::detail
