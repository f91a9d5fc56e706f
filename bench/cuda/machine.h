// What the results say about the machine and the build.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace bench {

/// Names and values in the order in which the report shows them. Asked after a run, the clocks are
/// those under load.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> about_this_run();

}  // namespace bench
