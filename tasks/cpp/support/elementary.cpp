#include "support/elementary.h"

#include <cmath>
#include <numbers>

namespace tautstring_tasks {
namespace {

// ln 2 in two parts: a multiple of the first by a small integer is exact.
constexpr double kLn2High = 0x1.62e42fee00000p-1;
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;

}  // namespace

double exponential(double x) {
  const double power = std::floor(x / std::numbers::ln2 + 0.5);
  const double rest = (x - power * kLn2High) - power * kLn2Low;  // at most ln(2) / 2
  double sum = 1;
  for (int i = 14; i >= 1; --i) sum = 1 + sum * rest / i;
  return std::ldexp(sum, static_cast<int>(power));
}

double logarithm(double x) {
  int power = 0;
  double fraction = std::frexp(x, &power);
  if (fraction < std::numbers::sqrt2 / 2) {
    fraction *= 2;
    --power;
  }
  // log(f) = 2 artanh(z)
  const double z = (fraction - 1) / (fraction + 1);
  double sum = 0;
  for (int i = 23; i >= 3; i -= 2) sum = (sum + 1.0 / i) * (z * z);
  return power * kLn2High + (2 * z * sum + power * kLn2Low + 2 * z);
}

double sine(double x) {
  double sum = 1;
  for (int i = 34; i >= 2; i -= 2) sum = 1 - sum * (x * x) / (i * (i + 1));
  return x * sum;
}

double cosine(double x) {
  double sum = 1;
  for (int i = 33; i >= 1; i -= 2) sum = 1 - sum * (x * x) / (i * (i + 1));
  return sum;
}

}  // namespace tautstring_tasks
