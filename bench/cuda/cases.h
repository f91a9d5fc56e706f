// What is measured: data, shape and penalty of each case. The goals are in bench/cuda_goals.py.
#pragma once

#include <tautstring/tautstring.h>

#include <cstdint>
#include <string>
#include <vector>

namespace bench {

enum class Family : std::uint8_t {
  noise,           // standard normal around a unit step in mid-row
  faint_noise,     // the same with a tenth of the noise
  sine,            // 1 to 8 periods a row, random phase
  walk,            // 8-bit random walk: integers 0..255
  constants,       // a row is one number
  ramp,            // 0, 1, 2, ...: the worst case of methods that go back
  ramp_noise,      // the ramp with standard normal noise
  noise_one_ramp,  // noise, but the row in the middle is a ramp
};

enum class LamKind : std::uint8_t { number, per_row, per_edge };

/// Rows side by side: `width` 1 for plain rows, else images of n x width solved along columns.
struct Layout {
  std::int64_t images = 0;
  std::int64_t n = 0;
  std::int64_t width = 1;

  [[nodiscard]] constexpr std::int64_t rows() const { return images * width; }
  [[nodiscard]] constexpr std::int64_t elements() const { return rows() * n; }
  /// The row whose data and penalty differ in Family::noise_one_ramp.
  [[nodiscard]] constexpr std::int64_t middle_row() const { return rows() / 2; }
};

inline constexpr double kRampLam = 2000;  // also of the one ramp among noise

struct Case {
  std::string group;  // the goals are by group
  Family family = Family::noise;
  Layout layout;
  double lam = 1;
  LamKind lam_kind = LamKind::number;
  std::vector<tautstring::DType> dtypes = {tautstring::DType::float32};
  bool with_backward = true;
  bool with_graph = false;  // also replayed from a CUDA graph, and beside an empty launch

  [[nodiscard]] std::string name() const;  // group/family/shape/lam
  [[nodiscard]] std::vector<std::int64_t> shape() const;
  [[nodiscard]] int dim() const { return layout.width == 1 ? -1 : 1; }
  /// Penalties a row: 0 where it is one number for all.
  [[nodiscard]] std::int64_t lams_a_row() const;
};

/// All cases; those whose number of rows is free have about `elements` elements.
[[nodiscard]] std::vector<Case> all_cases(std::int64_t elements);

/// Those that Newton solves, too.
[[nodiscard]] std::vector<Case> newton_cases();

}  // namespace bench
