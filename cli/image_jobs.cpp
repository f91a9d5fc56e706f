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

namespace tautstring::cli {
namespace {

namespace fs = std::filesystem;

bool is_folder(const fs::path& path) {
  std::error_code ignored;  // errors are reported when the file is opened
  return fs::is_directory(path, ignored);
}

bool is_same(const fs::path& a, const fs::path& b) {
  std::error_code ignored;
  return fs::equivalent(a, b, ignored);
}

bool is_subfolder(const fs::directory_entry& entry) {
  std::error_code ignored;
  return entry.symlink_status(ignored).type() == fs::file_type::directory;
}

/// By the extension; not for pipes and devices. An entry that cannot be examined, such as a broken
/// link, is reported when it is opened.
bool is_image_file(const fs::directory_entry& entry) {
  if (format_of_path(image_formats(), entry.path()) == nullptr) return false;
  std::error_code ignored;
  const fs::file_type type = entry.status(ignored).type();
  return type == fs::file_type::regular || type == fs::file_type::not_found ||
         type == fs::file_type::none;
}

/// An image below a folder, with its relative path; or a folder and why it cannot be read.
struct Found {
  fs::path path;
  std::string error;
};

/// `skipped` is not entered: results inside the input folder are not inputs the next time.
std::vector<Found> find_images(const fs::path& top, const fs::path& skipped, bool recursive) {
  std::vector<Found> found;
  std::vector<fs::path> folders = {top};
  while (!folders.empty()) {
    const fs::path folder = std::move(folders.back());
    folders.pop_back();
    std::error_code error;
    for (fs::directory_iterator at(folder, error); !error && at != fs::directory_iterator();
         at.increment(error)) {
      if (is_image_file(*at)) found.push_back({at->path().lexically_relative(top), ""});
      const bool is_entered = recursive && is_subfolder(*at) && !is_same(at->path(), skipped);
      if (is_entered) folders.push_back(at->path());
    }
    if (!error) continue;
    const std::string message =
        fmt::format("cannot read '{}': {}", printable(folder.string()), error.message());
    if (folder == top) throw Failure(ExitCode::input, message);
    found.push_back({folder.lexically_relative(top), message});
  }
  std::sort(found.begin(), found.end(),
            [](const Found& a, const Found& b) { return a.path < b.path; });
  return found;
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
  std::error_code error;
  const bool exists = fs::exists(target, error);
  if (error) {
    throw Failure(ExitCode::output,
                  fmt::format("cannot write to {}: {}", printable(output.path), error.message()));
  }
  if (exists && !is_folder(target)) {
    throw Failure(ExitCode::output,
                  fmt::format("'{}' is not a folder, but the input is", printable(output.path)));
  }
  ImageJobs result{.is_folder = true, .jobs = {}};
  std::set<fs::path> taken;
  for (const Found& found : find_images(input, target, recursive)) {
    const fs::path name = found.error.empty() ? mirrored(found.path, output.format) : found.path;
    ImageJob job{(input / found.path).string(), (target / name).string(), nullptr, found.error};
    if (!job.error.empty()) {
      result.jobs.push_back(std::move(job));
      continue;
    }
    job.format = &format_for(job.output, output);
    if (!taken.insert(name).second) {
      job.error = fmt::format("'{}' is already the output of another file", printable(job.output));
    }
    result.jobs.push_back(std::move(job));
  }
  if (result.jobs.empty()) {
    throw Failure(ExitCode::input,
                  fmt::format("there are no images ({}) in '{}'{}", names_of(image_formats()),
                              printable(input.string()),
                              recursive ? "" : "; use --recursive to include its folders"));
  }
  return result;
}

ImageJobs file_jobs(const std::string& input, const OutputOptions& output) {
  fs::path target(output.path);
  if (output.path != kStandardStream && (output.path.ends_with('/') || is_folder(target))) {
    if (input == kStandardStream) {
      throw Failure(ExitCode::usage, fmt::format("'{}' is a folder: the output needs a file name",
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

}  // namespace tautstring::cli
