"""
A TV layer in a torchvision net
===============================

`tautstring.TVLayer` is a module like any other. Here it is inserted between two stages of a
ResNet-18, with one lambda for each channel, which training adapts.
"""

import matplotlib.pyplot as plt
import torch
from skimage.data import astronaut
from torchvision.models import resnet18

import tautstring

# %%
# The net has random weights; this is enough to show what the layer does.

torch.manual_seed(0)
net = resnet18(weights=None, num_classes=10)
net.layer1 = torch.nn.Sequential(net.layer1, tautstring.TVLayer(64, lam=0.3))
layer = net.layer1[1]
print(layer)

# %%
# Give lambda no weight decay: decay pulls softplus(raw_lam) to 0.69, whatever the data. Lambda may
# have its own learning rate.

lambdas = [layer.raw_lam]
others = [each for each in net.parameters() if each is not layer.raw_lam]
optimizer = torch.optim.SGD(
    [{"params": others, "weight_decay": 5e-4}, {"params": lambdas, "lr": 0.5}], lr=0.01
)

photo = torch.from_numpy(astronaut()[:224, 112:336].copy()).permute(2, 0, 1)[None] / 255
before = layer.lam.detach().clone()
for _ in range(3):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(net(photo), torch.tensor([3]))
    loss.backward()
    optimizer.step()
print(f"lambda moved by up to {(layer.lam - before).abs().max().item():.4f}")

# %%
# Feature maps before and after the layer.

net.eval()
with torch.no_grad():
    maps = net.layer1[0](net.maxpool(net.relu(net.bn1(net.conv1(photo)))))
    smooth = layer(maps)

fig, axes = plt.subplots(2, 4, figsize=(9, 4.6), layout="constrained")
for column, channel in enumerate((3, 10, 20, 40)):
    for axis, each, name in zip(axes[:, column], (maps, smooth), ("before", "after"), strict=True):
        axis.imshow(each[0, channel].numpy(), cmap="gray")
        axis.set_title(f"channel {channel}, {name}", fontsize=9)
        axis.set_axis_off()
plt.show()
