// Exponential, logarithm, sine and cosine from sums and products alone, so that results have the
// same bits with every standard library. Accurate to a few units in the last place; arguments are
// finite.
#pragma once

namespace tautstring_tasks {

/// For x in [-700, 700].
[[nodiscard]] double exponential(double x);

/// For x > 0.
[[nodiscard]] double logarithm(double x);

/// For x in [-4, 4].
[[nodiscard]] double sine(double x);
[[nodiscard]] double cosine(double x);

}  // namespace tautstring_tasks
