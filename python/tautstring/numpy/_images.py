"""Images: `prox_tv2d`, its pullback, and the duality gap."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from tautstring import _missed, _numpy
from tautstring._docs import share_docs
from tautstring._options import (
    Grad,
    Method,
    Mode,
    read_dims,
    read_mode,
    read_solver2d,
    with_reshape_hint,
)
from tautstring.numpy._arguments import (
    Argument,
    FloatArray,
    LamOrPair,
    read_array,
    read_grad_y,
    read_lams,
    read_threads,
    with_size,
)
from tautstring.numpy._types import Gradients2d, Info


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
        self, threads: int = 0, keep: bool = False, wants_info: bool = False
    ) -> tuple[FloatArray, _Solved2d]:
        count = math.prod(self.batch)
        y = np.empty(self.x.shape, self.x.dtype)
        line = _missed.find_line() if self.tol else None
        partitions = momentum = gap = objective = flags = report = dual = None
        if keep:
            saved = 1 if self.implicit else self.iterations
            partitions = np.empty(_numpy.saved_words2d(self.x, *self.dims, saved), np.uint32)
            momentum = np.empty(0 if self.implicit else count * saved)
        if wants_info or line is not None:
            gap, objective, flags = np.empty(count), np.empty(count), np.empty(count, np.uint8)
            report = _Report2d(gap, objective, converged=flags.view(np.bool_))
        if wants_info:
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
                objective,
                flags,
                dual,
            )
        except ValueError as error:
            lams = (self.lam_rows, self.lam_cols)
            raise _with_hint2d(error, self.x.shape, lams, self.is_pair, self.dims) from None
        if report is not None and line is not None:
            self._warn_of_missed(line, done, report)
        return y, _Solved2d(partitions, momentum, done, report, dual)

    def _warn_of_missed(
        self, line: _missed.Line, done: npt.NDArray[np.int32], report: _Report2d
    ) -> None:
        # NaN: an image that is not finite
        places = np.flatnonzero(~report.converged & ~np.isnan(report.gap))
        if not places.size:
            return
        indices = np.argwhere(np.ones(self.batch, np.bool_))[places]
        columns = (indices, done[places], report.gap[places] / report.objective[places])
        parts = zip(*[column.tolist() for column in columns], strict=True)
        missed = [_missed.Image(tuple(index), count, part) for index, count, part in parts]
        limits = (self.tol, self.iterations, self.accelerated)
        _missed.warn(line, _missed.describe(missed, done.size, *limits, self.x.dtype.name))


class _Report2d(NamedTuple):
    """How good each image of a result is."""

    gap: npt.NDArray[np.float64]
    objective: npt.NDArray[np.float64]
    converged: npt.NDArray[np.bool_]


def _with_hint2d(
    error: ValueError,
    shape: tuple[int, ...],
    lams: tuple[float | FloatArray, float | FloatArray],
    is_pair: bool,
    dims: tuple[int, int],
) -> ValueError:
    """Add a hint to the core's message about an argument."""
    names = ("lam_rows", "lam_cols") if is_pair else ("lam",)
    lam_shapes = dict(zip(names, map(np.shape, lams), strict=False))  # lam is both
    return ValueError(with_reshape_hint(str(error), shape, lam_shapes, dims))


class _Solved2d(NamedTuple):
    """The results of a call other than y; all but ``done`` only if requested."""

    partitions: npt.NDArray[np.uint32] | None
    momentum: npt.NDArray[np.float64] | None
    done: npt.NDArray[np.int32]
    report: _Report2d | None
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


