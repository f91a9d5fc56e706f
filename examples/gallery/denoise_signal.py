"""
Denoise a signal
================

Total variation removes noise and keeps jumps. A low-pass filter cannot do both: it has to blur
the jumps to remove the noise.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import gaussian_filter1d

import tautstring.numpy as ts

# %%
# A signal of plateaus, with noise of standard deviation 0.5.

rng = np.random.default_rng(0)
levels = [0.0, 4.0, 1.0, 2.0, -1.0]
clean = np.repeat(levels, [120, 60, 150, 70, 100])
sigma = 0.5
noisy = clean + rng.normal(0, sigma, clean.size)

# %%
# One call computes the exact solution. Lambda has the unit of the samples. It should grow with the
# noise, and with the square root of the lengths to average over.

smooth = ts.prox_tv1d(noisy, lam=5 * sigma)
low_pass = min(
    (gaussian_filter1d(noisy, width) for width in np.arange(0.5, 10, 0.25)),
    key=lambda each: np.mean((each - clean) ** 2),
)


def rms(values):
    return np.sqrt(np.mean((values - clean) ** 2))


fig, axes = plt.subplots(3, 1, figsize=(8, 6), sharex=True, layout="constrained")
for axis, values, name in zip(
    axes,
    (noisy, low_pass, smooth),
    ("noisy", "best Gaussian filter", "total variation"),
    strict=True,
):
    axis.plot(clean, color="0.7", linewidth=3)
    axis.plot(values, linewidth=1)
    axis.set_title(f"{name}: error {rms(values):.2f}", fontsize=10)

# %%
# The result is the optimum, up to rounding. The certificate proves it: one pass checks the
# optimality conditions and returns the largest violation, relative to the range of the samples.

print(ts.certificate1d(noisy, smooth, lam=5 * sigma))
