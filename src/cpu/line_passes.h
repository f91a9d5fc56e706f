// The passes over the lines of images along one direction, each from the partitions of the pass
// before.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "cpu/cpu_backend.h"
#include "cpu/image_lines.h"
#include "cpu/parallel.h"
#include "cpu/row_path.h"
#include "cpu/targets.h"
#include "cpu/vector/line_pass.h"
#include "tautstring/partition.h"

namespace tautstring::detail {

/// Longer lines are searched in each pass: rounds of repairs would not stay in the first-level
/// cache.
inline constexpr std::int32_t kLongestRepaired = 512;

/// Longer lines are searched in the first pass: repairs from a guess take more rounds.
inline constexpr std::int32_t kLongestGuessed = 64;

/// Groups of lines that a thread takes at a time.
inline constexpr std::int64_t kLinesTogether = 4;

/// The state of these passes, and their scratch memory.
template <class T>
struct LinePassScratch {
  /// `tasks` threads share a pass.
  LinePassScratch(Scratch& scratch, const Lines& lines, int tasks) noexcept
      : lanes(chosen_cpu_target().kernels<T>().line_lanes),
        groups((lines.count + lanes - 1) / lanes) {
    if (lines.length > kLongestRepaired) return;
    const std::int64_t words = groups * lanes * line_words(lines.length);
    partitions.starts = scratch.take<std::uint32_t>(words);
    partitions.ups = scratch.take<std::uint32_t>(words);
    lams = scratch.take<T>(groups * lanes);
    unsolved = scratch.take<std::uint32_t>(groups);
    tile_size = std::int64_t{2} * lines.length * lanes;
    tiles = scratch.take<T>(tile_size * tasks);
    line = scratch.take<T>(lines.length);
    codes = scratch.take<std::uint32_t>(std::int64_t{lines.count} * partition_words(lines.length));
  }

  std::int32_t lanes;
  std::int64_t groups;
  LinePartitions partitions;
  T* lams = nullptr;
  std::uint32_t* unsolved = nullptr;
  std::int64_t tile_size = 0;
  T* tiles = nullptr;  // one per task
  T* line = nullptr;   // the solution of one
  std::uint32_t* codes = nullptr;
};

/// Longer lines are averaged row by row.
inline constexpr std::int32_t kLongestAveraged = 1024;

/// Elements of the tile of a thread that averages lines.
template <class T>
std::int64_t averages_tile(const Lines& lines) noexcept {
  if (lines.length > kLongestAveraged) return 0;
  const std::int64_t lanes = chosen_cpu_target().kernels<T>().line_lanes;
  return lanes * (2 * lines.length + 4 * line_words(lines.length));
}

inline LineShape shape_of(const Lines& lines) noexcept {
  return {lines.length, lines.count, lines.apart, lines.stride};
}

template <class T>
class LinePasses {
 public:
  LinePasses(const Lines& lines, const LinePassScratch<T>& scratch, const Context& context) noexcept
      : lines_(lines), s_(scratch), context_(context) {}

  /// Before the first pass over other images.
  void start() noexcept { is_first_ = true; }

  /// Takes lam_of(line) as the lams of all passes over an image of this extent. Returns whether its
  /// partitions can be repaired: in T's arithmetic, with lams above 0.
  template <class LamOf>
  [[nodiscard]] bool take_lams(const Extent<T>& extent, const LamOf& lam_of) noexcept {
    if (lines_.length == 1 || lines_.length > kLongestRepaired || is_unusual(extent)) return false;
    constexpr T kMost = std::numeric_limits<T>::max() / 8;  // larger ones make no difference
    const T range = extent.high - extent.low;
    const auto unbinding = static_cast<double>(unbinding_lam(extent, lines_.length));
    for (std::int32_t line = 0; line < lines_.count; ++line) {
      const double lam = lam_of(line);
      if (lam < static_cast<double>(1 / kLargestSize<T>)) return false;
      if (std::min(lam, unbinding) >
          static_cast<double>(kLargestLam<T>) * static_cast<double>(range)) {
        return false;
      }
      s_.lams[line] = lam < static_cast<double>(kMost) ? static_cast<T>(lam) : kMost;
    }
    // The unused lanes of the last group repair the last line, too.
    std::fill(s_.lams + lines_.count, s_.lams + s_.groups * s_.lanes, s_.lams[lines_.count - 1]);
    return true;
  }

