"""Convert what users pass to ``tautstring.numpy`` to what the extension takes.

Types, dtypes and names are checked here; sizes and values are checked by the C++
core, whose messages also name the argument. An array is only copied if the core does
not support its dtype or memory layout.
"""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tautstring._options import read_integer, reshape_hint

FloatArray = npt.NDArray[np.floating[Any]]
LamOrPair = npt.ArrayLike | tuple[npt.ArrayLike, npt.ArrayLike]

_FLOAT_SIZES = (2, 4, 8)
_MOST_DIMS_AS_THEY_LIE = 9  # with more, the core folds dimensions; contiguous arrays allow that
_MOST_THREADS = 4096


def read_array(name: str, value: npt.ArrayLike) -> FloatArray:
    """Return ``value`` as a float16, float32 or float64 array; no copy if it already is one."""
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(
            f"{name}: must not be a masked array, whose mask would be lost; "
            "give weight 0 to missing samples"
        )
    try:
        array = np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:
        is_tensor = type(value).__module__.partition(".")[0] == "torch"
        hint = "; use the functions of tautstring itself for tensors" if is_tensor else ""
        reason = str(error).rstrip(".")
        raise TypeError(f"{name}: cannot be read as an array: {reason}{hint}") from error
    array = array.astype(_float_dtype(name, array.dtype), copy=False)
    if array.ndim > _MOST_DIMS_AS_THEY_LIE:
        return np.ascontiguousarray(array)
    return array if _has_whole_strides(array) else array.copy()


def _float_dtype(name: str, dtype: np.dtype[Any]) -> np.dtype[Any]:
    if dtype.kind == "f" and dtype.itemsize in _FLOAT_SIZES:
        return dtype.newbyteorder("=")
    if dtype.kind in "iub":
        return np.dtype(np.float64)
    raise TypeError(
        f"{name}: dtype must be float16, float32, float64, integer or bool, got {dtype}"
    )


def _has_whole_strides(array: FloatArray) -> bool:
    # The core counts strides in elements; those of a field of a packed record may not be whole.
    return array.flags.aligned and all(stride % array.itemsize == 0 for stride in array.strides)


def read_lam(lam: npt.ArrayLike, name: str = "lam") -> float | FloatArray:
    """Return a number as a float, which the core takes by value, and anything else as an array."""
    if isinstance(lam, numbers.Real) and not isinstance(lam, np.generic):
        try:
            return float(lam)
        except OverflowError:
            raise ValueError(f"{name}: must fit in a float64, got a larger number") from None
    return read_array(name, lam)


def read_lams(
    x_shape: tuple[int, ...], lam: LamOrPair, height_dim: int, width_dim: int
) -> tuple[float | FloatArray, float | FloatArray]:
    """Return the penalties along rows and along columns."""
    if isinstance(lam, tuple):
        if len(lam) != 2:
            raise ValueError(f"lam: must be one or a pair (lam_rows, lam_cols), got {len(lam)}")
        return read_lam(lam[0], "lam_rows"), read_lam(lam[1], "lam_cols")
    shared = read_lam(lam)
    shape = np.shape(shared)
    dims = (height_dim, width_dim)
    if any(size_along(shape, dim, len(x_shape)) != 1 for dim in dims):
        raise ValueError(
            "lam: must have size 1 along both dims, or be a pair (lam_rows, lam_cols), "
            f"got shape {shape}" + reshape_hint(x_shape, shape, dims)
        )
    return shared, shared


def size_along(shape: tuple[int, ...], dim: int, ndim: int) -> int:
    """Return the size along dimension ``dim`` of the ``ndim`` that ``shape`` broadcasts to."""
    own = dim - (ndim - len(shape))
    return shape[own] if 0 <= own < len(shape) else 1


def read_weight(weight: npt.ArrayLike | None) -> FloatArray | None:
    """Return the data weights as an array, or None."""
    return None if weight is None else read_array("weight", weight)


def read_threads(threads: int | None) -> int:
    """Return the number of threads; 0 means one per hardware thread."""
    if threads is None:
        return 0
    allowed = f"None or an integer from 1 to {_MOST_THREADS}"
    count = read_integer("threads", threads, allowed)
    if not 1 <= count <= _MOST_THREADS:
        raise ValueError(f"threads: must be {allowed}, got {count}")
    return count


@dataclass(frozen=True)
class Argument:
    """Shape and dtype of an argument, and so of its gradient."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @classmethod
    def of(cls, argument: float | FloatArray) -> Argument:
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


def read_grad_y(grad_y: npt.ArrayLike, shape: tuple[int, ...]) -> FloatArray:
    incoming = read_array("grad_y", grad_y)
    if incoming.shape != shape:
        raise ValueError(f"grad_y: must have y's shape {shape}, got {incoming.shape}")
    return incoming


def with_size(shape: tuple[int, ...], dim: int, size: int) -> tuple[int, ...]:
    """Return ``shape`` with another size along ``dim`` (if it has any dimension)."""
    return (*shape[:dim], size, *shape[dim + 1 :]) if shape else ()
