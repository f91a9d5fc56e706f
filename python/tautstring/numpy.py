"""Exact total variation of NumPy arrays.

The objective, for every row of ``x`` along ``dim`` on its own, is::

    prox(x, lam) = argmin_y 1/2 sum_i weight_i (y_i - x_i)^2 + sum_i lam_i |y_{i+1} - y_i|

(`prox_tv2d` has that of images, with the differences along rows and along columns.)

The solution is exact, takes time linear in the length of a row, and is the
same bit for bit for any number of threads. These arguments mean the same in
all functions:

``x``
    array_like of any shape and strides, cut into rows along ``dim``. float16,
    float32 and float64 are kept; integers and bools are computed as float64. A
    row with a non-finite sample comes out NaN, the others are exact. It has at
    most 32 dimensions.
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

Ctrl-C stops a call on the main thread: it raises KeyboardInterrupt, or whatever the
signal's handler raises. Every 50 ms the call looks for signals between parts of its
work, such as small groups of rows or passes over an image. So it mostly stops within
a tenth of a second; a single row of many million samples can take longer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, NamedTuple, TypedDict, overload

import numpy as np
import numpy.typing as npt

from tautstring import _missed, _numpy
from tautstring._arguments import (
    FloatArray,
    LamOrPair,
    read_array,
    read_lam,
    read_lams,
    read_threads,
    read_weight,
    size_along,
)
from tautstring._options import (
    Newton,
    good_tol,
    in_users_words,
    read_dim,
    read_dims,
    read_mode,
    read_solver1d,
    read_solver2d,
    with_reshape_hint,
)

__all__ = [
    "Config",
    "Gradients",
    "Gradients2d",
    "Info",
    "Newton",
    "Segments",
    "certificate1d",
    "gap2d",
    "lam_max",
    "prox_tv1d",
    "prox_tv1d_vjp",
    "prox_tv2d",
    "prox_tv2d_vjp",
    "segments1d",
    "show_config",
    "tv",
]


def __dir__() -> list[str]:
    return sorted(__all__)


Mode = Literal["smooth", "sharp"]
Solver = Literal["direct", "newton"] | Newton
Method = Literal["dykstra", "accelerated"]
Grad = Literal["unrolled", "implicit"]


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


@dataclass(frozen=True)
class _Problem:
    """The arguments that describe a batch of rows, read and converted."""

    x: FloatArray
    lam: float | FloatArray
    weight: FloatArray | None
    dim: int
    sharpen: bool
    newton: Newton | None = None  # None: the direct solver, which the next are not for
    start: FloatArray | None = None
    polish: bool = True

    @classmethod
    def read(
        cls,
        x: npt.ArrayLike,
        lam: npt.ArrayLike,
        dim: int,
        weight: npt.ArrayLike | None,
        mode: str = "smooth",
        solver: Solver = "direct",
        start: npt.ArrayLike | None = None,
        polish: bool = True,
        return_info: bool = False,
    ) -> _Problem:
        samples = read_array("x", x)
        return cls(
            x=samples,
            lam=read_lam(lam),
            weight=read_weight(weight),
            dim=read_dim(dim, samples.ndim),
            sharpen=read_mode(mode),
            newton=read_solver1d(solver, weight, start, polish, return_info),
            start=None if start is None else read_array("start", start),
            polish=bool(polish),
        )

    def solve(
        self,
        threads: int = 0,
        partition: npt.NDArray[np.uint32] | None = None,
        info: Info | None = None,
    ) -> FloatArray:
        y = np.empty(self.x.shape, self.x.dtype)
        try:
            if self.newton is None:
                _numpy.prox_tv1d(
                    self.x, self.lam, self.weight, self.dim, self.sharpen, threads, y, partition
                )
            else:
                self._iterate(self.newton, threads, y, partition, info)
        except ValueError as error:
            raise self.reworded(error) from None
        return y

    def reworded(self, error: ValueError) -> ValueError:
        """Give what the core says of an argument in the words of users, and what may help."""
        message = str(error).removeprefix("newton.")
        lam_shapes = {"lam": np.shape(self.lam)}
        return ValueError(with_reshape_hint(message, self.x.shape, lam_shapes, [self.dim]))

    def _iterate(
        self,
        newton: Newton,
        threads: int,
        y: FloatArray,
        partition: npt.NDArray[np.uint32] | None,
        info: Info | None,
    ) -> None:
        if np.ndim(self.lam) > self.x.ndim == 0:  # to the core x has a dimension
            raise ValueError(f"lam: must not have more dimensions than x, got {np.ndim(self.lam)}")
        room: tuple[Any, ...] = (None, None, None, None)
        if info is not None:
            converged = info.converged.view(np.uint8)
            numbers = (part.reshape(-1) for part in (info.iterations, info.gap, converged))
            room = (*numbers, info.dual)
        _numpy.prox_tv1d_newton(
            np.atleast_1d(self.x),  # an x without dimensions has nowhere to count edges
            self.lam,
            self.start,
            self.dim,
            self.sharpen,
            *newton.told(),
            self.polish,
            threads,
            np.atleast_1d(y),
            partition,
            *room,
        )

    def make_info(self) -> Info:
        """Make room for how the iterations of each row end."""
        shape = np.atleast_1d(self.x).shape
        batch = (*shape[: self.dim], *shape[self.dim + 1 :])
        return Info(
            iterations=np.empty(batch, np.int32),
            gap=np.empty(batch),
            converged=np.empty(batch, np.bool_),
            dual=np.empty(_with_size(shape, self.dim, max(shape[self.dim] - 1, 0))),
        )

    def solve_with_partition(self) -> tuple[FloatArray, npt.NDArray[np.uint32]]:
        partition = np.empty(_numpy.partition_size(self.x, self.dim), np.uint32)
        return self.solve(partition=partition), partition


@overload
def prox_tv1d(
    x: npt.ArrayLike,
    lam: npt.ArrayLike,
    *,
    dim: int = ...,
    weight: npt.ArrayLike | None = ...,
    mode: Mode = ...,
    solver: Solver = ...,
    start: npt.ArrayLike | None = ...,
    polish: bool = ...,
    threads: int | None = ...,
    return_info: Literal[False] = ...,
) -> FloatArray: ...


@overload
def prox_tv1d(
    x: npt.ArrayLike,
    lam: npt.ArrayLike,
    *,
    dim: int = ...,
    weight: npt.ArrayLike | None = ...,
    mode: Mode = ...,
    solver: Solver = ...,
    start: npt.ArrayLike | None = ...,
    polish: bool = ...,
    threads: int | None = ...,
    return_info: Literal[True],
) -> tuple[FloatArray, Info]: ...


def prox_tv1d(
    x: npt.ArrayLike,
    lam: npt.ArrayLike,
    *,
    dim: int = -1,
    weight: npt.ArrayLike | None = None,
    mode: Mode = "smooth",
    solver: Solver = "direct",
    start: npt.ArrayLike | None = None,
    polish: bool = True,
    threads: int | None = None,
    return_info: bool = False,
) -> FloatArray | tuple[FloatArray, Info]:
    """Smooth (or sharpen) the rows of x by the total variation proximity operator.

    ``y = argmin_y 1/2 sum_i weight_i (y_i - x_i)^2 + sum_i lam_i |y_{i+1} - y_i|``,
    or with ``mode="sharp"`` the opposite step ``x + (x - y)``, rounded once.

    Parameters
    ----------
    x, lam, dim, weight
        See the top of this module.
    mode
        ``"smooth"`` or ``"sharp"``.
    solver
        ``"direct"``: exact, in linear time. ``"newton"``, or a `Newton` that says
        how: the projected Newton method of Yeh, Hu, Ren and Schwing (CVPR 2022),
        which gives the same, later, and reports on it. It has no data weights.
    start
        With Newton: the ``dual`` of an earlier call on similar rows, to start from.
    polish
        With Newton: whether rows that have not converged are solved directly.
    threads
        How many threads may share the rows, 1 to 4096; None: one for each
        hardware thread. The result does not depend on it.
    return_info
        With Newton: whether to return an `Info` as well.

    Returns
    -------
    numpy.ndarray or (numpy.ndarray, Info)
        A new array of x's shape and dtype in C order; and how the iteration ended.
        A missing sample takes part in no sum; it gets the value that its
        neighbours give it. A row of which every sample is missing is NaN.

    Examples
    --------
    >>> import numpy as np
    >>> import tautstring.numpy as tn
    >>> tn.prox_tv1d(np.array([1.0, 2.0, 8.0, 9.0]), 1.0)
    array([2., 2., 8., 8.])

    Down the columns, with a penalty for each:

    >>> tn.prox_tv1d(np.array([[0.0, 0.0], [4.0, 4.0]]), [1.0, np.inf], dim=0)
    array([[1., 2.],
           [3., 2.]])

    With dual variables, from which a call on similar rows can start:

    >>> y, info = tn.prox_tv1d([1.0, 2.0, 8.0, 9.0], 2.0, solver="newton", return_info=True)
    >>> info.dual
    array([-1.5, -2. , -1.5])
    >>> y = tn.prox_tv1d([1.0, 2.0, 8.0, 9.5], 2.0, solver="newton", start=info.dual)
    """
    problem = _Problem.read(x, lam, dim, weight, mode, solver, start, polish, return_info)
    if not return_info:
        return problem.solve(read_threads(threads))
    info = problem.make_info()
    return problem.solve(read_threads(threads), info=info), info


def prox_tv1d_vjp(
    x: npt.ArrayLike,
    lam: npt.ArrayLike,
    *,
    dim: int = -1,
    weight: npt.ArrayLike | None = None,
    mode: Mode = "smooth",
    solver: Solver = "direct",
    start: npt.ArrayLike | None = None,
    polish: bool = True,
) -> tuple[FloatArray, Callable[[npt.ArrayLike], Gradients]]:
    """Give the result of `prox_tv1d` and the function that takes gradients back through it.

    The solution is constant on segments. With ``m = sum_S grad_y / sum_S weight``
    on a segment S, and the signs s of the jumps at its borders, the gradients of
    smoothing are ``weight_i m`` for ``x_i``, ``m (s_right - s_left)`` for ``lam``
    and ``m (x_i - y_i)`` for ``weight_i``.

    Parameters
    ----------
    x, lam, dim, weight, mode, solver, start, polish
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
    >>> import tautstring.numpy as tn
    >>> y, pullback = tn.prox_tv1d_vjp([1.0, 2.0, 8.0, 9.0], 1.0)
    >>> gradients = pullback([1.0, 0.0, 0.0, 0.0])
    >>> gradients.x
    array([0.5, 0.5, 0. , 0. ])
    >>> gradients.lam
    array(0.5)
    """
    problem = _Problem.read(x, lam, dim, weight, mode, solver, start, polish)
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
        return size_along(self.shape, dim, ndim)

    def sum_over_broadcast(self, gradient: FloatArray) -> FloatArray:
        return self.sum_in_float64(gradient).astype(self.dtype, copy=False)

    def sum_in_float64(self, gradient: FloatArray) -> FloatArray:
        added = gradient.ndim - len(self.shape)
        stretched = tuple(added + d for d, size in enumerate(self.shape) if size == 1)
        return np.asarray(gradient.sum(axis=(*range(added), *stretched))).reshape(self.shape)


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
        shape = self.x.shape
        incoming = _read_grad_y(grad_y, shape)
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


@dataclass(frozen=True)
class _Problem2d:
    """The arguments that describe a batch of images and how to iterate, read and converted."""

    x: FloatArray
    lam_rows: float | FloatArray
    lam_cols: float | FloatArray
    is_pair: bool
    start: FloatArray | None
    height_dim: int
    width_dim: int
    sharpen: bool
    accelerated: bool
    iterations: int
    tol: float
    implicit: bool

    @classmethod
    def read(
        cls,
        x: npt.ArrayLike,
        lam: LamOrPair,
        dims: tuple[int, int],
        mode: str,
        method: str | None,
        iterations: int | None,
        tol: float | None,
        grad: str | None,
        start: npt.ArrayLike | None = None,
    ) -> _Problem2d:
        samples = read_array("x", x)
        height_dim, width_dim = read_dims(dims, samples.ndim)
        lam_rows, lam_cols = read_lams(samples.shape, lam, height_dim, width_dim)
        accelerated, count, tolerance, implicit = read_solver2d(
            method, iterations, tol, grad, isotropic=False
        )
        return cls(
            x=samples,
            lam_rows=lam_rows,
            lam_cols=lam_cols,
            is_pair=isinstance(lam, tuple),
            start=None if start is None else read_array("start", start),
            height_dim=height_dim,
            width_dim=width_dim,
            sharpen=read_mode(mode),
            accelerated=accelerated,
            iterations=count,
            tol=tolerance,
            implicit=implicit,
        )

    @property
    def dims(self) -> tuple[int, int]:
        return self.height_dim, self.width_dim

    @property
    def batch(self) -> tuple[int, ...]:
        return tuple(size for d, size in enumerate(self.x.shape) if d not in self.dims)

    def solve(
        self, threads: int = 0, keep: bool = False, report: bool = False
    ) -> tuple[FloatArray, _Solved2d]:
        count = math.prod(self.batch)
        y = np.empty(self.x.shape, self.x.dtype)
        line = _missed.find_line() if self.tol else None
        partitions = momentum = gap = dual = None
        if keep:
            saved = 1 if self.implicit else self.iterations
            partitions = np.empty(_numpy.saved_words2d(self.x, *self.dims, saved), np.uint32)
            momentum = np.empty(0 if self.implicit else count * saved)
        if report or line is not None:
            gap = np.empty(count)
        if report:
            dual = np.empty(self.x.shape, np.float64 if self.x.dtype == np.float64 else np.float32)
        done = np.empty(count, np.int32)
        try:
            _numpy.prox_tv2d(
                self.x,
                self.lam_rows,
                self.lam_cols,
                self.start,
                *self.dims,
                self.sharpen,
                self.accelerated,
                self.iterations,
                self.tol,
                self.implicit,
                threads,
                y,
                partitions,
                momentum,
                done,
                gap,
                dual,
            )
        except ValueError as error:
            lams = (self.lam_rows, self.lam_cols)
            raise _reworded2d(error, self.x.shape, lams, self.is_pair, self.dims) from None
        converged = None
        if gap is not None:
            with np.errstate(invalid="ignore"):  # an image that was copied may hold anything
                objective = self._objective(y).reshape(-1)
                tolerance = self.tol or good_tol(self.x.dtype == np.float64)
                is_within = np.isfinite(gap) & (gap <= tolerance * objective)
            # An image that was copied is its own optimum, whatever it holds.
            converged = (gap == 0) | is_within
            if line is not None:
                self._warn_of_missed(line, converged, done, gap, objective)
        return y, _Solved2d(partitions, momentum, done, gap, converged, dual)

    def _warn_of_missed(
        self,
        line: _missed.Line,
        converged: npt.NDArray[np.bool_],
        done: npt.NDArray[np.int32],
        gap: npt.NDArray[np.float64],
        objective: npt.NDArray[np.float64],
    ) -> None:
        places = np.flatnonzero(~converged & ~np.isnan(gap))  # NaN: an image that is not finite
        if not places.size:
            return
        indices = np.argwhere(np.ones(self.batch, np.bool_))[places]
        columns = (indices, done[places], gap[places] / objective[places])
        parts = zip(*[column.tolist() for column in columns], strict=True)
        missed = [_missed.Image(tuple(index), count, part) for index, count, part in parts]
        limits = (self.tol, self.iterations, self.accelerated)
        _missed.warn(line, _missed.describe(missed, gap.size, *limits, self.x.dtype.name))

    def _objective(self, y: FloatArray) -> npt.NDArray[np.float64]:
        """Give the objective of each image of a result."""
        x = self.x.astype(np.float64)
        change = y - x  # of both modes but for the sign
        smooth = x - change if self.sharpen else x + change
        total = np.square(change).sum(self.dims) / 2
        for lam, dim in ((self.lam_rows, self.width_dim), (self.lam_cols, self.height_dim)):
            size = np.abs(np.diff(smooth, axis=dim))
            penalty = np.multiply(size, lam, out=np.zeros_like(size), where=size != 0)
            total = total + penalty.sum(self.dims)
        return np.asarray(total)


def _reworded2d(
    error: ValueError,
    shape: tuple[int, ...],
    lams: tuple[float | FloatArray, float | FloatArray],
    is_pair: bool,
    dims: tuple[int, int],
) -> ValueError:
    """Give what the core says of an argument in the words of users, and what may help."""
    names = ("lam_rows", "lam_cols") if is_pair else ("lam",)
    lam_shapes = dict(zip(names, map(np.shape, lams), strict=False))  # lam is both
    message = in_users_words(str(error), is_pair)
    return ValueError(with_reshape_hint(message, shape, lam_shapes, dims))


class _Solved2d(NamedTuple):
    """What a call leaves beside y; all but ``done`` only where it is asked for."""

    partitions: npt.NDArray[np.uint32] | None
    momentum: npt.NDArray[np.float64] | None
    done: npt.NDArray[np.int32]
    gap: npt.NDArray[np.float64] | None
    converged: npt.NDArray[np.bool_] | None
    dual: FloatArray | None


@overload
def prox_tv2d(
    x: npt.ArrayLike,
    lam: LamOrPair,
    *,
    dims: tuple[int, int] = ...,
    mode: Mode = ...,
    method: Method | None = ...,
    iterations: int | None = ...,
    tol: float | None = ...,
    grad: Grad | None = ...,
    start: npt.ArrayLike | None = ...,
    threads: int | None = ...,
    return_info: Literal[False] = ...,
) -> FloatArray: ...


@overload
def prox_tv2d(
    x: npt.ArrayLike,
    lam: LamOrPair,
    *,
    dims: tuple[int, int] = ...,
    mode: Mode = ...,
    method: Method | None = ...,
    iterations: int | None = ...,
    tol: float | None = ...,
    grad: Grad | None = ...,
    start: npt.ArrayLike | None = ...,
    threads: int | None = ...,
    return_info: Literal[True],
) -> tuple[FloatArray, Info]: ...


def prox_tv2d(
    x: npt.ArrayLike,
    lam: LamOrPair,
    *,
    dims: tuple[int, int] = (-2, -1),
    mode: Mode = "smooth",
    method: Method | None = None,
    iterations: int | None = None,
    tol: float | None = None,
    grad: Grad | None = None,
    start: npt.ArrayLike | None = None,
    threads: int | None = None,
    return_info: bool = False,
) -> FloatArray | tuple[FloatArray, Info]:
    """Smooth (or sharpen) images by the total variation proximity operator.

    ``y = argmin_y 1/2 |y - x|^2 + sum_rows lam |y_{r,c+1} - y_{r,c}| + sum_columns lam
    |y_{r+1,c} - y_{r,c}|`` for every image of x on its own, or with ``mode="sharp"`` the
    opposite step ``x + (x - y)``, rounded once. It is solved by exact 1D solves of all
    rows and all columns in turn.

    Parameters
    ----------
    x
        array_like of two dimensions or more, otherwise as at the top of this module. An
        image with a pixel that is not finite comes out NaN, the others are not touched
        by it.
    lam
        The penalty, >= 0: a number, or an array that broadcasts to x with size 1 along
        both dims (one an image). Or a tuple ``(lam_rows, lam_cols)`` of such, which may
        also have one an edge: they broadcast to ``(..., H, W - 1)`` and
        ``(..., H - 1, W)``.
    dims
        The dimensions of x that an image's height and width are: rows run along
        ``dims[1]``.
    mode
        ``"smooth"`` or ``"sharp"``.
    method
        ``"dykstra"``: Algorithm 1 of Yeh, Hu, Ren and Schwing (CVPR 2022).
        ``"accelerated"``: the same passes with momentum, which needs far fewer of them.
        None: accelerated with ``tol``, else dykstra.
    iterations
        How many, of two passes each; with ``tol``, at most. None: 4 for dykstra, 16 for
        accelerated, 128 with ``tol``.
    tol
        Each image stops once its duality gap is at most ``tol`` times its objective,
        which is checked every fourth iteration. 1e-4 is a good value in float32, 1e-6
        in float64. None: all iterations are done.
    grad
        What `prox_tv2d_vjp` differentiates. ``"unrolled"``: the iterations as they were
        done. ``"implicit"``: the exact solution, for calls that come near it; the result
        is then also polished. None: implicit with ``tol``, else unrolled.
    start
        The ``dual`` of an earlier call on similar images, to start from.
    threads
        As in `prox_tv1d`.
    return_info
        Whether to return an `Info` as well.

    Returns
    -------
    numpy.ndarray or (numpy.ndarray, Info)
        A new array of x's shape and dtype in C order; and how the iteration ended.

    Warns
    -----
    RuntimeWarning
        Where an image misses ``tol``: once per line of code that calls.

    Examples
    --------
    >>> import numpy as np
    >>> import tautstring.numpy as tn
    >>> x = np.array([[0.0, 0.0, 8.0], [0.0, 1.0, 8.0]])
    >>> tn.prox_tv2d(x, 1.0)
    array([[0.75, 0.75, 7.  ],
           [0.75, 0.75, 7.  ]])

    As near to the optimum as is asked for, with a proof of it:

    >>> y, info = tn.prox_tv2d(x, 1.0, tol=1e-6, return_info=True)
    >>> bool(info.converged), bool(info.gap < 1e-5)
    (True, True)
    """
    problem = _Problem2d.read(x, lam, dims, mode, method, iterations, tol, grad, start)
    y, solved = problem.solve(read_threads(threads), report=return_info)
    if not return_info:
        return y
    assert solved.gap is not None and solved.converged is not None and solved.dual is not None
    shape = problem.batch
    return y, Info(
        solved.done.reshape(shape),
        solved.gap.reshape(shape),
        solved.converged.reshape(shape),
        solved.dual,
    )


def prox_tv2d_vjp(
    x: npt.ArrayLike,
    lam: LamOrPair,
    *,
    dims: tuple[int, int] = (-2, -1),
    mode: Mode = "smooth",
    method: Method | None = None,
    iterations: int | None = None,
    tol: float | None = None,
    grad: Grad | None = None,
    start: npt.ArrayLike | None = None,
) -> tuple[FloatArray, Callable[[npt.ArrayLike], Gradients2d]]:
    """Give the result of `prox_tv2d` and the function that takes gradients back through it.

    With ``grad="unrolled"`` they are those of the iterations as they were done. With
    ``"implicit"`` the solution is constant on components: the gradient of x is the mean
    of grad_y over each, that of an edge's lam minus the sign of its jump times the
    difference of that over it.

    Parameters
    ----------
    x, lam, dims, mode, method, iterations, tol, grad, start
        As in `prox_tv2d`.

    Returns
    -------
    y : numpy.ndarray
        What `prox_tv2d` gives.
    pullback : callable
        ``pullback(grad_y)``, with grad_y of y's shape, gives `Gradients2d` in the shapes
        and dtypes of the arguments (float64 where those are numbers or integers), summed
        in float64 where an argument was broadcast. It may be called any number of times.
        It keeps 4 bits a pixel and iteration, or 4 bits a pixel (``"implicit"``).

    Examples
    --------
    >>> import tautstring.numpy as tn
    >>> y, pullback = tn.prox_tv2d_vjp([[0.0, 0.0, 8.0], [0.0, 1.0, 8.0]], 1.0)
    >>> gradients = pullback([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    >>> gradients.x
    array([[0.25, 0.25, 0.  ],
           [0.25, 0.25, 0.  ]])
    >>> gradients.lam
    array(0.5)
    """
    problem = _Problem2d.read(x, lam, dims, mode, method, iterations, tol, grad, start)
    y, solved = problem.solve(keep=True)
    return y, _Pullback2d.of(problem, solved).pull_back


@dataclass(frozen=True)
class _Pullback2d:
    """What the way back needs of solved images."""

    solved: _Solved2d
    x: _Argument
    lam_rows: _Argument
    lam_cols: _Argument
    is_pair: bool
    dims: tuple[int, int]
    sharpen: bool
    iterations: int
    implicit: bool

    @classmethod
    def of(cls, problem: _Problem2d, solved: _Solved2d) -> _Pullback2d:
        return cls(
            solved,
            _Argument.of(problem.x),
            _Argument.of(problem.lam_rows),
            _Argument.of(problem.lam_cols),
            problem.is_pair,
            problem.dims,
            problem.sharpen,
            problem.iterations,
            problem.implicit,
        )

    def pull_back(self, grad_y: npt.ArrayLike) -> Gradients2d:
        """Take the gradient of y back to the gradients of the arguments."""
        incoming = _read_grad_y(grad_y, self.x.shape)
        height_dim, width_dim = self.dims
        grad_x = np.empty(self.x.shape, self.x.dtype)
        grad_rows = self._make_lam_terms(self.lam_rows, width_dim)
        grad_columns = self._make_lam_terms(self.lam_cols, height_dim)
        assert self.solved.partitions is not None and self.solved.momentum is not None
        _numpy.prox_tv2d_backward(
            self.solved.partitions,
            self.solved.momentum,
            self.solved.done,
            height_dim,
            width_dim,
            self.sharpen,
            self.iterations,
            self.implicit,
            incoming,
            grad_x,
            grad_rows,
            grad_columns,
        )
        if self.is_pair:
            return Gradients2d(
                grad_x,
                (
                    self.lam_rows.sum_over_broadcast(grad_rows),
                    self.lam_cols.sum_over_broadcast(grad_columns),
                ),
            )
        both = self.lam_rows.sum_in_float64(grad_rows) + self.lam_rows.sum_in_float64(grad_columns)
        return Gradients2d(grad_x, np.asarray(both, self.lam_rows.dtype))

    def _make_lam_terms(self, lam: _Argument, dim: int) -> FloatArray:
        size = lam.size_along(dim, len(self.x.shape))
        return np.empty(_with_size(self.x.shape, dim, size), np.float64)


def _read_grad_y(grad_y: npt.ArrayLike, shape: tuple[int, ...]) -> FloatArray:
    incoming = read_array("grad_y", grad_y)
    if incoming.shape != shape:
        raise ValueError(f"grad_y: must have y's shape {shape}, got {incoming.shape}")
    return incoming


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
    >>> import tautstring.numpy as tn
    >>> x = [1.0, 2.0, 8.0, 9.0]
    >>> tn.certificate1d(x, [2.0, 2.0, 8.0, 8.0], 1.0)
    array(0.)
    >>> tn.certificate1d(x, x, 1.0)
    array(0.125)
    """
    problem = _Problem.read(x, lam, dim, weight)
    solution = read_array("y", y)
    out = _row_numbers(problem.x, problem.dim)
    try:
        _numpy.certificate1d(problem.x, solution, problem.lam, problem.weight, problem.dim, out)
    except ValueError as error:
        raise problem.reworded(error) from None
    return _drop_dim(out, problem.dim)


def gap2d(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    lam: LamOrPair,
    *,
    dims: tuple[int, int] = (-2, -1),
    dual: npt.ArrayLike | None = None,
) -> npt.NDArray[np.float64]:
    """Bound how far the objective of `prox_tv2d` at y is above the optimum.

    The duality gap of y by dual variables that are found here: it is never less than what
    the objective is above its optimum, whoever computed y.

    Parameters
    ----------
    x, lam, dims
        As in `prox_tv2d`.
    y
        The images to test, of x's shape.
    dual
        What `prox_tv2d` gave as ``Info.dual`` with this x and lam, from which one iteration
        gives the dual variables: the gap is then no more than ``Info.gap``. Anything else
        gives a bound as well, but the worse it is the larger that is; in an image where it
        is not finite it is taken for 0. None: accelerated iterations, until the gap is
        within a hundredth of what y really is above the optimum, 128 at most.

    Returns
    -------
    numpy.ndarray
        One number an image: x's shape without dims, float64, in which all of it is worked
        out. NaN where x or y is not finite.

    Examples
    --------
    >>> import tautstring.numpy as tn
    >>> x = [[0.0, 0.0, 8.0], [0.0, 1.0, 8.0]]
    >>> tn.gap2d(x, [[0.75, 0.75, 7.0], [0.75, 0.75, 7.0]], 1.0)
    array(0.)
    >>> tn.gap2d(x, x, 1.0)
    array(2.625)
    """
    samples, images = read_array("x", x), read_array("y", y)
    height_dim, width_dim = read_dims(dims, samples.ndim)
    lam_rows, lam_cols = read_lams(samples.shape, lam, height_dim, width_dim)
    duals = None if dual is None else read_array("dual", dual)
    batch = tuple(size for d, size in enumerate(samples.shape) if d not in (height_dim, width_dim))
    gap = np.empty(math.prod(batch))
    try:
        _numpy.gap2d(samples, images, lam_rows, lam_cols, duals, height_dim, width_dim, gap)
    except ValueError as error:
        lams, is_pair = (lam_rows, lam_cols), isinstance(lam, tuple)
        raise _reworded2d(error, samples.shape, lams, is_pair, (height_dim, width_dim)) from None
    return gap.reshape(batch)


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
    >>> import tautstring.numpy as tn
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
    >>> import tautstring.numpy as tn
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
    >>> import tautstring.numpy as tn
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
    TAUTSTRING_CPU named at the first call ("none" where that cannot run here; calls
    then raise ValueError).

    Examples
    --------
    >>> import tautstring
    >>> import tautstring.numpy as tn
    >>> tn.show_config()["version"] == tautstring.__version__
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
