// The instruction sets this processor and this build have.
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

/// Plain C++: for where there is no vector code, and to compare it with.
extern const CpuTarget kPortableTarget;

/// Adds what Highway made of the vector code (vector/vector_targets.cpp).
void add_vector_targets(CpuTargetList& list) noexcept;

/// All that can run here.
const CpuTargetList& cpu_target_list() noexcept;

/// The fastest where `wanted` is null or empty, else the one of that name; null
/// where the list has none.
const CpuTarget* find_cpu_target(const char* wanted) noexcept;

/// Whether calls can run: not where the environment variable TAUTSTRING_CPU asks for
/// an instruction set that is not in the list.
Status cpu_target_status() noexcept;

/// The one that calls use: what TAUTSTRING_CPU asks for, or the fastest. Where
/// cpu_target_status() is an error no call gets here.
const CpuTarget& chosen_cpu_target() noexcept;

}  // namespace tautstring::detail
