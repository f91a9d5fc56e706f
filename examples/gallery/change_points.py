"""
Find change points
==================

The solution is piecewise constant. Where one constant segment ends and the next one starts, the
signal has a change point.
"""

import matplotlib.pyplot as plt
import numpy as np

import tautstring.numpy as ts

# %%
# Four changes, two of them small.

rng = np.random.default_rng(3)
true_starts = [0, 200, 260, 500, 610]
clean = np.repeat([0.0, 2.0, 0.5, 1.2, 3.0], np.diff([*true_starts, 800]))
noisy = clean + rng.normal(0, 0.4, clean.size)

# %%
# ``segments1d`` returns where segments start, their values, and the direction of each jump. A
# larger lambda gives fewer segments: they only merge as lambda grows.

for lam in (1.0, 5.0, 25.0):
    found = ts.segments1d(noisy, lam=lam)
    print(f"lambda {lam:4.1f}: {found.starts.size} segments")

segments = ts.segments1d(noisy, lam=25.0)
print(segments.starts)

# %%
# Total variation draws the values of neighbouring segments towards each other. To undo this, take
# the mean of the samples of each segment.

ends = [*segments.starts[1:], noisy.size]
means = [noisy[start:end].mean() for start, end in zip(segments.starts, ends, strict=True)]
lengths = np.diff([*segments.starts, noisy.size])

fig, axis = plt.subplots(figsize=(8, 3.5), layout="constrained")
axis.plot(noisy, color="0.8", linewidth=0.8)
axis.plot(np.repeat(segments.values, lengths), label="solution")
axis.plot(np.repeat(means, lengths), "--", label="means of its segments")
for start in true_starts[1:]:
    axis.axvline(start, color="k", linewidth=0.5, linestyle=":")
axis.legend()
axis.set_title("dotted: true changes", fontsize=10)
plt.show()
