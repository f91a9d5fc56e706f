// What the page calls: the core's functions, for arrays of float in WebAssembly's memory.
#include <tautstring/tautstring.h>

#include <cstdint>

namespace {

tautstring::Mode mode_of(int sharp) {
  return sharp != 0 ? tautstring::Mode::sharp : tautstring::Mode::smooth;
}

/// What is smoothed of an image.
enum Direction { both, along_rows, along_columns };

}  // namespace

extern "C" {

/// Smooths or sharpens n samples; returns whether it could.
int smooth_signal(const float* x, float* y, int n, double lam, int sharp) {
  const tautstring::Problem1d problem = {
      .x = tautstring::view(x, {1, n}), .lam = lam, .mode = mode_of(sharp)};
  return tautstring::prox_tv1d(problem, tautstring::view(y, {1, n}), {}).ok() ? 1 : 0;
}

/// Smooths or sharpens the channels of an image, each of height x width pixels. Returns the most
/// iterations of a channel; -1 if it could not.
int smooth_image(const float* x, float* y, int channels, int height, int width, double lam,
                 int direction, int sharp, double tol) {
  const auto from = tautstring::view(x, {channels, height, width});
  const auto to = tautstring::view(y, {channels, height, width});
  if (direction != both) {
    const int dim = direction == along_rows ? 2 : 1;
    const tautstring::Problem1d problem = {
        .x = from, .lam = lam, .dim = dim, .mode = mode_of(sharp)};
    return tautstring::prox_tv1d(problem, to, {}).ok() ? 0 : -1;
  }
  constexpr int kMostChannels = 4;
  std::int32_t iterations[kMostChannels] = {};
  if (channels > kMostChannels) return -1;
  const tautstring::Problem2d problem = {
      .x = from, .lam_rows = lam, .lam_cols = lam, .mode = mode_of(sharp)};
  const tautstring::Solver2d solver = {
      .method = tautstring::Method2d::accelerated, .iterations = 128, .tol = tol};
  const auto status = tautstring::prox_tv2d(
      problem, solver, {.y = to, .iterations = {iterations, static_cast<std::size_t>(channels)}});
  if (!status.ok()) return -1;
  int most = 0;
  for (const int each : iterations) most = each > most ? each : most;
  return most;
}
}
