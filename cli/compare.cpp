// tautstring compare: one picture with the image before and after, side by side.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>

#include "commands.h"
#include "image_io.h"
#include "image_report.h"
#include "image_tv.h"
#include "input.h"
#include "report.h"

namespace tautstring::cli {
namespace {

constexpr int kGap = 8;  // pixels of white between the two

/// before | gap | after, row by row.
Image side_by_side(const Image& before, const Image& after) {
  Image both;
  both.width = 2 * before.width + kGap;
  both.height = before.height;
  both.bands = before.bands;
  both.bits = before.bits;
  both.header = before.header;
  const auto row_size =
      static_cast<std::size_t>(before.width) * static_cast<std::size_t>(before.bands);
  const auto gap_size = static_cast<std::size_t>(kGap) * static_cast<std::size_t>(before.bands);
  both.pixels.reserve((2 * row_size + gap_size) * static_cast<std::size_t>(before.height));
  for (std::size_t start = 0; start < before.pixels.size(); start += row_size) {
    const auto append_row = [&](const Image& image) {
      const auto row = image.pixels.begin() + static_cast<std::ptrdiff_t>(start);
      both.pixels.insert(both.pixels.end(), row, row + static_cast<std::ptrdiff_t>(row_size));
    };
    append_row(before);
    both.pixels.insert(both.pixels.end(), gap_size, before.full_scale());
    append_row(after);
  }
  return both;
}

struct Measured {
  double rows = 0;
  double cols = 0;
};

Measured measure(const Image& image, Executor& executor) {
  return {total_variation(image, Axis::rows, executor),
          total_variation(image, Axis::cols, executor)};
}

Json json_of(const Measured& measured) {
  return {{"rows", measured.rows}, {"cols", measured.cols}};
}

void report(const ImageOptions& options, const std::optional<Convergence>& convergence,
            const Measured& before, const Measured& after) {
  if (options.report.json) {
    Json json = {{"command", "compare"}, {"mode", name_of(options.task.mode)}};
    add_task(json, options.task);
    json["input"] = options.input;
    json["output"] = options.output.path;
    add_convergence(json, convergence);
    json["total_variation"] = {{"before", json_of(before)}, {"after", json_of(after)}};
    write_report(json_text(json), options.output.path);
  } else if (!options.report.quiet) {
    const std::string solved = convergence ? words_of(*convergence) + "\n" : "";
    write_report(fmt::format("{}total variation along rows:    {:.6g} -> {:.6g}\n"
                             "total variation along columns: {:.6g} -> {:.6g}\n",
                             solved, before.rows, after.rows, before.cols, after.cols),
                 options.output.path);
  }
}

ExitCode run_compare(const ImageOptions& options) {
  const std::string& output = options.output.path;
  const FileFormat& format =
      output_format(image_formats(), output, options.output.format, image_formats()[0]);
  check_output(output, options.output.overwrite());
  const ImageLibrary library;
  ThreadExecutor executor(options.threads);
  Progress progress(1, options.report.verbosity());
  Notes notes;
  const Image before = load_image(options.input, notes);
  Image after = before;
  const std::optional<Convergence> convergence = apply(options.task, after, executor);
  note_early_stop(options.task, convergence, notes);
  const auto bytes = encode_image(side_by_side(before, after), format, options.quality, notes);
  write_output(output, bytes, options.output.overwrite(), Content::binary);
  for (const std::string& note : notes) {
    progress.note(fmt::format("{}: {}", input_name(options.input), note));
  }
  report(options, convergence, measure(before, executor), measure(after, executor));
  return ExitCode::done;
}

}  // namespace

void add_compare(CLI::App& app, Action& chosen) {
  const auto options = std::make_shared<ImageOptions>();
  CLI::App* const command =
      app.add_subcommand("compare", "Write one picture, before | after, and report the difference");
  command->add_option("INPUT", options->input, std::string("Image, or ") + kStandardInputHelp)
      ->required();
  command->add_option("OUTPUT", options->output.path, "Image, or - for standard output")
      ->required();
  add_mode(*command, options->task.mode);
  add_image_options(*command, *options);
  command->callback([options, command, &chosen] {
    check_image_options(*command, *options);
    chosen = [options] { return run_compare(*options); };
  });
}

}  // namespace tautstring::cli
