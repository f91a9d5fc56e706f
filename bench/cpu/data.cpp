#include "data.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <numeric>
#include <string>
#include <tuple>

namespace bench {
namespace {

constexpr std::size_t kElementsInRotation = 2'000'000;

void fill_normal(std::mt19937& random, std::span<float> values) {
  std::normal_distribution<float> normal;
  for (float& value : values) value = normal(random);
}

void fill_noise(std::mt19937& random, std::int64_t /*row*/, std::span<float> values) {
  fill_normal(random, values);
  for (float& value : values.subspan(values.size() / 2)) value += 1;
}

void fill_walk(std::mt19937& random, std::int64_t /*row*/, std::span<float> values) {
  std::uniform_int_distribution<int> step(-4, 4);
  int level = std::uniform_int_distribution<int>(0, 255)(random);
  for (float& value : values) {
    value = static_cast<float>(level);
    level = std::clamp(level + step(random), 0, 255);
  }
}

void fill_sine(std::mt19937& random, std::int64_t /*row*/, std::span<float> values) {
  constexpr double kTurn = 2 * std::numbers::pi;
  const double periods = std::uniform_real_distribution<double>(1, 8)(random);
  const double phase = std::uniform_real_distribution<double>(0, kTurn)(random);
  const double step = kTurn * periods / static_cast<double>(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(std::sin(phase + step * static_cast<double>(i)));
  }
}

void fill_ramp(std::mt19937& /*random*/, std::int64_t /*row*/, std::span<float> values) {
  std::iota(values.begin(), values.end(), 0.0F);
}

void fill_noisy_ramp(std::mt19937& random, std::int64_t /*row*/, std::span<float> values) {
  fill_normal(random, values);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] += static_cast<float>(i);
}

void fill_constants(std::mt19937& random, std::int64_t /*row*/, std::span<float> values) {
  std::ranges::fill(values, std::normal_distribution<float>()(random));
}

void fill_ties(std::mt19937& random, std::int64_t /*row*/, std::span<float> values) {
  std::uniform_int_distribution<int> level(0, 3);
  for (float& value : values) value = static_cast<float>(level(random));
}

void fill_image(std::mt19937& random, std::int64_t row, std::span<float> values) {
  fill_noise(random, row, values);
  const auto height = static_cast<std::int64_t>(values.size());
  if (row % height < height / 2) return;
  for (float& value : values) value += 1;
}

}  // namespace

const Family kNoise = {"noise", fill_noise};
const Family kWalk = {"walk", fill_walk};
const Family kSine = {"sine", fill_sine};
const Family kRamp = {"ramp", fill_ramp};
const Family kNoisyRamp = {"ramp_noise", fill_noisy_ramp};
const Family kConstants = {"constants", fill_constants};
const Family kTies = {"ties", fill_ties};
const Family kImage = {"image", fill_image};

template <class T>
Batches<T>::Batches(const Data& data)
    : batches_(std::max<std::size_t>(2, kElementsInRotation / data.elements())) {
  std::mt19937 random(1);
  std::vector<float> values(static_cast<std::size_t>(data.n));
  for (std::vector<T>& batch : batches_) {
    batch.reserve(data.elements());
    for (std::int64_t row = 0; row < data.rows; ++row) {
      data.family->fill_row(random, row, values);
      for (const float value : values) batch.push_back(static_cast<T>(value));
    }
  }
}

template <class T>
Batches<T>& batches_of(const Data& data) {
  static std::map<std::tuple<std::string, std::int64_t, std::int64_t>, Batches<T>> made;
  return made.try_emplace({data.family->name, data.rows, data.n}, data).first->second;
}

template class Batches<BFloat16>;
template class Batches<float>;
template class Batches<double>;
template Batches<BFloat16>& batches_of(const Data& data);
template Batches<float>& batches_of(const Data& data);
template Batches<double>& batches_of(const Data& data);

}  // namespace bench
