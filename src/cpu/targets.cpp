#include "cpu/targets.h"

#include <cstddef>
#include <cstdlib>
#include <string_view>

namespace tautstring::detail {
namespace {

/// The environment is read once: it may change while other threads read it.
const CpuTarget* wanted_cpu_target() noexcept {
  static const CpuTarget* const wanted = find_cpu_target(std::getenv("TAUTSTRING_CPU"));
  return wanted;
}

/// "must be avx2 or portable on this machine, or not set"
class ExpectedText {
 public:
  explicit ExpectedText(std::span<const char* const> names) noexcept {
    append("must be ");
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (i > 0) append(i + 1 < names.size() ? ", " : " or ");
      append(names[i]);
    }
    append(" on this machine, or not set");
  }
  [[nodiscard]] const char* c_str() const noexcept { return text_.data(); }

 private:
  void append(std::string_view part) noexcept {
    for (const char c : part) {
      if (used_ + 1 < text_.size()) text_[used_++] = c;
    }
  }

  std::array<char, 128> text_{};  // the last character stays 0
  std::size_t used_ = 0;
};

}  // namespace

const CpuTargetList& cpu_target_list() noexcept {
  static const CpuTargetList list = [] {
    CpuTargetList made;
#ifdef TAUTSTRING_HAS_SIMD
    add_vector_targets(made);
#endif
    made.add(kPortableTarget);
    return made;
  }();
  return list;
}

const CpuTarget* find_cpu_target(const char* wanted) noexcept {
  const auto targets = cpu_target_list().all();
  const std::string_view name = wanted == nullptr ? "" : wanted;
  if (name.empty()) return targets.front();
  for (const CpuTarget* target : targets) {
    if (target->name == name) return target;
  }
  return nullptr;
}

Status cpu_target_status() noexcept {
  if (wanted_cpu_target() != nullptr) return {};
  static const ExpectedText expected(cpu_target_list().names());
  return {.code = StatusCode::invalid_argument,
          .argument = "TAUTSTRING_CPU",
          .expected = expected.c_str()};
}

const CpuTarget& chosen_cpu_target() noexcept {
  const CpuTarget* wanted = wanted_cpu_target();
  return wanted == nullptr ? kPortableTarget : *wanted;
}

}  // namespace tautstring::detail
