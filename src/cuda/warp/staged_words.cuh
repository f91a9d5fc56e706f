// Exchanges the elements of a warp's or a block's words through shared memory, so that whole lines
// of device memory are read and written while each thread has the elements of its own word.
#pragma once

#include <cstdint>

#include "cuda/warp/backward_rows.cuh"

namespace tautstring::detail {

/// Which words a thread and its warp handle.
struct WordPlace {
  int lane;
  int warp;
  int slot;                 // of the thread's row, in the block
  int first_slot;           // of the warp's first row
  int group;                // of the warp, in its row
  int in_group;             // of the thread's word
  int warp_words;           // words of the warp; lanes from there on have none
  std::int32_t tile;        // of the block
  std::int64_t block_row;   // first row of the block
  std::int64_t first_word;  // of the warp, in the partition

  [[nodiscard]] __device__ bool has_word() const noexcept { return lane < warp_words; }
  [[nodiscard]] __device__ int word_in_tile() const noexcept {
    return group * kGroupWords + in_group;
  }
  [[nodiscard]] __device__ std::int32_t word() const noexcept {
    return tile * kTileWords + word_in_tile();
  }
  [[nodiscard]] __device__ std::int64_t row() const noexcept { return block_row + slot; }
};

/// Loads begin in the constructor. take() returns the thread's elements, put() replaces them and
/// store() writes them. If they are the means of a pass over images, step() turns them into the
/// input of the next pass, with several loads before the first store. `Call` is a BackwardRows.
template <class Call, BackwardAccess kAccess>
class StagedWords;

/// A warp reads and writes 16 bytes per lane.
template <class Call>
class StagedWords<Call, BackwardAccess::vectors> {
  using Storage = typename Call::Storage;
  using T = ArithmeticOf<Storage>;
  static constexpr unsigned kVectors = kWordElements * sizeof(Storage) / 16;  // a word of codes
  static constexpr int kPerVector = 16 / sizeof(Storage);

  struct alignas(16) Packed {
    Storage item[kPerVector];
  };

 public:
  [[nodiscard]] static std::size_t bytes(const BackwardShape& shape) noexcept {
    return static_cast<std::size_t>(shape.threads()) * kWordElements * sizeof(Storage);
  }

  __device__ StagedWords(const Call& call, const WordPlace& place, char* shared) noexcept
      : staging_(reinterpret_cast<Packed*>(shared) +
                 static_cast<unsigned>(place.warp) * 32 * kVectors),
        lane_(static_cast<unsigned>(place.lane)),
        size_(place.warp_words * static_cast<int>(kVectors) - place.lane),
        offset_(place.first_word * std::int64_t{kVectors} + place.lane) {
    const auto* from = reinterpret_cast<const Packed*>(call.grad_y.data) + offset_;
#pragma unroll
    for (unsigned j = 0; j < kVectors; ++j)
      loaded_[j] = static_cast<int>(j * 32) < size_ ? from[j * 32] : Packed{};
  }

  __device__ void arrive() noexcept {
#pragma unroll
    for (unsigned j = 0; j < kVectors; ++j) staging_[in_memory_order(j)] = loaded_[j];
    __syncwarp();
  }

  __device__ void take(T (&values)[kWordElements]) const noexcept {
#pragma unroll
    for (unsigned i = 0; i < kVectors; ++i) {
      const Packed packed = staging_[of_own_word(i)];
#pragma unroll
      for (int j = 0; j < kPerVector; ++j) values[i * kPerVector + j] = widen<T>(packed.item[j]);
    }
  }

  __device__ void put(const T (&values)[kWordElements]) noexcept {
#pragma unroll
    for (unsigned i = 0; i < kVectors; ++i) {
      Packed packed;
#pragma unroll
      for (int j = 0; j < kPerVector; ++j) {
        packed.item[j] = narrow<Storage>(values[i * kPerVector + j]);
      }
      staging_[of_own_word(i)] = packed;
    }
    __syncwarp();
  }

  __device__ void store(const Call& call) const noexcept {
    auto* to = reinterpret_cast<Packed*>(call.grad_x.data) + offset_;
#pragma unroll
    for (unsigned j = 0; j < kVectors; ++j) {
      if (static_cast<int>(j * 32) < size_) to[j * 32] = staging_[in_memory_order(j)];
    }
  }

