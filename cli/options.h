// Options that several subcommands share, each defined once. Every value is checked while the
// command line is read, so an invalid one is reported before any work starts: the option, the given
// value and the allowed values.
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

/// The action of the command line, ready to run.
using Action = std::function<ExitCode()>;

/// How results are reported.
struct ReportOptions {
  bool json = false;
  bool quiet = false;

  [[nodiscard]] Verbosity verbosity() const { return quiet ? Verbosity::quiet : Verbosity::normal; }
};

/// Where a result is written.
struct OutputOptions {
  std::string path = "-";
  const FileFormat* format = nullptr;  // null: given by the extension
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

/// --format and --force, for OUTPUT.
void add_output(CLI::App& command, OutputOptions& output, FormatTable formats,
                const std::string& format_description);

/// All options of ImageOptions except the two file names and the mode.
void add_image_options(CLI::App& command, ImageOptions& options);

/// Throws CLI::ValidationError if incompatible options were given.
void check_image_options(const CLI::App& command, const ImageOptions& options);

/// The names as typed on the command line, for reports.
[[nodiscard]] std::string name_of(Direction direction);
[[nodiscard]] std::string name_of(Mode mode);
[[nodiscard]] std::string name_of(Method2d method);

}  // namespace tautstring::cli
