// Solves the rows of a block: from samples in memory to values and codes in memory.
//
// Mapping: a lane searches a chunk of a row. A warp holds the chunks of one or more rows in shared
// memory as [sample][lane], so lanes have no bank conflicts wherever each of them reads. Traffic: x
// is read once, y and 2 bits per element are written once; x is read again, mostly from a cache, if
// the output depends on it. Shared memory: 4.25 bytes per sample in float32 (see ForwardShape).
//
// Rows of one chunk are simply searched. In longer rows every lane except the first of a row runs
// two searches from the start of its chunk, with the dual variable at the two ends of its range.
// The true search lies between the two; once both are past the same jump, so is the true one. The
// lane then searches its piece of the row on its own: from there to where the next lane knows the
// same. A lane that finds no such place leaves its part to the lane before it.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "cuda/agent/careful_scratch.cuh"
#include "cuda/tuning/tuning_forward.h"
#include "cuda/warp/copy_async.cuh"
#include "cuda/warp/forward_rows.cuh"
#include "cuda/warp/search.cuh"
#include "step/segment.h"

namespace tautstring::detail {

/// How a row is handled. Depends on that row alone.
enum class RowKind : std::uint8_t {
  searched,
  missing,   // there is no such row
  copied,    // lam is 0
  streamed,  // its segments are too long for a search from the middle
  nan,       // a sample that is not finite, or an invalid lam
  careful,   // near the ends of T's range, an edge of lam 0, or too many samples to read again
};

template <class Call, bool kEdges, bool kSplit, bool kAlongMemory>
class AgentForward {
 public:
  using Storage = typename Call::Storage;
  using T = ArithmeticOf<Storage>;

  __device__ AgentForward(const Call& call, char* shared) noexcept
      : call_(call),
        shape_(call.shape),
        lane_(static_cast<int>(threadIdx.x) % kLanes),
        lane_in_row_(kSplit ? lane_ % shape_.lanes_per_row : 0),
        row_in_warp_(kSplit ? lane_ / shape_.lanes_per_row : lane_),
        first_lane_(lane_ - lane_in_row_),
        shared_(shared),
        warp_bytes_(static_cast<unsigned>(shape_.warp_bytes(sizeof(T), kEdges))) {
    const int warp = static_cast<int>(threadIdx.x) / kLanes;
    x_ = samples_of(warp);
    lam_ = x_ + shape_.depth() * kLanes;
    codes_ = reinterpret_cast<std::uint32_t*>(x_ + shape_.depth() * kLanes * (kEdges ? 2 : 1));
  }

  /// Solves the rows from `first` on that belong to this block, except those that need care:
  /// nothing is written for these.
  __device__ void solve(std::int64_t first) noexcept {
    const int warp = static_cast<int>(threadIdx.x) / kLanes;
    row_ = first + static_cast<std::int64_t>(warp) * shape_.rows_per_warp + row_in_warp_;
    const bool has_row = row_in_warp_ < shape_.rows_per_warp && row_ < call_.count;
    chunk_first_ = lane_in_row_ * shape_.chunk;
    chunk_size_ = has_row ? min(shape_.chunk, shape_.n - chunk_first_) : 0;
    kind_ = has_row ? RowKind::searched : RowKind::missing;
    is_odd_ = false;
    reason_ = CareReason::unsearchable;

    clear_codes();
    stage(first);
    look_at_lam();
    if constexpr (kSplit) {
      copy_next_group();
    } else {
      end_row();
    }
    __syncwarp();

    Piece piece = whole_row();
    if constexpr (kSplit) {
      piece = find_piece();
      if constexpr (ForwardShape::may_stream(kSplit, kEdges)) look_at_pieces(piece);
    }
    search(piece);
    finish_unsearched();
    __syncwarp();

    store_codes();
    store_values(first);
  }
  /// Whether this lane represents a row that needs care, and why.
  [[nodiscard]] __device__ bool needs_care() const noexcept {
    return kind_ == RowKind::careful && lane_in_row_ == 0;
  }
  [[nodiscard]] __device__ CareReason care_reason() const noexcept { return reason_; }
  /// The same for a row that is to be streamed.
  [[nodiscard]] __device__ bool needs_stream() const noexcept {
    return kind_ == RowKind::streamed && lane_in_row_ == 0;
  }
  [[nodiscard]] __device__ std::int64_t row() const noexcept { return row_; }
  /// Offset of the warp's samples in shared memory.
  [[nodiscard]] __device__ unsigned samples_offset() const noexcept {
    return threadIdx.x / kLanes * warp_bytes_;
  }

 private:
  static constexpr bool kWritesNextInput = Call::kOutput == ForwardOutput::next_input;
  static constexpr int kTile = 128 / sizeof(T);      // samples of a row that fill all banks
  static constexpr int kPerVector = 16 / sizeof(T);  // samples in 16 bytes of shared memory
  static constexpr int kVectors = kTile / kPerVector;
  static constexpr T kNan = std::numeric_limits<T>::quiet_NaN();
  /// Used in place of an offset, which may be negative: nothing to write.
  static constexpr std::int64_t kNothing = std::numeric_limits<std::int64_t>::min();
  /// A larger lam is replaced by this one. A row that nevertheless jumps needs care.
  static constexpr T kLargestLam = SearchedLam<T>::kLargest;
  static constexpr T kSmallestLam = SearchedLam<T>::kSmallest;

