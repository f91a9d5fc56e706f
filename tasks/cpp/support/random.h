// Random numbers that depend on nothing but their name: seed, purpose and index. So work may be
// divided among threads, repeated in part or done in any order, and has the same bits. No function
// of the standard library that may round differently elsewhere is used.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tautstring_tasks {

/// Philox4x32 with 10 rounds (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011).
[[nodiscard]] std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                                  std::array<std::uint32_t, 2> key);

/// The random numbers for one index of one purpose.
class Stream {
 public:
  Stream(std::uint64_t seed, std::uint32_t purpose, std::uint64_t index);

  /// Uniform in [0, 1), a multiple of 2^-53.
  [[nodiscard]] double uniform();

  /// Standard normal; takes one uniform number.
  [[nodiscard]] double normal();

 private:
  [[nodiscard]] std::uint64_t bits53();

  std::array<std::uint32_t, 2> key_;
  std::array<std::uint32_t, 4> counter_;
  std::array<std::uint32_t, 4> words_ = {};
  std::size_t used_ = 4;
};

/// The standard normal distribution's quantile, for p in (0, 1), to about 16 digits (Wichura,
/// algorithm AS 241, 1988).
[[nodiscard]] double normal_quantile(double p);

/// The quantile of one Poisson distribution, from a table of its probabilities. Counts whose
/// probability is below 1e-30 of the largest one are left out.
class PoissonQuantile {
 public:
  /// For 0 <= mean <= 1e6.
  explicit PoissonQuantile(double mean);

  /// The smallest count whose cumulative probability is above u, for u in [0, 1).
  [[nodiscard]] int operator()(double u) const;

 private:
  int first_ = 0;
  std::vector<double> cumulative_;
};

}  // namespace tautstring_tasks
