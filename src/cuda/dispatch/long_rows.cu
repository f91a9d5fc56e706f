#include "cuda/dispatch/long_rows.h"

#include <algorithm>

#include "cuda/dispatch/launch.h"
#include "cuda/dispatch/lay_out.cuh"
#include "cuda/dispatch/workspace.h"
#include "cuda/kernels/kernel_long.cuh"

namespace tautstring::detail {
namespace {

/// The parts of the workspace. With a null block they only count bytes.
template <class T>
struct LongScratch {
  LongScratch(std::byte* block, const Rows& rows) noexcept
      : chunk(long_chunk(rows.n)), chunks((rows.n - 1) / chunk + 1) {
    Scratch scratch(block);
    const std::int64_t words = rows.count * ((std::int64_t{rows.n} + 15) / 16);
    kinds = scratch.take<LongRowKind>(rows.count);
    starts = scratch.take<std::int32_t>(rows.count * chunks);
    meets = scratch.take<std::uint64_t>(rows.count * chunks);
    codes = scratch.take<std::uint32_t>(words);
    values = scratch.take<T>(rows.count * rows.n);
    const std::size_t slot = CarefulScratch::bytes(rows.n);
    slots = std::clamp<std::int64_t>(static_cast<std::int64_t>(kMostLongScratch / slot), 1,
                                     std::min(rows.count, kMostLongSlots));
    careful = scratch.take<std::byte>(slots * static_cast<std::int64_t>(slot));
    bytes = scratch.used();
  }
  std::int32_t chunk;
  std::int32_t chunks;
  LongRowKind* kinds;
  std::int32_t* starts;
  std::uint64_t* meets;
  std::uint32_t* codes;
  T* values;
  std::int64_t slots;
  std::byte* careful;
  std::size_t bytes;
};

template <class Call, bool kEdges>
Status launch(const LongRows<Call>& rows, const Context& context) noexcept {
  const std::int64_t lanes = rows.rows.count * rows.chunks;
  const auto blocks = static_cast<unsigned>((lanes + kLongThreads - 1) / kLongThreads);
  kernel_long_starts<Call, kEdges><<<blocks, kLongThreads, 0, stream_of(context)>>>(rows);
  if (const Status status = launch_status(); !status.ok()) return status;
  kernel_long_search<Call, kEdges><<<blocks, kLongThreads, 0, stream_of(context)>>>(rows);
  if (const Status status = launch_status(); !status.ok()) return status;
  // As many blocks per tile as there are slots, so that each has its own slot.
  const auto tiles = static_cast<unsigned>((rows.rows.shape.n - 1) / kFillTile + 1);
  const auto row_blocks = static_cast<unsigned>(std::min(rows.rows.count, rows.careful_slots));
  kernel_long_fill<Call><<<dim3(tiles, row_blocks), kFillThreads, 0, stream_of(context)>>>(rows);
  return launch_status();
}

template <class Call>
Status solve(const Call& placed, const Forward1d& call, const Context& context) noexcept {
  using T = ArithmeticOf<typename Call::Storage>;
  const std::size_t bytes = LongScratch<T>(nullptr, call.rows).bytes;
  if (const Status status = check_workspace(bytes, context); !status.ok()) return status;
  const LongScratch<T> scratch(static_cast<std::byte*>(context.workspace), call.rows);
  LongRows<Call> rows = {};
  rows.rows = placed;
  rows.chunk = scratch.chunk;
  rows.chunks = scratch.chunks;
  rows.kinds = scratch.kinds;
  rows.starts = scratch.starts;
  rows.meets = scratch.meets;
  rows.codes = call.partition != nullptr ? call.partition : scratch.codes;
  rows.values = scratch.values;
  rows.careful_block = scratch.careful;
  rows.careful_slots = scratch.slots;
  const bool edges = call.lam.array.given && call.lam.array.size > 1;
  return edges ? launch<Call, true>(rows, context) : launch<Call, false>(rows, context);
}

}  // namespace

std::size_t long_rows_workspace(const Rows& rows) noexcept {
  return LongScratch<double>(nullptr, rows).bytes;
}

template <class Storage>
Status long_rows_in(const Forward1d& call, const Context& context) noexcept {
  return solve(lay_out_forward<Storage>(call), call, context);
}

template <class Storage>
Status long_pass_in(const Forward1d& call, const ImagePass<Storage>& pass,
                    const Context& context) noexcept {
  return solve(lay_out_pass(call, pass), call, context);
}

template Status long_rows_in<__half>(const Forward1d&, const Context&) noexcept;
template Status long_rows_in<__nv_bfloat16>(const Forward1d&, const Context&) noexcept;
template Status long_rows_in<float>(const Forward1d&, const Context&) noexcept;
template Status long_rows_in<double>(const Forward1d&, const Context&) noexcept;

template Status long_pass_in<float>(const Forward1d&, const ImagePass<float>&,
                                    const Context&) noexcept;
template Status long_pass_in<double>(const Forward1d&, const ImagePass<double>&,
                                     const Context&) noexcept;

}  // namespace tautstring::detail
