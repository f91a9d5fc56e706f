// tautstring smooth, tautstring sharpen: images, one by one or a folder at a time.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "commands.h"
#include "errors.h"
#include "image_io.h"
#include "image_jobs.h"
#include "image_report.h"
#include "image_tv.h"
#include "input.h"
#include "report.h"

namespace tautstring::cli {
namespace {

struct ImagesOptions : ImageOptions {
  bool recursive = false;
};

enum class Outcome { done, skipped, failed };

struct FileResult {
  Outcome outcome = Outcome::done;
  ExitCode code = ExitCode::done;
  std::string error;
  Notes notes;
  int width = 0;
  int height = 0;
  int bands = 0;
  int bits = 0;
  std::optional<Convergence> convergence;
  double seconds = 0;
};

std::string text_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::done: return "done";
    case Outcome::skipped: return "skipped";
    case Outcome::failed: return "failed";
  }
  return "?";
}

class ImageBatch {
 public:
  explicit ImageBatch(const ImagesOptions& options)
      : options_(options),
        executor_(options.threads),
        list_(list_image_jobs(options.input, options.output, options.recursive)),
        progress_(list_.jobs.size(), options.report.verbosity()) {}

  ExitCode run() {
    for (std::size_t i = 0; i < list_.jobs.size(); ++i) {
      progress_.start(i, list_.jobs[i].input);
      results_.push_back(process(list_.jobs[i]));
      tell(list_.jobs[i], results_.back());
    }
    progress_.finish();
    report();
    if (!list_.is_folder) return results_.front().code;
    return count(Outcome::failed) > 0 ? ExitCode::some_failed : ExitCode::done;
  }

 private:
  /// Never throws: one bad file must not stop the others.
  FileResult process(const ImageJob& job) {
    const Stopwatch watch;
    FileResult result;
    try {
      if (!job.error.empty()) throw Failure(ExitCode::output, job.error);
      if (list_.is_folder && !options_.output.force && would_overwrite(job.output)) {
        result.outcome = Outcome::skipped;
      } else {
        convert(job, result);
      }
    } catch (const std::exception& error) {
      const Failure failure = failure_of(error, input_name(job.input));
      result.outcome = Outcome::failed;
      result.code = failure.code();
      result.error = failure.what();
    }
    result.seconds = watch.seconds();
    return result;
  }

  void convert(const ImageJob& job, FileResult& result) {
    check_output(job.output, options_.output.overwrite());
    Image image = load_image(job.input, result.notes);
    result.width = image.width;
    result.height = image.height;
    result.bands = image.bands;
    result.bits = image.bits;
    result.convergence = apply(options_.task, image, executor_);
    note_early_stop(options_.task, result.convergence, result.notes);
    const auto bytes = encode_image(image, *job.format, options_.quality, result.notes);
    if (list_.is_folder || options_.output.path.ends_with('/')) {
      make_folders(std::filesystem::path(job.output).parent_path());
    }
    write_output(job.output, bytes, options_.output.overwrite(), Content::binary);
  }

  void tell(const ImageJob& job, const FileResult& result) {
    for (const std::string& note : result.notes) {
      progress_.note(fmt::format("{}: {}", input_name(job.input), note));
    }
    if (result.outcome == Outcome::failed) progress_.error(result.error);
  }

  void report() const {
    const std::string& output = options_.output.path;
    if (options_.report.json) {
      write_report(json_text(json_report()), output);
    } else if (!options_.report.quiet &&
               (list_.is_folder || results_.front().outcome == Outcome::done)) {
      write_report(list_.is_folder ? summary_line() : file_line(), output);
    }
  }

  [[nodiscard]] std::string file_line() const {
    const FileResult& result = results_.front();
    constexpr std::array<const char*, 4> colours = {"grey", "grey + alpha", "RGB", "RGB + alpha"};
    return fmt::format("{}: {} x {}, {}, {} bits, {}{:.3f} s\n",
                       output_name(list_.jobs.front().output), result.width, result.height,
                       colours.at(static_cast<std::size_t>(result.bands) - 1), result.bits,
                       result.convergence ? words_of(*result.convergence) + ", " : "",
                       result.seconds);
  }

  [[nodiscard]] std::string summary_line() const {
    return fmt::format("{} done, {} failed, {} skipped (the output exists), {:.1f} s\n",
                       count(Outcome::done), count(Outcome::failed), count(Outcome::skipped),
                       watch_.seconds());
  }

  [[nodiscard]] Json json_report() const {
    Json files = Json::array();
    for (std::size_t i = 0; i < results_.size(); ++i) {
      files.push_back(json_of(list_.jobs[i], results_[i]));
    }
    Json json = {{"command", options_.task.mode == Mode::smooth ? "smooth" : "sharpen"}};
    add_task(json, options_.task);
    json["files"] = files;
    json["summary"] = {{"done", count(Outcome::done)},
                       {"failed", count(Outcome::failed)},
                       {"skipped", count(Outcome::skipped)},
                       {"seconds", watch_.seconds()}};
    return json;
  }

  static Json json_of(const ImageJob& job, const FileResult& result) {
    Json json = {{"input", job.input},
                 {"output", job.output},
                 {"status", text_of(result.outcome)},
                 {"seconds", result.seconds}};
    if (result.width > 0) {
      json["width"] = result.width;
      json["height"] = result.height;
      json["bands"] = result.bands;
      json["bits"] = result.bits;
    }
    add_convergence(json, result.convergence);
    if (!result.notes.empty()) json["notes"] = result.notes;
    if (!result.error.empty()) json["error"] = result.error;
    return json;
  }

  [[nodiscard]] std::size_t count(Outcome outcome) const {
    return static_cast<std::size_t>(
        std::count_if(results_.begin(), results_.end(),
                      [&](const FileResult& result) { return result.outcome == outcome; }));
  }

  const ImagesOptions& options_;
  ThreadExecutor executor_;
  ImageJobs list_;
  Progress progress_;
  Stopwatch watch_;
  std::vector<FileResult> results_;
};

void add_command(CLI::App& app, Action& chosen, const char* name, Mode mode,
                 const std::string& description) {
  const auto options = std::make_shared<ImagesOptions>();
  options->task.mode = mode;
  CLI::App* const command = app.add_subcommand(name, description);
  command
      ->add_option("INPUT", options->input, std::string("Image, folder, or ") + kStandardInputHelp)
      ->required();
  command->add_option("OUTPUT", options->output.path, "Image, folder, or - for standard output")
      ->required();
  add_image_options(*command, *options);
  command->add_flag("-r,--recursive", options->recursive, "Include the folders inside a folder");
  command->callback([options, command, &chosen] {
    check_image_options(*command, *options);
    chosen = [options] {
      const ImageLibrary library;
      return ImageBatch(*options).run();
    };
  });
}

}  // namespace

void add_smooth_and_sharpen(CLI::App& app, Action& chosen) {
  add_command(app, chosen, "smooth", Mode::smooth, "Smooth images: flat areas, sharp edges");
  add_command(app, chosen, "sharpen", Mode::sharp, "Sharpen images: add what smoothing removes");
}

}  // namespace tautstring::cli
