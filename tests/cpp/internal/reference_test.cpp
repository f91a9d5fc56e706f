// The oracle itself, against the definition: no random neighbour is better; and against results
// known by hand.
#include "reference/tv1d_reference.h"

#include <gtest/gtest.h>

#include "support/rows.h"

namespace tautstring::testing {
namespace {

TEST(Reference, KnowsAnswersByHand) {
  using Values = std::vector<double>;
  EXPECT_EQ(reference::prox_tv1d(Values{0, 4}, Values{1}), (Values{1, 3}));
  EXPECT_EQ(reference::prox_tv1d(Values{0, 4}, Values{5}), (Values{2, 2}));
  EXPECT_EQ(reference::prox_tv1d(Values{0, 4}, Values{1}, Values{1, 2}), (Values{1, 3.5}));
  EXPECT_EQ(reference::prox_tv1d(Values{7}, {}), (Values{7}));
}

TEST(Reference, NoNeighbourIsBetter) {
  for (int i = 0; i < 300; ++i) {
    const std::uint64_t seed = base_seed() + static_cast<std::uint64_t>(i);
    const Row row = random_row(seed, 12, LamKind::edges, WeightKind::positive);
    const std::vector<double> lam = edges_of(row);
    const std::vector<double> y = reference::prox_tv1d(row.x, lam, row.weight);
    const double best = reference::objective(row.x, lam, row.weight, y);
    Random random(seed);
    for (const double size : {1e-3, 1e-6}) {
      for (int trial = 0; trial < 50; ++trial) {
        std::vector<double> other = y;
        // Moves a random interval as a whole, the kind of move that matters for TV.
        const std::size_t first = random() % y.size();
        const std::size_t last = first + random() % (y.size() - first);
        const double shift = (random() % 2 == 0 ? size : -size) * (range_of(row.x) + 1e-9);
        for (std::size_t k = first; k <= last; ++k) other[k] += shift;
        ASSERT_GE(reference::objective(row.x, lam, row.weight, other), best * (1 - 1e-14))
            << row.name;
      }
    }
  }
}

}  // namespace
}  // namespace tautstring::testing