  __device__ void step(const Call& call) const noexcept {
    const std::int64_t first = offset_ * kPerVector;
    const auto at = [&](unsigned j) { return first + std::int64_t{j} * 32 * kPerVector; };
    Storage* grad_x = call.images.grad_x;
    Packed incoming[kVectors];
    Packed sums[kVectors];
#pragma unroll
    for (unsigned j = 0; j < kVectors; ++j) {
      incoming[j] = sums[j] = {};
      if (static_cast<int>(j * 32) >= size_) continue;
      incoming[j] = load_constant<Packed>(call.grad_y.data + at(j));
      if (grad_x != nullptr) sums[j] = *reinterpret_cast<const Packed*>(grad_x + at(j));
    }
    ImageStep<Storage> step(call.images);
#pragma unroll
    for (unsigned j = 0; j < kVectors; ++j) {
      if (static_cast<int>(j * 32) >= size_) continue;
      const Packed means = staging_[in_memory_order(j)];
      Packed next;
      step.go_to(at(j));
#pragma unroll
      for (int i = 0; i < kPerVector; ++i) {
        sums[j].item[i] = step.sum(means.item[i], sums[j].item[i]);
        next.item[i] = step.next(means.item[i], incoming[j].item[i]);
      }
      if (step.has_momentum()) {
#pragma unroll
        for (int i = 0; i < kPerVector; ++i) {
          next.item[i] = step.next_with_momentum(means.item[i], incoming[j].item[i], at(j) + i);
        }
      }
      if (grad_x != nullptr) *reinterpret_cast<Packed*>(grad_x + at(j)) = sums[j];
      if (call.images.goes_on()) *reinterpret_cast<Packed*>(call.grad_x.data + at(j)) = next;
    }
  }

 private:
  // The vectors of a word are permuted so that those of neighbouring lanes lie in different banks:
  // vector v of word w is at w * kVectors + (v ^ w / (8 / kVectors)).

  /// The lane's j-th vector in memory order, which is number 32 j + lane.
  [[nodiscard]] __device__ unsigned in_memory_order(unsigned j) const noexcept {
    return 32 * j + (lane_ ^ ((lane_ / 8 + 4 * j) & kMask));
  }
  [[nodiscard]] __device__ unsigned of_own_word(unsigned vector) const noexcept {
    return lane_ * kVectors + ((lane_ / (8 / kVectors) ^ vector) & kMask);
  }

  static constexpr unsigned kMask = kVectors - 1;
  Packed* const staging_;
  const unsigned lane_;
  const int size_;             // vectors of the warp from the lane's first one on
  const std::int64_t offset_;  // of the lane's first vector
  Packed loaded_[kVectors];
};

/// A thread's word in shared memory. Words are one element apart, so that those of neighbouring
/// lanes begin in different banks.
template <class Storage>
class StagedWord {
  using T = ArithmeticOf<Storage>;

 public:
  /// `size`: elements of the row from the first one of the word on.
  __device__ StagedWord(Storage* items, std::int32_t size) noexcept : items_(items), size_(size) {}

  __device__ void take(T (&values)[kWordElements]) const noexcept {
#pragma unroll
    for (int i = 0; i < kWordElements; ++i) {
      values[i] = i < size_ ? widen<T>(items_[i]) : T(-0.0);
    }
  }
  __device__ void put(const T (&values)[kWordElements]) noexcept {
#pragma unroll
    for (int i = 0; i < kWordElements; ++i) {
      if (i < size_) items_[i] = narrow<Storage>(values[i]);
    }
  }

 private:
  Storage* const items_;
  const std::int32_t size_;
};

inline constexpr int kWordPitch = kWordElements + 1;

/// A warp reads and writes two words at a time, one element per lane.
template <class Call>
class StagedWords<Call, BackwardAccess::along> {
  using Storage = typename Call::Storage;
  using T = ArithmeticOf<Storage>;

 public:
  [[nodiscard]] static std::size_t bytes(const BackwardShape& shape) noexcept {
    return static_cast<std::size_t>(shape.threads() * kWordPitch) * sizeof(Storage);
  }

