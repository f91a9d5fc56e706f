// The description of the machine in the results.
#pragma once

#include <string>

namespace bench {

[[nodiscard]] std::string cpu_model();

/// The CPU's vector extensions.
[[nodiscard]] std::string vector_flags();

}  // namespace bench
