// Uses the component for LibTorch as a user would: a layer with autograd.
#include <tautstring/torch/layer.h>

int main() {
  tautstring::TVLayer layer(
      tautstring::TVLayerOptions(1).direction(tautstring::Direction::signal).lam({1.0}));
  const torch::Tensor x = torch::tensor({1.0F, 2.0F, 8.0F, 9.0F}).view({1, 4}).requires_grad_();
  const torch::Tensor y = layer->forward(x);
  const torch::Tensor expected = torch::tensor({2.0F, 2.0F, 8.0F, 8.0F}).view({1, 4});
  y.square().sum().backward();
  const bool has_gradients = x.grad().defined() && layer->raw_lam.grad().item<float>() < 0;
  return torch::allclose(y, expected, 1e-5) && has_gradients ? 0 : 1;
}
