// The instruction sets this processor and this build have.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "cpu/vector/vector_kernels.h"

namespace tautline::detail {

/// Fastest first; the last one, "portable", is always there.
class CpuTargetList {
 public:
  void add(const CpuTarget& target) noexcept { targets_[count_++] = &target; }
  [[nodiscard]] std::span<const CpuTarget* const> all() const noexcept {
    return {targets_.data(), count_};
  }

 private:
  std::array<const CpuTarget*, 4> targets_{};
  std::size_t count_ = 0;
};

/// Plain C++: for where there is no vector code, and to compare it with.
extern const CpuTarget kPortableTarget;

/// Adds what Highway made of the vector code (vector/targets.cpp).
void add_vector_targets(CpuTargetList& list) noexcept;

/// All that can run here.
const CpuTargetList& cpu_target_list() noexcept;

/// The one that calls use: the fastest, or what the environment variable
/// TAUTLINE_CPU names where that is in the list.
const CpuTarget& chosen_cpu_target() noexcept;

}  // namespace tautline::detail
