// Benchmarks of the backward, beside a plain copy of the same bytes.
#pragma once

namespace bench {

void add_backward();

}  // namespace bench
