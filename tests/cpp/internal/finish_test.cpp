// From codes to values, on every instruction set: the value of a segment is the mean of the closed
// form within a few units in the last place, and segments are joined at jumps that rounding made
// up.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "cpu/vector/segment_list.h"
#include "support/rows.h"
#include "support/targets.h"

namespace tautstring::testing {
namespace {

int integer(Random& random, int low, int high) {
  return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
}

/// Memory for a stretch of n samples, with the slack that the kernels need.
template <class T>
struct ListMemory {
  explicit ListMemory(std::int32_t n)
      : starts(static_cast<std::size_t>(n + 2 * detail::kSegmentSlack)),
        values(starts.size()),
        lam(starts.size()),
        list{.starts = starts.data(),
             .values = values.data() + detail::kSegmentSlack,
             .lam = lam.data() + detail::kSegmentSlack} {}

  std::vector<detail::SegmentStart> starts;
  std::vector<T> values, lam;
  detail::SegmentList<T> list;
};

enum class LamForm { number, rows, edges };

/// Contiguous rows, cut into segments whose jumps are all real.
template <class T>
struct Stretch {
  static constexpr int kSlack = detail::kSegmentSlack;

  Stretch(Random& random, int rows, int row_length, LamForm form)
      : n(rows * row_length),
        length(row_length),
        x(static_cast<std::size_t>(n + 2 * kSlack)),
        codes(x.size()),
        edge_lam(x.size()),
        row_lam(static_cast<std::size_t>(rows)) {
    const int longest = integer(random, 0, 1) == 0 ? 3 : 120;
    lam = T(1) / static_cast<T>(integer(random, 1, 9));
    for (int r = 0; r < rows; ++r) {
      row_lam[static_cast<std::size_t>(r)] =
          form == LamForm::rows ? lam * static_cast<T>(r + 1) : lam;
      for (int at = 0, end = 0; at < row_length; at = end) {
        end = std::min(row_length, at + integer(random, 1, longest));
        add_segment(random, r, at, end);
      }
    }
    if (form == LamForm::edges) {
      for (T& own : edge_lam) own = lam * static_cast<T>(integer(random, 1, 7)) / 3;
    } else {
      for (int i = 0; i < n; ++i) edge_lam[at(i)] = row_lam[static_cast<std::size_t>(i / length)];
    }
  }

  static constexpr std::size_t at(int i) { return static_cast<std::size_t>(i + kSlack); }

  /// Steps are larger than the effect of lam.
  void add_segment(Random& random, int row, int first, int end) {
    const int start = row * length + first;
    const int way = first == 0 ? 0 : integer(random, -1, 1);
    level = first == 0 ? integer(random, -300, 300) : level + way * integer(random, 60, 90);
    codes[at(start)] = way > 0 ? Code::up : way < 0 ? Code::down : Code::plain;
    for (int i = start; i < row * length + end; ++i) {
      x[at(i)] = static_cast<T>(level + std::normal_distribution<double>()(random));
    }
  }

  /// The stretch in the form that the kernels take; y is in place of x.
  [[nodiscard]] detail::SolvedStretch<T> solved(LamForm form) {
    codes[at(n)] = Code::plain;
    detail::SolvedStretch<T> row = {.x = x.data() + kSlack,
                                    .codes = codes.data() + kSlack,
                                    .y = x.data() + kSlack,
                                    .n = n,
                                    .lam = lam};
    if (form == LamForm::edges) row.edge_lam = edge_lam.data() + kSlack;
    if (form == LamForm::rows) {
      row.row_lam = row_lam.data();
      row.row_length = length;
    }
    return row;
  }

