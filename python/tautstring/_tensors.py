"""Convert what users pass to the functions on tensors to what the ops take.

Types, dtypes and names are checked here; sizes and values are checked by the C++ core,
whose messages also name the argument.
"""

from __future__ import annotations

import numbers
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import NoReturn

import torch
from torch import Tensor

from tautstring import _numpy
from tautstring._extension import INTERRUPTED, INVALID_ARGUMENT
from tautstring._options import read_dim, reshape_hint, with_reshape_hint
from tautstring._shapes import size_along

_FLOAT_DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
_PLAIN_TENSORS = (Tensor, torch.nn.Parameter)

LamOrPair = Tensor | float | tuple[Tensor | float, Tensor | float]


def read_problem(x: Tensor, weight: Tensor | None, dim: int) -> int:
    """Check types; return ``dim`` counted from the front. The core checks sizes and values."""
    read_tensor("x", x)
    if weight is not None:
        read_tensor("weight", weight)
        require_beside(x, "weight", weight)
    return read_dim(dim, x.ndim)


def read_lam(x: Tensor, lam: Tensor | float, name: str = "lam") -> Tensor | float:
    """Return a tensor unchanged, and a number of any type as one that the op takes by value."""
    if isinstance(lam, Tensor):
        read_tensor(name, lam)
        require_beside(x, name, lam, may_be_number=True)
        return lam
    if isinstance(lam, float | torch.SymFloat | torch.SymInt):
        return lam
    if not isinstance(lam, numbers.Real):
        raise TypeError(f"{name}: must be a number or a tensor, got {_type_name(name, lam)}")
    try:
        return float(lam)
    except OverflowError:
        raise ValueError(f"{name}: must fit in a float64, got a larger number") from None


def read_lams(
    x: Tensor, lam: LamOrPair, height_dim: int, width_dim: int
) -> tuple[Tensor | float, Tensor | float]:
    """Return the penalties along rows and along columns: two tensors, or two numbers."""
    if not isinstance(lam, tuple | list):
        shared = read_lam(x, lam)
        if isinstance(shared, Tensor):
            for dim in (height_dim, width_dim):
                if size_along(shared.shape, dim, x.ndim) != 1:
                    raise ValueError(
                        "lam: must have size 1 along both dims, or be a pair "
                        f"(lam_rows, lam_cols), got shape {tuple(shared.shape)}"
                        + reshape_hint(x.shape, shared.shape, (height_dim, width_dim))
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


def lams_by_name(
    lam: LamOrPair, rows: Tensor | float, columns: Tensor | float
) -> dict[str, Tensor | float]:
    """Return the result of `read_lams` by the names that users know."""
    is_pair = isinstance(lam, tuple | list)
    return {"lam_rows": rows, "lam_cols": columns} if is_pair else {"lam": rows}


def _beside(other: Tensor, lam: Tensor | float) -> Tensor:
    """Return a number as a tensor that an op accepts together with ``other``."""
    if isinstance(lam, Tensor):
        return lam
    if is_plain(other) and not other.is_meta:
        return torch.full((), lam, dtype=torch.float64, device="cpu")  # read on the host
    return other.new_full((), lam, dtype=torch.float64)


def is_plain(tensor: Tensor) -> bool:
    """Return whether a tensor is a plain torch tensor, without the behaviour of a subclass."""
    return type(tensor) in _PLAIN_TENSORS


def as_rows(x: Tensor) -> Tensor:
    """Return a tensor without dimensions as a row of one sample: the ops take rows."""
    return x if x.ndim else x.unsqueeze(0)


def require_beside(x: Tensor, name: str, value: Tensor, may_be_number: bool = False) -> None:
    """Refuse a tensor that would enlarge x or is on another device.

    The ops check this too, but under vmap they see one more dimension, and with a meta tensor
    they do not run.
    """
    if value.ndim > x.ndim:
        raise ValueError(f"{name}: must not have more dimensions than x, got {value.ndim}")
    is_number_beside_cuda = may_be_number and not value.ndim and value.is_cpu and not x.is_cpu
    if value.device != x.device and not is_number_beside_cuda:
        raise ValueError(f"{name}: must be on x's device {x.device}, got {value.device}")


def read_tensor(name: str, value: Tensor) -> None:
    """Check that an argument is a tensor of a type that the ops support."""
    if not isinstance(value, Tensor):
        raise TypeError(f"{name}: must be a tensor, got {_type_name(name, value)}")
    if value.is_nested:
        raise TypeError(f"{name}: must be a dense tensor, got a nested one")
    if value.layout != torch.strided:
        raise TypeError(f"{name}: must be a dense tensor, got layout {value.layout}")
    if value.dtype not in _FLOAT_DTYPES:
        raise TypeError(
            f"{name}: dtype must be float16, bfloat16, float32 or float64, got {value.dtype}"
        )
    if not is_plain(value):
        _teach_dtensor()


def _type_name(name: str, value: object) -> str:
    """Return the type name of an argument; for NumPy arrays, add which functions accept them."""
    kind = type(value)
    if kind.__module__.partition(".")[0] != "numpy":
        return kind.__name__
    where = f"use tautstring.numpy for arrays, or give torch.from_numpy({name})"
    return f"{kind.__name__}; {where}"


def _teach_dtensor() -> None:
    """Register the ops with DTensor once one may be passed: its module is slow to load."""
    if "torch.distributed.tensor" in sys.modules:
        import_module("tautstring._sharding")


# It runs while a graph is traced, and is not part of the graph. (The decorator
# torch.compiler.assume_constant_result does the same, but loads all of the compiler.)
_teach_dtensor._dynamo_marked_constant = True  # type: ignore[attr-defined]


def check_values(lams: dict[str, Tensor | float], weight: Tensor | None = None) -> None:
    """Check values that are on a device; values on the CPU are always checked by the core."""
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


def shape_hints(
    x: Tensor, lams: dict[str, Tensor | float], dims: Sequence[int]
) -> Callable[[str], str]:
    """Return a function that adds to the core's message how to reshape a lam to fit x."""
    shapes = {name: lam.shape for name, lam in lams.items() if isinstance(lam, Tensor)}
    return lambda message: with_reshape_hint(message, x.shape, shapes, dims)


def raise_by_kind(error: RuntimeError, add_hint: Callable[[str], str] | None = None) -> NoReturn:
    """Raise an op's error as the matching Python exception.

    ValueError for the core's message about an argument; for a call that a signal stopped,
    the exception of the signal's handler; any other error unchanged.
    """
    if INTERRUPTED in str(error):
        _numpy.raise_stop_reason()
    _, found, text = str(error).partition(INVALID_ARGUMENT)
    if not found:
        raise error
    message = text.partition("\n")[0]
    raise ValueError(add_hint(message) if add_hint else message) from None