  struct alignas(16) Vector {
    T item[kPerVector];
  };

  // --- Shared memory ---

  [[nodiscard]] __device__ T* samples_of(int warp) const noexcept {
    return reinterpret_cast<T*>(shared_ + static_cast<unsigned>(warp) * warp_bytes_);
  }
  /// The position of sample i of the lane's row, in x_ and lam_.
  [[nodiscard]] __device__ int place(std::int32_t i) const noexcept {
    if constexpr (!kSplit) return i * kLanes + lane_;
    return (i & (shape_.chunk - 1)) * kLanes + first_lane_ + (i >> shape_.log_chunk);
  }
  [[nodiscard]] __device__ int word_of(std::int32_t i) const noexcept {
    if constexpr (!kSplit) return (i >> 4) * kLanes + lane_;
    return ((i & (shape_.chunk - 1)) >> 4) * kLanes + first_lane_ + (i >> shape_.log_chunk);
  }
  /// The start of a row already has a code that no direction changes.
  __device__ void mark(std::int32_t i, bool is_real, bool down) const noexcept {
    constexpr auto kUp = static_cast<std::uint32_t>(Code::up);
    constexpr auto kDown = static_cast<std::uint32_t>(Code::down);
    const std::uint32_t code = is_real ? (down ? kDown : kUp) : 0;
    const auto shift = static_cast<unsigned>(2 * i);  // only the lowest five bits count
    atomicOr(codes_ + word_of(i), __funnelshift_l(0, code, shift));
  }
  __device__ void unmark(std::int32_t i) const noexcept {
    atomicAnd(codes_ + word_of(i), ~(3U << (2 * (i & 15))));
  }
  /// Marks the starts of rows and clears all other codes.
  __device__ void clear_codes() const noexcept {
    constexpr auto kPlain = static_cast<std::uint32_t>(Code::plain);
    codes_[lane_] = lane_in_row_ == 0 ? kPlain : 0;
    for (int w = 1; w < shape_.words(); ++w) codes_[w * kLanes + lane_] = 0;
  }
  /// Copies the group that follows each chunk to the end of that chunk, so that a group is always
  /// read from one column.
  __device__ void copy_next_group() const noexcept {
    __syncwarp();
    const int next = min(lane_ + 1, kLanes - 1);
#pragma unroll
    for (int j = 0; j < kGroup; ++j) {
      x_[(shape_.chunk + j) * kLanes + lane_] = x_[j * kLanes + next];
      if constexpr (kEdges) lam_[(shape_.chunk + j) * kLanes + lane_] = lam_[j * kLanes + next];
    }
  }

  /// NaN after the end of a whole row; it sets no bounds.
  __device__ void end_row() const noexcept {
#pragma unroll
    for (int j = 0; j < kGroup; ++j) x_[(shape_.n + j) * kLanes + lane_] = kNan;
  }

  // --- From memory ---

