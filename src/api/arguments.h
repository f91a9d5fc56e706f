// Checks the metadata of arguments (never their values) and lays them out by
// rows for a backend. Every check names the argument at fault.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>

#include "api/call_interrupt.h"
#include "backend.h"
#include "tautstring/status.h"
#include "tautstring/view.h"

namespace tautstring::detail {

/// Returns the backend for a device; null if this build has none.
const Backend* find_backend(Device device) noexcept;

[[nodiscard]] constexpr Status unsupported_device() noexcept {
  return {.code = StatusCode::unsupported_device, .argument = "device"};
}

/// The range of bytes that an argument touches, and the comb of strides on which its elements lie.
struct Footprint {
  Footprint(const ConstView& view) noexcept;  // NOLINT(google-explicit-constructor)
  Footprint(const View& view) noexcept        // NOLINT(google-explicit-constructor)
      : Footprint(ConstView(view)) {}
  Footprint(const void* data, std::int64_t bytes) noexcept;

  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;  // begin == end: empty
  std::uint64_t step = 0;  // all elements lie on begin + multiples of step; 0: one element
  std::uint64_t item = 0;  // bytes per element
};

/// The footprint of a list.
template <class T>
[[nodiscard]] Footprint footprint(std::span<T> list) noexcept {
  return {list.data(), static_cast<std::int64_t>(list.size_bytes())};
}

/// A list that a call writes.
struct OutputList {
  const char* name;
  Footprint own;
};

/// Whether two arguments may share memory. Exact for separate and interleaved arrays; true where it
/// cannot tell.
[[nodiscard]] bool may_overlap(const Footprint& a, const Footprint& b) noexcept;

/// Whether both views have the same elements in the same order.
[[nodiscard]] bool same_elements(const ConstView& a, const ConstView& b) noexcept;

/// How an argument steps through its dimensions. It refers to the shape and strides of the view.
struct Steps {
  template <class Data>
  Steps(const BasicView<Data>& view) noexcept  // NOLINT(google-explicit-constructor)
      : ndim(view.ndim), shape(view.shape), strides(view.strides) {}

  /// The step from one element to the next along dimension `dim` of the `ndim_of_batch` that it
  /// broadcasts to: 0 where it broadcasts.
  [[nodiscard]] std::int64_t along(int dim, int ndim_of_batch) const noexcept;
  [[nodiscard]] bool is_empty() const noexcept;

  int ndim;
  const std::int64_t* shape;
  const std::int64_t* strides;
};

/// Checks the arguments of one call, one after the other, and keeps the first error.
class Arguments {
 public:
  /// Starts with the array that defines the shape of the batch. Views may have more dimensions than
  /// a backend supports. Batch dimensions that all `arrays` of the call step through evenly are
  /// then folded into one, but not across `dim` or `other_dim` (counted from the front; -1: none).
  Arguments(const char* name, const ConstView& shaped, int dim,
            std::initializer_list<Steps> arrays = {}, int other_dim = -1) noexcept;

  /// The batch dimension that a dimension of the batch's array, counted from the front, belongs to;
  /// -1 for a dimension that the array cannot have, which is an error then.
  [[nodiscard]] int place_of(int dim) const noexcept {
    return dim >= 0 && dim < kMaxDims ? place_[dim] : -1;
  }

  [[nodiscard]] const Rows& rows() const noexcept { return rows_; }
  [[nodiscard]] const Status& status() const noexcept { return status_; }
  [[nodiscard]] bool ok() const noexcept { return status_.ok(); }

  /// The size of an array along a row: n elements, one, n - 1, or one or n - 1.
  enum class Along : std::uint8_t { elements, row, edges, row_or_edges };

  /// An input of the batch's own shape, except for its size along a row.
  ConstRowArray shaped(const char* name, const ConstView& view, Along along) noexcept;
  /// An input that broadcasts to the batch.
  ConstRowArray broadcast(const char* name, const ConstView& view, Along along) noexcept;
  /// The same for an optional argument.
  ConstRowArray optional_broadcast(const char* name, const ConstView& view, Along along) noexcept;
  /// An output of the batch's own shape; no two of its elements share memory.
  RowArray output(const char* name, const View& view, Along along) noexcept;
  RowArray optional_output(const char* name, const View& view, Along along) noexcept;
  /// The gradient of lams, if it is given: an output that may have size 1 in batch dimensions, for
  /// rows that share a lambda. Sums over rows are formed on the CPU only, for lams that are one per
  /// row.
  RowArray lam_gradient(const char* name, const View& view, Device device) noexcept;

  RowLam lam(const Lam& lam) noexcept;

  /// Requires that an output shares no memory with the others. It may be exactly the view
  /// `in_place`, since a row is read before it is written.
  void require_apart(const char* name, const View& output, const ConstView& in_place,
                     std::initializer_list<Footprint> others) noexcept;
  /// Lists that are written share no memory with inputs, nor with one another.
  void require_apart(std::span<const OutputList> lists,
                     std::initializer_list<Footprint> inputs) noexcept;
  static constexpr const char* kApart =
      "must not share memory with another argument, unless it is exactly the view of the "
      "input that it replaces";

  void require(bool condition, const char* name, const char* expected, double given) noexcept;
  void require_partition(std::size_t size) noexcept;
  void fail(const Status& status) noexcept;
  void fail(const char* name, const char* expected) noexcept;
  void fail(const char* name, const char* expected, double given, std::int64_t index = -1) noexcept;

 private:
  void set_batch(const char* name, const ConstView& shaped, int dim,
                 std::initializer_list<Steps> arrays, int other_dim) noexcept;
  /// Assigns each batch dimension its place and returns the number of places.
  int place_dims(const ConstView& shaped, std::initializer_list<Steps> arrays,
                 int other_dim) noexcept;
  bool check_view(const char* name, const ConstView& view) noexcept;
  ConstRowArray lay_out(const char* name, const ConstView& view, Along along,
                        bool broadcasts) noexcept;
  RowArray as_output(const char* name, const View& view, const ConstRowArray& checked) noexcept;
  /// Whether rows of the batch share elements of an array that broadcasts to it.
  [[nodiscard]] bool is_shared(const ConstView& view) const noexcept;

  Rows rows_;
  int ndim_ = 0;
  int dim_ = 0;
  int place_[kMaxDims] = {};                 // of each dimension except dim_
  std::int64_t batch_shape_[kMaxDims] = {};  // of x, before dimensions are folded
  Status status_;
};

/// Forwards a checked call to the backend of its device.
template <class Call>
Status dispatch(const Arguments& arguments,
                Status (*Backend::*function)(const Call&, const Context&) noexcept,
                const Call& call, const Context& context) noexcept {
  if (!arguments.ok()) return arguments.status();
  const Backend* backend = find_backend(context.device);
  if (backend == nullptr || backend->*function == nullptr) return unsupported_device();
  if (context.interrupt == nullptr) return (backend->*function)(call, context);
  constexpr Status interrupted = {.code = StatusCode::interrupted};
  CallInterrupt interrupt(*context.interrupt);
  if (interrupt.wanted()) return interrupted;
  Context asking = context;
  asking.interrupt = &interrupt;
  const Status status = (backend->*function)(call, asking);
  return status.ok() && interrupt.was_wanted() ? interrupted : status;
}

}  // namespace tautstring::detail
