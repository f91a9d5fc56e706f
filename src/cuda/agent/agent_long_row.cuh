// A lane's chunk of a row that does not fit in a warp: first where the lane can begin, then the
// search of its piece. agent_forward.cuh explains the idea. Here pieces reach as far as they must,
// and all arithmetic is in float64 on samples in memory; a chunk stays in the first-level cache.
//
// Mapping: one lane per chunk. Traffic: x is read twice or more, mostly from caches; codes and
// values are written only at the starts of segments.
#pragma once

#include <cstdint>
#include <limits>

#include "cuda/warp/long_rows.cuh"
#include "cuda/warp/search.cuh"

namespace tautstring::detail {

template <class Call, bool kEdges>
class AgentLongRow {
 public:
  using Storage = typename Call::Storage;

  __device__ AgentLongRow(const LongRows<Call>& call, std::int64_t index) noexcept
      : call_(call),
        has_chunk_(index < call.rows.count * call.chunks),
        row_(has_chunk_ ? index / call.chunks : 0),
        chunk_(has_chunk_ ? static_cast<std::int32_t>(index - row_ * call.chunks) : 0),
        x_(call.rows.x.row(row_)),
        origin_(origin_of_row<double>(x_, call.rows.x.stride, call.rows.shape.n)),
        lam_offset_(call.rows.lam_data == nullptr ? 0 : call.rows.lam.offset(row_)) {
    row_lam_ = bounded(call.rows.lam_number);
    if (!kEdges && call.rows.lam_data != nullptr) row_lam_ = bounded(lam_at(lam_offset_));
  }

  /// Clears the codes of the chunk and finds where its lane begins.
  __device__ void find_start() const noexcept {
    const std::int32_t n = call_.rows.shape.n;
    const std::int32_t first = chunk_ * call_.chunk;
    if (has_chunk_) {
      std::uint32_t* codes = call_.codes_of(row_);
      const std::int32_t words = (n - 1) / 16 + 1;
      for (std::int32_t w = first / 16; w < min((first / 16 + call_.chunk / 16), words); ++w)
        codes[w] = 0;
      if (chunk_ == 0) call_.kinds[row_] = LongRowKind::searched;
    }
    const std::int32_t limit = n - first < kLongLimit ? n : first + kLongLimit;
    const CommonJump jump = find_common_jump<Search, double>(
        *this, first, limit, n, has_chunk_ && chunk_ > 0 && (kEdges || row_lam_ > 0));
    if (!has_chunk_) return;
    std::int32_t start = jump.code == Code::up ? -jump.first : jump.first;
    if (!jump.found) start = LongRows<Call>::kNowhere;
    call_.starts[row_ * call_.chunks + chunk_] = chunk_ == 0 ? 0 : start;
    call_.meets[row_ * call_.chunks + chunk_] = kNobody;
  }

  /// Searches the lane's piece.
  __device__ void search() noexcept {
    std::int32_t next_chunk = 0;
    const Piece piece = find_piece(next_chunk);
    const PieceResult result = search_piece<Search, double>(*this, piece, *this);
    if (!has_chunk_) return;
    if (piece.active) {
      __threadfence();  // codes must be visible before the values are exchanged
      if (chunk_ > 0) meet_at(chunk_, first_value_, false);
      if (next_chunk > 0) meet_at(next_chunk, last_value_, true);
    }
    // A value may be odd because a sample is, or because samples are too large: the careful path
    // finds out.
    if (result.gave_up || result.is_odd || has_extreme_lam_) {
      call_.tell(row_, LongRowKind::careful);
    }
    if (!is_allowed_lam()) call_.tell(row_, LongRowKind::nan);
  }

  // --- Source ---

  [[nodiscard]] __device__ double sample(std::int32_t i) const noexcept {
    return widen<double>(x_[i * call_.rows.x.stride]) - origin_;
  }
  [[nodiscard]] __device__ double lam(std::int32_t e) const noexcept {
    if constexpr (!kEdges) return row_lam_;
    // There is no edge after the last sample, so its lam must not bound a value.
    return e + 1 < call_.rows.shape.n ? bounded(lam_at(lam_offset_ + e * call_.rows.lam.stride))
                                      : kMostLam;
  }
  struct Lams {
    static constexpr bool kUniform = !kEdges;
    double lam[kGroup];
    [[nodiscard]] __device__ double operator[](int j) const noexcept { return lam[j]; }
  };
  [[nodiscard]] __device__ double zero() const noexcept {
    return static_cast<double>(call_.rows.shape.n >> 31);
  }
  __device__ void prepare(std::int32_t, std::int32_t, std::int32_t) const noexcept {}
  __device__ Lams load(std::int32_t i, std::int32_t last,
                       double (&samples)[kGroup]) const noexcept {
    Lams lams;
#pragma unroll
    for (int j = 0; j < kGroup; ++j) {
      samples[j] = i + j < last ? sample(i + j) : std::numeric_limits<double>::quiet_NaN();
      lams.lam[j] = kEdges && i + j < last ? lam(i + j) : 0;
    }
    return lams;
  }

  // --- Sink ---

