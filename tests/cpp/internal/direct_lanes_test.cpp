// The direct method in lanes against the one in plain C++: the same jumps and the
// same hand-overs, bit for bit, on every instruction set, in every shape.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "step/direct.h"
#include "support/rows.h"
#include "support/targets.h"

namespace tautstring::testing {
namespace {

using detail::HandedOver;
using detail::JobEnd;
using detail::LaneShape;

int integer(Random& random, int low, int high) {
  return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
}

/// Jobs of many lengths and kinds in one tile.
template <class T>
struct Tile {
  static constexpr int kSlack = detail::kReadAhead;

  Tile(Random& random, int jobs, bool gaps) {
    append(kSlack, 99);
    for (int j = 0; j < jobs; ++j) add_job(random, gaps ? integer(random, 0, 20) : 0);
    append(kSlack, 99);
    first.resize(first.size() + detail::kLaneSlack, detail::kNoJob);
    last.resize(first.size(), detail::kNoJob);
    for (auto* by_job : {&lam, &u_start, &u_end}) by_job->resize(first.size());
  }

  /// Values outside of a job must not matter.
  void append(int count, T value) {
    x.insert(x.end(), static_cast<std::size_t>(count), value);
    edge_lam.insert(edge_lam.end(), static_cast<std::size_t>(count), value);
  }

  void add_job(Random& random, int gap) {
    append(gap, static_cast<T>(integer(random, -50, 50)));
    const int n = integer(random, 0, 3) == 0 ? integer(random, 1, 4) : integer(random, 1, 200);
    const int kind = integer(random, 0, 8);
    const T unit = kind == 0 ? T(1) / 3 : kind == 1 ? T(1) / 7 : T(1);
    const bool exact = kind <= 3;
    const T slope = static_cast<T>(integer(random, -4, 4));
    const T own_lam =
        kind >= 6 ? static_cast<T>(integer(random, 2, 60)) * std::max(std::abs(slope), T(0.25))
        : exact   ? static_cast<T>(integer(random, 1, 12)) * (kind < 2 ? unit / 2 : T(0.25))
                  : static_cast<T>(std::exp(0.05 * integer(random, -60, 80)));
    const bool with_zeros = integer(random, 0, 7) == 0;
    first.push_back(static_cast<std::int32_t>(x.size() - kSlack));
    last.push_back(first.back() + n - 1);
    lam.push_back(own_lam);
    const T ends[] = {-own_lam, 0, own_lam, own_lam / 2};
    u_start.push_back(ends[random() % 4]);
    u_end.push_back(ends[random() % 4]);
    for (int i = 0; i < n; ++i) {
      const auto noise = static_cast<T>(std::normal_distribution<double>()(random));
      T value = unit * static_cast<T>(integer(random, -5, 5));            // grids and integers
      if (kind == 4 || kind == 5) value = noise;                          // noise
      if (kind == 6) value = slope * static_cast<T>(i);                   // ramps, which give up
      if (kind == 7) value = slope * static_cast<T>(i) + noise / 2 + 50;  // and noise on them
      // Ramps that first earn credit by short segments.
      if (kind == 8) value = slope * static_cast<T>(i);
      if (kind == 8 && i < n / 8) value = own_lam * static_cast<T>(i % 2 == 0 ? 9 : -9);
      x.push_back(value);
      const bool zero = with_zeros && integer(random, 0, 7) == 0;
      edge_lam.push_back(zero ? 0 : own_lam * static_cast<T>(integer(random, 1, 8)) / 4);
    }
  }

  [[nodiscard]] int count() const { return static_cast<int>(first.size()) - detail::kLaneSlack; }
  [[nodiscard]] const T* samples() const { return x.data() + kSlack; }

  /// lam by edge; a row has none after its last sample.
  [[nodiscard]] std::vector<T> edges(JobEnd end) const {
    std::vector<T> edges = edge_lam;
    for (int j = 0; end == JobEnd::row && j < count(); ++j) {
      edges[static_cast<std::size_t>(last[static_cast<std::size_t>(j)] + kSlack)] = 0;
    }
    return edges;
  }

  std::vector<T> x, edge_lam;
  std::vector<std::int32_t> first, last;
  std::vector<T> lam, u_start, u_end;
};

/// Jumps, including those after which a job was handed over, and the hand-overs in order.
struct Jumps {
  std::vector<Code> codes;
  std::vector<HandedOver> handed_over;

