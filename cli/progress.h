// Output to standard error while a command works: messages, and a progress bar if standard error is
// a terminal.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace tautstring::cli {

enum class Verbosity { normal, quiet };

/// Errors are ignored: if standard error is closed, there is nowhere to report them.
void write_stderr(std::string_view text);

void print_error(std::string_view message);

class Progress {
 public:
  /// No bar is drawn for fewer than two files.
  Progress(std::size_t files, Verbosity verbosity);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

  /// Starts the work on file number `index` (from 0).
  void start(std::size_t index, std::string_view name);

  /// Removes the bar.
  void finish() { erase(); }

  /// Messages are printed above the bar. Notes are omitted with --quiet, errors never.
  void note(std::string_view message);
  void error(std::string_view message);

 private:
  using Clock = std::chrono::steady_clock;

  void draw(std::size_t index, std::string_view name);
  void erase();

  std::size_t files_;
  Verbosity verbosity_;
  bool has_bar_;
  bool is_drawn_ = false;
  Clock::time_point started_ = Clock::now();
  Clock::time_point last_drawn_ = {};
};

/// The text of the bar, at most `width` characters. `seconds` have passed and
/// `index` of `files` files are done.
[[nodiscard]] std::string progress_line(std::size_t index, std::size_t files, double seconds,
                                        std::string_view name, std::size_t width);

}  // namespace tautstring::cli
