// The solution by levels, on the host: lanes run one after the other, on a device all at once.
#include "step/threshold_split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/borders.h"
#include "support/rows.h"

namespace tautstring::testing {
namespace {

using detail::ClampedShift;
using detail::OpenEnds;
using detail::Side;

class SplitRow {
 public:
  SplitRow(const std::vector<double>& x, const std::vector<double>& lam)
      : n_(static_cast<std::int32_t>(x.size())), lam_(lam), codes_(x.size()) {
    for (const double value : x) x_.push_back(value - x[0]);
    lam_.push_back(0);  // after the last sample: never used
    codes_[0] = Code::plain;
  }

  /// Splits with lanes of `chunk` samples. Returns the number of levels.
  int split(std::int32_t chunk) {
    int levels = 1;
    while (split_level(chunk)) ++levels;
    return levels;
  }
  [[nodiscard]] const std::vector<Code>& codes() const { return codes_; }

  [[nodiscard]] double sample(std::int32_t i) const { return at(x_, i); }
  [[nodiscard]] double lam(std::int32_t e) const { return at(lam_, e); }
  [[nodiscard]] Code code(std::int32_t i) const { return at(codes_, i); }
  void cut(std::int32_t i, bool down) {
    ASSERT_EQ(code(i), Code::continues);
    codes_[static_cast<std::size_t>(i)] = down ? Code::down : Code::up;
  }

 private:
  template <class T>
  [[nodiscard]] static const T& at(const std::vector<T>& values, std::int32_t i) {
    return values[static_cast<std::size_t>(i)];
  }
  [[nodiscard]] std::int32_t border_before(std::int32_t i) const {
    while (code(i) == Code::continues) --i;
    return i;
  }
  /// The segment that contains sample i.
  [[nodiscard]] detail::SharedSegment segment_of(std::int32_t i) const {
    detail::SharedSegment segment = {border_before(i), i + 1, 0};
    while (segment.last < n_ && code(segment.last) == Code::continues) ++segment.last;
    for (std::int32_t k = segment.first; k < segment.last; ++k) segment.sum += sample(k);
    return segment;
  }

  bool split_level(std::int32_t chunk) {
    std::vector<detail::SplitLane<SplitRow>> lanes;
    std::vector<double> incoming;
    ClampedShift carried;
    for (std::int32_t first = 0; first < n_; first += chunk) {
      const std::int32_t last = std::min(first + chunk, n_);
      lanes.emplace_back(*this, first, last, n_, segment_of(first), segment_of(last - 1));
      incoming.push_back(carried.high);
      carried = carried.then(lanes.back().carry());
    }
    std::vector<OpenEnds> ends;
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
      ends.push_back(lanes[lane].walk(incoming[lane]));
    }
    bool any = false;
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
      std::size_t behind = lane + 1;
      while (behind < lanes.size() && ends[behind].head == Side::unknown) ++behind;
      any = any || ends[lane].any_cut;
      if (behind < lanes.size()) {
        any = lanes[lane].cut_between(ends[lane], ends[behind].head) || any;
      }
    }
    return any;
  }

  std::int32_t n_;
  std::vector<double> x_, lam_;
  std::vector<Code> codes_;
};

TEST(ThresholdSplit, FindsTheExactBordersOnSmallIntegers) {
  Random random(base_seed());
  for (int trial = 0; trial < 2000; ++trial) {
    const std::size_t n = 1 + random() % 90;
    std::vector<double> x(n), lam(n - 1);
    for (double& value : x) value = static_cast<double>(random() % 7);
    for (double& value : lam) value = static_cast<double>(1 + random() % 20) / 4;
    if (trial % 2 == 0) std::fill(lam.begin(), lam.end(), 1.75);
    for (const std::int32_t chunk : {1, 5, 16, 100}) {
      SplitRow row(x, lam);
      row.split(chunk);
      std::vector<Code> expected = exact_borders(x, lam);
      expected[0] = Code::plain;
      ASSERT_EQ(row.codes(), expected) << "trial " << trial << ", chunks of " << chunk;
    }
  }
}

TEST(ThresholdSplit, FindsTheSameHoweverManyLanesShareARow) {
  Random random(base_seed());
  for (const Family& family : families()) {
    for (const double lam_size : {0.01, 0.3, 4.0}) {
      const std::vector<double> x = family.make(random, 300);
      const std::vector<double> lam(299, lam_size);
      SplitRow whole(x, lam);
      whole.split(300);
      for (const std::int32_t chunk : {16, 37, 160}) {
        SplitRow row(x, lam);
        row.split(chunk);
        ASSERT_EQ(row.codes(), whole.codes()) << family.name << ", lam " << lam_size;
      }
    }
  }
}

TEST(ThresholdSplit, HalvesARowThatRisesEvenly) {
  std::vector<double> x(4096), lam(4095, 2000);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i);
  EXPECT_LE(SplitRow(x, lam).split(128), 14);
}

TEST(ThresholdSplit, NeedsNoMoreLevelsThanATypeHasPowersOfTwo) {
  std::vector<double> x(250), lam(249, 1e-30);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::ldexp(1.0, static_cast<int>(i) - 120);
  EXPECT_LE(SplitRow(x, lam).split(16), 100);
}

}  // namespace
}  // namespace tautstring::testing
