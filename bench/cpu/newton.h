// The Newton solver beside the direct one and beside prox_tv's projected Newton.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "peers.h"

namespace bench {

/// Registers all of it, as far as `wanted`; says of each case what the peer's trial showed.
[[nodiscard]] std::map<std::string, std::string> add_newton(
    const Peers& peers, const std::function<bool(const std::string&)>& wanted);

}  // namespace bench
