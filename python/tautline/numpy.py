"""Exact total variation of NumPy arrays.

The objective, for every row of ``x`` along ``dim`` on its own, is::

    prox(x, lam) = argmin_y 1/2 sum_i weight_i (y_i - x_i)^2 + sum_i lam_i |y_{i+1} - y_i|

The solution is exact, takes time linear in the length of a row, and is the
same bit for bit for any number of threads. These arguments mean the same in
all functions:

``x``
    array_like of any shape and strides, cut into rows along ``dim``. float16,
    float32 and float64 are kept; integers and bools are computed as float64. A
    row with a non-finite sample comes out NaN, the others are exact.
``lam``
    the penalty, >= 0: a number, or an array that broadcasts to ``x`` and whose
    size along ``dim`` is 1 (one a row) or n - 1 (one an edge). ``inf`` gives
    the mean, 0 copies the row bit for bit.
``dim``
    the dimension of ``x`` that the rows run along.
``weight``
    data weights, finite and >= 0, broadcasting to ``x``; None: all 1. A sample
    of weight 0 is missing: ``x`` is not read there and may be NaN.

A bad argument raises TypeError or ValueError with its name, what came and what
is allowed. No argument is ever written to.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, NamedTuple, TypedDict

import numpy as np
import numpy.typing as npt

from tautline import _numpy
from tautline._arguments import (
    FloatArray,
    read_array,
    read_dim,
    read_lam,
    read_mode,
    read_threads,
    read_weight,
)

__all__ = [
    "Config",
    "Gradients",
    "Segments",
    "certificate1d",
    "lam_max",
    "prox_tv1d",
    "prox_tv1d_vjp",
    "segments1d",
    "show_config",
    "tv",
]

Mode = Literal["smooth", "sharp"]


class Gradients(NamedTuple):
    """What a pullback of `prox_tv1d_vjp` gives: one gradient for each argument."""

    x: FloatArray
    lam: FloatArray
    weight: FloatArray | None


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


@dataclass(frozen=True)
class _Problem:
    """The arguments that describe a batch of rows, read and converted."""

    x: FloatArray
    lam: float | FloatArray
    weight: FloatArray | None
    dim: int
    sharpen: bool

    @classmethod
    def read(
        cls,
        x: npt.ArrayLike,
        lam: npt.ArrayLike,
        dim: int,
        weight: npt.ArrayLike | None,
        mode: str = "smooth",
    ) -> _Problem:
        samples = read_array("x", x)
        return cls(
            x=samples,
            lam=read_lam(lam),
            weight=read_weight(weight),
            dim=read_dim(dim, samples.ndim),
            sharpen=read_mode(mode),
        )

    def solve(
        self, threads: int = 0, partition: npt.NDArray[np.uint32] | None = None
    ) -> FloatArray:
        y = np.empty(self.x.shape, self.x.dtype)
        _numpy.prox_tv1d(
            self.x, self.lam, self.weight, self.dim, self.sharpen, threads, y, partition
        )
        return y

    def solve_with_partition(self) -> tuple[FloatArray, npt.NDArray[np.uint32]]:
        partition = np.empty(_numpy.partition_size(self.x, self.dim), np.uint32)
        return self.solve(partition=partition), partition


def prox_tv1d(
    x: npt.ArrayLike,
    lam: npt.ArrayLike,
    *,
    dim: int = -1,
    weight: npt.ArrayLike | None = None,
    mode: Mode = "smooth",
    threads: int | None = None,
) -> FloatArray:
    """Smooth (or sharpen) the rows of x by the total variation proximity operator.

    ``y = argmin_y 1/2 sum_i weight_i (y_i - x_i)^2 + sum_i lam_i |y_{i+1} - y_i|``,
    or with ``mode="sharp"`` the opposite step ``x + (x - y)``, rounded once.

    Parameters
    ----------
    x, lam, dim, weight
        See the top of this module.
    mode
        ``"smooth"`` or ``"sharp"``.
    threads
        How many threads may share the rows, 1 to 4096; None: one for each
        hardware thread. The result does not depend on it.

    Returns
    -------
    numpy.ndarray
        A new array of x's shape and dtype in C order. A missing sample takes
        part in no sum; it gets the value that its neighbours give it. A row of
        which every sample is missing is NaN.

    Examples
    --------
    >>> import numpy as np
    >>> import tautline.numpy as tn
    >>> tn.prox_tv1d(np.array([1.0, 2.0, 8.0, 9.0]), 1.0)
    array([2., 2., 8., 8.])

    Down the columns, with a penalty for each:

    >>> tn.prox_tv1d(np.array([[0.0, 0.0], [4.0, 4.0]]), [1.0, np.inf], dim=0)
    array([[1., 2.],
           [3., 2.]])
    """
    problem = _Problem.read(x, lam, dim, weight, mode)
    return problem.solve(read_threads(threads))


def prox_tv1d_vjp(
    x: npt.ArrayLike,
    lam: npt.ArrayLike,
    *,
    dim: int = -1,
    weight: npt.ArrayLike | None = None,
    mode: Mode = "smooth",
) -> tuple[FloatArray, Callable[[npt.ArrayLike], Gradients]]:
    """Give the result of `prox_tv1d` and the function that takes gradients back through it.

    The solution is constant on segments. With ``m = sum_S grad_y / sum_S weight``
    on a segment S, and the signs s of the jumps at its borders, the gradients of
    smoothing are ``weight_i m`` for ``x_i``, ``m (s_right - s_left)`` for ``lam``
    and ``m (x_i - y_i)`` for ``weight_i``.

    Parameters
    ----------
    x, lam, dim, weight, mode
        As in `prox_tv1d`.

    Returns
    -------
    y : numpy.ndarray
        What `prox_tv1d` gives.
    pullback : callable
        ``pullback(grad_y)``, with grad_y of y's shape, gives `Gradients` in the
        shapes and dtypes of the arguments (float64 where those are numbers or
        integers), summed in float64 where an argument was broadcast; its
        ``weight`` is None if no weight was given. It may be called any number
        of times. It keeps 2 bits an element, with data weights also copies of
        x, y and weight, so that changing those arrays later does no harm.

    Examples
    --------
    >>> import tautline.numpy as tn
    >>> y, pullback = tn.prox_tv1d_vjp([1.0, 2.0, 8.0, 9.0], 1.0)
    >>> gradients = pullback([1.0, 0.0, 0.0, 0.0])
    >>> gradients.x
    array([0.5, 0.5, 0. , 0. ])
    >>> gradients.lam
    array(0.5)
    """
    problem = _Problem.read(x, lam, dim, weight, mode)
    y, partition = problem.solve_with_partition()
    return y, _Pullback.of(problem, y, partition).pull_back


@dataclass(frozen=True)
class _Argument:
    """Shape and dtype of an argument, which its gradient has too."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @classmethod
    def of(cls, argument: float | FloatArray) -> _Argument:
        array = np.asarray(argument)
        return cls(array.shape, array.dtype)

    def size_along(self, dim: int, ndim: int) -> int:
        """Size along dimension ``dim`` of the ``ndim`` dimensions it broadcasts to."""
        own = dim - (ndim - len(self.shape))
        return self.shape[own] if 0 <= own < len(self.shape) else 1

    def sum_over_broadcast(self, gradient: FloatArray) -> FloatArray:
        added = gradient.ndim - len(self.shape)
        stretched = tuple(added + d for d, size in enumerate(self.shape) if size == 1)
        total = np.asarray(gradient.sum(axis=(*range(added), *stretched)))
        return total.reshape(self.shape).astype(self.dtype, copy=False)


