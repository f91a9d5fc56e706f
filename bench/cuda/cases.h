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
  sine,            // 1 to 8 periods per row, random phase
  walk,            // 8-bit random walk: integers 0..255
  constants,       // each row is one number
  ramp,            // 0, 1, 2, ...: the worst case for methods that go back
  ramp_noise,      // the ramp with standard normal noise
  noise_one_ramp,  // noise, with a ramp as the middle row
};

enum class LamKind : std::uint8_t { number, per_row, per_edge };

/// A batch of rows: `width` is 1 for plain rows, otherwise images of n x width solved along
/// columns.
struct Layout {
  std::int64_t images = 0;
  std::int64_t n = 0;
  std::int64_t width = 1;

  [[nodiscard]] constexpr std::int64_t rows() const { return images * width; }
  [[nodiscard]] constexpr std::int64_t elements() const { return rows() * n; }
  /// The row whose data and penalty differ in Family::noise_one_ramp.
  [[nodiscard]] constexpr std::int64_t middle_row() const { return rows() / 2; }
};

inline constexpr double kRampLam = 2000;  // also for the one ramp among noise

struct Case {
  std::string group;  // goals are set per group
  Family family = Family::noise;
  Layout layout;
  double lam = 1;
  LamKind lam_kind = LamKind::number;
  std::vector<tautstring::DType> dtypes = {tautstring::DType::float32};
  bool with_backward = true;
  bool with_graph = false;  // also replayed from a CUDA graph, and compared with an empty launch

  [[nodiscard]] std::string name() const;  // group/family/shape/lam
  [[nodiscard]] std::vector<std::int64_t> shape() const;
  [[nodiscard]] int dim() const { return layout.width == 1 ? -1 : 1; }
  /// Penalties per row: 0 if there is one number for all rows.
  [[nodiscard]] std::int64_t lams_a_row() const;
};

/// All cases. Those without a fixed number of rows have about `elements` elements.
[[nodiscard]] std::vector<Case> all_cases(std::int64_t elements);

/// The cases that Newton solves too.
[[nodiscard]] std::vector<Case> newton_cases();

}  // namespace bench
