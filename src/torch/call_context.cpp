#include "call_context.h"

#include <dlfcn.h>
#include <torch/csrc/stable/ops.h>

#include <array>
#include <atomic>
#include <stdexcept>

#include "tautstring/tautstring.h"

namespace tautstring::torch_ops {
namespace {

/// The amount of work that torch itself runs on one thread (at::internal::GRAIN_SIZE): waking
/// another thread takes longer, and much longer if it has to wait for a processor.
constexpr std::int64_t kFewElements = 32768;

std::atomic<StopCheck> stop_check{nullptr};

using GetStream = AOTITorchError (*)(std::int32_t device_index, void** stream);

/// Finds aoti_torch_get_current_cuda_stream, which only a torch with CUDA has. Because it is looked
/// up in torch's library at run time, one binary loads into any torch. (Python loads that library
/// with local visibility, so that not even a weak reference would find it.)
GetStream find_get_stream() {
  void* library = dlopen("libtorch_cuda.so", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  return reinterpret_cast<GetStream>(dlsym(library, "aoti_torch_get_current_cuda_stream"));
}

void* current_stream(std::int32_t device) {
  static const GetStream get_stream = find_get_stream();
  if (get_stream == nullptr) {
    throw std::runtime_error(
        "tautstring: x is on CUDA, but torch's libtorch_cuda.so is not loaded");
  }
  void* stream = nullptr;
  TORCH_ERROR_CODE_CHECK(get_stream(device, &stream));
  return stream;
}

}  // namespace

void set_stop_check(StopCheck check) noexcept {
  stop_check = check;
}

int TorchThreads::concurrency() const noexcept {
  std::uint32_t threads = 1;
  return torch_get_num_threads(&threads) == AOTI_TORCH_SUCCESS ? static_cast<int>(threads) : 1;
}

// Throws only what a task throws, and tasks of the core never throw.
// NOLINTNEXTLINE(bugprone-exception-escape)
void TorchThreads::run(int count, void (*task)(void* argument, int i), void* argument) noexcept {
  torch::stable::parallel_for(0, count, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) task(argument, static_cast<int>(i));
  });
}

template <class AskSize>
void CallContext::enter(const Tensor& x, const AskSize& ask_size) {
  if (!x.is_cuda()) {
    if (x.numel() > kFewElements) context_.executor = &threads_;
    if (const StopCheck check = stop_check.load()) {
      context_.interrupt = &interrupt_.emplace(check);
    }
    return;
  }
  const std::int32_t device = x.get_device_index();
  guard_.emplace(device);
  context_.device = Device::cuda;
  context_.stream = current_stream(device);
  std::size_t bytes = 0;
  raise_unless_ok(ask_size(bytes));
  if (bytes == 0) return;
  const std::array<std::int64_t, 1> shape = {static_cast<std::int64_t>(bytes)};
  workspace_ = make_tensor(shape, ScalarType::Byte, x);
  context_.workspace = workspace_->mutable_data_ptr();
  context_.workspace_size = bytes;
}

CallContext::CallContext(const Tensor& x, bool weighted, std::int64_t dim) {
  enter(x, [&](std::size_t& bytes) {
    return prox_tv1d_workspace(view_of("x", x), weighted, static_cast<int>(dim), context_, bytes);
  });
}

CallContext::CallContext(const Tensor& x, const Problem1d& problem) {
  enter(x, [&](std::size_t& bytes) {
    return prox_tv1d_newton_workspace(problem.x, problem.dim, context_, bytes);
  });
}

CallContext::CallContext(const Tensor& x, const Problem2d& problem) {
  enter(x, [&](std::size_t& bytes) { return prox_tv2d_workspace(problem, context_, bytes); });
}

CallContext::CallContext(const Tensor& x, const Problem2d& problem, const Solver2d& solver) {
  enter(x,
        [&](std::size_t& bytes) { return prox_tv2d_workspace(problem, solver, context_, bytes); });
}

}  // namespace tautstring::torch_ops
