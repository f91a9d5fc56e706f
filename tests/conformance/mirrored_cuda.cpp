// The CUDA backend for calls with host pointers: all memory of a call is mirrored in device memory,
// at the same address modulo 256 and with the same overlaps, and copied back after the call. Guard
// bytes around every mirrored range and after the workspace must not change; nor may a range that
// is only read.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <vector>

#include "tested_backend.h"

namespace tautstring::testing {
namespace {

using namespace tautstring::detail;

constexpr int kUntouched = 0xFF;
constexpr std::size_t kGuard = 256;  // also what device memory is aligned to

/// Device memory that grows and is reused: tests make many small calls.
class DeviceMemory {
 public:
  std::byte* at_least(std::size_t size) {
    if (size > size_) {
      cudaFree(data_);
      size_ = std::max(size, 2 * size_);
      EXPECT_EQ(cudaMalloc(reinterpret_cast<void**>(&data_), size_), cudaSuccess);
    }
    return data_;
  }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Host memory from `begin` to `end`, mirrored `offset` bytes into the device's.
struct Range {
  std::uintptr_t begin;
  std::uintptr_t end;
  bool written;
  std::size_t offset = 0;

  [[nodiscard]] std::size_t size() const { return end - begin; }
  [[nodiscard]] void* host() const { return reinterpret_cast<void*>(begin); }
};

class Mirror {
 public:
  template <class Data>
  void add(const BasicRowArray<Data>& array, const Rows& rows) {
    if (!array.given || rows.count == 0 || array.size == 0) return;
    std::int64_t low = 0;
    std::int64_t high = 0;
    const auto reach = [&](std::int64_t steps, std::int64_t stride) {
      (stride < 0 ? low : high) += steps * stride;
    };
    reach(array.size - 1, array.stride);
    for (int d = 0; d < rows.batch_dims; ++d) {
      reach(rows.batch_shape[d] - 1, array.batch_strides[d]);
    }
    const std::int64_t bytes = size_of(array.dtype);
    const auto* first = static_cast<const std::byte*>(array.data) + low * bytes;
    add(first, static_cast<std::size_t>((high - low + 1) * bytes), !std::is_const_v<Data>);
  }

  template <class Data>
  void add(const BasicImageArray<Data>& array, const Images& images) {
    Rows rows;
    rows.batch_dims = images.batch_dims + 1;
    std::copy_n(images.batch_shape, images.batch_dims, rows.batch_shape);
    rows.batch_shape[images.batch_dims] = array.height;
    rows.count = images.count * array.height;
    BasicRowArray<Data> lines = {array.data,  array.dtype,         array.given,
                                 array.width, array.column_stride, {}};
    std::copy_n(array.batch_strides, images.batch_dims, lines.batch_strides);
    lines.batch_strides[images.batch_dims] = array.row_stride;
    add(lines, rows);
  }

  void add(const void* data, std::size_t size, bool written) {
    const auto begin = reinterpret_cast<std::uintptr_t>(data);
    if (data != nullptr && size > 0) ranges_.push_back({begin, begin + size, written});
  }

  /// Copies everything to the device; afterwards pointers can be translated.
  void upload(DeviceMemory& memory) {
    merge();
    std::size_t size = kGuard;
    for (Range& range : ranges_) {
      range.offset = size + range.begin % kGuard;
      size = (range.offset + range.size() + kGuard - 1) / kGuard * kGuard + kGuard;
    }
    before_.assign(size, std::byte{kUntouched});
    for (const Range& range : ranges_) {
      std::memcpy(before_.data() + range.offset, range.host(), range.size());
    }
    device_ = memory.at_least(size);
    EXPECT_EQ(cudaMemcpy(device_, before_.data(), size, cudaMemcpyHostToDevice), cudaSuccess);
  }

  template <class T>
  [[nodiscard]] T* on_device(T* host) const {
    const auto address = reinterpret_cast<std::uintptr_t>(host);
    for (const Range& range : ranges_) {
      if (address < range.begin || address >= range.end) continue;
      return reinterpret_cast<T*>(device_ + range.offset + (address - range.begin));
    }
    return host;  // touches nothing
  }

