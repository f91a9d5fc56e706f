// The status of an invalid call.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tautstring/error.h"
#include "tautstring/tautstring.h"

namespace tautstring::testing {
namespace {

TEST(Status, NamesTheArgumentTheRuleTheValueAndThePlace) {
  const std::vector<float> x = {0, 1, 2, 3};
  const std::vector<float> lam = {1, -2};
  std::vector<float> y(4);
  const Status status = prox_tv1d({.x = view(x.data(), {2, 2}), .lam = view(lam.data(), {2, 1})},
                                  view(y.data(), {2, 2}));
  EXPECT_EQ(message(status), "lam: must be >= 0 and not NaN, got -2 at index 1");
}

TEST(Status, DescribeTruncatesLikeSnprintf) {
  char buffer[6] = {};
  const Status status = {StatusCode::invalid_argument, "lam", "must be >= 0", -1, true};
  EXPECT_EQ(describe(status, buffer, sizeof buffer),
            std::string("lam: must be >= 0, got -1").size());
  EXPECT_STREQ(buffer, "lam: ");
  EXPECT_EQ(describe({}, nullptr, 0), 2U);
}

TEST(Status, DescribesEveryCode) {
  EXPECT_EQ(message({}), "ok");
  EXPECT_EQ(message({StatusCode::invalid_argument, "y", "must be given"}), "y: must be given");
  EXPECT_EQ(message({.code = StatusCode::out_of_memory, .given = 4096}),
            "out of memory: 4096 bytes of scratch");
  EXPECT_EQ(message({.code = StatusCode::unsupported_device}),
            "device: this build of tautstring has no CUDA");
  EXPECT_EQ(message({.code = StatusCode::device_error, .device_error = 700}),
            capabilities().cuda ? "CUDA error 700: an illegal memory access was encountered"
                                : "CUDA error 700: no CUDA in this build");
  EXPECT_EQ(message({.code = StatusCode::interrupted}),
            "interrupted: the call was stopped before its end");
}

TEST(Status, CheckThrowsWithTheMessageAndTheStatus) {
  check({});
  try {
    check({StatusCode::invalid_argument, "dim", "must name a dimension of x", 7, true});
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "dim: must name a dimension of x, got 7");
    EXPECT_EQ(error.status().given, 7);
  }
}

TEST(Capabilities, HeaderAndLibraryBelongTogether) {
  EXPECT_STREQ(capabilities().version, kVersion);
  EXPECT_FALSE(std::string(capabilities().compiler).empty());
}

}  // namespace
}  // namespace tautstring::testing
