// smooth on whole folders, end to end.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "support/program.h"
#include "support/temp_folder.h"
#include "support/test_image.h"

namespace tautstring::cli::test {
namespace {

class Folder : public TempFolder {
 protected:
  Folder() { std::filesystem::create_directories(path("in/sub")); }

  void add_image(const std::string& name) const { write_image(make_image(8, 8, 3), path(name)); }

  ProgramResult run(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments = {"smooth", path("in"), path("out")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program(arguments);
  }
};

TEST_F(Folder, is_mirrored_into_a_new_folder) {
  add_image("in/a.png");
  add_image("in/B.JPG");
  write("in/notes.txt", "not an image");
  const ProgramResult result = run();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(exists("out/a.png"));
  EXPECT_TRUE(exists("out/B.JPG"));
  EXPECT_FALSE(exists("out/notes.txt"));
  EXPECT_TRUE(contains(result.out, "2 done, 0 failed, 0 skipped")) << result.out;
}

TEST_F(Folder, enters_folders_only_when_told) {
  add_image("in/a.png");
  add_image("in/sub/b.png");
  EXPECT_EQ(run().exit_code, 0);
  EXPECT_FALSE(exists("out/sub/b.png"));
  EXPECT_EQ(run({"-r"}).exit_code, 0);
  EXPECT_TRUE(exists("out/sub/b.png"));
}

TEST_F(Folder, with_one_bad_file_is_exit_code_5_and_the_others_are_written) {
  add_image("in/a.png");
  write("in/bad.png", "not an image");
  add_image("in/c.png");
  const ProgramResult result = run();
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_TRUE(exists("out/a.png"));
  EXPECT_FALSE(exists("out/bad.png"));
  EXPECT_TRUE(exists("out/c.png"));
  EXPECT_TRUE(contains(result.err, "cannot read '" + path("in/bad.png") + "'")) << result.err;
  EXPECT_TRUE(contains(result.out, "2 done, 1 failed, 0 skipped")) << result.out;
}

TEST_F(Folder, ignores_pipes_with_the_name_of_an_image) {
  add_image("in/a.png");
  ASSERT_EQ(mkfifo(path("in/b.png").c_str(), 0600), 0);
  const ProgramResult result =
      run_shell("timeout 20 \"$TAUTSTRING\" smooth " + path("in") + " " + path("out"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(contains(result.out, "1 done, 0 failed, 0 skipped")) << result.out;
}

TEST_F(Folder, an_unreadable_folder_inside_fails_alone) {
  add_image("in/a.png");
  std::filesystem::create_directory(path("in/closed"));
  add_image("in/sub/b.png");
  ASSERT_EQ(chmod(path("in/closed").c_str(), 0), 0);
  const ProgramResult result = run_unprivileged({"smooth", "-r", path("in"), path("out")});
  ASSERT_EQ(chmod(path("in/closed").c_str(), 0700), 0);
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_EQ(result.err,
            "tautstring: error: cannot read '" + path("in/closed") + "': Permission denied\n");
  EXPECT_TRUE(exists("out/a.png"));
  EXPECT_TRUE(exists("out/sub/b.png"));
}

TEST_F(Folder, a_link_to_nowhere_fails_alone) {
  add_image("in/a.png");
  std::filesystem::create_symlink("nowhere", path("in/b.png"));
  std::filesystem::create_symlink("c", path("in/c"));  // to itself
  EXPECT_EQ(run({"-r"}).exit_code, 5);
  EXPECT_TRUE(exists("out/a.png"));
}

TEST_F(Folder, an_output_that_cannot_be_looked_at_is_exit_code_4) {
  add_image("in/a.png");
  const ProgramResult result = run_program({"smooth", path("in"), path(std::string(300, 'x'))});
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_TRUE(contains(result.err, "File name too long")) << result.err;
}

TEST_F(Folder, skips_outputs_that_exist) {
  add_image("in/a.png");
  add_image("in/b.png");
  std::filesystem::create_directory(path("out"));
  write("out/a.png", "precious");
  const ProgramResult result = run();
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(read("out/a.png"), "precious");
  EXPECT_TRUE(contains(result.out, "1 done, 0 failed, 1 skipped")) << result.out;
}

TEST_F(Folder, replaces_outputs_with_force) {
  add_image("in/a.png");
  std::filesystem::create_directory(path("out"));
  write("out/a.png", "precious");
  EXPECT_EQ(run({"--force"}).exit_code, 0);
  EXPECT_NE(read("out/a.png"), "precious");
}

TEST_F(Folder, without_images_is_told) {
  const ProgramResult result = run();
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_TRUE(
      contains(result.err, "there are no images (png, jpg, tiff or webp) in '" + path("in") + "'"))
      << result.err;
  EXPECT_FALSE(exists("out"));
}

TEST_F(Folder, is_converted_with_format) {
  add_image("in/a.png");
  EXPECT_EQ(run({"--format", "tiff"}).exit_code, 0);
  EXPECT_TRUE(exists("out/a.tif"));
}

TEST_F(Folder, two_inputs_with_one_output_fail_the_second) {
  add_image("in/a.jpg");
  add_image("in/a.png");
  const ProgramResult result = run({"--format", "png", "--force"});
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_TRUE(exists("out/a.png"));
  EXPECT_TRUE(contains(result.err, "is already the output of another file")) << result.err;
}

TEST_F(Folder, results_inside_the_input_are_not_inputs_again) {
  add_image("in/a.png");
  const std::vector<std::string> command = {"smooth", "-r", path("in"), path("in/out")};
  EXPECT_EQ(run_program(command).exit_code, 0);
  EXPECT_EQ(run_program(command).exit_code, 0);
  EXPECT_TRUE(exists("in/out/a.png"));
  EXPECT_FALSE(exists("in/out/out"));
}

TEST_F(Folder, does_not_go_into_a_file_or_a_pipe) {
  add_image("in/a.png");
  write("file", "");
  EXPECT_EQ(run_program({"smooth", path("in"), path("file")}).exit_code, 4);
  EXPECT_EQ(run_program({"smooth", path("in"), "-"}).exit_code, 2);
}

TEST_F(Folder, takes_a_single_file_under_its_own_name) {
  add_image("in/a.png");
  std::filesystem::create_directory(path("out"));
  EXPECT_EQ(run_program({"smooth", path("in/a.png"), path("out")}).exit_code, 0);
  EXPECT_TRUE(exists("out/a.png"));
  EXPECT_EQ(run_program({"smooth", path("in/a.png"), path("new/")}).exit_code, 0);
  EXPECT_TRUE(exists("new/a.png"));
}

TEST_F(Folder, that_cannot_be_made_is_told_for_each_file) {
  add_image("in/a.png");
  write("file", "");
  const ProgramResult result = run_program({"smooth", path("in"), path("file/out")});
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_TRUE(contains(result.err, "cannot write to " + path("file/out") + ": Not a directory"))
      << result.err;
}

TEST_F(Folder, json_lists_every_file_and_a_summary) {
  add_image("in/a.png");
  write("in/bad.png", "not an image");
  const ProgramResult result = run({"--json"});
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["files"].size(), 2U);
  EXPECT_EQ(json["files"][0]["status"], "done");
  EXPECT_EQ(json["files"][1]["status"], "failed");
  EXPECT_EQ(json["summary"]["done"], 1);
  EXPECT_EQ(json["summary"]["failed"], 1);
}

TEST_F(Folder, json_tells_that_there_are_no_images) {
  const auto json = nlohmann::json::parse(run({"--json"}).out);
  EXPECT_EQ(json["command"], "smooth");
  EXPECT_TRUE(contains(json["error"], "there are no images"));
}

TEST_F(Folder, draws_no_bar_where_nobody_looks) {
  add_image("in/a.png");
  add_image("in/b.png");
  EXPECT_EQ(run().err, "");
}

TEST_F(Folder, leaves_no_temporary_files) {
  add_image("in/a.png");
  write("in/bad.png", "not an image");
  static_cast<void>(run());
  for (const auto& entry : std::filesystem::directory_iterator(path("out"))) {
    EXPECT_EQ(entry.path().filename(), "a.png");
  }
}

}  // namespace
}  // namespace tautstring::cli::test
