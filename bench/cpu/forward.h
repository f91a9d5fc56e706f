// Benchmarks of our forward solver.
#pragma once

#include "forward_case.h"

namespace bench {

/// Registers the case for each dtype and number of threads it asks for.
void add_ours(const ForwardCase& c);

}  // namespace bench
