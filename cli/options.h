// Options that several subcommands share, each defined once. Every value is
// checked while the command line is read, so a wrong one is told before any
// work starts: which option, what was given, what is allowed.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>

#include "exit_code.h"
#include "file_format.h"
#include "image_tv.h"
#include "output.h"
#include "progress.h"

namespace tautstring::cli {

/// What the command line asks for, ready to run.
using Action = std::function<ExitCode()>;

/// How results are told.
struct ReportOptions {
  bool json = false;
  bool quiet = false;

  [[nodiscard]] Verbosity verbosity() const { return quiet ? Verbosity::quiet : Verbosity::normal; }
};

/// Where a result goes.
struct OutputOptions {
  std::string path = "-";
  const FileFormat* format = nullptr;  // null: the name tells it
  bool force = false;

  [[nodiscard]] Overwrite overwrite() const { return force ? Overwrite::yes : Overwrite::no; }
};

/// What smooth, sharpen and compare have in common.
struct ImageOptions {
  std::string input;
  OutputOptions output;
  ImageTask task;
  int threads = 0;  // 0: all
  int quality = 95;
  ReportOptions report;
};

CLI::Option* add_lam(CLI::App& command, double& lam, const std::string& unit);
void add_mode(CLI::App& command, Mode& mode);
void add_dim(CLI::App& command, std::optional<int>& dim, const std::string& description);
void add_threads(CLI::App& command, int& threads);
void add_report(CLI::App& command, ReportOptions& report);

/// OUTPUT's --format and --force.
void add_output(CLI::App& command, OutputOptions& output, FormatTable formats,
                const std::string& format_description);

/// Everything in ImageOptions but the two names and the mode.
void add_image_options(CLI::App& command, ImageOptions& options);

/// Throws CLI::ValidationError where options were given that do not go together.
void check_image_options(const CLI::App& command, const ImageOptions& options);

/// The names as they are typed, for reports.
[[nodiscard]] std::string name_of(Direction direction);
[[nodiscard]] std::string name_of(Mode mode);
[[nodiscard]] std::string name_of(Method2d method);

}  // namespace tautstring::cli