  /// Loads the samples, less the first one of the row: the differences are small if the row's range
  /// is.
  __device__ void stage(std::int64_t first) noexcept {
    const bool has_row = kind_ == RowKind::searched;
    std::int64_t edge_offset = 0;
    if (has_row) {
      offset_ = call_.x.offset(row_) + chunk_first_ * call_.x.stride;
      const double lam = lam_of(row_);
      if (kEdges) edge_offset = call_.lam.offset(row_) + chunk_first_ * call_.lam.stride;
      row_lam_ = T(lam);
      copies_ = !kEdges && lam == 0;  // not if lam only rounds to 0 in T
    }
    if constexpr (kAlongMemory) {
      __syncwarp();
      if (call_.whole_vectors) {
        stage_vectors();
      } else {
        stage_elements(offset_, 1, chunk_size_, x_, [&](std::int64_t at, T* to) {
          if constexpr (std::is_same_v<Storage, T>) {
            copy_async<sizeof(T)>(to, call_.x.data + at);
          } else {
            *to = widen<T>(call_.x.data[at]);
          }
        });
      }
      if constexpr (kEdges) {
        const int edges = min(chunk_size_, max(shape_.n - 1 - chunk_first_, 0));
        const bool same_type =
            call_.lam_dtype == (sizeof(T) == 4 ? DType::float32 : DType::float64);
        const auto* lams = static_cast<const T*>(call_.lam_data);
        stage_elements(edge_offset, call_.lam.stride, edges, lam_, [&](std::int64_t at, T* to) {
          if (same_type) {
            copy_async<sizeof(T)>(to, lams + at);
          } else {
            *to = load_as<T>(call_.lam_data, call_.lam_dtype, at);
          }
        });
      }
      wait_for_copies();
      __syncwarp();
      // The row's first samples are in the first vector of its first lane.
      const T* start = reinterpret_cast<const Vector*>(x_)[swizzled(first_lane_, 0)].item;
      origin_ = copies_ ? T(0) : origin_of_row<T>(start, 1, shape_.n);
      __syncwarp();
      for (int t = 0; t < shape_.chunk; t += kTile) {
        transpose(x_ + t * kLanes, origin_);
        if constexpr (kEdges) transpose(lam_ + t * kLanes, T(0));
      }
    } else if constexpr (!kSplit) {
      stage_own(edge_offset);
    } else {
      if (has_row) origin_ = copies_ ? T(0) : origin_of(call_.x.row(row_));
      __syncthreads();
      stage_across(carried_chunk(first));
      __syncthreads();
    }
  }
  /// The lam of all edges of a row; 0 if each edge has its own.
  [[nodiscard]] __device__ double lam_of(std::int64_t row) const noexcept {
    if (call_.lam_data == nullptr) return call_.lam_number;
    return kEdges ? 0 : load_as<double>(call_.lam_data, call_.lam_dtype, call_.lam.offset(row));
  }
  [[nodiscard]] __device__ T origin_of(const Storage* row) const noexcept {
    return origin_of_row<T>(row, call_.x.stride, shape_.n);
  }
  /// Across memory, neighbouring lanes have neighbouring rows. If each lane has a whole row, it
  /// loads its own.
  __device__ void stage_own(std::int64_t edge_offset) noexcept {
    constexpr int kAtOnce = 32;
    const Storage* from = call_.x.data + offset_;
    const auto stage = [&]<bool kAll>(int first) {
      T samples[kAtOnce] = {};
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        if (kAll || first + k < shape_.n) samples[k] = widen<T>(*from);
        from += call_.x.stride;
      }
      if (first == 0) origin_ = copies_ ? T(0) : origin_of_row<T>(samples, 1, shape_.n);
      T* to = x_ + first * kLanes + lane_;
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) to[k * kLanes] = samples[k] - origin_;
    };
    if (chunk_size_ > 0) {
      int first = 0;
      for (; first + kAtOnce <= shape_.n; first += kAtOnce) stage.template operator()<true>(first);
      if (first < shape_.n) stage.template operator()<false>(first);
    }
    if constexpr (kEdges) {
      for (int k = 0; k < min(chunk_size_, shape_.n - 1); ++k) {
        lam_[k * kLanes + lane_] =
            load_as<T>(call_.lam_data, call_.lam_dtype, edge_offset + k * call_.lam.stride);
      }
    }
  }

  /// A tile has kTile samples of each of 32 rows, 128 bytes per row. Vectors of 16 bytes are
  /// permuted so that neither rows nor columns of vectors have bank conflicts.
  [[nodiscard]] static __device__ int swizzled(int row, int vector) noexcept {
    return row * kVectors + (vector ^ (row & (kVectors - 1)));
  }

  __device__ void stage_vectors() const noexcept {
    const int row_of_few = lane_ / kVectors;
    const int vector = lane_ % kVectors;
    if (call_.x_chunks_apart != 0 && __all_sync(kWarp, chunk_size_ == shape_.chunk)) {
      const std::int64_t first = __shfl_sync(kWarp, offset_, 0);
      const Storage* from =
          call_.x.data + first + row_of_few * call_.x_chunks_apart + vector * kPerVector;
      const std::int64_t step = kLanes / kVectors * call_.x_chunks_apart;
      for (int t = 0; t < shape_.chunk; t += kTile) {
        const Storage* at = from + t;
        Vector* to = reinterpret_cast<Vector*>(x_ + t * kLanes);
#pragma unroll
        for (int i = 0; i < kVectors; ++i) {
          copy_vector(at, to + swizzled(i * (kLanes / kVectors) + row_of_few, vector));
          at += step;
        }
      }
      return;
    }
    for (int i = 0; i < kVectors; ++i) {
      const int row = i * (kLanes / kVectors) + row_of_few;
      const std::int64_t offset = __shfl_sync(kWarp, offset_, row);
      const int size = __shfl_sync(kWarp, chunk_size_, row) - vector * kPerVector;
      const Storage* from = call_.x.data + offset + vector * kPerVector;
      Vector* to = reinterpret_cast<Vector*>(x_) + swizzled(row, vector);
      for (int t = 0; t < size; t += kTile) copy_vector(from + t, to + t * kLanes / kPerVector);
    }
  }

  static __device__ void copy_vector(const Storage* from, Vector* to) noexcept {
    if constexpr (std::is_same_v<Storage, T>) {
      copy_async<sizeof(Vector)>(to, from);
    } else {
      struct alignas(sizeof(Storage) * kPerVector) Packed {
        Storage item[kPerVector];
      };
      const Packed packed = *reinterpret_cast<const Packed*>(from);
      Vector wide;
#pragma unroll
      for (int j = 0; j < kPerVector; ++j) wide.item[j] = widen<T>(packed.item[j]);
      *to = wide;
    }
  }

  /// copy(at, to) loads one element. Elements past the end of a row are 0.
  template <class Copy>
  __device__ void stage_elements(std::int64_t own_offset, std::int64_t stride, int own_size, T* to,
                                 const Copy& copy) const noexcept {
#pragma unroll 4
    for (int row = 0; row < kLanes; ++row) {
      const std::int64_t offset = __shfl_sync(kWarp, own_offset, row);
      const int size = __shfl_sync(kWarp, own_size, row);
      for (int k = lane_; k < shape_.chunk; k += kLanes) {
        const int in_tile = k % kTile;
        T* place = to + k / kTile * kTile * kLanes +
                   swizzled(row, in_tile / kPerVector) * kPerVector + in_tile % kPerVector;
        if (k < size) {
          copy(offset + k * stride, place);
        } else {
          *place = T(0);
        }
      }
    }
  }

  /// Transposes a tile and subtracts `origin`.
  __device__ void transpose(T* tile, T origin) const noexcept {
    Vector own[kVectors];
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      own[i] = reinterpret_cast<const Vector*>(tile)[swizzled(lane_, i)];
    }
    __syncwarp();
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
#pragma unroll
      for (int j = 0; j < kPerVector; ++j) {
        tile[(i * kPerVector + j) * kLanes + lane_] = own[i].item[j] - origin;
      }
    }
  }

  /// A chunk that a thread loads and stores for another thread. Neighbouring threads have
  /// neighbouring rows, so that columns of an image are read in whole sectors, and use different
  /// banks in shared memory.
  struct CarriedChunk {
    std::int64_t row;
    std::int32_t first;
    std::int32_t size;  // 0: there is none
    T* samples;         // in the column of its lane
  };
  [[nodiscard]] __device__ CarriedChunk carried_chunk(std::int64_t first) const noexcept {
    const int rows = shape_.rows_per_block();
    const int own = static_cast<int>(threadIdx.x) % rows;
    const int chunk = static_cast<int>(threadIdx.x) / rows;
    const int lane = own % shape_.rows_per_warp * shape_.lanes_per_row + chunk;
    const std::int32_t begin = chunk * shape_.chunk;
    const bool is_any = chunk < shape_.lanes_per_row && first + own < call_.count;
    return {first + own, begin, is_any ? min(shape_.chunk, shape_.n - begin) : 0,
            samples_of(own / shape_.rows_per_warp) + lane};
  }

  /// Calls use(k, all) for each `kAtOnce` samples of a chunk: `k` is the first of them, `all` a
  /// constant that says whether the chunk has all of them.
  template <int kAtOnce, class Use>
  static __device__ void for_each_few(std::int32_t size, const Use& use) noexcept {
    std::int32_t k = 0;
    for (; k + kAtOnce <= size; k += kAtOnce) use(k, std::true_type{});
    if (k < size) use(k, std::false_type{});
  }

  __device__ void stage_across(const CarriedChunk& chunk) const noexcept {
    if (chunk.size == 0) return;
    constexpr int kAtOnce = 16;
    const Storage* row = call_.x.row(chunk.row);
    const T origin = !kEdges && lam_of(chunk.row) == 0 ? T(0) : origin_of(row);
    const Storage* from = row + chunk.first * call_.x.stride;
    for_each_few<kAtOnce>(chunk.size, [&](std::int32_t first, auto all) {
      T samples[kAtOnce] = {};
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        if (all || first + k < chunk.size) samples[k] = widen<T>(*from);
        from += call_.x.stride;
      }
      T* to = chunk.samples + first * kLanes;
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) to[k * kLanes] = samples[k] - origin;
    });
    if constexpr (kEdges) {
      T* lams = chunk.samples + shape_.depth() * kLanes;
      const std::int64_t at = call_.lam.offset(chunk.row) + chunk.first * call_.lam.stride;
      for (int k = 0; k < min(chunk.size, shape_.n - 1 - chunk.first); ++k) {
        lams[k * kLanes] = load_as<T>(call_.lam_data, call_.lam_dtype, at + k * call_.lam.stride);
      }
    }
  }

  // --- Properties of a row ---

  [[nodiscard]] __device__ unsigned row_lanes() const noexcept {
    const unsigned lanes = kSplit && shape_.lanes_per_row < kLanes
                               ? (1U << shape_.lanes_per_row) - 1
                           : kSplit ? kWarp
                                    : 1U;
    return lanes << first_lane_;
  }
  /// Whether the condition is true in any lane of the row.
  [[nodiscard]] __device__ bool any_of_row(bool condition) const noexcept {
    return kSplit ? (__ballot_sync(kWarp, condition) & row_lanes()) != 0 : condition;
  }

  /// Classifies the row by its lam.
  __device__ void look_at_lam() noexcept {
    T least = row_lam_;
    bool is_allowed = row_lam_ >= 0;
    if constexpr (kEdges) {
      least = std::numeric_limits<T>::infinity();
      is_allowed = true;
      has_huge_lam_ = false;
      for (int k = 0; k < min(chunk_size_, shape_.n - 1 - chunk_first_); ++k) {
        T& lam = lam_[k * kLanes + lane_];
        is_allowed = is_allowed && lam >= 0;
        least = min(least, lam);
        has_huge_lam_ = has_huge_lam_ || lam > kLargestLam;
        lam = min(lam, kLargestLam);
      }
      // There is no edge after the last sample, so its lam must not bound a value.
      const int last = shape_.n - 1 - chunk_first_;
      if (0 <= last && last < chunk_size_) lam_[last * kLanes + lane_] = kLargestLam;
    } else {
      has_huge_lam_ = row_lam_ > kLargestLam;
      row_lam_ = min(row_lam_, kLargestLam);
    }
    const bool is_nan = any_of_row(!is_allowed);
    const bool is_tiny = any_of_row(least < kSmallestLam);
    has_huge_lam_ = any_of_row(has_huge_lam_);
    if (kind_ == RowKind::missing) return;
    if (is_nan) {
      kind_ = RowKind::nan;
    } else if (copies_ && !call_.sharp) {
      kind_ = RowKind::copied;
    } else if (is_tiny) {
      kind_ = RowKind::careful;
    }
  }

  // --- The search ---

  using Search = DeviceSearch<T>;

  struct UniformGroup {
    static constexpr bool kUniform = true;
    [[nodiscard]] __device__ T operator[](int) const noexcept { return 0; }
  };
  struct EdgeGroup {
    static constexpr bool kUniform = false;
    T lam[kGroup];
    [[nodiscard]] __device__ T operator[](int j) const noexcept { return lam[j]; }
  };

  /// The lane's row, in shared memory.
  struct Source {
    const AgentForward& agent;

    [[nodiscard]] __device__ T sample(std::int32_t i) const noexcept {
      return agent.x_[agent.place(i)];
    }
    [[nodiscard]] __device__ T lam(std::int32_t i) const noexcept {
      if constexpr (kEdges) return agent.lam_[agent.place(i)];
      return agent.row_lam_;
    }
    [[nodiscard]] __device__ T zero() const noexcept {
      return static_cast<T>(agent.shape_.n >> 31);
    }
    __device__ void prepare(std::int32_t, std::int32_t, std::int32_t) const noexcept {}
    __device__ auto load(std::int32_t i, std::int32_t last, T (&samples)[kGroup]) const noexcept {
      if constexpr (!kSplit) {
        // Whole rows are followed by NaN, and lanes that are done wait there.
        const int at = agent.place(min(i, agent.shape_.n));
#pragma unroll
        for (int j = 0; j < kGroup; ++j) samples[j] = agent.x_[at + j * kLanes];
        return lams_at(at, true);
      } else {
        // Samples past the end of a piece may be another lane's to write.
        const int at = agent.place(i);
        const bool whole = i + kGroup <= last;
        if (whole) {
#pragma unroll
          for (int j = 0; j < kGroup; ++j) samples[j] = agent.x_[at + j * kLanes];
        } else {
#pragma unroll
          for (int j = 0; j < kGroup; ++j) {
            samples[j] = kNan;
            if (i + j < last) samples[j] = agent.x_[at + j * kLanes];
          }
        }
        return lams_at(at, i < last);
      }
    }
    __device__ auto lams_at(int at, bool any) const noexcept {
      if constexpr (kEdges) {
        EdgeGroup group;
#pragma unroll
        for (int j = 0; j < kGroup; ++j) group.lam[j] = any ? agent.lam_[at + j * kLanes] : T(0);
        return group;
      } else {
        return UniformGroup{};
      }
    }
  };

  /// Values replace the samples at the starts of segments.
  struct Sink {
    const AgentForward& agent;
    T first_value = kNan;
    T last_value = kNan;

    __device__ void put(std::int32_t first, bool is_real, bool down, T value) noexcept {
      agent.x_[agent.place(first)] = value + agent.origin_;
      agent.mark(first, is_real, down);
      if (kSplit && first_value != first_value) first_value = value;
      last_value = is_real ? value : last_value;
    }
  };

  [[nodiscard]] __device__ Piece whole_row() const noexcept {
    return {0, shape_.n, Code::plain, Code::continues, kind_ == RowKind::searched};
  }

  /// The piece from where this lane knows the true search to where the next lane does.
  [[nodiscard]] __device__ Piece find_piece() const noexcept {
    const std::int32_t n = shape_.n;
    const bool is_searched = kind_ == RowKind::searched;
    const CommonJump jump = find_common_jump<Search, T>(
        Source{*this}, chunk_first_, min(chunk_first_ + shape_.chunk, n), n,
        is_searched && lane_in_row_ > 0 && chunk_first_ < n);
    const std::int32_t start = lane_in_row_ == 0 ? 0 : jump.found ? jump.first : n;
    std::int32_t last = n;
    Code after = Code::continues;
    for (int d = 1; d < shape_.lanes_per_row; ++d) {
      const int from = min(lane_ + d, kLanes - 1);
      const std::int32_t their_start = __shfl_sync(kWarp, start, from);
      const int their_code = __shfl_sync(kWarp, static_cast<int>(jump.code), from);
      if (lane_in_row_ + d < shape_.lanes_per_row && their_start < last) {
        last = their_start;
        after = static_cast<Code>(their_code);
      }
    }
    const Code code = lane_in_row_ == 0 ? Code::plain : jump.code;
    return {start, last, code, after, is_searched && start < last};
  }

  /// Handles rows in which one lane would have so much that the others wait for it.
  __device__ void look_at_pieces(Piece& piece) noexcept {
    const int length = piece.active ? piece.last - piece.first : 0;
    const bool is_long = length > 2 * shape_.chunk || length == shape_.n;
    if (call_.may_stream && any_of_row(is_long) && kind_ == RowKind::searched) {
      kind_ = RowKind::streamed;
      piece.active = false;
    }
    if (any_of_row(is_lopsided(length, shape_.n))) {
      piece = whole_row();
      piece.active = piece.active && lane_in_row_ == 0;
    }
  }

  /// Writes codes and values at the starts of the segments of a piece.
  __device__ void search(const Piece& piece) noexcept {
    Sink sink = {*this};
    const PieceResult result = search_piece<Search, T>(Source{*this}, piece, sink);
    if constexpr (kSplit) drop_made_up_start(piece, sink);
    // If a row with a huge lam has a jump, the lam was cut to too small a value for that row.
    const bool met = has_huge_lam_ && (result.jumps || (piece.active && piece.first > 0));
    const bool is_odd = any_of_row(result.is_odd);
    const bool gave_up = any_of_row(result.gave_up);
    const bool was_whole = any_of_row(piece.active && piece.last - piece.first == shape_.n);
    const bool was_met = any_of_row(met);
    if (kind_ != RowKind::searched) return;
    if (is_odd) {
      kind_ = RowKind::nan;
    } else if (was_met) {
      kind_ = RowKind::careful;
    } else if (gave_up) {
      kind_ = RowKind::careful;
      reason_ = was_whole ? CareReason::both_failed : CareReason::pieces_failed;
    }
    is_odd_ = is_odd;
  }

  /// Checks the first jump of a piece, now that the value before it is known.
  __device__ void drop_made_up_start(const Piece& piece, const Sink& sink) const noexcept {
    const unsigned pieces = __ballot_sync(kWarp, piece.active);
    const unsigned before = pieces & row_lanes() & ((1U << lane_) - 1);
    const int from = before != 0 ? 31 - __clz(static_cast<int>(before)) : lane_;
    const T left = __shfl_sync(kWarp, sink.last_value, from);
    if (piece.active && before != 0 &&
        !is_real_jump(piece.code == Code::down, left, sink.first_value)) {
      unmark(piece.first);
    }
  }

  // --- Rows that are not searched ---

  /// Codes and values of rows that are copied or have no solution.
  __device__ void finish_unsearched() noexcept {
    if (__any_sync(kWarp, is_odd_ && kind_ == RowKind::nan)) tell_large_from_odd();
    __syncwarp();
    if (kind_ == RowKind::nan) {
      clear_codes();
      if (lane_in_row_ == 0) x_[lane_] = kNan;
    }
    bool has_nan = false;
    if (kind_ == RowKind::copied) {
      T before = chunk_first_ > 0 ? x_[(shape_.chunk - 1) * kLanes + lane_ - 1] : T(0);
      for (int k = 0; k < chunk_size_; ++k) {
        const T value = x_[k * kLanes + lane_];
        const Code code = chunk_first_ + k == 0 ? Code::plain
                          : value > before      ? Code::up
                          : value < before      ? Code::down
                                                : Code::plain;
        codes_[k / 16 * kLanes + lane_] |= static_cast<std::uint32_t>(code) << (2 * (k % 16));
        has_nan = has_nan || value != value;
        before = value;
      }
    }
    // Arithmetic does not preserve all bits of a NaN.
    if (any_of_row(has_nan) && kind_ == RowKind::copied) kind_ = RowKind::careful;
  }
  /// A value is not finite because a sample is not, or because finite samples are too large for the
  /// search. This tells the two apart.
  __device__ void tell_large_from_odd() noexcept {
    bool has_odd = false;
    if (is_odd_ && kind_ == RowKind::nan) {
      const Storage* from = call_.x.row(row_) + chunk_first_ * call_.x.stride;
#pragma unroll 1
      for (int k = 0; k < chunk_size_; ++k) {
        const T sample = widen<T>(from[k * call_.x.stride]);
        has_odd = has_odd || sample - sample != 0;
      }
    }
    has_odd = any_of_row(has_odd);
    if (is_odd_ && kind_ == RowKind::nan && !has_odd) kind_ = RowKind::careful;
  }

  // --- To memory ---

  [[nodiscard]] __device__ bool writes() const noexcept {
    return kind_ == RowKind::searched || kind_ == RowKind::copied || kind_ == RowKind::nan;
  }

  __device__ void store_codes() const noexcept {
    if (call_.partition == nullptr || !writes()) return;
    const int row_words = (shape_.n + 15) / 16;
    std::uint32_t* to = call_.partition + row_ * row_words + chunk_first_ / 16;
    const int words = (chunk_size_ + 15) / 16;
    if (call_.whole_words && words % 4 == 0) {
      for (int w = 0; w < words; w += 4) {
        reinterpret_cast<uint4*>(to)[w / 4] =
            make_uint4(codes_[w * kLanes + lane_], codes_[(w + 1) * kLanes + lane_],
                       codes_[(w + 2) * kLanes + lane_], codes_[(w + 3) * kLanes + lane_]);
      }
    } else {
      for (int w = 0; w < words; ++w) to[w] = codes_[w * kLanes + lane_];
    }
  }

  __device__ void store_values(std::int64_t first) noexcept {
    T current = 0;
    if constexpr (kSplit) {
      // The last segment that starts in this chunk, for the chunks after it.
      T last = 0;
      bool any = false;
      for (int w = shape_.words() - 1; w >= 0 && !any; --w) {
        const std::uint32_t codes = codes_[w * kLanes + lane_];
        if (codes == 0) continue;
        const int k = w * 16 + (31 - __clz(static_cast<int>(codes))) / 2;
        last = x_[k * kLanes + lane_];
        any = true;
      }
      const unsigned with = __ballot_sync(kWarp, any);
      const unsigned before = with & ((1U << lane_) - 1);
      current = __shfl_sync(kWarp, last, before != 0 ? 31 - __clz(static_cast<int>(before)) : 0);
    }
    if constexpr (kAlongMemory) {
      store_along(current);
    } else if constexpr (!kSplit) {
      store_own();
    } else {
      fill(current);
      __syncthreads();
      store_across(carried_chunk(first));
      __syncthreads();
    }
  }

  /// The counterpart of stage_own.
  __device__ void store_own() const noexcept {
    if (!writes()) return;
    Storage* to = call_.y.data + call_.y.offset(row_);
    const Storage* samples = call_.x.data + offset_;
    T current = 0;
    const auto store_word = [&]<bool kAll, bool kReads>(int w) {
      const std::uint32_t codes = codes_[w * kLanes + lane_];
      const T* values = x_ + w * 16 * kLanes + lane_;
#pragma unroll
      for (int i = 0; i < 16; ++i) {
        const T value = values[i * kLanes];
        current = (codes & (3U << (2 * i))) != 0 ? value : current;
        if (kAll || w * 16 + i < shape_.n) {
          *to = narrow<Storage>(kReads ? call_.changed(current, samples) : current);
        }
        to += call_.y.stride;
        if (kReads) samples += call_.x.stride;
      }
    };
    for (int w = 0; w < shape_.words(); ++w) {
      const bool all = (w + 1) * 16 <= shape_.n;
      if (kWritesNextInput && all) {
        store_word.template operator()<true, true>(w);
      } else if (call_.reads_again()) {
        store_word.template operator()<false, true>(w);
      } else if (all) {
        store_word.template operator()<true, false>(w);
      } else {
        store_word.template operator()<false, false>(w);
      }
    }
  }

  /// Replaces every sample by its value.
  __device__ void fill(T current) noexcept {
    for (int w = 0; w < shape_.words(); ++w) {
      const std::uint32_t codes = codes_[w * kLanes + lane_];
      T* samples = x_ + w * 16 * kLanes + lane_;
#pragma unroll
      for (int k = 0; k < 16; ++k) {
        const T value = samples[k * kLanes];
        current = (codes & (3U << (2 * k))) != 0 ? value : current;
        samples[k * kLanes] = current;
      }
    }
    x_[shape_.chunk * kLanes + lane_] = writes() ? T(1) : T(0);  // for store_across
  }
  __device__ void store_along(T current) noexcept {
    const std::int64_t y_offset = writes() ? call_.y.offset(row_) + chunk_first_ : kNothing;
    for (int t = 0; t < shape_.chunk; t += kTile) {
      T* tile = x_ + t * kLanes;
      std::uint32_t codes[kTile / 16];
#pragma unroll
      for (int w = 0; w < kTile / 16; ++w) codes[w] = codes_[(t / 16 + w) * kLanes + lane_];
      Vector own[kVectors];
#pragma unroll
      for (int i = 0; i < kVectors; ++i) {
#pragma unroll
        for (int j = 0; j < kPerVector; ++j) {
          const int k = i * kPerVector + j;
          const T value = tile[k * kLanes + lane_];
          current = (codes[k / 16] & (3U << (2 * (k % 16)))) != 0 ? value : current;
          own[i].item[j] = current;
        }
      }
      __syncwarp();
#pragma unroll
      for (int i = 0; i < kVectors; ++i) {
        reinterpret_cast<Vector*>(tile)[swizzled(lane_, i)] = own[i];
      }
    }
    __syncwarp();
    if (call_.whole_vectors) {
      if (call_.reads_again()) {
        store_vectors<true>(y_offset);
      } else {
        store_vectors<false>(y_offset);
      }
      return;
    }
    for (int row = 0; row < kLanes; ++row) {
      const std::int64_t offset = __shfl_sync(kWarp, y_offset, row);
      const std::int64_t x_offset = __shfl_sync(kWarp, offset_, row);
      const int size = __shfl_sync(kWarp, chunk_size_, row);
      if (offset == kNothing) continue;
      for (int k = lane_; k < size; k += kLanes) {
        const int in_tile = k % kTile;
        const T value = x_[k / kTile * kTile * kLanes +
                           swizzled(row, in_tile / kPerVector) * kPerVector + in_tile % kPerVector];
        call_.y.data[offset + k] = call_.finished(value, call_.x.data + x_offset + k);
      }
    }
  }

  template <bool kReads>
  __device__ void store_vectors(std::int64_t y_offset) const noexcept {
    struct alignas(sizeof(Storage) * kPerVector) Packed {
      Storage item[kPerVector];
    };
    const int vector = lane_ % kVectors;
    const auto store = [&](Storage* to, const Storage* samples, const Vector* from) {
      const Vector values = *from;
      Packed packed;
#pragma unroll
      for (int j = 0; j < kPerVector; ++j) {
        const bool changes = kReads && !kWritesNextInput;
        packed.item[j] =
            narrow<Storage>(changes ? call_.changed(values.item[j], samples + j) : values.item[j]);
      }
      if constexpr (kWritesNextInput) call_.change_packed(packed, samples);
      *reinterpret_cast<Packed*>(to) = packed;
    };
    const bool all_written = y_offset != kNothing && chunk_size_ == shape_.chunk;
    if ((!kReads || kWritesNextInput) && call_.y_chunks_apart != 0 &&
        __all_sync(kWarp, all_written)) {
      const int row_of_few = lane_ / kVectors;
      Storage* to = call_.y.data + __shfl_sync(kWarp, y_offset, 0) +
                    row_of_few * call_.y_chunks_apart + vector * kPerVector;
      const std::int64_t step = kLanes / kVectors * call_.y_chunks_apart;
      for (int t = 0; t < shape_.chunk; t += kTile) {
        Storage* at = to + t;
        const Vector* from = reinterpret_cast<const Vector*>(x_ + t * kLanes);
#pragma unroll
        for (int i = 0; i < kVectors; ++i) {
          store(at, call_.x.data + (at - call_.y.data),
                from + swizzled(i * (kLanes / kVectors) + row_of_few, vector));
          at += step;
        }
      }
      return;
    }
    for (int i = 0; i < kVectors; ++i) {
      const int row = i * (kLanes / kVectors) + lane_ / kVectors;
      const std::int64_t offset = __shfl_sync(kWarp, y_offset, row);
      const std::int64_t x_offset = kReads ? __shfl_sync(kWarp, offset_, row) : 0;
      const int size = __shfl_sync(kWarp, chunk_size_, row) - vector * kPerVector;
      if (offset == kNothing) continue;
      const Vector* from = reinterpret_cast<const Vector*>(x_) + swizzled(row, vector);
      Storage* to = call_.y.data + offset + vector * kPerVector;
      const Storage* samples = call_.x.data + x_offset + vector * kPerVector;
      for (int t = 0; t < size; t += kTile) {
        store(to + t, samples + t, from + t * kLanes / kPerVector);
      }
    }
  }

  __device__ void store_across(const CarriedChunk& chunk) const noexcept {
    if (chunk.size == 0 || chunk.samples[shape_.chunk * kLanes] == 0) return;  // see fill()
    const std::int64_t at = call_.x.offset(chunk.row) + chunk.first * call_.x.stride;
    if constexpr (kWritesNextInput) {
      if (call_.pass.of_columns) {
        store_next_inputs<true>(chunk, at);
      } else {
        store_next_inputs<false>(chunk, at);
      }
    } else if (call_.sharp) {
      store_results<true>(chunk, call_.x.data + at);
    } else {
      store_results<false>(chunk, nullptr);
    }
  }
  template <bool kReads>
  __device__ void store_results(const CarriedChunk& chunk, const Storage* samples) const noexcept {
    Storage* to = call_.y.row(chunk.row) + chunk.first * call_.y.stride;
#pragma unroll 16
    for (int k = 0; k < chunk.size; ++k) {
      const T value = chunk.samples[k * kLanes];
      *to = narrow<Storage>(kReads ? call_.changed(value, samples) : value);
      to += call_.y.stride;
      if (kReads) samples += call_.x.stride;
    }
  }
  /// Issues several loads before the first store. y has the layout of x. Loops with one pointer per
  /// array and without branches take half as many instructions.
  template <bool kOfColumns>
  __device__ void store_next_inputs(const CarriedChunk& chunk, std::int64_t at) const noexcept {
    constexpr int kAtOnce = 8;
    const ImagePass<Storage>& pass = call_.pass;
    const std::int64_t stride = call_.x.stride;
    const Storage* samples = call_.x.data + at;
    const Storage* whole = pass.whole + at;
    Storage* q = pass.q + at;
    Storage* to = call_.y.data + at;
    for_each_few<kAtOnce>(chunk.size, [&](std::int32_t first, auto all) {
      T given[kAtOnce] = {};  // samples, or Qb
      T of_whole[kAtOnce] = {};
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        if (all || first + k < chunk.size) {
          given[k] = __ldg(kOfColumns ? samples : q);
          if (kOfColumns) of_whole[k] = __ldg(whole);
        }
        if (kOfColumns) {
          samples += stride;
          whole += stride;
        } else {
          q += stride;
        }
      }
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        if (all || first + k < chunk.size) {
          const T value = chunk.samples[(first + k) * kLanes];
          if (kOfColumns) {
            const T changed = to_q(given[k], value);
            *q = changed;
            *to = of_whole[k] - changed;
          } else {
            *to = to_columns(value, given[k]);
          }
        }
        if (kOfColumns) q += stride;
        to += stride;
      }
    });
  }

  const Call& call_;
  const ForwardShape& shape_;
  const int lane_;
  const int lane_in_row_;
  const int row_in_warp_;
  const int first_lane_;
  char* const shared_;
  const unsigned warp_bytes_;
  T* x_;
  T* lam_;
  std::uint32_t* codes_;

  std::int64_t row_ = 0;
  std::int32_t chunk_first_ = 0;
  std::int32_t chunk_size_ = 0;
  std::int64_t offset_ = 0;  // of the chunk in x, if rows are along memory
  RowKind kind_ = RowKind::missing;
  bool has_huge_lam_ = false;
  bool is_odd_ = false;
  bool copies_ = false;
  CareReason reason_ = CareReason::unsearchable;
  T row_lam_ = 0;
  T origin_ = 0;
};

}  // namespace tautstring::detail
