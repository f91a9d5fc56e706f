// Loads and stores rows: of any dtype and stride, to and from the arithmetic type.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "backend.h"
#include "step/host_device.h"
#include "step/small_float.h"

namespace tautstring::detail {

/// Calls use(T{}) with the storage type T of a dtype.
template <class Use>
TAUTSTRING_HOST_DEVICE decltype(auto) with_storage(DType dtype, Use&& use) {
  switch (dtype) {
    case DType::float16: return use(Float16{});
    case DType::bfloat16: return use(BFloat16{});
    case DType::float32: return use(float{});
    case DType::float64: break;
  }
  return use(double{});
}

/// The dtype of T.
template <class T>
inline constexpr DType kDType = std::is_same_v<T, float> ? DType::float32 : DType::float64;

/// The distance from 1 to the next number of a type.
[[nodiscard]] constexpr double unit_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::float16: return 0x1p-10;
    case DType::bfloat16: return 0x1p-7;
    case DType::float32: return 0x1p-23;
    case DType::float64: break;
  }
  return 0x1p-52;
}

/// Converts a stored value to the arithmetic type T, and back; each rounds at most once.
template <class T, class Storage>
[[nodiscard]] constexpr T from_storage(Storage value) noexcept {
  if constexpr (std::is_floating_point_v<Storage>) {
    return static_cast<T>(value);
  } else if constexpr (std::is_same_v<T, float>) {
    return to_float(value);
  } else {
    return static_cast<T>(static_cast<double>(value));
  }
}

template <class Storage, class T>
[[nodiscard]] constexpr Storage to_storage(T value) noexcept {
  if constexpr (std::is_floating_point_v<Storage>) {
    return static_cast<Storage>(value);
  } else if constexpr (std::is_same_v<T, double>) {
    return Storage(value);
  } else if constexpr (std::is_same_v<Storage, BFloat16>) {
    return to_bfloat16(value);
  } else {
    return to_float16(value);
  }
}

/// A value rounded to a dtype.
[[nodiscard]] TAUTSTRING_HOST_DEVICE inline double rounded_to(DType dtype, double value) noexcept {
  return with_storage(dtype, [&](auto storage) {
    return from_storage<double>(to_storage<decltype(storage)>(value));
  });
}

TAUTSTRING_HOST_DEVICE inline double load_element(const RowSpan<const void>& row, std::int64_t i) {
  return with_storage(row.dtype, [&](auto storage) {
    using T = decltype(storage);
    return static_cast<double>(static_cast<const T*>(row.data)[i * row.stride]);
  });
}

/// Loads `count` elements; a broadcast row has stride 0.
template <class T>
TAUTSTRING_HOST_DEVICE void load_row(const RowSpan<const void>& row, std::int32_t count, T* out) {
  with_storage(row.dtype, [&](auto storage) {
    using Storage = decltype(storage);
    const auto* data = static_cast<const Storage*>(row.data);
    if (row.stride == 1) {
      for (std::int32_t i = 0; i < count; ++i) out[i] = from_storage<T>(data[i]);
    } else {
      for (std::int32_t i = 0; i < count; ++i) out[i] = from_storage<T>(data[i * row.stride]);
    }
  });
}

/// Stores `count` elements, each rounded once.
template <class T>
TAUTSTRING_HOST_DEVICE void store_row(const RowSpan<void>& row, std::int32_t count, const T* in) {
  with_storage(row.dtype, [&](auto storage) {
    using Storage = decltype(storage);
    auto* data = static_cast<Storage*>(row.data);
    if (row.stride == 1) {
      for (std::int32_t i = 0; i < count; ++i) data[i] = to_storage<Storage>(in[i]);
    } else {
      for (std::int32_t i = 0; i < count; ++i) data[i * row.stride] = to_storage<Storage>(in[i]);
    }
  });
}

/// A row from element `first` on.
template <class Data>
constexpr RowSpan<Data> drop_front(const RowSpan<Data>& row, std::int32_t first) noexcept {
  using Byte = std::conditional_t<std::is_const_v<Data>, const std::byte, std::byte>;
  return {static_cast<Byte*>(row.data) + first * row.stride * size_of(row.dtype), row.dtype,
          row.stride, row.size - first};
}

/// Copies one element between rows of one dtype, bit for bit.
TAUTSTRING_HOST_DEVICE inline void copy_element(const RowSpan<void>& to, std::int64_t i,
                                                const RowSpan<const void>& from, std::int64_t j) {
  with_storage(to.dtype, [&](auto element) {
    using T = decltype(element);
    std::memcpy(&element, static_cast<const T*>(from.data) + j * from.stride, sizeof(T));
    std::memcpy(static_cast<T*>(to.data) + i * to.stride, &element, sizeof(T));
  });
}

/// Packs the codes of a row, which take one byte each while it is solved, into 2 bits each: bytes
/// are merged in pairs, then pairs of pairs.
constexpr std::uint32_t pack_eight_codes(std::uint64_t bytes) noexcept {
  bytes = (bytes | bytes >> 6) & 0x000F000F000F000F;
  bytes = (bytes | bytes >> 12) & 0x000000FF000000FF;
  return static_cast<std::uint32_t>(bytes | bytes >> 24) & 0xFFFF;
}

constexpr std::uint64_t unpack_eight_codes(std::uint32_t bits) noexcept {
  std::uint64_t bytes = bits & 0xFFFF;
  bytes = (bytes | bytes << 24) & 0x000000FF000000FF;
  bytes = (bytes | bytes << 12) & 0x000F000F000F000F;
  return (bytes | bytes << 6) & 0x0303030303030303;
}

static_assert(std::endian::native == std::endian::little, "codes are moved as bytes of numbers");

TAUTSTRING_HOST_DEVICE inline std::uint32_t pack_word(const void* sixteen_codes) noexcept {
  std::uint64_t halves[2];
  std::memcpy(halves, sixteen_codes, sizeof(halves));
  return pack_eight_codes(halves[0]) | pack_eight_codes(halves[1]) << 16;
}

TAUTSTRING_HOST_DEVICE inline void pack_codes(const Code* codes, std::int64_t n,
                                              std::uint32_t* words) noexcept {
  const std::int64_t whole = n / kCodesPerWord * kCodesPerWord;
  for (std::int64_t i = 0; i < whole; i += kCodesPerWord) *words++ = pack_word(codes + i);
  if (whole == n) return;
  Code rest[kCodesPerWord] = {};
  // By hand: std::copy would become memmove, which devices do not have.
  for (std::int64_t i = whole; i < n; ++i) rest[i - whole] = codes[i];
  *words = pack_word(rest);
}

TAUTSTRING_HOST_DEVICE inline void unpack_codes(const std::uint32_t* words, std::int32_t n,
                                                Code* codes) {
  for (std::int32_t first = 0; first < n; first += kCodesPerWord) {
    const std::uint32_t word = words[first / kCodesPerWord];
    const std::uint64_t halves[2] = {unpack_eight_codes(word), unpack_eight_codes(word >> 16)};
    const std::int32_t count = std::min(n - first, std::int32_t{kCodesPerWord});
    std::memcpy(codes + first, halves, static_cast<std::size_t>(count));
  }
}

}  // namespace tautstring::detail
