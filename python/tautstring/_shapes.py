"""Shapes and dtypes of the tensors of a batch of rows, and the ops' errors for invalid ones."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from tautstring._extension import INVALID_ARGUMENT

_CODES_PER_WORD = 16
_BYTES_PER_WORD = 4


def arithmetic_dtype(dtype: torch.dtype) -> torch.dtype:
    """Return the dtype used for arithmetic on samples of ``dtype``."""
    return torch.float64 if dtype == torch.float64 else torch.float32


def require_dims(name: str, ndim: int, dims: Sequence[int]) -> None:
    """Reject dimensions of rows or images as the ops do, with the same messages.

    ``dims`` are dimensions of the argument ``name``, which has ``ndim`` (src/torch/tensors.h).
    """
    if len(dims) == 1:
        if ndim == 0:
            raise RuntimeError(f"{INVALID_ARGUMENT}{name}: must have at least one dimension")
        _require_index("dim", dims[0], name, ndim)
        return
    if ndim < 2:
        raise RuntimeError(f"{INVALID_ARGUMENT}{name}: must have at least 2 dimensions, got {ndim}")
    height_dim, width_dim = dims
    _require_index("height_dim", height_dim, name, ndim)
    _require_index("width_dim", width_dim, name, ndim)
    if height_dim == width_dim:
        raise RuntimeError(f"{INVALID_ARGUMENT}width_dim: must not be height_dim, got {width_dim}")


def _require_index(dim_name: str, dim: int, name: str, ndim: int) -> None:
    if not 0 <= dim < ndim:
        raise RuntimeError(
            f"{INVALID_ARGUMENT}{dim_name}: must be from 0 to {ndim - 1} for this {name}, got {dim}"
        )


def bytes_of_partition(n: int) -> int:
    """Return the number of bytes of the partition of a row of n samples."""
    return _BYTES_PER_WORD * ((n + _CODES_PER_WORD - 1) // _CODES_PER_WORD)


def bytes_of_passes(height: int, width: int) -> tuple[int, int]:
    """Return the numbers of bytes of the partitions of an image's rows and of its columns."""
    return height * bytes_of_partition(width), width * bytes_of_partition(height)


def without_dims(shape: Sequence[int], *dims: int) -> tuple[int, ...]:
    """Return ``shape`` without some of its dimensions."""
    return tuple(size for d, size in enumerate(shape) if d not in dims)


def with_size(shape: Sequence[int], dim: int, size: int) -> tuple[int, ...]:
    """Return ``shape`` with its size along ``dim`` replaced."""
    return (*shape[:dim], size, *shape[dim + 1 :])


def size_along(shape: Sequence[int], dim: int, ndim: int) -> int:
    """Return the size along dimension ``dim`` of the ``ndim`` that ``shape`` broadcasts to."""
    own = dim - (ndim - len(shape))
    return shape[own] if 0 <= own < len(shape) else 1


def sum_to(gradient: Tensor, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
    """Sum a gradient to the ``shape`` of an argument that was broadcast, in float64."""
    added = gradient.ndim - len(shape)
    stretched = [
        added + d for d, size in enumerate(shape) if size == 1 and gradient.shape[added + d] != 1
    ]
    shared = [*range(added), *stretched]
    if shared:
        gradient = gradient.sum(shared, dtype=torch.float64)
    return gradient.reshape(shape).to(dtype)