  /// Copies back what may have been written, and expects everything else to be unchanged.
  void download() {
    std::vector<std::byte> after(before_.size());
    EXPECT_EQ(cudaMemcpy(after.data(), device_, after.size(), cudaMemcpyDeviceToHost), cudaSuccess);
    for (const Range& range : ranges_) {
      if (!range.written) continue;
      std::memcpy(range.host(), after.data() + range.offset, range.size());
      std::memcpy(before_.data() + range.offset, after.data() + range.offset, range.size());
    }
    EXPECT_TRUE(after == before_) << "the call wrote where it must not";
  }

 private:
  /// Merges ranges that overlap, so that in-place calls stay in place.
  void merge() {
    std::sort(ranges_.begin(), ranges_.end(),
              [](const Range& a, const Range& b) { return a.begin < b.begin; });
    std::vector<Range> merged;
    for (const Range& range : ranges_) {
      if (merged.empty() || range.begin >= merged.back().end) {
        merged.push_back(range);
      } else {
        merged.back().end = std::max(merged.back().end, range.end);
        merged.back().written |= range.written;
      }
    }
    ranges_ = std::move(merged);
  }

  std::vector<Range> ranges_;
  std::vector<std::byte> before_;
  std::byte* device_ = nullptr;
};

/// Calls use(array) for every array of a call.
template <class Use>
void for_each_array(Forward1d& call, Use use) {
  use(call.x);
  use(call.lam.array);
  use(call.weight);
  use(call.y);
}
template <class Use>
void for_each_array(Backward1d& call, Use use) {
  use(call.solved.x);
  use(call.solved.y);
  use(call.solved.weight);
  use(call.grad_y);
  use(call.grad_x);
  use(call.grad_lam);
  use(call.grad_weight);
}
template <class Use>
void for_each_array(Jvp1d& call, Use use) {
  use(call.solved.x);
  use(call.solved.y);
  use(call.solved.weight);
  use(call.tangent_x);
  use(call.tangent_lam);
  use(call.tangent_weight);
  use(call.tangent_y);
}
template <class Use>
void for_each_array(Certificate1d& call, Use use) {
  use(call.x);
  use(call.lam.array);
  use(call.weight);
  use(call.y);
  use(call.out);
}
template <class Use>
void for_each_array(RowReduction& call, Use use) {
  use(call.x);
  use(call.weight);
  use(call.out);
}

template <class Use>
void for_each_array(NewtonForward1d& call, Use use) {
  use(call.problem.x);
  use(call.problem.lam.array);
  use(call.problem.y);
  use(call.start);
  use(call.dual);
}

template <class Use>
void for_each_array(Forward2d& call, Use use) {
  use(call.x);
  use(call.lam_rows.array);
  use(call.lam_cols.array);
  use(call.start);
  use(call.y);
  use(call.dual);
}
template <class Use>
void for_each_array(Gap2d& call, Use use) {
  use(call.x);
  use(call.lam_rows.array);
  use(call.lam_cols.array);
  use(call.y);
  use(call.dual);
}
template <class Use>
void for_each_array(Backward2d& call, Use use) {
  use(call.grad_y);
  use(call.grad_x);
  use(call.grad_lam_rows);
  use(call.grad_lam_cols);
}
template <class Use>
void for_each_array(Jvp2d& call, Use use) {
  use(call.tangent_x);
  use(call.tangent_lam_rows);
  use(call.tangent_lam_cols);
  use(call.tangent_y);
}

/// Calls use(list, size) for every list of a call that has more than one.
template <class Use>
void for_each_list(NewtonForward1d& call, Use use) {
  const Rows& rows = call.problem.rows;
  use(call.problem.partition, rows.count * partition_words(rows.n));
  use(call.gap, rows.count);
  use(call.iterations, rows.count);
  use(call.converged, rows.count);
}
template <class Use>
void for_each_list(Forward2d& call, Use use) {
  const std::int64_t images = call.images.count;
  const bool implicit = call.solver.derivative == Derivative2d::implicit;
  use(call.partitions, SavedPasses(call.images).words() * (implicit ? 1 : call.solver.iterations));
  use(call.momentum, images * call.solver.iterations);
  use(call.gap, images);
  use(call.objective, images);
  use(call.converged, images);
  use(call.iterations, images);
}
template <class Use>
void for_each_list(Gap2d& call, Use use) {
  use(call.gap, call.images.count);
}
template <class Call, class Use>
void for_each_list(Call& call, Use use) {
  SolvedImages& solved = call.solved;
  const bool implicit = solved.derivative == Derivative2d::implicit;
  use(solved.partitions, SavedPasses(solved.images).words() * (implicit ? 1 : solved.iterations));
  use(solved.momentum, solved.images.count * solved.iterations);
  use(solved.done, solved.images.count);
}

/// The workspace request of a caller that knows the call.
Workspace2d request_of(const Forward2d& call) {
  return {call.images, call.x.dtype, is_by_edge(call.lam_rows.array, call.lam_cols.array),
          is_plain(call)};
}
Workspace2d request_of(const Backward2d& call) {
  return {call.solved.images, call.grad_y.dtype, is_by_edge(call.grad_lam_rows, call.grad_lam_cols),
          is_plain(call)};
}
Workspace2d request_of(const Gap2d& call) {
  return {.images = call.images, .dtype = call.x.dtype};
}
Workspace2d request_of(const Jvp2d& call) {
  return {.images = call.solved.images, .dtype = call.tangent_y.dtype};
}

/// The arguments of a call besides arrays.
template <class Call>
const Rows& rows_of(const Call& call) {
  if constexpr (requires { call.solved; }) {
    return call.solved.rows;
  } else {
    return call.rows;
  }
}
template <class Call>
bool is_weighted(const Call& call) {
  if constexpr (requires { call.solved; }) {
    return call.solved.weight.given;
  } else {
    return call.weight.given;
  }
}
template <class Call, class Use>
void with_partition(Call& call, Use use) {
  if constexpr (requires { call.solved; }) {
    use(call.solved.partition);
  } else if constexpr (requires { call.partition; }) {
    use(call.partition);
  }
}

/// A workspace of the size that the backend requests, or with the size, and the address modulo the
/// alignment, of the one that a test provides.
class Workspace {
 public:
  Workspace(DeviceMemory& memory, std::size_t bytes, const Context& given) {
    std::size_t misplaced = 0;
    if (given.workspace != nullptr) {
      bytes = given.workspace_size;
      misplaced = reinterpret_cast<std::uintptr_t>(given.workspace) % kGuard;
    }
    std::byte* data = memory.at_least(misplaced + bytes + kGuard);
    EXPECT_EQ(cudaMemset(data, kUntouched, misplaced + bytes + kGuard), cudaSuccess);
    context_.device = Device::cuda;
    context_.workspace = data + misplaced;
    context_.workspace_size = bytes;
  }

