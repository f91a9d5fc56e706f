"""Values per item of a score that only a whole set has."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


def values(
    whole: float, without: Sequence[float] | npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return a value per item whose mean is the score of all items together.

    From the scores without each of the items, so that the values' spread is that of the score; a
    single item has none.
    """
    count = len(without)
    if count == 0:  # of a single item
        return np.array([whole])
    pseudo = whole * count - (count - 1) * np.asarray(without, np.float64)
    shifted: npt.NDArray[np.float64] = pseudo - pseudo.mean() + whole
    return shifted