@dataclass(frozen=True)
class _Pullback:
    """What the way back needs of a solved problem."""

    partition: npt.NDArray[np.uint32]
    x: _Argument
    lam: _Argument
    dim: int
    sharpen: bool
    # Only with data weights:
    saved_x: FloatArray | None = None
    saved_y: FloatArray | None = None
    saved_weight: FloatArray | None = None

    @classmethod
    def of(cls, problem: _Problem, y: FloatArray, partition: npt.NDArray[np.uint32]) -> _Pullback:
        weighted = problem.weight is not None
        return cls(
            partition=partition,
            x=_Argument.of(problem.x),
            lam=_Argument.of(problem.lam),
            dim=problem.dim,
            sharpen=problem.sharpen,
            saved_x=problem.x.copy() if weighted else None,
            saved_y=y.copy() if weighted else None,
            saved_weight=None if problem.weight is None else problem.weight.copy(),
        )

    def pull_back(self, grad_y: npt.ArrayLike) -> Gradients:
        """Take the gradient of y back to the gradients of the arguments."""
        incoming = read_array("grad_y", grad_y)
        shape = self.x.shape
        if incoming.shape != shape:
            raise ValueError(f"grad_y: must have y's shape {shape}, got {incoming.shape}")
        lam_size = self.lam.size_along(self.dim, len(shape))
        grad_x = np.empty(shape, self.x.dtype)
        grad_lam = np.empty(_with_size(shape, self.dim, lam_size), np.float64)
        grad_weight = None if self.saved_weight is None else np.empty(shape, np.float64)
        _numpy.prox_tv1d_backward(
            self.partition,
            self.saved_x,
            self.saved_y,
            self.saved_weight,
            self.dim,
            self.sharpen,
            incoming,
            grad_x,
            grad_lam,
            grad_weight,
        )
        return Gradients(
            x=grad_x,
            lam=self.lam.sum_over_broadcast(grad_lam),
            weight=None
            if self.saved_weight is None or grad_weight is None
            else _Argument.of(self.saved_weight).sum_over_broadcast(grad_weight),
        )


