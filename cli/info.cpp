// tautstring info: the capabilities of this build, and the content of files.
#include <algorithm>
#include <cmath>
#include <exception>
#include <memory>
#include <optional>
#include <span>

#include "commands.h"
#include "errors.h"
#include "image_io.h"
#include "image_tv.h"
#include "input.h"
#include "noise.h"
#include "npy.h"
#include "report.h"
#include "signal_io.h"
#include "tautstring/error.h"
#include "tautstring/tautstring.h"

namespace tautstring::cli {
namespace {

struct InfoOptions {
  std::vector<std::string> files;
  bool json = false;
};

Json format_names(FormatTable table) {
  Json names = Json::array();
  for (const FileFormat& format : table) names.push_back(std::string(format.name));
  return names;
}

Json build_info() {
  const Capabilities build = capabilities();
  return {{"version", build.version},
          {"compiler", build.compiler},
          {"cuda", build.cuda},
          {"cpu_target", build.cpu_target},
          {"cpu_targets", cpu_targets()},
          {"threads", ThreadExecutor().concurrency()},
          {"image_formats", format_names(image_formats())},
          {"signal_formats", format_names(signal_formats())}};
}

Json number_or_null(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

/// Lines of one pixel have no neighbours: the mean is null in JSON.
Json mean_difference(const Image& image, Axis axis, Executor& executor) {
  const double pairs = pair_count(image, axis);
  return pairs > 0 ? Json(total_variation(image, axis, executor) / pairs) : Json(nullptr);
}

Json image_info(const std::string& path, std::span<const std::byte> bytes, Executor& executor) {
  Notes notes;
  const Image image = decode_image(bytes, path, notes);
  // Alpha is excluded from the range, as from everything else.
  float lowest = image.pixels.front();
  float highest = lowest;
  for (std::size_t i = 0; i < image.pixels.size(); ++i) {
    if (i % static_cast<std::size_t>(image.bands) >= static_cast<std::size_t>(image.colour_bands()))
      continue;
    lowest = std::min(lowest, image.pixels[i]);
    highest = std::max(highest, image.pixels[i]);
  }
  const std::optional<double> noise = noise_of(image);
  Json info = {{"file", path},
               {"kind", "image"},
               {"width", image.width},
               {"height", image.height},
               {"bands", image.bands},
               {"bits", image.bits},
               {"range", {lowest, highest}},
               {"mean_difference_rows", mean_difference(image, Axis::rows, executor)},
               {"mean_difference_cols", mean_difference(image, Axis::cols, executor)},
               {"lam_max_rows", largest_lam_max(image, Axis::rows, executor)},
               {"lam_max_cols", largest_lam_max(image, Axis::cols, executor)},
               {"noise", number_or_null(noise)},
               {"lam_for_noise", noise ? Json(kLamPerNoise * *noise) : Json(nullptr)}};
  if (!notes.empty()) info["notes"] = notes;
  return info;
}

/// The largest lam_max of all signals in the file; empty if there are none.
std::optional<double> signal_lam_max(const Signal& signal, int dim, Executor& executor) {
  if (signal.samples.count() == 0) return std::nullopt;
  const ConstView samples = view_of(signal.samples);
  std::vector<double> values(static_cast<std::size_t>(row_count(samples, dim)));
  SampleArray shape_of_out;
  shape_of_out.shape = signal.samples.shape;
  if (!shape_of_out.shape.empty()) {
    shape_of_out.shape[static_cast<std::size_t>(dim < 0 ? dim + samples.ndim : dim)] = 1;
  }
  std::vector<double> weights;
  ConstView weight;
  if (signal.missing_count > 0) {
    weights = sample_weights(signal, 0, "");
    weight = view_like(signal.samples, weights.data());
  }
  check(lam_max(samples, view_like(shape_of_out, values.data()), weight, dim,
                {.executor = &executor}));
  std::optional<double> largest;
  for (const double value : values) {
    if (!std::isnan(value)) largest = std::max(largest.value_or(value), value);
  }
  return largest;
}

Json signal_info(const std::string& path, std::span<const std::byte> bytes, Executor& executor) {
  const Signal signal = decode_signal(bytes, path);
  const int dim = signal.default_dim();
  std::optional<double> lowest;
  std::optional<double> highest;
  for (std::int64_t i = 0; i < signal.samples.count(); ++i) {
    const double value = signal.samples.at(i);
    if (std::isnan(value)) continue;
    lowest = std::min(lowest.value_or(value), value);
    highest = std::max(highest.value_or(value), value);
  }
  return {{"file", path},
          {"kind", "signal"},
          {"shape", signal.samples.shape},
          {"dtype", name_of(signal.samples.dtype)},
          {"missing", signal.missing_count},
          {"range", {number_or_null(lowest), number_or_null(highest)}},
          {"dim", dim},
          {"lam_max", number_or_null(signal_lam_max(signal, dim, executor))},
          {"noise", number_or_null(noise_of(signal, dim))}};
}

/// By the extension of a file; a pipe has none, so by its bytes.
bool is_signal(const std::string& path, std::span<const std::byte> bytes) {
  if (path == kStandardStream) return has_npy_magic(bytes) || !is_image(bytes);
  return format_of_path(signal_formats(), path) != nullptr;
}

Json file_info(const std::string& path, Executor& executor) {
  const std::vector<std::byte> bytes = read_input(path);
  return is_signal(path, bytes) ? signal_info(path, bytes, executor)
                                : image_info(path, bytes, executor);
}

/// file_info, or the error: one bad file must not hide the others.
Json file_info_or_error(const std::string& path, Executor& executor, ExitCode& result) {
  try {
    return file_info(path, executor);
  } catch (const std::exception& error) {
    const Failure failure = failure_of(error, input_name(path));
    print_error(failure.what());
    result = failure.code();
    return {{"file", path}, {"error", failure.what()}};
  }
}

ExitCode run_info(const InfoOptions& options) {
  if (options.files.empty()) {
    const Json info = build_info();
    write_stdout(options.json ? json_text(info) : field_lines(info));
    return ExitCode::done;
  }
  const ImageLibrary library;
  ThreadExecutor executor;
  ExitCode result = ExitCode::done;
  Json files = Json::array();
  for (const std::string& path : options.files) {
    files.push_back(file_info_or_error(path, executor, result));
    const bool is_told = options.json || files.back().contains("error");
    if (!is_told) write_stdout(field_lines(files.back()) + "\n");
  }
  if (options.json) write_stdout(json_text({{"files", files}}));
  return result;
}

}  // namespace

void add_info(CLI::App& app, Action& chosen) {
  const auto options = std::make_shared<InfoOptions>();
  CLI::App* const command =
      app.add_subcommand("info", "Show the capabilities of this build, or what is in files");
  command->add_option("FILE", options->files,
                      std::string("Images and signal files, or ") + kStandardInputHelp);
  command->add_flag("--json", options->json, "Report as one JSON object");
  command->callback([options, &chosen] { chosen = [options] { return run_info(*options); }; });
}

}  // namespace tautstring::cli
