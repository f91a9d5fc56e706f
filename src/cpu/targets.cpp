#include "cpu/targets.h"

#include <cstdlib>

namespace tautline::detail {

const CpuTargetList& cpu_target_list() noexcept {
  static const CpuTargetList list = [] {
    CpuTargetList made;
#ifdef TAUTLINE_HAS_HIGHWAY
    add_vector_targets(made);
#endif
    made.add(kPortableTarget);
    return made;
  }();
  return list;
}

const CpuTarget& chosen_cpu_target() noexcept {
  static const CpuTarget& chosen = []() -> const CpuTarget& {
    const auto targets = cpu_target_list().all();
    const char* wanted = std::getenv("TAUTLINE_CPU");
    for (const CpuTarget* target : targets) {
      if (wanted != nullptr && target->name == std::string_view(wanted)) return *target;
    }
    return *targets.front();
  }();
  return chosen;
}

}  // namespace tautline::detail
