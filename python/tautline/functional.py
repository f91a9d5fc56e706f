"""Exact total variation of torch tensors.

The objective, for every row of ``x`` along ``dim`` on its own, is::

    prox(x, lam) = argmin_y 1/2 sum_i weight_i (y_i - x_i)^2 + sum_i lam_i |y_{i+1} - y_i|

The solution is exact, takes time linear in the length of a row, and is the same bit
for bit from run to run and for any number of threads. These arguments mean the same
in all functions:

``x``
    tensor of any shape and strides on the CPU or on CUDA, cut into rows along ``dim``:
    float16, bfloat16, float32 or float64. Arithmetic is float64 for float64, else
    float32. A row with a non-finite sample comes out NaN, the others are exact.
``lam``
    the penalty, >= 0: a number, or a tensor that broadcasts to ``x`` and whose size
    along ``dim`` is 1 (one a row) or n - 1 (one an edge). ``inf`` gives the mean, 0
    copies the row bit for bit.
``dim``
    the dimension of ``x`` that the rows run along.
``weight``
    data weights, finite and >= 0, broadcasting to ``x``; None: all 1. A sample of
    weight 0 is missing: ``x`` is not read there and may be NaN.

A bad argument raises TypeError or ValueError with its name, what came and what is
allowed (inside a compiled graph RuntimeError). On CUDA values of ``lam`` and ``weight``
are not looked at, since that would wait for the device: a row with a bad one comes out
NaN.
"""

from __future__ import annotations

import numbers
import operator
import sys
from importlib import import_module
from typing import Literal, NamedTuple, NoReturn, TypedDict

import torch
from torch import Tensor

from tautline import _autograd, _doors, _extension, _fake, _vmap  # noqa: F401  # register with the ops
from tautline._shapes import INVALID_ARGUMENT, arithmetic_dtype

__all__ = [
    "Config",
    "Segments",
    "certificate1d",
    "lam_max",
    "prox_tv1d",
    "segments1d",
    "show_config",
    "tv",
]

Mode = Literal["smooth", "sharp"]
Solver = Literal["direct"]

_FLOAT_DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
_PLAIN_TENSORS = (Tensor, torch.nn.Parameter)


class Segments(NamedTuple):
    """The constant pieces of one row of a solution, from left to right."""

    starts: Tensor
    """Index of the first element of each piece (int64)."""
    lengths: Tensor
    """Number of elements of each piece (int64)."""
    values: Tensor
    """Value of the solution on each piece, in x's dtype."""
    signs: Tensor
    """Direction of the jump to each piece: +1, -1, or 0 (none: the row's start) (int8)."""


class Config(TypedDict):
    """What this build of the library is and can do."""

    version: str
    compiler: str
    cuda: bool
    cpu_target: str
    cpu_targets: tuple[str, ...]
    threads: int
    torch: str
    torch_cuda: str | None


def prox_tv1d(
    x: Tensor,
    lam: Tensor | float,
    *,
    dim: int = -1,
    weight: Tensor | None = None,
    mode: Mode = "smooth",
    solver: Solver = "direct",
    check: bool = False,
) -> Tensor:
    """Smooth (or sharpen) the rows of x by the total variation proximity operator.

    ``y = argmin_y 1/2 sum_i weight_i (y_i - x_i)^2 + sum_i lam_i |y_{i+1} - y_i|``,
    or with ``mode="sharp"`` the opposite step ``x + (x - y)``, rounded once.

    Differentiable with respect to x, lam and weight, forward and backward, any
    number of times. What is kept for that is 2 bits an element (with weight also x,
    y and weight), and nothing where no argument requires a gradient.

    Parameters
    ----------
    x, lam, dim, weight
        See the top of this module.
    mode
        ``"smooth"`` or ``"sharp"``.
    solver
        ``"direct"``: exact, in linear time.
    check
        On CUDA, wait for the device and raise ValueError where a value of lam or
        weight is not allowed. On the CPU that is always done.

    Returns
    -------
    torch.Tensor
        Of x's shape, dtype and, where x has no gaps, strides.

    Examples
    --------
    >>> import torch, tautline
    >>> x = torch.tensor([1.0, 2.0, 8.0, 9.0], requires_grad=True)
    >>> y = tautline.prox_tv1d(x, 1.0)
    >>> y.detach()
    tensor([2., 2., 8., 8.])
    >>> y[0].backward()
    >>> x.grad
    tensor([0.5000, 0.5000, 0.0000, 0.0000])

    Down the columns, with a penalty for each:

    >>> image = torch.tensor([[0.0, 0.0], [4.0, 4.0]])
    >>> tautline.prox_tv1d(image, torch.tensor([1.0, torch.inf]), dim=0)
    tensor([[1., 2.],
            [3., 2.]])
    """
    along = _read_problem(x, weight, dim)
    lam = _read_lam(x, lam)
    sharpen = read_mode(mode)
    if not isinstance(solver, str) or solver != "direct":
        raise ValueError(f"solver: must be 'direct' in this version, got {solver!r}")
    if check:
        _check_values(lam, weight)
    needs_gradient = _needs_gradient(x, lam, weight)
    try:
        y = _autograd.solve(_as_rows(x), lam, weight, along, sharpen, needs_gradient)
    except RuntimeError as error:
        _raise_by_kind(error)
    return y if x.ndim else y.squeeze(0)