def certificate1d(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    lam: npt.ArrayLike,
    *,
    dim: int = -1,
    weight: npt.ArrayLike | None = None,
) -> FloatArray:
    """Measure how far y is from solving the problem: 0 is a proof that it does.

    With ``u_i = sum_{j<=i} weight_j (x_j - y_j)`` the solution, and nothing else,
    has ``|u_i| <= lam_i``, ``u_i = lam_i sign(y_i - y_{i+1})`` where y jumps after
    i, and ``u_n = 0``. The result is the largest violation, relative to
    ``max(range of x, largest finite lam)``; rounding y to its dtype counts.

    Parameters
    ----------
    x, lam, dim, weight
        See the top of this module.
    y
        The array to test, of x's shape, whoever computed it.

    Returns
    -------
    numpy.ndarray
        One number a row: x's shape without dim, float64 if x is, else float32.
        NaN where x or y is not finite.

    Examples
    --------
    >>> import tautline.numpy as tn
    >>> x = [1.0, 2.0, 8.0, 9.0]
    >>> tn.certificate1d(x, [2.0, 2.0, 8.0, 8.0], 1.0)
    array(0.)
    >>> tn.certificate1d(x, x, 1.0)
    array(0.125)
    """
    problem = _Problem.read(x, lam, dim, weight)
    solution = read_array("y", y)
    out = _row_numbers(problem.x, problem.dim)
    _numpy.certificate1d(problem.x, solution, problem.lam, problem.weight, problem.dim, out)
    return _drop_dim(out, problem.dim)


def segments1d(
    x: npt.ArrayLike,
    lam: npt.ArrayLike,
    *,
    dim: int = -1,
    weight: npt.ArrayLike | None = None,
) -> Segments | list[Segments]:
    """List the constant segments of the solution: the change points of x.

    They are the solver's own decisions, not guessed from differences of the
    result, so no threshold is needed.

    Parameters
    ----------
    x, lam, dim, weight
        See the top of this module.

    Returns
    -------
    Segments or list of Segments
        For x of at most one dimension the segments of that row. For more
        dimensions a list with one entry a row, in row-major (C) order of x's
        other dimensions.

    Examples
    --------
    >>> import tautline.numpy as tn
    >>> segments = tn.segments1d([1.0, 2.0, 8.0, 9.0], 1.0)
    >>> segments.starts, segments.lengths
    (array([0, 2]), array([2, 2]))
    >>> segments.values, segments.signs
    (array([2., 8.]), array([0, 1], dtype=int8))
    """
    problem = _Problem.read(x, lam, dim, weight)
    y, partition = problem.solve_with_partition()
    offsets = _segment_offsets(y, problem.dim, partition)
    every = _all_segments(y, problem.dim, partition, int(offsets[-1]))
    rows = [_cut(every, first, last) for first, last in pairwise(offsets.tolist())]
    return rows if y.ndim > 1 else rows[0]


