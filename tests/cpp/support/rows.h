// Rows for tests: named families at several scales, from a seed that every failure prints.
// TAUTSTRING_TEST_SEED in the environment selects another seed.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace tautstring::testing {

using Random = std::mt19937_64;

/// The seed of this run: fixed, unless the environment says otherwise.
std::uint64_t base_seed();

struct Family {
  const char* name;
  std::vector<double> (*make)(Random& random, int n);  // values of size about 1
};

/// Noise, steps, ramps, sines, constants, ties, rational grids, spikes and more.
const std::vector<Family>& families();

/// Those whose solutions have segments that are all known to be hard to find.
const std::vector<Family>& worst_families();

/// Rows with plateaus and with runs of equal samples, where a search may be led astray by rounding:
/// smooth curves of many kinds, lines of photos, steps, long runs before and after other samples.
const std::vector<Family>& plateau_families();

struct Scale {
  const char* name;
  double factor;
  double offset;
};

/// [0, 1], [0, 255], [0, 1e-3] and 1e6 + [0, 1].
const std::vector<Scale>& scales();

/// One row and its arguments. lam has one element, or one per edge.
struct Row {
  std::string name;  // the kind of row and how to generate it again
  std::vector<double> x;
  std::vector<double> lam;
  std::vector<double> weight;  // empty: all 1
};

enum class LamKind { uniform, edges, edges_with_zero_and_infinity };
enum class WeightKind { none, positive, with_missing };

/// A random row: family, length up to `longest`, scale, lam over many sizes.
Row random_row(std::uint64_t seed, int longest, LamKind lam_kind, WeightKind weight_kind);

/// lam as one number per edge.
std::vector<double> edges_of(const Row& row);

double range_of(const std::vector<double>& values);

/// The samples that are not missing.
std::vector<double> present_samples(const Row& row);

}  // namespace tautstring::testing
