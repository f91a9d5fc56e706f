// info about the build, images and signals, end to end.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>

#include "errors.h"
#include "support/arrays.h"
#include "support/program.h"
#include "support/temp_folder.h"
#include "support/test_image.h"
#include "tautstring/version.h"

namespace tautstring::cli::test {
namespace {

class Info : public TempFolder {
 protected:
  [[nodiscard]] nlohmann::json info(const std::string& name) const {
    const ProgramResult result = run_program({"info", "--json", path(name)});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return nlohmann::json::parse(result.out)["files"][0];
  }
};

TEST_F(Info, tells_about_the_build) {
  const auto json = nlohmann::json::parse(run_program({"info", "--json"}).out);
  EXPECT_EQ(json["version"], kVersion);
  EXPECT_GE(json["threads"], 1);
  EXPECT_TRUE(json["cuda"].is_boolean());
  EXPECT_EQ(json["image_formats"].size(), 4U);
}

TEST_F(Info, tells_which_instruction_set_is_in_use) {
  const auto json =
      nlohmann::json::parse(run_shell("TAUTSTRING_CPU=portable \"$TAUTSTRING\" info --json").out);
  EXPECT_EQ(json["cpu_target"], "portable");
  EXPECT_EQ(json["cpu_targets"].back(), "portable");
}

TEST_F(Info, an_instruction_set_that_is_not_there_is_said) {
  write("a.csv", "1\n2\n");
  const ProgramResult result =
      run_shell("TAUTSTRING_CPU=avx1024 \"$TAUTSTRING\" signal " + path("a.csv") + " - --lam 1");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out, "");
  EXPECT_NE(result.err.find("TAUTSTRING_CPU: must be "), std::string::npos) << result.err;
}

TEST_F(Info, tells_about_an_image_in_units_of_lam) {
  write_image({3, 1, 1, Depth::bits8, {0, 0, 255}}, path("a.png"));
  const auto json = info("a.png");
  EXPECT_EQ(json["width"], 3);
  EXPECT_EQ(json["height"], 1);
  EXPECT_EQ(json["bits"], 8);
  EXPECT_EQ(json["range"], nlohmann::json({0.0, 255.0}));
  EXPECT_DOUBLE_EQ(json["mean_difference_rows"], 0.5);
  EXPECT_TRUE(json["mean_difference_cols"].is_null());
  // The sum of x - mean before the jump is -2/3.
  EXPECT_NEAR(json["lam_max_rows"], 2.0 / 3, 1e-6);
  EXPECT_EQ(json["lam_max_cols"], 0);
}

TEST_F(Info, lam_max_of_an_image_makes_it_constant) {
  write_image(make_image(20, 4, 1), path("a.png"));
  const std::string lam = std::to_string(info("a.png")["lam_max_rows"].get<double>() + 1e-6);
  ASSERT_EQ(
      run_program({"smooth", path("a.png"), path("b.png"), "--direction", "row", "--lam", lam})
          .exit_code,
      0);
  EXPECT_EQ(info("b.png")["mean_difference_rows"], 0);
}

TEST_F(Info, the_larger_lam_max_of_an_image_makes_all_of_it_constant) {
  write_image(make_image(20, 9, 3), path("a.png"));
  const auto before = info("a.png");
  const std::string lam = std::to_string(
      std::max(before["lam_max_rows"].get<double>(), before["lam_max_cols"].get<double>()) + 1e-6);
  ASSERT_EQ(run_program({"smooth", path("a.png"), path("b.png"), "--lam", lam}).exit_code, 0);
  EXPECT_EQ(info("b.png")["mean_difference_rows"], 0);
  EXPECT_EQ(info("b.png")["mean_difference_cols"], 0);
}

TEST_F(Info, tells_about_a_signal) {
  write("a.npy", npy_file(npy_header("<f4", "(2, 2)"), raw_bytes(std::vector<float>{0, 4, 1, 1})));
  const auto json = info("a.npy");
  EXPECT_EQ(json["shape"], nlohmann::json({2, 2}));
  EXPECT_EQ(json["dtype"], "float32");
  EXPECT_EQ(json["range"], nlohmann::json({0.0, 4.0}));
  EXPECT_EQ(json["lam_max"], 2);
}

/// 8-bit grey around 128 with normal noise of this standard deviation, in grey levels.
TestImage noisy_image(int bands, double deviation) {
  TestImage image = {200, 160, bands, Depth::bits8, {}};
  std::mt19937 random(1);
  std::normal_distribution<float> noise(128, static_cast<float>(deviation));
  for (int i = 0; i < 200 * 160 * bands; ++i) image.values.push_back(std::round(noise(random)));
  return image;
}

TEST_F(Info, estimates_the_noise_of_an_image_and_a_lambda_for_it) {
  for (const double deviation : {2.0, 5.0, 25.0}) {
    write_image(noisy_image(3, deviation), path("a.png"));
    const auto json = info("a.png");
    EXPECT_NEAR(json["noise"], deviation / 255, 0.04 * deviation / 255) << deviation;
    EXPECT_DOUBLE_EQ(json["lam_for_noise"], 0.7 * json["noise"].get<double>());
    std::filesystem::remove(path("a.png"));
  }
}

TEST_F(Info, finds_no_noise_in_ramps_edges_and_invisible_pixels) {
  TestImage image = {40, 40, 2, Depth::bits8, {}};
  for (int i = 0; i < 40 * 40; ++i) {
    const bool is_visible = i / 40 < 30;
    const auto ramp = static_cast<float>(3 * (i % 40) + (i / 40 > 17 ? 100 : 0));
    image.values.push_back(is_visible ? ramp : static_cast<float>(97 * i % 251));
    image.values.push_back(is_visible ? 255.F : 0.F);
  }
  write_image(image, path("a.png"));
  EXPECT_EQ(info("a.png")["noise"], 0);
  write_image({3, 1, 1, Depth::bits8, {0, 0, 255}}, path("line.png"));
  EXPECT_TRUE(info("line.png")["noise"].is_null());
  EXPECT_TRUE(info("line.png")["lam_for_noise"].is_null());
}

TEST_F(Info, estimates_the_noise_of_a_signal_along_its_dimension) {
  std::mt19937 random(1);
  std::normal_distribution<double> noise(0, 0.25);
  std::string table;
  for (int i = 0; i < 3000; ++i) {  // two columns: a ramp with noise and steps with noise
    table += std::to_string(0.01 * i + noise(random)) + ",";
    table += (i % 7 == 3 ? "" : std::to_string(i / 100 * 5 + noise(random))) + "\n";
  }
  write("a.csv", table);
  EXPECT_NEAR(info("a.csv")["noise"], 0.25, 0.015);
  write("short.csv", "1\n2\n");
  EXPECT_TRUE(info("short.csv")["noise"].is_null());
}

TEST_F(Info, leaves_missing_samples_out) {
  write("a.csv", "0\n\n4\n");
  const auto json = info("a.csv");
  EXPECT_EQ(json["missing"], 1);
  EXPECT_EQ(json["range"], nlohmann::json({0.0, 4.0}));
  EXPECT_EQ(json["lam_max"], 2);
}

TEST_F(Info, tells_about_an_array_without_elements) {
  write("a.npy", npy_file(npy_header("<f4", "(1152921504606846976, 0)"), ""));
  EXPECT_TRUE(info("a.npy")["lam_max"].is_null());
}

TEST_F(Info, lam_max_leaves_invisible_colour_out) {
  write_image({3, 1, 2, Depth::bits8, {0, 255, 0, 255, 255, 0}}, path("a.png"));
  EXPECT_EQ(info("a.png")["lam_max_rows"], 0);
}

TEST_F(Info, finds_out_what_a_pipe_carries) {
  write_image(make_image(4, 4, 1), path("a.png"));
  const auto kind = [](const std::string& input) {
    return nlohmann::json::parse(run_program({"info", "--json", "-"}, input).out)["files"][0];
  };
  EXPECT_EQ(kind(read("a.png"))["kind"], "image");
  EXPECT_EQ(kind("1,2\n3,4\n")["shape"], nlohmann::json({2, 2}));
  EXPECT_EQ(kind(npy_file(npy_header("<f4", "(1,)"), raw_bytes(std::vector<float>{7})))["dtype"],
            "float32");
}

TEST(FailureOf, a_file_names_it_where_memory_ends) {
  EXPECT_STREQ(failure_of(std::bad_alloc(), "'a.png'").what(), "'a.png': not enough memory");
}

TEST_F(Info, goes_on_after_a_bad_file_and_is_exit_code_3) {
  write("a.csv", "1\n2\n");
  const ProgramResult result = run_program({"info", path("missing.png"), path("a.csv")});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_NE(result.out.find("float64"), std::string::npos);
  EXPECT_NE(result.err.find("No such file"), std::string::npos);
}

}  // namespace
}  // namespace tautstring::cli::test
