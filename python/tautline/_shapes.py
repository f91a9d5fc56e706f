"""Shapes and dtypes of what belongs to a batch of rows, and what the ops say of bad ones."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

# What src/torch/tensors.h puts before the errors of arguments.
INVALID_ARGUMENT = "tautline: invalid argument: "


def arithmetic_dtype(dtype: torch.dtype) -> torch.dtype:
    """Give the dtype that samples of ``dtype`` are computed in."""
    return torch.float64 if dtype == torch.float64 else torch.float32


def require_dim(name: str, ndim: int, dim: int) -> None:
    """Refuse what the ops refuse (src/torch/tensors.h), by the same words."""
    if ndim == 0:
        raise RuntimeError(f"{INVALID_ARGUMENT}{name}: must have at least one dimension")
    if not 0 <= dim < ndim:
        raise RuntimeError(
            f"{INVALID_ARGUMENT}dim: must be from 0 to {ndim - 1} for this {name}, got {dim}"
        )


def with_size(shape: Sequence[int], dim: int, size: int) -> tuple[int, ...]:
    """Give ``shape`` with another size along ``dim``."""
    return (*shape[:dim], size, *shape[dim + 1 :])


def size_along(shape: Sequence[int], dim: int, ndim: int) -> int:
    """Give the size along dimension ``dim`` of the ``ndim`` that ``shape`` broadcasts to."""
    own = dim - (ndim - len(shape))
    return shape[own] if 0 <= own < len(shape) else 1


def sum_to(gradient: Tensor, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
    """Sum a gradient over all that an argument of ``shape`` was broadcast to, in float64."""
    added = gradient.ndim - len(shape)
    stretched = [
        added + d for d, size in enumerate(shape) if size == 1 and gradient.shape[added + d] != 1
    ]
    shared = [*range(added), *stretched]
    if shared:
        gradient = gradient.sum(shared, dtype=torch.float64)
    return gradient.reshape(shape).to(dtype)
