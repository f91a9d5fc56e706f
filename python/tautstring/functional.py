"""Exact total variation of torch tensors.

The objective, for every row of ``x`` along ``dim`` independently, is::

    prox(x, lam) = argmin_y 1/2 sum_i weight_i (y_i - x_i)^2 + sum_i lam_i |y_{i+1} - y_i|

(`tautstring.prox_tv2d` does the same for images, with differences along rows and along columns.)

The solution is exact, takes time linear in the row length, and is the same bit for bit
from run to run and for any number of threads. These arguments mean the same in all
functions:

``x``
    tensor of any shape and strides on the CPU or on CUDA, cut into rows along ``dim``:
    float16, bfloat16, float32 or float64. Arithmetic is float64 for float64, else
    float32. A row with a non-finite sample becomes NaN, the others are exact. At most
    32 dimensions. With more than 9, batch dimensions that all arguments step through
    evenly, as contiguous tensors do, are folded; at most 8 of them may remain.
``lam``
    the penalty, >= 0: a number, or a tensor that broadcasts to ``x`` and whose size
    along ``dim`` is 1 (one per row) or n - 1 (one per edge). ``inf`` gives the mean, 0
    copies the row bit for bit.
``dim``
    the dimension of ``x`` that the rows run along.
``weight``
    data weights, finite and >= 0, broadcasting to ``x``; None: all 1. A sample of
    weight 0 is missing: ``x`` is not read there and may be NaN.

A bad argument raises TypeError or ValueError (RuntimeError inside a compiled graph), with
its name, the value passed and what is allowed. On CUDA, values of ``lam`` and ``weight``
are not checked, since that would wait for the device: a row with a bad value becomes NaN.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypedDict, overload

import torch
from torch import Tensor

from tautstring import (
    _extension,
    _fake,  # noqa: F401  # registers with the ops, as _vmap does
    _images,
    _missed,
    _rows,
    _vmap,  # noqa: F401
)
from tautstring._autograd_paths import is_traced, read, takes_eager_path
from tautstring._docs import share_docs
from tautstring._options import (
    Grad,
    Method,
    Mode,
    Newton,
    Solver,
    read_dims,
    read_mode,
    read_solver1d,
    read_solver2d,
)
from tautstring._shapes import arithmetic_dtype
from tautstring._solve import solve, solve_and_report, solve_for_all
from tautstring._tensors import (
    LamOrPair,
    as_rows,
    check_values,
    is_plain,
    lams_by_name,
    raise_by_kind,
    read_lam,
    read_lams,
    read_problem,
    read_tensor,
    require_beside,
    shape_hints,
)

__all__ = [
    "Config",
    "Info",
    "Newton",
    "Segments",
    "certificate1d",
    "gap2d",
    "lam_max",
    "path1d",
    "prox_tv1d",
    "prox_tv2d",
    "release_scratch",
    "segments1d",
    "show_config",
    "tv",
]


def __dir__() -> list[str]:
    return sorted(__all__)


@share_docs
class Segments(NamedTuple):
    """The constant segments of one row of a solution, from left to right.

    Attributes
    ----------
    {segments}
    """

    starts: Tensor
    lengths: Tensor
    values: Tensor
    signs: Tensor


@share_docs
class Info(NamedTuple):
    """How the iterations of each row or image ended. Has no gradients.

    Attributes
    ----------
    {info}
    """

    iterations: Tensor
    gap: Tensor
    converged: Tensor
    dual: Tensor


class Config(TypedDict):
    """The configuration of this build of the library."""

    version: str
    compiler: str
    cuda: bool
    cpu_target: str
    cpu_targets: tuple[str, ...]
    threads: int
    torch: str
    torch_cuda: str | None


@overload
def prox_tv1d(
    x: Tensor,
    lam: Tensor | float,
    *,
    dim: int = ...,
    weight: Tensor | None = ...,
    mode: Mode = ...,
    solver: Solver = ...,
    check: bool = ...,
    start: Tensor | None = ...,
    polish: bool = ...,
    return_info: Literal[False] = ...,
) -> Tensor: ...


@overload
def prox_tv1d(
    x: Tensor,
    lam: Tensor | float,
    *,
    dim: int = ...,
    weight: Tensor | None = ...,
    mode: Mode = ...,
    solver: Solver = ...,
    check: bool = ...,
    start: Tensor | None = ...,
    polish: bool = ...,
    return_info: Literal[True],
) -> tuple[Tensor, Info]: ...


@share_docs
def prox_tv1d(
    x: Tensor,
    lam: Tensor | float,
    *,
    dim: int = -1,
    weight: Tensor | None = None,
    mode: Mode = "smooth",
    solver: Solver = "direct",
    check: bool = False,
    start: Tensor | None = None,
    polish: bool = True,
    return_info: bool = False,
) -> Tensor | tuple[Tensor, Info]:
    """Smooth (or sharpen) the rows of x by the total variation proximity operator.

    {prox_tv1d}

    Differentiable with respect to x, lam and weight, forward and backward, any
    number of times. For that, 2 bits per element are kept (with weight also x, y and
    weight), or nothing if no argument requires a gradient.

    Parameters
    ----------
    x, lam, dim, weight
        See the top of this module.
    {mode}
    {solver}
    check
        On CUDA, wait for the device and raise ValueError if a value of lam or weight
        is not allowed. On the CPU, values are always checked.
    start
        With Newton: the ``dual`` of an earlier call on similar rows, to start from.
        Derivatives treat it as a constant.
    {polish}
    {return_info_of_rows}

    Returns
    -------
    torch.Tensor or (torch.Tensor, Info)
        y with x's shape, dtype and, if x has no gaps, strides; and how the iterations ended.

    Examples
    --------
    >>> import torch, tautstring
    >>> x = torch.tensor([1.0, 2.0, 8.0, 9.0], requires_grad=True)
    >>> y = tautstring.prox_tv1d(x, 1.0)
    >>> y.detach()
    tensor([2., 2., 8., 8.])
    >>> y[0].backward()
    >>> x.grad
    tensor([0.5000, 0.5000, 0.0000, 0.0000])

    Along the columns, with a penalty for each:

    >>> image = torch.tensor([[0.0, 0.0], [4.0, 4.0]])
    >>> tautstring.prox_tv1d(image, torch.tensor([1.0, torch.inf]), dim=0)
    tensor([[1., 2.],
            [3., 2.]])

    With the paper's solver; a call on similar rows can start from its dual variables:

    >>> y, info = tautstring.prox_tv1d(x, 2.0, solver="newton", return_info=True)
    >>> info.dual
    tensor([-1.5000, -2.0000, -1.5000], dtype=torch.float64)
    >>> y = tautstring.prox_tv1d(x, 2.1, solver="newton", start=info.dual)
    """
    along = read_problem(x, weight, dim)
    lam = read_lam(x, lam)
    sharpen = read_mode(mode)
    newton = read_solver1d(solver, weight, start, polish, return_info)
    if check:
        check_values({"lam": lam}, weight)
    if newton is not None:
        call = _rows.NewtonOptions(along, sharpen, *newton.told(), bool(polish))
        return _solve_by_newton(x, lam, start, call, return_info)
    needs_gradient = _needs_gradient(x, lam, weight)
    try:
        y = solve(_rows.DIRECT, (as_rows(x), lam, weight, along, sharpen), needs_gradient)
    except RuntimeError as error:
        raise_by_kind(error, shape_hints(x, {"lam": lam}, [along]))
    return y if x.ndim else y.squeeze(0)


def _solve_by_newton(
    x: Tensor,
    lam: Tensor | float,
    start: Tensor | None,
    call: _rows.NewtonOptions,
    return_info: bool,
) -> Tensor | tuple[Tensor, Info]:
    rows = as_rows(x)
    if start is not None:
        read_tensor("start", start)
        require_beside(rows, "start", start)
    needs_gradient = _needs_gradient(x, lam, start)
    arguments = (_rows.NEWTON, (rows, lam, start, *call), needs_gradient)
    info = None
    try:
        if return_info:
            y, report = solve_and_report(*arguments)
            info = Info(*report)
        else:
            y = solve(*arguments)
    except RuntimeError as error:
        raise_by_kind(error, shape_hints(x, {"lam": lam}, [call.dim]))
    y = y if x.ndim else y.squeeze(0)
    return y if info is None else (y, info)


@overload
def prox_tv2d(
    x: Tensor,
    lam: LamOrPair,
    *,
    dims: tuple[int, int] = ...,
    mode: Mode = ...,
    method: Method | None = ...,
    iterations: int | None = ...,
    tol: float | None = ...,
    grad: Grad | None = ...,
    start: Tensor | None = ...,
    isotropic: bool = ...,
    check: bool = ...,
    return_info: Literal[False] = ...,
) -> Tensor: ...


@overload
def prox_tv2d(
    x: Tensor,
    lam: LamOrPair,
    *,
    dims: tuple[int, int] = ...,
    mode: Mode = ...,
    method: Method | None = ...,
    iterations: int | None = ...,
    tol: float | None = ...,
    grad: Grad | None = ...,
    start: Tensor | None = ...,
    isotropic: bool = ...,
    check: bool = ...,
    return_info: Literal[True],
) -> tuple[Tensor, Info]: ...


@share_docs
def prox_tv2d(
    x: Tensor,
    lam: LamOrPair,
    *,
    dims: tuple[int, int] = (-2, -1),
    mode: Mode = "smooth",
    method: Method | None = None,
    iterations: int | None = None,
    tol: float | None = None,
    grad: Grad | None = None,
    start: Tensor | None = None,
    isotropic: bool = False,
    check: bool = False,
    return_info: bool = False,
) -> Tensor | tuple[Tensor, Info]:
    """Smooth (or sharpen) images by the total variation proximity operator.

    {prox_tv2d}

    Differentiable with respect to x and lam, forward and backward, any number of times.
    For that, 4 bits per pixel and iteration (``grad="unrolled"``) or 4 bits per pixel
    (``"implicit"``) are kept, or nothing if no argument requires a gradient.

    Parameters
    ----------
    x
        Tensor of two dimensions or more, otherwise as at the top of this module. An image
        with a non-finite pixel becomes NaN, the others are not affected.
    lam
        The penalty, >= 0: a number, or a tensor that broadcasts to x with size 1 along both
        dims (one per image). Or a pair ``(lam_rows, lam_cols)`` of such, which may also have
        one per edge: they broadcast to ``(..., H, W - 1)`` and ``(..., H - 1, W)``.
    {dims}
    {mode}
    {method}
    {iterations}
    {tol}
    grad
        ``"unrolled"``: the derivatives of the iterations as computed. ``"implicit"``: those
        of the exact solution, for calls that come near it; the result is then also
        polished. None: implicit with ``tol``, else unrolled.
    start
        The ``dual`` of an earlier call on similar images, to start from. Derivatives treat
        it as a constant.
    isotropic
        Not implemented; True raises NotImplementedError.
    check
        On CUDA, wait for the device and raise ValueError if a value of lam is not allowed.
        On the CPU, values are always checked.
    {return_info_of_images}

    Returns
    -------
    torch.Tensor or (torch.Tensor, Info)
        y with x's shape, dtype and, if x has no gaps, strides; and how the iterations ended.

    Warns
    -----
    RuntimeWarning
        If an image on the CPU misses ``tol``: once per calling line of code. Not on CUDA,
        where reading the result would wait for the device, and not inside compiled graphs
        and transforms of ``torch.func``: check `Info.converged` there.

    Examples
    --------
    >>> import torch, tautstring
    >>> x = torch.tensor([[0.0, 0.0, 8.0], [0.0, 1.0, 8.0]])
    >>> tautstring.prox_tv2d(x, 1.0)
    tensor([[0.7500, 0.7500, 7.0000],
            [0.7500, 0.7500, 7.0000]])

    To a given accuracy, with a proof of it:

    >>> y, info = tautstring.prox_tv2d(x, 1.0, tol=1e-4, return_info=True)
    >>> info.converged
    tensor(True)

    Along the rows only, it equals `prox_tv1d`:

    >>> y = tautstring.prox_tv2d(x, (1.0, 0.0))
    >>> torch.equal(y, tautstring.prox_tv1d(x, 1.0))
    True
    """
    read_tensor("x", x)
    height_dim, width_dim = read_dims(dims, x.ndim)
    lam_rows, lam_cols = read_lams(x, lam, height_dim, width_dim)
    options = read_solver2d(method, iterations, tol, grad, isotropic)
    call = _images.Options(height_dim, width_dim, read_mode(mode), *options)
    if start is not None:
        read_tensor("start", start)
        require_beside(x, "start", start)
    lams = lams_by_name(lam, lam_rows, lam_cols)
    if check:
        check_values(lams)
    needs_gradient = _needs_gradient(x, lam_rows, lam_cols, start)
    arguments = (_images.SOLVER, (x, lam_rows, lam_cols, start, *call), needs_gradient)
    line = _missed.find_line() if call.tol and _may_wait_for(x) else None
    try:
        if line is None and not return_info:
            return solve(*arguments)
        y, (done, gap, objective, converged, dual) = solve_and_report(*arguments)
    except RuntimeError as error:
        raise_by_kind(error, shape_hints(x, lams, (height_dim, width_dim)))
    info = Info(done, gap, converged, dual)
    if line is not None:
        _warn_of_missed(line, info, objective, call, x.dtype)
    return (y, info) if return_info else y


def _may_wait_for(x: Tensor) -> bool:
    """Return whether values may be read here: on the CPU, and not while a graph is traced."""
    return is_plain(x) and x.is_cpu and takes_eager_path() and not is_traced()


def _warn_of_missed(
    line: _missed.Line,
    info: Info,
    objective: Tensor,
    call: _images.Options,
    dtype: torch.dtype,
) -> None:
    is_missed = ~info.converged & ~info.gap.isnan()  # NaN: an image that is not finite
    if not is_missed.any():
        return
    columns = (is_missed.nonzero(), info.iterations[is_missed], (info.gap / objective)[is_missed])
    parts = zip(*[column.tolist() for column in columns], strict=True)
    missed = [_missed.Image(tuple(index), done, gap) for index, done, gap in parts]
    name = str(dtype).removeprefix("torch.")
    limits = (call.tol, call.iterations, call.accelerated)
    _missed.warn(line, _missed.describe(missed, is_missed.numel(), *limits, name))


def _needs_gradient(*arguments: Tensor | float | None) -> bool:
    return torch.is_grad_enabled() and any(
        isinstance(argument, Tensor) and argument.requires_grad for argument in arguments
    )


@share_docs
def certificate1d(
    x: Tensor,
    y: Tensor,
    lam: Tensor | float,
    *,
    dim: int = -1,
    weight: Tensor | None = None,
) -> Tensor:
    """Measure how far y is from solving the problem: 0 proves that it does.

    {certificate1d}

    Parameters
    ----------
    x, lam, dim, weight
        See the top of this module.
    y
        The tensor to test, of x's shape, from any source.

    Returns
    -------
    torch.Tensor
        One number per row: x's shape without dim, float64 if x is, else float32. NaN
        where x or y is not finite. It has no gradient; requesting one is an error.

    Examples
    --------
    >>> import torch, tautstring
    >>> x = torch.tensor([1.0, 2.0, 8.0, 9.0])
    >>> tautstring.certificate1d(x, torch.tensor([2.0, 2.0, 8.0, 8.0]), 1.0)
    tensor(0.)
    >>> tautstring.certificate1d(x, x, 1.0)
    tensor(0.1250)
    """
    along = read_problem(x, weight, dim)
    lam = read_lam(x, lam)
    read_tensor("y", y)
    op = _extension.certify if isinstance(lam, Tensor) else _extension.certify_number
    rows, solution = as_rows(x), y if x.ndim else y.unsqueeze(0)
    try:
        return read(op, rows, solution, lam, weight, along).squeeze(along)
    except RuntimeError as error:
        raise_by_kind(error, shape_hints(x, {"lam": lam}, [along]))


@share_docs
def gap2d(
    x: Tensor,
    y: Tensor,
    lam: LamOrPair,
    *,
    dims: tuple[int, int] = (-2, -1),
    dual: Tensor | None = None,
) -> Tensor:
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
    torch.Tensor
        One number per image: x's shape without dims, computed in float64. NaN where x or y
        is not finite. It has no gradient; requesting one is an error.

    Examples
    --------
    >>> import torch, tautstring
    >>> x = torch.tensor([[0.0, 0.0, 8.0], [0.0, 1.0, 8.0]])
    >>> tautstring.gap2d(x, torch.tensor([[0.75, 0.75, 7.0], [0.75, 0.75, 7.0]]), 1.0)
    tensor(0., dtype=torch.float64)
    >>> tautstring.gap2d(x, x, 1.0)
    tensor(2.6250, dtype=torch.float64)
    """
    read_tensor("x", x)
    height_dim, width_dim = read_dims(dims, x.ndim)
    lam_rows, lam_cols = read_lams(x, lam, height_dim, width_dim)
    read_tensor("y", y)
    require_beside(x, "y", y)
    if dual is not None:
        read_tensor("dual", dual)
        require_beside(x, "dual", dual)
    op = _extension.find_gap2d if isinstance(lam_rows, Tensor) else _extension.find_gap2d_number
    try:
        return read(op, x, y, lam_rows, lam_cols, dual, height_dim, width_dim)
    except RuntimeError as error:
        lams = lams_by_name(lam, lam_rows, lam_cols)
        raise_by_kind(error, shape_hints(x, lams, (height_dim, width_dim)))