def _needs_gradient(x: Tensor, lam: Tensor | float, weight: Tensor | None) -> bool:
    return torch.is_grad_enabled() and (
        x.requires_grad
        or (isinstance(lam, Tensor) and lam.requires_grad)
        or (weight is not None and weight.requires_grad)
    )


def certificate1d(
    x: Tensor,
    y: Tensor,
    lam: Tensor | float,
    *,
    dim: int = -1,
    weight: Tensor | None = None,
) -> Tensor:
    """Measure how far y is from solving the problem: 0 is a proof that it does.

    With ``u_i = sum_{j<=i} weight_j (x_j - y_j)`` the solution, and nothing else, has
    ``|u_i| <= lam_i``, ``u_i = lam_i sign(y_i - y_{i+1})`` where y jumps after i, and
    ``u_n = 0``. The result is the largest violation, relative to
    ``max(range of x, largest finite lam)``; rounding y to its dtype counts.

    Parameters
    ----------
    x, lam, dim, weight
        See the top of this module.
    y
        The tensor to test, of x's shape, whoever computed it.

    Returns
    -------
    torch.Tensor
        One number a row: x's shape without dim, float64 if x is, else float32. NaN
        where x or y is not finite. It has no gradient: to ask for one is an error.

    Examples
    --------
    >>> import torch, tautline
    >>> x = torch.tensor([1.0, 2.0, 8.0, 9.0])
    >>> tautline.certificate1d(x, torch.tensor([2.0, 2.0, 8.0, 8.0]), 1.0)
    tensor(0.)
    >>> tautline.certificate1d(x, x, 1.0)
    tensor(0.1250)
    """
    along = _read_problem(x, weight, dim)
    lam = _read_lam(x, lam)
    read_tensor("y", y)
    op = _extension.certify if isinstance(lam, Tensor) else _extension.certify_number
    rows, solution = _as_rows(x), y if x.ndim else y.unsqueeze(0)
    try:
        return _doors.read(op, rows, solution, lam, weight, along).squeeze(along)
    except RuntimeError as error:
        _raise_by_kind(error)


def lam_max(x: Tensor, *, dim: int = -1, weight: Tensor | None = None) -> Tensor:
    """Give for each row the smallest number lam from which on the solution is constant.

    With the (weighted) mean ``c`` of the row it is
    ``max_i |sum_{j<=i} weight_j (x_j - c)|``.

    Parameters
    ----------
    x, dim, weight
        See the top of this module.

    Returns
    -------
    torch.Tensor
        One number a row: x's shape without dim, float64 if x is, else float32. NaN for
        a row that has a non-finite sample or none at all. It has no gradient: to ask for
        one is an error.

    Examples
    --------
    >>> import torch, tautline
    >>> tautline.lam_max(torch.tensor([1.0, 2.0, 8.0, 9.0]))
    tensor(7.)
    """
    along = _read_problem(x, weight, dim)
    try:
        found = _doors.read(_extension.find_lam_max, _as_rows(x), weight, along)
        return found.squeeze(along)
    except RuntimeError as error:
        _raise_by_kind(error)