  int n;
  int length;
  double level = 0;
  std::vector<T> x;
  std::vector<Code> codes;
  std::vector<T> edge_lam;
  std::vector<T> row_lam;
  T lam;
};

/// The closed form in extended precision, and the allowed rounding.
template <class T>
void expect_values(const Stretch<T>& stretch, const detail::SolvedStretch<T>& row,
                   const std::vector<T>& y, const std::string& what) {
  const auto code = [&](int i) { return stretch.codes[stretch.at(i)]; };
  const auto pull = [&](int i) -> long double {
    const int sign = jump_sign(code(i));
    return sign == 0 ? 0 : sign * static_cast<long double>(stretch.edge_lam[stretch.at(i - 1)]);
  };
  for (int first = 0, end = 0; first < row.n; first = end) {
    long double sum = 0;
    long double size = std::abs(pull(first));
    for (end = first; end == first || (end < row.n && code(end) == Code::continues); ++end) {
      sum += static_cast<long double>(stretch.x[stretch.at(end)]);
      size += std::abs(static_cast<long double>(stretch.x[stretch.at(end)]));
    }
    size += std::abs(pull(end));
    const long double length = end - first;
    const long double smooth = (sum + pull(end) - pull(first)) / length;
    for (int i = first; i < end; ++i) {
      const long double sample = stretch.x[stretch.at(i)];
      const long double expected =
          (row.sharp ? 2 * sample - smooth : smooth) + static_cast<long double>(row.offset);
      const long double unit = std::numeric_limits<T>::epsilon();
      const long double tolerance =
          4 * unit * (size / length + std::abs(sample)) + unit * std::abs(expected);
      ASSERT_NEAR(static_cast<double>(y[stretch.at(i)]), static_cast<double>(expected),
                  static_cast<double>(tolerance))
          << what << ", sample " << i << " of " << row.n;
    }
  }
}

class Finish : public OnEachTarget {
 protected:
  template <class T>
  void expect_closed_form() {
    int trial = 0;
    for (const LamForm form : {LamForm::number, LamForm::rows, LamForm::edges}) {
      for (const int rows : {1, 1, 2, 7}) {
        for (int length = 1; length <= 400; length += length < 70 ? 1 : 33) {
          Random random(base_seed() + static_cast<std::uint64_t>(++trial));
          const int row_length = form == LamForm::rows ? (length + 15) / 16 * 16 : length;
          Stretch<T> stretch(random, rows, row_length, form);
          const Stretch<T> before = stretch;
          detail::SolvedStretch<T> row = stretch.solved(form);
          row.sharp = trial % 3 == 0;
          row.offset = trial % 5 == 0 ? T(1000) : T(0);
          // A piece of a row, between two jumps.
          if (form != LamForm::rows && trial % 4 == 0) {
            row.codes[0] = Code::up;
            row.codes[row.n] = Code::down;
          }
          Stretch<T> expected = before;
          expected.codes = stretch.codes;
          if (form != LamForm::edges) expected.edge_lam[expected.at(-1)] = before.lam;
          ListMemory<T> memory(row.n);
          kernels<T>().finish(row, memory.list);
          expect_values(expected, row, stretch.x, "trial " + std::to_string(trial));
          if (HasFatalFailure()) return;
          ASSERT_EQ(stretch.codes, expected.codes);
          // Nothing is written outside of the stretch.
          for (int i = 1; i <= stretch.kSlack; ++i) {
            ASSERT_EQ(stretch.x[stretch.at(-i)], 0);
            ASSERT_EQ(stretch.x[stretch.at(row.n + i - 1)], 0);
          }
        }
      }
    }
  }

  /// If a jump's code and the difference of the values disagree, the two segments are joined; the
  /// joined segment may have to be joined again.
  template <class T>
  void expect_joined() {
    // Values 1 | 1 (up: a tie) | 5 (up) | 5.5 (down: the wrong way) | 0 (down).
    const std::vector<T> samples = {1, 1, 2, 0, 5, 5, T(5.5), T(5.5), 0, 0};
    std::vector<Code> codes(samples.size() + detail::kSegmentSlack);
    const auto set = [&](std::size_t i, Code code) { codes[i] = code; };
    set(0, Code::plain);
    set(2, Code::up);
    set(4, Code::up);
    set(6, Code::down);
    set(8, Code::down);
    std::vector<T> x(samples.size() + detail::kSegmentSlack);
    std::copy(samples.begin(), samples.end(), x.begin());
    const auto n = static_cast<std::int32_t>(samples.size());
    std::vector<T> y = x;
    ListMemory<T> memory(n);
    codes[samples.size()] = Code::plain;
    kernels<T>().finish({.x = x.data(), .codes = codes.data(), .y = y.data(), .n = n, .lam = 0},
                        memory.list);
    y.resize(samples.size());
    EXPECT_EQ(y, (std::vector<T>{1, 1, 1, 1, T(5.25), T(5.25), T(5.25), T(5.25), 0, 0}));
    set(2, Code::continues);
    set(6, Code::continues);
    codes.resize(samples.size());
    EXPECT_EQ(codes, (std::vector<Code>{Code::plain, Code::continues, Code::continues,
                                        Code::continues, Code::up, Code::continues, Code::continues,
                                        Code::continues, Code::down, Code::continues}));
  }
};

TEST_P(Finish, GivesTheClosedFormInFloat32) {
  expect_closed_form<float>();
}
TEST_P(Finish, GivesTheClosedFormInFloat64) {
  expect_closed_form<double>();
}
TEST_P(Finish, JoinsAcrossJumpsThatAreNotRealInFloat32) {
  expect_joined<float>();
}
TEST_P(Finish, JoinsAcrossJumpsThatAreNotRealInFloat64) {
  expect_joined<double>();
}

TAUTSTRING_ON_EACH_TARGET(Finish);

}  // namespace
}  // namespace tautstring::testing
