// fork and exec with the standard streams in unnamed temporary files: no pipe can fill up, and no
// thread is needed.
#include "support/program.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "support/unprivileged.h"

namespace tautstring::cli::test {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};
using TempFile = std::unique_ptr<std::FILE, CloseFile>;

TempFile make_temp_file(const std::string& content) {
  TempFile file(std::tmpfile());
  if (file == nullptr) std::abort();
  std::fwrite(content.data(), 1, content.size(), file.get());
  std::rewind(file.get());
  return file;
}

std::string content_of(std::FILE* file) {
  std::rewind(file);
  std::string content;
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) {
    content.push_back(static_cast<char>(c));
  }
  return content;
}

enum class Privileges { same, none };

ProgramResult spawn(const std::string& program, const std::vector<std::string>& arguments,
                    const std::string& input, Privileges privileges = Privileges::same) {
  std::vector<char*> argv = {const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);

  const TempFile in = make_temp_file(input);
  const TempFile out = make_temp_file("");
  const TempFile err = make_temp_file("");
  const pid_t child = fork();
  if (child == 0) {
    dup2(fileno(in.get()), STDIN_FILENO);
    dup2(fileno(out.get()), STDOUT_FILENO);
    dup2(fileno(err.get()), STDERR_FILENO);
    // Opened first: only root may be able to enter the folder that it is in.
    const int opened = open(program.c_str(), O_PATH | O_CLOEXEC);
    if (privileges == Privileges::none) give_up_privileges();
    fexecve(opened, argv.data(), environ);
    _exit(127);
  }

  ProgramResult result;
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return result;
  // Like a shell: 128 + n if the process was ended by signal n.
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.out = content_of(out.get());
  result.err = content_of(err.get());
  return result;
}

}  // namespace

ProgramResult run_program(const std::vector<std::string>& arguments, const std::string& input) {
  return spawn(TAUTSTRING_PROGRAM, arguments, input);
}

ProgramResult run_unprivileged(const std::vector<std::string>& arguments) {
  return spawn(TAUTSTRING_PROGRAM, arguments, "", Privileges::none);
}

ProgramResult run_shell(const std::string& line) {
  return spawn("/bin/sh", {"-c", "TAUTSTRING='" TAUTSTRING_PROGRAM "'; " + line}, "");
}

}  // namespace tautstring::cli::test
