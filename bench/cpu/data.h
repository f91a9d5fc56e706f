// The named families of data, and batches of them in rotation. Values are generated as float32, so
// that float32 and float64 solvers, ours and the peers', get the same numbers.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "storage.h"

namespace bench {

/// A kind of data: fills row `row` of a batch.
struct Family {
  const char* name;
  void (*fill_row)(std::mt19937& random, std::int64_t row, std::span<float> values);
};

extern const Family kNoise;      // standard normal around a unit step
extern const Family kWalk;       // 8-bit random walk: integers 0..255
extern const Family kSine;       // 1 to 8 periods per row, random phase
extern const Family kRamp;       // 0, 1, 2, ...: the worst case for methods that go back
extern const Family kNoisyRamp;  // the ramp with standard normal noise
extern const Family kConstants;  // each row is one number
extern const Family kTies;       // integers 0..3: many exact ties
extern const Family kImage;      // square images, noise around a step along rows and columns

struct Data {
  const Family* family = nullptr;
  std::int64_t rows = 0;
  std::int64_t n = 0;

  [[nodiscard]] std::size_t elements() const { return static_cast<std::size_t>(rows * n); }
  bool operator==(const Data&) const = default;
};

/// Enough batches of one kind that the branch predictor cannot learn them.
template <class T>
class Batches {
 public:
  explicit Batches(const Data& data);
  /// The next batch in turn. Not const: the peers' functions take non-const pointers.
  T* next() { return batches_[turn_++ % batches_.size()].data(); }
  T* first() { return batches_.front().data(); }

 private:
  std::vector<std::vector<T>> batches_;
  std::size_t turn_ = 0;
};

/// The batches of `data`, created once: repetitions of all benchmarks are interleaved, and each
/// continues with the batch after its last one.
template <class T>
Batches<T>& batches_of(const Data& data);

}  // namespace bench
