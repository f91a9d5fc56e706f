// The CPU solver compared with other libraries on the same data, in one process and on one core,
// unless a name says otherwise. bench/report.py makes the table of the results.
// usage: tautstring_bench_cpu [--peers=FOLDER] [--photo=FILE] [Google Benchmark's options]
#include <benchmark/benchmark.h>
#include <tautstring/tautstring.h>

#include <cstdlib>
#include <exception>
#include <iostream>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "backward.h"
#include "contest.h"
#include "forward.h"
#include "images.h"
#include "machine.h"
#include "newton.h"
#include "planes.h"

namespace {

/// One line per benchmark: the median. All statistics and counters are in the JSON.
class MedianReporter final : public benchmark::ConsoleReporter {
 public:
  MedianReporter() : ConsoleReporter(OO_None) {}

  void ReportRuns(const std::vector<Run>& runs) override {
    std::vector<Run> shown;
    for (const Run& run : runs) {
      const bool is_repetition = run.run_type == Run::RT_Iteration;  // the only one, or failed
      if (is_repetition ? !shown.empty() : run.aggregate_name != "median") continue;
      auto& counters = shown.emplace_back(run).counters;
      counters.erase("elements");
      counters.erase("left");
      counters.erase("scratch_bytes");
      counters.erase("solver_iterations");
    }
    ConsoleReporter::ReportRuns(shown);
  }
};

/// Whether Google Benchmark will run a benchmark of this name.
bool is_wanted(const std::string& name) {
  std::string filter = benchmark::GetBenchmarkFilter();
  const bool negated = filter.starts_with('-');
  if (negated) filter.erase(0, 1);
  if (filter.empty() || filter == "all") return true;
  return std::regex_search(name, std::regex(filter, std::regex::extended)) != negated;
}

void describe_run(const bench::Peers& peers) {
  const char* forced = std::getenv("TAUTSTRING_CPU");
  benchmark::AddCustomContext("tautstring", tautstring::capabilities().version);
  benchmark::AddCustomContext("compiler", tautstring::capabilities().compiler);
  benchmark::AddCustomContext("cpu", bench::cpu_model());
  benchmark::AddCustomContext("cpu_flags", bench::vector_flags());
  benchmark::AddCustomContext("cpu_target", forced == nullptr ? "best" : forced);
  benchmark::AddCustomContext("threads", "1 unless the case says otherwise");
  benchmark::AddCustomContext("peers", peers.summary);
}

void add_all(const bench::Peers& peers, const std::vector<bench::GreyImage>& images) {
  const std::vector<bench::ForwardCase> cases = bench::forward_cases();
  for (const bench::ForwardCase& c : cases) {
    bench::add_ours(c);
    if (!c.with_peers) continue;
    const std::string trials = bench::add_fastest_peers(c, peers, is_wanted);
    if (!trials.empty()) benchmark::AddCustomContext("trial " + c.name(), trials);
  }
  if (!peers.solvers.empty()) bench::add_empty_calls(cases);
  bench::add_backward();
  bench::add_planes(images);
  for (const auto& [name, note] : bench::add_newton(peers, is_wanted)) {
    benchmark::AddCustomContext("trial " + name, note);
  }
  for (const auto& [name, note] : bench::add_images(images, peers, is_wanted)) {
    benchmark::AddCustomContext("trial " + name, note);
  }
}

/// If the argument begins with `option` ("--name="), stores its value and returns true.
bool takes(std::string_view argument, std::string_view option, std::string& value) {
  if (!argument.starts_with(option)) return false;
  value = argument.substr(option.size());
  return true;
}

}  // namespace

int main(int argc, char** argv) try {
  std::string peers_folder;
  std::string photo_file;
  // Defaults come first: the last value of an option counts. Repetitions of all benchmarks are
  // interleaved, so that other load on the machine does not affect all repetitions of one.
  std::string defaults[] = {"--benchmark_repetitions=7", "--benchmark_min_time=0.08",
                            "--benchmark_report_aggregates_only=true",
                            "--benchmark_enable_random_interleaving=true"};
  std::vector<char*> arguments = {argv[0]};
  for (std::string& option : defaults) arguments.push_back(option.data());
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (!takes(argument, "--peers=", peers_folder) && !takes(argument, "--photo=", photo_file)) {
      arguments.push_back(argv[i]);
    }
  }
  int count = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  benchmark::Initialize(&count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 1;

  const std::vector<bench::GreyImage> images = bench::benchmark_images(photo_file);
  const bench::Peers peers = bench::load_peers(peers_folder);
  std::cerr << "peers: " << peers.summary
            << (peers.solvers.empty() ? "; timing only ours\n" : "; trying each on each case\n");
  describe_run(peers);
  add_all(peers, images);
  std::cerr << "repetitions are interleaved: results appear near the end, after some minutes\n";
  MedianReporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  benchmark::Shutdown();
  return 0;
} catch (const std::exception& error) {
  std::cerr << "tautstring_bench_cpu: " << error.what() << '\n';
  return 1;
}