@share_docs
def lam_max(x: Tensor, *, dim: int = -1, weight: Tensor | None = None) -> Tensor:
    """Return for each row the smallest lam for which the solution is constant.

    {lam_max}

    Parameters
    ----------
    x, dim, weight
        See the top of this module.

    Returns
    -------
    torch.Tensor
        One number per row: x's shape without dim, float64 if x is, else float32. NaN for
        a row that has a non-finite sample or no samples. It has no gradient; requesting
        one is an error.

    Examples
    --------
    >>> import torch, tautstring
    >>> tautstring.lam_max(torch.tensor([1.0, 2.0, 8.0, 9.0]))
    tensor(7.)
    """
    along = read_problem(x, weight, dim)
    try:
        found = read(_extension.find_lam_max, as_rows(x), weight, along)
        return found.squeeze(along)
    except RuntimeError as error:
        raise_by_kind(error)


@share_docs
def path1d(x: Tensor, *, dim: int = -1, weight: Tensor | None = None) -> Tensor:
    """Return for each edge the lam at which the jump of `prox_tv1d` across it closes.

    {path1d}

    Parameters
    ----------
    x, dim, weight
        See the top of this module. x must be on the CPU.

    Returns
    -------
    torch.Tensor
        x's shape but n - 1 along dim, float64 if x is, else float32: 0 where the solution
        never jumps. NaN for a row that has a non-finite sample or no samples. It has no
        gradient; requesting one is an error.

    Examples
    --------
    >>> import torch, tautstring
    >>> tautstring.path1d(torch.tensor([1.0, 2.0, 8.0, 9.0]))
    tensor([1., 7., 1.])
    """
    along = read_problem(x, weight, dim)
    if x.is_cuda:
        raise NotImplementedError(f"x: path1d runs on the CPU; pass x.cpu(), got {x.device}")
    try:
        return read(_extension.find_path1d, as_rows(x), weight, along)
    except RuntimeError as error:
        raise_by_kind(error)


