"""
Learn a map of lambdas
======================

A small net takes a noisy image and predicts lambda for each edge, that is, each pair of
neighbouring pixels. A 2D solve follows, and gradients flow through it: the net learns to smooth
areas and to keep outlines. Training needs no target lambdas, only clean images.
"""

import matplotlib.pyplot as plt
import torch
from torch import nn

import tautstring

SIGMA = 0.2

# %%
# Scenes of rectangles, rendered again for each step.


def scenes(count, generator, size=48):
    images = torch.full((count, 1, size, size), 0.5)
    for image in images[:, 0]:
        for _ in range(6):
            top, left = torch.randint(0, size - 8, (2,), generator=generator).tolist()
            height, width = torch.randint(6, 24, (2,), generator=generator).tolist()
            image[top : top + height, left : left + width] = torch.rand((), generator=generator)
    return images, images + SIGMA * torch.randn(images.shape, generator=generator)


class LambdaMap(nn.Module):
    """Three convolutions that return two lambdas per pixel: to the right, and down."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            *(nn.Conv2d(1, 16, 5, padding=2), nn.ReLU()),
            *(nn.Conv2d(16, 16, 5, padding=4, dilation=2), nn.ReLU()),
            nn.Conv2d(16, 2, 5, padding=2),
        )

    def forward(self, image):
        lam = nn.functional.softplus(self.layers(image) - 1.2)  # about 0.26 at the start
        return lam[:, :1, :, :-1], lam[:, 1:, :-1]


# %%
# With ``tol`` the call iterates until a duality gap proves that the result is near the optimum. The
# gradient is then that of the exact solution, and only the last iteration has to be saved for it.

torch.manual_seed(0)
generator = torch.Generator().manual_seed(0)
net = LambdaMap()
optimizer = torch.optim.Adam(net.parameters(), 3e-3)
losses = []
for _ in range(80):
    clean, noisy = scenes(6, generator)
    result = tautstring.prox_tv2d(noisy, net(noisy), tol=1e-4)
    loss = (result - clean).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())

# %%
# Compare the net with the best single lambda, on scenes that it has not seen.

clean, noisy = scenes(16, generator)
with torch.no_grad():
    lam_rows, lam_cols = net(noisy)
    learned = tautstring.prox_tv2d(noisy, (lam_rows, lam_cols), tol=1e-4)
    single = min(
        (tautstring.prox_tv2d(noisy, lam, tol=1e-4) for lam in torch.linspace(0.05, 0.6, 12)),
        key=lambda image: (image - clean).square().mean().item(),
    )


def psnr(image):
    return -10 * (image - clean).square().mean().log10().item()


print(f"noisy {psnr(noisy):.1f} dB, one lambda {psnr(single):.1f}, learned map {psnr(learned):.1f}")

fig, axes = plt.subplots(1, 4, figsize=(10, 3), layout="constrained")
shown = {"noisy": noisy, "best single lambda": single, "learned map": learned}
for axis, (title, image) in zip(axes, shown.items(), strict=False):
    axis.imshow(image[0, 0].numpy(), cmap="gray", vmin=0, vmax=1)
    axis.set_title(title)
axes[3].imshow(lam_rows[0, 0].numpy())
axes[3].set_title("lambda along rows")
for axis in axes:
    axis.set_axis_off()
plt.show()
