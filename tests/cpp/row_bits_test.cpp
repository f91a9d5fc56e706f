// A row has the same bits alone and anywhere in a batch, for any neighbours, any number of threads,
// any layout, and any workspace. Rows of all kinds are mixed: rows that the lanes solve, rows whose
// lam needs wider arithmetic or makes them flat, rows with an offset, and rows that need care.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "support/solve.h"
#include "tautstring/error.h"

namespace tautstring::testing {
namespace {

struct RowOfAKind {
  const char* kind;
  std::vector<double> x;
  double lam;
};

/// Two rows of each kind.
std::vector<RowOfAKind> mixed_rows(Random& random, int n) {
  std::vector<RowOfAKind> rows;
  const auto normal = [&] { return std::normal_distribution<double>()(random); };
  const auto add = [&](const char* kind, double lam, auto sample) {
    std::vector<double> x(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i) x[static_cast<std::size_t>(i)] = sample(i);
    rows.push_back({kind, std::move(x), lam});
  };
  for (int twice = 0; twice < 2; ++twice) {
    add("short segments", 0.05, [&](int) { return normal(); });
    add("noise", 1, [&](int) { return normal(); });
    add("long segments", 10, [&](int) { return normal(); });
    add("tenths", 0.7, [&](int) { return 0.1 * static_cast<double>(random() % 10); });
    add("small integers", 1.25, [&](int) { return static_cast<double>(random() % 5); });
    add("ramp", 2000, [&](int i) { return static_cast<double>(i); });
    add("ramp and noise", 30, [&](int i) { return -i + 0.3 * normal(); });
    add("sine", 20, [&](int i) { return 100 * std::sin(0.01 * i); });
    add("constant", 1, [&](int) { return 0.3; });
    add("offset", 1, [&](int) { return 1000 + normal(); });
    add("lam above 8 times the range", 50, [&](int) { return normal(); });
    add("flat", 1e9, [&](int) { return normal(); });
    add("infinite lam", std::numeric_limits<double>::infinity(), [&](int) { return normal(); });
    add("lam 0", 0, [&](int) { return normal(); });
    add("NaN", 1, [&](int i) { return i == n / 2 ? std::nan("") : normal(); });
    add("infinite sample", 1,
        [&](int i) { return i == n / 3 ? std::numeric_limits<double>::infinity() : normal(); });
    add("huge", 1e37, [&](int) { return 1e37 * normal(); });
    add("tiny", 1e-36, [&](int) { return 1e-36 * normal(); });
  }
  return rows;
}

/// The bits of one row's result.
struct Bits {
  std::vector<std::byte> y;
  std::vector<std::uint32_t> partition;
  bool operator==(const Bits&) const = default;
};

enum class Layout { rows, apart, columns, strided };
enum class LamForm { number, rows, edges, equal_edges };

/// Where element i of row r lies, and how much memory that takes.
struct Places {
  Places(Layout layout, std::int64_t rows, std::int64_t n) {
    switch (layout) {
      case Layout::rows: row = n; break;
      case Layout::apart: row = n + 5; break;
      case Layout::columns:
        row = 1;
        step = rows;
        break;
      case Layout::strided:
        row = 3;
        step = 3 * rows + 2;
        break;
    }
    size = (rows - 1) * row + (n - 1) * step + 1;
  }
  std::int64_t row = 1;
  std::int64_t step = 1;
  std::int64_t size;
};

struct Setting {
  DType dtype = DType::float32;
  Layout layout = Layout::rows;
  LamForm lam = LamForm::rows;
  Mode mode = Mode::smooth;
  int threads = 0;  // 0: no executor
  bool workspace = false;
  bool in_place = false;

