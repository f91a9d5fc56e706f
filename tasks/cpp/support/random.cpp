#include "support/random.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "support/elementary.h"

namespace tautstring_tasks {
namespace {

constexpr int kRounds = 10;
constexpr std::array<std::uint32_t, 2> kMultipliers = {0xD2511F53, 0xCD9E8D57};
constexpr std::array<std::uint32_t, 2> kKeySteps = {0x9E3779B9, 0xBB67AE85};

/// The polynomial with these coefficients, lowest power first.
double polynomial(std::span<const double, 8> coefficients, double x) {
  double sum = coefficients[7];
  for (std::size_t i = 7; i-- > 0;) sum = sum * x + coefficients[i];
  return sum;
}

// Coefficients of AS 241, PPND16: in the middle, in the tails, and far out.
constexpr std::array<double, 8> kMiddleOver = {3.3871328727963666080e0,  1.3314166789178437745e+2,
                                               1.9715909503065514427e+3, 1.3731693765509461125e+4,
                                               4.5921953931549871457e+4, 6.7265770927008700853e+4,
                                               3.3430575583588128105e+4, 2.5090809287301226727e+3};
constexpr std::array<double, 8> kMiddleUnder = {1.0,
                                                4.2313330701600911252e+1,
                                                6.8718700749205790830e+2,
                                                5.3941960214247511077e+3,
                                                2.1213794301586595867e+4,
                                                3.9307895800092710610e+4,
                                                2.8729085735721942674e+4,
                                                5.2264952788528545610e+3};
constexpr std::array<double, 8> kTailOver = {1.42343711074968357734e0,  4.63033784615654529590e0,
                                             5.76949722146069140550e0,  3.64784832476320460504e0,
                                             1.27045825245236838258e0,  2.41780725177450611770e-1,
                                             2.27238449892691845833e-2, 7.74545014278341407640e-4};
constexpr std::array<double, 8> kTailUnder = {1.0,
                                              2.05319162663775882187e0,
                                              1.67638483018380384940e0,
                                              6.89767334985100004550e-1,
                                              1.48103976427480074590e-1,
                                              1.51986665636164571966e-2,
                                              5.47593808499534494600e-4,
                                              1.05075007164441684324e-9};
constexpr std::array<double, 8> kFarOver = {6.65790464350110377720e0,  5.46378491116411436990e0,
                                            1.78482653991729133580e0,  2.96560571828504891230e-1,
                                            2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                            2.71155556874348757815e-5, 2.01033439929228813265e-7};
constexpr std::array<double, 8> kFarUnder = {1.0,
                                             5.99832206555887937690e-1,
                                             1.36929880922735805310e-1,
                                             1.48753612908506148525e-2,
                                             7.86869131145613259100e-4,
                                             1.84631831751005468180e-5,
                                             1.42151175831644588870e-7,
                                             2.04426310338993978564e-15};

}  // namespace

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                    std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t a = std::uint64_t{kMultipliers[0]} * counter[0];
    const std::uint64_t b = std::uint64_t{kMultipliers[1]} * counter[2];
    counter = {
        static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
        static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key = {key[0] + kKeySteps[0], key[1] + kKeySteps[1]};
  }
  return counter;
}

Stream::Stream(std::uint64_t seed, std::uint32_t purpose, std::uint64_t index)
    : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
      counter_{0, static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32),
               purpose} {}

std::uint64_t Stream::bits53() {
  if (used_ == words_.size()) {
    words_ = philox(counter_, key_);
    ++counter_[0];
    used_ = 0;
  }
  const std::uint64_t low = words_[used_];
  const std::uint64_t high = words_[used_ + 1];
  used_ += 2;
  return (high << 32 | low) >> 11;
}

double Stream::uniform() {
  return static_cast<double>(bits53()) * 0x1p-53;
}

double Stream::normal() {
  // The middle of a cell: never 0 or 1. Halves of cells near 1 are rounded, to below 1.
  const std::uint64_t cell = bits53() >> 1;
  return normal_quantile((static_cast<double>(cell) + 0.5) * 0x1p-52);
}

double normal_quantile(double p) {
  const double q = p - 0.5;
  if (std::abs(q) <= 0.425) {
    const double r = 0.180625 - q * q;
    return q * polynomial(kMiddleOver, r) / polynomial(kMiddleUnder, r);
  }
  const double r = std::sqrt(-logarithm(q < 0 ? p : 1 - p));
  const double size = r <= 5 ? polynomial(kTailOver, r - 1.6) / polynomial(kTailUnder, r - 1.6)
                             : polynomial(kFarOver, r - 5) / polynomial(kFarUnder, r - 5);
  return q < 0 ? -size : size;
}

PoissonQuantile::PoissonQuantile(double mean) {
  constexpr double negligible = 1e-30;
  // Probabilities relative to that of the mode, outwards: p(k) / p(k - 1) = mean / k.
  const int mode = static_cast<int>(mean);
  std::vector<double> below;
  double relative = 1;
  for (int k = mode; k > 0; --k) {
    relative *= k / mean;
    if (relative < negligible) break;
    below.push_back(relative);
  }
  first_ = mode - static_cast<int>(below.size());
  cumulative_.assign(below.rbegin(), below.rend());
  relative = 1;
  for (int k = mode + 1; relative >= negligible; ++k) {
    cumulative_.push_back(relative);
    relative *= mean / k;
  }
  double sum = 0;
  for (double& value : cumulative_) value = sum += value;
  for (double& value : cumulative_) value /= sum;
}

int PoissonQuantile::operator()(double u) const {
  const auto at = std::upper_bound(cumulative_.begin(), cumulative_.end() - 1, u);
  return first_ + static_cast<int>(at - cumulative_.begin());
}

}  // namespace tautstring_tasks
