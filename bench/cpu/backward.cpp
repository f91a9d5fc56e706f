#include "backward.h"

#include <tautstring/tautstring.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "data.h"
#include "forward_case.h"
#include "measure.h"
#include "short_number.h"
#include "storage.h"

namespace bench {
namespace {

struct BackwardCase {
  const char* place;  // where the gradients are: in cache or not
  Data data;
  double lam = 0;
  // Partitions are small compared with the gradients: using several in turn keeps the branch
  // predictor from learning one, while the gradients stay where they are.
  std::size_t partitions = 1;

  [[nodiscard]] std::string name() const {
    return std::string("backward/") + place + "/" + std::to_string(data.rows) + "x" +
           std::to_string(data.n) + "/lam:" + short_number(lam);
  }
};

constexpr double kTolerance = 1e-6;  // of gradients that are a few units large

using Partition = std::vector<std::uint32_t>;

/// Returns nothing if the solver fails.
std::vector<Partition> solve(const BackwardCase& c) {
  auto& batches = batches_of<float>(c.data);
  std::vector<float> y(c.data.elements());
  std::vector<Partition> partitions(c.partitions);
  for (Partition& partition : partitions) {
    partition.resize(static_cast<std::size_t>(c.data.rows * tautstring::partition_words(c.data.n)));
    const auto x = view_of(batches.next(), {c.data.rows, c.data.n});
    const auto status = tautstring::prox_tv1d(
        {.x = x, .lam = c.lam}, view_of(y.data(), {c.data.rows, c.data.n}), partition);
    if (!status.ok()) return {};
  }
  return partitions;
}

/// Solved once for all repetitions and dtypes.
const std::vector<Partition>& partitions_of(const BackwardCase& c) {
  static std::map<std::string, std::vector<Partition>> solved;
  const auto [place, is_new] = solved.try_emplace(c.name());
  if (is_new) place->second = solve(c);
  return place->second;
}

/// The largest difference of the gradients from their definition, segment by segment.
template <class T>
double largest_error(const Data& data, const Partition& partition, const std::vector<T>& grad_y,
                     const std::vector<T>& grad_x, const std::vector<T>& grad_lam) {
  double largest = 0;
  for (std::int64_t row = 0; row < data.rows; ++row) {
    const std::uint32_t* codes = partition.data() + row * tautstring::partition_words(data.n);
    const T* in = grad_y.data() + row * data.n;
    const T* out = grad_x.data() + row * data.n;
    double lam = 0;
    std::int64_t end = 0;
    for (std::int64_t start = 0; start < data.n; start = end) {
      end = start + 1;
      while (end < data.n && tautstring::code_at(codes, end) == tautstring::Code::continues) ++end;
      const double mean =
          std::accumulate(in + start, in + end, 0.0) / static_cast<double>(end - start);
      const int left = start == 0 ? 0 : tautstring::jump_sign(tautstring::code_at(codes, start));
      const int right = end == data.n ? 0 : tautstring::jump_sign(tautstring::code_at(codes, end));
      lam += mean * (right - left);
      for (std::int64_t i = start; i < end; ++i) {
        largest = std::max(largest, std::abs(mean - static_cast<double>(out[i])));
      }
    }
    if (grad_lam.empty()) continue;
    const auto given = static_cast<double>(grad_lam[static_cast<std::size_t>(row)]);
    largest = std::max(largest, std::abs(lam - given) / static_cast<double>(data.n));
  }
  return largest;
}

template <class T>
void backward(benchmark::State& state, const BackwardCase& c, bool with_lam,
              const std::string& name) {
  const std::vector<Partition>& partitions = partitions_of(c);
  if (partitions.empty()) return state.SkipWithError("prox_tv1d failed");
  const T* given = batches_of<T>(c.data).first();
  const std::vector<T> grad_y(given, given + c.data.elements());
  std::vector<T> grad_x(c.data.elements());
  std::vector<T> grad_lam(static_cast<std::size_t>(with_lam ? c.data.rows : 0));
  tautstring::Gradients1d gradients = {.x = view_of(grad_x.data(), {c.data.rows, c.data.n})};
  if (with_lam) gradients.lam = view_of(grad_lam.data(), {c.data.rows, 1});

  const auto differentiate = [&](const Partition& partition) {
    return tautstring::prox_tv1d_backward(
        {.partition = partition}, view_of(grad_y.data(), {c.data.rows, c.data.n}), gradients);
  };

  const std::string& fault = fault_of(name, [&]() -> std::string {
    if (!differentiate(partitions[0]).ok()) return "prox_tv1d_backward failed";
    const double error = largest_error(c.data, partitions[0], grad_y, grad_x, grad_lam);
    return error <= kTolerance ? "" : "wrong by " + short_number(error);
  });
  if (!fault.empty()) return state.SkipWithError(fault.c_str());
  std::size_t turn = 0;
  for (auto _ : state) {
    const auto status = differentiate(partitions[turn++ % partitions.size()]);
    if (!status.ok()) return state.SkipWithError("prox_tv1d_backward failed");
  }
  count_elements(state, c.data.elements());
}

template <class T>
void copy(benchmark::State& state, const Data& data) {
  const std::vector<T> from(data.elements(), T(1.0F));
  std::vector<T> to(data.elements());
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), to.size() * sizeof(T));
    benchmark::ClobberMemory();
  }
  count_elements(state, data.elements());
}

template <class T>
void add(const BackwardCase& c) {
  const std::string dtype = Storage<T>::kName;
  add_benchmark(c.name() + "/memcpy:" + dtype,
                [=](benchmark::State& state) { copy<T>(state, c.data); });
  for (const bool with_lam : {false, true}) {
    const std::string name = c.name() + (with_lam ? "/grad_x_lam:" : "/grad_x:") + dtype;
    add_benchmark(name, [=](benchmark::State& state) { backward<T>(state, c, with_lam, name); });
  }
}

}  // namespace

void add_backward() {
  for (const double lam : {0.05, 1.0, 10.0}) {
    for (const BackwardCase& c : {BackwardCase{"in_cache", {&kNoise, 32, 1024}, lam, 16},
                                  BackwardCase{"out_of_cache", {&kNoise, 16384, 1024}, lam, 1}}) {
      add<float>(c);
      add<double>(c);
    }
  }
}

}  // namespace bench
