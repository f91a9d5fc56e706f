// Files appear complete or not at all, and are replaced only on request.
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "errors.h"
#include "output.h"
#include "support/arrays.h"
#include "support/temp_folder.h"
#include "support/unprivileged.h"

namespace tautstring::cli::test {
namespace {

class AtomicOutput : public TempFolder {
 protected:
  /// The message of the Failure; "" if there is none.
  [[nodiscard]] std::string error_of_writing(const std::string& name, Overwrite overwrite) const {
    try {
      write_file(path(name), bytes_of("new"), overwrite);
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code(), ExitCode::output);
      return failure.what();
    }
    return "";
  }
};

TEST_F(AtomicOutput, writes_a_new_file_and_nothing_else) {
  EXPECT_EQ(error_of_writing("a", Overwrite::no), "");
  EXPECT_EQ(read("a"), "new");
  EXPECT_EQ(entry_count(), 1);
}

TEST_F(AtomicOutput, keeps_an_existing_file) {
  write("a", "old");
  EXPECT_EQ(error_of_writing("a", Overwrite::no),
            "'" + path("a") + "' already exists (use --force to overwrite it)");
  EXPECT_EQ(read("a"), "old");
  EXPECT_EQ(entry_count(), 1);
}

TEST_F(AtomicOutput, replaces_an_existing_file_on_request) {
  write("a", "old and longer");
  EXPECT_EQ(error_of_writing("a", Overwrite::yes), "");
  EXPECT_EQ(read("a"), "new");
  EXPECT_EQ(entry_count(), 1);
}

TEST_F(AtomicOutput, keeps_the_permissions_of_a_replaced_file) {
  write("a", "old");
  ASSERT_EQ(chmod(path("a").c_str(), 0600), 0);
  EXPECT_EQ(error_of_writing("a", Overwrite::yes), "");
  EXPECT_EQ(std::filesystem::status(path("a")).permissions(), std::filesystem::perms(0600));
}

TEST_F(AtomicOutput, replaces_what_a_link_points_to) {
  write("a", "old");
  std::filesystem::create_symlink("a", path("link"));
  EXPECT_NE(error_of_writing("link", Overwrite::no), "");
  EXPECT_EQ(error_of_writing("link", Overwrite::yes), "");
  EXPECT_TRUE(std::filesystem::is_symlink(path("link")));
  EXPECT_EQ(read("a"), "new");
}

TEST_F(AtomicOutput, keeps_a_link_that_points_nowhere) {
  std::filesystem::create_symlink("nowhere", path("link"));
  EXPECT_NE(error_of_writing("link", Overwrite::no), "");
  EXPECT_EQ(entry_count(), 1);
}

TEST_F(AtomicOutput, writes_to_a_device_without_replacing_it) {
  for (const Overwrite overwrite : {Overwrite::no, Overwrite::yes}) {
    write_file("/dev/null", bytes_of("new"), overwrite);
    EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  }
}

TEST_F(AtomicOutput, tells_a_full_disk) {
  EXPECT_THROW(write_file("/dev/full", bytes_of("new"), Overwrite::yes), Failure);
}

TEST_F(AtomicOutput, does_not_replace_a_folder) {
  std::filesystem::create_directory(path("a"));
  EXPECT_EQ(error_of_writing("a", Overwrite::yes),
            "cannot write '" + path("a") + "': Is a directory");
}

TEST_F(AtomicOutput, names_a_missing_folder) {
  EXPECT_EQ(error_of_writing("missing/a", Overwrite::no),
            "cannot write to " + path("missing") + ": No such file or directory");
}

TEST_F(AtomicOutput, names_a_folder_that_is_a_file) {
  write("file", "");
  EXPECT_EQ(error_of_writing("file/a", Overwrite::no),
            "cannot write to " + path("file") + ": Not a directory");
}

TEST_F(AtomicOutput, names_a_read_only_folder) {
  ASSERT_EQ(chmod(folder_.c_str(), 0555), 0);
  const auto write_unprivileged = [&] {
    give_up_privileges();
    std::fputs(error_of_writing("a", Overwrite::no).c_str(), stderr);
    std::exit(0);
  };
  EXPECT_EXIT(write_unprivileged(), ::testing::ExitedWithCode(0),
              "cannot write to " + folder_.string() + ": Permission denied");
  ASSERT_EQ(chmod(folder_.c_str(), 0700), 0);
}

TEST_F(AtomicOutput, foreign_temporary_files_are_no_obstacle) {
  const auto name = [](int i) {
    return ".tautstring-" + std::to_string(getpid()) + "-" + std::to_string(i) + ".tmp";
  };
  for (int i = 0; i < 100; ++i) write(name(i), "theirs");
  EXPECT_EQ(error_of_writing("a", Overwrite::no), "");
  for (int i = 0; i < 100; ++i) EXPECT_EQ(read(name(i)), "theirs");
}

TEST_F(AtomicOutput, a_new_file_has_the_permissions_that_umask_leaves) {
  const mode_t old = umask(0027);
  EXPECT_EQ(error_of_writing("a", Overwrite::no), "");
  umask(old);
  EXPECT_EQ(std::filesystem::status(path("a")).permissions(), std::filesystem::perms(0640));
}

TEST_F(AtomicOutput, makes_folders_with_their_parents) {
  make_folders(path("a/b/c"));
  EXPECT_TRUE(exists("a/b/c"));
  make_folders(path("a/b/c"));
}

TEST_F(AtomicOutput, does_not_take_a_file_for_a_folder) {
  write("file", "");
  EXPECT_THROW(make_folders(path("file")), Failure);
  EXPECT_THROW(make_folders(path("file/sub")), Failure);
}

}  // namespace
}  // namespace tautstring::cli::test
