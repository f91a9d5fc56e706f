// A row that is searched in pieces has the jumps of one search along it, code by code.
#include "cpu/row_split.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <memory>
#include <vector>

#include "support/rows.h"
#include "support/targets.h"

namespace tautstring::testing {
namespace {

/// A row with room for what lanes read past its end, and before its start.
template <class T>
struct Searched {
  Searched(const std::vector<double>& values, T lam, bool by_edge)
      : x(values.begin(), values.end()),
        edge_lam(x.size()),
        n(static_cast<std::int32_t>(x.size())) {
    for (std::size_t i = 0; i + 1 < x.size(); ++i) edge_lam[i] = lam * T(1 + i % 3) / 2;
    x.resize(x.size() + detail::kReadAhead);
    edge_lam.resize(x.size());
    row = {.x = x.data(), .edge_lam = by_edge ? edge_lam.data() : nullptr, .lam = lam, .n = n};
    clear();
  }
  void clear() { codes.assign(x.size() + detail::kReadAhead, Code::continues); }

  /// Returns whether one search finds all jumps.
  bool search_at_once() {
    clear();
    const detail::DirectJob<T> job = {.x = row.x,
                                      .edge_lam = row.edge_lam,
                                      .first = 0,
                                      .last = n - 1,
                                      .lam = row.lam,
                                      .u_start = 0,
                                      .u_end = 0};
    return detail::find_jumps_directly<detail::JobEnd::row>(job, codes.data()).sample < 0;
  }
  bool search_in_pieces(const detail::VectorKernels<T>& kernels) {
    clear();
    const auto take = [&](std::byte* block) {
      detail::Scratch scratch(block);
      split = detail::RowSplitScratch<T>(scratch);
      return scratch.used();
    };
    const std::unique_ptr<std::byte, decltype(&std::free)> block(
        static_cast<std::byte*>(std::aligned_alloc(64, take(nullptr))), std::free);
    take(block.get());
    return detail::RowSplit<T>(row, kernels, split, codes.data()).find_jumps();
  }
  [[nodiscard]] std::vector<Code> found() const { return {codes.begin(), codes.begin() + n}; }

  std::vector<T> x, edge_lam;
  std::int32_t n;
  detail::RowTube<T> row;
  detail::RowSplitScratch<T> split;
  std::vector<Code> codes;
};

class RowsInPieces : public OnEachTarget {
 protected:
  /// Returns how many rows were searched in pieces.
  template <class T>
  int expect_jumps_of_one_search(const std::vector<Family>& rows, std::uint64_t seed) const {
    Random random(seed);
    int in_pieces = 0;
    for (const Family& family : rows) {
      for (const int n : {512, 1000, 4096, 20'000}) {
        const std::vector<double> values = family.make(random, n);
        for (const double lam : {0.02, 0.05, 0.3, 1.0, 3.0, 10.0}) {
          for (const bool by_edge : {false, true}) {
            Searched<T> searched(values, static_cast<T>(lam), by_edge);
            if (!searched.search_in_pieces(kernels<T>())) {
              EXPECT_EQ(searched.found(), std::vector<Code>(values.size(), Code::continues));
              continue;
            }
            ++in_pieces;
            const std::vector<Code> codes = searched.found();
            EXPECT_TRUE(searched.search_at_once());
            EXPECT_EQ(codes, searched.found())
                << family.name << ", " << n << " samples, lam " << lam << ", by edge " << by_edge;
          }
        }
      }
    }
    return in_pieces;
  }
};

TEST_P(RowsInPieces, HaveTheJumpsOfOneSearch) {
  const int in_pieces = expect_jumps_of_one_search<float>(families(), base_seed()) +
                        expect_jumps_of_one_search<double>(families(), base_seed());
  if (kernels<float>().lanes == 1) {
    EXPECT_EQ(in_pieces, 0);
  } else {
    EXPECT_GT(in_pieces, 40);
  }
}

TEST_P(RowsInPieces, HaveTheJumpsOfOneSearchOnHardRows) {
  expect_jumps_of_one_search<float>(worst_families(), base_seed() + 1);
  expect_jumps_of_one_search<double>(worst_families(), base_seed() + 1);
  expect_jumps_of_one_search<float>(plateau_families(), base_seed() + 2);
  expect_jumps_of_one_search<double>(plateau_families(), base_seed() + 2);
}

TAUTSTRING_ON_EACH_TARGET(RowsInPieces);

}  // namespace
}  // namespace tautstring::testing
