// Benchmarks of whole images: how long our 2D solver takes to a result as good as a peer's own.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "image_data.h"
#include "peers.h"

namespace bench {

/// What is told of a case beside its times.
using CaseNote = std::pair<std::string, std::string>;

/// Registers for every image, lambda and peer the peer, at the iterations that it makes by itself,
/// and ours at the fewest that come as near the solution; only benchmarks whose name is `wanted`.
/// Returns what each peer reached.
[[nodiscard]] std::vector<CaseNote> add_images(
    const std::vector<GreyImage>& images, const Peers& peers,
    const std::function<bool(const std::string&)>& wanted);

}  // namespace bench