def tv(x: Tensor, *, dim: int = -1) -> Tensor:
    """Give for each row its total variation ``sum_i |x_{i+1} - x_i|``.

    Parameters
    ----------
    x, dim
        See the top of this module.

    Returns
    -------
    torch.Tensor
        One number a row: x's shape without dim, float64 if x is, else float32.
        Differentiable; the gradient of a tie is 0.

    Examples
    --------
    >>> import torch, tautline
    >>> tautline.tv(torch.tensor([[1.0, 2.0, 8.0, 9.0], [0.0, 5.0, 0.0, 5.0]]))
    tensor([ 8., 15.])
    """
    along = _read_problem(x, None, dim)
    samples = _as_rows(x).to(arithmetic_dtype(x.dtype))
    return samples.diff(dim=along).abs().sum(along)


def segments1d(
    x: Tensor,
    lam: Tensor | float,
    *,
    dim: int = -1,
    weight: Tensor | None = None,
) -> Segments | list[Segments]:
    """List the constant segments of the solution: the change points of x.

    They are the solver's own decisions, not guessed from differences of the result,
    so no threshold is needed. The values are differentiable.

    Parameters
    ----------
    x, lam, dim, weight
        See the top of this module.

    Returns
    -------
    Segments or list of Segments
        For x of at most one dimension the segments of that row. For more dimensions a
        list with one entry a row, in row-major (C) order of x's other dimensions. On
        CUDA this waits for the device, since sizes depend on values.

    Examples
    --------
    >>> import torch, tautline
    >>> segments = tautline.segments1d(torch.tensor([1.0, 2.0, 8.0, 9.0]), 1.0)
    >>> segments.starts, segments.lengths
    (tensor([0, 2]), tensor([2, 2]))
    >>> segments.values, segments.signs
    (tensor([2., 8.]), tensor([0, 1], dtype=torch.int8))
    """
    along = _read_problem(x, weight, dim)
    lam = _read_lam(x, lam)
    for name, value in (("x", x), ("lam", lam), ("weight", weight)):
        if hasattr(value, "full_tensor"):
            raise TypeError(
                f"{name}: must be a plain tensor in segments1d, got {type(value).__name__}; "
                "give its to_local() or full_tensor()"
            )
    rows = _as_rows(x)
    try:
        y, partition = _autograd.solve_with_partition(rows, lam, weight, along, False)
    except RuntimeError as error:
        _raise_by_kind(error)
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
    """Give the codes of a partition (include/tautline/partition.h), one row a batch element.

    Words are stored with their lowest byte first, so bytes are in the order of samples.
    """
    bits = torch.arange(0, 8, _BITS_PER_CODE, dtype=torch.uint8, device=partition.device)
    codes = (partition.unsqueeze(-1) >> bits) & 3
    rows = partition.shape[:-1].numel()
    return codes.reshape(rows, partition.shape[-1] * _CODES_PER_BYTE)[:, :n]


def show_config() -> Config:
    """Tell what this build is: version, compiler, CUDA, instruction sets, threads, torch.

    ``cuda`` says whether this build has CUDA kernels, ``torch_cuda`` with which CUDA
    torch was built; for the others see ``tautline.numpy.show_config``.

    Examples
    --------
    >>> import tautline
    >>> tautline.show_config()["version"] == tautline.__version__
    True
    """
    from tautline import _numpy

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


def _read_problem(x: Tensor, weight: Tensor | None, dim: int) -> int:
    """Check types; give ``dim`` counted from the front. Sizes and values are the core's."""
    read_tensor("x", x)
    if weight is not None:
        read_tensor("weight", weight)
        _require_beside(x, "weight", weight)
    dims = x.ndim or 1
    if type(dim) is not int:
        dim = _read_integer(dim)
    if not -dims <= dim < dims:
        raise ValueError(f"dim: must be from {-dims} to {dims - 1} for this x, got {dim}")
    return dim if dim >= 0 else dim + dims


