// The training loop, as in tautstring_tasks: all random numbers of a step come from the seed and
// the number of the step.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

#include "dncnn.h"
#include "patches.h"

namespace denoise {

struct TrainingOptions {
  std::int64_t seed = 0;  // of the initial weights and of the data of every step
  std::int64_t steps = 60'000;
  std::int64_t batch = 64;      // patches per step
  double lr = 1e-3;             // the learning rate at the start; it falls along a cosine
  double last_lr = 1e-5;        // at the end
  double lam_lr_factor = 50.0;  // the rate of lambda's parameters, as a multiple of lr
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TrainingOptions, seed, steps, batch, lr, last_lr, lam_lr_factor)

/// Trains a net in place and prints the progress.
void train(DnCNN& net, const Patches& patches, const TrainingOptions& options);

}  // namespace denoise
