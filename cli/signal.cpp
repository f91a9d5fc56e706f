// tautstring signal: smoothing, sharpening and change points of 1D signals.
#include <fmt/format.h>

#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "commands.h"
#include "errors.h"
#include "input.h"
#include "report.h"
#include "signal_io.h"
#include "tautstring/error.h"
#include "tautstring/tautstring.h"

namespace tautstring::cli {
namespace {

struct SignalOptions {
  std::string input;
  OutputOptions output;
  double lam = 0;
  Mode mode = Mode::smooth;
  std::optional<int> dim;
  std::string weights;
  bool segments = false;
  int threads = 0;
  ReportOptions report;
};

/// The dimension of the signals, counted from the first.
int resolve_dim(const SignalOptions& options, const Signal& signal) {
  const int ndim = static_cast<int>(signal.samples.shape.size());
  const int dim = options.dim.value_or(signal.default_dim());
  const int lowest = ndim == 0 ? -1 : -ndim;
  const int highest = ndim == 0 ? 0 : ndim - 1;
  if (dim < lowest || dim > highest) {
    throw Failure(ExitCode::usage,
                  fmt::format("--dim: must be from {} to {} for shape {}, got {}", lowest, highest,
                              tuple_text(signal.samples.shape), dim));
  }
  return dim < 0 ? dim - lowest : dim;
}

/// The rows of a solution and their constant segments.
struct Solution {
  std::vector<std::uint32_t> partition;
  std::int64_t rows = 0;
  std::int64_t length = 0;
};

Solution solve_in_place(const SignalOptions& options, int dim, Signal& signal) {
  const View samples = view_of(signal.samples);
  Problem1d problem = {.x = samples, .lam = options.lam, .dim = dim, .mode = options.mode};
  std::vector<double> weights;
  if (signal.missing_count > 0 || !options.weights.empty()) {
    weights = sample_weights(signal, dim, options.weights);
    problem.weight = view_like(signal.samples, weights.data());
  }
  Solution solution;
  solution.rows = row_count(samples, dim);
  solution.length = row_length(samples, dim);
  if (options.segments) {
    solution.partition.resize(
        static_cast<std::size_t>(solution.rows * partition_words(solution.length)));
  }
  ThreadExecutor executor(options.threads);
  check(prox_tv1d(problem, samples, solution.partition, {.executor = &executor}));
  return solution;
}

struct SegmentList {
  std::vector<std::int64_t> offsets;
  std::vector<Segment> segments;
};

SegmentList list_segments(const Signal& signal, const Solution& solution, int dim) {
  SegmentList list;
  list.offsets.resize(static_cast<std::size_t>(solution.rows) + 1);
  check(segments1d_offsets(solution.partition, solution.rows, solution.length, list.offsets));
  list.segments.resize(static_cast<std::size_t>(list.offsets.back()));
  check(segments1d(view_of(signal.samples), solution.partition, list.segments, dim));
  return list;
}

/// Calls visit(row, segment) for each segment in order.
template <class Visit>
void for_each_segment(const SegmentList& list, Visit visit) {
  for (std::size_t row = 0; row + 1 < list.offsets.size(); ++row) {
    for (std::int64_t i = list.offsets[row]; i < list.offsets[row + 1]; ++i) {
      visit(row, list.segments[static_cast<std::size_t>(i)]);
    }
  }
}

std::string segments_csv(const SegmentList& list) {
  std::string text = "row,start,length,value,sign\n";
  for_each_segment(list, [&](std::size_t row, const Segment& segment) {
    fmt::format_to(std::back_inserter(text), "{},{},{},{},{}\n", row, segment.start, segment.length,
                   segment.value, segment.sign);
  });
  return text;
}

std::string segments_json(const SegmentList& list) {
  Json segments = Json::array();
  for_each_segment(list, [&](std::size_t row, const Segment& segment) {
    segments.push_back({{"row", row},
                        {"start", segment.start},
                        {"length", segment.length},
                        {"value", segment.value},
                        {"sign", segment.sign}});
  });
  return json_text({{"segments", segments}});
}

void write_segments(const SignalOptions& options, const SegmentList& list) {
  const std::string text = options.report.json ? segments_json(list) : segments_csv(list);
  write_output(options.output.path, std::as_bytes(std::span(text)), options.output.overwrite(),
               Content::text);
}

void write_signal(const SignalOptions& options, const Signal& signal) {
  const std::string& path = options.output.path;
  const FileFormat& format =
      output_format(signal_formats(), path, options.output.format, signal.format());
  const bool is_text = &format == format_of_name(signal_formats(), "csv");
  write_output(path, encode_signal(signal, format, path), options.output.overwrite(),
               is_text ? Content::text : Content::binary);
}

void report(const SignalOptions& options, const Signal& signal, int dim, double seconds) {
  const std::string& path = options.output.path;
  if (options.report.json) {
    write_report(json_text({{"command", "signal"},
                            {"mode", name_of(options.mode)},
                            {"lam", json_number(options.lam)},
                            {"input", options.input},
                            {"output", path},
                            {"shape", signal.samples.shape},
                            {"dtype", name_of(signal.samples.dtype)},
                            {"dim", dim},
                            {"missing", signal.missing_count},
                            {"seconds", seconds}}),
                 path);
  } else if (!options.report.quiet) {
    write_report(fmt::format("{}: shape {}, {}, along dim {}, {} missing, {:.3f} s\n",
                             output_name(path), tuple_text(signal.samples.shape),
                             name_of(signal.samples.dtype), dim, signal.missing_count, seconds),
                 path);
  }
}

ExitCode run_signal(const SignalOptions& options) {
  const Stopwatch watch;
  if (options.segments && options.mode != Mode::smooth) {
    throw Failure(ExitCode::usage, "--segments: only a smoothed signal has segments");
  }
  const FileFormat* const npy = format_of_name(signal_formats(), "npy");
  if (options.segments && (options.output.format == npy ||
                           format_of_path(signal_formats(), options.output.path) == npy)) {
    throw Failure(ExitCode::usage, "--segments: npy cannot store a list of segments");
  }
  if (!options.segments && options.output.path != kStandardStream) {
    // Reports an unknown extension before the work starts.
    static_cast<void>(output_format(signal_formats(), options.output.path, options.output.format,
                                    signal_formats()[0]));
  }
  check_output(options.output.path, options.output.overwrite());
  Signal signal = load_signal(options.input);
  const int dim = resolve_dim(options, signal);
  const Solution solution = solve_in_place(options, dim, signal);
  if (options.segments) {
    write_segments(options, list_segments(signal, solution, dim));
    return ExitCode::done;
  }
  write_signal(options, signal);
  report(options, signal, dim, watch.seconds());
  return ExitCode::done;
}

}  // namespace

void add_signal(CLI::App& app, Action& chosen) {
  const auto options = std::make_shared<SignalOptions>();
  CLI::App* const command =
      app.add_subcommand("signal", "Smooth or sharpen signals, or list their change points");
  command
      ->add_option("INPUT", options->input,
                   std::string("npy or csv file, or ") + kStandardInputHelp)
      ->required();
  command->add_option("OUTPUT", options->output.path, "npy or csv file, or - for standard output")
      ->default_str(kStandardStream);
  add_lam(*command, options->lam, "the samples")->required();
  add_mode(*command, options->mode);
  add_dim(*command, options->dim, "Dimension of the signals (default: -1 for npy, 0 for csv)");
  command->add_option("--weights", options->weights, "npy or csv file with one weight per sample")
      ->type_name("FILE");
  command->add_flag("--segments", options->segments,
                    "Write the constant segments (row, start, length, value, sign) as CSV, or "
                    "with --json as JSON, instead of the signal");
  add_output(*command, options->output, signal_formats(),
             "Format if not given by a file extension");
  add_threads(*command, options->threads);
  add_report(*command, options->report);
  command->callback([options, &chosen] { chosen = [options] { return run_signal(*options); }; });
}

}  // namespace tautstring::cli
