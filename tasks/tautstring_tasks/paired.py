"""Differences between two arms of an experiment, with confidence intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import t as student_t

_CONFIDENCE = 0.95


@dataclass(frozen=True)
class Difference:
    """A mean difference and its 95 % confidence interval."""

    mean: float
    low: float
    high: float

    @property
    def is_clear(self) -> bool:
        """Whether the interval excludes 0."""
        return self.low > 0 or self.high < 0


def difference(ours: npt.NDArray[np.float64], baseline: npt.NDArray[np.float64]) -> Difference:
    """Compare scores of shape (seeds, images), pair by pair.

    Seeds are a sample of trainings, images a sample of pictures, and both contribute to a pair's
    difference: two crossed random effects. Student's t with Satterthwaite's degrees of freedom
    allows for few seeds, such as three, where the interval of a bootstrap would be right only three
    times in four. (With two seeds it is too narrow: right 88 times in 100 if seeds differ more than
    images do.) With one seed the interval is valid for that training only; with one pair it is
    infinite.
    """
    if ours.shape != baseline.shape or ours.ndim != 2 or ours.size == 0:
        raise ValueError(f"scores must be pairs of (seeds, images), got {ours.shape}")
    pairs = ours - baseline
    mean = float(pairs.mean())
    variance, freedom = _variance_of_mean(pairs)
    if freedom == 0:
        return Difference(mean, -math.inf, math.inf)
    half = float(student_t.ppf((1 + _CONFIDENCE) / 2, freedom)) * math.sqrt(variance)
    return Difference(mean, mean - half, mean + half)


def _variance_of_mean(pairs: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Estimate the variance of the mean of all pairs, and the estimate's degrees of freedom."""
    seeds, images = pairs.shape
    if 1 in pairs.shape:
        count = pairs.size
        return (float(pairs.var(ddof=1)) / count, count - 1) if count > 1 else (0.0, 0.0)
    of_seeds, of_images = pairs.mean(axis=1), pairs.mean(axis=0)
    rest = pairs - of_seeds[:, None] - of_images + pairs.mean()
    # Mean squares: the expectation of each includes the variance of the rest once.
    squares = np.array([images * of_seeds.var(ddof=1), seeds * of_images.var(ddof=1)])
    freedoms = np.array([seeds - 1.0, images - 1.0])
    square_of_rest = (rest**2).sum() / freedoms.prod()
    total = squares.sum() - square_of_rest
    larger = int(squares.argmax())
    if total <= squares[larger]:  # the other effect is not detectable
        return float(squares[larger] / pairs.size), float(freedoms[larger])
    spread = (squares**2 / freedoms).sum() + square_of_rest**2 / freedoms.prod()
    return float(total / pairs.size), float(total**2 / spread)