@share_docs
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

    {prox_tv2d}

    Parameters
    ----------
    x
        array_like of two dimensions or more, otherwise as at the top of this module. An
        image with a non-finite pixel becomes NaN, the others are not affected.
    lam
        The penalty, >= 0: a number, or an array that broadcasts to x with size 1 along
        both dims (one per image). Or a tuple ``(lam_rows, lam_cols)`` of such, which may
        also have one per edge: they broadcast to ``(..., H, W - 1)`` and
        ``(..., H - 1, W)``.
    {dims}
    {mode}
    {method}
    {iterations}
    {tol}
    grad
        What `prox_tv2d_vjp` differentiates. ``"unrolled"``: the iterations as computed.
        ``"implicit"``: the exact solution, for calls that come near it; the result is
        then also polished. None: implicit with ``tol``, else unrolled.
    start
        The ``dual`` of an earlier call on similar images, to start from.
    threads
        As in `prox_tv1d`.
    {return_info_of_images}

    Returns
    -------
    numpy.ndarray or (numpy.ndarray, Info)
        A new array of x's shape and dtype in C order; and how the iterations ended.

    Warns
    -----
    RuntimeWarning
        If an image misses ``tol``: once per calling line of code.

    Examples
    --------
    >>> import numpy as np
    >>> import tautstring.numpy as tn
    >>> x = np.array([[0.0, 0.0, 8.0], [0.0, 1.0, 8.0]])
    >>> tn.prox_tv2d(x, 1.0)
    array([[0.75, 0.75, 7.  ],
           [0.75, 0.75, 7.  ]])

    To a given accuracy, with a proof of it:

    >>> y, info = tn.prox_tv2d(x, 1.0, tol=1e-6, return_info=True)
    >>> bool(info.converged), bool(info.gap < 1e-5)
    (True, True)
    """
    problem = _Problem2d.read(x, lam, dims, mode, method, iterations, tol, grad, start)
    y, solved = problem.solve(read_threads(threads), wants_info=return_info)
    if solved.report is None or solved.dual is None:
        return y
    shape, report = problem.batch, solved.report
    done, gap, converged = solved.done, report.gap, report.converged
    return y, Info(done.reshape(shape), gap.reshape(shape), converged.reshape(shape), solved.dual)


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
    """Return the result of `prox_tv2d` and the function that pulls gradients back through it.

    With ``grad="unrolled"`` they are the gradients of the iterations as computed. With
    ``"implicit"`` the solution is constant on components: the gradient of x is the mean
    of grad_y over each component; the gradient of an edge's lam is minus the sign of its
    jump, times the difference of that mean across the edge.

    Parameters
    ----------
    x, lam, dims, mode, method, iterations, tol, grad, start
        As in `prox_tv2d`.

    Returns
    -------
    y : numpy.ndarray
        The result of `prox_tv2d`.
    pullback : callable
        ``pullback(grad_y)``, with grad_y of y's shape, returns `Gradients2d` in the shapes
        and dtypes of the arguments (float64 where those are numbers or integers), summed
        in float64 where an argument was broadcast. It may be called any number of times.
        It keeps 4 bits per pixel and iteration, or 4 bits per pixel (``"implicit"``).

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
    """What the pullback needs of solved images."""

    solved: _Solved2d
    x: Argument
    lam_rows: Argument
    lam_cols: Argument
    is_pair: bool
    dims: tuple[int, int]
    sharpen: bool
    iterations: int
    implicit: bool

    @classmethod
    def of(cls, problem: _Problem2d, solved: _Solved2d) -> _Pullback2d:
        return cls(
            solved,
            Argument.of(problem.x),
            Argument.of(problem.lam_rows),
            Argument.of(problem.lam_cols),
            problem.is_pair,
            problem.dims,
            problem.sharpen,
            problem.iterations,
            problem.implicit,
        )

    def pull_back(self, grad_y: npt.ArrayLike) -> Gradients2d:
        """Return the gradients of the arguments, given the gradient of y."""
        incoming = read_grad_y(grad_y, self.x.shape)
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

    def _make_lam_terms(self, lam: Argument, dim: int) -> FloatArray:
        size = lam.size_along(dim, len(self.x.shape))
        return np.empty(with_size(self.x.shape, dim, size), np.float64)


@share_docs
def gap2d(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    lam: LamOrPair,
    *,
    dims: tuple[int, int] = (-2, -1),
    dual: npt.ArrayLike | None = None,
) -> npt.NDArray[np.float64]:
    """Return an upper bound on how far the objective of `prox_tv2d` at y is from the optimum.

    {gap2d}

    Parameters
    ----------
    x, lam, dims
        As in `prox_tv2d`.
    y
        The images to test, of x's shape.
    {dual_of_gap2d}

    Returns
    -------
    numpy.ndarray
        One number per image: x's shape without dims, computed in float64. NaN where x or y
        is not finite.

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
        raise _with_hint2d(error, samples.shape, lams, is_pair, (height_dim, width_dim)) from None
    return gap.reshape(batch)
