#include "training.h"

#include <ATen/Context.h>
#include <torch/optim/adam.h>

#include <cmath>
#include <cstdio>
#include <numbers>
#include <stdexcept>
#include <string>
#include <vector>

namespace denoise {
namespace {

constexpr std::int64_t kLogEvery = 100;

/// The source of all random numbers of a step.
torch::Generator step_generator(std::int64_t seed, std::int64_t step, torch::Device device) {
  torch::Generator generator = at::globalContext().defaultGenerator(device).clone();
  generator.set_current_seed(static_cast<std::uint64_t>(seed) * 1'000'000'007 +
                             static_cast<std::uint64_t>(step));
  return generator;
}

double cosine(const TrainingOptions& options, std::int64_t step) {
  const auto steps = static_cast<double>(options.steps);
  const double falling = (1 + std::cos(std::numbers::pi * static_cast<double>(step) / steps)) / 2;
  return options.last_lr + (options.lr - options.last_lr) * falling;
}

/// Adam with a separate parameter group for lambda, after that of all others: it has another rate.
torch::optim::Adam make_optimizer(const DnCNN& net) {
  std::vector<torch::Tensor> others, lams;
  for (const auto& parameter : net->named_parameters()) {
    (parameter.key().ends_with("raw_lam") ? lams : others).push_back(parameter.value());
  }
  return torch::optim::Adam({others, lams});
}

void print_progress(std::int64_t step, double loss, const DnCNN& net) {
  std::printf("step %lld: loss %.5f", static_cast<long long>(step), loss);
  for (const auto& layer : net->tv_layers()) {
    const torch::Tensor lam = layer->lam().detach().cpu();
    std::printf(", lambda");
    for (std::int64_t i = 0; i < lam.numel(); ++i) std::printf(" %.4g", lam[i].item<double>());
  }
  std::printf("\n");
}

}  // namespace

void train(DnCNN& net, const Patches& patches, const TrainingOptions& options) {
  const torch::Device device = net->parameters().front().device();
  torch::optim::Adam optimizer = make_optimizer(net);
  torch::Tensor loss_sum = torch::zeros({}, device);
  std::int64_t logged = 0;
  net->train();
  for (std::int64_t step = 0; step < options.steps; ++step) {
    const double rate = cosine(options, step);
    optimizer.param_groups()[0].options().set_lr(rate);
    optimizer.param_groups()[1].options().set_lr(rate * options.lam_lr_factor);
    optimizer.zero_grad();
    const Batch batch = patches.draw(options.batch, step_generator(options.seed, step, device));
    const torch::Tensor loss = (net->forward(batch.noisy) - batch.clean).abs().mean();
    loss.backward();
    optimizer.step();
    loss_sum += loss.detach();
    const std::int64_t done = step + 1;
    if (done % kLogEvery == 0 || done == options.steps) {
      const double mean = loss_sum.item<double>() / static_cast<double>(done - logged);
      print_progress(done, mean, net);
      if (!std::isfinite(mean)) throw std::runtime_error("the loss is no longer finite");
      loss_sum.zero_();
      logged = done;
    }
  }
}

}  // namespace denoise
