// Finds the fastest peers of a case, by a short trial of each that also checks its result.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "forward_case.h"
#include "peers.h"

namespace bench {

/// Registers the fastest peers of a case (all that come near the best), among the solvers whose
/// benchmark name is `wanted`. Returns a line with every solver's time, in ns per element, or what
/// is wrong with it; empty if no solver took part.
std::string add_fastest_peers(const ForwardCase& c, const Peers& peers,
                              const std::function<bool(const std::string&)>& wanted);

/// Registers the time of an empty call for rows of each length that peers solve.
void add_empty_calls(const std::vector<ForwardCase>& cases);

}  // namespace bench
