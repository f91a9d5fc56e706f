// Change points, read from a partition in host memory.
#include "api/arguments.h"
#include "tautstring/tv1d.h"

namespace tautstring {
namespace {

using detail::Arguments;

/// Whether an element starts a segment; the first of a row always does.
bool starts_segment(const std::uint32_t* row, std::int64_t i) {
  return i == 0 || code_at(row, i) != Code::continues;
}

std::int64_t count_segments(const std::uint32_t* row, std::int64_t n) {
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < n; ++i) count += starts_segment(row, i) ? 1 : 0;
  return count;
}

}  // namespace

Status segments1d_offsets(std::span<const std::uint32_t> partition, std::int64_t rows,
                          std::int64_t n, std::span<std::int64_t> offsets) noexcept {
  Arguments arguments("partition",
                      ConstView{.data = partition.data(), .ndim = 2, .shape = {rows, n}}, 1);
  arguments.require_partition(partition.size());
  arguments.require(offsets.size() == static_cast<std::size_t>(rows) + 1, "offsets",
                    "must have rows + 1 elements", static_cast<double>(offsets.size()));
  if (!arguments.ok()) return arguments.status();
  const std::uint32_t* row = partition.data();
  offsets[0] = 0;
  for (std::size_t r = 0; r + 1 < offsets.size(); ++r, row += partition_words(n)) {
    offsets[r + 1] = offsets[r] + count_segments(row, n);
  }
  return {};
}

Status segments1d(const ConstView& y, std::span<const std::uint32_t> partition,
                  std::span<Segment> segments, int dim) noexcept {
  Arguments arguments("y", y, dim);
  const detail::ConstRowArray values = arguments.shaped("y", y, Arguments::Along::elements);
  arguments.require_partition(partition.size());
  if (!arguments.ok()) return arguments.status();
  const detail::Rows& rows = arguments.rows();
  const std::int64_t words = partition_words(rows.n);
  std::int64_t count = 0;
  for (std::int64_t r = 0; r < rows.count; ++r) {
    count += count_segments(partition.data() + r * words, rows.n);
  }
  arguments.require(count == static_cast<std::int64_t>(segments.size()), "segments",
                    "must have as many elements as the partition has segments",
                    static_cast<double>(segments.size()));
  if (!arguments.ok()) return arguments.status();

  Segment* next = segments.data();
  for (std::int64_t r = 0; r < rows.count; ++r) {
    const std::uint32_t* codes = partition.data() + r * words;
    const detail::RowSpan<const void> row = values.row(rows, r);
    const ConstView row_view = {.data = row.data, .dtype = row.dtype};
    for (std::int32_t i = 0; i < rows.n; ++i) {
      if (starts_segment(codes, i)) {
        *next++ = {.start = i,
                   .length = 0,
                   .value = value_at(row_view, i * row.stride),
                   .sign = jump_sign(code_at(codes, i))};
      }
      ++next[-1].length;
    }
  }
  return {};
}

}  // namespace tautstring
