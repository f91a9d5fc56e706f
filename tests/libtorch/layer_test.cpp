// The layer as a LibTorch module.
#include "tautstring/torch/layer.h"

#include <gtest/gtest.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/serialize.h>

#include <limits>
#include <memory>
#include <sstream>

#include "support.h"

namespace {

using at::Tensor;
using tautstring::Direction;
using tautstring::Method2d;
using tautstring::Mode;
using tautstring::prox_tv1d;
using tautstring::prox_tv2d;
using tautstring::TVLayer;
using tautstring::TVLayerOptions;

Tensor features(at::IntArrayRef shape) {
  return noise(shape).to(at::kFloat);
}

TVLayerOptions rows_of(std::int64_t channels) {
  return TVLayerOptions(channels).direction(Direction::row);
}

TEST(LibtorchLayer, DirectionsRunAlongTheirDim) {
  const Tensor images = features({2, 3, 5, 6});
  TVLayer rows(rows_of(1).lam({0.3}).learnable(false));
  TVLayer columns(TVLayerOptions(1).direction(Direction::col).lam({0.3}).learnable(false));
  TVLayer signals(TVLayerOptions(1).direction(Direction::signal).lam({0.3}).learnable(false));
  EXPECT_TRUE(at::equal(rows->forward(images), prox_tv1d(images, rows->fixed_lam)));
  EXPECT_TRUE(
      at::equal(columns->forward(images), prox_tv1d(images, columns->fixed_lam, {.dim = -2})));
  EXPECT_TRUE(at::equal(signals->forward(images[0]), prox_tv1d(images[0], signals->fixed_lam)));
}

TEST(LibtorchLayer, EachChannelHasItsOwnLambda) {
  const Tensor x = features({2, 3, 5, 6});
  TVLayer layer(rows_of(3).lam({0.1, 0.2, 0.3}).learnable(false).mode(Mode::sharp));
  const Tensor y = layer->forward(x);
  for (std::int64_t c = 0; c < 3; ++c) {
    const Tensor expected = prox_tv1d(x.select(1, c), layer->fixed_lam[c], {.mode = Mode::sharp});
    EXPECT_TRUE(at::equal(y.select(1, c), expected));
  }
}

TEST(LibtorchLayer, StartsAtLamItselfAndLearns) {
  TVLayer layer(rows_of(3).lam({0.05}));
  layer->to(at::kDouble);
  EXPECT_TRUE(at::allclose(layer->lam(), at::full({3}, 0.05, at::kDouble), 1e-6, 0));
  layer->forward(features({2, 3, 5, 6}).to(at::kDouble)).square().sum().backward();
  EXPECT_EQ(layer->raw_lam.grad().sizes(), at::IntArrayRef({3}));
  EXPECT_TRUE((layer->raw_lam.grad() != 0).all().item<bool>());
}

TEST(LibtorchLayer, FixedLambdasOfZeroAndInfinityAreExact) {
  const Tensor x = features({2, 3, 5, 6});
  TVLayer identity(rows_of(1).lam({0}).learnable(false));
  TVLayer mean(rows_of(1).lam({std::numeric_limits<double>::infinity()}).learnable(false));
  EXPECT_TRUE(at::equal(identity->forward(x), x));
  EXPECT_TRUE(at::allclose(mean->forward(x), x.mean(-1, true).expand_as(x)));
}

TEST(LibtorchLayer, LambdasGivenWithTheCallGoBeforeTheOwn) {
  const Tensor x = features({2, 3, 5, 6});
  TVLayer layer(rows_of(1));
  EXPECT_TRUE(at::equal(layer->forward(x, at::scalar_tensor(0)), x));
  const Tensor lam = at::full({2, 1, 1, 1}, 0.4);
  EXPECT_TRUE(at::equal(layer->forward(x, lam), prox_tv1d(x, lam)));
}

TEST(LibtorchLayer, StandsInASequential) {
  const Tensor x = features({2, 3, 5, 6});
  TVLayer rows(rows_of(1).lam({0.3}));
  TVLayer columns(TVLayerOptions(3).lam({0.2}).direction(Direction::col).learnable(false));
  torch::nn::Sequential both(rows, columns);
  EXPECT_TRUE(at::equal(both->forward(x), columns->forward(rows->forward(x))));
  torch::nn::Sequential one(rows);
  EXPECT_TRUE(at::equal(one->forward(x, at::scalar_tensor(0)), x));
}

TEST(LibtorchLayer, ACloneHasTheSameStateInMemoryOfItsOwn) {
  const Tensor x = features({2, 3, 5, 6});
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
        std::dynamic_pointer_cast<tautstring::TVLayerImpl>(layer->clone(torch::Device(at::kCPU)));
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
  const Tensor x = features({2, 3, 5, 6});
  torch::nn::Sequential layers(TVLayer(rows_of(3)));
  const auto clone = std::dynamic_pointer_cast<torch::nn::SequentialImpl>(layers->clone());
  clone->forward(x).square().sum().backward();
  EXPECT_TRUE(clone->parameters()[0].grad().defined());
  EXPECT_FALSE(layers->parameters()[0].grad().defined());
}

TEST(LibtorchLayer, StateIsSavedAndLoadedByPythonsNames) {
  TVLayer layer(rows_of(3).lam({0.1, 0.2, 0.3}));
  EXPECT_EQ(layer->named_parameters().keys(), std::vector<std::string>{"raw_lam"});
  std::stringstream file;
  torch::save(layer, file);
  TVLayer loaded(rows_of(3));
  torch::load(loaded, file);
  EXPECT_TRUE(at::equal(loaded->lam(), layer->lam()));
}

TEST(LibtorchLayer, BadArgumentsAreNamed) {
  const auto error_of_layer = [](const TVLayerOptions& options) {
    return error_of([&] { const TVLayer layer(options); });
  };
  EXPECT_EQ(error_of_layer(rows_of(0)), "channels: must be an integer >= 1, got 0");
  EXPECT_EQ(error_of_layer(rows_of(3).lam({0.1, 0.2})),
            "lam: must be one number or one for each of 3 channels, got 2");
  EXPECT_EQ(error_of_layer(rows_of(1).lam({0})),
            "lam: must be > 0 and finite where it is learnable, got 0");
  EXPECT_EQ(error_of_layer(rows_of(1).lam({-1}).learnable(false)),
            "lam: must be >= 0 and not NaN, got -1");
  EXPECT_EQ(error_of_layer(rows_of(1).mode(static_cast<Mode>(7))),
            "mode: must be Mode::smooth or Mode::sharp, got Mode(7)");
  EXPECT_EQ(error_of_layer(rows_of(1).direction(static_cast<Direction>(9))),
            "direction: must be Direction::image, row, col or signal, got Direction(9)");
  TVLayer layer(rows_of(3));
  const auto error_of_forward = [&](const Tensor& x) {
    return error_of([&] { layer->forward(x); });
  };
  EXPECT_EQ(error_of_forward(Tensor()), "x: must be defined");
  EXPECT_EQ(error_of_forward(features({2, 4, 5, 6})),
            "x: must have 3 channels, got 4 in shape [2, 4, 5, 6]");
  EXPECT_EQ(error_of_forward(features({3, 5})),
            "x: must have shape (N, C, H, W) or (C, H, W) with direction row, got shape [3, 5]");
}

TEST(LibtorchLayer, ImagesAreTheDefaultAndIterateAsTold) {
  EXPECT_EQ(TVLayerOptions(3).direction(), Direction::image);
  const Tensor x = features({2, 3, 5, 6});
  TVLayer paper(TVLayerOptions(3).lam({0.1, 0.2, 0.3}));
  const Tensor lam = paper->lam().view({3, 1, 1});
  EXPECT_TRUE(at::equal(paper->forward(x), prox_tv2d(x, lam)));
  EXPECT_TRUE(at::equal(paper->forward(x[0]), prox_tv2d(x[0], lam)));
  TVLayer near(TVLayerOptions(1)
                   .lam({0.3})
                   .learnable(false)
                   .mode(Mode::sharp)
                   .method(Method2d::accelerated)
                   .tol(1e-4));
  const Tensor expected =
      prox_tv2d(x, 0.3f, {.mode = Mode::sharp, .method = Method2d::accelerated, .tol = 1e-4});
  EXPECT_TRUE(at::equal(near->forward(x), expected));
  paper->forward(x).square().sum().backward();
  EXPECT_TRUE((paper->raw_lam.grad() != 0).all().item<bool>());
}

TEST(LibtorchLayer, HowToIterateIsForImagesAlone) {
  const auto error_of_layer = [](const TVLayerOptions& options) {
    return error_of([&] { const TVLayer layer(options); });
  };
  EXPECT_EQ(error_of_layer(rows_of(1).iterations(4)), "iterations: is for Direction::image only");
  EXPECT_EQ(error_of_layer(rows_of(1).tol(1e-4)), "tol: is for Direction::image only");
  EXPECT_EQ(error_of_layer(rows_of(1).method(Method2d::accelerated)),
            "method: is for Direction::image only");
  EXPECT_EQ(error_of_layer(TVLayerOptions(1).tol(0)), "tol: must be > 0 and finite, got 0");
}

TEST(LibtorchLayer, PrintsItsSettingsAndLambdas) {
  const auto printed = [](const TVLayerOptions& options) {
    std::stringstream text;
    text << TVLayer(options);
    return text.str();
  };
  EXPECT_EQ(printed(TVLayerOptions(2).mode(Mode::sharp).direction(Direction::col).lam({0.1, 0.25})),
            "tautstring::TVLayer(2, mode=sharp, direction=col, learnable=true, lam=[0.1, 0.25])");
  EXPECT_EQ(printed(rows_of(64).learnable(false)),
            "tautstring::TVLayer(64, mode=smooth, direction=row, learnable=false, "
            "lam=[0.05, 0.05, 0.05, 0.05, ...])");
}

}  // namespace
