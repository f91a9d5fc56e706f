"""
Missing samples
===============

A sample of weight 0 is missing. It is never read, so it may be NaN, and the result fills the gap.
Weights between 0 and 1 say how much to trust a sample.
"""

import matplotlib.pyplot as plt
import numpy as np

import tautstring.numpy as ts

# %%
# A third of the samples are missing, and also 60 consecutive ones.

rng = np.random.default_rng(1)
clean = np.repeat([1.0, 3.0, 2.0], [150, 130, 120])
signal = clean + rng.normal(0, 0.2, clean.size)
signal[rng.random(signal.size) < 0.33] = np.nan
signal[170:230] = np.nan

is_present = np.isfinite(signal)
filled = ts.prox_tv1d(signal, lam=2.0, weight=is_present.astype(float))
print(np.isfinite(filled).all())

fig, axis = plt.subplots(figsize=(8, 3.2), layout="constrained")
axis.plot(clean, color="0.8", linewidth=4, label="clean")
axis.plot(signal, ".", markersize=3, label="samples")
axis.plot(filled, label="result")
axis.legend()

# %%
# Without weights, a NaN makes its whole row NaN. Other rows are not affected.

print(np.isnan(ts.prox_tv1d(signal, lam=2.0)).all())
