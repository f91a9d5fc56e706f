// Loads a net trained in Python and saved there by torch.save(dict(net.state_dict()), file).
// Parameters and buffers have the same names and shapes in both languages.
#include <tautstring/torch/layer.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/serialize.h>

#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <vector>

namespace {

/// Does the same as load_state_dict in Python: loads every tensor by its name; none may be left
/// over.
void load_state(torch::nn::Module& net, const char* path) {
  std::ifstream file(path, std::ios::binary);
  TORCH_CHECK_VALUE(file, "file: cannot be read: ", path);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  const auto state = torch::pickle_load(bytes).toGenericDict();
  const torch::NoGradGuard no_grad;
  std::size_t loaded = 0;
  for (const auto& tensors : {net.named_parameters(), net.named_buffers()}) {
    for (const auto& own : tensors) {
      const torch::Tensor saved = state.at(own.key()).toTensor();
      TORCH_CHECK_VALUE(own.value().sizes() == saved.sizes(), own.key(), ": must have shape ",
                        own.value().sizes(), ", got ", saved.sizes());
      own.value().copy_(saved);
      ++loaded;
    }
  }
  TORCH_CHECK_VALUE(loaded == state.size(), "file: must have ", loaded, " tensors, got ",
                    state.size());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s FILE\n", argv[0]);
    return 2;
  }
  try {
    const auto rows = tautstring::TVLayerOptions(3).direction(tautstring::Direction::row);
    const auto columns =
        tautstring::TVLayerOptions(1).direction(tautstring::Direction::col).learnable(false);
    torch::nn::Sequential net{tautstring::TVLayer(rows), tautstring::TVLayer(columns)};
    load_state(*net, argv[1]);
    std::cout << net << '\n';
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
