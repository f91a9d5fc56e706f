// signal on .npy files, tables and pipes, end to end.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "npy.h"
#include "support/arrays.h"
#include "support/program.h"
#include "support/temp_folder.h"
#include "tautstring/tautstring.h"

namespace tautstring::cli::test {
namespace {

using Shape = std::vector<std::int64_t>;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

const std::vector<float> kSamples = {0, 1, 0, 9, 8, 9, 2, 2, 5, 5, 5, 6};

/// The library's own result for samples of shape (rows, n), as doubles.
std::vector<double> solve_directly(std::vector<float> x, std::int64_t rows, double lam, int dim) {
  const auto n = static_cast<std::int64_t>(x.size()) / rows;
  const View samples = view(x.data(), {rows, n});
  EXPECT_TRUE(prox_tv1d({.x = samples, .lam = lam, .dim = dim}, samples).ok());
  return {x.begin(), x.end()};
}

class SignalCommand : public TempFolder {
 protected:
  ProgramResult run(const std::string& input, const std::string& output,
                    const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments = {"signal", path(input), path(output), "--lam", "1"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program(arguments);
  }

  /// Runs from in.npy to out.npy; expects success.
  SampleArray smoothed(const std::string& npy, const std::vector<std::string>& more = {}) const {
    write("in.npy", npy);
    const ProgramResult result = run("in.npy", "out.npy", more);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return parse_npy(bytes_of(read("out.npy")));
  }

  /// The output table for an input table.
  std::string smoothed_csv(const std::string& csv,
                           const std::vector<std::string>& more = {}) const {
    write("in.csv", csv);
    const ProgramResult result = run("in.csv", "out.csv", more);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return read("out.csv");
  }
};

TEST_F(SignalCommand, npy_is_smoothed_along_the_last_dimension) {
  const SampleArray array = smoothed(npy_file(npy_header("<f4", "(2, 6)"), raw_bytes(kSamples)));
  EXPECT_EQ(array.dtype, DType::float32);
  EXPECT_EQ(array.shape, (Shape{2, 6}));
  EXPECT_EQ(values_of(array), solve_directly(kSamples, 2, 1, -1));
}

TEST_F(SignalCommand, dim_chooses_the_dimension) {
  const SampleArray array =
      smoothed(npy_file(npy_header("<f4", "(2, 6)"), raw_bytes(kSamples)), {"--dim", "0"});
  EXPECT_EQ(values_of(array), solve_directly(kSamples, 2, 1, 0));
}

TEST_F(SignalCommand, a_dim_out_of_range_is_exit_code_2) {
  write("in.npy", npy_file(npy_header("<f4", "(2, 6)"), raw_bytes(kSamples)));
  const ProgramResult result = run("in.npy", "out.npy", {"--dim", "2"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_TRUE(contains(result.err, "--dim: must be from -2 to 1 for shape (2, 6), got 2"));
}

TEST_F(SignalCommand, fortran_order_is_kept_and_means_the_same) {
  // Stored by columns, (2, 6) is the transpose of (6, 2) stored by rows.
  const SampleArray array =
      smoothed(npy_file(npy_header("<f4", "(2, 6)", true), raw_bytes(kSamples)));
  EXPECT_TRUE(array.fortran_order);
  EXPECT_EQ(array.shape, (Shape{2, 6}));
  EXPECT_EQ(values_of(array), solve_directly(kSamples, 6, 1, 0));
}

TEST_F(SignalCommand, big_endian_is_kept_and_means_the_same) {
  const SampleArray array =
      smoothed(npy_file(npy_header(">f4", "(2, 6)"), swapped_bytes(kSamples)));
  EXPECT_TRUE(array.big_endian);
  EXPECT_EQ(values_of(array), solve_directly(kSamples, 2, 1, -1));
}

TEST_F(SignalCommand, integers_become_float64) {
  const std::vector<std::int32_t> integers(kSamples.begin(), kSamples.end());
  const SampleArray array = smoothed(npy_file(npy_header("<i4", "(2, 6)"), raw_bytes(integers)));
  EXPECT_EQ(array.dtype, DType::float64);
  const std::vector<double> expected = solve_directly(kSamples, 2, 1, -1);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(values_of(array)[i], expected[i], 1e-6);
  }
}

TEST_F(SignalCommand, float16_stays_float16) {
  const std::vector<std::uint16_t> halves = {0x3C00, 0x4000, 0x4200};  // 1, 2, 3
  const SampleArray array =
      smoothed(npy_file(npy_header("<f2", "(3,)"), raw_bytes(halves)), {"--mode", "smooth"});
  EXPECT_EQ(array.dtype, DType::float16);
  EXPECT_EQ(values_of(array), (std::vector<double>{2, 2, 2}));
}

TEST_F(SignalCommand, arrays_without_dimensions_and_without_elements_come_back) {
  EXPECT_EQ(values_of(smoothed(npy_file(npy_header("<f8", "()"), raw_bytes(std::vector{7.0})))),
            (std::vector<double>{7}));
  EXPECT_EQ(smoothed(npy_file(npy_header("<f8", "(0, 3)"), ""), {"--force"}).shape, (Shape{0, 3}));
  EXPECT_EQ(smoothed(npy_file(npy_header("<f8", "(3, 0)"), ""), {"--force"}).shape, (Shape{3, 0}));
}

TEST_F(SignalCommand, nan_in_npy_is_missing_and_filled_in) {
  const std::vector<float> samples = {kNan, 1, kNan, 1, kNan};
  const SampleArray array = smoothed(npy_file(npy_header("<f4", "(5,)"), raw_bytes(samples)));
  EXPECT_EQ(values_of(array), (std::vector<double>{1, 1, 1, 1, 1}));
}

TEST_F(SignalCommand, infinity_in_npy_is_an_error_that_names_the_place) {
  const std::vector<float> samples = {0, 1, 2, HUGE_VALF};
  write("in.npy", npy_file(npy_header("<f4", "(2, 2)"), raw_bytes(samples)));
  const ProgramResult result = run("in.npy", "out.npy");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_TRUE(contains(result.err, "the sample at index (1, 1) is infinite")) << result.err;
}

TEST_F(SignalCommand, a_truncated_npy_is_exit_code_3) {
  write("in.npy", npy_file(npy_header("<f4", "(3, 6)"), raw_bytes(kSamples)));
  const ProgramResult result = run("in.npy", "out.npy");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_TRUE(contains(result.err, "the npy file is truncated")) << result.err;
  EXPECT_FALSE(exists("out.npy"));
}

TEST_F(SignalCommand, csv_is_smoothed_down_its_columns) {
  EXPECT_EQ(smoothed_csv("a;b\n0;5\n4;5\n"), "a;b\n1;5\n3;5\n");
}

TEST_F(SignalCommand, missing_cells_are_filled_in) {
  EXPECT_EQ(smoothed_csv("3,nan\n,7\n3,\n"), "3,7\n3,7\n3,7\n");
}

TEST_F(SignalCommand, a_column_without_samples_stays_nan) {
  EXPECT_EQ(smoothed_csv("3,nan\n3,nan\n"), "3,nan\n3,nan\n");
}

TEST_F(SignalCommand, lam_zero_gives_the_table_back) {
  write("in.csv", "0.1\n0.2\n0.30000000000000004\n");
  ASSERT_EQ(run_program({"signal", path("in.csv"), path("out.csv"), "--lam", "0"}).exit_code, 0);
  EXPECT_EQ(read("out.csv"), read("in.csv"));
}

TEST_F(SignalCommand, sharpen_adds_what_smoothing_takes_away) {
  EXPECT_EQ(smoothed_csv("0\n4\n", {"--mode", "sharp"}), "-1\n5\n");
}

TEST_F(SignalCommand, npy_becomes_csv_and_csv_becomes_npy) {
  write("in.csv", "0\n4\n");
  EXPECT_EQ(run("in.csv", "mid.npy").exit_code, 0);
  EXPECT_EQ(run("mid.npy", "out.tsv", {"--dim", "0"}).exit_code, 0);
  EXPECT_EQ(read("out.tsv"), "2\n2\n");
}

TEST_F(SignalCommand, weights_pull_the_mean) {
  write("w.csv", "3\n1\n");
  EXPECT_EQ(smoothed_csv("0\n4\n", {"--weights", path("w.csv"), "--force"}),
            "0.3333333333333333\n3\n");
}

TEST_F(SignalCommand, a_list_of_weights_runs_along_the_signals) {
  write("w.npy", npy_file(npy_header("<f8", "(2,)"), raw_bytes(std::vector<double>{0, 1})));
  EXPECT_EQ(smoothed_csv("0,1\n4,5\n", {"--weights", path("w.npy")}), "4,5\n4,5\n");
}

TEST_F(SignalCommand, negative_weights_are_refused_by_place) {
  write("in.csv", "0\n4\n");
  write("w.csv", "1\n-1\n");
  const ProgramResult result = run("in.csv", "out.csv", {"--weights", path("w.csv")});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_TRUE(contains(result.err, "must be >= 0, got -1 at index (1,)")) << result.err;
}

TEST_F(SignalCommand, weights_that_do_not_fit_are_refused) {
  write("in.csv", "0\n4\n");
  write("w.csv", "1\n1\n1\n");
  const ProgramResult result = run("in.csv", "out.csv", {"--weights", path("w.csv")});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_TRUE(
      contains(result.err, "have shape (3,), which does not broadcast to the samples' (2, 1)"))
      << result.err;
}

TEST_F(SignalCommand, pipes_carry_tables) {
  const ProgramResult result = run_program({"signal", "-", "-", "--lam", "1"}, "0\n4\n");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "1\n3\n");
  EXPECT_TRUE(contains(result.err, "standard output: shape (2, 1), float64")) << result.err;
}

TEST_F(SignalCommand, pipes_carry_npy_found_by_its_magic) {
  const ProgramResult result =
      run_program({"signal", "-", "--lam", "1", "--quiet"},
                  npy_file(npy_header("<f4", "(2, 6)"), raw_bytes(kSamples)));
  EXPECT_EQ(values_of(parse_npy(bytes_of(result.out))), solve_directly(kSamples, 2, 1, -1));
}

TEST_F(SignalCommand, segments_are_the_change_points) {
  const ProgramResult result =
      run_program({"signal", "-", "--lam", "1", "--segments"}, "1,0\n2,0\n8,0\n9,0\n");
  EXPECT_EQ(result.out, "row,start,length,value,sign\n0,0,2,2,0\n0,2,2,8,1\n1,0,4,0,0\n");
}

TEST_F(SignalCommand, segments_as_json) {
  const ProgramResult result =
      run_program({"signal", "-", "--lam", "1", "--segments", "--json"}, "9\n8\n2\n1\n");
  const auto json = nlohmann::json::parse(result.out);
  ASSERT_EQ(json["segments"].size(), 2U);
  EXPECT_EQ(
      json["segments"][1],
      nlohmann::json({{"row", 0}, {"start", 2}, {"length", 2}, {"value", 2.0}, {"sign", -1}}));
}

TEST_F(SignalCommand, segments_do_not_go_into_npy) {
  write("in.csv", "0\n4\n");
  EXPECT_EQ(run("in.csv", "out.npy", {"--segments"}).exit_code, 2);
  EXPECT_EQ(run("in.csv", "out.csv", {"--segments", "--format", "npy"}).exit_code, 2);
  EXPECT_FALSE(exists("out.npy"));
}

TEST_F(SignalCommand, a_lam_too_small_for_a_double_is_zero) {
  const ProgramResult result = run_program({"signal", "-", "--lam", "1e-400"}, "0\n4\n");
  EXPECT_EQ(result.out, "0\n4\n") << result.err;
}

TEST_F(SignalCommand, json_tells_what_ends_it) {
  const ProgramResult result = run("missing.csv", "out.csv", {"--json"});
  EXPECT_EQ(result.exit_code, 3);
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["command"], "signal");
  EXPECT_TRUE(contains(json["error"], "No such file"));
  EXPECT_TRUE(contains(result.err, "No such file"));
}

TEST_F(SignalCommand, json_tells_about_the_signal) {
  write("in.csv", "0\n\n4\n");
  const auto json = nlohmann::json::parse(run("in.csv", "out.csv", {"--json"}).out);
  EXPECT_EQ(json["shape"], nlohmann::json({3, 1}));
  EXPECT_EQ(json["missing"], 1);
  EXPECT_EQ(json["lam"], 1.0);
}

TEST_F(SignalCommand, an_existing_output_is_kept) {
  write("in.csv", "0\n4\n");
  write("out.csv", "precious");
  EXPECT_EQ(run("in.csv", "out.csv").exit_code, 4);
  EXPECT_EQ(read("out.csv"), "precious");
}

}  // namespace
}  // namespace tautstring::cli::test
