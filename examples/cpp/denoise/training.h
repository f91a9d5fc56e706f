// The training loop, as in tautstring_tasks: all that is random in a step comes from the seed and
// the step's number.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

#include "dncnn.h"
#include "patches.h"

namespace denoise {

struct TrainingOptions {
  std::int64_t seed = 0;  // of the first weights and of every step's data
  std::int64_t steps = 60'000;
  std::int64_t batch = 64;      // patches a step
  double lr = 1e-3;             // the learning rate at the start; it falls along a cosine
  double last_lr = 1e-5;        // at the end
  double lam_lr_factor = 50.0;  // the rate of lambda's parameters, as a multiple
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TrainingOptions, seed, steps, batch, lr, last_lr, lam_lr_factor)

/// Trains a net in place, and prints how it goes.
void train(DnCNN& net, const Patches& patches, const TrainingOptions& options);

}  // namespace denoise
