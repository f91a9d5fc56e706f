"""
Weighted total variation with an edge map
=========================================

Lambda may differ from edge to edge (an edge joins two neighbouring pixels). If an outline is
known, for instance from another image of the same scene, a small lambda there keeps it, and the
rest can be smoothed strongly.
"""

import matplotlib.pyplot as plt
import numpy as np

import tautstring.numpy as ts

# %%
# A scene with a step that is as small as the noise. A second image, the guide, shows the same
# outlines without noise.

rng = np.random.default_rng(0)
y, x = np.mgrid[:128, :128]
scene = 0.5 + 0.1 * ((x - 64) ** 2 + (y - 64) ** 2 < 40**2) + 0.3 * (x + y > 200)
guide = scene + 0.2 * np.sin(x / 40)
noisy = scene + rng.normal(0, 0.1, scene.shape)

# %%
# Compute two maps: one has a lambda for each pair of neighbours in a row, the other for each pair
# in a column.


def lam_of(steps):
    return np.where(np.abs(steps) > 0.05, 0.02, 0.6)


lam_rows = lam_of(np.diff(guide, axis=1))
lam_cols = lam_of(np.diff(guide, axis=0))
print(lam_rows.shape, lam_cols.shape)

guided = ts.prox_tv2d(noisy, (lam_rows, lam_cols), tol=1e-6)
plain = min(
    (ts.prox_tv2d(noisy, lam, tol=1e-6) for lam in np.geomspace(0.02, 1, 15)),
    key=lambda image: np.mean((image - scene) ** 2),
)


def psnr(image):
    return -10 * np.log10(np.mean((image - scene) ** 2))


fig, axes = plt.subplots(1, 3, figsize=(9, 3.3), layout="constrained")
for axis, image, title in zip(
    axes,
    (noisy, plain, guided),
    ("noisy", "best single lambda", "lambda from a guide"),
    strict=True,
):
    axis.imshow(image, cmap="gray", vmin=0.3, vmax=1)
    axis.set_title(f"{title}\n{psnr(image):.1f} dB")
    axis.set_axis_off()
plt.show()
