// Measures a case: forward and backward, in each of its dtypes.
#pragma once

#include <functional>
#include <string>

#include "cases.h"
#include "device.h"
#include "measure.h"

namespace bench {

struct Settings {
  int repeats = 50;
  std::function<bool(const std::string& name)> is_wanted;
  std::function<void(const Result&)> report;  // called once for each wanted name
};

void run_case(const Case& c, const Stream& stream, const Settings& settings);

}  // namespace bench
