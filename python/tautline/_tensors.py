"""Reads what users pass to the functions on tensors into what the ops take.

Types, dtypes and names are checked here; sizes and values are left to the C++ core,
whose messages name the argument as well.
"""

from __future__ import annotations

import math
import numbers
import operator
import sys
from importlib import import_module
from typing import NoReturn

import torch
from torch import Tensor

from tautline._shapes import INVALID_ARGUMENT, size_along

_FLOAT_DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
_PLAIN_TENSORS = (Tensor, torch.nn.Parameter)

_ITERATIONS = {"dykstra": 4, "accelerated": 16}
_MOST_WITH_TOL = 128
_MOST = 2**31 - 1

LamOrPair = Tensor | float | tuple[Tensor | float, Tensor | float]


def read_problem(x: Tensor, weight: Tensor | None, dim: int) -> int:
    """Check types; give ``dim`` counted from the front. Sizes and values are the core's."""
    read_tensor("x", x)
    if weight is not None:
        read_tensor("weight", weight)
        require_beside(x, "weight", weight)
    return read_dim(x, dim)


def read_dim(x: Tensor, dim: int, name: str = "dim") -> int:
    """Give ``dim`` counted from the front; a tensor without dimensions has dim 0."""
    dims = x.ndim or 1
    if type(dim) is not int:
        dim = _read_integer(name, dim)
    if not -dims <= dim < dims:
        raise ValueError(f"{name}: must be from {-dims} to {dims - 1} for this x, got {dim}")
    return dim if dim >= 0 else dim + dims


def read_dims(x: Tensor, dims: tuple[int, int]) -> tuple[int, int]:
    """Give the two dimensions of the images of x, counted from the front."""
    if x.ndim < 2:
        raise ValueError(f"x: must have at least 2 dimensions, got {x.ndim}")
    if not isinstance(dims, tuple | list) or len(dims) != 2:
        raise TypeError(f"dims: must be a pair of integers, got {dims!r}")
    height_dim, width_dim = (read_dim(x, dim, "dims") for dim in dims)
    if height_dim == width_dim:
        raise ValueError(f"dims: must be two different dimensions of x, got {dims!r}")
    return height_dim, width_dim


def read_lam(x: Tensor, lam: Tensor | float, name: str = "lam") -> Tensor | float:
    """Give a tensor as it is, and a number of any type as one that the op takes by value."""
    if isinstance(lam, Tensor):
        read_tensor(name, lam)
        require_beside(x, name, lam, may_be_number=True)
        return lam
    if isinstance(lam, float | torch.SymFloat | torch.SymInt):
        return lam
    if not isinstance(lam, numbers.Real):
        raise TypeError(f"{name}: must be a number or a tensor, got {type(lam).__name__}")
    try:
        return float(lam)
    except OverflowError:
        raise ValueError(f"{name}: must fit in a float64, got a larger number") from None


def read_lams(
    x: Tensor, lam: LamOrPair, height_dim: int, width_dim: int
) -> tuple[Tensor | float, Tensor | float]:
    """Give the penalties along rows and along columns: two tensors, or two numbers."""
    if not isinstance(lam, tuple | list):
        shared = read_lam(x, lam)
        if isinstance(shared, Tensor):
            for dim in (height_dim, width_dim):
                if size_along(shared.shape, dim, x.ndim) != 1:
                    raise ValueError(
                        "lam: must have size 1 along both dims, or be a pair "
                        f"(lam_rows, lam_cols), got shape {tuple(shared.shape)}"
                    )
        return shared, shared
    if len(lam) != 2:
        raise ValueError(f"lam: must be one or a pair (lam_rows, lam_cols), got {len(lam)}")
    rows, columns = read_lam(x, lam[0], "lam_rows"), read_lam(x, lam[1], "lam_cols")
    if isinstance(rows, Tensor):
        return rows, _beside(rows, columns)
    if isinstance(columns, Tensor):
        return _beside(columns, rows), columns
    return rows, columns


def _beside(other: Tensor, lam: Tensor | float) -> Tensor:
    """Give a number as a tensor that may stand beside another."""
    if isinstance(lam, Tensor):
        return lam
    if type(other) in _PLAIN_TENSORS and not other.is_meta:
        return torch.full((), lam, dtype=torch.float64, device="cpu")  # read on the host
    return other.new_full((), lam, dtype=torch.float64)


