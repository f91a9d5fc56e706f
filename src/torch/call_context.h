// With what a call of the core runs under torch: torch's threads on the CPU, the
// current stream and memory of torch's allocator on CUDA.
#pragma once

#include <torch/csrc/stable/accelerator.h>
#include <torch/csrc/stable/tensor.h>

#include <cstdint>
#include <optional>

#include "tautline/context.h"

namespace tautline::torch_ops {

/// torch's own thread pool, which follows torch.set_num_threads.
class TorchThreads final : public Executor {
 public:
  [[nodiscard]] int concurrency() const noexcept override;
  // NOLINTNEXTLINE(bugprone-exception-escape): see its definition
  void run(int count, void (*task)(void* argument, int i), void* argument) noexcept override;
};

/// Lives as long as the call. On CUDA the device of x is the current one
/// meanwhile, and the workspace goes back to the allocator in stream order.
class CallContext {
 public:
  /// For a call on a batch of x's shape, cut along `dim`.
  CallContext(const torch::stable::Tensor& x, bool weighted, std::int64_t dim);

  [[nodiscard]] const Context& get() const noexcept { return context_; }

 private:
  TorchThreads threads_;
  std::optional<torch::stable::accelerator::DeviceGuard> guard_;
  std::optional<torch::stable::Tensor> workspace_;
  Context context_;
};

}  // namespace tautline::torch_ops