  /// Whether the next pass has to be a search; keep() then takes what it found.
  [[nodiscard]] bool needs_search() const noexcept {
    return is_first_ && lines_.length > kLongestGuessed;
  }
  /// Where the codes of a search may be stored.
  [[nodiscard]] std::uint32_t* codes() const noexcept { return s_.codes; }
  void keep(const std::uint32_t* codes) noexcept {
    is_first_ = false;
    const std::int64_t words = partition_words(lines_.length);
    for (std::int64_t lane = 0; lane < s_.groups * s_.lanes; ++lane) {
      keep_partition(lane, codes + std::min<std::int64_t>(lane, lines_.count - 1) * words);
    }
  }

  /// A pass, without where it reads and writes; a null `codes` is not written.
  [[nodiscard]] LinePass<T> pass(std::uint32_t* codes) const noexcept {
    LinePass<T> pass;
    pass.shape = shape_of(lines_);
    pass.lams = s_.lams;
    pass.partitions = s_.partitions;
    pass.is_first = is_first_;
    pass.codes = codes;
    pass.unsolved = s_.unsolved;
    return pass;
  }

  /// Solves all lines.
  void run(const LinePass<T>& pass) noexcept {
    is_first_ = false;
    const auto repair = chosen_cpu_target().kernels<T>().repair_lines;
    for_each_chunk(
        Sharing(s_.groups, kLinesTogether, context_), reinterpret_cast<std::byte*>(s_.tiles),
        static_cast<std::size_t>(s_.tile_size) * sizeof(T), context_, [&](Scratch& scratch) {
          LinePass<T> own = pass;
          own.tile = scratch.take<T>(s_.tile_size);
          return [own, repair](std::int64_t first, std::int64_t last) { repair(own, first, last); };
        });
    if (is_interrupted(context_)) return;
    for (std::int64_t group = 0; group < s_.groups; ++group) {
      for (std::int32_t lane = 0; s_.unsolved[group] >> lane != 0; ++lane) {
        const std::int64_t line = group * s_.lanes + lane;
        const bool is_left = (s_.unsolved[group] >> lane & 1U) != 0;
        if (is_left && line < lines_.count) search(pass, line);
      }
    }
  }

 private:
  /// Solves a line that repairs do not solve.
  void search(const LinePass<T>& pass, std::int64_t line) noexcept {
    const std::int64_t first = line * lines_.apart;
    const Lines one = {1, lines_.length, 0, lines_.stride};
    Forward1d call;
    call.rows = rows_of(one);
    call.lam.number = static_cast<double>(pass.lams[line]);
    call.x = lines_array<const void>(pass.in + first, kDType<T>, one);
    call.y = lines_array<void>(s_.line, kDType<T>, {1, lines_.length, 0, 1});
    call.partition = s_.codes;
    forward1d_checked(call, context_);
    for (std::int32_t k = 0; k < lines_.length; ++k) {
      store_solution(pass, first + k * lines_.stride, s_.line[k]);
    }
    keep_partition(line, s_.codes);
    if (pass.codes == nullptr) return;
    const std::int64_t words = partition_words(lines_.length);
    std::copy_n(s_.codes, words, pass.codes + line * words);
  }

  void keep_partition(std::int64_t line, const std::uint32_t* codes) noexcept {
    const std::int64_t words = line_words(lines_.length);
    for (std::int64_t word = 0; word < words; ++word) {
      const std::uint32_t low = codes[2 * word];
      const std::uint32_t high =
          2 * word + 1 < partition_words(lines_.length) ? codes[2 * word + 1] : 0;
      const std::uint32_t up = gather_bits(low) | gather_bits(high) << kCodesPerWord;
      const std::uint32_t down = gather_bits(low >> 1) | gather_bits(high >> 1) << kCodesPerWord;
      const std::int64_t at = (line / s_.lanes * words + word) * s_.lanes + line % s_.lanes;
      s_.partitions.starts[at] = up | down;
      s_.partitions.ups[at] = up;
    }
  }

  const Lines lines_;
  LinePassScratch<T> s_;
  const Context context_;
  bool is_first_ = true;
};

}  // namespace tautstring::detail
