// Runs the tests of the public API on another backend. The linker redirects every call of
// find_backend to the function below (see CMakeLists.txt).
#include <gtest/gtest.h>

#include <string>

#include "tested_backend.h"

namespace tautstring::testing {
namespace {

/// The tests in tests/cpp that apply only to the CPU, and why.
struct Exception {
  const char* tests;
  const char* reason;
};

constexpr const char* kNanRows =
    "bad values in arrays are NaN rows or images: see refused_*_test.cpp";

constexpr Exception kExceptions[] = {
    {"*/BadArgument.*/NegativeLam", kNanRows},
    {"*/BadArgument.*/NanLam", kNanRows},
    {"*/BadArgument.*/NegativeEdge", kNanRows},
    {"*/BadArgument.*/NegativeWeight", kNanRows},
    {"*/BadArgument.*/InfiniteWeight", kNanRows},
    {"*/BadArgument.*/NanWeight", kNanRows},
    {"*/BadArgument.*/WeightsTooFarApart", kNanRows},
    {"Arguments.ABadValueIsFoundAtItsPlaceInTheArgument", kNanRows},
    {"*/NewtonBadArgument.*/NegativeLam", kNanRows},
    {"*/NewtonBadArgument.*/NanLam", kNanRows},
    {"NewtonArguments.ABadLamIsFoundAtItsPlace", kNanRows},
    {"*/ImagesBadArgument.*/NegativeRowLam", kNanRows},
    {"*/ImagesBadArgument.*/NanRowLam", kNanRows},
    {"*/ImagesBadArgument.*/NegativeColumnLam", kNanRows},
    {"*/ImagesBadArgument.*/NanColumnLam", kNanRows},
    {"ImagesArguments.ABadValueIsFoundAtItsPlaceInTheArgument", kNanRows},
    {"ImagesGap.ABadValueIsFoundAtItsPlaceInTheArgument", kNanRows},
    {"Status.NamesTheArgumentTheRuleTheValueAndThePlace", kNanRows},
    {"Arguments.MemoryThatCannotBeHadIsAStatus", "nothing is allocated: the call would run"},
    {"Executor.*", "only the CPU runs on the caller's threads"},
    {"ImagesExecutor.ThreadsDoNotChangeBits", "only the CPU runs on the caller's threads"},
    {"Strides.ReachBeyondFourGigabytes", "32 GiB would be copied: see tests/cuda/call_test.cpp"},
};

std::string filter() {
  std::string text = "*-";
  for (const Exception& exception : kExceptions) text += std::string(exception.tests) + ":";
  if (tested_backend().forward2d == nullptr) text += "Images*:*/Images*:";  // it supports only rows
  if (tested_backend().newton1d == nullptr) text += "Newton*:*/Newton*:";
  return text;
}

/// Skips every test, visibly, if there is no device.
class NeedsItsDevice : public ::testing::EmptyTestEventListener {
  void OnTestStart(const ::testing::TestInfo& /*test*/) override {
    if (const char* reason = why_not()) GTEST_SKIP() << reason;
  }
};

}  // namespace

// The linker's names for the replacement and for the original function.
const detail::Backend* real_find_backend(Device device) noexcept
    __asm__("__real__ZN10tautstring6detail12find_backendENS_6DeviceE");
const detail::Backend* find_tested_backend(Device device) noexcept
    __asm__("__wrap__ZN10tautstring6detail12find_backendENS_6DeviceE");

const detail::Backend* find_tested_backend(Device device) noexcept {
  return device == Device::cpu ? &tested_backend() : real_find_backend(device);
}

}  // namespace tautstring::testing

int main(int argc, char** argv) {
  GTEST_FLAG_SET(filter, tautstring::testing::filter());
  ::testing::InitGoogleTest(&argc, argv);
  ::testing::UnitTest::GetInstance()->listeners().Append(new tautstring::testing::NeedsItsDevice);
  return RUN_ALL_TESTS();
}
