// The layer as a LibTorch module.
#include "tautline/torch/layer.h"

#include <gtest/gtest.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/serialize.h>

#include <limits>
#include <memory>
#include <sstream>

namespace {

using at::Tensor;
using tautline::Direction;
using tautline::Mode;
using tautline::prox_tv1d;
using tautline::TVLayer;
using tautline::TVLayerOptions;

Tensor noise(at::IntArrayRef shape) {
  at::manual_seed(0);
  return at::randn(shape);
}

TEST(LibtorchLayer, DirectionsRunAlongTheirDim) {
  const Tensor images = noise({2, 3, 5, 6});
  TVLayer rows(TVLayerOptions(1).lam({0.3}).learnable(false));
  TVLayer columns(TVLayerOptions(1).direction(Direction::col).lam({0.3}).learnable(false));
  TVLayer signals(TVLayerOptions(1).direction(Direction::signal).lam({0.3}).learnable(false));
  EXPECT_TRUE(at::equal(rows->forward(images), prox_tv1d(images, rows->fixed_lam)));
  EXPECT_TRUE(
      at::equal(columns->forward(images), prox_tv1d(images, columns->fixed_lam, {.dim = -2})));
  EXPECT_TRUE(at::equal(signals->forward(images[0]), prox_tv1d(images[0], signals->fixed_lam)));
}

TEST(LibtorchLayer, EachChannelHasItsOwnLambda) {
  const Tensor x = noise({2, 3, 5, 6});
  TVLayer layer(TVLayerOptions(3).lam({0.1, 0.2, 0.3}).learnable(false).mode(Mode::sharp));
  const Tensor y = layer->forward(x);
  for (std::int64_t c = 0; c < 3; ++c) {
    const Tensor expected = prox_tv1d(x.select(1, c), layer->fixed_lam[c], {.mode = Mode::sharp});
    EXPECT_TRUE(at::equal(y.select(1, c), expected));
  }
}

TEST(LibtorchLayer, StartsAtLamItselfAndLearns) {
  TVLayer layer(TVLayerOptions(3).lam({0.05}));
  layer->to(at::kDouble);
  EXPECT_TRUE(at::allclose(layer->lam(), at::full({3}, 0.05, at::kDouble), 1e-6, 0));
  layer->forward(noise({2, 3, 5, 6}).to(at::kDouble)).square().sum().backward();
  EXPECT_EQ(layer->raw_lam.grad().sizes(), at::IntArrayRef({3}));
  EXPECT_TRUE((layer->raw_lam.grad() != 0).all().item<bool>());
}

TEST(LibtorchLayer, FixedLambdasOfZeroAndInfinityAreExact) {
  const Tensor x = noise({2, 3, 5, 6});
  TVLayer identity(TVLayerOptions(1).lam({0}).learnable(false));
  TVLayer mean(TVLayerOptions(1).lam({std::numeric_limits<double>::infinity()}).learnable(false));
  EXPECT_TRUE(at::equal(identity->forward(x), x));
  EXPECT_TRUE(at::allclose(mean->forward(x), x.mean(-1, true).expand_as(x)));
}

TEST(LibtorchLayer, LambdasGivenWithTheCallGoBeforeTheOwn) {
  const Tensor x = noise({2, 3, 5, 6});
  TVLayer layer(TVLayerOptions(1));
  EXPECT_TRUE(at::equal(layer->forward(x, at::scalar_tensor(0)), x));
  const Tensor lam = at::full({2, 1, 1, 1}, 0.4);
  EXPECT_TRUE(at::equal(layer->forward(x, lam), prox_tv1d(x, lam)));
}

TEST(LibtorchLayer, StandsInASequential) {
  const Tensor x = noise({2, 3, 5, 6});
  TVLayer rows(TVLayerOptions(1).lam({0.3}));
  TVLayer columns(TVLayerOptions(3).lam({0.2}).direction(Direction::col).learnable(false));
  torch::nn::Sequential both(rows, columns);
  EXPECT_TRUE(at::equal(both->forward(x), columns->forward(rows->forward(x))));
  torch::nn::Sequential one(rows);
  EXPECT_TRUE(at::equal(one->forward(x, at::scalar_tensor(0)), x));
}

TEST(LibtorchLayer, ACloneHasTheSameStateInMemoryOfItsOwn) {
  const Tensor x = noise({2, 3, 5, 6});
  for (const bool learnable : {true, false}) {
    TVLayer layer(
        TVLayerOptions(3).direction(Direction::col).mode(Mode::sharp).learnable(learnable));
    layer->to(at::kDouble);
    layer->eval();
    {
      const at::NoGradGuard no_grad;
      (learnable ? layer->raw_lam : layer->fixed_lam).add_(1);
    }
    const Tensor expected = layer->forward(x);
    const auto clone =
        std::dynamic_pointer_cast<tautline::TVLayerImpl>(layer->clone(torch::Device(at::kCPU)));
    ASSERT_NE(clone, nullptr);
    EXPECT_FALSE(clone->is_training());
    EXPECT_EQ(clone->parameters().size(), learnable ? 1 : 0);
    const at::NoGradGuard no_grad;
    (learnable ? layer->raw_lam : layer->fixed_lam).add_(1);
    EXPECT_TRUE(at::equal(clone->forward(x), expected));
    EXPECT_FALSE(at::equal(layer->forward(x), expected));
  }
}

TEST(LibtorchLayer, ACloneLearnsOnItsOwn) {
  const Tensor x = noise({2, 3, 5, 6});
  torch::nn::Sequential layers(TVLayer(TVLayerOptions(3)));
  const auto clone = std::dynamic_pointer_cast<torch::nn::SequentialImpl>(layers->clone());
  clone->forward(x).square().sum().backward();
  EXPECT_TRUE(clone->parameters()[0].grad().defined());
  EXPECT_FALSE(layers->parameters()[0].grad().defined());
}

TEST(LibtorchLayer, StateIsSavedAndLoadedByPythonsNames) {
  TVLayer layer(TVLayerOptions(3).lam({0.1, 0.2, 0.3}));
  EXPECT_EQ(layer->named_parameters().keys(), std::vector<std::string>{"raw_lam"});
  std::stringstream file;
  torch::save(layer, file);
  TVLayer loaded(TVLayerOptions(3));
  torch::load(loaded, file);
  EXPECT_TRUE(at::equal(loaded->lam(), layer->lam()));
}

TEST(LibtorchLayer, BadArgumentsAreNamed) {
  EXPECT_THROW(TVLayer(TVLayerOptions(0)), c10::ValueError);
  EXPECT_THROW(TVLayer(TVLayerOptions(3).lam({0.1, 0.2})), c10::ValueError);
  EXPECT_THROW(TVLayer(TVLayerOptions(1).lam({0})), c10::ValueError);
  TVLayer layer(TVLayerOptions(3));
  EXPECT_THROW(layer->forward(noise({2, 4, 5, 6})), c10::ValueError);
  EXPECT_THROW(layer->forward(noise({3, 5})), c10::ValueError);
}

TEST(LibtorchLayer, PrintsItsSettings) {
  std::stringstream text;
  text << TVLayer(TVLayerOptions(3).mode(Mode::sharp).direction(Direction::col));
  EXPECT_EQ(text.str(), "tautline::TVLayer(3, mode=sharp, direction=col, learnable=true)");
}

}  // namespace
