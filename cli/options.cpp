// Definition and checking of the shared options.
#include "options.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "text.h"

namespace tautstring::cli {
namespace {

constexpr int kMostThreads = 1024;
constexpr int kMostIterations = 1'000'000;

template <class Value>
using Choice = std::pair<std::string_view, Value>;

constexpr std::array<Choice<Direction>, 3> kDirections = {
    {{"2d", Direction::image}, {"row", Direction::row}, {"col", Direction::col}}};
constexpr std::array<Choice<Method2d>, 2> kMethods = {
    {{"accelerated", Method2d::accelerated}, {"dykstra", Method2d::dykstra}}};
constexpr std::array<Choice<Mode>, 2> kModes = {{{"smooth", Mode::smooth}, {"sharp", Mode::sharp}}};

/// Adds an option. `parse` converts its text to a value, or returns nothing if the text is not
/// `allowed`.
template <class Value, class Parse>
CLI::Option* add_parsed(CLI::App& command, const std::string& name, Value& value,
                        const std::string& type, const std::string& description,
                        const std::string& allowed, Parse parse) {
  const auto store = [&value, name, allowed, parse](const std::string& text) {
    const auto parsed = parse(text);
    if (!parsed) {
      throw CLI::ValidationError(name, fmt::format("must be {}, got '{}'", allowed, excerpt(text)));
    }
    value = *parsed;
  };
  return command.add_option_function<std::string>(name, store, description)->type_name(type);
}

CLI::Option* add_whole_number(CLI::App& command, const std::string& name, int& value, int lowest,
                              int highest, const std::string& description) {
  return add_parsed(command, name, value, "N", description,
                    fmt::format("a whole number from {} to {}", lowest, highest),
                    [lowest, highest](const std::string& text) {
                      std::optional<int> number = parse_integer(text);
                      if (number && (*number < lowest || *number > highest)) number.reset();
                      return number;
                    });
}

template <class Choices>
auto name_in(const Choices& choices, decltype(choices[0].second) value) {
  for (const auto& [name, candidate] : choices) {
    if (candidate == value) return std::string(name);
  }
  return std::string("?");
}

template <class Value, class Choices>
void add_choice(CLI::App& command, const std::string& name, Value& value, const Choices& choices,
                const std::string& description) {
  std::string names;
  for (const auto& choice : choices) {
    names += (names.empty() ? "" : "|") + std::string(choice.first);
  }
  add_parsed(command, name, value, names, description, "one of " + names,
             [&choices](const std::string& text) {
               std::optional<Value> found;
               for (const auto& choice : choices) {
                 if (choice.first == text) found = choice.second;
               }
               return found;
             })
      ->default_str(name_in(choices, value));
}

std::optional<double> parse_lam(const std::string& text) {
  std::optional<double> lam = parse_number(text);
  if (lam && !(*lam >= 0)) lam.reset();  // also NaN
  return lam;
}

std::optional<double> parse_tol(const std::string& text) {
  std::optional<double> tol = parse_number(text);
  if (tol && !(*tol >= 0 && std::isfinite(*tol))) tol.reset();
  return tol;
}

constexpr const char* kMethod = "--method";
constexpr const char* kIterations = "--iterations";
constexpr const char* kTol = "--tol";

/// The options of the solver of whole images.
void add_solver(CLI::App& command, Solver2d& solver) {
  add_choice(command, kMethod, solver.method, kMethods,
             "Iterative method of 2d: with momentum, or the paper's Algorithm 1 without");
  add_whole_number(command, kIterations, solver.iterations, 1, kMostIterations,
                   "Maximum number of 2d iterations over rows and columns")
      ->default_str(fmt::format("{}", solver.iterations));
  add_parsed(command, kTol, solver.tol, "NUMBER",
             "2d stops when the duality gap is at most this fraction of the objective; 0: do all "
             "--iterations",
             "a number >= 0", parse_tol)
      ->default_str(fmt::format("{}", solver.tol));
}

}  // namespace

CLI::Option* add_lam(CLI::App& command, double& lam, const std::string& unit) {
  return add_parsed(command, "--lam", lam, "NUMBER",
                    "Strength: a number >= 0 or inf, in units of " + unit, "a number >= 0 or inf",
                    parse_lam);
}

void add_mode(CLI::App& command, Mode& mode) {
  add_choice(command, "--mode", mode, kModes, "Smooth, or sharpen: x + (x - smooth(x))");
}

void add_dim(CLI::App& command, std::optional<int>& dim, const std::string& description) {
  add_parsed(command, "--dim", dim, "D", description, "a whole number",
             [](const std::string& text) { return parse_integer(text); });
}

void add_threads(CLI::App& command, int& threads) {
  add_whole_number(command, "--threads", threads, 1, kMostThreads,
                   "Number of threads (default: all)");
}

void add_report(CLI::App& command, ReportOptions& report) {
  command.add_flag("--json", report.json, "Report as one JSON object");
  command.add_flag("--quiet", report.quiet, "Print only errors");
}

void add_output(CLI::App& command, OutputOptions& output, FormatTable formats,
                const std::string& format_description) {
  std::string names;
  for (const FileFormat& format : formats) {
    names += (names.empty() ? "" : "|") + std::string(format.name);
  }
  add_parsed(command, "--format", output.format, names, format_description, names_of(formats),
             [formats](const std::string& text) {
               const FileFormat* const found = format_of_name(formats, text);
               return found != nullptr ? std::optional(found) : std::nullopt;
             });
  command.add_flag("--force", output.force, "Overwrite files that exist");
}

void add_image_options(CLI::App& command, ImageOptions& options) {
  add_lam(command, options.task.lam, "the full range of the pixel type")
      ->default_str(fmt::format("{}", options.task.lam));
  add_choice(command, "--direction", options.task.direction, kDirections,
             "The whole image, or each row or each column on its own");
  add_solver(command, options.task.solver);
  add_output(command, options.output, image_formats(), "Format if not given by a file extension");
  add_whole_number(command, "--quality", options.quality, 1, 100,
                   "Quality of JPEG and WebP; WebP with 100 is lossless")
      ->default_str(fmt::format("{}", options.quality));
  add_threads(command, options.threads);
  add_report(command, options.report);
}

void check_image_options(const CLI::App& command, const ImageOptions& options) {
  if (options.task.direction == Direction::image) return;
  for (const char* const name : {kMethod, kIterations, kTol}) {
    const CLI::Option& option = *command.get_option(name);
    if (option.count() == 0) continue;
    throw CLI::ValidationError(
        name, fmt::format("only for --direction 2d, got '{}' with --direction {}",
                          excerpt(option.results().back()), name_of(options.task.direction)));
  }
}

std::string name_of(Direction direction) {
  return name_in(kDirections, direction);
}

std::string name_of(Mode mode) {
  return name_in(kModes, mode);
}

std::string name_of(Method2d method) {
  return name_in(kMethods, method);
}

}  // namespace tautstring::cli
