// Benchmarks of our forward solver.
#pragma once

#include <string>

#include "forward_case.h"

namespace bench {

/// Registers the case under this name, for each of its dtypes and numbers of threads.
void add_ours(const ForwardCase& c, const std::string& who = "ours");

}  // namespace bench
