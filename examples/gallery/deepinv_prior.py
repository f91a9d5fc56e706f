"""
A prior for deepinv
===================

`deepinv <https://deepinv.github.io>`_ solves inverse problems by iterations that alternate
between a step for the data and a step for the prior. Any prior with a ``prox`` works: this one is
total variation, solved by Tautstring.
"""

import importlib.util

import matplotlib.pyplot as plt
import torch
from skimage.data import astronaut

import tautstring


def psnr(image, clean):
    return -10 * (image - clean).square().mean().log10().item()


# %%
# Two thirds of the pixels of a photo are lost. Tautstring does not need deepinv; if deepinv is not
# installed, the rest of this example is skipped.

IS_HERE = importlib.util.find_spec("deepinv") is not None
if not IS_HERE:
    print("SKIPPED: deepinv is not installed (pip install deepinv)")

photo = torch.from_numpy(astronaut()[:128, 144:272].copy()).permute(2, 0, 1)[None] / 255

# %%
# The prior defines its value, for deepinv's reports, and its prox, with the weight that deepinv
# passes.

if IS_HERE:
    import deepinv

    class TotalVariation(deepinv.optim.Prior):
        def __init__(self):
            super().__init__()
            self.explicit_prior = True

        def fn(self, x, *args, **kwargs):
            down = (x[..., 1:, :] - x[..., :-1, :]).abs().sum(dim=(1, 2, 3))
            return down + (x[..., 1:] - x[..., :-1]).abs().sum(dim=(1, 2, 3))

        def prox(self, x, *args, gamma=1.0, **kwargs):
            return tautstring.prox_tv2d(x, gamma, tol=1e-4)

    torch.manual_seed(0)
    physics = deepinv.physics.Inpainting(img_size=photo.shape[1:], mask=0.33)
    seen = physics(photo)
    solver = deepinv.optim.optim_builder(
        iteration="PGD",
        prior=TotalVariation(),
        data_fidelity=deepinv.optim.L2(),
        max_iter=200,
        params_algo={"stepsize": 1.0, "lambda": 0.02},
    )
    result = solver(seen, physics)

    fig, axes = plt.subplots(1, 3, figsize=(9, 3.3), layout="constrained")
    shown = {"photo": photo, "seen": seen, "restored": result}
    for axis, (title, image) in zip(axes, shown.items(), strict=True):
        axis.imshow(image[0].permute(1, 2, 0).clamp(0, 1))
        axis.set_title(f"{title}: {psnr(image, photo):.1f} dB" if image is not photo else title)
        axis.set_axis_off()
    plt.show()
