// The instruction sets that both this processor and this build support.
#pragma once

#include <array>
#include <span>

#include "cpu/vector/vector_kernels.h"
#include "tautstring/status.h"

namespace tautstring::detail {

/// Fastest first; the last one, "portable", is always there.
class CpuTargetList {
 public:
  void add(const CpuTarget& target) noexcept {
    names_[count_] = target.name;
    targets_[count_++] = &target;
  }
  [[nodiscard]] std::span<const CpuTarget* const> all() const noexcept {
    return {targets_.data(), count_};
  }
  [[nodiscard]] std::span<const char* const> names() const noexcept {
    return {names_.data(), count_};
  }

 private:
  static constexpr std::size_t kMost = 4;
  std::array<const CpuTarget*, kMost> targets_{};
  std::array<const char*, kMost> names_{};
  std::size_t count_ = 0;
};

/// Plain C++: used where there is no vector code, and to compare the vector code with.
extern const CpuTarget kPortableTarget;

/// Adds the targets that Highway compiled the vector code for (vector/vector_targets.cpp).
void add_vector_targets(CpuTargetList& list) noexcept;

/// All targets that can run here.
const CpuTargetList& cpu_target_list() noexcept;

/// Returns the fastest target if `wanted` is null or empty, else the one of that name; null if the
/// list has none.
const CpuTarget* find_cpu_target(const char* wanted) noexcept;

/// Whether calls can run: an error if the environment variable TAUTSTRING_CPU names an instruction
/// set that is not in the list.
Status cpu_target_status() noexcept;

/// The target that calls use: the one that TAUTSTRING_CPU names, or the fastest. Not called if
/// cpu_target_status() is an error.
const CpuTarget& chosen_cpu_target() noexcept;

}  // namespace tautstring::detail
