// The CPU's instruction sets, to run a test on each of them by name.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cpu/targets.h"

namespace tautstring::testing {

/// All targets that a build for this kind of processor may have.
inline const std::vector<std::string>& known_targets() {
#ifdef __aarch64__
  static const std::vector<std::string> known = {"neon", "portable"};
#else
  static const std::vector<std::string> known = {"avx512", "avx2", "sse4", "portable"};
#endif
  return known;
}

/// One test per target; reported as skipped if this machine or build does not have it.
class OnEachTarget : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    target_ = detail::find_cpu_target(GetParam().c_str());
    if (target_ == nullptr) GTEST_SKIP() << "no " << GetParam() << " here";
  }
  [[nodiscard]] const detail::CpuTarget& target() const { return *target_; }
  template <class T>
  [[nodiscard]] const detail::VectorKernels<T>& kernels() const {
    return target_->kernels<T>();
  }

 private:
  const detail::CpuTarget* target_ = nullptr;
};

#define TAUTSTRING_ON_EACH_TARGET(suite)                                         \
  INSTANTIATE_TEST_SUITE_P(Targets, suite, ::testing::ValuesIn(known_targets()), \
                           [](const auto& test) { return test.param; })

}  // namespace tautstring::testing
