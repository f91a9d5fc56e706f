"""Scores of all images together, as a value per image."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tautstring_tasks.arrays import Array
from tautstring_tasks.task import Values


def jackknife(score: Callable[[Array], float], images: Array) -> Values:
    """Return a value per image whose mean is the score of all images together.

    From the scores without each of the images, so that the values' spread is that of the score.
    The first dimension of `images` is that of the images.
    """
    whole, count = score(images), len(images)
    if count == 1:
        return np.array([whole])
    without = [score(np.delete(images, i, axis=0)) for i in range(count)]
    pseudo = whole * count - (count - 1) * np.array(without)
    shifted: Values = pseudo - pseudo.mean() + whole
    return shifted
