// smooth, sharpen and compare on single images, end to end.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <ostream>
#include <utility>

#include "support/program.h"
#include "support/temp_folder.h"
#include "support/test_image.h"
#include "tautstring/tautstring.h"

namespace tautstring::cli::test {
namespace {

/// Values as a file of 8 bits stores them, or of 16 bits with another largest value.
std::vector<float> stored(std::vector<float> values, float largest = 255) {
  for (float& value : values) value = std::nearbyint(std::clamp(value, 0.0F, largest));
  return values;
}

/// The library's own result for the rows of an image, or for its columns.
std::vector<float> solve_lines(const TestImage& image, bool rows, double lam) {
  std::vector<float> values = image.values;
  const std::int64_t w = image.width;
  const std::int64_t h = image.height;
  const std::int64_t b = image.bands;
  const View lines = rows ? view(values.data(), {h, b, w}, {w * b, 1, b})
                          : view(values.data(), {w, b, h}, {b, 1, w * b});
  EXPECT_TRUE(prox_tv1d({.x = lines, .lam = lam}, lines).ok());
  return values;
}

/// The library's own result for the whole image.
std::vector<float> solve_whole(const TestImage& image, double lam, const Solver2d& solver,
                               Mode mode = Mode::smooth) {
  std::vector<float> values = image.values;
  const std::int64_t w = image.width;
  const std::int64_t b = image.bands;
  const View pictures = view(values.data(), {b, image.height, w}, {1, w * b, b});
  EXPECT_TRUE(prox_tv2d({.x = pictures, .lam_rows = lam, .lam_cols = lam, .mode = mode}, solver,
                        {.y = pictures})
                  .ok());
  return values;
}

const Solver2d kDefaultSolver = {.method = Method2d::accelerated,
                                 .iterations = 256,
                                 .tol = 1e-4,
                                 .derivative = Derivative2d::implicit};

class ImageCommand : public TempFolder {
 protected:
  /// Runs `command` from in.png to `output` with more arguments.
  ProgramResult run(const std::string& command, const std::string& input, const std::string& output,
                    std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = {command, path(input), path(output)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program(arguments);
  }

  /// The same; expects success.
  TestImage converted(const std::string& command, const TestImage& image, const std::string& input,
                      const std::string& output, const std::vector<std::string>& more = {}) const {
    write_image(image, path(input));
    const ProgramResult result = run(command, input, output, more);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return read_image(path(output));
  }
};

TEST_F(ImageCommand, smooth_is_the_librarys_solution_in_2d) {
  const TestImage image = make_image(31, 17, 3);
  const TestImage result = converted("smooth", image, "in.png", "out.png", {"--lam", "0.1"});
  EXPECT_EQ(result.values, stored(solve_whole(image, 0.1 * 255, kDefaultSolver)));
}

TEST_F(ImageCommand, sharpen_is_the_librarys_solution_in_2d) {
  const TestImage image = make_image(31, 17, 3);
  const TestImage result = converted("sharpen", image, "in.png", "out.png", {"--lam", "0.1"});
  EXPECT_EQ(result.values, stored(solve_whole(image, 0.1 * 255, kDefaultSolver, Mode::sharp)));
}

TEST_F(ImageCommand, rows_and_columns_are_those_of_the_library) {
  const TestImage image = make_image(31, 17, 3);
  for (const bool rows : {true, false}) {
    const TestImage result =
        converted("smooth", image, "in.png", "out.png",
                  {"--lam", "0.1", "--direction", rows ? "row" : "col", "--force"});
    EXPECT_EQ(result.values, stored(solve_lines(image, rows, 0.1 * 255))) << rows;
  }
}

TEST_F(ImageCommand, one_iteration_of_dykstra_is_rows_then_columns) {
  const TestImage image = make_image(31, 17, 3);
  const TestImage result =
      converted("smooth", image, "in.png", "out.png",
                {"--lam", "0.1", "--method", "dykstra", "--iterations", "1", "--tol", "0"});
  TestImage between = image;
  between.values = solve_lines(image, true, 0.1 * 255);
  EXPECT_EQ(result.values, stored(solve_lines(between, false, 0.1 * 255)));
}

TEST_F(ImageCommand, tol_zero_is_as_many_iterations_as_are_asked_for) {
  const TestImage image = make_image(31, 17, 3);
  const TestImage result =
      converted("smooth", image, "in.png", "out.png",
                {"--lam", "0.1", "--method", "dykstra", "--iterations", "4", "--tol", "0"});
  const Solver2d paper = {.method = Method2d::dykstra, .iterations = 4};
  EXPECT_EQ(result.values, stored(solve_whole(image, 0.1 * 255, paper)));
}

TEST_F(ImageCommand, grey_16_bit_tiff_stays_16_bit_grey) {
  const TestImage image = make_image(20, 10, 1, Depth::bits16);
  const TestImage result =
      converted("smooth", image, "in.tif", "out.tif", {"--lam", "0.05", "--direction", "row"});
  EXPECT_EQ(result.bands, 1);
  EXPECT_EQ(result.depth, Depth::bits16);
  EXPECT_EQ(result.values, stored(solve_lines(image, true, 0.05 * 65535), 65535));
}

TEST_F(ImageCommand, float_tiff_is_taken_as_it_is) {
  const TestImage image = make_image(9, 7, 3, Depth::floating);
  const TestImage result = converted("smooth", image, "in.tif", "out.tif", {"--lam", "0"});
  EXPECT_EQ(result.depth, Depth::floating);
  EXPECT_EQ(result.values, image.values);
}

TEST_F(ImageCommand, tiff_of_other_samples_is_refused_by_their_name) {
  struct Case {
    int bits;
    int format;
    std::string name;
  };
  const std::vector<Case> cases = {{16, 3, "float16"},   {64, 3, "float64"},    {24, 3, "float24"},
                                   {64, 6, "complex64"}, {32, 1, "uint32"},     {64, 1, "uint64"},
                                   {8, 2, "int8"},       {128, 6, "complex128"}};
  for (const auto& [bits, format, name] : cases) {
    write("in.tif", tiff_of_samples(bits, format));
    const ProgramResult result = run("smooth", "in.tif", "out.tif");
    EXPECT_EQ(result.exit_code, 3) << name;
    EXPECT_TRUE(contains(result.err, "cannot read '" + path("in.tif") + "': " + name +
                                         " pixels are not supported (unsigned integers of up to "
                                         "16 bits and float32 are)"))
        << result.err;
    EXPECT_FALSE(exists("out.tif"));
  }
  for (const auto& [bits, format] : {std::pair{8, 1}, {16, 1}, {32, 3}}) {
    write("in.tif", tiff_of_samples(bits, format));
    EXPECT_EQ(run("smooth", "in.tif", "out.tif", {"--force"}).exit_code, 0) << bits;
  }
}

TEST_F(ImageCommand, alpha_is_left_untouched) {
  const TestImage image = make_image(20, 10, 4);
  const TestImage result = converted("smooth", image, "in.png", "out.png", {"--lam", "0.3"});
  ASSERT_EQ(result.bands, 4);
  EXPECT_NE(result.values, image.values);
  for (std::size_t i = 3; i < image.values.size(); i += 4) {
    EXPECT_EQ(result.values[i], image.values[i]);
  }
}

/// `count` pixels of one colour.
std::vector<float> pixels(int count, const std::vector<float>& colour) {
  std::vector<float> values;
  for (int i = 0; i < count; ++i) values.insert(values.end(), colour.begin(), colour.end());
  return values;
}

TEST_F(ImageCommand, invisible_colour_does_not_bleed_into_visible_pixels) {
  std::vector<float> values = pixels(6, {200, 0, 0, 255});
  const std::vector<float> invisible = pixels(6, {0, 255, 0, 0});
  values.insert(values.end(), invisible.begin(), invisible.end());
  const TestImage image{12, 1, 4, Depth::bits8, values};
  values.resize(24);
  for (const char* const direction : {"2d", "row"}) {
    const TestImage result = converted("smooth", image, "in.png", "out.png",
                                       {"--lam", "1", "--direction", direction, "--force"});
    EXPECT_EQ(std::vector<float>(result.values.begin(), result.values.begin() + 24), values)
        << direction;
  }
}

/// Grey with alpha; about every third pixel is invisible.
TestImage image_with_holes(float colour_of_holes) {
  TestImage image = make_image(24, 16, 2);
  for (std::size_t i = 0; i < image.values.size(); i += 2) {
    const bool is_hole = (i / 2) % 7 < 2 || (i / 2) % 5 == 0;
    image.values[i + 1] = is_hole ? 0 : 255;
    if (is_hole) image.values[i] = colour_of_holes;
  }
  return image;
}

TEST_F(ImageCommand, in_2d_invisible_pixels_neither_change_nor_count) {
  for (const char* const command : {"smooth", "sharpen"}) {
    const TestImage black = image_with_holes(0);
    const TestImage white = image_with_holes(255);
    const TestImage from_black =
        converted(command, black, "in.png", "out.png", {"--lam", "0.3", "--force"});
    const TestImage from_white =
        converted(command, white, "in.png", "out.png", {"--lam", "0.3", "--force"});
    EXPECT_NE(from_white.values, white.values) << command;
    for (std::size_t i = 0; i < black.values.size(); i += 2) {
      if (black.values[i + 1] == 0) {
        EXPECT_EQ(from_black.values[i], 0) << command << i;
        EXPECT_EQ(from_white.values[i], 255) << command << i;
      } else {
        EXPECT_EQ(from_black.values[i], from_white.values[i]) << command << i;
      }
    }
  }
}

TEST_F(ImageCommand, in_2d_invisible_colours_may_be_of_any_size) {
  TestImage image = make_image(9, 6, 2, Depth::floating);
  for (std::size_t i = 0; i < 54; ++i) {
    const bool is_hole = i % 4 == 0;
    image.values[2 * i + 1] = is_hole ? 0 : 1;
    if (is_hole) image.values[2 * i] = 0;
  }
  const TestImage from_zero = converted("smooth", image, "in.tif", "out.tif");
  for (std::size_t i = 0; i < 54; i += 4) image.values[2 * i] = 1e30F;
  const TestImage from_huge = converted("smooth", image, "in2.tif", "out2.tif");
  for (std::size_t i = 0; i < 54; ++i) {
    EXPECT_EQ(from_huge.values[2 * i], i % 4 == 0 ? 1e30F : from_zero.values[2 * i]) << i;
  }
}

/// Some columns of an image.
TestImage cut_out(const TestImage& image, int first, int width) {
  TestImage part{width, image.height, image.bands, image.depth, {}};
  for (int y = 0; y < image.height; ++y) {
    const auto from = image.values.begin() + (y * image.width + first) * image.bands;
    part.values.insert(part.values.end(), from, from + width * image.bands);
  }
  return part;
}

TEST_F(ImageCommand, in_2d_what_invisible_pixels_part_is_solved_by_itself) {
  TestImage image = make_image(21, 12, 2, Depth::floating);
  for (std::size_t i = 1; i < image.values.size(); i += 2) image.values[i] = 1;
  for (std::size_t y = 0; y < 12; ++y) image.values[(y * 21 + 8) * 2 + 1] = 0;
  const std::vector<std::string> more = {"--lam", "0.1", "--tol", "1e-6", "--force"};
  const TestImage whole = converted("smooth", image, "in.tif", "out.tif", more);
  for (const auto& [first, width] : {std::pair{0, 8}, std::pair{9, 12}}) {
    const TestImage part =
        converted("smooth", cut_out(image, first, width), "part.tif", "part_out.tif", more);
    const TestImage same = cut_out(whole, first, width);
    EXPECT_NE(part.values, cut_out(image, first, width).values);
    for (std::size_t i = 0; i < part.values.size(); ++i) {
      EXPECT_NEAR(part.values[i], same.values[i], 1e-4F) << first << ", " << i;
    }
  }
}

TEST_F(ImageCommand, in_2d_visible_pixels_count_alike) {
  const TestImage faint = make_image(30, 9, 2);
  TestImage opaque = faint;
  for (std::size_t i = 1; i < opaque.values.size(); i += 2) opaque.values[i] = 255;
  const TestImage from_faint = converted("smooth", faint, "in.png", "out.png");
  const TestImage from_opaque = converted("smooth", opaque, "in2.png", "out2.png");
  for (std::size_t i = 0; i < faint.values.size(); i += 2) {
    EXPECT_EQ(from_faint.values[i], from_opaque.values[i]);
  }
}

TEST_F(ImageCommand, along_lines_pixels_count_by_their_alpha) {
  const TestImage image = make_image(30, 1, 2);
  const TestImage result =
      converted("smooth", image, "in.png", "out.png", {"--lam", "0.1", "--direction", "row"});
  std::vector<float> grey(30);
  std::vector<float> weight(30);
  for (std::size_t i = 0; i < 30; ++i) {
    grey[i] = image.values[2 * i];
    weight[i] = image.values[2 * i + 1] / 255;
  }
  const View row = view(grey.data(), {30});
  ASSERT_TRUE(
      prox_tv1d({.x = row, .lam = 0.1 * 255, .weight = view(weight.data(), {30})}, row).ok());
  for (std::size_t i = 0; i < 30; ++i) {
    EXPECT_EQ(result.values[2 * i], std::nearbyint(grey[i])) << i;
  }
}

TEST_F(ImageCommand, what_is_transparent_all_along_keeps_its_colours) {
  TestImage image = make_image(12, 5, 4);
  for (std::size_t i = 3; i < image.values.size(); i += 4) image.values[i] = 0;
  for (const char* const command : {"smooth", "sharpen"}) {
    for (const char* const direction : {"2d", "row", "col"}) {
      const TestImage result = converted(command, image, "in.png", "out.png",
                                         {"--lam", "1", "--direction", direction, "--force"});
      EXPECT_EQ(result.values, image.values) << command << direction;
    }
  }
}

TEST_F(ImageCommand, alpha_that_is_the_same_everywhere_changes_nothing) {
  const TestImage image = make_image(30, 5, 1);
  TestImage with_alpha{30, 5, 2, Depth::bits8, {}};
  for (const float value : image.values) {
    with_alpha.values.insert(with_alpha.values.end(), {value, 128});
  }
  for (const char* const direction : {"2d", "row", "col"}) {
    const std::vector<std::string> more = {"--direction", direction, "--force"};
    const TestImage opaque = converted("smooth", image, "in.png", "out.png", more);
    const TestImage result = converted("smooth", with_alpha, "in2.png", "out2.png", more);
    for (std::size_t i = 0; i < opaque.values.size(); ++i) {
      EXPECT_EQ(result.values[2 * i], opaque.values[i]) << direction;
    }
  }
}

TEST_F(ImageCommand, floating_alpha_of_any_value_is_taken) {
  const TestImage image{5, 1, 2, Depth::floating, {0, 1, 1, -1, 0.5, 1e-40F, 1, 1e30F, 0, 0.5}};
  const TestImage lines =
      converted("smooth", image, "in.tif", "out.tif", {"--lam", "inf", "--direction", "row"});
  EXPECT_NEAR(lines.values[0], 0.4F, 1e-6F);  // weights 1, 0, 0, 1, 0.5
  const TestImage whole =
      converted("smooth", image, "in.tif", "out.tif", {"--lam", "inf", "--force"});
  const std::vector<float> expected = {0, 1, 1, -1, 0.5, 1e-40F, 0.5, 1e30F, 0.5, 0.5};
  EXPECT_EQ(whole.values, expected);
}

TEST_F(ImageCommand, in_2d_lam_inf_gives_the_mean_of_what_hangs_together) {
  TestImage image = make_image(6, 5, 2, Depth::floating);
  float sum = 0;
  for (std::size_t i = 0; i < 30; ++i) {
    const bool is_hole = i == 14 || i == 15 || i == 21;  // the remaining pixels are connected
    image.values[2 * i + 1] = is_hole ? 0 : 1;
    if (!is_hole) sum += image.values[2 * i];
  }
  const TestImage result = converted("smooth", image, "in.tif", "out.tif", {"--lam", "inf"});
  for (std::size_t i = 0; i < 30; ++i) {
    const bool is_hole = image.values[2 * i + 1] == 0;
    EXPECT_NEAR(result.values[2 * i], is_hole ? image.values[2 * i] : sum / 27, 1e-6F) << i;
  }
}

TEST_F(ImageCommand, lam_zero_keeps_invisible_colour) {
  TestImage image = make_image(9, 5, 4);
  for (std::size_t i = 3; i < image.values.size(); i += 8) image.values[i] = 0;
  EXPECT_EQ(converted("smooth", image, "in.png", "out.png", {"--lam", "0"}).values, image.values);
}

TEST_F(ImageCommand, lam_zero_gives_identical_pixels) {
  for (const int bands : {1, 2, 3, 4}) {
    for (const Depth depth : {Depth::bits8, Depth::bits16}) {
      const TestImage image = make_image(13, 11, bands, depth);
      const TestImage result =
          converted("smooth", image, "in.png", "out.png", {"--lam", "0", "--force"});
      EXPECT_EQ(result.values, image.values) << bands;
      EXPECT_EQ(result.depth, depth);
    }
  }
}

TEST_F(ImageCommand, lam_inf_gives_row_means) {
  const TestImage image = make_image(16, 5, 1);
  const TestImage result =
      converted("smooth", image, "in.png", "out.png", {"--lam", "inf", "--direction", "row"});
  for (int y = 0; y < 5; ++y) {
    const auto row = image.values.begin() + 16 * y;
    const float mean = std::accumulate(row, row + 16, 0.0F) / 16;
    for (int x = 0; x < 16; ++x) {
      EXPECT_EQ(result.values[static_cast<std::size_t>(16 * y + x)], std::nearbyint(mean));
    }
  }
}

TEST_F(ImageCommand, lam_means_the_same_for_8_and_16_bits) {
  TestImage image = make_image(32, 8, 1);
  const TestImage narrow = converted("smooth", image, "a.png", "a_out.png", {"--lam", "0.1"});
  for (float& value : image.values) value *= 257;
  image.depth = Depth::bits16;
  const TestImage wide = converted("smooth", image, "b.png", "b_out.png", {"--lam", "0.1"});
  for (std::size_t i = 0; i < narrow.values.size(); ++i) {
    EXPECT_NEAR(wide.values[i] / 257, narrow.values[i], 0.51F);
  }
}

TEST_F(ImageCommand, threads_do_not_change_the_result) {
  const TestImage image = make_image(40, 30, 3);
  const TestImage one = converted("smooth", image, "in.png", "one.png", {"--threads", "1"});
  const TestImage many = converted("smooth", image, "in.png", "many.png", {"--threads", "7"});
  EXPECT_EQ(one.values, many.values);
}

struct Size {
  int width;
  int height;
};

void PrintTo(const Size& size, std::ostream* out) {  // the name that GoogleTest looks for
  *out << size.width << " x " << size.height;
}

class SmallImage : public ImageCommand, public ::testing::WithParamInterface<Size> {};

TEST_P(SmallImage, works) {
  const TestImage image = make_image(GetParam().width, GetParam().height, 3);
  for (const char* const command : {"smooth", "sharpen", "compare"}) {
    const TestImage result = converted(command, image, "in.png", "out.png", {"--force"});
    EXPECT_EQ(result.height, image.height) << command;
  }
}

INSTANTIATE_TEST_SUITE_P(ImageCommand, SmallImage,
                         ::testing::Values(Size{1, 1}, Size{20, 1}, Size{1, 20}));

TEST_F(ImageCommand, one_pixel_keeps_its_value) {
  const TestImage image = make_image(1, 1, 3);
  EXPECT_EQ(converted("smooth", image, "in.png", "out.png", {"--lam", "inf"}).values, image.values);
}

class Format : public ImageCommand, public ::testing::WithParamInterface<const char*> {};

TEST_P(Format, is_read_and_written) {
  const std::string name = GetParam();
  const TestImage image = make_image(24, 16, 3);
  const TestImage result = converted("smooth", image, "in" + name, "out" + name);
  EXPECT_EQ(result.width, 24);
  EXPECT_EQ(result.height, 16);
  EXPECT_EQ(result.bands, 3);
}

INSTANTIATE_TEST_SUITE_P(ImageCommand, Format,
                         ::testing::Values(".png", ".PNG", ".jpg", ".jpeg", ".tif", ".tiff",
                                           ".webp"));

TEST_F(ImageCommand, webp_of_quality_100_is_lossless) {
  const TestImage image = make_image(24, 16, 3);
  const TestImage result =
      converted("smooth", image, "in.png", "out.webp", {"--lam", "0", "--quality", "100"});
  EXPECT_EQ(result.values, image.values);
}

TEST_F(ImageCommand, sixteen_bits_become_eight_in_jpeg_and_it_is_said) {
  write_image(make_image(24, 16, 1, Depth::bits16), path("in.png"));
  const ProgramResult result = run("smooth", "in.png", "out.jpg");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(contains(result.err, "jpg does not support 16 bits; the result has 8")) << result.err;
  const TestImage image = read_image(path("out.jpg"));
  EXPECT_EQ(image.depth, Depth::bits8);
  EXPECT_GT(image.values[0], 40);  // scaled down, not clamped
}

TEST_F(ImageCommand, alpha_is_put_on_white_in_jpeg_and_it_is_said) {
  TestImage image = make_image(16, 16, 4);
  for (std::size_t i = 3; i < image.values.size(); i += 4) image.values[i] = 0;
  write_image(image, path("in.png"));
  const ProgramResult result = run("smooth", "in.png", "out.jpg");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(contains(result.err, "the image is placed on white")) << result.err;
  EXPECT_EQ(read_image(path("out.jpg")).values, std::vector<float>(16 * 16 * 3, 255.0F));
}

TEST_F(ImageCommand, float_pixels_do_not_go_into_png) {
  write_image(make_image(4, 4, 1, Depth::floating), path("in.tif"));
  const ProgramResult result = run("smooth", "in.tif", "out.png");
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_TRUE(contains(result.err, "png does not support floating point pixels")) << result.err;
}

TEST_F(ImageCommand, the_colour_profile_is_kept) {
  write_image_with_profile(make_image(8, 8, 3), path("in.png"));
  EXPECT_EQ(run("smooth", "in.png", "out.png").exit_code, 0);
  EXPECT_NE(read_profile(path("out.png")), "");
  EXPECT_EQ(read_profile(path("out.png")), read_profile(path("in.png")));
}

TEST_F(ImageCommand, exif_orientation_is_applied_first) {
  const TestImage image = make_image(20, 10, 3);
  write_image(image, path("in.tif"), 6);  // turned by 90 degrees
  EXPECT_EQ(run("smooth", "in.tif", "out.tif", {"--lam", "0"}).exit_code, 0);
  const TestImage result = read_image(path("out.tif"));
  EXPECT_EQ(result.width, 10);
  EXPECT_EQ(result.height, 20);
  // The top right pixel is where the top left one was.
  EXPECT_EQ(result.values[27], image.values[0]);
}

TEST_F(ImageCommand, exif_orientation_is_applied_only_once) {
  write_image(make_image(400, 300, 3), path("in.jpg"), 6);
  ASSERT_EQ(read_orientation(path("in.jpg")), 6);
  EXPECT_EQ(run("smooth", "in.jpg", "once.jpg").exit_code, 0);
  EXPECT_EQ(run("smooth", "once.jpg", "twice.jpg").exit_code, 0);
  for (const char* const name : {"once.jpg", "twice.jpg"}) {
    const TestImage result = read_image(path(name));
    EXPECT_EQ(result.width, 300) << name;
    EXPECT_EQ(result.height, 400) << name;
    EXPECT_EQ(read_orientation(path(name)), 1) << name;
  }
}

TEST_F(ImageCommand, names_with_brackets_are_names) {
  const TestImage image = make_image(8, 8, 1);
  write_image(image, path("in.png"));
  std::filesystem::rename(path("in.png"), path("in[1].png"));
  EXPECT_EQ(run("smooth", "in[1].png", "out[2].png").exit_code, 0);
  EXPECT_TRUE(exists("out[2].png"));
}

class TruncatedImage : public ImageCommand, public ::testing::WithParamInterface<const char*> {};

TEST_P(TruncatedImage, is_an_error_and_leaves_no_output) {
  const std::string name = std::string("in") + GetParam();
  write_image(make_image(200, 200, 3), path(name));
  write(name, read(name).substr(0, read(name).size() / 2));
  const ProgramResult result = run("smooth", name, "out.png");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_TRUE(contains(result.err, "cannot read '" + path(name) + "': ")) << result.err;
  EXPECT_TRUE(contains(result.err, "damaged")) << result.err;
  EXPECT_EQ(entry_count(), 1);
}

INSTANTIATE_TEST_SUITE_P(ImageCommand, TruncatedImage,
                         ::testing::Values(".png", ".jpg", ".tif", ".webp"));

TEST_F(ImageCommand, a_tiff_without_its_last_rows_is_always_an_error) {
  write("whole.tif", tiff_bytes(300, 300, 300));
  EXPECT_EQ(run("smooth", "whole.tif", "out.png").exit_code, 0);
  write("in.tif", tiff_bytes(300, 300, 296));
  for (int i = 0; i < 50; ++i) EXPECT_EQ(run("smooth", "in.tif", "never.png").exit_code, 3);
  EXPECT_FALSE(exists("never.png"));
}

TEST_F(ImageCommand, too_many_pixels_are_refused_before_they_are_read) {
  write("in.tif", tiff_bytes(60000, 60000, 1));
  const ProgramResult result = run("smooth", "in.tif", "out.png");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_TRUE(contains(result.err,
                       "the image has 60000 x 60000 pixels of 1 bands; at most 2147483648 values"))
      << result.err;
}

TEST_F(ImageCommand, a_missing_file_is_exit_code_3) {
  const ProgramResult result = run("smooth", "missing.png", "out.png");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(result.err, "tautstring: error: cannot read '" + path("missing.png") +
                            "': No such file or directory\n");
}

TEST_F(ImageCommand, what_is_not_an_image_is_exit_code_3) {
  for (const std::string& content :
       {std::string(), std::string("hello"), std::string("<svg width='9' height='9'></svg>")}) {
    write("in.png", content);
    const ProgramResult result = run("smooth", "in.png", "out.png");
    EXPECT_EQ(result.exit_code, 3);
    EXPECT_TRUE(contains(result.err, "not an image of a known format")) << result.err;
  }
}

TEST_F(ImageCommand, cmyk_is_refused_by_name) {
  write_cmyk_image(make_image(8, 8, 3), path("in.jpg"));
  const ProgramResult result = run("smooth", "in.jpg", "out.jpg");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_TRUE(contains(result.err, "4 bands of cmyk are not supported")) << result.err;
}

TEST_F(ImageCommand, the_first_of_several_pages_is_used_and_it_is_said) {
  write_two_pages(make_image(8, 8, 1), path("in.tif"));
  const ProgramResult result = run("smooth", "in.tif", "out.tif");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(contains(result.err, "only the first of 2 pages is used")) << result.err;
  EXPECT_EQ(read_image(path("out.tif")).height, 4);
}

TEST_F(ImageCommand, the_still_image_of_an_animated_png_is_used_and_it_is_said) {
  const TestImage image = make_image(8, 8, 3);
  write_animated_png(image, path("in.png"), 3);
  const ProgramResult result = run("smooth", "in.png", "out.png", {"--lam", "0"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(contains(result.err, "only the still image is used, not its 3 animation frames"))
      << result.err;
  EXPECT_EQ(read_image(path("out.png")).values, image.values);
}

TEST_F(ImageCommand, the_first_frame_of_an_animated_webp_is_used_and_it_is_said) {
  write_two_pages(make_image(8, 8, 3), path("in.webp"));
  const ProgramResult result = run("smooth", "in.webp", "out.png");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(contains(result.err, "only the first of 2 pages is used")) << result.err;
}

TEST_F(ImageCommand, a_png_that_is_not_animated_has_no_note) {
  write_animated_png(make_image(8, 8, 1), path("one_frame.png"), 1);
  write_image(make_image(8, 8, 1), path("plain.png"));
  for (const std::string name : {"one_frame.png", "plain.png"}) {
    const ProgramResult result = run("smooth", name, "out.png", {"--force"});
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_FALSE(contains(result.err, "frames")) << result.err;
  }
}

TEST_F(ImageCommand, an_existing_output_is_kept) {
  write_image(make_image(8, 8, 1), path("in.png"));
  write("out.png", "precious");
  const ProgramResult result = run("smooth", "in.png", "out.png");
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_TRUE(contains(result.err, "already exists (use --force to overwrite it)")) << result.err;
  EXPECT_EQ(read("out.png"), "precious");
}

TEST_F(ImageCommand, force_replaces_an_existing_output) {
  write_image(make_image(8, 8, 1), path("in.png"));
  write("out.png", "precious");
  EXPECT_EQ(run("smooth", "in.png", "out.png", {"--force"}).exit_code, 0);
  EXPECT_EQ(read_image(path("out.png")).width, 8);
  EXPECT_EQ(entry_count(), 2);
}

TEST_F(ImageCommand, an_input_is_its_own_output_only_with_force) {
  write_image(make_image(8, 8, 1), path("in.png"));
  const std::string before = read("in.png");
  EXPECT_EQ(run("smooth", "in.png", "in.png").exit_code, 4);
  EXPECT_EQ(read("in.png"), before);
  EXPECT_EQ(run("smooth", "in.png", "in.png", {"--force"}).exit_code, 0);
  EXPECT_NE(read("in.png"), before);
}

TEST_F(ImageCommand, a_folder_that_is_a_file_cannot_be_written_to) {
  write_image(make_image(8, 8, 1), path("in.png"));
  const ProgramResult result = run("smooth", "in.png", "in.png/out.png");
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_TRUE(contains(result.err, "cannot write to " + path("in.png") + ": Not a directory"));
}

TEST_F(ImageCommand, a_read_only_folder_cannot_be_written_to) {
  write_image(make_image(8, 8, 1), path("in.png"));
  ASSERT_EQ(chmod(folder_.c_str(), 0555), 0);
  const ProgramResult result = run_unprivileged({"smooth", path("in.png"), path("out.png")});
  ASSERT_EQ(chmod(folder_.c_str(), 0700), 0);
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_TRUE(contains(result.err, "cannot write to " + folder_.string() + ": Permission denied"));
}

TEST_F(ImageCommand, a_file_that_may_not_grow_is_exit_code_4) {
  write_image(make_image(100, 100, 3), path("in.png"));
  const ProgramResult result =
      run_shell("ulimit -f 1; \"$TAUTSTRING\" smooth " + path("in.png") + " " + path("out.png"));
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_TRUE(contains(result.err, "File too large")) << result.err;
  EXPECT_EQ(entry_count(), 1);
}

TEST_F(ImageCommand, pipes_carry_images_and_reports_go_to_standard_error) {
  const TestImage image = make_image(8, 8, 3);
  write_image(image, path("in.png"));
  const ProgramResult result = run_program({"smooth", "-", "-", "--lam", "0"}, read("in.png"));
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(contains(result.err, "standard output: 8 x 8, RGB, 8 bits")) << result.err;
  write("out.png", result.out);
  EXPECT_EQ(read_image(path("out.png")).values, image.values);
}

TEST_F(ImageCommand, format_chooses_what_a_pipe_carries) {
  write_image(make_image(8, 8, 3), path("in.png"));
  const ProgramResult result =
      run_program({"smooth", path("in.png"), "-", "--format", "jpg", "--quiet"});
  EXPECT_EQ(result.out.substr(0, 3), "\xFF\xD8\xFF");
  EXPECT_EQ(result.err, "");
}

TEST_F(ImageCommand, json_tells_about_the_file) {
  write_image(make_image(8, 6, 3), path("in.png"));
  const ProgramResult result = run("smooth", "in.png", "out.png", {"--json", "--lam", "inf"});
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["command"], "smooth");
  EXPECT_EQ(json["lam"], "inf");
  EXPECT_EQ(json["direction"], "2d");
  const auto& file = json["files"][0];
  EXPECT_EQ(file["input"], path("in.png"));
  EXPECT_EQ(file["output"], path("out.png"));
  EXPECT_EQ(file["status"], "done");
  EXPECT_EQ(file["width"], 8);
  EXPECT_EQ(file["height"], 6);
  EXPECT_EQ(file["bands"], 3);
  EXPECT_EQ(file["bits"], 8);
  EXPECT_EQ(json["summary"]["done"], 1);
}

TEST_F(ImageCommand, json_tells_how_near_2d_came_to_the_solution) {
  write_image(make_image(40, 30, 3), path("in.png"));
  const auto json = nlohmann::json::parse(run("smooth", "in.png", "out.png", {"--json"}).out);
  EXPECT_EQ(json["solver"],
            nlohmann::json({{"method", "accelerated"}, {"iterations", 256}, {"tol", 1e-4}}));
  const auto& convergence = json["files"][0]["convergence"];
  EXPECT_EQ(convergence["converged"], true);
  EXPECT_GE(convergence["iterations"], 4);
  EXPECT_LT(convergence["iterations"], 256);
  EXPECT_GT(convergence["gap"], 0);
  EXPECT_LE(convergence["gap"], 1e-4);
  EXPECT_GT(convergence["rms_bound"], 0);
}

TEST_F(ImageCommand, lines_are_exact_and_have_nothing_to_tell_of_that) {
  write_image(make_image(40, 30, 3), path("in.png"));
  const ProgramResult result = run("smooth", "in.png", "out.png", {"--json", "--direction", "col"});
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_FALSE(json.contains("solver"));
  EXPECT_FALSE(json["files"][0].contains("convergence"));
}

TEST_F(ImageCommand, the_solution_is_within_the_bound_that_is_told) {
  write_image(make_image(48, 40, 1, Depth::floating), path("in.tif"));
  const auto solve = [&](const char* tol, const char* iterations) {
    const ProgramResult result =
        run("smooth", "in.tif", "out.tif",
            {"--json", "--force", "--tol", tol, "--iterations", iterations});
    const auto json = nlohmann::json::parse(result.out);
    return std::pair{read_image(path("out.tif")).values,
                     json["files"][0]["convergence"]["rms_bound"].get<double>()};
  };
  const auto [rough, bound] = solve("0", "2");
  const auto [exact, rest] = solve("1e-6", "5000");
  double sum = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    sum += std::pow(static_cast<double>(rough[i]) - exact[i], 2);
  }
  const double distance = std::sqrt(sum / static_cast<double>(exact.size()));
  EXPECT_GT(distance, 10 * rest);  // otherwise the comparison is meaningless
  EXPECT_LE(distance, bound + rest);
  EXPECT_LE(bound, 100 * distance);  // and the bound is not useless
}

TEST_F(ImageCommand, a_tolerance_that_is_not_reached_is_said) {
  write_image(make_image(40, 30, 3), path("in.png"));
  const ProgramResult result =
      run("smooth", "in.png", "out.png", {"--json", "--lam", "0.2", "--iterations", "2"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(contains(result.err, "stopped after 2 iterations to a gap of ")) << result.err;
  EXPECT_TRUE(contains(result.err, "above --tol 0.0001; allow more --iterations")) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["files"][0]["convergence"]["converged"], false);
  EXPECT_EQ(json["files"][0]["convergence"]["iterations"], 2);
}

TEST_F(ImageCommand, without_a_tolerance_there_is_none_to_miss) {
  write_image(make_image(40, 30, 3), path("in.png"));
  const ProgramResult result =
      run("smooth", "in.png", "out.png", {"--lam", "0.2", "--iterations", "2", "--tol", "0"});
  EXPECT_EQ(result.err, "");
  EXPECT_TRUE(contains(result.out, ", 2 iterations to a gap of ")) << result.out;
}

TEST_F(ImageCommand, a_gap_without_end_is_told_in_json) {
  write_image(image_with_holes(0), path("in.png"));
  const ProgramResult result = run("smooth", "in.png", "out.png",
                                   {"--json", "--lam", "inf", "--iterations", "1", "--tol", "0"});
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["files"][0]["convergence"]["gap"], "inf");
  EXPECT_EQ(json["files"][0]["convergence"]["rms_bound"], "inf");
}

TEST_F(ImageCommand, lam_zero_takes_no_iteration) {
  write_image(make_image(8, 6, 3), path("in.png"));
  const ProgramResult result = run("smooth", "in.png", "out.png", {"--json", "--lam", "0"});
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(
      json["files"][0]["convergence"],
      nlohmann::json({{"iterations", 0}, {"gap", 0.0}, {"rms_bound", 0.0}, {"converged", true}}));
}

TEST_F(ImageCommand, options_that_do_not_go_together_leave_nothing_behind) {
  write_image(make_image(8, 6, 3), path("in.png"));
  for (const char* const command : {"smooth", "sharpen", "compare"}) {
    const ProgramResult result =
        run(command, "in.png", "out.png", {"--direction", "row", "--tol", "1e-3"});
    EXPECT_EQ(result.exit_code, 2) << command;
    EXPECT_EQ(entry_count(), 1) << command;
  }
}

TEST_F(ImageCommand, json_tells_the_error_of_a_file) {
  const ProgramResult result = run("smooth", "missing.png", "out.png", {"--json"});
  EXPECT_EQ(result.exit_code, 3);
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["files"][0]["status"], "failed");
  EXPECT_TRUE(contains(json["files"][0]["error"], "No such file"));
}

TEST_F(ImageCommand, json_tells_what_ends_compare) {
  const ProgramResult result = run("compare", "missing.png", "out.png", {"--json"});
  EXPECT_EQ(result.exit_code, 3);
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["command"], "compare");
  EXPECT_EQ("tautstring: error: " + json["error"].get<std::string>() + "\n", result.err);
}

TEST_F(ImageCommand, quiet_says_nothing) {
  write_image(make_image(8, 8, 1, Depth::bits16), path("in.png"));
  const ProgramResult result = run("smooth", "in.png", "out.jpg", {"--quiet"});
  EXPECT_EQ(result.out + result.err, "");
}

TEST_F(ImageCommand, compare_shows_before_and_after_with_a_white_gap) {
  const TestImage image = make_image(10, 6, 1);
  write_image(image, path("in.png"));
  ASSERT_EQ(run("smooth", "in.png", "after.png", {"--lam", "0.2"}).exit_code, 0);
  const ProgramResult result = run("compare", "in.png", "out.png", {"--lam", "0.2"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(contains(result.out, " iterations to a gap of ")) << result.out;
  EXPECT_TRUE(contains(result.out, "total variation along rows:")) << result.out;
  const TestImage both = read_image(path("out.png"));
  const TestImage after = read_image(path("after.png"));
  ASSERT_EQ(both.width, 28);
  for (int y = 0; y < 6; ++y) {
    const auto row = both.values.begin() + 28 * y;
    EXPECT_TRUE(std::equal(row, row + 10, image.values.begin() + 10 * y));
    EXPECT_TRUE(std::all_of(row + 10, row + 18, [](float value) { return value == 255; }));
    EXPECT_TRUE(std::equal(row + 18, row + 28, after.values.begin() + 10 * y));
  }
}

TEST_F(ImageCommand, compare_tells_less_variation_after_smoothing) {
  write_image(make_image(10, 6, 1), path("in.png"));
  const auto json =
      nlohmann::json::parse(run("compare", "in.png", "out.png", {"--json", "--lam", "0.2"}).out);
  EXPECT_EQ(json["convergence"]["converged"], true);
  const auto& variation = json["total_variation"];
  EXPECT_LT(variation["after"]["rows"], variation["before"]["rows"]);
  EXPECT_LT(variation["after"]["cols"], variation["before"]["cols"]);
}

}  // namespace
}  // namespace tautstring::cli::test
