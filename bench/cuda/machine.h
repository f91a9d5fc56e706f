// The description of the machine and the build in the results.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace bench {

/// Names and values in the order of the report. Call it after a run, so that the clocks are those
/// under load.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> about_this_run();

}  // namespace bench
