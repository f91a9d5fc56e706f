// The Newton solver, compared with the direct one and with prox_tv's projected Newton.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "peers.h"

namespace bench {

/// Registers all benchmarks whose name is `wanted`. Returns the peer's trial for each case.
[[nodiscard]] std::map<std::string, std::string> add_newton(
    const Peers& peers, const std::function<bool(const std::string&)>& wanted);

}  // namespace bench
