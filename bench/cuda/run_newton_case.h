// Measures Newton on a case, with either line search, in each of its dtypes.
#pragma once

#include "cases.h"
#include "device.h"
#include "measure.h"

namespace bench {

void run_newton_case(const Case& c, const Stream& stream, const Settings& settings);

}  // namespace bench