  [[nodiscard]] std::string text() const {
    return "dtype " + std::to_string(static_cast<int>(dtype)) + ", layout " +
           std::to_string(static_cast<int>(layout)) + ", lam " +
           std::to_string(static_cast<int>(lam)) + ", mode " +
           std::to_string(static_cast<int>(mode)) + ", threads " + std::to_string(threads) +
           (workspace ? ", workspace" : "") + (in_place ? ", in place" : "");
  }
};

/// lam of an edge, from that of the row.
double lam_of_edge(double lam, std::int64_t e) {
  return lam * (1 + 0.25 * static_cast<double>(e % 3));
}

std::vector<Bits> solve(const std::vector<const RowOfAKind*>& rows, const Setting& setting) {
  const auto count = static_cast<std::int64_t>(rows.size());
  const auto n = static_cast<std::int64_t>(rows[0]->x.size());
  const Places at(setting.layout, count, n);
  const bool by_edge = setting.lam == LamForm::edges || setting.lam == LamForm::equal_edges;
  const std::int64_t edges = by_edge ? n - 1 : 1;
  std::vector<double> all(static_cast<std::size_t>(at.size));
  std::vector<double> lam(static_cast<std::size_t>(count * edges));
  for (std::int64_t r = 0; r < count; ++r) {
    const RowOfAKind& row = *rows[static_cast<std::size_t>(r)];
    for (std::int64_t i = 0; i < n; ++i) {
      all[static_cast<std::size_t>(r * at.row + i * at.step)] = row.x[static_cast<std::size_t>(i)];
    }
    for (std::int64_t e = 0; e < edges; ++e) {
      lam[static_cast<std::size_t>(r * edges + e)] =
          setting.lam == LamForm::edges ? lam_of_edge(row.lam, e) : row.lam;
    }
  }
  Array x(setting.dtype, all);
  Array y(setting.dtype, setting.in_place ? 0 : all.size());
  Array& out = setting.in_place ? x : y;
  const auto rows_of = [&](Array& array) {
    return view(array.view().data, setting.dtype, {count, n}, {at.row, at.step});
  };

  std::unique_ptr<ThreadExecutor> executor;
  if (setting.threads > 0) executor = std::make_unique<ThreadExecutor>(setting.threads);
  Context context = {.executor = executor.get()};
  std::unique_ptr<void, decltype(&std::free)> memory(nullptr, std::free);
  if (setting.workspace) {
    std::size_t bytes = 0;
    EXPECT_TRUE(prox_tv1d_workspace(rows_of(x), false, -1, context, bytes).ok());
    memory.reset(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
    std::memset(memory.get(), 0xFF, bytes);  // NaN: the old contents must not matter
    context.workspace = memory.get();
    context.workspace_size = bytes;
  }
  const auto words = static_cast<std::size_t>(partition_words(n));
  std::vector<std::uint32_t> partition(words * rows.size());
  const Lam given =
      setting.lam == LamForm::number ? Lam(rows[0]->lam) : Lam(view(lam.data(), {count, edges}));
  const Status status = prox_tv1d({.x = rows_of(x), .lam = given, .mode = setting.mode},
                                  rows_of(out), partition, context);
  EXPECT_TRUE(status.ok()) << message(status);

  const auto item = static_cast<std::size_t>(size_of(setting.dtype));
  std::vector<Bits> bits(rows.size());
  for (std::size_t r = 0; r < bits.size(); ++r) {
    bits[r].partition.assign(partition.begin() + static_cast<std::ptrdiff_t>(r * words),
                             partition.begin() + static_cast<std::ptrdiff_t>((r + 1) * words));
    for (std::int64_t i = 0; i < n; ++i) {
      const auto place =
          static_cast<std::size_t>(static_cast<std::int64_t>(r) * at.row + i * at.step);
      const auto* from = out.bytes().data() + place * item;
      bits[r].y.insert(bits[r].y.end(), from, from + item);
    }
  }
  return bits;
}

constexpr std::array kLengths = {1,  2,  3,   15,  16,  17,  31,  32,
                                 33, 64, 100, 128, 224, 256, 257, 1000};

class RowBits : public ::testing::TestWithParam<DType> {
 protected:
  /// The bits of every row, solved alone in a plain call.
  static std::vector<Bits> each_alone(const std::vector<RowOfAKind>& rows, Setting setting) {
    setting.layout = Layout::rows;
    setting.threads = 0;
    setting.workspace = setting.in_place = false;
    std::vector<Bits> alone;
    for (const RowOfAKind& row : rows) alone.push_back(solve({&row}, setting)[0]);
    return alone;
  }

  /// Solves `count` rows of the pool, in any combination, in one call.
  static void expect_bits_in_a_batch(const std::vector<RowOfAKind>& pool,
                                     const std::vector<Bits>& alone, std::size_t count,
                                     const Setting& setting, Random& random) {
    std::vector<std::size_t> chosen(count);
    for (std::size_t& which : chosen) which = random() % pool.size();
    std::vector<const RowOfAKind*> batch;
    for (const std::size_t which : chosen) batch.push_back(&pool[which]);
    const std::vector<Bits> together = solve(batch, setting);
    for (std::size_t r = 0; r < count; ++r) {
      ASSERT_TRUE(together[r] == alone[chosen[r]])
          << "row " << r << " of " << count << ", n " << batch[r]->x.size() << ", "
          << batch[r]->kind << ", " << setting.text();
    }
  }
};

TEST_P(RowBits, AreTheSameAloneAndAnywhereInABatch) {
  constexpr std::array kThreads = {0, 1, 2, 3, 7};
  std::size_t trial = 0;
  for (const int n : kLengths) {
    Random random(base_seed() + static_cast<std::uint64_t>(n));
    const std::vector<RowOfAKind> pool = mixed_rows(random, n);
    for (const LamForm lam : {LamForm::rows, LamForm::edges}) {
      for (const Mode mode : {Mode::smooth, Mode::sharp}) {
        Setting setting = {.dtype = GetParam(), .lam = lam, .mode = mode};
        const std::vector<Bits> alone = each_alone(pool, setting);
        for (const std::size_t count : {2, 3, 4, 9, 17, 40, 129, 300}) {
          if (count * static_cast<std::size_t>(n) > 70000 && mode == Mode::sharp) continue;
          setting.layout = static_cast<Layout>(trial % 4);
          setting.threads = kThreads[trial % kThreads.size()];
          setting.workspace = trial / 2 % 2 == 0;
          setting.in_place = trial / 3 % 3 == 0;
          ++trial;
          expect_bits_in_a_batch(pool, alone, count, setting, random);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST_P(RowBits, AreTheSameInBatchesOfAnySize) {
  for (const int n : {16, 19}) {
    Random random(base_seed());
    const std::vector<RowOfAKind> pool = mixed_rows(random, n);
    for (const LamForm lam : {LamForm::rows, LamForm::edges}) {
      Setting setting = {.dtype = GetParam(), .lam = lam};
      const std::vector<Bits> alone = each_alone(pool, setting);
      for (std::size_t count = 1; count <= 300; ++count) {
        setting.layout = static_cast<Layout>(count % 4);
        expect_bits_in_a_batch(pool, alone, count, setting, random);
        if (HasFatalFailure()) return;
      }
    }
  }
}

/// One lam for different rows, some of which leave the fast path.
TEST_P(RowBits, AreTheSameUnderOneLam) {
  for (const int n : {1, 5, 16, 19, 32, 224}) {
    Random random(base_seed() + static_cast<std::uint64_t>(n));
    for (const double lam : {0.01, 1.0, 300.0, std::numeric_limits<double>::infinity()}) {
      std::vector<RowOfAKind> pool = mixed_rows(random, n);
      for (RowOfAKind& row : pool) row.lam = lam;
      Setting setting = {.dtype = GetParam(), .lam = LamForm::number};
      const std::vector<Bits> alone = each_alone(pool, setting);
      for (const std::size_t count : {2, 5, 40, 150}) {
        expect_bits_in_a_batch(pool, alone, count, setting, random);
        if (HasFatalFailure()) return;
      }
    }
  }
}

/// Rows so long that they are cut into pieces: rows that can be cut everywhere, in parts, or
/// nowhere, and rows whose path is not decided at their start.
std::vector<RowOfAKind> long_rows(Random& random, int n) {
  std::vector<RowOfAKind> rows = mixed_rows(random, n);
  rows.resize(rows.size() / 2);
  const auto normal = [&] { return std::normal_distribution<double>()(random); };
  const auto add = [&](const char* kind, double lam, auto sample) {
    std::vector<double> x(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i) x[static_cast<std::size_t>(i)] = sample(i);
    rows.push_back({kind, std::move(x), lam});
  };
  add("very long segments", 30, [&](int) { return normal(); });
  add("noise, then a slope", 1, [&](int i) { return normal() + std::max(0, i - n / 2); });
  add("noise around a plateau", 2, [&](int i) { return i / (n / 4) == 2 ? 0.5 : normal(); });
  add("zeros, then noise", 1, [&](int i) { return i < 70'000 ? 0 : normal(); });
  add("one side, then both", 1, [&](int i) { return normal() + (i < 70'000 ? 50 : -50); });
  add("NaN at the end", 1, [&](int i) { return i == n - 1 ? std::nan("") : normal(); });
  return rows;
}

TEST_P(RowBits, OfLongRowsAreTheSameForAnyThreadsAndLayouts) {
  constexpr std::array kThreads = {1, 2, 3, 8};
  std::size_t trial = 0;
  for (const int n : {65'536, 160'003}) {
    Random random(base_seed() + static_cast<std::uint64_t>(n));
    const std::vector<RowOfAKind> pool = long_rows(random, n);
    for (const LamForm lam : {LamForm::rows, LamForm::edges}) {
      Setting setting = {.dtype = GetParam(), .lam = lam};
      const std::vector<Bits> alone = each_alone(pool, setting);
      for (const std::size_t count : {1, 2, 1, 3}) {
        setting.layout = static_cast<Layout>(trial % 4);
        setting.threads = kThreads[trial % kThreads.size()];
        setting.workspace = trial % 2 == 0;
        setting.in_place = trial / 2 % 2 == 0;
        ++trial;
        for (std::size_t r = 0; r < pool.size(); r += 2 * count) {
          expect_bits_in_a_batch(pool, alone, count, setting, random);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

/// The arithmetic of a row with a large lam is float64. Its solver shares memory with that of the
/// row before it, which at this length once overwrote addresses in it.
TEST(LongRowBits, WithALargeLamAreTheSameAfterAnotherRow) {
  constexpr std::int64_t kSamples = 263'067;
  Random random(base_seed());
  std::normal_distribution<float> noise;
  std::vector<float> x(2 * kSamples);
  for (float& sample : x) sample = noise(random);
  for (auto sample = x.begin() + kSamples; sample != x.end(); ++sample) *sample /= 256;
  std::vector<float> alone(kSamples), y(x.size());
  const ConstView second = view(std::as_const(x).data() + kSamples, {1, kSamples});
  ASSERT_TRUE(prox_tv1d({.x = second, .lam = 0.7}, view(alone.data(), {1, kSamples})).ok());
  const ConstView both = view(std::as_const(x).data(), {2, kSamples});
  ASSERT_TRUE(prox_tv1d({.x = both, .lam = 0.7}, view(y.data(), {2, kSamples})).ok());
  EXPECT_TRUE(std::equal(alone.begin(), alone.end(), y.begin() + kSamples));
}

/// Batches of one kind: the rows of a tile select the shape of the search.
TEST_P(RowBits, AreTheSameAmongNeighboursOfAnotherKind) {
  for (const int n : {32, 100, 224, 1000}) {
    Random random(base_seed() + static_cast<std::uint64_t>(n));
    const std::vector<RowOfAKind> pool = mixed_rows(random, n);
    const Setting setting = {.dtype = GetParam()};
    const std::vector<Bits> alone = each_alone(pool, setting);
    for (const RowOfAKind& neighbour : pool) {
      std::vector<const RowOfAKind*> batch(pool.size() + 64, &neighbour);
      for (std::size_t r = 0; r < pool.size(); ++r) batch[r + 20] = &pool[r];
      const std::vector<Bits> together = solve(batch, setting);
      for (std::size_t r = 0; r < pool.size(); ++r) {
        ASSERT_TRUE(together[r + 20] == alone[r])
            << pool[r].kind << " among rows of " << neighbour.kind << ", n " << n;
      }
    }
  }
}

/// One lam for all, one per row and one per edge give the same result if they are equal.
TEST_P(RowBits, AreTheSameHoweverLamIsGiven) {
  for (const int n : kLengths) {
    Random random(base_seed() + static_cast<std::uint64_t>(n));
    const std::vector<RowOfAKind> pool = mixed_rows(random, n);
    for (const RowOfAKind& row : pool) {
      const std::vector<const RowOfAKind*> batch(5, &row);
      Setting setting = {.dtype = GetParam(), .lam = LamForm::number};
      const std::vector<Bits> by_number = solve(batch, setting);
      for (const LamForm form : {LamForm::rows, LamForm::equal_edges}) {
        setting.lam = form;
        ASSERT_TRUE(solve(batch, setting) == by_number)
            << row.kind << ", n " << n << ", " << setting.text();
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(DTypes, RowBits,
                         ::testing::Values(DType::float64, DType::float32, DType::bfloat16),
                         [](const auto& test) { return dtype_name(test.param); });

}  // namespace
}  // namespace tautstring::testing
