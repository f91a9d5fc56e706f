#include <gtest/gtest.h>

#include <cmath>

#include "tests/cifar10c/pictures.h"

namespace tautstring_tasks::cifar10c {
namespace {

TEST(GaussianNoise, AddsItsDeviationAndTruncates) {
  std::vector<double> normals = all(kValues, 0);
  normals[0] = 1;    // 100 + .04 * 255 = 110.2
  normals[1] = -1;   // 89.8
  normals[2] = 1e6;  // clipped
  normals[3] = -1e6;
  const Picture result = corrupted(plain(100), "gaussian_noise", 1, normals);
  EXPECT_EQ(result[0], 110);
  EXPECT_EQ(result[1], 89);
  EXPECT_EQ(result[2], 255);
  EXPECT_EQ(result[3], 0);
  EXPECT_EQ(result[4], 100);
}

TEST(ShotNoise, ScalesCounts) {
  std::vector<double> uniforms = all(kValues, 0.5);
  // Of mean 50 * 102 / 255 = 20: median 20; 10 has the cumulative probabilities .00500 to .01081.
  uniforms[1] = 0.0050;
  uniforms[2] = 0.0108;
  uniforms[3] = 0.0109;
  const Picture result = corrupted(plain(102), "shot_noise", 5, uniforms);
  EXPECT_EQ(result[0], 102);
  EXPECT_EQ(result[1], 10 * 255 / 50);
  EXPECT_EQ(result[2], 10 * 255 / 50);
  EXPECT_EQ(result[3], 11 * 255 / 50);
}

TEST(ShotNoise, LeavesBlackBlack) {
  EXPECT_EQ(corrupted(plain(0), "shot_noise", 5, all(kValues, 0.999999)), plain(0));
}

TEST(ImpulseNoise, IsHalfSaltHalfPepper) {
  std::vector<double> uniforms = all(kValues, 0.5);
  uniforms[0] = 0.0149;  // below half of .03
  uniforms[1] = 0.0151;
  uniforms[2] = 0.0299;
  uniforms[3] = 0.0301;
  const Picture result = corrupted(plain(77), "impulse_noise", 3, uniforms);
  EXPECT_EQ(result[0], 255);
  EXPECT_EQ(result[1], 0);
  EXPECT_EQ(result[2], 0);
  EXPECT_EQ(result[3], 77);
}

}  // namespace
}  // namespace tautstring_tasks::cifar10c
