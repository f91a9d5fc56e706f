// Numbers as shown in the names of benchmarks and in their errors: 0.05, 1, 2000.
#pragma once

#include <sstream>
#include <string>

namespace bench {

[[nodiscard]] inline std::string short_number(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

}  // namespace bench
