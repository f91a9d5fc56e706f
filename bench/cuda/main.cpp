// The CUDA solver compared with a plain copy of the same bytes, on the first GPU. bench/report.py
// makes the table of the results. Exits with an error if a result is wrong or a call fails.
// usage: tautstring_bench_cuda [--filter=REGEX] [--json=FILE] [--repeats=N] [--quick]
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>
#include <regex>
#include <stdexcept>
#include <string>
#include <vector>

#include "cases.h"
#include "image_cases.h"
#include "machine.h"
#include "run_case.h"
#include "run_image_case.h"
#include "run_newton_case.h"

namespace {

constexpr const char* kUsage =
    "usage: tautstring_bench_cuda [--filter=REGEX] [--json=FILE] [--repeats=N] [--quick]\n"
    "  --filter   only benchmarks whose name (group/family/shape/lam/what:dtype) matches:\n"
    "             ^images for 2D only, ^newton for Newton compared with the direct solver\n"
    "  --json     file for bench/report.py\n"
    "  --repeats  timings per benchmark, 50 by default\n"
    "  --quick    2^24 elements per case instead of 2^27 (1D)\n";

struct Options {
  std::regex filter{""};
  std::string json;
  int repeats = 50;
  std::int64_t elements = std::int64_t{1} << 27;
};

/// Throws std::invalid_argument or std::regex_error if an option is invalid.
Options parse(const std::vector<std::string>& arguments) {
  Options options;
  for (const std::string& argument : arguments) {
    const std::size_t equals = std::min(argument.find('='), argument.size());
    const std::string name = argument.substr(0, equals);
    const std::string value = argument.substr(std::min(equals + 1, argument.size()));
    if (name == "--filter") {
      options.filter = value;
    } else if (name == "--json") {
      options.json = value;
    } else if (name == "--repeats") {
      options.repeats = std::stoi(value);
    } else if (argument == "--quick") {
      options.elements = std::int64_t{1} << 24;
    } else {
      throw std::invalid_argument(argument);
    }
  }
  if (options.repeats < 1) throw std::invalid_argument("--repeats");
  return options;
}

/// Prints a line as soon as its result is known.
void print(const bench::Result& result) {
  std::cout << std::left << std::setw(60) << result.name;
  if (!result.error.empty()) {
    std::cout << result.error << std::endl;
    return;
  }
  std::cout << std::setprecision(4) << result.timing.ms << " ms";
  if (result.copy_ms > 0) {
    std::cout << ", " << std::setprecision(3) << result.timing.ms / result.copy_ms << "x a copy";
  }
  std::cout << std::endl;  // flushed, as a run takes minutes
}

nlohmann::ordered_json to_json(const bench::Result& result) {
  if (!result.error.empty()) return {{"error", result.error}};
  nlohmann::ordered_json fields = {{"ms", result.timing.ms}, {"spread", result.timing.spread}};
  if (result.copy_ms > 0) {
    fields["copy_ms"] = result.copy_ms;
    fields["ratio_to_copy"] = result.timing.ms / result.copy_ms;
    fields["bytes"] = result.bytes;
    fields["scratch_bytes"] = result.scratch_bytes;
    if (result.saved_bytes > 0) fields["saved_bytes"] = result.saved_bytes;
    fields["launches"] = result.launches;
    fields["difference"] = result.checked.difference;
    if (result.checked.iterations > 0) fields["iterations"] = result.checked.iterations;
    if (result.checked.left > 0) fields["left"] = result.checked.left;
  }
  return fields;
}

/// In the format of the results that bench/report.py keeps.
void write(const Options& options, const nlohmann::ordered_json& results) {
  nlohmann::ordered_json json;
  for (const auto& [name, value] : bench::about_this_run()) json["about"][name] = value;
  json["about"]["elements"] = std::to_string(options.elements);
  json["about"]["repeats"] = std::to_string(options.repeats);
  json["runs"]["cuda"] = results;
  std::ofstream file(options.json);
  file << json.dump(1) << '\n';
  if (!file.flush()) throw std::runtime_error("cannot write " + options.json);
}

int run(const Options& options) {
  auto results = nlohmann::ordered_json::object();
  int faults = 0;
  const bench::Settings settings = {
      .repeats = options.repeats,
      .is_wanted = [&](const std::string& name) { return std::regex_search(name, options.filter); },
      .report =
          [&](const bench::Result& result) {
            print(result);
            results[result.name] = to_json(result);
            faults += static_cast<int>(!result.error.empty());
          }};
  const bench::Stream stream;
  for (const bench::Case& c : bench::all_cases(options.elements)) {
    bench::run_case(c, stream, settings);
  }
  for (const bench::Case& c : bench::newton_cases()) {
    bench::run_case(c, stream, settings);
    bench::run_newton_case(c, stream, settings);
  }
  for (const bench::ImageCase& c : bench::all_image_cases()) {
    bench::run_image_case(c, stream, settings);
  }
  if (!options.json.empty()) {
    write(options, results);
  }
  std::cout << results.size() << " measured, " << faults << " wrong or failed\n";
  return faults == 0 && !results.empty() ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  try {
    options = parse({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << "tautstring_bench_cuda: " << error.what() << '\n' << kUsage;
    return EXIT_FAILURE;
  }
  try {
    return run(options);
  } catch (const std::exception& error) {
    std::cerr << "tautstring_bench_cuda: " << error.what() << '\n';
    return EXIT_FAILURE;
  }
}