  [[nodiscard]] const Context& context() const { return context_; }

  void expect_guard_untouched() const {
    std::vector<std::byte> guard(kGuard);
    const auto* end = static_cast<const std::byte*>(context_.workspace) + context_.workspace_size;
    EXPECT_EQ(cudaMemcpy(guard.data(), end, kGuard, cudaMemcpyDeviceToHost), cudaSuccess);
    EXPECT_EQ(guard, std::vector<std::byte>(kGuard, std::byte{kUntouched}));
  }

 private:
  Context context_;
};

/// The device memory of all calls, which run one at a time.
struct CallMemory {
  std::mutex one_at_a_time;
  DeviceMemory arrays;
  DeviceMemory workspace;
};
CallMemory& call_memory() {
  static CallMemory memory;
  return memory;
}

/// Makes the call with a workspace of that many bytes and waits for it.
template <auto kFunction, class Call>
Status run(const Call& call, std::size_t workspace_bytes, const Context& given) {
  const Workspace workspace(call_memory().workspace, workspace_bytes, given);
  const Status status = (kCudaBackend.*kFunction)(call, workspace.context());
  const cudaError_t error = cudaDeviceSynchronize();
  if (error != cudaSuccess) {
    ADD_FAILURE() << cudaGetErrorString(error);
    return {.code = StatusCode::device_error, .device_error = error};
  }
  workspace.expect_guard_untouched();
  return status;
}

template <auto kFunction, class Call>
Status mirrored(const Call& call, const Context& context) noexcept {
  const std::lock_guard lock(call_memory().one_at_a_time);
  const Rows& rows = rows_of(call);
  const std::size_t partition_bytes =
      sizeof(std::uint32_t) * static_cast<std::size_t>(rows.count * partition_words(rows.n));
  Call on_device = call;
  Mirror mirror;
  for_each_array(on_device, [&](auto& array) { mirror.add(array, rows); });
  with_partition(on_device, [&](auto* words) {
    mirror.add(words, partition_bytes, !std::is_const_v<std::remove_pointer_t<decltype(words)>>);
  });
  mirror.upload(call_memory().arrays);
  for_each_array(on_device, [&](auto& array) { array.data = mirror.on_device(array.data); });
  with_partition(on_device, [&](auto*& words) { words = mirror.on_device(words); });
  const Status status = run<kFunction>(
      on_device, kCudaBackend.workspace1d(rows, is_weighted(call), context), context);
  if (status.code != StatusCode::device_error) mirror.download();
  return status;
}

/// Mirrors a call with arrays of rows or images (`shape`), and lists.
template <auto kFunction, class Call, class Shape>
Status mirrored_with_lists(const Call& call, const Shape& shape, std::size_t workspace_bytes,
                           const Context& context) {
  const std::lock_guard lock(call_memory().one_at_a_time);
  Call on_device = call;
  Mirror mirror;
  for_each_array(on_device, [&](auto& array) { mirror.add(array, shape); });
  for_each_list(on_device, [&](auto* list, std::int64_t size) {
    mirror.add(list, sizeof(*list) * static_cast<std::size_t>(size),
               !std::is_const_v<std::remove_pointer_t<decltype(list)>>);
  });
  mirror.upload(call_memory().arrays);
  for_each_array(on_device, [&](auto& array) { array.data = mirror.on_device(array.data); });
  for_each_list(on_device,
                [&](auto*& list, std::int64_t /*size*/) { list = mirror.on_device(list); });
  const Status status = run<kFunction>(on_device, workspace_bytes, context);
  if (status.code != StatusCode::device_error) mirror.download();
  return status;
}

template <auto kFunction, class Call>
Status mirrored_images(const Call& call, const Context& context) noexcept {
  const Workspace2d request = request_of(call);
  return mirrored_with_lists<kFunction>(call, request.images,
                                        kCudaBackend.workspace2d(request, context), context);
}

std::size_t newton_workspace1d(const Rows& rows, const Context& context) noexcept {
  return kCudaBackend.newton_workspace1d(rows, context);
}

Status mirrored_newton(const NewtonForward1d& call, const Context& context) noexcept {
  const Rows& rows = call.problem.rows;
  return mirrored_with_lists<&Backend::newton1d>(call, rows, newton_workspace1d(rows, context),
                                                 context);
}

std::size_t workspace1d(const Rows& rows, bool weighted, const Context& context) noexcept {
  return kCudaBackend.workspace1d(rows, weighted, context);
}

std::size_t workspace2d(const Workspace2d& request, const Context& context) noexcept {
  return kCudaBackend.workspace2d(request, context);
}

constexpr Backend kMirroredCuda = {
    .targets = nullptr,
    .target = nullptr,
    .error_text = nullptr,
    .workspace1d = workspace1d,
    .forward1d = mirrored<&Backend::forward1d, Forward1d>,
    .backward1d = mirrored<&Backend::backward1d, Backward1d>,
    .jvp1d = mirrored<&Backend::jvp1d, Jvp1d>,
    .certificate1d = mirrored<&Backend::certificate1d, Certificate1d>,
    .lam_max = mirrored<&Backend::lam_max, RowReduction>,
    .tv = mirrored<&Backend::tv, RowReduction>,
    .newton_workspace1d = newton_workspace1d,
    .newton1d = mirrored_newton,
    .workspace2d = workspace2d,
    .forward2d = mirrored_images<&Backend::forward2d, Forward2d>,
    .backward2d = mirrored_images<&Backend::backward2d, Backward2d>,
    .jvp2d = mirrored_images<&Backend::jvp2d, Jvp2d>,
    .gap2d = mirrored_images<&Backend::gap2d, Gap2d>,
};

}  // namespace

const Backend& tested_backend() {
  return kMirroredCuda;
}

const char* why_not() {
  int devices = 0;
  const cudaError_t error = cudaGetDeviceCount(&devices);
  if (error != cudaSuccess) return cudaGetErrorString(error);
  return devices > 0 ? nullptr : "no CUDA device found";
}

}  // namespace tautstring::testing
