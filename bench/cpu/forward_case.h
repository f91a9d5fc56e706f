// A forward case: its data, shape and penalty.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data.h"

namespace bench {

enum class LamKind : std::uint8_t { number, per_row, per_edge_equal, per_edge_varied };

struct ForwardCase {
  std::string group;  // selects what the case is compared with, and its goals
  Data data;
  double lam = 0;
  LamKind lam_kind = LamKind::number;
  bool columns = false;  // square images of data.n x data.n, solved along their columns
  std::vector<int> threads = {1};
  bool with_peers = false;
  bool with_bf16 = false;

  [[nodiscard]] std::string name() const;  // group/family/shape/lam
  [[nodiscard]] std::vector<std::int64_t> shape() const;
  [[nodiscard]] int dim() const { return columns ? 1 : -1; }
};

[[nodiscard]] std::vector<ForwardCase> forward_cases();

/// The penalties of a case with an array of them: in [lam / 2, 3 lam / 2], or all equal. float32,
/// like the data, so that every solver gets the same problem.
[[nodiscard]] std::vector<float> lam_values(const ForwardCase& c);

}  // namespace bench