  void settle(const int slack) {
    for (const HandedOver& rest : handed_over) {
      codes[static_cast<std::size_t>(rest.sample + slack)] = rest.code;
    }
    std::sort(handed_over.begin(), handed_over.end(),
              [](const auto& a, const auto& b) { return a.sample < b.sample; });
  }
  bool operator==(const Jumps& other) const {
    const auto same = [](const HandedOver& a, const HandedOver& b) {
      return a.sample == b.sample && a.code == b.code;
    };
    return codes == other.codes &&
           std::equal(handed_over.begin(), handed_over.end(), other.handed_over.begin(),
                      other.handed_over.end(), same);
  }
};

template <JobEnd kEnd, class T>
Jumps find_one_by_one(const Tile<T>& tile, const T* edges) {
  Jumps jumps{std::vector<Code>(tile.x.size()), {}};
  for (std::size_t j = 0; j < static_cast<std::size_t>(tile.count()); ++j) {
    const HandedOver rest = detail::find_jumps_directly<kEnd, T>({.x = tile.samples(),
                                                                  .edge_lam = edges,
                                                                  .first = tile.first[j],
                                                                  .last = tile.last[j],
                                                                  .lam = tile.lam[j],
                                                                  .u_start = tile.u_start[j],
                                                                  .u_end = tile.u_end[j]},
                                                                 jumps.codes.data() + tile.kSlack);
    if (rest.sample >= 0) jumps.handed_over.push_back(rest);
  }
  jumps.settle(tile.kSlack);
  return jumps;
}

template <class T>
Jumps find_in_lanes(const detail::VectorKernels<T>& kernels, const Tile<T>& tile, const T* edges,
                    JobEnd end, LaneShape shape) {
  Jumps jumps{std::vector<Code>(tile.x.size()), {}};
  jumps.handed_over.resize(static_cast<std::size_t>(tile.count()));
  detail::FoundJumps found = {.codes = jumps.codes.data() + tile.kSlack,
                              .handed_over = jumps.handed_over.data()};
  kernels.find_jumps({.count = tile.count(),
                      .first = tile.first.data(),
                      .last = tile.last.data(),
                      .lam = tile.lam.data(),
                      .u_start = tile.u_start.data(),
                      .u_end = tile.u_end.data(),
                      .x = tile.samples(),
                      .edge_lam = edges},
                     end, shape, found);
  EXPECT_LE(found.handed_over_count, tile.count());
  jumps.handed_over.resize(static_cast<std::size_t>(found.handed_over_count));
  jumps.settle(tile.kSlack);
  return jumps;
}

struct Seen {
  std::size_t jumps = 0;
  std::size_t handed_over = 0;
};

template <JobEnd kEnd, class T>
void expect_same_jumps(const detail::VectorKernels<T>& kernels, const Tile<T>& tile,
                       const std::string& what, Seen& seen) {
  const std::vector<T> by_sample = tile.edges(kEnd);
  for (const T* edges : {static_cast<const T*>(nullptr), by_sample.data() + tile.kSlack}) {
    const Jumps expected = find_one_by_one<kEnd>(tile, edges);
    for (const LaneShape shape : {LaneShape::single_samples, LaneShape::short_segments,
                                  LaneShape::medium_segments, LaneShape::long_segments}) {
      ASSERT_TRUE(find_in_lanes(kernels, tile, edges, kEnd, shape) == expected)
          << what << (edges == nullptr ? ", one lam" : ", lam by edge") << ", shape "
          << static_cast<int>(shape);
    }
    seen.handed_over += expected.handed_over.size();
    seen.jumps +=
        expected.codes.size() - static_cast<std::size_t>(std::count(
                                    expected.codes.begin(), expected.codes.end(), Code::continues));
  }
}

class DirectLanes : public OnEachTarget {
 protected:
  template <JobEnd kEnd, class T>
  void expect_jumps_of_the_plain_code() {
    Seen seen;
    for (int jobs = 1; jobs <= 100; ++jobs) {
      for (const bool gaps : {false, true}) {
        const auto seed = base_seed() + static_cast<std::uint64_t>(2 * jobs + gaps);
        Random random(seed);
        const Tile<T> tile(random, jobs, gaps);
        const std::string what = std::to_string(jobs) + " jobs, seed " + std::to_string(seed);
        expect_same_jumps<kEnd>(kernels<T>(), tile, what, seen);
        if (HasFatalFailure()) return;
      }
    }
    // The compared cases do occur.
    EXPECT_GT(seen.jumps, 100000U);
    EXPECT_GT(seen.handed_over, 500U);
  }
};

TEST_P(DirectLanes, FindTheJumpsOfThePlainCodeInRowsOfFloat32) {
  expect_jumps_of_the_plain_code<JobEnd::row, float>();
}
TEST_P(DirectLanes, FindTheJumpsOfThePlainCodeInRowsOfFloat64) {
  expect_jumps_of_the_plain_code<JobEnd::row, double>();
}
TEST_P(DirectLanes, FindTheJumpsOfThePlainCodeInPiecesOfFloat32) {
  expect_jumps_of_the_plain_code<JobEnd::piece, float>();
}
TEST_P(DirectLanes, FindTheJumpsOfThePlainCodeInPiecesOfFloat64) {
  expect_jumps_of_the_plain_code<JobEnd::piece, double>();
}
TEST_P(DirectLanes, FindTheJumpsOfThePlainCodeInOpenStretchesOfFloat32) {
  expect_jumps_of_the_plain_code<JobEnd::open, float>();
}
TEST_P(DirectLanes, FindTheJumpsOfThePlainCodeInOpenStretchesOfFloat64) {
  expect_jumps_of_the_plain_code<JobEnd::open, double>();
}

TAUTSTRING_ON_EACH_TARGET(DirectLanes);

}  // namespace
}  // namespace tautstring::testing
