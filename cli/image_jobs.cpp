// Listing folders and naming outputs.
#include "image_jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

#include "errors.h"
#include "image_io.h"
#include "input.h"
#include "text.h"

namespace tautline::cli {
namespace {

namespace fs = std::filesystem;

bool is_folder(const fs::path& path) {
  std::error_code ignored;  // what cannot be looked at is told when it is opened
  return fs::is_directory(path, ignored);
}

bool is_same(const fs::path& a, const fs::path& b) {
  std::error_code ignored;
  return fs::equivalent(a, b, ignored);
}

bool is_image(const fs::directory_entry& entry) {
  std::error_code ignored;
  return format_of_path(image_formats(), entry.path()) != nullptr && !entry.is_directory(ignored);
}

/// Images below `folder`, relative to it. `skipped` is not entered: results
/// that lie inside the input folder are not inputs the next time.
std::vector<fs::path> find_images(const fs::path& folder, const fs::path& skipped, bool recursive) {
  std::vector<fs::path> images;
  try {
    for (auto at = fs::recursive_directory_iterator(folder);
         at != fs::recursive_directory_iterator(); ++at) {
      if (at->is_directory() && (!recursive || is_same(at->path(), skipped))) {
        at.disable_recursion_pending();
      }
      if (is_image(*at)) images.push_back(at->path().lexically_relative(folder));
    }
  } catch (const fs::filesystem_error& error) {
    const fs::path& where = error.path1().empty() ? folder : error.path1();
    throw Failure(ExitCode::input, fmt::format("cannot read '{}': {}", printable(where.string()),
                                               error.code().message()));
  }
  std::sort(images.begin(), images.end());
  return images;
}

/// The name of a result below a folder.
fs::path mirrored(const fs::path& image, const FileFormat* format) {
  if (format == nullptr || format_of_path(image_formats(), image) == format) return image;
  return fs::path(image).replace_extension(format->extensions[0]);
}

const FileFormat& format_for(const fs::path& output, const OutputOptions& options) {
  return output_format(image_formats(), output.string(), options.format, image_formats()[0]);
}

ImageJobs folder_jobs(const fs::path& input, const OutputOptions& output, bool recursive) {
  if (output.path == kStandardStream) {
    throw Failure(ExitCode::usage, "a folder cannot be written to standard output");
  }
  const fs::path target(output.path);
  if (fs::exists(target) && !is_folder(target)) {
    throw Failure(ExitCode::output,
                  fmt::format("'{}' is not a folder, but the input is", printable(output.path)));
  }
  ImageJobs result{.is_folder = true, .jobs = {}};
  std::set<fs::path> taken;
  for (const fs::path& image : find_images(input, target, recursive)) {
    const fs::path name = mirrored(image, output.format);
    ImageJob job{(input / image).string(), (target / name).string(), nullptr, ""};
    job.format = &format_for(job.output, output);
    if (!taken.insert(name).second) {
      job.error = fmt::format("'{}' is the output of another file already", printable(job.output));
    }
    result.jobs.push_back(std::move(job));
  }
  if (result.jobs.empty()) {
    throw Failure(ExitCode::input,
                  fmt::format("there are no images ({}) in '{}'{}", names_of(image_formats()),
                              printable(input.string()),
                              recursive ? "" : "; use --recursive to look into its folders"));
  }
  return result;
}

ImageJobs file_jobs(const std::string& input, const OutputOptions& output) {
  fs::path target(output.path);
  if (output.path != kStandardStream && (output.path.ends_with('/') || is_folder(target))) {
    if (input == kStandardStream) {
      throw Failure(ExitCode::usage, fmt::format("'{}' is a folder: give the output a file name",
                                                 printable(output.path)));
    }
    target /= mirrored(fs::path(input).filename(), output.format);
  }
  return {.is_folder = false, .jobs = {{input, target.string(), &format_for(target, output), ""}}};
}

}  // namespace

ImageJobs list_image_jobs(const std::string& input, const OutputOptions& output, bool recursive) {
  if (input != kStandardStream && is_folder(input)) return folder_jobs(input, output, recursive);
  return file_jobs(input, output);
}

}  // namespace tautline::cli
