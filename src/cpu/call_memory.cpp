#include "cpu/call_memory.h"

#include <cstdint>

#include "step/row/scratch.h"

namespace tautstring::detail {

CallMemory::CallMemory(MemorySize size, const Context& context,
                       const char* expected_size) noexcept {
  if (context.workspace == nullptr) {
    working_.reset(kept_memory.take(size.working));
    if (size.spare > 0) spare_.reset(allocate_block(size.spare));
    if (working_ == nullptr || (size.spare > 0 && spare_ == nullptr)) {
      status_ = {.code = StatusCode::out_of_memory,
                 .argument = "workspace",
                 .given = static_cast<double>(size.total())};
      return;
    }
    blocks_ = {working_->bytes(), spare_ == nullptr ? nullptr : spare_->bytes()};
  } else if (context.workspace_size < size.total()) {
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
