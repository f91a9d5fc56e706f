"""The Newton op as one that iterates (`tautstring._iterated`).

Its derivatives are those of the direct solver: both leave the partition of the solution.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from torch import Tensor

from tautstring import _extension
from tautstring._autograd import Rows
from tautstring._iterated import EagerDoor, Iteration, register


class Options(NamedTuple):
    """What the op is told beside its tensors."""

    dim: int
    sharpen: bool
    iterations: int
    tol: float
    halving: bool
    polish: bool


class ProxTv1dNewton(EagerDoor):
    """The eager door to the op."""


def _make_batch(x: Tensor, options: Sequence[Any]) -> Rows:
    dim, sharpen, *_ = options
    return Rows(x.dtype, dim, sharpen, x.shape[dim])


ITERATION = Iteration(
    name="prox_tv1d",
    op=_extension.solve_newton,
    op_of_numbers=_extension.solve_newton_number,
    eager_door=ProxTv1dNewton,
    lams=1,
    saved=slice(1, 2),  # the partition
    reported=slice(2, 6),  # done, gap, converged, dual
    make_batch=_make_batch,
)
register(ITERATION)
