"""What calls on NumPy arrays give: reports, gradients, segments."""

from __future__ import annotations

from typing import NamedTuple, TypedDict

import numpy as np
import numpy.typing as npt

from tautstring.numpy._arguments import FloatArray


class Gradients(NamedTuple):
    """What a pullback of `prox_tv1d_vjp` gives: one gradient for each argument."""

    x: FloatArray
    lam: FloatArray
    weight: FloatArray | None


class Gradients2d(NamedTuple):
    """What a pullback of `prox_tv2d_vjp` gives: one gradient for each argument."""

    x: FloatArray
    lam: FloatArray | tuple[FloatArray, FloatArray]
    """A pair where lam was one."""


class Info(NamedTuple):
    """How an iteration ended, row by row or image by image."""

    iterations: npt.NDArray[np.int32]
    """Iterations that were done, those of images of two passes each; 0 for a row or an image that
    is not finite, and for a row that is not iterated on (``converged``)."""
    gap: npt.NDArray[np.float64]
    """An upper bound on how far the objective at the result is from the optimum. It is that
    of the result as it is returned, rounded to x's dtype; with ``mode="sharp"`` of the smooth
    image or row that it stands for, ``x - (y - x)``. Infinite where y has overflowed its dtype."""
    converged: npt.NDArray[np.bool_]
    """Of images: whether the gap is within ``tol`` times the objective of the result. Without
    ``tol``: within 1e-4, or 1e-6 of a float64 x. Of rows: whether Newton's iterations came to
    their end by themselves and, with a ``tol``, the gap is within it too; not so rows that the
    direct solver finished (``polish``), that are copied (lam 0) or that have an edge of lam 0.
    Iterations stop by the result before it is rounded: in float16 and bfloat16 one that stopped
    for its tolerance may not hold it, and then this is False."""
    dual: FloatArray
    """What ``start`` of a later call takes. Of images: of x's shape, in the dtype of the
    arithmetic. Of rows: ``u_i = sum_{j<=i} (x_j - y_j)`` with the smooth y, of x's shape but for
    n - 1 along dim, in float64."""


class Segments(NamedTuple):
    """The constant pieces of one row of a solution, from left to right."""

    starts: npt.NDArray[np.int64]
    """Index of the first element of each piece."""
    lengths: npt.NDArray[np.int64]
    """Number of elements of each piece."""
    values: FloatArray
    """Value of the solution on each piece, in x's dtype."""
    signs: npt.NDArray[np.int8]
    """Direction of the jump to each piece: +1, -1, or 0 (none: the row's start)."""


class Config(TypedDict):
    """What this build of the library is and can do."""

    version: str
    compiler: str
    cpu_target: str
    cpu_targets: tuple[str, ...]
    threads: int
