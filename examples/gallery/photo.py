"""
Smooth and sharpen a photo
==========================

Smoothing flattens texture and keeps outlines. Sharpening adds back what smoothing removes, so
texture becomes stronger, without the halos of an unsharp mask at strong edges.
"""

import matplotlib.pyplot as plt
import numpy as np
from skimage.data import astronaut

import tautstring.numpy as ts

# %%
# NASA's portrait of Eileen Collins (public domain), from scikit-image, with values in [0, 1]. Each
# channel is solved on its own: ``dims`` names the two dimensions of an image, so no transpose is
# needed.

photo = astronaut()[:256, 96:352].astype(np.float32) / 255
smooth = ts.prox_tv2d(photo, 0.1, dims=(0, 1), tol=1e-4)
sharp = ts.prox_tv2d(photo, 0.1, dims=(0, 1), tol=1e-4, mode="sharp")

fig, axes = plt.subplots(1, 3, figsize=(9, 3.3), layout="constrained")
for axis, image, title in zip(
    axes, (photo, smooth, sharp), ("photo", "smooth", "sharp"), strict=True
):
    axis.imshow(image.clip(0, 1))
    axis.set_title(title)
    axis.set_axis_off()

# %%
# Lambda sets the strength. It has the unit of the pixels. Each picture has ten times the lambda of
# the previous one.

fig, axes = plt.subplots(1, 3, figsize=(9, 3.3), layout="constrained")
for axis, lam in zip(axes, (0.01, 0.1, 1.0), strict=True):
    axis.imshow(ts.prox_tv2d(photo, lam, dims=(0, 1), tol=1e-4))
    axis.set_title(f"lambda {lam:g}")
    axis.set_axis_off()
plt.show()
