"""Rows: `prox_tv1d` and its pullback."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt

from tautstring import _numpy
from tautstring._docs import share_docs
from tautstring._options import (
    Mode,
    Newton,
    Solver,
    read_dim,
    read_mode,
    read_solver1d,
    with_reshape_hint,
)
from tautstring.numpy._arguments import (
    Argument,
    FloatArray,
    read_array,
    read_grad_y,
    read_lam,
    read_threads,
    read_weight,
    with_size,
)
from tautstring.numpy._types import Gradients, Info


@dataclass(frozen=True)
class Problem:
    """The arguments that describe a batch of rows, read and converted."""

    x: FloatArray
    lam: float | FloatArray
    weight: FloatArray | None
    dim: int
    sharpen: bool
    newton: Newton | None = None  # None: the direct solver, which does not use the fields below
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
    ) -> Problem:
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
            raise self.with_hint(error) from None
        return y

    def with_hint(self, error: ValueError) -> ValueError:
        """Add a hint to the core's message about an argument."""
        lam_shapes = {"lam": np.shape(self.lam)}
        return ValueError(with_reshape_hint(str(error), self.x.shape, lam_shapes, [self.dim]))

    def _iterate(
        self,
        newton: Newton,
        threads: int,
        y: FloatArray,
        partition: npt.NDArray[np.uint32] | None,
        info: Info | None,
    ) -> None:
        if np.ndim(self.lam) > self.x.ndim == 0:  # the core gets x with one dimension
            raise ValueError(f"lam: must not have more dimensions than x, got {np.ndim(self.lam)}")
        room: tuple[Any, ...] = (None, None, None, None)
        if info is not None:
            converged = info.converged.view(np.uint8)
            numbers = (part.reshape(-1) for part in (info.iterations, info.gap, converged))
            room = (*numbers, info.dual)
        _numpy.prox_tv1d_newton(
            np.atleast_1d(self.x),  # edges need a dimension to be counted along
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
        """Allocate the report on the iterations of each row."""
        shape = np.atleast_1d(self.x).shape
        batch = (*shape[: self.dim], *shape[self.dim + 1 :])
        return Info(
            iterations=np.empty(batch, np.int32),
            gap=np.empty(batch),
            converged=np.empty(batch, np.bool_),
            dual=np.empty(with_size(shape, self.dim, max(shape[self.dim] - 1, 0))),
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


@share_docs
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

    {prox_tv1d}

    Parameters
    ----------
    x, lam, dim, weight
        See the top of this module.
    {mode}
    {solver}
    start
        With Newton: the ``dual`` of an earlier call on similar rows, to start from.
    {polish}
    threads
        The number of threads that share the rows, 1 to 4096. None: one per
        hardware thread. The result does not depend on it.
    {return_info_of_rows}

    Returns
    -------
    numpy.ndarray or (numpy.ndarray, Info)
        A new array of x's shape and dtype in C order; and how the iterations ended.
        A missing sample is left out of all sums and gets its value from its
        neighbours. A row with every sample missing becomes NaN.

    Examples
    --------
    >>> import numpy as np
    >>> import tautstring.numpy as tn
    >>> tn.prox_tv1d(np.array([1.0, 2.0, 8.0, 9.0]), 1.0)
    array([2., 2., 8., 8.])

    Along the columns, with a penalty for each:

    >>> tn.prox_tv1d(np.array([[0.0, 0.0], [4.0, 4.0]]), [1.0, np.inf], dim=0)
    array([[1., 2.],
           [3., 2.]])

    With the paper's solver; a call on similar rows can start from its dual variables:

    >>> y, info = tn.prox_tv1d([1.0, 2.0, 8.0, 9.0], 2.0, solver="newton", return_info=True)
    >>> info.dual
    array([-1.5, -2. , -1.5])
    >>> y = tn.prox_tv1d([1.0, 2.0, 8.0, 9.5], 2.0, solver="newton", start=info.dual)
    """
    problem = Problem.read(x, lam, dim, weight, mode, solver, start, polish, return_info)
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
    """Return the result of `prox_tv1d` and the function that pulls gradients back through it.

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
        The result of `prox_tv1d`.
    pullback : callable
        ``pullback(grad_y)``, with grad_y of y's shape, returns `Gradients` in the
        shapes and dtypes of the arguments (float64 where those are numbers or
        integers), summed in float64 where an argument was broadcast; its
        ``weight`` is None if no weight was given. It may be called any number
        of times. It keeps 2 bits per element. With data weights it also keeps
        copies of x, y and weight, so those arrays may change later.

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
    problem = Problem.read(x, lam, dim, weight, mode, solver, start, polish)
    y, partition = problem.solve_with_partition()
    return y, _Pullback.of(problem, y, partition).pull_back


@dataclass(frozen=True)
class _Pullback:
    """What the pullback needs of a solved problem."""

    partition: npt.NDArray[np.uint32]
    x: Argument
    lam: Argument
    dim: int
    sharpen: bool
    # Only with data weights:
    saved_x: FloatArray | None = None
    saved_y: FloatArray | None = None
    saved_weight: FloatArray | None = None

    @classmethod
    def of(cls, problem: Problem, y: FloatArray, partition: npt.NDArray[np.uint32]) -> _Pullback:
        weighted = problem.weight is not None
        return cls(
            partition=partition,
            x=Argument.of(problem.x),
            lam=Argument.of(problem.lam),
            dim=problem.dim,
            sharpen=problem.sharpen,
            saved_x=problem.x.copy() if weighted else None,
            saved_y=y.copy() if weighted else None,
            saved_weight=None if problem.weight is None else problem.weight.copy(),
        )

    def pull_back(self, grad_y: npt.ArrayLike) -> Gradients:
        """Return the gradients of the arguments, given the gradient of y."""
        shape = self.x.shape
        incoming = read_grad_y(grad_y, shape)
        lam_size = self.lam.size_along(self.dim, len(shape))
        grad_x = np.empty(shape, self.x.dtype)
        grad_lam = np.empty(with_size(shape, self.dim, lam_size), np.float64)
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
            else Argument.of(self.saved_weight).sum_over_broadcast(grad_weight),
        )
