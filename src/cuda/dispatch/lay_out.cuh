// A forward call in the form that kernels take.
#pragma once

#include "backend.h"
#include "cuda/warp/forward_rows.cuh"

namespace tautstring::detail {

[[nodiscard]] inline bool is_along_memory(const Forward1d& call) noexcept {
  return call.rows.n == 1 || (call.x.stride == 1 && call.y.stride == 1);
}

template <class Storage, ForwardOutput kOutput = ForwardOutput::solution>
[[nodiscard]] ForwardRows<Storage, kOutput> lay_out_forward(const Forward1d& call) noexcept {
  ForwardRows<Storage, kOutput> rows = {};
  rows.count = call.rows.count;
  rows.shape.n = call.rows.n;
  rows.x = PlacedRows<const Storage>(call.x, call.rows);
  rows.y = PlacedRows<Storage>(call.y, call.rows);
  constexpr int kPerVector = 16 / sizeof(ArithmeticOf<Storage>);
  rows.whole_vectors = rows.x.holds_vectors(call.rows.n, kPerVector) &&
                       rows.y.holds_vectors(call.rows.n, kPerVector);
  rows.sharp = call.mode == Mode::sharp;
  rows.lam_number = call.lam.number;
  if (call.lam.array.given && call.lam.array.size == 0) rows.lam_number = 1;  // no edge
  if (call.lam.array.given && call.lam.array.size > 0) {
    rows.lam = PlacedRows<const void* const>(call.lam.array, call.rows);
    rows.lam_data = call.lam.array.data;
    rows.lam_dtype = call.lam.array.dtype;
  }
  rows.partition = call.partition;
  rows.whole_words = partition_words(call.rows.n) % 4 == 0 &&
                     reinterpret_cast<std::uintptr_t>(call.partition) % 16 == 0;
  return rows;
}

/// The same for a pass over images.
template <class Storage>
[[nodiscard]] ForwardRows<Storage, ForwardOutput::next_input> lay_out_pass(
    const Forward1d& call, const ImagePass<Storage>& pass) noexcept {
  auto rows = lay_out_forward<Storage, ForwardOutput::next_input>(call);
  rows.pass = pass;
  for (const void* array :
       {static_cast<const void*>(pass.whole), static_cast<const void*>(pass.q)}) {
    rows.whole_vectors = rows.whole_vectors && reinterpret_cast<std::uintptr_t>(array) % 16 == 0;
  }
  return rows;
}

}  // namespace tautstring::detail
