// Which images are read and where their results go.
#pragma once

#include <string>
#include <vector>

#include "options.h"

namespace tautstring::cli {

/// One image to work on. `error` tells why it cannot be started at all.
struct ImageJob {
  std::string input;
  std::string output;
  const FileFormat* format = nullptr;
  std::string error;
};

struct ImageJobs {
  bool is_folder = false;
  std::vector<ImageJob> jobs;  // sorted by name
};

/// A file goes to a file, a folder into a folder of the same structure. A file
/// may also go into a folder, under its own name. Throws Failure.
[[nodiscard]] ImageJobs list_image_jobs(const std::string& input, const OutputOptions& output,
                                        bool recursive);

}  // namespace tautstring::cli
