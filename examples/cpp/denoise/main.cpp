// Trains DnCNN with total variation layers to denoise colour images: the C++ version of
// `tautstring_tasks denoise train`. On a CPU the same options, data and seed give the same net,
// except for the rounding of Adam, where LibTorch uses another order of additions. The weights file
// has the same format: Python can evaluate it, and this program can continue from it.
//
// Only in Python: checkpoints to resume from, the log of the run, bfloat16 and several GPUs.
#include <c10/util/Exception.h>
#include <torch/cuda.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>

#include "dncnn.h"
#include "images.h"
#include "patches.h"
#include "safetensors.h"
#include "training.h"

namespace denoise {
namespace {

using nlohmann::json;

constexpr const char* kTask = "denoise";
constexpr const char* kTrainingSet = "train_cbsd432";
constexpr std::int64_t kMostSeed = 2'147'483'647;  // as in tautstring_tasks

struct Options {
  std::filesystem::path data;
  std::filesystem::path out;
  std::filesystem::path weights;  // empty: start with the weights of the seed
  std::string device = "cpu";
  NoiseOptions noise;
  ModelOptions model;
  TrainingOptions training;
};

void add_options(CLI::App& app, Options& options) {
  app.option_defaults()->always_capture_default();
  app.add_option("--data", options.data, "Folder with the folder train_cbsd432 of images")
      ->required();
  app.add_option("--out", options.out, "Folder for weights.safetensors")->required();
  app.add_option("--device", options.device, "Where to train")
      ->check(CLI::IsMember({"cpu", "cuda"}));

  app.add_option("--sigma", options.noise.sigma,
                 "Standard deviation of the noise; pixels are in 0..255")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--patch", options.noise.patch, "Width and height of the patches")
      ->check(CLI::PositiveNumber);

  app.add_option("--seed", options.training.seed,
                 "Seed of the initial weights and of the data of every step")
      ->check(CLI::Range(std::int64_t{0}, kMostSeed));
  app.add_option("--steps", options.training.steps, "Training steps")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--batch", options.training.batch, "Patches per step")->check(CLI::PositiveNumber);
  app.add_option("--lr", options.training.lr, "Learning rate at the start; it falls along a cosine")
      ->check(CLI::PositiveNumber);
  app.add_option("--last-lr", options.training.last_lr, "Learning rate at the end")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--lam-lr-factor", options.training.lam_lr_factor, "Lambda's rate, as a multiple")
      ->check(CLI::NonNegativeNumber);

  CLI::Option* const weights = app.add_option("--weights", options.weights,
                                              "Go on from the net of this file, Python's or ours");
  app.add_option("--arm", options.model.arm, "TV layers: none, input, output or both")
      ->excludes(weights);
  app.add_option("--depth", options.model.depth, "Convolutions")->excludes(weights);
  app.add_option("--width", options.model.width, "Channels between them")
      ->check(CLI::PositiveNumber)
      ->excludes(weights);
  app.add_option("--lam", options.model.lam, "Where lambda starts")
      ->check(CLI::PositiveNumber)
      ->excludes(weights);
}

/// A net to go on from.
Saved load_weights(const std::filesystem::path& file) {
  Saved saved = load(file);
  if (!saved.about.contains("task") || saved.about["task"] != kTask) {
    throw std::runtime_error(file.string() + ": is not of the task " + kTask);
  }
  return saved;
}

torch::Device device_of(const std::string& name) {
  if (name == "cuda" && !torch::cuda::is_available()) {
    throw std::runtime_error("--device cuda: torch finds no GPU here");
  }
  return {name};
}

/// What tautstring_tasks writes down about a net. It has more options of training; those that are
/// missing here have its defaults, as in `train`.
json describe(const Options& options, const PictureFolder& folder) {
  const json data = {{"images", folder.pictures.size()}, {"sha256", folder.sha256}};
  return {{"task", kTask},
          {"model", options.model},
          {"options", options.noise},
          {"training", options.training},
          {"execution", {{"precision", "float32"}, {"processes", 1}}},
          {"data", {{kTrainingSet, data}}},
          {"start", nullptr}};
}

void run(Options options) {
  std::optional<Saved> start;
  if (!options.weights.empty()) {
    start = load_weights(options.weights);
    options.model = start->about.at("model");
  }
  std::filesystem::create_directories(options.out);  // fails before training, not after it
  const torch::Device device = device_of(options.device);
  const PictureFolder folder = read_folder(options.data / kTrainingSet);
  torch::manual_seed(static_cast<std::uint64_t>(options.training.seed));
  DnCNN net(options.model);
  if (start) net->load_state(start->tensors);
  net->to(device);
  train(net, Patches(folder.pictures, options.noise, device), options.training);

  json about = describe(options, folder);
  if (start) about["start"] = start->about;
  const std::filesystem::path file = options.out / "weights.safetensors";
  save(file, {.tensors = net->state(), .about = about});
  std::printf("%s\n", file.c_str());
}

}  // namespace
}  // namespace denoise

int main(int argc, char** argv) {
  try {
    CLI::App app("Trains DnCNN with total variation layers to denoise colour images.");
    denoise::Options options;
    denoise::add_options(app, options);
    CLI11_PARSE(app, argc, argv);
    denoise::run(options);
    return 0;
  } catch (const c10::Error& error) {
    std::fprintf(stderr, "tautstring_denoise: %s\n", error.what_without_backtrace());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tautstring_denoise: %s\n", error.what());
  }
  return 1;
}
