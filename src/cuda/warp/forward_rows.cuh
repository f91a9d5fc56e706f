// A forward call in the form that kernels take.
#pragma once

#include <cstdint>

#include "cuda/tuning/tuning_forward.h"
#include "cuda/warp/image_pass.h"
#include "cuda/warp/placed_rows.cuh"
#include "cuda/warp/storage.cuh"
#include "step/segment.h"

namespace tautstring::detail {

inline constexpr unsigned kWarp = 0xFFFFFFFFU;

/// What is written for the value of a sample.
enum class ForwardOutput : std::uint8_t {
  solution,    // the value; in sharp mode, the sample mirrored at it
  next_input,  // for a pass over images: see ImagePass
};

/// The input of the columns. If q is 0, the value keeps its bits, also those of -0.
template <class T>
[[nodiscard]] __device__ T to_columns(T value, T q) noexcept {
  return q == 0 ? value : value + q;
}
/// Q, from the input and the output of the columns; 0 for infinite samples that are copied.
template <class T>
[[nodiscard]] __device__ T to_q(T sample, T value) noexcept {
  return sample == value ? T(0) : sample - value;
}

/// Members that only one output needs.
template <class Storage, ForwardOutput kOutput>
struct ForwardImages {};
template <class Storage>
struct ForwardImages<Storage, ForwardOutput::next_input> {
  ImagePass<Storage> pass;  // with the layout of x and y
};

/// A forward call in the form that kernels take.
template <class StorageType, ForwardOutput kOutputOfCall = ForwardOutput::solution>
struct ForwardRows : ForwardImages<StorageType, kOutputOfCall> {
  using Storage = StorageType;
  static constexpr ForwardOutput kOutput = kOutputOfCall;

  std::int64_t count;
  ForwardShape shape;
  PlacedRows<const Storage> x;
  PlacedRows<Storage> y;
  bool whole_vectors;  // 16 bytes of arithmetic at a time, in x and in y
  bool whole_words;    // 16 bytes of codes at a time
  /// Distance in memory between the chunks of a warp's lanes; 0: not uniform.
  std::int64_t x_chunks_apart;
  std::int64_t y_chunks_apart;
  bool sharp;
  bool can_stream;  // y is not x, and the mode is not sharp
  bool may_stream;  // and there are enough rows for many lanes of a warp
  DType lam_dtype;
  double lam_number;
  PlacedRows<const void* const> lam;  // offsets only
  const void* lam_data;               // null: lam_number
  std::uint32_t* partition;           // null: not wanted

  /// Whether samples are read again for the output.
  [[nodiscard]] __device__ bool reads_again() const noexcept {
    return kOutput == ForwardOutput::next_input || sharp;
  }
  /// The output in that case, before rounding.
  template <class Value>
  [[nodiscard]] __device__ Value changed(Value value, const Storage* sample) const noexcept {
    if constexpr (kOutput == ForwardOutput::next_input) {
      return next_input(narrow<Storage>(value), sample);
    } else {
      return mirror(widen<Value>(*sample), value);
    }
  }
  /// The output in any case.
  template <class Value>
  [[nodiscard]] __device__ Storage finished(Value value, const Storage* sample) const noexcept {
    if (!reads_again()) return narrow<Storage>(value);
    return narrow<Storage>(changed(value, sample));
  }
  /// The next input from 16 bytes of values and of samples with 16-byte alignment.
  template <class Packed>
  __device__ void change_packed(Packed& values, const Storage* samples) const noexcept {
    constexpr unsigned kItems = sizeof(Packed) / sizeof(Storage);
    const std::int64_t at = samples - x.data;
    if (!this->pass.of_columns) {
      const auto q = load_constant<Packed>(this->pass.q + at);
#pragma unroll
      for (unsigned j = 0; j < kItems; ++j) values.item[j] = to_columns(values.item[j], q.item[j]);
      return;
    }
    const auto whole = load_constant<Packed>(this->pass.whole + at);
    const auto given = load_constant<Packed>(samples);
    Packed q;
#pragma unroll
    for (unsigned j = 0; j < kItems; ++j) {
      q.item[j] = to_q(given.item[j], values.item[j]);
      values.item[j] = whole.item[j] - q.item[j];
    }
    *reinterpret_cast<Packed*>(this->pass.q + at) = q;
  }

 private:
  [[nodiscard]] __device__ Storage next_input(Storage value, const Storage* sample) const noexcept {
    const std::int64_t at = sample - x.data;
    if (!this->pass.of_columns) return to_columns(value, __ldg(this->pass.q + at));
    const Storage q = to_q(__ldg(sample), value);
    this->pass.q[at] = q;
    return __ldg(this->pass.whole + at) - q;
  }
};

template <class T>
[[nodiscard]] __device__ T load_as(const void* data, DType dtype, std::int64_t at) noexcept {
  switch (dtype) {
    case DType::float16: return widen<T>(static_cast<const __half*>(data)[at]);
    case DType::bfloat16: return widen<T>(static_cast<const __nv_bfloat16*>(data)[at]);
    case DType::float32: return widen<T>(static_cast<const float*>(data)[at]);
    case DType::float64: break;
  }
  return widen<T>(static_cast<const double*>(data)[at]);
}

}  // namespace tautstring::detail
