// What a JPEG file does to an image, without the file: its coding of coefficients loses nothing and
// is left out. Bit for bit what Pillow with libjpeg-turbo gives: colours with 16 bits after the
// point, colour differences at half the size ("4:2:0"), the tables of ITU T.81 annex K, integer
// transforms, and triangle ("fancy") upsampling.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "cifar10c/families.h"
#include "cifar10c/jpeg_dct.h"

namespace tautstring_tasks::cifar10c {
namespace {

using Int = std::int32_t;
using Table = std::array<Int, 64>;

constexpr int kHalf = kSize / 2;
constexpr int kBlock = 8;
constexpr int kShift = 16;
constexpr Int kRound = Int{1} << (kShift - 1);

constexpr Int fixed(double value) {
  return static_cast<Int>(2 * value * (1 << kShift) + 1) / 2;
}

// ITU T.81, tables K.1 and K.2.
constexpr Table kLuminance = {
    16, 11, 10, 16, 24,  40,  51,  61,  12, 12, 14, 19, 26,  58,  60,  55,  //
    14, 13, 16, 24, 40,  57,  69,  56,  14, 17, 22, 29, 51,  87,  80,  62,  //
    18, 22, 37, 56, 68,  109, 103, 77,  24, 35, 55, 64, 81,  104, 113, 92,  //
    49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99};
constexpr Table kChrominance = {17, 18, 24, 47, 99, 99, 99, 99, 18, 21, 26, 66, 99, 99, 99, 99,  //
                                24, 26, 56, 99, 99, 99, 99, 99, 47, 66, 99, 99, 99, 99, 99, 99,  //
                                99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,  //
                                99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99};

Table table_of(const Table& standard, int quality) {
  const int percent = quality < 50 ? 5000 / quality : 200 - 2 * quality;
  Table scaled = {};
  for (std::size_t i = 0; i < scaled.size(); ++i) {
    scaled[i] = std::clamp((standard[i] * percent + 50) / 100, 1, 255);
  }
  return scaled;
}

/// A square plane of bytes, as integers.
template <int size>
using Square = std::array<Int, to_index(size* size)>;

/// Luminance, and the differences of blue and red to it plus 128.
struct Planes {
  Square<kSize> luminance, blue, red;
};

Planes separated(Image image) {
  constexpr Int offset = (128 << kShift) + kRound - 1;
  Planes planes;
  for (std::size_t i = 0; i < kPixels; ++i) {
    const Int r = image[i * kColours];
    const Int g = image[i * kColours + 1];
    const Int b = image[i * kColours + 2];
    planes.luminance[i] =
        (fixed(0.29900) * r + fixed(0.58700) * g + fixed(0.11400) * b + kRound) >> kShift;
    planes.blue[i] =
        (fixed(0.50000) * b - fixed(0.16874) * r - fixed(0.33126) * g + offset) >> kShift;
    planes.red[i] =
        (fixed(0.50000) * r - fixed(0.41869) * g - fixed(0.08131) * b + offset) >> kShift;
  }
  return planes;
}

std::uint8_t clipped(Int value) {
  return static_cast<std::uint8_t>(std::clamp(value, 0, 255));
}

void join(const Planes& planes, Result result) {
  for (std::size_t i = 0; i < kPixels; ++i) {
    const Int y = planes.luminance[i];
    const Int blue = planes.blue[i] - 128;
    const Int red = planes.red[i] - 128;
    const Int green = (-fixed(0.34414) * blue - fixed(0.71414) * red + kRound) >> kShift;
    result[i * kColours] = clipped(y + ((fixed(1.40200) * red + kRound) >> kShift));
    result[i * kColours + 1] = clipped(y + green);
    result[i * kColours + 2] = clipped(y + ((fixed(1.77200) * blue + kRound) >> kShift));
  }
}

/// Means of 2 x 2 values, rounded down and up in turn.
Square<kHalf> halved(const Square<kSize>& plane) {
  Square<kHalf> half;
  for (std::size_t y = 0; y < kHalf; ++y) {
    const Int* const upper = &plane[2 * y * kSize];
    const Int* const lower = upper + kSize;
    for (std::size_t x = 0; x < kHalf; ++x) {
      const Int bias = x % 2 == 0 ? 1 : 2;
      const Int sum = upper[2 * x] + upper[2 * x + 1] + lower[2 * x] + lower[2 * x + 1];
      half[y * kHalf + x] = (sum + bias) >> 2;
    }
  }
  return half;
}

/// Interpolates: 3/4 of the nearest value and 1/4 of the next one, in each direction.
Square<kSize> doubled(const Square<kHalf>& half) {
  Square<kSize> plane;
  for (int y = 0; y < kSize; ++y) {
    const int near = y / 2;
    const int next = std::clamp(y % 2 == 0 ? near - 1 : near + 1, 0, kHalf - 1);
    const auto column = [&](int x) {
      const auto at = to_index(std::clamp(x, 0, kHalf - 1));
      return 3 * half[to_index(near * kHalf) + at] + half[to_index(next * kHalf) + at];
    };
    for (int x = 0; x < kHalf; ++x) {
      const Int middle = 3 * column(x);
      plane[pixel_at(y, 2 * x)] = (middle + column(x - 1) + 8) >> 4;
      plane[pixel_at(y, 2 * x + 1)] = (middle + column(x + 1) + 7) >> 4;
    }
  }
  return plane;
}

/// Divides by a step and multiplies by it again. The transform's coefficients are 8 times too
/// large.
Int quantised(Int coefficient, Int step) {
  const Int divisor = step * 8;
  const Int size = (std::abs(coefficient) + divisor / 2) / divisor * step;
  return coefficient < 0 ? -size : size;
}

/// Codes and decodes all blocks of a plane.
template <int size>
void code(Square<size>& plane, const Table& steps) {
  for (int top = 0; top < size; top += kBlock) {
    for (int left = 0; left < size; left += kBlock) {
      const auto at = [&](std::size_t i) -> Int& {
        const int y = top + static_cast<int>(i) / kBlock;
        const int x = left + static_cast<int>(i) % kBlock;
        return plane[to_index(y * size + x)];
      };
      Block block;
      for (std::size_t i = 0; i < block.size(); ++i) block[i] = at(i) - 128;
      forward_dct(block);
      for (std::size_t i = 0; i < block.size(); ++i) block[i] = quantised(block[i], steps[i]);
      inverse_dct(block);
      for (std::size_t i = 0; i < block.size(); ++i) at(i) = block[i] + 128;
    }
  }
}

class JpegCompression final : public Corruption {
 public:
  explicit JpegCompression(int quality)
      : luminance_(table_of(kLuminance, quality)), chrominance_(table_of(kChrominance, quality)) {}

  void apply(Image image, std::span<const double> /*random*/, Result result) const override {
    Planes planes = separated(image);
    code<kSize>(planes.luminance, luminance_);
    for (Square<kSize>* const plane : {&planes.blue, &planes.red}) {
      Square<kHalf> half = halved(*plane);
      code<kHalf>(half, chrominance_);
      *plane = doubled(half);
    }
    join(planes, result);
  }

 private:
  Table luminance_, chrominance_;
};

}  // namespace

Made make_jpeg_compression(int severity) {
  constexpr PerSeverity<int> qualities = {80, 65, 58, 50, 40};
  return std::make_unique<JpegCompression>(constant_of(qualities, severity));
}

}  // namespace tautstring_tasks::cifar10c
