#include "api/arguments.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>

#include "portability.h"

namespace tautstring::detail {
namespace {

constexpr std::int64_t kLongestRow = std::numeric_limits<std::int32_t>::max() - 1;

bool is_known(DType dtype) {
  return size_of(dtype) != 0;
}

/// Number of elements; -1 if a size is negative or the number is too large.
std::int64_t element_count(const ConstView& view) {
  std::int64_t count = 1;
  bool empty = false;
  for (int d = 0; d < view.ndim; ++d) {
    if (view.shape[d] < 0) return -1;
    empty = empty || view.shape[d] == 0;
  }
  if (empty) return 0;
  for (int d = 0; d < view.ndim; ++d) {
    if (!multiply(count, view.shape[d], count)) return -1;
  }
  return count;
}

bool is_empty(const ConstView& view) {
  return element_count(view) == 0;
}

/// Whether every element lies within the address space.
bool is_addressable(const ConstView& view) {
  std::int64_t reach = 1;
  for (int d = 0; d < view.ndim; ++d) {
    if (view.strides[d] == std::numeric_limits<std::int64_t>::min()) return false;
    std::int64_t extent = 0;
    if (!multiply(std::abs(view.strides[d]), std::max<std::int64_t>(view.shape[d], 1) - 1,
                  extent) ||
        !add(reach, extent, reach)) {
      return false;
    }
  }
  return reach <= std::numeric_limits<std::int64_t>::max() / size_of(view.dtype);
}

/// Sufficient, and necessary for all but contrived strides: in order of increasing strides, each
/// dimension steps over the whole span of the former ones.
bool has_distinct_elements(const ConstView& view) {
  bool used[kMaxDims] = {};
  std::int64_t span = 0;
  for (int round = 0; round < view.ndim; ++round) {
    int smallest = -1;
    for (int d = 0; d < view.ndim; ++d) {
      if (used[d] || view.shape[d] <= 1) continue;
      if (smallest < 0 || std::abs(view.strides[d]) < std::abs(view.strides[smallest])) {
        smallest = d;
      }
    }
    if (smallest < 0) break;
    used[smallest] = true;
    if (std::abs(view.strides[smallest]) <= span) return false;
    span += std::abs(view.strides[smallest]) * (view.shape[smallest] - 1);
  }
  return true;
}

}  // namespace

const Backend* find_backend(Device device) noexcept {
  switch (device) {
    case Device::cpu: return &kCpuBackend;
#ifdef TAUTSTRING_HAS_CUDA
    case Device::cuda: return &kCudaBackend;
#else
    case Device::cuda: break;
#endif
  }
  return nullptr;
}

std::int64_t Steps::along(int dim, int ndim_of_batch) const noexcept {
  const int own = dim - (ndim_of_batch - ndim);
  return own < 0 || shape[own] == 1 ? 0 : strides[own];
}

bool Steps::is_empty() const noexcept {
  return std::find(shape, shape + ndim, 0) != shape + ndim;
}

Arguments::Arguments(const char* name, const ConstView& shaped, int dim,
                     std::initializer_list<Steps> arrays, int other_dim) noexcept {
  if (check_view(name, shaped)) set_batch(name, shaped, dim, arrays, other_dim);
}

int Arguments::place_dims(const ConstView& shaped, std::initializer_list<Steps> arrays,
                          int other_dim) noexcept {
  const bool folds = ndim_ - 1 > kMaxBatchDims;
  int count = 0;
  int outer = -1;        // the last dimension of this place that is longer than 1
  bool is_open = false;  // whether one more dimension can join this place
  const auto is_even = [&](const Steps& array, int inner) {
    // Arrays that are empty, or that a later check rejects, do not matter.
    if (array.ndim < 0 || array.ndim > ndim_ || array.is_empty()) return true;
    std::int64_t span = 0;
    return multiply(array.along(inner, ndim_), shaped.shape[inner], span) &&
           array.along(outer, ndim_) == span;
  };
  const auto folds_into_outer = [&](int d) {
    if (outer < 0 || shaped.shape[d] == 1) return true;
    return is_even(shaped, d) && std::all_of(arrays.begin(), arrays.end(),
                                             [&](const Steps& array) { return is_even(array, d); });
  };
  for (int d = 0; d < ndim_; ++d) {
    if (d == dim_) {
      is_open = false;
      continue;
    }
    if (!is_open || d == other_dim || !folds_into_outer(d)) {
      ++count;
      outer = -1;
    }
    place_[d] = count - 1;
    if (shaped.shape[d] != 1) outer = d;
    is_open = folds && d != other_dim;
  }
  return count;
}

void Arguments::set_batch(const char* name, const ConstView& shaped, int dim,
                          std::initializer_list<Steps> arrays, int other_dim) noexcept {
  ndim_ = shaped.ndim;
  const int dims = std::max(ndim_, 1);  // a view without dimensions is one row of one element
  if (dim < -dims || dim >= dims) return fail("dim", "must name a dimension of x", dim);
  dim_ = dim < 0 ? dim + dims : dim;

  const std::int64_t n = ndim_ == 0 ? 1 : shaped.shape[dim_];
  if (n > kLongestRow) {
    return fail(name, "size along dim must be below 2^31 - 1", static_cast<double>(n), dim_);
  }
  rows_.n = static_cast<std::int32_t>(n);
  rows_.count = 1;
  rows_.batch_dims = place_dims(shaped, arrays, other_dim);
  if (rows_.batch_dims > kMaxBatchDims) {
    return fail(name,
                "must have at most 8 batch dimensions after folding those that all arguments step "
                "through evenly (as contiguous arrays do)",
                rows_.batch_dims);
  }
  std::fill_n(rows_.batch_shape, rows_.batch_dims, 1);
  for (int d = 0; d < ndim_; ++d) {
    if (d == dim_) continue;
    if (d < dim_) rows_.dim = place_[d] + 1;
    batch_shape_[d] = shaped.shape[d];
    std::int64_t& size = rows_.batch_shape[place_[d]];
    if (!multiply(size, shaped.shape[d], size) ||
        !multiply(rows_.count, shaped.shape[d], rows_.count)) {
      return fail(name, "must have fewer than 2^63 rows");
    }
  }
}

void Arguments::fail(const Status& status) noexcept {
  if (ok()) status_ = status;
}

void Arguments::fail(const char* name, const char* expected) noexcept {
  if (!ok()) return;
  status_ = {.code = StatusCode::invalid_argument, .argument = name, .expected = expected};
}

void Arguments::fail(const char* name, const char* expected, double given,
                     std::int64_t index) noexcept {
  if (!ok()) return;
  fail(name, expected);
  status_.given = given;
  status_.has_given = true;
  status_.index = index;
}

void Arguments::require(bool condition, const char* name, const char* expected,
                        double given) noexcept {
  if (!condition) fail(name, expected, given);
}

void Arguments::require_partition(std::size_t size) noexcept {
  std::int64_t words = 0;
  if (!multiply(rows_.count, partition_words(rows_.n), words) ||
      words != static_cast<std::int64_t>(size)) {
    fail("partition", "must have row_count * partition_words(n) elements",
         static_cast<double>(size));
  }
}

bool Arguments::check_view(const char* name, const ConstView& view) noexcept {
  if (!ok()) return false;
  if (!view.given()) {
    fail(name, "must be given");
  } else if (view.ndim > kMaxDims) {
    fail(name, "must have at most 32 dimensions, with as many strides");
  } else if (!is_known(view.dtype)) {
    fail(name, "must have a known dtype", static_cast<double>(view.dtype));
  } else if (element_count(view) < 0) {
    fail(name, "must have a shape of sizes >= 0 whose product fits in 63 bits");
  } else if (!is_empty(view) && view.data == nullptr) {
    fail(name, "must not be null where its shape is not empty");
  } else if (!is_empty(view) && !is_addressable(view)) {
    fail(name, "must have strides that stay within the address space");
  } else if (const auto address = reinterpret_cast<std::uintptr_t>(view.data);
             !is_empty(view) && address % static_cast<std::uintptr_t>(size_of(view.dtype)) != 0) {
    fail(name, "must be aligned to its element size");
  }
  return ok();
}

ConstRowArray Arguments::lay_out(const char* name, const ConstView& view, Along along,
                                 bool broadcasts) noexcept {
  ConstRowArray array;
  if (!check_view(name, view)) return array;
  if (view.ndim > ndim_ || (!broadcasts && view.ndim < ndim_)) {
    fail(name,
         broadcasts ? "must not have more dimensions than x" : "must have as many dimensions as x",
         view.ndim);
    return array;
  }
  array.data = view.data;
  array.dtype = view.dtype;
  array.given = true;
  array.size = 1;  // if broadcasting supplies dim, or there is no dimension at all
  for (int d = 0; d < ndim_; ++d) {
    const int own = d - (ndim_ - view.ndim);
    const std::int64_t size = own < 0 ? 1 : view.shape[own];
    const std::int64_t stride = own < 0 || size == 1 ? 0 : view.strides[own];
    if (d != dim_) {
      const std::int64_t wanted = batch_shape_[d];
      if (size != wanted && !(broadcasts && size == 1)) {
        fail(name, "must have the size of x in its batch dimensions (where it broadcasts, or 1)",
             static_cast<double>(size), d);
        return array;
      }
      if (wanted == 1) continue;
      std::int64_t& step = array.batch_strides[place_[d]];
      // Set by a dimension that this one folds into; arrays that were passed to the constructor
      // allow that.
      if (step != 0 && step != stride * wanted && !is_empty(view)) {
        fail(name, "must step evenly through batch dimensions that are folded", d);
        return array;
      }
      step = stride;
      continue;
    }
    const std::int64_t n = rows_.n;
    const std::int64_t edges = n > 0 ? n - 1 : 0;
    switch (along) {
      case Along::elements:
        if (size != n && !(broadcasts && size == 1))
          fail(name, "must have the size of x along dim", static_cast<double>(size), d);
        break;
      case Along::row:
        if (size != 1) fail(name, "must have size 1 along dim", static_cast<double>(size), d);
        break;
      case Along::edges:
        if (size != edges) {
          fail(name, "must have size n - 1 (one per edge) along dim", static_cast<double>(size), d);
        }
        break;
      case Along::row_or_edges:
        if (size != 1 && size != edges) {
          fail(name, "must have size 1 (one per row) or n - 1 (one per edge) along dim",
               static_cast<double>(size), d);
        }
        break;
    }
    array.size = static_cast<std::int32_t>(size);
    array.stride = stride;
  }
  // An empty array may have a null address, to which no stride may be added.
  if (array.size == 0) std::fill(std::begin(array.batch_strides), std::end(array.batch_strides), 0);
  return array;
}

ConstRowArray Arguments::shaped(const char* name, const ConstView& view, Along along) noexcept {
  return lay_out(name, view, along, false);
}

ConstRowArray Arguments::broadcast(const char* name, const ConstView& view, Along along) noexcept {
  return lay_out(name, view, along, true);
}

ConstRowArray Arguments::optional_broadcast(const char* name, const ConstView& view,
                                            Along along) noexcept {
  return view.given() ? broadcast(name, view, along) : ConstRowArray{};
}

RowArray Arguments::as_output(const char* name, const View& view,
                              const ConstRowArray& checked) noexcept {
  if (ok() && !is_empty(view) && !has_distinct_elements(view)) {
    fail(name, "must not have two elements at the same address");
  }
  RowArray array;
  array.data = view.data;
  array.dtype = checked.dtype;
  array.given = checked.given;
  array.size = checked.size;
  array.stride = checked.stride;
  std::copy(std::begin(checked.batch_strides), std::end(checked.batch_strides),
            array.batch_strides);
  return array;
}

RowArray Arguments::output(const char* name, const View& view, Along along) noexcept {
  return as_output(name, view, shaped(name, view, along));
}

bool Arguments::is_shared(const ConstView& view) const noexcept {
  if (is_empty(view)) return false;
  for (int d = 0; d < ndim_; ++d) {
    const int own = d - (ndim_ - view.ndim);
    if (d != dim_ && batch_shape_[d] != 1 && (own < 0 || view.shape[own] == 1)) return true;
  }
  return false;
}

RowArray Arguments::lam_gradient(const char* name, const View& view, Device device) noexcept {
  if (!view.given()) return {};
  RowArray array = as_output(name, view, broadcast(name, view, Along::row_or_edges));
  array.shared = ok() && is_shared(view);
  if (!array.shared) return array;
  require(array.size == 1, name, "must have the size of x in its batch dimensions if it is by edge",
          array.size);
  if (device != Device::cpu) {
    fail(name, "must have the size of x in its batch dimensions on a GPU");
  }
  return array;
}

RowArray Arguments::optional_output(const char* name, const View& view, Along along) noexcept {
  return view.given() ? output(name, view, along) : RowArray{};
}

RowLam Arguments::lam(const Lam& lam) noexcept {
  RowLam result;
  result.number = lam.number;
  result.array = optional_broadcast("lam", lam.array, Along::row_or_edges);
  return result;
}

void Arguments::require_apart(const char* name, const View& output, const ConstView& in_place,
                              std::initializer_list<Footprint> others) noexcept {
  if (!ok() || !output.given()) return;
  const Footprint own = ConstView(output);
  bool shared = !same_elements(output, in_place) && may_overlap(own, in_place);
  for (const Footprint& other : others) shared = shared || may_overlap(own, other);
  if (shared) fail(name, kApart);
}

void Arguments::require_apart(std::span<const OutputList> lists,
                              std::initializer_list<Footprint> inputs) noexcept {
  for (const OutputList& list : lists) {
    bool shared = std::any_of(inputs.begin(), inputs.end(),
                              [&](const Footprint& input) { return may_overlap(list.own, input); });
    for (const OutputList& other : lists) {
      shared = shared || (&other > &list && may_overlap(list.own, other.own));
    }
    if (ok() && shared) fail(list.name, "must not share memory with another argument");
  }
}

Footprint::Footprint(const ConstView& view) noexcept {
  // A view that a check rejects touches nothing, and its numbers are meaningless.
  const bool is_sound = view.given() && view.ndim <= kMaxDims && is_known(view.dtype) &&
                        element_count(view) > 0 && is_addressable(view);
  if (!is_sound) return;
  const std::int64_t bytes = size_of(view.dtype);
  std::int64_t low = 0;
  std::int64_t high = 0;
  std::int64_t common = 0;
  for (int d = 0; d < view.ndim; ++d) {
    const std::int64_t extent = view.strides[d] * (view.shape[d] - 1);
    (extent < 0 ? low : high) += extent;
    if (view.shape[d] > 1) common = std::gcd(common, view.strides[d]);
  }
  const auto address = reinterpret_cast<std::uintptr_t>(view.data);
  begin = address + static_cast<std::uintptr_t>(low * bytes);
  end = address + static_cast<std::uintptr_t>((high + 1) * bytes);
  step = static_cast<std::uint64_t>(common * bytes);
  item = static_cast<std::uint64_t>(bytes);
}

Footprint::Footprint(const void* data, std::int64_t bytes) noexcept {
  if (data == nullptr || bytes == 0) return;
  begin = reinterpret_cast<std::uintptr_t>(data);
  end = begin + static_cast<std::uintptr_t>(bytes);
  step = item = 1;
}

bool may_overlap(const Footprint& a, const Footprint& b) noexcept {
  if (a.begin == a.end || b.begin == b.end) return false;
  if (a.end <= b.begin || b.end <= a.begin) return false;
  // Two combs with a common step do not overlap if the teeth of one fall into the gaps of the
  // other, as with the channels of an interleaved image.
  const std::uint64_t step = std::gcd(a.step, b.step);
  if (step == 0) return true;
  const std::uint64_t ahead =
      b.begin >= a.begin ? (b.begin - a.begin) % step : (step - (a.begin - b.begin) % step) % step;
  return ahead < a.item || ahead + b.item > step;
}

bool same_elements(const ConstView& a, const ConstView& b) noexcept {
  if (a.data != b.data || a.dtype != b.dtype || a.ndim != b.ndim) return false;
  if (a.ndim > kMaxDims) return false;  // not a valid view
  for (int d = 0; d < a.ndim; ++d) {
    if (a.shape[d] != b.shape[d] || (a.shape[d] > 1 && a.strides[d] != b.strides[d])) return false;
  }
  return true;
}

}  // namespace tautstring::detail
