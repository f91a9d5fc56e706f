// The CPU solver through the public API, beside a plain copy of the same bytes in
// the same run: the ratio to the copy is what travels between machines.
//
// Each iteration takes another of several batches, so that the branch predictor
// cannot learn one by heart.
#include <benchmark/benchmark.h>
#include <tautline/tautline.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace {

using tautline::view;

struct Case {
  const char* name;
  std::int64_t rows;
  std::int64_t n;
  double lam;
  float (*sample)(std::mt19937& random, std::int64_t i, std::int64_t n);
};

float noisy_step(std::mt19937& random, std::int64_t i, std::int64_t n) {
  return (i >= n / 2 ? 1.0F : 0.0F) + std::normal_distribution<float>()(random);
}
float ramp(std::mt19937& /*random*/, std::int64_t i, std::int64_t /*n*/) {
  return static_cast<float>(i);
}

const Case kCases[] = {
    {"noise", 8192, 32, 0.05, noisy_step},  {"noise", 8192, 32, 1, noisy_step},
    {"noise", 8192, 32, 10, noisy_step},    {"noise", 1024, 1024, 0.05, noisy_step},
    {"noise", 1024, 1024, 1, noisy_step},   {"noise", 1024, 1024, 10, noisy_step},
    {"noise", 1, 4'000'000, 1, noisy_step}, {"ramp", 64, 40'000, 2000, ramp},
};

class Batches {
 public:
  explicit Batches(const Case& c) : elements_(static_cast<std::size_t>(c.rows * c.n)) {
    std::mt19937 random(1);
    const std::size_t count = std::max<std::size_t>(2, 2'000'000 / elements_);
    for (std::size_t b = 0; b < count; ++b) {
      auto& batch = batches_.emplace_back(elements_);
      for (std::size_t i = 0; i < elements_; ++i) {
        batch[i] = c.sample(random, static_cast<std::int64_t>(i) % c.n, c.n);
      }
    }
  }
  const std::vector<float>& next() { return batches_[turn_++ % batches_.size()]; }
  [[nodiscard]] std::size_t elements() const { return elements_; }

 private:
  std::size_t elements_;
  std::vector<std::vector<float>> batches_;
  std::size_t turn_ = 0;
};

void report(benchmark::State& state, const Batches& batches) {
  const auto elements = state.iterations() * static_cast<std::int64_t>(batches.elements());
  state.SetItemsProcessed(elements);
  state.SetBytesProcessed(elements * 2 * static_cast<std::int64_t>(sizeof(float)));
}

void copy(benchmark::State& state, const Case& c) {
  Batches batches(c);
  std::vector<float> y(batches.elements());
  for (auto _ : state) {
    std::memcpy(y.data(), batches.next().data(), y.size() * sizeof(float));
    benchmark::ClobberMemory();
  }
  report(state, batches);
}

void forward(benchmark::State& state, const Case& c) {
  Batches batches(c);
  std::vector<float> y(batches.elements());
  std::vector<std::uint32_t> partition(
      static_cast<std::size_t>(c.rows * tautline::partition_words(c.n)));
  for (auto _ : state) {
    const auto status =
        tautline::prox_tv1d({.x = view(batches.next().data(), {c.rows, c.n}), .lam = c.lam},
                            view(y.data(), {c.rows, c.n}), partition);
    if (!status.ok()) state.SkipWithError("prox_tv1d failed");
  }
  report(state, batches);
}

void backward(benchmark::State& state, const Case& c) {
  Batches batches(c);
  std::vector<float> y(batches.elements());
  std::vector<std::uint32_t> partition(
      static_cast<std::size_t>(c.rows * tautline::partition_words(c.n)));
  const auto solved =
      tautline::prox_tv1d({.x = view(batches.next().data(), {c.rows, c.n}), .lam = c.lam},
                          view(y.data(), {c.rows, c.n}), partition);
  if (!solved.ok()) state.SkipWithError("prox_tv1d failed");
  for (auto _ : state) {
    const auto status = tautline::prox_tv1d_backward({.partition = partition},
                                                     view(batches.next().data(), {c.rows, c.n}),
                                                     {.x = view(y.data(), {c.rows, c.n})});
    if (!status.ok()) state.SkipWithError("prox_tv1d_backward failed");
  }
  report(state, batches);
}

const bool kRegistered = [] {
  for (const Case& c : kCases) {
    const std::string name = std::string(c.name) + "_" + std::to_string(c.rows) + "x" +
                             std::to_string(c.n) + "_lam" + std::to_string(c.lam).substr(0, 6);
    benchmark::RegisterBenchmark(("copy/" + name).c_str(), copy, c);
    benchmark::RegisterBenchmark(("forward/" + name).c_str(), forward, c);
    benchmark::RegisterBenchmark(("backward/" + name).c_str(), backward, c);
  }
  return true;
}();

}  // namespace
