// Which images are read and where the results are written.
#pragma once

#include <string>
#include <vector>

#include "options.h"

namespace tautstring::cli {

/// One image to process. `error` says why it cannot be processed at all.
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

/// The result of a file is a file, that of a folder a folder of the same structure. The result of a
/// file may also be written into a folder, under the input's name. Throws Failure.
[[nodiscard]] ImageJobs list_image_jobs(const std::string& input, const OutputOptions& output,
                                        bool recursive);

}  // namespace tautstring::cli
