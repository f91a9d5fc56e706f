// The search that devices run, on the host: whole rows and pieces of them, against the reference
// and against each other.
#include "step/piece_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "cuda/tuning/tuning_forward.h"
#include "reference/tv1d_reference.h"
#include "support/borders.h"
#include "support/rows.h"
#include "support/solve.h"

namespace tautstring::testing {
namespace {

using detail::kGroup;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <class T, bool kOneLam>
struct Lams {
  static constexpr bool kUniform = kOneLam;
  T lam[kGroup];
  T operator[](int j) const { return lam[j]; }
};

/// A row with a lam per edge; kOneLam: which is the same for all.
template <class T, bool kOneLam = false>
class Row1d {
 public:
  Row1d(const std::vector<double>& x, const std::vector<double>& lam)
      : origin_(static_cast<T>(x[0])) {
    // As on a device: see origin_of_row.
    if (sizeof(T) > sizeof(float))
      origin_ = origin_ / 2 + static_cast<T>(x[x.size() > 1 ? 1 : 0]) / 2;
    for (const double value : x) x_.push_back(static_cast<T>(value) - origin_);
    // As on a device, an infinite lam is one that no edge can ever reach.
    for (const double value : lam) lam_.push_back(static_cast<T>(std::min(value, 0x1p100)));
    lam_.resize(x.size(), kOneLam && !lam.empty() ? lam_[0] : T(0));
  }
  [[nodiscard]] std::int32_t size() const { return static_cast<std::int32_t>(x_.size()); }
  [[nodiscard]] static T zero() { return 0; }
  static void prepare(std::int32_t /*first*/, std::int32_t /*next*/, std::int32_t /*last*/) {}
  [[nodiscard]] T origin() const { return origin_; }
  [[nodiscard]] T sample(std::int32_t i) const { return x_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] T lam(std::int32_t i) const { return lam_[static_cast<std::size_t>(i)]; }
  Lams<T, kOneLam> load(std::int32_t i, std::int32_t last, T (&samples)[kGroup]) const {
    Lams<T, kOneLam> lams = {};
    for (int j = 0; j < kGroup; ++j) {
      samples[j] = i + j < last ? sample(i + j) : std::numeric_limits<T>::quiet_NaN();
      if (i + j < last) lams.lam[j] = lam(i + j);
    }
    return lams;
  }