def _read_lam(x: Tensor, lam: Tensor | float) -> Tensor | float:
    """Give a tensor as it is, and a number of any type as one that the op takes by value."""
    if isinstance(lam, Tensor):
        read_tensor("lam", lam)
        _require_beside(x, "lam", lam)
        return lam
    if isinstance(lam, float | torch.SymFloat | torch.SymInt):
        return lam
    if not isinstance(lam, numbers.Real):
        raise TypeError(f"lam: must be a number or a tensor, got {type(lam).__name__}")
    try:
        return float(lam)
    except OverflowError:
        raise ValueError("lam: must fit in a float64, got a larger number") from None


def _as_rows(x: Tensor) -> Tensor:
    """Give a tensor without dimensions as a row of one sample: the ops take rows."""
    return x if x.ndim else x.unsqueeze(0)


def _require_beside(x: Tensor, name: str, value: Tensor) -> None:
    """Refuse what would enlarge x, or is elsewhere.

    The ops would, too, but under vmap they see one dimension more, and a meta tensor leads
    past them.
    """
    if value.ndim > x.ndim:
        raise ValueError(f"{name}: must not have more dimensions than x, got {value.ndim}")
    is_number_beside_cuda = name == "lam" and not value.ndim and value.is_cpu and not x.is_cpu
    if value.device != x.device and not is_number_beside_cuda:
        raise ValueError(f"{name}: must be on x's device {x.device}, got {value.device}")


def read_tensor(name: str, value: Tensor) -> None:
    """Check that an argument is a tensor of a type that the ops know."""
    if not isinstance(value, Tensor):
        raise TypeError(f"{name}: must be a tensor, got {type(value).__name__}")
    if value.is_nested:
        raise TypeError(f"{name}: must be a dense tensor, got a nested one")
    if value.layout != torch.strided:
        raise TypeError(f"{name}: must be a dense tensor, got layout {value.layout}")
    if value.dtype not in _FLOAT_DTYPES:
        raise TypeError(
            f"{name}: dtype must be float16, bfloat16, float32 or float64, got {value.dtype}"
        )
    if type(value) not in _PLAIN_TENSORS:
        _teach_dtensor()


def _teach_dtensor() -> None:
    """Teach DTensor about the ops when the first may come: its module is slow to load."""
    if "torch.distributed.tensor" in sys.modules:
        import_module("tautline._sharding")


# While a graph is traced it runs, and is no part of the graph. (What the decorator
# torch.compiler.assume_constant_result does, after loading all of the compiler.)
_teach_dtensor._dynamo_marked_constant = True  # type: ignore[attr-defined]


def _read_integer(dim: int) -> int:
    try:
        return operator.index(dim)
    except TypeError:
        raise TypeError(f"dim: must be an integer, got {dim!r}") from None


def read_mode(mode: str) -> bool:
    """Tell whether ``mode`` asks for sharpening."""
    if not isinstance(mode, str) or mode not in ("smooth", "sharp"):
        raise ValueError(f"mode: must be 'smooth' or 'sharp', got {mode!r}")
    return mode == "sharp"


def _check_values(lam: Tensor | float, weight: Tensor | None) -> None:
    """Look at values that are on a device; those on the CPU are looked at in any case."""
    if torch.compiler.is_compiling():
        raise ValueError("check: must be False inside torch.compile, which cannot wait for values")
    if isinstance(lam, Tensor) and lam.is_cuda:
        _raise_at_first("lam", "must be >= 0 and not NaN", lam, ~(lam >= 0))
    if weight is not None and weight.is_cuda:
        is_bad = ~((weight >= 0) & weight.isfinite())
        _raise_at_first("weight", "must be >= 0 and finite", weight, is_bad)


def _raise_at_first(name: str, allowed: str, values: Tensor, is_bad: Tensor) -> None:
    places = is_bad.flatten().nonzero()
    if len(places):
        index = int(places[0])
        value = float(values.detach().flatten()[index])
        raise ValueError(f"{name}: {allowed}, got {value:g} at index {index}")


def _raise_by_kind(error: RuntimeError) -> NoReturn:
    """Raise ValueError for what the core says of an argument, all else as it is."""
    _, found, text = str(error).partition(INVALID_ARGUMENT)
    if found:
        raise ValueError(text.partition("\n")[0]) from None
    raise error
