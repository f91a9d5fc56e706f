// Drawing the progress bar, at most ten times a second.
#include "progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "text.h"

namespace tautstring::cli {
namespace {

constexpr std::chrono::milliseconds kRedrawInterval(100);

void print_message(std::string_view kind, std::string_view message) {
  write_stderr(fmt::format("tautstring: {}: {}\n", kind, message));
}

std::size_t terminal_width() {
  winsize size = {};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

std::string duration_text(double seconds) {
  const long whole = std::lround(seconds);
  if (whole >= 3600) return fmt::format("{}h{:02}m", whole / 3600, whole / 60 % 60);
  if (whole >= 60) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  return fmt::format("{}s", whole);
}

}  // namespace

void write_stderr(std::string_view text) {
  [[maybe_unused]] const ssize_t ignored = write(STDERR_FILENO, text.data(), text.size());
}

void print_error(std::string_view message) {
  print_message("error", message);
}

Progress::Progress(std::size_t files, Verbosity verbosity)
    : files_(files),
      verbosity_(verbosity),
      has_bar_(files > 1 && verbosity == Verbosity::normal && isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() {
  erase();
}

void Progress::start(std::size_t index, std::string_view name) {
  if (!has_bar_) return;
  const Clock::time_point now = Clock::now();
  if (is_drawn_ && now - last_drawn_ < kRedrawInterval) return;
  last_drawn_ = now;
  draw(index, name);
}

void Progress::note(std::string_view message) {
  if (verbosity_ == Verbosity::quiet) return;
  erase();
  print_message("note", message);
}

void Progress::error(std::string_view message) {
  erase();
  print_error(message);
}

void Progress::draw(std::size_t index, std::string_view name) {
  const double seconds = std::chrono::duration<double>(Clock::now() - started_).count();
  // Leaves the last column free: some terminals wrap as soon as it is written.
  const std::size_t width = terminal_width() - 1;
  write_stderr("\r\x1b[K" + progress_line(index, files_, seconds, name, width));
  is_drawn_ = true;
}

void Progress::erase() {
  if (!is_drawn_) return;
  write_stderr("\r\x1b[K");
  is_drawn_ = false;
}

std::string progress_line(std::size_t index, std::size_t files, double seconds,
                          std::string_view name, std::size_t width) {
  constexpr std::size_t bar_width = 24;
  const std::size_t filled = files == 0 ? 0 : bar_width * index / files;
  std::string line =
      fmt::format("[{:#<{}}{:.<{}}] {}/{}", "", filled, "", bar_width - filled, index + 1, files);
  if (index > 0) {
    const double rest = seconds / static_cast<double>(index) * static_cast<double>(files - index);
    line += fmt::format("  ETA {}", duration_text(rest));
  }
  line += "  " + printable(name);
  return line.substr(0, std::min(width, line.size()));
}

}  // namespace tautstring::cli
