// Measures a case: forward and backward, in each of its dtypes.
#pragma once

#include "cases.h"
#include "device.h"
#include "measure.h"

namespace bench {

void run_case(const Case& c, const Stream& stream, const Settings& settings);

}  // namespace bench