  __device__ void put(std::int32_t first, bool is_real, bool down, double value) noexcept {
    if (first_value_ != first_value_) first_value_ = value;
    if (!is_real) return;
    last_value_ = value;
    const double shifted = value + origin_;
    using T = typename LongRows<Call>::T;
    call_.values[row_ * call_.rows.shape.n + first] = static_cast<T>(shifted);
    const Code code = first == 0 ? Code::plain : down ? Code::down : Code::up;
    atomicOr(call_.codes_of(row_) + first / 16, static_cast<std::uint32_t>(code)
                                                    << (2 * (first % 16)));
  }

 private:
  using Search = DeviceSearch<double>;
  /// An upper bound for lam: with samples that the search can take, no edge has a larger dual
  /// variable.
  static constexpr double kMostLam = 0x1p960;
  static constexpr double kLargestSize = 0x1p900;
  /// A NaN that no value has.
  static constexpr std::uint64_t kNobody = ~std::uint64_t{0};

  [[nodiscard]] static __device__ double bounded(double lam) noexcept {
    return lam < kMostLam ? lam : kMostLam;  // also for NaN: such a row becomes NaN anyway
  }
  [[nodiscard]] __device__ double lam_at(std::int64_t at) const noexcept {
    return load_as<double>(call_.rows.lam_data, call_.rows.lam_dtype, at);
  }

  /// Checks the lams of the chunk. The samples are checked through the values.
  [[nodiscard]] __device__ bool is_allowed_lam() noexcept {
    if (call_.rows.lam_data == nullptr) return true;  // checked before
    if (!kEdges) return lam_at(lam_offset_) >= 0;
    const std::int32_t first = chunk_ * call_.chunk;
    const std::int32_t last = first + min(call_.chunk, call_.rows.shape.n - 1 - first);
    for (std::int32_t e = first; e < last; ++e) {
      if (!(lam_at(lam_offset_ + e * call_.rows.lam.stride) >= 0)) return false;
    }
    return true;
  }

  [[nodiscard]] static __device__ Code code_of(std::int32_t start) noexcept {
    return start < 0 ? Code::up : Code::down;
  }

  /// The piece from where this lane knows the true search to where the next lane does, that of
  /// next_chunk.
  [[nodiscard]] __device__ Piece find_piece(std::int32_t& next_chunk) noexcept {
    constexpr std::int32_t kNowhere = LongRows<Call>::kNowhere;
    const std::int32_t n = call_.rows.shape.n;
    const std::int32_t* starts = call_.starts + row_ * call_.chunks;
    const std::int32_t own = has_chunk_ ? starts[chunk_] : kNowhere;
    Piece piece = {own == kNowhere ? n : abs(own), n, chunk_ == 0 ? Code::plain : code_of(own),
                   Code::continues, false};
    for (std::int32_t c = chunk_ + 1;
         piece.first < n && c < call_.chunks && c * call_.chunk < piece.last; ++c) {
      const std::int32_t start = starts[c];
      // If several lanes begin at the same place, the last one searches.
      if (start != kNowhere && abs(start) <= piece.last) {
        piece.last = abs(start);
        piece.after = code_of(start);
        next_chunk = c;
      }
    }
    look_at_chunk();
    piece.active = piece.first < piece.last && !has_extreme_lam_;
    return piece;
  }

  /// Where two pieces meet, at the start of the piece of `chunk`, rounding may have made up a jump.
  /// Whichever of the two lanes comes last sees it and removes the border.
  __device__ void meet_at(std::int32_t chunk, double value, bool is_left) const noexcept {
    const std::int64_t at = row_ * call_.chunks + chunk;
    const auto own = static_cast<unsigned long long>(__double_as_longlong(value));
    const unsigned long long told =
        atomicExch(reinterpret_cast<unsigned long long*>(call_.meets) + at, own);
    if (told == kNobody) return;
    const double other = __longlong_as_double(static_cast<long long>(told));
    const std::int32_t start = call_.starts[at];
    if (is_real_jump(start >= 0, is_left ? value : other, is_left ? other : value)) return;
    const std::int32_t first = abs(start);
    __threadfence();
    atomicAnd(call_.codes_of(row_) + first / 16, ~(3U << (2 * (first % 16))));
  }

  /// Finds what the search cannot take: an edge of lam 0, or samples near the ends of the range.
  __device__ void look_at_chunk() noexcept {
    if (!has_chunk_) return;
    const std::int32_t first = chunk_ * call_.chunk;
    const std::int32_t last = first + min(call_.chunk, call_.rows.shape.n - first);
    if (!kEdges) has_extreme_lam_ = !(row_lam_ >= 1 / kLargestSize);
    for (std::int32_t i = first; i < last; ++i) {
      if constexpr (kEdges) {
        if (i + 1 < call_.rows.shape.n && !(lam(i) >= 1 / kLargestSize)) has_extreme_lam_ = true;
      }
      if constexpr (sizeof(Storage) == sizeof(double)) {
        const double size = fabs(widen<double>(x_[i * call_.rows.x.stride]));
        if (size > kLargestSize) has_extreme_lam_ = true;
      }
    }
  }

  const LongRows<Call>& call_;
  const bool has_chunk_;
  const std::int64_t row_;
  const std::int32_t chunk_;
  const Storage* const x_;
  const double origin_;
  const std::int64_t lam_offset_;
  double row_lam_;
  bool has_extreme_lam_ = false;
  double first_value_ = std::numeric_limits<double>::quiet_NaN();  // of the segments of the piece
  double last_value_ = std::numeric_limits<double>::quiet_NaN();
};

}  // namespace tautstring::detail
