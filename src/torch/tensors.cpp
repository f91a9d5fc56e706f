#include "tensors.h"

#include <torch/csrc/stable/ops.h>

#include <algorithm>
#include <array>
#include <climits>
#include <stdexcept>
#include <string>

#include "tautstring/error.h"
#include "tautstring/partition.h"

namespace tautstring::torch_ops {
namespace {

constexpr std::int64_t kWordBytes = sizeof(std::uint32_t);

template <class SomeView, class Data>
SomeView make_view(const char* name, const Tensor& tensor, Data* data) {
  SomeView view;
  view.data = data;
  view.dtype = dtype_of(name, tensor);
  view.ndim = static_cast<int>(std::min<std::int64_t>(tensor.dim(), kMaxDims + 1));
  if (view.ndim > kMaxDims) return view;  // every call of the core returns an error that names it
  const auto shape = tensor.sizes();
  const auto strides = tensor.strides();
  std::copy(shape.begin(), shape.end(), view.shape);
  std::copy(strides.begin(), strides.end(), view.strides);
  return view;
}

/// Calls the allocator directly: through the dispatcher it takes several times as long.
Tensor make_strided(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides,
                    ScalarType dtype, const Tensor& like) {
  AtenTensorHandle handle = nullptr;
  std::int32_t device_type = 0;
  TORCH_ERROR_CODE_CHECK(aoti_torch_get_device_type(like.get(), &device_type));
  TORCH_ERROR_CODE_CHECK(aoti_torch_empty_strided(
      static_cast<std::int64_t>(shape.size()), shape.data(), strides.data(),
      static_cast<std::int32_t>(torch::stable::detail::from(dtype)), device_type,
      like.get_device_index(), &handle));
  return Tensor(handle);
}

bool same_device(const Tensor& a, const Tensor& b) {
  return a.is_cuda() == b.is_cuda() && a.is_cpu() == b.is_cpu() &&
         a.get_device_index() == b.get_device_index();
}

std::string device_text(const Tensor& tensor) {
  if (tensor.is_cpu()) return "cpu";
  const std::string type = tensor.is_cuda() ? "cuda" : "another device";
  return type + ":" + std::to_string(tensor.get_device_index());
}

void require_index(const char* dim_name, std::int64_t dim, const char* name, std::int64_t dims) {
  if (dim >= 0 && dim < dims) return;
  raise_invalid(std::string(dim_name) + ": must be from 0 to " + std::to_string(dims - 1) +
                " for this " + name + ", got " + std::to_string(dim));
}

}  // namespace

DType dtype_of(const char* name, const Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case ScalarType::Half: return DType::float16;
    case ScalarType::BFloat16: return DType::bfloat16;
    case ScalarType::Float: return DType::float32;
    case ScalarType::Double: return DType::float64;
    default: break;
  }
  raise_invalid(std::string(name) + ": dtype must be float16, bfloat16, float32 or float64");
}

ConstView view_of(const char* name, const Tensor& tensor) {
  return make_view<ConstView>(name, tensor, tensor.const_data_ptr());
}

ConstView view_of(const char* name, const std::optional<Tensor>& tensor) {
  return tensor ? view_of(name, *tensor) : ConstView{};
}

View output_view_of(const char* name, const Tensor& tensor) {
  return make_view<View>(name, tensor, tensor.mutable_data_ptr());
}

std::span<const std::uint32_t> words_of(const Tensor& partition) {
  const void* bytes = partition.const_data_ptr();
  if (partition.scalar_type() != ScalarType::Byte || !partition.is_contiguous() ||
      partition.numel() % kWordBytes != 0 ||
      reinterpret_cast<std::uintptr_t>(bytes) % alignof(std::uint32_t) != 0) {
    raise_invalid("partition: must be uint8 in whole aligned words, without gaps");
  }
  return {static_cast<const std::uint32_t*>(bytes),
          static_cast<std::size_t>(partition.numel() / kWordBytes)};
}

std::span<std::uint32_t> output_words_of(const Tensor& partition) {
  return {static_cast<std::uint32_t*>(partition.mutable_data_ptr()),
          static_cast<std::size_t>(partition.numel() / kWordBytes)};
}

void require_dim(const char* name, const Tensor& tensor, std::int64_t dim) {
  const std::int64_t dims = tensor.dim();
  if (dims == 0) raise_invalid(std::string(name) + ": must have at least one dimension");
  require_index("dim", dim, name, dims);
}

