#include "machine.h"

#include <cuda_runtime_api.h>
#include <tautstring/tautstring.h>

#include <array>
#include <cstdio>
#include <ctime>
#include <memory>

#include "device.h"

namespace bench {
namespace {

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S+00:00", std::gmtime(&now));
  return text.data();
}

/// 13000 is version 13.0.
std::string cuda_version(int number) {
  return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
}

/// Asks the driver's own tool about the GPU in use: CUDA does not report driver and clocks.
std::string ask_driver(const std::string& fields) {
  std::array<char, 32> bus{};
  check_cuda(cudaDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), 0));
  const std::string command = std::string("nvidia-smi --id=") + bus.data() +
                              " --query-gpu=" + fields + " --format=csv,noheader 2> /dev/null";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::array<char, 256> line{};
  if (pipe == nullptr || std::fgets(line.data(), line.size(), pipe.get()) == nullptr) {
    return "unknown";
  }
  std::string answer = line.data();
  answer.erase(answer.find_last_not_of('\n') + 1);
  return answer;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> about_this_run() {
  cudaDeviceProp gpu{};
  int driver = 0;
  int runtime = 0;
  check_cuda(cudaGetDeviceProperties(&gpu, 0));
  check_cuda(cudaDriverGetVersion(&driver));
  check_cuda(cudaRuntimeGetVersion(&runtime));
  const tautstring::Capabilities library = tautstring::capabilities();
  return {{"date", utc_now()},
          {"tautstring", library.version},
          {"compiler", std::string(library.compiler) + ", " + BENCH_CUDA_COMPILER},
          {"gpu", gpu.name},
          {"driver", ask_driver("driver_version") + ", CUDA " + cuda_version(driver)},
          {"cuda", cuda_version(runtime)},
          {"clocks", "SM, memory now: " + ask_driver("clocks.sm,clocks.mem") +
                         "; maximum: " + ask_driver("clocks.max.sm,clocks.max.mem")}};
}

}  // namespace bench
