// Which instruction sets are available, which one calls use, and that an invalid TAUTSTRING_CPU
// never selects another one. The environment is read once per process, so its effect is tested in
// child processes.
#include "cpu/targets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "support/targets.h"
#include "tautstring/error.h"
#include "tautstring/tautstring.h"

namespace tautstring::testing {
namespace {

/// Runs `succeeds` in a child with TAUTSTRING_CPU set, before the library is used there.
template <class Succeeds>
void expect_in_child(const char* wanted, Succeeds succeeds) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        ::setenv("TAUTSTRING_CPU", wanted, 1);
        std::_Exit(succeeds() ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "")
      << wanted;
}

Status solve(std::vector<float>& y) {
  const std::vector<float> x = {0, 4};
  y.assign(2, -7);
  return prox_tv1d({.x = view(x.data(), {2}), .lam = 1.0}, view(y.data(), {2}));
}

TEST(CpuTargets, ArePublicFastestFirstAndEndWithPortable) {
  const auto targets = detail::cpu_target_list().all();
  ASSERT_EQ(cpu_targets().size(), targets.size());
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    EXPECT_STREQ(cpu_targets()[i], targets[i]->name);
    names.insert(cpu_targets()[i]);
    if (i == 0) continue;
    EXPECT_GE(targets[i - 1]->float32.lanes, targets[i]->float32.lanes);
  }
  EXPECT_EQ(names.size(), targets.size());
  EXPECT_STREQ(cpu_targets().back(), "portable");
}

TEST(CpuTargets, TheTestsKnowThemAll) {
  for (const std::string name : cpu_targets()) {
    EXPECT_EQ(std::count(known_targets().begin(), known_targets().end(), name), 1) << name;
  }
}

TEST(CpuTargets, AreFoundByNameAlone) {
  const auto targets = detail::cpu_target_list().all();
  EXPECT_EQ(detail::find_cpu_target(nullptr), targets.front());
  EXPECT_EQ(detail::find_cpu_target(""), targets.front());
  for (const detail::CpuTarget* target : targets) {
    EXPECT_EQ(detail::find_cpu_target(target->name), target);
  }
  for (const char* wrong : {"avx1024", "AVX2", "avx", "portable ", "none", "0"}) {
    EXPECT_EQ(detail::find_cpu_target(wrong), nullptr) << wrong;
  }
}

TEST(CpuTargets, EachIsInUseWhereTheEnvironmentNamesIt) {
  for (const char* name : cpu_targets()) {
    expect_in_child(name, [name] {
      std::vector<float> y;
      return solve(y).ok() && y == std::vector<float>{1, 3} &&
             std::string_view(capabilities().cpu_target) == name;
    });
  }
}

TEST(CpuTargets, TheFastestIsInUseWhereTheEnvironmentNamesNone) {
  expect_in_child("", [] { return capabilities().cpu_target == cpu_targets().front(); });
}

TEST(CpuTargets, AWrongNameIsAnErrorThatSaysWhatIsAllowed) {
  expect_in_child("avx1024", [] {
    std::vector<float> y;
    const Status status = solve(y);
    std::string expected = "TAUTSTRING_CPU: must be ";
    for (std::size_t i = 0; i < cpu_targets().size(); ++i) {
      if (i > 0) expected += i + 1 < cpu_targets().size() ? ", " : " or ";
      expected += cpu_targets()[i];
    }
    expected += " on this machine, or not set";
    return status.code == StatusCode::invalid_argument && message(status) == expected &&
           y == std::vector<float>{-7, -7} && std::string_view(capabilities().cpu_target) == "none";
  });
}

TEST(CpuTargets, AWrongNameIsAnErrorOfEveryCall) {
  expect_in_child("avx1024", [] {
    const std::vector<double> x = {0, 4};
    const std::vector<std::uint32_t> partition = {3};
    std::vector<double> out = {0, 0};
    const ConstView row = view(x.data(), {2});
    const View two = view(out.data(), {2});
    const View one = view(out.data(), {1});
    const Solved1d solved = {.partition = partition};
    for (const Status& status :
         {prox_tv1d_backward(solved, row, {.x = two}), prox_tv1d_jvp(solved, {.x = row}, two),
          certificate1d({.x = row, .lam = 1.0}, row, one), lam_max(row, one), tv(row, one)}) {
      if (std::string_view(status.argument) != "TAUTSTRING_CPU") return false;
    }
    return true;
  });
}

}  // namespace
}  // namespace tautstring::testing
