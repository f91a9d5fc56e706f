// The search that devices run, on the host: whole rows and pieces of them, against the
// reference and against one another.
#include "step/piece_search.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "reference/tv1d_reference.h"
#include "support/borders.h"
#include "support/rows.h"

namespace tautstring::testing {
namespace {

using detail::kGroup;

template <class T>
struct Lams {
  static constexpr bool kUniform = false;
  T lam[kGroup];
  T operator[](int j) const { return lam[j]; }
};

/// A row with one lam an edge.
template <class T>
class Row1d {
 public:
  Row1d(const std::vector<double>& x, const std::vector<double>& lam) {
    for (const double value : x) x_.push_back(static_cast<T>(value - x[0]));
    for (const double value : lam) lam_.push_back(static_cast<T>(value));
    lam_.resize(x.size());
  }
  [[nodiscard]] static T zero() { return 0; }
  static void prepare(std::int32_t /*first*/, std::int32_t /*next*/, std::int32_t /*last*/) {}
  [[nodiscard]] T sample(std::int32_t i) const { return x_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] T lam(std::int32_t i) const { return lam_[static_cast<std::size_t>(i)]; }
  Lams<T> load(std::int32_t i, std::int32_t last, T (&samples)[kGroup]) const {
    Lams<T> lams = {};
    for (int j = 0; j < kGroup; ++j) {
      samples[j] = i + j < last ? sample(i + j) : std::numeric_limits<T>::quiet_NaN();
      if (i + j < last) lams.lam[j] = lam(i + j);
    }
    return lams;
  }

 private:
  std::vector<T> x_, lam_;
};

template <class T>
struct Found {
  explicit Found(std::size_t n) : codes(n, Code::continues), values(n) {}
  void put(std::int32_t first, bool is_real, bool down, T value) {
    if (!is_real) return;
    codes[static_cast<std::size_t>(first)] = first == 0 ? Code::plain
                                             : down     ? Code::down
                                                        : Code::up;
    values[static_cast<std::size_t>(first)] = value;
  }
  std::vector<Code> codes;
  std::vector<T> values;
  bool gave_up = false;
};

template <class T>
using Search = detail::SlopeSearch<T, detail::PlainArithmetic<T>, true>;

template <class T>
Found<T> search_row(const Row1d<T>& row, std::int32_t n) {
  Found<T> found(static_cast<std::size_t>(n));
  const detail::Piece piece = {0, n, Code::plain, Code::continues, true};
  found.gave_up = detail::search_piece<Search<T>, T>(row, piece, found).gave_up;
  return found;
}

/// The same in pieces that begin where two searches meet, a chunk apart; they look for that
/// over `reach` samples.
template <class T>
Found<T> search_pieces(const Row1d<T>& row, std::int32_t n, std::int32_t chunk, std::int32_t reach,
                       int& pieces) {
  Found<T> found(static_cast<std::size_t>(n));
  std::vector<detail::CommonJump> starts = {{true, 0, Code::plain}};
  for (std::int32_t at = chunk; at < n; at += chunk) {
    const auto jump =
        detail::find_common_jump<Search<T>, T>(row, at, std::min(at + reach, n), n, true);
    if (jump.found) starts.push_back(jump);
  }
  std::sort(starts.begin(), starts.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const bool is_last = i + 1 == starts.size();
    const detail::Piece piece = {starts[i].first, is_last ? n : starts[i + 1].first, starts[i].code,
                                 is_last ? Code::continues : starts[i + 1].code, true};
    if (piece.first == piece.last) continue;  // two chunks met at the same jump
    ++pieces;
    found.gave_up |= detail::search_piece<Search<T>, T>(row, piece, found).gave_up;
  }
  return found;
}

template <class T>
class PieceSearch : public ::testing::Test {};
using Types = ::testing::Types<float, double>;
TYPED_TEST_SUITE(PieceSearch, Types);

TYPED_TEST(PieceSearch, FindsTheExactBordersOnSmallIntegers) {
  Random random(base_seed());
  for (int trial = 0; trial < 500; ++trial) {
    const std::size_t n = 1 + random() % 90;
    std::vector<double> x(n), lam(n - 1);
    for (double& value : x) value = static_cast<double>(random() % 7);
    for (double& value : lam) value = static_cast<double>(1 + random() % 8) / 4;
    const auto found = search_row(Row1d<TypeParam>(x, lam), static_cast<std::int32_t>(n));
    if (found.gave_up) continue;
    std::vector<Code> codes = found.codes;
    ASSERT_EQ(codes[0], Code::plain);
    codes[0] = Code::continues;
    ASSERT_EQ(codes, exact_borders(x, lam)) << "trial " << trial;
  }
}

TYPED_TEST(PieceSearch, FindsTheReferencesValuesOnEveryFamily) {
  Random random(base_seed());
  const double tolerance = sizeof(TypeParam) == sizeof(float) ? 1e-6 : 1e-12;
  for (const Family& family : families()) {
    for (const double lam_size : {0.01, 0.3, 4.0}) {
      const int n = 300;
      std::vector<double> x = family.make(random, n);
      for (double& value : x) value = static_cast<double>(static_cast<TypeParam>(value));
      std::vector<double> lam(n - 1);
      for (double& value : lam) value = lam_size * static_cast<double>(1 + random() % 3);
      for (double& value : lam) value = static_cast<double>(static_cast<TypeParam>(value));
      const auto found = search_row(Row1d<TypeParam>(x, lam), n);
      if (found.gave_up) continue;
      const std::vector<double> expected = reference::prox_tv1d(x, lam);
      double value = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        if (found.codes[i] != Code::continues) value = static_cast<double>(found.values[i]);
        ASSERT_NEAR(value + x[0], expected[i], tolerance * (range_of(x) + 1e-30))
            << family.name << ", lam " << lam_size << ", element " << i;
      }
    }
  }
}

TYPED_TEST(PieceSearch, FindsTheSameInPieces) {
  Random random(base_seed());
  int pieces = 0;
  for (int trial = 0; trial < 100; ++trial) {
    const std::int32_t n = 200 + static_cast<std::int32_t>(random() % 400);
    std::vector<double> x(static_cast<std::size_t>(n)), lam(x.size() - 1);
    for (double& value : x) value = std::normal_distribution<double>()(random);
    for (double& value : lam) value = 0.05 + static_cast<double>(trial % 20) / 10;
    const Row1d<TypeParam> row(x, lam);
    const auto whole = search_row(row, n);
    ASSERT_FALSE(whole.gave_up);
    for (const std::int32_t reach : {16, 64, 256}) {
      const auto in_pieces = search_pieces(row, n, 32, reach, pieces);
      ASSERT_EQ(whole.codes, in_pieces.codes) << "trial " << trial << ", reach " << reach;
      // Both are 0 where no segment starts.
      ASSERT_EQ(whole.values, in_pieces.values) << "trial " << trial << ", reach " << reach;
    }
  }
  EXPECT_GT(pieces, 1500);
}

TYPED_TEST(PieceSearch, GivesUpOnARampRatherThanReadItAgainAndAgain) {
  std::vector<double> x(4000), lam(3999, 1e5);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i);
  EXPECT_TRUE(search_row(Row1d<TypeParam>(x, lam), 4000).gave_up);
}

}  // namespace
}  // namespace tautstring::testing
