// Uses the library as a user would; the result says whether it works.
#include <tautline/tautline.h>

#include <string_view>
#include <vector>

int main() {
  std::vector<float> x = {0, 4};
  tautline::ThreadExecutor threads(2);
  const tautline::Status status =
      tautline::prox_tv1d({.x = tautline::view(x.data(), {2}), .lam = 1.0},
                          tautline::view(x.data(), {2}), {}, {.executor = &threads});
  const bool versions_match =
      std::string_view(tautline::capabilities().version) == tautline::kVersion;
  return status.ok() && versions_match && x[0] == 1 && x[1] == 3 ? 0 : 1;
}
