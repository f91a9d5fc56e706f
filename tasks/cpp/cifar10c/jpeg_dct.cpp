#include "cifar10c/jpeg_dct.h"

#include <algorithm>
#include <cstddef>

#include "cifar10c/pixels.h"

namespace tautstring_tasks::cifar10c {
namespace {

using Int = std::int32_t;

constexpr int kBits = 13;     // of the constants, after the point
constexpr int kPassBits = 2;  // of values between the passes
constexpr int kSamples = 8;

constexpr Int fixed(double value) {
  return static_cast<Int>(2 * value * (1 << kBits) + 1) / 2;
}

// Sums and differences of c(k) = sqrt(2) cos(k pi / 16). The even half rotates by 6 pi / 16, the
// odd half has the sums that its last comments name.
constexpr Int kEven = fixed(0.541196100);       // c6
constexpr Int kEvenMinus = fixed(1.847759065);  // c2 + c6
constexpr Int kEvenPlus = fixed(0.765366865);   // c2 - c6
constexpr Int kOdd = fixed(1.175875602);        // c3
constexpr Int kOdd0 = fixed(0.298631336);       // -c1 + c3 + c5 - c7
constexpr Int kOdd1 = fixed(2.053119869);       // c1 + c3 - c5 + c7
constexpr Int kOdd2 = fixed(3.072711026);       // c1 + c3 + c5 - c7
constexpr Int kOdd3 = fixed(1.501321110);       // c1 + c3 - c5 - c7
constexpr Int kPair0 = fixed(0.899976223);      // c3 - c7
constexpr Int kPair1 = fixed(2.562915447);      // c1 + c3
constexpr Int kCross0 = fixed(1.961570560);     // c3 + c5
constexpr Int kCross1 = fixed(0.390180644);     // c3 - c5

Int rounded_shift(Int value, int bits) {
  return (value + (Int{1} << (bits - 1))) >> bits;
}

/// The odd half, which the transform and its inverse share. Takes and returns the four values in
/// the order of frequencies 7, 5, 3 and 1.
std::array<Int, 4> odd_half(const std::array<Int, 4>& v) {
  const Int common = (v[0] + v[2] + v[1] + v[3]) * kOdd;
  const Int pair0 = -(v[0] + v[3]) * kPair0;
  const Int pair1 = -(v[1] + v[2]) * kPair1;
  const Int cross0 = common - (v[0] + v[2]) * kCross0;
  const Int cross1 = common - (v[1] + v[3]) * kCross1;
  return {v[0] * kOdd0 + pair0 + cross0, v[1] * kOdd1 + pair1 + cross1,
          v[2] * kOdd2 + pair1 + cross0, v[3] * kOdd3 + pair0 + cross1};
}

/// One line of the transform, of values `step` apart. `down` is the shift of products; sums without
/// a product are shifted `sum_up` to the left, or by its negative to the right.
void forward_line(Int* line, int step, int down, int sum_up) {
  const auto at = [&](int i) -> Int& { return line[std::ptrdiff_t{i} * step]; };
  std::array<Int, 4> sum;
  std::array<Int, 4> difference;
  for (int i = 0; i < 4; ++i) {
    sum[to_index(i)] = at(i) + at(kSamples - 1 - i);
    difference[to_index(i)] = at(i) - at(kSamples - 1 - i);
  }
  const Int outer = sum[0] + sum[3];
  const Int inner = sum[1] + sum[2];
  const Int outer_difference = sum[0] - sum[3];
  const Int inner_difference = sum[1] - sum[2];
  const auto scale = [&](Int value) {
    return sum_up >= 0 ? value * (Int{1} << sum_up) : rounded_shift(value, -sum_up);
  };
  at(0) = scale(outer + inner);
  at(4) = scale(outer - inner);
  const Int even = (inner_difference + outer_difference) * kEven;
  at(2) = rounded_shift(even + outer_difference * kEvenPlus, down);
  at(6) = rounded_shift(even - inner_difference * kEvenMinus, down);
  const std::array<Int, 4> odd =
      odd_half({difference[3], difference[2], difference[1], difference[0]});
  for (int i = 0; i < 4; ++i) at(7 - 2 * i) = rounded_shift(odd[to_index(i)], down);
}

void inverse_line(Int* line, int step, int down) {
  const auto at = [&](int i) -> Int& { return line[std::ptrdiff_t{i} * step]; };
  const Int even = (at(2) + at(6)) * kEven;
  const Int even2 = even - at(6) * kEvenMinus;
  const Int even3 = even + at(2) * kEvenPlus;
  const Int sum = (at(0) + at(4)) * (Int{1} << kBits);
  const Int difference = (at(0) - at(4)) * (Int{1} << kBits);
  const std::array<Int, 4> evens = {sum + even3, difference + even2, difference - even2,
                                    sum - even3};
  const std::array<Int, 4> odds = odd_half({at(7), at(5), at(3), at(1)});
  for (int i = 0; i < 4; ++i) {
    const Int from_even = evens[to_index(i)];
    const Int from_odd = odds[to_index(3 - i)];
    at(i) = rounded_shift(from_even + from_odd, down);
    at(kSamples - 1 - i) = rounded_shift(from_even - from_odd, down);
  }
}

}  // namespace

void forward_dct(Block& block) {
  for (int y = 0; y < kSamples; ++y) {
    forward_line(&block[to_index(y * kSamples)], 1, kBits - kPassBits, kPassBits);
  }
  for (int x = 0; x < kSamples; ++x) {
    forward_line(&block[to_index(x)], kSamples, kBits + kPassBits, -kPassBits);
  }
}

void inverse_dct(Block& block) {
  for (int x = 0; x < kSamples; ++x) {
    inverse_line(&block[to_index(x)], kSamples, kBits - kPassBits);
  }
  for (int y = 0; y < kSamples; ++y) {
    // 3 bits: coefficients are 8 times too large.
    inverse_line(&block[to_index(y * kSamples)], 1, kBits + kPassBits + 3);
  }
  for (Int& value : block) value = std::clamp(value, -128, 127);
}

}  // namespace tautstring_tasks::cifar10c
