"""Read options that are neither arrays nor tensors: words, counts, dimensions.

Shared by ``tautstring`` and ``tautstring.numpy``: knows neither torch nor NumPy.
"""

from __future__ import annotations

import math
import numbers
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from tautstring import _numpy

# The core's defaults (include/tautstring/tv2d.h), by whether there is a tolerance. They are read
# here because torch.compile cannot trace calls of the extension.
_IS_ACCELERATED = {has_tol: _numpy.prefers_accelerated(float(has_tol)) for has_tol in (False, True)}
_ITERATIONS = {
    (accelerated, has_tol): _numpy.default_iterations(accelerated, float(has_tol))
    for accelerated in (False, True)
    for has_tol in (False, True)
}
_MOST = 2**31 - 1

Mode = Literal["smooth", "sharp"]
Criterion = Literal["sure", "bic", "discrepancy", "segments"]
Method = Literal["dykstra", "accelerated"]
Grad = Literal["unrolled", "implicit"]


@dataclass(frozen=True)
class Newton:
    """The paper's projected Newton method, as a ``solver`` of `prox_tv1d`.

    It works on the dual variables, one per edge. An iteration fixes those at a bound that
    would leave it, and solves for all others at once. Arithmetic is float64, whatever the
    dtype.

    Parameters
    ----------
    iterations
        The largest number of iterations per row.
    tol
        A row has converged once its duality gap is at most ``tol`` times its objective, or
        only rounding error, which the last iteration usually reaches at once.
    line_search
        How to shorten a step that does not decrease the objective enough:
        ``"interpolation"`` by parabolas, ``"halving"`` to 1/2, 1/4, 1/8 and so on.

    Examples
    --------
    >>> import tautstring.numpy as tn
    >>> tn.prox_tv1d([1.0, 2.0, 8.0, 9.0], 1.0, solver=tn.Newton(iterations=20))
    array([2., 2., 8., 8.])
    """

    iterations: int = 100
    tol: float = 0.0
    line_search: Literal["interpolation", "halving"] = "interpolation"

    def __post_init__(self) -> None:
        """Refuse what would be refused at every call."""
        _read_count("iterations", self.iterations)
        if not isinstance(self.tol, numbers.Real):
            raise TypeError(f"tol: must be a number, got {self.tol!r}")
        if not 0 <= self.tol < math.inf:
            raise ValueError(f"tol: must be >= 0 and finite, got {float(self.tol):g}")
        read_choice("line_search", self.line_search, ("interpolation", "halving"))

    def told(self) -> tuple[int, float, bool]:
        """Return the op's arguments: iterations, tol, halving."""
        return int(self.iterations), float(self.tol), self.line_search == "halving"


Solver = Literal["direct", "newton"] | Newton


def read_solver1d(
    solver: object, weight: object, start: object, polish: bool, return_info: bool = False
) -> Newton | None:
    """Return how to iterate, None for the direct solver; refuse arguments it has no use for."""
    if isinstance(solver, str) and solver == "direct":
        _require_usual("start", start, None, "direct")
        _require_usual("polish", bool(polish), True, "direct")
        _require_usual("return_info", bool(return_info), False, "direct")
        return None
    if isinstance(solver, str) and solver == "newton":
        solver = Newton()
    if not isinstance(solver, Newton):
        raise ValueError(f"solver: must be 'direct', 'newton' or a Newton, got {solver!r}")
    _require_usual("weight", weight, None, "newton")
    return solver


def _require_usual(name: str, value: object, usual: object, solver: str) -> None:
    if value is not usual:
        given = value if isinstance(value, bool) else type(value).__name__
        raise ValueError(f"{name}: must be {usual} with solver={solver!r}, got {given}")


def read_solver2d(
    method: str | None,
    iterations: int | None,
    tol: float | None,
    grad: str | None,
    isotropic: bool,
) -> tuple[bool, int, float, bool]:
    """Return the op's arguments: accelerated, iterations, tol, implicit."""
    if isotropic:
        raise NotImplementedError("isotropic: True is not implemented; must be False")
    read_choice("method", method, (None, "dykstra", "accelerated"))
    read_choice("grad", grad, (None, "unrolled", "implicit"))
    tolerance = _read_tol(tol)
    has_tol = tolerance > 0
    is_accelerated = _IS_ACCELERATED[has_tol] if method is None else method == "accelerated"
    if iterations is None:
        iterations = _ITERATIONS[is_accelerated, has_tol]
    return (
        is_accelerated,
        _read_count("iterations", iterations),
        tolerance,
        grad == "implicit" or (grad is None and tolerance > 0),
    )


