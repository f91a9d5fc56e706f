#include "machine.h"

#include <fstream>
#include <sstream>

namespace bench {
namespace {

/// The first value of a field of /proc/cpuinfo.
std::string cpuinfo(const std::string& field) {
  std::ifstream lines("/proc/cpuinfo");
  for (std::string line; std::getline(lines, line);) {
    const auto colon = line.find(": ");
    if (line.starts_with(field) && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

}  // namespace

std::string cpu_model() {
  // Virtual machines often hide the name; family and model then identify the generation.
  return cpuinfo("model name") + ", family " + cpuinfo("cpu family") + ", model " +
         cpuinfo("model\t");
}

std::string vector_flags() {
  std::istringstream flags(cpuinfo("flags"));
  std::string found;
  for (std::string flag; flags >> flag;) {
    if (!flag.starts_with("avx") && flag != "fma" && flag != "bmi2" && flag != "sse4_2") continue;
    found += (found.empty() ? "" : " ") + flag;
  }
  return found;
}

}  // namespace bench
