// From torch's stable-ABI tensors to the core's views, new tensors for results,
// and from a Status to the exception that Python sees. Nothing here computes.
#pragma once

#include <torch/csrc/stable/tensor.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tautstring/status.h"
#include "tautstring/view.h"

namespace tautstring::torch_ops {

using torch::headeronly::ScalarType;
using torch::stable::Tensor;

/// The dtype of a tensor in the core's terms; an error that names the argument
/// where the core does not know it.
DType dtype_of(const char* name, const Tensor& tensor);

/// Views of a tensor's own memory, which must outlive them. A tensor not given
/// makes a view not given.
ConstView view_of(const char* name, const Tensor& tensor);
ConstView view_of(const char* name, const std::optional<Tensor>& tensor);
View output_view_of(const char* name, const Tensor& tensor);

/// The words of a partition, one row after the other. Its tensor has bytes: a size
/// of 1, as the words of a short row would have, makes compilers of graphs take the
/// length of rows for a constant.
std::span<const std::uint32_t> words_of(const Tensor& partition);
std::span<std::uint32_t> output_words_of(const Tensor& partition);

/// The elements of a new tensor, one after the other; of none where it has none.
template <class T>
std::span<T> output_span_of(const Tensor& tensor) {
  return {static_cast<T*>(tensor.mutable_data_ptr()), static_cast<std::size_t>(tensor.numel())};
}

/// An error unless `dim`, counted from the front, is a dimension of the tensor. The
/// ops know neither negative dims nor tensors without dimensions: vmap puts a dimension
/// in front of an op's tensors and counts on.
void require_dim(const char* name, const Tensor& tensor, std::int64_t dim);

/// The dimensions of a batch of images, counted from the front.
struct ImageDims {
  int height;
  int width;
};

/// The same for the two dimensions of images, in tensors of `ndim` dimensions.
ImageDims require_image_dims(const char* name, std::int64_t ndim, std::int64_t height_dim,
                             std::int64_t width_dim);

/// What the core takes as an int; a count that is none stays so.
int clamped(std::int64_t count);

/// x's shape with another size along dim.
std::vector<std::int64_t> shape_with_size(const Tensor& x, std::int64_t dim, std::int64_t size);

/// A new tensor on the device of `like`, without gaps, last dimension fastest.
Tensor make_tensor(std::span<const std::int64_t> shape, ScalarType dtype, const Tensor& like);

/// A new tensor of the shape and, where it has no gaps, the strides of `like`.
Tensor make_like(const Tensor& like, ScalarType dtype);

/// A new tensor for the partition of x's solution: x's batch, then the bytes of a
/// row, none of them where it is not to be kept.
Tensor make_partition(const Tensor& x, std::int64_t dim, bool is_kept);

/// x's shape without the dimension that its rows run along.
std::vector<std::int64_t> batch_of_rows(const Tensor& x, std::int64_t dim);

/// x's shape without the two dimensions of its images.
std::vector<std::int64_t> batch_of_images(const Tensor& x, const ImageDims& dims);

/// Where a result that nobody asked for would stand: torch wants a tensor there.
Tensor make_nothing(const Tensor& like);

/// An error unless a tensor is on the device of another.
void require_device_of(const char* other_name, const Tensor& other, const char* name,
                       const Tensor& tensor);
void require_device_of(const char* other_name, const Tensor& other, const char* name,
                       const std::optional<Tensor>& tensor);

/// Throws what Python sees as RuntimeError, with the status's own text. These texts mark the errors
/// that tautstring.functional turns into others: a ValueError of what follows the first, and what a
/// signal's handler raised. Python reads them from here.
inline constexpr const char* kInvalidArgument = "tautstring: invalid argument: ";
inline constexpr const char* kInterrupted =
    "tautstring: interrupted: the call was stopped before its end";
[[noreturn]] void raise_invalid(const std::string& text);
void raise_unless_ok(const Status& status);

}  // namespace tautstring::torch_ops
