// Reading whole inputs, of which pipes and devices have a limit.
#include "input.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

#include "errors.h"
#include "support/program.h"
#include "support/temp_folder.h"

namespace tautstring::cli::test {
namespace {

class Input : public TempFolder {};

constexpr std::size_t kLimit = 1000;

std::string error_of(const std::string& path) {
  try {
    static_cast<void>(read_input(path, kLimit));
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::input);
    return failure.what();
  }
  return "no error";
}

/// Standard input is another file while this lives.
class StandardInput {
 public:
  explicit StandardInput(int file) : saved_(dup(STDIN_FILENO)) {
    dup2(file, STDIN_FILENO);
    close(file);
  }
  StandardInput(const StandardInput&) = delete;
  StandardInput& operator=(const StandardInput&) = delete;
  ~StandardInput() {
    dup2(saved_, STDIN_FILENO);
    close(saved_);
  }

 private:
  int saved_;
};

/// The end to read of a pipe that carries `count` bytes.
int pipe_of(std::size_t count) {
  std::array<int, 2> ends = {};
  EXPECT_EQ(pipe(ends.data()), 0);
  const std::string content(count, 'x');
  EXPECT_EQ(write(ends[1], content.data(), count), static_cast<ssize_t>(count));
  close(ends[1]);
  return ends[0];
}

TEST_F(Input, without_end_from_standard_input_is_an_error) {
  const StandardInput zeros(open("/dev/zero", O_RDONLY));
  EXPECT_EQ(error_of("-"),
            "cannot read standard input: it provides more than 1000 bytes, the limit for all but "
            "regular files; save it to a file, which may have any size");
}

TEST_F(Input, without_end_from_a_device_is_an_error) {
  EXPECT_TRUE(
      contains(error_of("/dev/zero"), "cannot read '/dev/zero': it provides more than 1000"));
}

TEST_F(Input, may_have_as_many_bytes_as_the_limit_in_a_pipe) {
  {
    const StandardInput all(pipe_of(kLimit));
    EXPECT_EQ(read_input("-", kLimit).size(), kLimit);
  }
  const StandardInput one_more(pipe_of(kLimit + 1));
  EXPECT_TRUE(contains(error_of("-"), "more than 1000 bytes"));
}

TEST_F(Input, may_have_any_size_in_a_file) {
  write("large", std::string(kLimit + 1, 'x'));
  EXPECT_EQ(read_input(path("large"), kLimit).size(), kLimit + 1);
  const StandardInput redirected(open(path("large").c_str(), O_RDONLY));
  EXPECT_EQ(read_input("-", kLimit).size(), kLimit + 1);
}

}  // namespace
}  // namespace tautstring::cli::test
