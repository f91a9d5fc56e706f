#include "support/rows.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numbers>

namespace tautstring::testing {
namespace {

double normal(Random& random) {
  return std::normal_distribution<double>()(random);
}

double uniform(Random& random, double low = 0, double high = 1) {
  return std::uniform_real_distribution<double>(low, high)(random);
}

int integer(Random& random, int low, int high) {
  return std::uniform_int_distribution<int>(low, high)(random);
}

template <class Element>
std::vector<double> generate(int n, Element element) {
  std::vector<double> values(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) values[static_cast<std::size_t>(i)] = element(i);
  return values;
}

std::vector<double> noise(Random& random, int n) {
  return generate(n, [&](int) { return normal(random); });
}
std::vector<double> step_and_noise(Random& random, int n) {
  return generate(n, [&](int i) { return (i >= n / 2 ? 1.0 : 0.0) + 0.3 * normal(random); });
}
std::vector<double> blocks(Random& random, int n) {
  double level = 0;
  return generate(n, [&](int) {
    if (integer(random, 0, 9) == 0) level = uniform(random);
    return level;
  });
}
std::vector<double> ramp(Random& /*random*/, int n) {
  return generate(n, [&](int i) { return static_cast<double>(i) / n; });
}
std::vector<double> falling_ramp(Random& /*random*/, int n) {
  return generate(n, [&](int i) { return static_cast<double>(n - i) / n; });
}
std::vector<double> ramp_and_noise(Random& random, int n) {
  return generate(n, [&](int i) { return static_cast<double>(i) / n + 0.01 * normal(random); });
}
std::vector<double> sine(Random& random, int n) {
  const double periods = uniform(random, 0.3, 6);
  return generate(n, [&](int i) { return std::sin(2 * std::numbers::pi * periods * i / n); });
}
std::vector<double> parabola(Random& /*random*/, int n) {
  return generate(n, [&](int i) { return std::pow(2.0 * i / n - 1, 2); });
}
std::vector<double> staircase(Random& random, int n) {
  const int tread = integer(random, 1, 5);
  return generate(n, [&](int i) { return static_cast<double>(i / tread); });
}
std::vector<double> constant(Random& random, int n) {
  const double level = normal(random);
  return generate(n, [&](int) { return level; });
}
std::vector<double> alternating(Random& /*random*/, int n) {
  return generate(n, [](int i) { return i % 2 == 0 ? 1.0 : -1.0; });
}
std::vector<double> alternating_tenths(Random& /*random*/, int n) {
  return generate(n, [](int i) { return i % 2 == 0 ? 0.1 : -0.1; });  // no sum of which is exact
}
std::vector<double> growing_alternation(Random& /*random*/, int n) {
  return generate(n, [&](int i) { return (i % 2 == 0 ? 1.0 : -1.0) * (i + 1) / n; });
}
std::vector<double> spikes(Random& random, int n) {
  return generate(n, [&](int) { return integer(random, 0, 7) == 0 ? 10 * normal(random) : 0.0; });
}
std::vector<double> small_integers(Random& random, int n) {
  return generate(n, [&](int) { return static_cast<double>(integer(random, -3, 3)); });
}
std::vector<double> thirds(Random& random, int n) {
  return generate(n, [&](int) { return integer(random, -5, 5) / 3.0; });
}
std::vector<double> sevenths(Random& random, int n) {
  return generate(n, [&](int) { return integer(random, 0, 14) / 7.0; });
}
std::vector<double> random_walk(Random& random, int n) {
  double level = 0;
  return generate(n, [&](int) { return level += normal(random); });
}
std::vector<double> wide_range(Random& random, int n) {
  return generate(n, [&](int) { return normal(random) * std::exp(4 * normal(random)); });
}

// --- Plateaus and runs of equal samples ---

/// From less than a period to one in a few samples.
double periods(Random& random, int n) {
  return std::exp(uniform(random, -1, std::log(n / 6.0 + 1)));
}
std::vector<double> shifted_sine(Random& random, int n) {
  const double step = 2 * std::numbers::pi * periods(random, n) / n;
  const double phase = uniform(random, 0, 2 * std::numbers::pi);
  return generate(n, [&](int i) { return std::sin(step * i + phase); });
}
std::vector<double> two_sines(Random& random, int n) {
  const std::vector<double> first = shifted_sine(random, n);
  const std::vector<double> second = shifted_sine(random, n);
  const double share = uniform(random, 0.01);
  return generate(n, [&](int i) {
    const auto at = static_cast<std::size_t>(i);
    return first[at] + share * second[at];
  });
}
std::vector<double> chirp(Random& random, int n) {
  const double last = uniform(random, 0.5, n / 12.0);
  return generate(
      n, [&](int i) { return std::sin(2 * std::numbers::pi * last * std::pow(1.0 * i / n, 2)); });
}
std::vector<double> hill(Random& random, int n) {
  const double top = uniform(random, 0.2, 0.8);
  return generate(n, [&](int i) { return -std::pow(1.0 * i / n - top, 2); });
}
std::vector<double> decay(Random& random, int n) {
  const double rate = uniform(random, 0.5, 12);
  return generate(n, [&](int i) { return std::exp(-rate * i / n); });
}
std::vector<double> smoothed_noise(Random& random, int n) {
  const int width = integer(random, 1, 20);
  const std::vector<double> rough = noise(random, n + 4 * width);
  return generate(n, [&](int i) {
    double sum = 0;
    for (int k = 0; k < 4 * width; ++k) {
      sum += rough[static_cast<std::size_t>(i + k)] *
             std::exp(-0.5 * std::pow((k - 2.0 * width) / width, 2));
    }
    return sum;
  });
}
/// A line through a scene: a background that changes slowly, a faint texture, and objects with
/// soft edges, without an edge, and round ones.
std::vector<double> line_of_photo(Random& random, int n) {
  struct Object {
    double middle, width, height, softness;
    int kind;
  };
  std::vector<Object> objects(static_cast<std::size_t>(integer(random, 3, 8)));
  for (Object& object : objects) {
    object = {uniform(random) * n, uniform(random, 0.02, 0.3) * n, uniform(random, -0.4, 0.4),
              uniform(random, 0.5, 3), integer(random, 0, 2)};
  }
  const double base = uniform(random, 0.3, 0.6);
  const double slope = uniform(random, -0.3, 0.3);
  const double texture = uniform(random, 0, 0.05);
  const double frequency = uniform(random, 3, 40);
  return generate(n, [&](int i) {
    double value = base + slope * i / n;
    value += texture * std::sin(2 * std::numbers::pi * frequency * i / n);
    for (const Object& object : objects) {
      const double away = std::abs(i - object.middle);
      const double t = away / object.width;
      double shape = std::exp(-t * t);
      if (object.kind == 0) shape = 1 / (1 + std::exp((away - object.width) / object.softness));
      if (object.kind == 1) shape = std::sqrt(std::max(1 - t * t, 0.0));
      value += object.height * shape;
    }
    return value;
  });
}
std::vector<double> line_of_8_bit_photo(Random& random, int n) {
  std::vector<double> line = line_of_photo(random, n);
  for (double& value : line) value = std::round(255 * std::clamp(value, 0.0, 1.0));
  return line;
}
std::vector<double> long_blocks(Random& random, int n) {
  const int length = integer(random, 2, 1 + n / 4);
  double level = 0;
  return generate(n, [&](int) {
    if (integer(random, 1, length) == 1) level = uniform(random);
    return level;
  });
}
std::vector<double> one_long_run(Random& random, int n) {
  const double before = uniform(random);
  const double level = uniform(random);
  const double after = uniform(random);
  const int first = integer(random, 1, 5);
  const int last = n - integer(random, 1, 5);
  return generate(n, [&](int i) { return i < first ? before : (i < last ? level : after); });
}
std::vector<double> run_after_noise(Random& random, int n) {
  const int first = integer(random, 1, n / 2);
  const double level = uniform(random);
  return generate(n, [&](int i) { return i < first ? uniform(random) : level; });
}
std::vector<double> run_after_sine(Random& random, int n) {
  const int first = integer(random, 1, n / 2);
  const double level = uniform(random);
  const double step = uniform(random, 0.01, 0.3);
  return generate(n, [&](int i) { return i < first ? std::sin(step * i) : level; });
}
std::vector<double> long_stairs(Random& random, int n) {
  const int tread = integer(random, 1, n / 4);
  const double rise = uniform(random);
  return generate(n, [&](int i) { return rise * (i / tread); });
}

}  // namespace

std::uint64_t base_seed() {
  const char* chosen = std::getenv("TAUTSTRING_TEST_SEED");
  return chosen == nullptr ? 20221015 : std::strtoull(chosen, nullptr, 10);
}

const std::vector<Family>& families() {
  static const std::vector<Family> all = {
      {"noise", noise},
      {"step_and_noise", step_and_noise},
      {"blocks", blocks},
      {"ramp", ramp},
      {"falling_ramp", falling_ramp},
      {"ramp_and_noise", ramp_and_noise},
      {"sine", sine},
      {"parabola", parabola},
      {"staircase", staircase},
      {"constant", constant},
      {"alternating", alternating},
      {"alternating_tenths", alternating_tenths},
      {"growing_alternation", growing_alternation},
      {"spikes", spikes},
      {"small_integers", small_integers},
      {"thirds", thirds},
      {"sevenths", sevenths},
      {"random_walk", random_walk},
      {"wide_range", wide_range},
  };
  return all;
}

const std::vector<Family>& plateau_families() {
  static const std::vector<Family> all = {
      {"shifted_sine", shifted_sine},
      {"two_sines", two_sines},
      {"chirp", chirp},
      {"hill", hill},
      {"decay", decay},
      {"smoothed_noise", smoothed_noise},
      {"line_of_photo", line_of_photo},
      {"line_of_8_bit_photo", line_of_8_bit_photo},
      {"long_blocks", long_blocks},
      {"one_long_run", one_long_run},
      {"run_after_noise", run_after_noise},
      {"run_after_sine", run_after_sine},
      {"long_stairs", long_stairs},
      {"random_walk", random_walk},
      {"step_and_noise", step_and_noise},
  };
  return all;
}

const std::vector<Family>& worst_families() {
  static const std::vector<Family> worst = {
      {"ramp", ramp},
      {"falling_ramp", falling_ramp},
      {"ramp_and_noise", ramp_and_noise},
      {"sine", sine},
      {"parabola", parabola},
      {"constant", constant},
      {"alternating", alternating},
      {"alternating_tenths", alternating_tenths},
      {"growing_alternation", growing_alternation},
      {"small_integers", small_integers},
      {"random_walk", random_walk},
      {"noise", noise},
  };
  return worst;
}

const std::vector<Scale>& scales() {
  static const std::vector<Scale> all = {
      {"[0,1]", 1, 0}, {"[0,255]", 255, 0}, {"[0,1e-3]", 1e-3, 0}, {"1e6+[0,1]", 1, 1e6}};
  return all;
}

Row random_row(std::uint64_t seed, int longest, LamKind lam_kind, WeightKind weight_kind) {
  Random random(seed);
  const Family& family = families()[random() % families().size()];
  const Scale& scale = scales()[random() % scales().size()];
  const int n = integer(random, 1, longest);
  Row row;
  row.name = std::string(family.name) + " " + scale.name + " n=" + std::to_string(n) +
             " seed=" + std::to_string(seed);
  row.x = family.make(random, n);
  for (double& value : row.x) value = value * scale.factor + scale.offset;

  const double size = scale.factor * std::exp(2.5 * normal(random) - 1);
  const bool exact = integer(random, 0, 2) == 0;  // multiples of 1/4 make exact ties
  const double lam = exact ? scale.factor * integer(random, 1, 12) / 4 : size;
  row.lam.assign(lam_kind == LamKind::uniform ? 1 : static_cast<std::size_t>(n - 1), lam);
  if (lam_kind != LamKind::uniform) {
    for (double& value : row.lam) {
      value *= exact ? integer(random, 1, 4) : uniform(random, 0.1, 2);
      if (lam_kind == LamKind::edges) continue;
      const int choice = integer(random, 0, 7);
      if (choice == 0) value = 0;
      if (choice == 1) value = std::numeric_limits<double>::infinity();
    }
  }
  if (weight_kind != WeightKind::none) {
    row.weight = generate(n, [&](int) { return std::exp(2 * normal(random)); });
    if (weight_kind == WeightKind::with_missing) {
      for (double& weight : row.weight) {
        if (integer(random, 0, 3) == 0) weight = 0;
      }
      row.weight[random() % row.weight.size()] = 1;
    }
  }
  return row;
}

std::vector<double> edges_of(const Row& row) {
  const std::size_t edges = row.x.size() - 1;
  return row.lam.size() == edges ? row.lam : std::vector<double>(edges, row.lam.front());
}

std::vector<double> present_samples(const Row& row) {
  std::vector<double> samples;
  for (std::size_t i = 0; i < row.x.size(); ++i) {
    if (row.weight.empty() || row.weight[i] != 0) samples.push_back(row.x[i]);
  }
  return samples;
}

double range_of(const std::vector<double>& values) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  return values.empty() ? 0 : *high - *low;
}

}  // namespace tautstring::testing
