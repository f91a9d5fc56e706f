// Distributes images: threads share the images if there are enough of them, else the lines of each,
// image by image.
#pragma once

#include <algorithm>
#include <cstddef>

#include "cpu/cpu_backend.h"
#include "cpu/image_lines.h"
#include "cpu/parallel.h"

namespace tautstring::detail {

/// Size of the parts that threads take of a shared image: always the same, so that sums over them
/// are too.
inline constexpr std::int64_t kPixelsAPart = 1 << 15;

/// Calls use(first, last) for all parts of the given number of pixels.
template <class Use>
void for_each_part(std::int64_t pixels, const Context& context, const Use& use) noexcept {
  for_each_chunk(Sharing(pixels, kPixelsAPart, context), nullptr, 0, context,
                 [&](Scratch& /*none*/) { return use; });
}

/// How many threads share the passes over an image.
inline int pass_tasks(const Images& images, const Context& context) noexcept {
  return images.count >= concurrency(context) ? 1 : concurrency(context);
}

class ImageTasks {
 public:
  /// `image_bytes` is the scratch memory that a task takes besides that of the passes, `together`
  /// the number of images that it takes at a time.
  ImageTasks(const Images& images, std::size_t image_bytes, const Context& context,
             std::int64_t together = 1) noexcept
      : images_context_(context),
        passes_(context),
        call_context_(context),
        sharing_(0, 1, context) {
    (pass_tasks(images, context) == 1 ? passes_ : images_context_).executor = nullptr;
    passes_.workspace = nullptr;
    passes_.workspace_size = std::max(workspace1d(rows_of(row_lines(images)), false, passes_),
                                      workspace1d(rows_of(column_lines(images)), false, passes_));
    task_bytes_ = image_bytes + passes_.workspace_size;
    sharing_ = Sharing(images.count, together, images_context_);
  }

  [[nodiscard]] std::size_t bytes() const noexcept {
    return task_bytes_ * static_cast<std::size_t>(sharing_.tasks);
  }

  /// make_worker(scratch, context of the passes) returns the function that is called with the first
  /// and the end of the images that are taken at a time.
  template <class MakeWorker>
  [[nodiscard]] Status run(const MakeWorker& make_worker) const noexcept {
    const CallMemory memory({bytes()}, call_context_, kWorkspace2d);
    if (!memory.status().ok()) return memory.status();
    for_each_chunk(sharing_, memory.blocks().working, task_bytes_, images_context_,
                   [&](Scratch& scratch) {
                     Context passes = passes_;
                     passes.workspace =
                         scratch.take<std::byte>(static_cast<std::int64_t>(passes.workspace_size));
                     return make_worker(scratch, passes);
                   });
    return {};
  }

 private:
  Context images_context_;
  Context passes_;
  Context call_context_;
  Sharing sharing_;
  std::size_t task_bytes_ = 0;
};

}  // namespace tautstring::detail