def _read_count(name: str, value: int) -> int:
    """Return a count, which must be at least 1."""
    count = read_integer(name, value)
    if count < 1:
        raise ValueError(f"{name}: must be an integer >= 1, got {count}")
    if count > _MOST:
        raise ValueError(f"{name}: must be at most {_MOST}, got {count}")
    return count


def _read_tol(tol: float | None) -> float:
    """Return the tolerance of the iterations, 0 for none."""
    if tol is None:
        return 0.0
    if not isinstance(tol, numbers.Real):
        raise TypeError(f"tol: must be None or a number, got {tol!r}")
    value = float(tol)
    if not 0 < value < math.inf:
        raise ValueError(f"tol: must be None or > 0 and finite, got {value:g}")
    return value


def read_choice(name: str, value: str | None, choices: tuple[str | None, ...]) -> None:
    """Check that an argument is one of the allowed words."""
    is_word = value is None or isinstance(value, str)
    if not is_word or value not in choices:
        allowed = f"{', '.join(map(repr, choices[:-1]))} or {choices[-1]!r}"
        raise ValueError(f"{name}: must be {allowed}, got {value!r}")


def read_criterion(method: str, segments: int | None) -> tuple[int, int]:
    """Return the number of the criterion in the core, and that of segments."""
    criteria = get_args(Criterion)
    read_choice("method", method, criteria)
    if (method == "segments") != (segments is not None):
        raise ValueError(
            f"segments: must be given with method='segments', and only then, got {segments}"
        )
    most = 1 if segments is None else read_integer("segments", segments, "an integer >= 1")
    return criteria.index(method), most


def read_mode(mode: str) -> bool:
    """Return whether ``mode`` is sharpening."""
    read_choice("mode", mode, ("smooth", "sharp"))
    return mode == "sharp"


def read_dim(dim: int, ndim: int, name: str = "dim") -> int:
    """Return ``dim`` counted from the front; an x without dimensions has dim 0."""
    dims = ndim or 1
    index = read_integer(name, dim)
    if not -dims <= index < dims:
        raise ValueError(f"{name}: must be from {-dims} to {dims - 1} for this x, got {index}")
    return index if index >= 0 else index + dims


def read_dims(dims: tuple[int, int], ndim: int) -> tuple[int, int]:
    """Return the two image dimensions of x, counted from the front."""
    if ndim < 2:
        raise ValueError(f"x: must have at least 2 dimensions, got {ndim}")
    if not isinstance(dims, tuple | list) or len(dims) != 2:
        raise TypeError(f"dims: must be a pair of integers, got {dims!r}")
    height_dim, width_dim = (read_dim(dim, ndim, "dims") for dim in dims)
    if height_dim == width_dim:
        raise ValueError(f"dims: must be two different dimensions of x, got {dims!r}")
    return height_dim, width_dim


def read_integer(name: str, value: int, allowed: str = "an integer") -> int:
    """Return an integer of any type as a Python int."""
    if type(value) is int:
        return value
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name}: must be {allowed}, got {value!r}") from None


def reshape_hint(x_shape: Sequence[int], lam_shape: Sequence[int], dims: Sequence[int]) -> str:
    """Return a hint how to reshape a lam that has one element per index of batch dimensions of x.

    For instance a lam of shape (C,) with an x of shape (N, C, H, W) and the images' ``dims``.
    """
    count = len(lam_shape)
    for first in reversed(range(len(x_shape) - count + 1)):
        own = range(first, first + count)
        fits = all(
            size in (1, x_shape[dim]) and dim not in dims
            for size, dim in zip(lam_shape, own, strict=True)
        )
        if count and fits:
            shape = (*lam_shape, *[1] * (len(x_shape) - first - count))
            which = f"dim {first}" if count == 1 else f"dims {', '.join(map(str, own))}"
            return f"; reshape to {shape} for one per index of x's {which}"
    return ""


def with_reshape_hint(
    message: str,
    x_shape: Sequence[int],
    lam_shapes: Mapping[str, Sequence[int]],
    dims: Sequence[int],
) -> str:
    """Add the hint to the core's message about the size of a lam."""
    shape = lam_shapes.get(message.partition(":")[0])
    if shape is None or ": must have " not in message:
        return message
    return message + reshape_hint(x_shape, shape, dims)
