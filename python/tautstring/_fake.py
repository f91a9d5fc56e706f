"""What the ops give, without data: shapes, dtypes and strides, for tracing.

Each must say exactly what src/torch/tv1d.cpp, newton1d.cpp and tv2d.cpp allocate.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from tautstring import _extension
from tautstring._shapes import (
    arithmetic_dtype,
    bytes_of_partition,
    bytes_of_passes,
    require_dim,
    require_image_dims,
    with_size,
    without_dims,
)


def _solve(
    x: Tensor,
    lam: Tensor | float,
    weight: Tensor | None,
    dim: int,
    sharpen: bool,
    keep_partition: bool,
) -> tuple[Tensor, Tensor]:
    require_dim("x", x.ndim, dim)
    kept = bytes_of_partition(x.shape[dim]) if keep_partition else 0
    batch = without_dims(x.shape, dim)
    return torch.empty_like(x), x.new_empty((*batch, kept), dtype=torch.uint8)


def _solve_newton(
    x: Tensor,
    lam: Tensor | float,
    start: Tensor | None,
    dim: int,
    sharpen: bool,
    iterations: int,
    tol: float,
    halving: bool,
    polish: bool,
    keep_partition: bool,
    report: bool,
) -> tuple[Tensor, ...]:
    solution = _solve(x, lam, None, dim, sharpen, keep_partition)
    if not report:
        return *solution, *[x.new_empty((0,)) for _ in range(4)]
    batch = without_dims(x.shape, dim)
    edges = with_size(x.shape, dim, max(x.shape[dim] - 1, 0))
    return (
        *solution,
        x.new_empty(batch, dtype=torch.int32),
        x.new_empty(batch, dtype=torch.float64),
        x.new_empty(batch, dtype=torch.bool),
        x.new_empty(edges, dtype=torch.float64),
    )


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
    return (
        torch.empty_like(grad_y, dtype=x_dtype) if wants_x else grad_y.new_empty((0,)),
        _lam_gradient(wants_lam, grad_y, dim, lam_size, lam_shared_dims, lam_dtype),
    )


def _lam_gradient(
    is_wanted: bool,
    grad_y: Tensor,
    dim: int,
    size: int,
    shared_dims: Sequence[int],
    dtype: torch.dtype,
) -> Tensor:
    if not is_wanted:
        return grad_y.new_empty((0,))
    shape = with_size(grad_y.shape, dim, size)
    for shared in shared_dims:
        shape = with_size(shape, shared, 1)
    return grad_y.new_empty(shape, dtype=dtype)


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


def _solve2d(
    x: Tensor,
    row_lam: Tensor | float,
    column_lam: Tensor | float,
    start: Tensor | None,
    height_dim: int,
    width_dim: int,
    sharpen: bool,
    accelerated: bool,
    iterations: int,
    tol: float,
    of_solution: bool,
    keep_partitions: bool,
    report: bool,
) -> tuple[Tensor, ...]:
    require_image_dims("x", x.ndim, height_dim, width_dim)
    batch = without_dims(x.shape, height_dim, width_dim)
    saved = 1 if of_solution else iterations
    kept = saved * sum(bytes_of_passes(x.shape[height_dim], x.shape[width_dim]))
    keep_momentum = keep_partitions and not of_solution
    return (
        torch.empty_like(x),
        x.new_empty((*batch, kept if keep_partitions else 0), dtype=torch.uint8),
        x.new_empty((*batch, iterations if keep_momentum else 0), dtype=torch.float64),
        x.new_empty(batch, dtype=torch.int32),
        x.new_empty(batch, dtype=torch.float64) if report else x.new_empty((0,)),
        torch.empty_like(x, dtype=arithmetic_dtype(x.dtype)) if report else x.new_empty((0,)),
    )


def _backward2d(
    grad_y: Tensor,
    partitions: Tensor,
    momentum: Tensor,
    done: Tensor,
    height_dim: int,
    width_dim: int,
    sharpen: bool,
    iterations: int,
    of_solution: bool,
    x_dtype: torch.dtype,
    row_lam_size: int,
    row_lam_shared_dims: Sequence[int],
    row_lam_dtype: torch.dtype,
    column_lam_size: int,
    column_lam_shared_dims: Sequence[int],
    column_lam_dtype: torch.dtype,
    wants_x: bool,
    wants_row_lam: bool,
    wants_column_lam: bool,
) -> tuple[Tensor, ...]:
    require_image_dims("grad_y", grad_y.ndim, height_dim, width_dim)
    rows = (width_dim, row_lam_size, row_lam_shared_dims, row_lam_dtype)
    columns = (height_dim, column_lam_size, column_lam_shared_dims, column_lam_dtype)
    return (
        torch.empty_like(grad_y, dtype=x_dtype) if wants_x else grad_y.new_empty((0,)),
        _lam_gradient(wants_row_lam, grad_y, *rows),
        _lam_gradient(wants_column_lam, grad_y, *columns),
    )


def _jvp2d(
    partitions: Tensor,
    momentum: Tensor,
    done: Tensor,
    tangent_x: Tensor | None,
    tangent_row_lam: Tensor | None,
    tangent_column_lam: Tensor | None,
    height_dim: int,
    width_dim: int,
    sharpen: bool,
    iterations: int,
    of_solution: bool,
    height: int,
    width: int,
    dtype: torch.dtype,
) -> Tensor:
    require_image_dims("partitions", partitions.ndim + 1, height_dim, width_dim)
    if tangent_x is not None:
        return torch.empty_like(tangent_x, dtype=dtype)
    shape = list(partitions.shape[:-1])
    for dim, size in sorted([(height_dim, height), (width_dim, width)], key=lambda pair: pair[0]):
        shape.insert(dim, size)
    return partitions.new_empty(shape, dtype=dtype)


def _find_gap2d(
    x: Tensor,
    y: Tensor,
    row_lam: Tensor | float,
    column_lam: Tensor | float,
    dual: Tensor | None,
    height_dim: int,
    width_dim: int,
) -> Tensor:
    require_image_dims("x", x.ndim, height_dim, width_dim)
    return x.new_empty(without_dims(x.shape, height_dim, width_dim), dtype=torch.float64)


for _op, _fake in (
    (_extension.solve, _solve),
    (_extension.solve_number, _solve),
    (_extension.solve_newton, _solve_newton),
    (_extension.solve_newton_number, _solve_newton),
    (_extension.backward, _backward),
    (_extension.weighted_backward, _weighted_backward),
    (_extension.jvp, _jvp),
    (_extension.certify, _certify),
    (_extension.certify_number, _certify),
    (_extension.find_lam_max, _find_lam_max),
    (_extension.solve2d, _solve2d),
    (_extension.solve2d_number, _solve2d),
    (_extension.backward2d, _backward2d),
    (_extension.jvp2d, _jvp2d),
    (_extension.find_gap2d, _find_gap2d),
    (_extension.find_gap2d_number, _find_gap2d),
):
    torch.library.register_fake(_op)(_fake)