  __device__ StagedWords(const Call& call, const WordPlace& place, char* shared) noexcept
      : place_(place),
        staging_(reinterpret_cast<Storage*>(shared) + place.warp * 32 * kWordPitch),
        size_(place.has_word() ? call.n - place.word() * kWordElements : 0),
        own_(staging_ + place.lane * kWordPitch, size_) {
    const std::int64_t own_first = first_of(call.grad_y);
#pragma unroll
    for (int j = 0; j < kWordElements; ++j) {
      const std::int64_t first = __shfl_sync(kAllLanes, own_first, word_of(j));
      if (has_element(j)) loaded_[j] = call.grad_y.data[first + element()];
    }
  }
  __device__ void arrive() noexcept {
#pragma unroll
    for (int j = 0; j < kWordElements; ++j) {
      if (has_element(j)) staged(j) = loaded_[j];
    }
    __syncwarp();
  }
  __device__ void take(T (&values)[kWordElements]) const noexcept {
    own_.take(values);
  }
  __device__ void put(const T (&values)[kWordElements]) noexcept {
    own_.put(values);
    __syncwarp();
  }
  __device__ void store(const Call& call) const noexcept {
    const std::int64_t own_first = first_of(call.grad_x);
#pragma unroll
    for (int j = 0; j < kWordElements; ++j) {
      const std::int64_t first = __shfl_sync(kAllLanes, own_first, word_of(j));
      if (has_element(j)) call.grad_x.data[first + element()] = staged(j);
    }
  }
  __device__ void step(const Call& call) const noexcept {
    const std::int64_t own_first = first_of(call.grad_x);
    Storage* grad_x = call.images.grad_x;
    Storage incoming[kWordElements];
    Storage sums[kWordElements];
#pragma unroll
    for (int j = 0; j < kWordElements; ++j) {
      const std::int64_t at = __shfl_sync(kAllLanes, own_first, word_of(j)) + element();
      incoming[j] = sums[j] = {};
      if (!has_element(j)) continue;
      incoming[j] = __ldg(call.grad_y.data + at);
      if (grad_x != nullptr) sums[j] = grad_x[at];
    }
    ImageStep<Storage> step(call.images);
#pragma unroll
    for (int j = 0; j < kWordElements; ++j) {
      const std::int64_t at = __shfl_sync(kAllLanes, own_first, word_of(j)) + element();
      if (!has_element(j)) continue;
      step.go_to(at);
      if (grad_x != nullptr) grad_x[at] = step.sum(staged(j), sums[j]);
      const Storage next = step.has_momentum() ? step.next_with_momentum(staged(j), incoming[j], at)
                                               : step.next(staged(j), incoming[j]);
      if (call.images.goes_on()) call.grad_x.data[at] = next;
    }
  }

 private:
  static constexpr unsigned kAllLanes = 0xFFFFFFFFU;

  /// The start of the thread's own word.
  template <class Data>
  [[nodiscard]] __device__ std::int64_t first_of(const PlacedRows<Data>& rows) const noexcept {
    return place_.has_word() ? rows.offset(place_.row()) + place_.word() * kWordElements : 0;
  }
  /// The word that the lane moves an element of, as a lane number, and the element.
  [[nodiscard]] __device__ int word_of(int j) const noexcept {
    return 2 * j + place_.lane / kWordElements;
  }
  [[nodiscard]] __device__ int element() const noexcept {
    return place_.lane % kWordElements;
  }
  [[nodiscard]] __device__ bool has_element(int j) const noexcept {
    return element() < __shfl_sync(kAllLanes, size_, word_of(j));
  }
  [[nodiscard]] __device__ Storage& staged(int j) const noexcept {
    return staging_[word_of(j) * kWordPitch + element()];
  }

  const WordPlace place_;
  Storage* const staging_;
  const std::int32_t size_;  // elements of the row from the first one of the own word on
  StagedWord<Storage> own_;
  Storage loaded_[kWordElements];
};

/// A block reads and writes its rows side by side, one element of each at a time.
template <class Call>
class StagedWords<Call, BackwardAccess::across> {
  using Storage = typename Call::Storage;
  using T = ArithmeticOf<Storage>;

 public:
  [[nodiscard]] static std::size_t bytes(const BackwardShape& shape) noexcept {
    return static_cast<std::size_t>(shape.rows * pitch(shape)) * sizeof(Storage);
  }