ImageDims require_image_dims(const char* name, std::int64_t ndim, std::int64_t height_dim,
                             std::int64_t width_dim) {
  if (ndim < 2) {
    raise_invalid(std::string(name) + ": must have at least 2 dimensions, got " +
                  std::to_string(ndim));
  }
  require_index("height_dim", height_dim, name, ndim);
  require_index("width_dim", width_dim, name, ndim);
  if (height_dim == width_dim) {
    raise_invalid("width_dim: must not be height_dim, got " + std::to_string(width_dim));
  }
  return {.height = static_cast<int>(height_dim), .width = static_cast<int>(width_dim)};
}

int clamped(std::int64_t count) {
  return static_cast<int>(std::clamp<std::int64_t>(count, 0, INT_MAX));
}

std::vector<std::int64_t> shape_with_size(const Tensor& x, std::int64_t dim, std::int64_t size) {
  const auto sizes = x.sizes();
  std::vector<std::int64_t> shape(sizes.begin(), sizes.end());
  shape[static_cast<std::size_t>(dim)] = size;
  return shape;
}

Tensor make_partition(const Tensor& x, std::int64_t dim, bool is_kept) {
  std::vector<std::int64_t> shape = batch_of_rows(x, dim);
  shape.push_back(is_kept ? kWordBytes * partition_words(x.size(dim)) : 0);
  return make_tensor(shape, ScalarType::Byte, x);
}

std::vector<std::int64_t> batch_of_rows(const Tensor& x, std::int64_t dim) {
  const auto sizes = x.sizes();
  std::vector<std::int64_t> shape(sizes.begin(), sizes.end());
  shape.erase(shape.begin() + dim);
  return shape;
}

std::vector<std::int64_t> batch_of_images(const Tensor& x, const ImageDims& dims) {
  const auto sizes = x.sizes();
  std::vector<std::int64_t> shape(sizes.begin(), sizes.end());
  shape.erase(shape.begin() + std::max(dims.height, dims.width));
  shape.erase(shape.begin() + std::min(dims.height, dims.width));
  return shape;
}

Tensor make_tensor(std::span<const std::int64_t> shape, ScalarType dtype, const Tensor& like) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t stride = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= std::max<std::int64_t>(shape[d], 1);
  }
  return make_strided(shape, strides, dtype, like);
}

Tensor make_like(const Tensor& like, ScalarType dtype) {
  if (like.is_contiguous()) {
    const auto shape = like.sizes();
    const auto strides = like.strides();
    return make_strided({shape.data(), shape.size()}, {strides.data(), strides.size()}, dtype,
                        like);
  }
  using torch::stable::detail::from;
  std::array<StableIValue, 6> stack = {from(like),         from(std::optional(dtype)),
                                       from(std::nullopt), from(std::nullopt),
                                       from(std::nullopt), from(std::nullopt)};
  TORCH_ERROR_CODE_CHECK(
      torch_call_dispatcher("aten::empty_like", "", stack.data(), TORCH_ABI_VERSION));
  return torch::stable::detail::to<Tensor>(stack[0]);
}

Tensor make_nothing(const Tensor& like) {
  constexpr std::array<std::int64_t, 1> kShape = {0};
  return make_tensor(kShape, like.scalar_type(), like);
}

Tensor make_tangent(const std::optional<Tensor>& tangent_x, const Tensor& saved,
                    std::vector<DimSize> sizes, ScalarType dtype) {
  if (tangent_x) return make_like(*tangent_x, dtype);
  const auto batch = saved.sizes();
  std::vector<std::int64_t> shape(batch.begin(), batch.end() - 1);
  std::sort(sizes.begin(), sizes.end());
  for (const auto& [dim, size] : sizes) shape.insert(shape.begin() + dim, size);
  return make_tensor(shape, dtype, saved);
}

void require_device_of(const char* other_name, const Tensor& other, const char* name,
                       const Tensor& tensor) {
  if (same_device(other, tensor)) return;
  raise_invalid(std::string(name) + ": must be on " + other_name + "'s device " +
                device_text(other) + ", got " + device_text(tensor));
}

void require_device_of(const char* other_name, const Tensor& other, const char* name,
                       const std::optional<Tensor>& tensor) {
  if (tensor) require_device_of(other_name, other, name, *tensor);
}

void raise_invalid(const std::string& text) {
  throw std::runtime_error(kInvalidArgument + text);
}

void raise_unless_ok(const Status& status) {
  if (status.ok()) return;
  if (status.code == StatusCode::invalid_argument) raise_invalid(message(status));
  if (status.code == StatusCode::interrupted) throw std::runtime_error(kInterrupted);
  throw std::runtime_error("tautstring: " + message(status));
}

}  // namespace tautstring::torch_ops
