// Benchmarks of our forward solver.
#pragma once

#include <string>

#include "forward_case.h"

namespace bench {

/// Registers the case for each dtype and number of threads it asks for, under this name.
void add_ours(const ForwardCase& c, const std::string& who = "ours");

}  // namespace bench
