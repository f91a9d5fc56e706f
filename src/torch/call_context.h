// The context of a core call under torch: torch's threads on the CPU, the current stream and memory
// from torch's allocator on CUDA.
#pragma once

#include <torch/csrc/stable/accelerator.h>

#include <cstdint>
#include <optional>

#include "tautstring/context.h"
#include "tautstring/tv2d.h"
#include "tensors.h"

namespace tautstring::torch_ops {

/// torch's own thread pool, which follows torch.set_num_threads.
class TorchThreads final : public Executor {
 public:
  [[nodiscard]] int concurrency() const noexcept override;
  // NOLINTNEXTLINE(bugprone-exception-escape): see its definition
  void run(int count, void (*task)(void* argument, int i), void* argument) noexcept override;
};

/// Returns whether a call should stop. `next` belongs to the callee: it is 0 at first, and is kept
/// between the checks of one call.
using StopCheck = bool (*)(std::int64_t* next);

/// Sets the function that calls on the CPU check from now on; null, the initial value: they run to
/// their end.
void set_stop_check(StopCheck check) noexcept;

/// Calls the function that was passed to set_stop_check.
class HostInterrupt final : public Interrupt {
 public:
  explicit HostInterrupt(StopCheck check) noexcept : check_(check) {}
  [[nodiscard]] bool wanted() noexcept override { return check_(&next_); }

 private:
  StopCheck check_;
  std::int64_t next_ = 0;
};

/// Lives as long as the call. On CUDA, the device of x is the current one during that time, and the
/// workspace is returned to the allocator in stream order.
class CallContext {
 public:
  /// For a call on a batch of x's shape, cut along `dim`.
  CallContext(const Tensor& x, bool weighted, std::int64_t dim);
  /// For prox_tv1d_newton.
  CallContext(const Tensor& x, const Problem1d& problem);
  /// For a call on images on x's device; for derivatives, with views that have the shapes of x and
  /// the lams.
  CallContext(const Tensor& x, const Problem2d& problem);
  /// As above, for prox_tv2d with this solver and without a report and dual, and for its backward.
  CallContext(const Tensor& x, const Problem2d& problem, const Solver2d& solver);

  [[nodiscard]] const Context& get() const noexcept { return context_; }

 private:
  /// `ask_size` returns the bytes of workspace that the core needs in a context.
  template <class AskSize>
  void enter(const Tensor& x, const AskSize& ask_size);

  TorchThreads threads_;
  std::optional<HostInterrupt> interrupt_;
  std::optional<torch::stable::accelerator::DeviceGuard> guard_;
  std::optional<Tensor> workspace_;
  Context context_;
};

}  // namespace tautstring::torch_ops