  __device__ StagedWords(const Call& call, const WordPlace& place, char* shared) noexcept
      : items_(reinterpret_cast<Storage*>(shared)),
        pitch_(pitch(call.shape)),
        own_(items_ + place.slot * pitch_ + place.word_in_tile() * kWordPitch,
             place.has_word() ? call.n - place.word() * kWordElements : 0),
        slot_(static_cast<int>(threadIdx.x) & (call.shape.rows - 1)),
        first_(static_cast<int>(threadIdx.x) >> call.shape.row_bits),
        apart_(static_cast<int>(blockDim.x) >> call.shape.row_bits),
        row_(place.block_row + slot_),
        tile_first_(place.tile * kBackwardTile),
        size_(row_ < call.count
                  ? min(call.n - tile_first_, std::int32_t{call.shape.words * kWordElements})
                  : 0) {
    if (size_ <= first_) return;
    const std::int64_t apart = apart_ * call.grad_y.stride;
    const Storage* from = first_of(call.grad_y);
    Storage loaded[kWordElements];
#pragma unroll
    for (int j = 0; j < kWordElements; ++j, from += apart) {
      if (first_ + j * apart_ < size_) loaded[j] = *from;
    }
#pragma unroll
    for (int j = 0; j < kWordElements; ++j) {
      if (first_ + j * apart_ < size_) staged(first_ + j * apart_) = loaded[j];
    }
  }
  __device__ void arrive() const noexcept {
    __syncthreads();
  }
  __device__ void take(T (&values)[kWordElements]) const noexcept {
    own_.take(values);
  }
  __device__ void put(const T (&values)[kWordElements]) noexcept {
    own_.put(values);
    __syncthreads();
  }
  __device__ void store(const Call& call) const noexcept {
    if (size_ <= first_) return;
    const std::int64_t apart = apart_ * call.grad_x.stride;
    Storage* to = first_of(call.grad_x);
#pragma unroll
    for (int j = 0; j < kWordElements; ++j, to += apart) {
      if (first_ + j * apart_ < size_) *to = staged(first_ + j * apart_);
    }
  }
  /// Only for columns: rows of images are along memory.
  __device__ void step(const Call& call) const noexcept {
    if (size_ <= first_) return;
    constexpr int kAtOnce = kWordElements / 2;
    const std::int64_t apart = apart_ * call.grad_x.stride;
    std::int64_t at = first_of(call.grad_x) - call.grad_x.data;
    ImageStep<Storage> step(call.images);
    step.go_to(at);
#pragma unroll 1
    for (int k = first_; k < size_; k += kAtOnce * apart_, at += kAtOnce * apart) {
      Storage incoming[kAtOnce] = {};
#pragma unroll
      for (int j = 0; j < kAtOnce; ++j) {
        if (k + j * apart_ < size_) incoming[j] = __ldg(call.grad_y.data + at + j * apart);
      }
#pragma unroll
      for (int j = 0; j < kAtOnce; ++j) {
        if (k + j * apart_ >= size_) continue;
        call.grad_x.data[at + j * apart] = step.next(staged(k + j * apart_), incoming[j]);
      }
    }
  }

 private:
  template <class Data>
  [[nodiscard]] __device__ Data* first_of(const PlacedRows<Data>& rows) const noexcept {
    return rows.row(row_) + std::int64_t{tile_first_ + first_} * rows.stride;
  }

  /// Rows are an odd number of elements apart, so that neighbouring ones lie in different banks.
  [[nodiscard]] static constexpr __host__ __device__ int pitch(const BackwardShape& shape) {
    return shape.words * kWordPitch | 1;
  }
  [[nodiscard]] __device__ Storage& staged(std::int32_t k) const noexcept {
    return items_[slot_ * pitch_ + k + k / kWordElements];
  }

  Storage* const items_;
  const int pitch_;
  StagedWord<Storage> own_;
  // The thread moves elements first_, first_ + apart_, ... of the row's part in the tile: at most
  // sixteen, as the block has at least as many threads as words.
  const int slot_;
  const int first_;
  const int apart_;
  const std::int64_t row_;
  const std::int32_t tile_first_;
  const std::int32_t size_;
};

}  // namespace tautstring::detail
