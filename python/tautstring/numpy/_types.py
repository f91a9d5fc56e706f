"""Result types of calls on NumPy arrays: reports, gradients, segments."""

from __future__ import annotations

from typing import NamedTuple, TypedDict

import numpy as np
import numpy.typing as npt

from tautstring._docs import share_docs
from tautstring.numpy._arguments import FloatArray


class Gradients(NamedTuple):
    """The result of a pullback of `prox_tv1d_vjp`: one gradient for each argument."""

    x: FloatArray
    lam: FloatArray
    weight: FloatArray | None


class Gradients2d(NamedTuple):
    """The result of a pullback of `prox_tv2d_vjp`: one gradient for each argument."""

    x: FloatArray
    lam: FloatArray | tuple[FloatArray, FloatArray]
    """A pair if lam was a pair."""


@share_docs
class Info(NamedTuple):
    """How the iterations of each row or image ended.

    Attributes
    ----------
    {info}
    """

    iterations: npt.NDArray[np.int32]
    gap: npt.NDArray[np.float64]
    converged: npt.NDArray[np.bool_]
    dual: FloatArray


@share_docs
class Segments(NamedTuple):
    """The constant segments of one row of a solution, from left to right.

    Attributes
    ----------
    {segments}
    """

    starts: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.int64]
    values: FloatArray
    signs: npt.NDArray[np.int8]


class Config(TypedDict):
    """The configuration of this build of the library."""

    version: str
    compiler: str
    cpu_target: str
    cpu_targets: tuple[str, ...]
    threads: int
