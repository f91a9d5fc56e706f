// From the command line to a subcommand, and from any failure to an exit code.
#include "app.h"

#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "commands.h"
#include "errors.h"
#include "output.h"
#include "progress.h"
#include "report.h"
#include "tautstring/version.h"
#include "text.h"

namespace tautstring::cli {
namespace {

/// If a standard stream is closed, the next file opened gets its number and would receive our
/// messages. Standard output is reopened for reading, so that writing to it still fails.
void occupy_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) == -1) {
      [[maybe_unused]] const int file =
          open("/dev/null", stream == STDERR_FILENO ? O_WRONLY : O_RDONLY);
    }
  }
}

ExitCode tell_wrong_usage(const CLI::App& app, const CLI::ParseError& error) {
  const auto commands = app.get_subcommands();
  const std::string command = commands.empty() ? "" : commands.front()->get_name() + " ";
  const std::vector<std::string> unknown = app.remaining();
  print_error(commands.empty() && !unknown.empty()
                  ? "'" + excerpt(unknown.front()) + "' is not a subcommand"
                  : printable(error.what()));
  write_stderr("Run 'tautstring " + command + "--help' for usage.\n");
  return ExitCode::usage;
}

/// For the program that reads standard output; errors are ignored, as it may be gone.
void tell_as_json(const std::string& command, const std::string& error) {
  try {
    write_stdout(json_text({{"command", command}, {"error", error}}));
  } catch (const Failure&) {
    return;
  }
}

ExitCode run_command(const CLI::App& command, const Action& action) {
  try {
    return action();
  } catch (const Failure& failure) {
    if (command.count("--json") > 0) tell_as_json(command.get_name(), failure.what());
    throw;
  }
}

ExitCode parse_and_run(int argc, const char* const* argv) {
  CLI::App app("Exact total variation smoothing and sharpening of images and signals.",
               "tautstring");
  app.set_version_flag("--version", std::string("tautstring ") + capabilities().version,
                       "Print the version and exit");
  app.footer(kExitCodeHelp);
  app.require_subcommand(1);
  Action chosen;
  add_smooth_and_sharpen(app, chosen);
  add_signal(app, chosen);
  add_compare(app, chosen);
  add_info(app, chosen);
  add_completion(app, chosen);
  add_manual(app, chosen);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    write_stdout(app.help());
    return ExitCode::done;
  } catch (const CLI::CallForVersion& version) {
    write_stdout(std::string(version.what()) + "\n");
    return ExitCode::done;
  } catch (const CLI::ParseError& error) {
    return tell_wrong_usage(app, error);
  }
  return run_command(*app.get_subcommands().front(), chosen);
}

}  // namespace

ExitCode run(int argc, const char* const* argv) noexcept {
  try {
    occupy_standard_streams();
    std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is an ordinary failed write
    std::signal(SIGXFSZ, SIG_IGN);  // and so is a file that reached its size limit
    return parse_and_run(argc, argv);
  } catch (const Failure& failure) {
    print_error(failure.what());
    return failure.code();
  } catch (const std::bad_alloc&) {
    print_error("not enough memory");
  } catch (const std::exception& error) {
    print_error(error.what());
  } catch (...) {
    print_error("something went wrong");
  }
  return ExitCode::unexpected;
}

}  // namespace tautstring::cli