def tv(x: Tensor, *, dim: int = -1) -> Tensor:
    """Return the total variation ``sum_i |x_{i+1} - x_i|`` of each row.

    Parameters
    ----------
    x, dim
        See the top of this module.

    Returns
    -------
    torch.Tensor
        One number per row: x's shape without dim, float64 if x is, else float32.
        Differentiable; the gradient of a tie is 0.

    Examples
    --------
    >>> import torch, tautstring
    >>> tautstring.tv(torch.tensor([[1.0, 2.0, 8.0, 9.0], [0.0, 5.0, 0.0, 5.0]]))
    tensor([ 8., 15.])
    """
    along = read_problem(x, None, dim)
    samples = as_rows(x).to(arithmetic_dtype(x.dtype))
    return samples.diff(dim=along).abs().sum(along)


def segments1d(
    x: Tensor,
    lam: Tensor | float,
    *,
    dim: int = -1,
    weight: Tensor | None = None,
) -> Segments | list[Segments]:
    """Return the constant segments of the solution: the change points of x.

    They are the solver's own decisions, not guessed from differences of the result,
    so no threshold is needed. The values are differentiable.

    Parameters
    ----------
    x, lam, dim, weight
        See the top of this module.

    Returns
    -------
    Segments or list of Segments
        If x has at most one dimension, the segments of that row. Otherwise a list with
        one entry per row, in row-major (C) order of x's other dimensions. On CUDA this
        waits for the device, since sizes depend on values.

    Examples
    --------
    >>> import torch, tautstring
    >>> segments = tautstring.segments1d(torch.tensor([1.0, 2.0, 8.0, 9.0]), 1.0)
    >>> segments.starts, segments.lengths
    (tensor([0, 2]), tensor([2, 2]))
    >>> segments.values, segments.signs
    (tensor([2., 8.]), tensor([0, 1], dtype=torch.int8))
    """
    along = read_problem(x, weight, dim)
    lam = read_lam(x, lam)
    for name, value in (("x", x), ("lam", lam), ("weight", weight)):
        if hasattr(value, "full_tensor"):
            raise TypeError(
                f"{name}: must be a plain tensor in segments1d, got {type(value).__name__}; "
                "give its to_local() or full_tensor()"
            )
    rows = as_rows(x)
    try:
        y, partition = solve_for_all(_rows.DIRECT, (rows, lam, weight, along, False), True)
    except RuntimeError as error:
        raise_by_kind(error, shape_hints(x, {"lam": lam}, [along]))
    n = rows.shape[along]
    codes = _unpack(partition, n)
    row, start = codes.nonzero(as_tuple=True)
    is_last = torch.ones_like(start, dtype=torch.bool)
    is_last[:-1] = row[1:] != row[:-1]
    end = torch.where(is_last, n, start.roll(-1))
    values = y.movedim(along, -1).reshape(codes.shape)[row, start]
    code = codes[row, start]
    signs = (code == _UP).to(torch.int8) - (code == _DOWN).to(torch.int8)
    counts = (codes != 0).sum(1).tolist()
    every = [list(t.split(counts)) for t in (start, end - start, values, signs)]
    segments = [Segments(*parts) for parts in zip(*every, strict=True)]
    return segments if x.ndim > 1 else segments[0]


