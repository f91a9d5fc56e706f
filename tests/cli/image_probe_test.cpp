// What files say of themselves, also where they say it badly.
#include "image_probe.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "support/arrays.h"
#include "support/test_image.h"

namespace tautstring::cli::test {
namespace {

using namespace std::string_literals;

std::optional<SampleType> tiff(const std::string& file) {
  return tiff_sample_type(bytes_of(file));
}

constexpr SampleType kFloat64 = {SampleKind::floating, 64};

// 64 bits (of three samples in the second file) of SampleFormat 3.
const std::string kBigEndian =
    "MM\0*\0\0\0\x08"
    "\0\x02"
    "\x01\x02\0\x03\0\0\0\x01\0\x40\0\0"
    "\x01\x53\0\x03\0\0\0\x01\0\x03\0\0"
    "\0\0\0\0"s;
const std::string kBigTiff =
    "II+\0\x08\0\0\0\x10\0\0\0\0\0\0\0"
    "\x02\0\0\0\0\0\0\0"
    "\x02\x01\x03\0\x03\0\0\0\0\0\0\0\x40\0\x40\0\x40\0\0\0"
    "\x53\x01\x03\0\x01\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0"
    "\0\0\0\0\0\0\0\0"s;
// Three numbers do not fit an entry: they stand after the directory.
const std::string kValuesElsewhere =
    "II*\0\x08\0\0\0"
    "\x01\0"
    "\x02\x01\x03\0\x03\0\0\0\x1a\0\0\0"
    "\0\0\0\0"
    "\x0c\0\x0c\0\x0c\0"s;

TEST(TiffSampleType, reads_both_byte_orders_and_bigtiff) {
  EXPECT_EQ(tiff(tiff_of_samples(64, 3)), kFloat64);
  EXPECT_EQ(tiff(kBigEndian), kFloat64);
  EXPECT_EQ(tiff(kBigTiff), kFloat64);
}

TEST(TiffSampleType, reads_values_outside_of_their_entry) {
  EXPECT_EQ(tiff(kValuesElsewhere), (SampleType{SampleKind::unsigned_integer, 12}));
}

TEST(TiffSampleType, takes_the_defaults_of_the_format) {
  EXPECT_EQ(tiff("II*\0\x08\0\0\0\0\0\0\0\0\0"s), (SampleType{SampleKind::unsigned_integer, 1}));
}

TEST(TiffSampleType, is_nothing_wherever_the_file_ends_too_early) {
  // Each file, and how many bytes follow the last one that counts.
  for (const auto& [file, rest] :
       {std::pair{kBigEndian, 6U}, {kBigTiff, 14U}, {kValuesElsewhere, 4U}}) {
    const std::size_t needed = file.size() - rest;
    EXPECT_NE(tiff(file.substr(0, needed)), std::nullopt);
    for (std::size_t size = 0; size < needed; ++size) {
      EXPECT_EQ(tiff(file.substr(0, size)), std::nullopt) << size;
    }
  }
}

TEST(TiffSampleType, is_nothing_for_offsets_out_of_the_file) {
  EXPECT_EQ(tiff("II*\0\xff\xff\xff\xff"s), std::nullopt);
  EXPECT_EQ(tiff("II+\0\x08\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff"s), std::nullopt);
  std::string far_values = kValuesElsewhere;
  far_values.replace(18, 4, "\xff\xff\xff\xff");
  EXPECT_EQ(tiff(far_values), std::nullopt);
}

TEST(TiffSampleType, is_nothing_for_other_files) {
  EXPECT_EQ(tiff("II"), std::nullopt);
  EXPECT_EQ(tiff("IIxx\x08\0\0\0"s), std::nullopt);
  EXPECT_EQ(tiff("\x89PNG\r\n\x1a\n"), std::nullopt);
}

std::int64_t frames(const std::string& file) {
  return png_animation_frames(bytes_of(file));
}

const std::string kPngStart = "\x89PNG\r\n\x1a\n\0\0\0\x02IHDRxxcccc"s;
const std::string kAnimation =
    "\0\0\0\x08"
    "acTL\0\0\1\2\0\0\0\0cccc"s;
const std::string kPixels = "\0\0\0\x01IDATxcccc"s;

TEST(PngAnimationFrames, are_told_before_the_pixels_alone) {
  EXPECT_EQ(frames(kPngStart + kAnimation + kPixels), 258);
  EXPECT_EQ(frames(kPngStart + kPixels), 0);
  EXPECT_EQ(frames(kPngStart + kPixels + kAnimation), 0);
}

TEST(PngAnimationFrames, are_none_wherever_the_file_ends_too_early) {
  const std::string file = kPngStart + kAnimation;
  for (std::size_t size = 0; size < file.size() - 8; ++size) {
    EXPECT_EQ(frames(file.substr(0, size)), 0) << size;
  }
}

TEST(PngAnimationFrames, are_none_after_a_chunk_that_leaves_the_file) {
  EXPECT_EQ(frames(kPngStart.substr(0, 8) + "\xff\xff\xff\xffxxxx" + kAnimation), 0);
}

TEST(PngAnimationFrames, are_none_in_other_files) {
  EXPECT_EQ(frames(tiff_of_samples(8, 1)), 0);
}

}  // namespace
}  // namespace tautstring::cli::test
