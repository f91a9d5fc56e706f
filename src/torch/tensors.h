// From torch's stable-ABI tensors to the core's views, new tensors for results,
// and from a Status to the exception that Python sees. Nothing here computes.
#pragma once

#include <torch/csrc/stable/tensor.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tautstring/status.h"
#include "tautstring/view.h"

namespace tautstring::torch_ops {

using torch::headeronly::ScalarType;
using torch::stable::Tensor;

/// The core's dtype for a tensor; throws an error that names the argument if the core has none.
DType dtype_of(const char* name, const Tensor& tensor);

/// Views of a tensor's own memory, which must outlive them. For a tensor that is not given, the
/// view is not given either.
ConstView view_of(const char* name, const Tensor& tensor);
ConstView view_of(const char* name, const std::optional<Tensor>& tensor);
View output_view_of(const char* name, const Tensor& tensor);

/// The words of a partition, one row after the other. Its tensor is of bytes: a short row has one
/// word, and a size of 1 makes graph compilers treat the row length as a constant.
std::span<const std::uint32_t> words_of(const Tensor& partition);
std::span<std::uint32_t> output_words_of(const Tensor& partition);

/// The elements of a new tensor, one after the other; an empty span if it has none.
template <class T>
std::span<T> output_span_of(const Tensor& tensor) {
  return {static_cast<T*>(tensor.mutable_data_ptr()), static_cast<std::size_t>(tensor.numel())};
}

/// Throws unless `dim`, counted from the front, is a dimension of the tensor. The ops support
/// neither negative dims nor tensors without dimensions: vmap adds a dimension in front of an op's
/// tensors and increments dims.
void require_dim(const char* name, const Tensor& tensor, std::int64_t dim);

/// The dimensions of a batch of images, counted from the front.
struct ImageDims {
  int height;
  int width;
};

/// The same for the two dimensions of images, in tensors of `ndim` dimensions.
ImageDims require_image_dims(const char* name, std::int64_t ndim, std::int64_t height_dim,
                             std::int64_t width_dim);

/// A count as the int that the core takes; an invalid count stays invalid.
int clamped(std::int64_t count);

/// x's shape with another size along dim.
std::vector<std::int64_t> shape_with_size(const Tensor& x, std::int64_t dim, std::int64_t size);

/// A new tensor on the device of `like`, without gaps, last dimension fastest.
Tensor make_tensor(std::span<const std::int64_t> shape, ScalarType dtype, const Tensor& like);

/// A new tensor with the shape and, if it has no gaps, the strides of `like`.
Tensor make_like(const Tensor& like, ScalarType dtype);

/// A new tensor for the partition of x's solution, with the shape of x's batch, then the number of
/// bytes of a row, 0 if the partition is not kept.
Tensor make_partition(const Tensor& x, std::int64_t dim, bool is_kept);

/// x's shape without the dimension that its rows run along.
std::vector<std::int64_t> batch_of_rows(const Tensor& x, std::int64_t dim);

/// x's shape without the two dimensions of its images.
std::vector<std::int64_t> batch_of_images(const Tensor& x, const ImageDims& dims);

/// The placeholder for a result that was not requested: torch wants a tensor there.
Tensor make_nothing(const Tensor& like);

/// A dimension of x, counted from the front, and the size along it.
using DimSize = std::pair<std::int64_t, std::int64_t>;

/// A tensor of x's shape for its tangent: like `tangent_x` if that is given. Else the shape follows
/// from `saved`, which has the batch dimensions and one more, and from the sizes along the others.
Tensor make_tangent(const std::optional<Tensor>& tangent_x, const Tensor& saved,
                    std::vector<DimSize> sizes, ScalarType dtype);

/// Throws unless a tensor is on the device of another one.
void require_device_of(const char* other_name, const Tensor& other, const char* name,
                       const Tensor& tensor);
void require_device_of(const char* other_name, const Tensor& other, const char* name,
                       const std::optional<Tensor>& tensor);

/// Throws an exception that becomes RuntimeError in Python, with the status's own text. These
/// prefixes mark the errors that tautstring.functional converts: the first to ValueError with the
/// text after it, the second to the exception of the signal's handler. Python reads them from here.
inline constexpr const char* kInvalidArgument = "tautstring: invalid argument: ";
inline constexpr const char* kInterrupted =
    "tautstring: interrupted: the call was stopped before its end";
[[noreturn]] void raise_invalid(const std::string& text);
void raise_unless_ok(const Status& status);

}  // namespace tautstring::torch_ops