def as_rows(x: Tensor) -> Tensor:
    """Give a tensor without dimensions as a row of one sample: the ops take rows."""
    return x if x.ndim else x.unsqueeze(0)


def require_beside(x: Tensor, name: str, value: Tensor, may_be_number: bool = False) -> None:
    """Refuse what would enlarge x, or is elsewhere.

    The ops would, too, but under vmap they see one dimension more, and a meta tensor leads
    past them.
    """
    if value.ndim > x.ndim:
        raise ValueError(f"{name}: must not have more dimensions than x, got {value.ndim}")
    is_number_beside_cuda = may_be_number and not value.ndim and value.is_cpu and not x.is_cpu
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


def _read_integer(name: str, value: int) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name}: must be an integer, got {value!r}") from None


def read_solver2d(
    method: str,
    iterations: int | None,
    tol: float | None,
    grad: str | None,
    isotropic: bool,
) -> tuple[bool, int, float, bool]:
    """Give what the op is told: accelerated, iterations, tol, of_solution."""
    if isotropic:
        raise NotImplementedError("isotropic: True is not there yet; must be False")
    read_choice("method", method, ("dykstra", "accelerated"))
    read_choice("grad", grad, (None, "unrolled", "implicit"))
    tolerance = _read_tol(tol)
    if iterations is None:
        iterations = _MOST_WITH_TOL if tolerance else _ITERATIONS[method]
    return (
        method == "accelerated",
        _read_count("iterations", iterations),
        tolerance,
        grad == "implicit" or (grad is None and tolerance > 0),
    )


def _read_count(name: str, value: int) -> int:
    """Give a number of something, of which there is one at least."""
    count = value if type(value) is int else _read_integer(name, value)
    if count < 1:
        raise ValueError(f"{name}: must be an integer >= 1, got {count}")
    if count > _MOST:
        raise ValueError(f"{name}: must be at most {_MOST}, got {count}")
    return count


def _read_tol(tol: float | None) -> float:
    """Give the tolerance of an iteration, 0 for none."""
    if tol is None:
        return 0.0
    if not isinstance(tol, numbers.Real):
        raise TypeError(f"tol: must be None or a number, got {tol!r}")
    value = float(tol)
    if not 0 < value < math.inf:
        raise ValueError(f"tol: must be None or > 0 and finite, got {value:g}")
    return value


def read_choice(name: str, value: str | None, choices: tuple[str | None, ...]) -> None:
    """Check that an argument is one of the words that it may be."""
    is_word = value is None or isinstance(value, str)
    if not is_word or value not in choices:
        allowed = f"{', '.join(map(repr, choices[:-1]))} or {choices[-1]!r}"
        raise ValueError(f"{name}: must be {allowed}, got {value!r}")


def read_mode(mode: str) -> bool:
    """Tell whether ``mode`` asks for sharpening."""
    read_choice("mode", mode, ("smooth", "sharp"))
    return mode == "sharp"


def check_values(lams: dict[str, Tensor | float], weight: Tensor | None = None) -> None:
    """Look at values that are on a device; those on the CPU are looked at in any case."""
    if torch.compiler.is_compiling():
        raise ValueError("check: must be False inside torch.compile, which cannot wait for values")
    for name, lam in lams.items():
        if isinstance(lam, Tensor) and lam.is_cuda:
            _raise_at_first(name, "must be >= 0 and not NaN", lam, ~(lam >= 0))
    if weight is not None and weight.is_cuda:
        is_bad = ~((weight >= 0) & weight.isfinite())
        _raise_at_first("weight", "must be >= 0 and finite", weight, is_bad)


def _raise_at_first(name: str, allowed: str, values: Tensor, is_bad: Tensor) -> None:
    places = is_bad.flatten().nonzero()
    if len(places):
        index = int(places[0])
        value = float(values.detach().flatten()[index])
        raise ValueError(f"{name}: {allowed}, got {value:g} at index {index}")


def raise_by_kind(error: RuntimeError, names: dict[str, str] | None = None) -> NoReturn:
    """Raise ValueError for what the core says of an argument, all else as it is.

    ``names``: what users call the arguments that the core has other names for.
    """
    _, found, text = str(error).partition(INVALID_ARGUMENT)
    if found:
        name, colon, rest = text.partition("\n")[0].partition(":")
        raise ValueError(f"{(names or {}).get(name, name)}{colon}{rest}") from None
    raise error
