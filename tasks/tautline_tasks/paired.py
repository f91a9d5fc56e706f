"""Differences between two arms of an experiment, with their confidence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_RESAMPLES = 10_000
_SEED = 0


@dataclass(frozen=True)
class Difference:
    """A mean difference and the interval that has it with 95 % confidence."""

    mean: float
    low: float
    high: float

    @property
    def is_clear(self) -> bool:
        """Whether the interval leaves out 0."""
        return self.low > 0 or self.high < 0


def difference(ours: npt.NDArray[np.float64], baseline: npt.NDArray[np.float64]) -> Difference:
    """Compare scores of shape (seeds, images), pair by pair.

    A percentile bootstrap over seeds and over images, each drawn with replacement: both are
    samples, of trainings and of pictures. With one seed it speaks of that training alone.
    """
    if ours.shape != baseline.shape or ours.ndim != 2 or ours.size == 0:
        raise ValueError(f"scores must be pairs of (seeds, images), got {ours.shape}")
    pairs = ours - baseline
    seeds, images = pairs.shape
    generator = np.random.default_rng(_SEED)
    of_seeds = generator.multinomial(seeds, np.full(seeds, 1 / seeds), _RESAMPLES) / seeds
    of_images = generator.multinomial(images, np.full(images, 1 / images), _RESAMPLES) / images
    means = (of_seeds @ pairs * of_images).sum(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    return Difference(float(pairs.mean()), float(low), float(high))
