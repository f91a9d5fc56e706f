"""What the ops give, without data: shapes, dtypes and strides, for tracing.

Each must say exactly what src/torch/tv1d.cpp allocates.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from tautline import _extension
from tautline._shapes import arithmetic_dtype, require_dim, with_size

_CODES_PER_WORD = 16
_BYTES_PER_WORD = 4


def _solve(
    x: Tensor,
    lam: Tensor | float,
    weight: Tensor | None,
    dim: int,
    sharpen: bool,
    keep_partition: bool,
) -> tuple[Tensor, Tensor]:
    require_dim("x", x.ndim, dim)
    n = x.shape[dim]
    words = (n + _CODES_PER_WORD - 1) // _CODES_PER_WORD
    kept = _BYTES_PER_WORD * words if keep_partition else 0
    batch = (*x.shape[:dim], *x.shape[dim + 1 :])
    return torch.empty_like(x), x.new_empty((*batch, kept), dtype=torch.uint8)


def _backward(
    grad_y: Tensor,
    partition: Tensor,
    dim: int,
    sharpen: bool,
    x_dtype: torch.dtype,
    lam_size: int,
    lam_shared_dims: Sequence[int],
    lam_dtype: torch.dtype,
    wants_x: bool,
    wants_lam: bool,
) -> tuple[Tensor, Tensor]:
    require_dim("grad_y", grad_y.ndim, dim)
    lam_shape = with_size(grad_y.shape, dim, lam_size)
    for shared in lam_shared_dims:
        lam_shape = with_size(lam_shape, shared, 1)
    return (
        torch.empty_like(grad_y, dtype=x_dtype) if wants_x else grad_y.new_empty((0,)),
        grad_y.new_empty(lam_shape, dtype=lam_dtype) if wants_lam else grad_y.new_empty((0,)),
    )


def _weighted_backward(
    grad_y: Tensor,
    partition: Tensor,
    x: Tensor,
    y: Tensor,
    weight: Tensor,
    dim: int,
    sharpen: bool,
    lam_size: int,
    lam_shared_dims: Sequence[int],
    lam_dtype: torch.dtype,
    wants_x: bool,
    wants_lam: bool,
    wants_weight: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    sharing = (lam_size, lam_shared_dims, lam_dtype)
    grad_x, grad_lam = _backward(
        grad_y, partition, dim, sharpen, x.dtype, *sharing, wants_x, wants_lam
    )
    if not wants_weight:
        return grad_x, grad_lam, grad_y.new_empty((0,))
    return grad_x, grad_lam, torch.empty_like(grad_y, dtype=arithmetic_dtype(x.dtype))


def _jvp(
    partition: Tensor,
    x: Tensor | None,
    y: Tensor | None,
    weight: Tensor | None,
    tangent_x: Tensor | None,
    tangent_lam: Tensor | None,
    tangent_weight: Tensor | None,
    dim: int,
    sharpen: bool,
    n: int,
    dtype: torch.dtype,
) -> Tensor:
    require_dim("partition", partition.ndim, dim)
    if tangent_x is not None:
        return torch.empty_like(tangent_x, dtype=dtype)
    batch = partition.shape[:-1]
    return partition.new_empty((*batch[:dim], n, *batch[dim:]), dtype=dtype)


def _certify(x: Tensor, y: Tensor, lam: Tensor | float, weight: Tensor | None, dim: int) -> Tensor:
    return _find_lam_max(x, weight, dim)


def _find_lam_max(x: Tensor, weight: Tensor | None, dim: int) -> Tensor:
    require_dim("x", x.ndim, dim)
    return x.new_empty(with_size(x.shape, dim, 1), dtype=arithmetic_dtype(x.dtype))


for _op, _fake in (
    (_extension.solve, _solve),
    (_extension.solve_number, _solve),
    (_extension.backward, _backward),
    (_extension.weighted_backward, _weighted_backward),
    (_extension.jvp, _jvp),
    (_extension.certify, _certify),
    (_extension.certify_number, _certify),
    (_extension.find_lam_max, _find_lam_max),
):
    torch.library.register_fake(_op)(_fake)
