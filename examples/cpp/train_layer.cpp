// Trains a total variation layer in C++: it learns the lambda that smoothed the targets.
#include <tautstring/torch/layer.h>
#include <torch/optim/adam.h>

#include <cmath>
#include <cstdio>
#include <exception>

namespace {

/// Returns the lambda that a layer learns from signals and their smoothed targets.
double learn_lambda(double known, double start) {
  torch::manual_seed(0);
  const torch::Tensor x = torch::randn({8, 1, 100});
  tautstring::TVLayer teacher(tautstring::TVLayerOptions(1)
                                  .direction(tautstring::Direction::signal)
                                  .lam({known})
                                  .learnable(false));
  tautstring::TVLayer layer(
      tautstring::TVLayerOptions(1).direction(tautstring::Direction::signal).lam({start}));
  const torch::Tensor target = teacher->forward(x);
  torch::optim::Adam optimizer(layer->parameters(), torch::optim::AdamOptions(0.05));
  for (int step = 0; step < 300; ++step) {
    optimizer.zero_grad();
    const torch::Tensor loss = (layer->forward(x) - target).square().mean();
    loss.backward();
    optimizer.step();
  }
  return layer->lam().item<double>();
}

}  // namespace

int main() {
  try {
    const double learnt = learn_lambda(0.5, 0.05);
    std::printf("lambda %.4f, learnt from targets smoothed with 0.5\n", learnt);
    return std::abs(learnt - 0.5) < 0.005 ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