def _cut(segments: Segments, first: int, last: int) -> Segments:
    return Segments(
        segments.starts[first:last],
        segments.lengths[first:last],
        segments.values[first:last],
        segments.signs[first:last],
    )


def _segment_offsets(
    y: FloatArray, dim: int, partition: npt.NDArray[np.uint32]
) -> npt.NDArray[np.int64]:
    n = y.shape[dim] if y.ndim else 1
    rows = int(np.prod(_with_size(y.shape, dim, 1), dtype=np.int64))
    offsets = np.empty(rows + 1, np.int64)
    _numpy.segments1d_offsets(partition, rows, n, offsets)
    return offsets


def _all_segments(
    y: FloatArray, dim: int, partition: npt.NDArray[np.uint32], count: int
) -> Segments:
    starts, lengths = np.empty(count, np.int64), np.empty(count, np.int64)
    values, signs = np.empty(count, np.float64), np.empty(count, np.int8)
    _numpy.segments1d(y, partition, dim, starts, lengths, values, signs)
    return Segments(starts, lengths, values.astype(y.dtype, copy=False), signs)


def lam_max(x: npt.ArrayLike, *, dim: int = -1, weight: npt.ArrayLike | None = None) -> FloatArray:
    """Give for each row the smallest number lam from which on the solution is constant.

    With the (weighted) mean ``c`` of the row it is
    ``max_i |sum_{j<=i} weight_j (x_j - c)|``.

    Parameters
    ----------
    x, dim, weight
        See the top of this module.

    Returns
    -------
    numpy.ndarray
        One number a row: x's shape without dim, float64 if x is, else float32.
        NaN for a row that has a non-finite sample or none at all.

    Examples
    --------
    >>> import tautline.numpy as tn
    >>> tn.lam_max([1.0, 2.0, 8.0, 9.0])
    array(7.)
    """
    samples = read_array("x", x)
    along = read_dim(dim, samples.ndim)
    out = _row_numbers(samples, along)
    _numpy.lam_max(samples, read_weight(weight), along, out)
    return _drop_dim(out, along)


def tv(x: npt.ArrayLike, *, dim: int = -1) -> FloatArray:
    """Give for each row its total variation ``sum_i |x_{i+1} - x_i|``.

    Parameters
    ----------
    x, dim
        See the top of this module.

    Returns
    -------
    numpy.ndarray
        One number a row: x's shape without dim, float64 if x is, else float32.

    Examples
    --------
    >>> import tautline.numpy as tn
    >>> tn.tv([[1.0, 2.0, 8.0, 9.0], [0.0, 5.0, 0.0, 5.0]])
    array([ 8., 15.])
    """
    samples = read_array("x", x)
    along = read_dim(dim, samples.ndim)
    out = _row_numbers(samples, along)
    _numpy.tv(samples, along, out)
    return _drop_dim(out, along)


def show_config() -> Config:
    """Tell what this build is: version, compiler, instruction sets and threads.

    ``cpu_targets`` are the instruction sets that can run here, fastest first,
    ``cpu_target`` is the one in use: the first, or what the environment variable
    TAUTLINE_CPU named at the first call ("none" where that cannot run here; calls
    then raise ValueError).

    Examples
    --------
    >>> import tautline
    >>> import tautline.numpy as tn
    >>> tn.show_config()["version"] == tautline.__version__
    True
    """
    return Config(
        version=_numpy.version,
        compiler=_numpy.compiler,
        cpu_target=_numpy.cpu_target,
        cpu_targets=_numpy.cpu_targets,
        threads=_numpy.hardware_threads(),
    )


def _with_size(shape: tuple[int, ...], dim: int, size: int) -> tuple[int, ...]:
    """Give ``shape`` with another size along ``dim`` (if it has any dimension)."""
    return (*shape[:dim], size, *shape[dim + 1 :]) if shape else ()


def _row_numbers(x: FloatArray, dim: int) -> FloatArray:
    """Make room for one number a row, in x's own arithmetic type."""
    dtype = np.float64 if x.dtype == np.float64 else np.float32
    return np.empty(_with_size(x.shape, dim, 1), dtype)


def _drop_dim(numbers: FloatArray, dim: int) -> FloatArray:
    return numbers.squeeze(axis=dim) if numbers.ndim else numbers