_UP, _DOWN = 1, 2
_BITS_PER_CODE, _CODES_PER_BYTE = 2, 4


def _unpack(partition: Tensor, n: int) -> Tensor:
    """Return the codes of a partition (include/tautstring/partition.h), one row per batch element.

    Words are stored with their lowest byte first, so bytes are in the order of samples.
    """
    bits = torch.arange(0, 8, _BITS_PER_CODE, dtype=torch.uint8, device=partition.device)
    codes = (partition.unsqueeze(-1) >> bits) & 3
    rows = partition.shape[:-1].numel()
    return codes.reshape(rows, partition.shape[-1] * _CODES_PER_BYTE)[:, :n]


def show_config() -> Config:
    """Return the configuration: version, compiler, CUDA, instruction sets, threads, torch.

    ``cuda``: whether this build has CUDA kernels. ``torch_cuda``: the CUDA version that
    torch was built with. For the others see ``tautstring.numpy.show_config``.

    Examples
    --------
    >>> import tautstring
    >>> tautstring.show_config()["version"] == tautstring.__version__
    True
    """
    from tautstring import _numpy

    return Config(
        version=_numpy.version,
        compiler=_numpy.compiler,
        cuda=_extension.has_cuda(),
        cpu_target=_numpy.cpu_target,
        cpu_targets=_numpy.cpu_targets,
        threads=torch.get_num_threads(),
        torch=str(torch.__version__),
        torch_cuda=torch.version.cuda,
    )


def release_scratch() -> None:
    """Free the scratch memory that calls on the CPU keep for later calls.

    Keeping it saves the time that fresh memory takes. At most 64 MiB are kept, by calls on
    any thread; calls on NumPy arrays keep as much, which is freed, too. On CUDA scratch
    memory comes from torch's allocator and is not kept.

    Examples
    --------
    >>> import tautstring
    >>> tautstring.release_scratch()
    """
    from tautstring import _numpy

    _extension.release_scratch()
    _numpy.release_scratch()
