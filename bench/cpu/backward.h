// Benchmarks of the backward, compared with a plain copy of the same bytes.
#pragma once

namespace bench {

void add_backward();

}  // namespace bench
