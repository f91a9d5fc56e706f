// Cuts are jumps that the search along the whole row finds, in order. Their places do not depend on
// the instruction set or on which of them are searched for together.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "cpu/row_cuts.h"
#include "step/direct.h"
#include "support/rows.h"
#include "support/targets.h"

namespace tautstring::testing {
namespace {

using detail::Cut;
using detail::CutPlan;

constexpr std::int32_t kLength = 150'000;

template <class T>
struct LongRow {
  LongRow(T lam, bool by_edge, Random& random) {
    std::normal_distribution<double> normal;
    for (std::int32_t i = 0; i < kLength; ++i) {
      // A third of it is a slope, on which searches meet late.
      const double slope = std::clamp(i - kLength / 3, 0, kLength / 3);
      x.push_back(static_cast<T>(normal(random) + slope));
      edge_lam.push_back(lam * (by_edge ? static_cast<T>(1 + i % 3) / 2 : T{1}));
    }
    edge_lam.back() = 0;
    tube = {
        .x = x.data(), .edge_lam = by_edge ? edge_lam.data() : nullptr, .lam = lam, .n = kLength};
  }

  std::vector<T> x, edge_lam;
  detail::RowTube<T> tube;
};

/// The jumps of a whole row, up to where the direct method gives up.
template <class T>
std::vector<Code> jumps_of(const detail::RowTube<T>& tube) {
  std::vector<Code> codes(kLength);
  const detail::DirectJob<T> job = {.x = tube.x,
                                    .edge_lam = tube.edge_lam,
                                    .first = 0,
                                    .last = kLength - 1,
                                    .lam = tube.lam,
                                    .u_start = 0,
                                    .u_end = 0};
  const auto rest = detail::find_jumps_directly<detail::JobEnd::row>(job, codes.data());
  if (rest.sample >= 0) codes.resize(static_cast<std::size_t>(rest.sample));
  return codes;
}

template <class T>
struct Found {
  Found(const LongRow<T>& row, const detail::VectorKernels<T>& kernels, std::int32_t together) {
    const auto take_jobs = [&](std::byte* block) {
      detail::Scratch scratch(block);
      jobs = detail::JobScratch<T>(scratch);
      return scratch.used();
    };
    const std::size_t bytes = take_jobs(nullptr);
    const std::unique_ptr<std::byte, decltype(&std::free)> block(
        static_cast<std::byte*>(std::aligned_alloc(64, bytes)), std::free);
    take_jobs(block.get());
    const detail::CutFinder<T> finder(row.tube, kernels);
    std::vector<Code> codes(kLength + detail::kReadAhead, Code::plain);
    plan = finder.plan(detail::CutLimits::of_long_row(kLength), codes.data(), jobs);
    cuts.resize(static_cast<std::size_t>(plan.count));
    for (std::int32_t c = 0; c < plan.count; c += together) {
      finder.find(plan, c, std::min(c + together, plan.count), cuts.data(), codes.data(), jobs);
    }
  }
  detail::JobScratch<T> jobs;
  CutPlan plan;
  std::vector<Cut> cuts;
};

class RowCuts : public OnEachTarget {
 protected:
  template <class T>
  void expect_cuts_at_jumps() const {
    Random random(base_seed());
    for (const bool by_edge : {false, true}) {
      for (const T lam : {T(0.05), T(1), T(10)}) {
        SCOPED_TRACE(lam);
        const LongRow<T> row(lam, by_edge, random);
        const Found<T> found(row, kernels<T>(), detail::kJobsATime);
        const std::vector<Code> jumps = jumps_of(row.tube);
        ASSERT_LE(found.plan.count, CutPlan::most(kLength));
        std::int32_t before = 0;
        std::int32_t count = 0;
        for (const Cut cut : found.cuts) {
          if (!is_found(cut)) continue;
          ++count;
          ASSERT_GT(cut.sample, before);
          before = cut.sample;
          const auto place = static_cast<std::size_t>(cut.sample);
          if (place >= jumps.size()) continue;
          ASSERT_EQ(jumps[place], cut.code) << place;
        }
        EXPECT_GT(count, 8);
        EXPECT_LT(before, kLength - 1);
      }
    }
  }

  template <class T>
  void expect_same_cuts_as_plain() const {
    Random random(base_seed());
    for (const T lam : {T(0.05), T(1), T(10)}) {
      const LongRow<T> row(lam, false, random);
      const Found<T> plain(row, detail::kPortableTarget.kernels<T>(), detail::kJobsATime);
      for (const std::int32_t together : {1, 5, detail::kJobsATime}) {
        const Found<T> found(row, kernels<T>(), together);
        ASSERT_EQ(found.cuts.size(), plain.cuts.size());
        for (std::size_t c = 0; c < plain.cuts.size(); ++c) {
          ASSERT_EQ(found.cuts[c].sample, plain.cuts[c].sample);
          ASSERT_EQ(found.cuts[c].code, plain.cuts[c].code);
        }
      }
    }
  }
};

TEST_P(RowCuts, AreJumpsOfTheWholeRow) {
  expect_cuts_at_jumps<float>();
  expect_cuts_at_jumps<double>();
}

TEST_P(RowCuts, DependOnTheRowAlone) {
  expect_same_cuts_as_plain<float>();
  expect_same_cuts_as_plain<double>();
}

TAUTSTRING_ON_EACH_TARGET(RowCuts);

TEST(CutPlan, OfARowOnWhichNothingMeetsHasNoPlaces) {
  Random random(base_seed());
  LongRow<double> row(1, false, random);
  std::ranges::fill(row.x, 0.5);
  EXPECT_EQ(Found<double>(row, detail::kPortableTarget.kernels<double>(), 1).plan.count, 0);
}

}  // namespace
}  // namespace tautstring::testing
