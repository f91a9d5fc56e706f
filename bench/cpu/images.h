// Benchmarks of whole images: how long our 2D solver takes to reach a result as good as a peer's.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "image_data.h"
#include "peers.h"

namespace bench {

/// What is reported about a case besides its times.
using CaseNote = std::pair<std::string, std::string>;

/// Registers, for every image, lambda and peer, the peer with its default number of iterations, and
/// ours with the fewest iterations that come as near to the solution. Only benchmarks whose name is
/// `wanted`. Returns what each peer reached.
[[nodiscard]] std::vector<CaseNote> add_images(
    const std::vector<GreyImage>& images, const Peers& peers,
    const std::function<bool(const std::string&)>& wanted);

}  // namespace bench