 private:
  T origin_;
  std::vector<T> x_, lam_;
};

template <class T>
struct Found {
  explicit Found(std::size_t n) : codes(n, Code::continues), values(n) {}
  void put(std::int32_t first, bool is_real, bool down, T value) {
    if (first_value != first_value) first_value = value;
    if (!is_real) return;
    last_value = value;
    codes[static_cast<std::size_t>(first)] = first == 0 ? Code::plain
                                             : down     ? Code::down
                                                        : Code::up;
    values[static_cast<std::size_t>(first)] = value;
  }
  /// Takes the start of a piece back if that jump, too, is made up by rounding.
  void join(const detail::Piece& piece, T value_before) {
    if (piece.first == 0) return;
    if (detail::is_real_jump(piece.code == Code::down, value_before, first_value)) return;
    codes[static_cast<std::size_t>(piece.first)] = Code::continues;
  }
  std::vector<Code> codes;
  std::vector<T> values;
  T first_value = std::numeric_limits<T>::quiet_NaN();  // of a piece
  T last_value = std::numeric_limits<T>::quiet_NaN();
  /// The values of all samples.
  [[nodiscard]] std::vector<double> spread(T origin) const {
    std::vector<double> all;
    for (std::size_t i = 0; i < codes.size(); ++i) {
      all.push_back(codes[i] != Code::continues ? static_cast<double>(values[i] + origin)
                                                : all.back());
    }
    return all;
  }
  bool gave_up = false;
  bool is_odd = false;
};

template <class T>
using Search = detail::SlopeSearch<T, detail::PlainArithmetic<T>>;

/// No more exact than a device may be: fused operations, and reciprocals that are often off by a
/// unit in the last place.
struct RoughArithmetic : detail::PlainArithmetic<float> {
  static float reciprocal(float length) {
    const float exact = 1 / length;
    const std::uint32_t kind = std::bit_cast<std::uint32_t>(length) * 2654435761U >> 30;
    return kind == 0   ? std::nextafter(exact, 0.0F)
           : kind == 1 ? std::nextafter(exact, 2.0F)
                       : exact;
  }
  static float quotient(float total, float u, float share) {
    return std::fma(u, share, total * share);
  }
  template <bool kMayHaveCrossed>
  void tighten(detail::Bounds<float>& bounds, const detail::NextSample<float>& next) const {
    detail::tighten_bounds<kMayHaveCrossed, RoughArithmetic>(bounds, next);
  }
};
using RoughSearch = detail::SlopeSearch<float, RoughArithmetic>;

template <class Search, class T, bool kOneLam>
Found<T> search_row(const Row1d<T, kOneLam>& row) {
  Found<T> found(static_cast<std::size_t>(row.size()));
  const detail::Piece piece = {0, row.size(), Code::plain, Code::continues, true};
  const detail::PieceResult result = detail::search_piece<Search, T>(row, piece, found);
  found.gave_up = result.gave_up;
  found.is_odd = result.is_odd;
  return found;
}

/// The same in pieces that begin where two searches meet, a chunk apart; they look for that
/// over `reach` samples.
template <class Search, class T, bool kOneLam>
Found<T> search_pieces(const Row1d<T, kOneLam>& row, std::int32_t chunk, std::int32_t reach,
                       int& pieces) {
  const std::int32_t n = row.size();
  Found<T> found(static_cast<std::size_t>(n));
  std::vector<detail::CommonJump> starts = {{true, 0, Code::plain}};
  for (std::int32_t at = chunk; at < n; at += chunk) {
    const auto jump =
        detail::find_common_jump<Search, T>(row, at, std::min(at + reach, n), n, true);
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
    const T value_before = found.last_value;
    found.first_value = std::numeric_limits<T>::quiet_NaN();
    const detail::PieceResult result = detail::search_piece<Search, T>(row, piece, found);
    found.gave_up |= result.gave_up;
    found.is_odd |= result.is_odd;
    found.join(piece, value_before);
  }
  return found;
}

/// As kernels do with rows of one lam: whole where a lane holds the row, else in pieces.
template <class Search>
Found<float> search_as_kernels_do(const Row1d<float, true>& row) {
  constexpr auto kMostWhole = static_cast<std::int32_t>(detail::kMostWholeRowBytes / sizeof(float));
  if (row.size() <= kMostWhole) return search_row<Search>(row);
  const std::int32_t chunk = 1 << detail::split_log_chunk(row.size());
  int pieces = 0;
  return search_pieces<Search>(row, chunk, chunk, pieces);
}

void expect_certified(const std::vector<double>& x, double lam, const std::vector<double>& y) {
  const auto n = static_cast<std::int64_t>(x.size());
  double certificate = 0;
  ASSERT_TRUE(certificate1d({.x = view(x.data(), {n}), .lam = lam}, view(y.data(), {n}),
                            view(&certificate, {1}))
                  .ok());
  EXPECT_LE(certificate, certificate_tolerance(DType::float64, {"", x, {lam}, {}}));
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
    const auto found = search_row<Search<TypeParam>>(Row1d<TypeParam>(x, lam));
    if (found.gave_up) continue;
    std::vector<Code> codes = found.codes;
    ASSERT_EQ(codes[0], Code::plain);
    codes[0] = Code::continues;
    ASSERT_EQ(codes, exact_borders(x, lam)) << "trial " << trial;
  }
}

TEST(PieceSearch, FindsTheExactBordersOnSmallIntegersWithADevicesRounding) {
  Random random(base_seed());
  for (int trial = 0; trial < 2000; ++trial) {
    const std::size_t n = 1 + random() % 200;
    std::vector<double> x(n);
    for (double& value : x) value = static_cast<double>(random() % 7);
    const std::vector<double> lam(n - 1, static_cast<double>(1 + random() % 40) / 4);
    const auto found = search_row<RoughSearch>(Row1d<float, true>(x, lam));
    ASSERT_FALSE(found.gave_up);
    std::vector<Code> codes = found.codes;
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
      const Row1d<TypeParam> row(x, lam);
      const auto found = search_row<Search<TypeParam>>(row);
      if (found.gave_up) continue;
      const std::vector<double> expected = reference::prox_tv1d(x, lam);
      const std::vector<double> y = found.spread(row.origin());
      for (std::size_t i = 0; i < x.size(); ++i) {
        ASSERT_NEAR(y[i], expected[i], tolerance * (range_of(x) + 1e-30))
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
    const auto whole = search_row<Search<TypeParam>>(row);
    ASSERT_FALSE(whole.gave_up);
    for (const std::int32_t reach : {16, 64, 256}) {
      const auto in_pieces = search_pieces<Search<TypeParam>>(row, 32, reach, pieces);
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
  EXPECT_TRUE(search_row<Search<TypeParam>>(Row1d<TypeParam>(x, lam)).gave_up);
}

/// The last value may well be finite.
TYPED_TEST(PieceSearch, TellsThatASampleIsNotFinite) {
  Random random(base_seed());
  int pieces = 0;
  for (const double bad : {kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN()}) {
    for (const std::size_t n : {1, 2, 33, 300}) {
      for (std::size_t place = 0; place < n; ++place) {
        std::vector<double> x(n);
        for (double& value : x) value = std::normal_distribution<double>()(random);
        x[place] = bad;
        const Row1d<TypeParam> row(x, std::vector<double>(n - 1, 0.7));
        EXPECT_TRUE(search_row<Search<TypeParam>>(row).is_odd) << bad << " at " << place;
        EXPECT_TRUE(search_pieces<Search<TypeParam>>(row, 32, 32, pieces).is_odd)
            << bad << " at " << place << ", in pieces";
      }
    }
  }
}

/// The promise for float64, of which sums that grow would lose digits.
TEST(PieceSearch, Float64IsCertifiedOnEveryFamily) {
  std::vector<Family> all = families();
  all.insert(all.end(), worst_families().begin(), worst_families().end());
  all.insert(all.end(), plateau_families().begin(), plateau_families().end());
  int gave_up = 0;
  for (const Family& family : all) {
    for (const int n : {16, 100, 300, 1000, 2610, 4096}) {
      for (const double size : {1e-3, 0.05, 0.3, 1.0, 4.0, 16.0, 256.0}) {
        Random random(base_seed() + static_cast<std::uint64_t>(n));
        const std::vector<double> x = family.make(random, n);
        const double lam = 0.83 * size * range_of(x);
        if (lam == 0 || lam > n * range_of(x) / 4) continue;
        SCOPED_TRACE(std::string(family.name) + ", n " + std::to_string(n) + ", lam " +
                     std::to_string(lam));
        const Row1d<double, true> row(x, std::vector<double>(x.size() - 1, lam));
        const auto found = search_row<Search<double>>(row);
        gave_up += found.gave_up ? 1 : 0;
        if (!found.gave_up) expect_certified(x, lam, found.spread(row.origin()));
      }
    }
  }
  EXPECT_LT(gave_up, 100);
}

TEST(PieceSearch, Float64IsCertifiedForAMillionSamples) {
  for (const Family& family : worst_families()) {
    SCOPED_TRACE(family.name);
    Random random(base_seed());
    const std::vector<double> x = family.make(random, 1'000'000);
    const Row1d<double, true> row(x, std::vector<double>(x.size() - 1, 3.0));
    const auto found = search_row<Search<double>>(row);
    if (!found.gave_up) expect_certified(x, 3, found.spread(row.origin()));
  }
}

/// What may be wrong with a row in float32.
struct Flaws {
  double error = 0;      // beyond a unit in the last place, by the row's range
  double false_cut = 0;  // the height of a jump that the optimum does not have, likewise
  int cut_runs = 0;      // equal neighbours that a jump parts
};

Flaws flaws_of(const Found<float>& found, const std::vector<double>& x,
               const std::vector<double>& optimum) {
  Flaws flaws;
  const double range = range_of(x);
  double value = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double before = value;
    const bool starts = found.codes[i] != Code::continues;
    if (starts) value = static_cast<double>(found.values[i] + static_cast<float>(x[0]));
    const double unit = unit_in_last_place(DType::float32, optimum[i]);
    flaws.error = std::max(flaws.error, (std::abs(value - optimum[i]) - unit) / range);
    if (i == 0 || !starts) continue;
    if (std::abs(optimum[i] - optimum[i - 1]) < 1e-13 * range) {
      flaws.false_cut = std::max(flaws.false_cut, std::abs(value - before) / range);
    }
    if (x[i] == x[i - 1]) ++flaws.cut_runs;
  }
  return flaws;
}

/// A row in float32, as float64 numbers.
std::vector<double> float32_row(const Family& family, Random& random, int n) {
  std::vector<double> x = family.make(random, n);
  for (double& value : x) value = static_cast<double>(static_cast<float>(value));
  return x;
}

/// Calls use(x, lam), lam from 1e-4 of the range up to where the row becomes constant, for rows
/// of many lengths; makes more of the short ones.
template <class Use>
void for_each_plateau_row(const Family& family, const Use& use) {
  Random random(base_seed());
  for (const int n : {16, 33, 64, 100, 256, 300, 1000, 2048, 4096, 8192}) {
    const int trials = std::clamp(4000 / n, 2, 20);
    for (int trial = 0; trial < trials; ++trial) {
      for (const double size : {1e-4, 1e-3, 0.01, 0.05, 0.3, 1.0, 4.0, 16.0, 256.0}) {
        const std::vector<double> x = float32_row(family, random, n);
        const double range = range_of(x);
        const double lam = size * range * std::uniform_real_distribution<double>(0.6, 1)(random);
        if (range == 0 || lam > n * range / 4) continue;
        use(x, static_cast<double>(static_cast<float>(lam)), random);
      }
    }
  }
}

/// A row and its optimum.
struct SolvedRow {
  SolvedRow(const std::vector<double>& samples, const std::vector<double>& lams)
      : x(samples), lam(lams), y(reference::prox_tv1d(x, lam)) {}

  std::vector<double> x, lam, y;
};

class PlateauSearch : public ::testing::TestWithParam<Family> {
 protected:
  /// The promise of docs/numerics.md, and jumps of two units in the last place. Where lam differs
  /// from edge to edge the optimum may jump within a run of equal samples.
  void expect_flawless(const std::string& how, const SolvedRow& row, const Found<float>& found,
                       bool cuts_runs = false) {
    ++rows_;
    if (found.gave_up) {
      ++gave_up_;
      return;
    }
    const Flaws flaws = flaws_of(found, row.x, row.y);
    const std::string what =
        how + ", n " + std::to_string(row.x.size()) + ", lam " + std::to_string(row.lam[0]);
    EXPECT_LE(flaws.error, 1e-6) << what;
    EXPECT_LE(flaws.false_cut, 0x1p-22) << what;
    EXPECT_TRUE(cuts_runs || flaws.cut_runs == 0) << what;
  }
  /// A row that gives up is solved in float64, which proves nothing here.
  void TearDown() override { EXPECT_LT(10 * gave_up_, rows_); }

 private:
  int rows_ = 0;
  int gave_up_ = 0;
};

TEST_P(PlateauSearch, KeepsFloat32sPromiseWithOneLam) {
  for_each_plateau_row(GetParam(), [&](const std::vector<double>& x, double lam, Random&) {
    const SolvedRow solved(x, std::vector<double>(x.size() - 1, lam));
    const Row1d<float, true> row(solved.x, solved.lam);
    expect_flawless("whole", solved, search_row<Search<float>>(row));
    expect_flawless("as kernels do", solved, search_as_kernels_do<Search<float>>(row));
    expect_flawless("with a device's rounding", solved, search_as_kernels_do<RoughSearch>(row));
  });
}

TEST_P(PlateauSearch, KeepsFloat32sPromiseWithALamPerEdge) {
  for_each_plateau_row(GetParam(), [&](const std::vector<double>& x, double lam, Random& random) {
    const SolvedRow equal(x, std::vector<double>(x.size() - 1, lam));
    expect_flawless("equal", equal, search_row<RoughSearch>(Row1d<float>(equal.x, equal.lam)));
    std::vector<double> lams = equal.lam;
    for (double& one : lams) one *= static_cast<double>(1 + random() % 4) / 4;
    for (double& one : lams) one = random() % 50 == 0 ? kInfinity : one;
    for (double& one : lams) one = static_cast<double>(static_cast<float>(one));
    const SolvedRow varied(x, lams);
    const Row1d<float> row(varied.x, varied.lam);
    expect_flawless("varied", varied, search_row<Search<float>>(row), true);
    expect_flawless("varied, with a device's rounding", varied, search_row<RoughSearch>(row), true);
  });
}

INSTANTIATE_TEST_SUITE_P(Families, PlateauSearch, ::testing::ValuesIn(plateau_families()),
                         [](const auto& family) { return std::string(family.param.name); });

}  // namespace
}  // namespace tautstring::testing
