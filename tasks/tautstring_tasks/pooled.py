"""Scores of all images together, as a value per image."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tautstring_tasks.arrays import Array
from tautstring_tasks.task import Values


def jackknife(score: Callable[[Array], float], images: Array) -> Values:
    """Return a value per image whose mean is the score of all images together.

    The first dimension of `images` is that of the images.
    """
    several = range(len(images)) if len(images) > 1 else range(0)
    return pseudo_values(score(images), [score(np.delete(images, i, axis=0)) for i in several])


def pseudo_values(whole: float, without: Sequence[float] | Values) -> Values:
    """Return the jackknife's values, from the score of all images and those without each of them.

    Their mean is the score of all images, and their spread is that of the score. A single image has
    no score without it.
    """
    count = len(without)
    if count == 0:
        return np.array([whole])
    pseudo = whole * count - (count - 1) * np.asarray(without, np.float64)
    shifted: Values = pseudo - pseudo.mean() + whole
    return shifted
