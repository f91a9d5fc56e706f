"""
Total variation over time
=========================

Rows may lie along any dimension. Along time, each pixel of a video is a separate signal:
smoothing removes noise, and what appears or vanishes stays sharp in time.
"""

import matplotlib.pyplot as plt
import numpy as np

import tautstring.numpy as ts

# %%
# 48 frames of a disc that jumps to a new place every eight frames.

rng = np.random.default_rng(0)
frames, size = 48, 64
y, x = np.mgrid[:size, :size]
places = rng.uniform(16, 48, (frames // 8, 2))
clean = np.stack(
    [np.hypot(y - places[t // 8, 0], x - places[t // 8, 1]) < 12 for t in range(frames)]
).astype(np.float32)
video = clean + rng.normal(0, 0.4, clean.shape).astype(np.float32)

# %%
# ``dim=0`` is time. There are 4096 rows of 48 samples; they need not be contiguous in memory.

smooth = ts.prox_tv1d(video, lam=1.0, dim=0)
averaged = np.stack([video[max(0, t - 2) : t + 3].mean(axis=0) for t in range(frames)])

fig, axes = plt.subplots(1, 3, figsize=(9, 3.3), layout="constrained")
for axis, each, title in zip(
    axes,
    (video, averaged, smooth),
    ("noisy", "mean of five frames", "total variation"),
    strict=True,
):
    error = np.sqrt(np.mean((each - clean) ** 2))
    axis.imshow(each[24], cmap="gray", vmin=-0.3, vmax=1.3)
    axis.set_title(f"{title}\nerror {error:.2f}")
    axis.set_axis_off()
fig.suptitle("the first frame after a jump", fontsize=10)

# %%
# One pixel over time.

fig, axis = plt.subplots(figsize=(8, 2.6), layout="constrained")
axis.plot(video[:, 30, 30], ".", color="0.6")
axis.plot(clean[:, 30, 30], color="0.8", linewidth=4)
axis.plot(averaged[:, 30, 30], label="mean of five frames")
axis.plot(smooth[:, 30, 30], label="total variation")
axis.legend()
plt.show()
