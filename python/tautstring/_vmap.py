"""Batching rules: a vmapped dimension becomes one more batch dimension in front.

All rows (or images) are independent, so nothing else changes. x, partition and whatever
has x's shape get the dimension even where only another argument is batched; lam and
weight broadcast, so they get it only where they have it. The partitions of images alone
must be laid out anew, since those of one batch are mixed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from tautstring import _extension
from tautstring._shapes import bytes_of_passes, require_dim, require_image_dims


class _Batch:
    """Puts the vmapped dimension of each argument in front of the ``ndim`` that x has."""

    def __init__(self, info: Any, ndim: int) -> None:
        self._size = info.batch_size
        self._ndim = ndim

    def rows(self, tensor: Tensor | None, at: int | None) -> Tensor | None:
        """Give a tensor of x's shape."""
        return None if tensor is None else self.front(tensor, at)

    def partition(self, tensor: Tensor, at: int | None) -> Tensor:
        """Give a partition, without gaps as the ops want it."""
        return self.front(tensor, at).contiguous()

    def front(self, tensor: Tensor, at: int | None) -> Tensor:
        """Give any tensor that needs the dimension."""
        return tensor.expand(self._size, *tensor.shape) if at is None else tensor.movedim(at, 0)

    def broadcast(self, tensor: Any, at: int | None) -> Any:
        """Give what broadcasts to x: its own dimensions stay the last ones."""
        if at is None:
            return tensor
        front = tensor.movedim(at, 0)
        missing = self._ndim - (front.ndim - 1)
        return front[(slice(None), *[None] * missing)]


class _Rows(_Batch):
    """Rows along ``dim``, which is counted on."""

    def __init__(self, info: Any, name: str, rows: Tensor, at: int | None, dim: int) -> None:
        super().__init__(info, rows.ndim - (at is not None))
        # Here: with one more dimension in front the ops might know a dim that is none.
        require_dim(name, self._ndim, dim)
        self.dim = dim + 1


class _Images(_Batch):
    """Images along two dimensions, which are counted on."""

    def __init__(self, info: Any, name: str, ndim: int, height_dim: int, width_dim: int) -> None:
        super().__init__(info, ndim)
        require_image_dims(name, ndim, height_dim, width_dim)
        self.dims = (height_dim + 1, width_dim + 1)

    def join(self, tensor: Tensor, at: int | None, saved: int, height: int, width: int) -> Tensor:
        """Give the partitions of each sample's images as those of one batch."""
        each = self.partition(tensor, at)
        images = each.shape[1:-1].numel()
        sizes = [images * size for size in bytes_of_passes(height, width)]
        passes = each.reshape(self._size, saved, sum(sizes)).movedim(0, 1).split(sizes, 2)
        return torch.cat([lines.flatten(1) for lines in passes], 1).reshape(each.shape)

    def part(self, whole: Tensor, saved: int, height: int, width: int) -> Tensor:
        """Give the partitions of a batch as those of each sample's images."""
        images = whole.shape[1:-1].numel()
        sizes = [self._size * images * size for size in bytes_of_passes(height, width)]
        passes = whole.reshape(saved, sum(sizes)).split(sizes, 1)
        each = [lines.reshape(saved, self._size, -1) for lines in passes]
        return torch.cat(each, 2).movedim(1, 0).reshape(whole.shape)


def _solve_rule(op: Any) -> Any:
    def rule(
        info: Any, at: tuple[Any, ...], x: Tensor, lam: Any, weight: Any, dim: int, *options: Any
    ) -> Any:
        batch = _Rows(info, "x", x, at[0], dim)
        y, partition = op(
            batch.rows(x, at[0]),
            batch.broadcast(lam, at[1]),
            batch.broadcast(weight, at[2]),
            batch.dim,
            *options,
        )
        return (y, partition), (0, 0)

    return rule


def _solve_newton_rule(op: Any) -> Any:
    def rule(
        info: Any, at: tuple[Any, ...], x: Tensor, lam: Any, start: Any, dim: int, *options: Any
    ) -> Any:
        batch = _Rows(info, "x", x, at[0], dim)
        results = op(
            batch.rows(x, at[0]),
            batch.broadcast(lam, at[1]),
            batch.rows(start, at[2]),
            batch.dim,
            *options,
        )
        *_, report = options
        return results, (0, 0, *[0 if report else None] * 4)

    return rule


def _backward_rule(
    info: Any,
    at: tuple[Any, ...],
    grad_y: Tensor,
    partition: Tensor,
    dim: int,
    sharpen: bool,
    x_dtype: torch.dtype,
    lam_size: int,
    lam_shared_dims: Sequence[int],
    lam_dtype: torch.dtype,
    *wanted: bool,
) -> Any:
    batch = _Rows(info, "grad_y", grad_y, at[0], dim)
    gradients = _extension.backward(
        batch.rows(grad_y, at[0]),
        batch.partition(partition, at[1]),
        batch.dim,
        sharpen,
        x_dtype,
        lam_size,
        [shared + 1 for shared in lam_shared_dims],
        lam_dtype,
        *wanted,
    )
    return tuple(gradients), tuple(0 if want else None for want in wanted)


def _weighted_backward_rule(
    info: Any,
    at: tuple[Any, ...],
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
    *wanted: bool,
) -> Any:
    batch = _Rows(info, "grad_y", grad_y, at[0], dim)
    gradients = _extension.weighted_backward(
        batch.rows(grad_y, at[0]),
        batch.partition(partition, at[1]),
        batch.rows(x, at[2]),
        batch.rows(y, at[3]),
        batch.broadcast(weight, at[4]),
        batch.dim,
        sharpen,
        lam_size,
        [shared + 1 for shared in lam_shared_dims],
        lam_dtype,
        *wanted,
    )
    return tuple(gradients), tuple(0 if want else None for want in wanted)


def _jvp_rule(
    info: Any,
    at: tuple[Any, ...],
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
) -> Any:
    batch = _Rows(info, "partition", partition, at[0], dim)
    tangent_y = _extension.jvp(
        batch.partition(partition, at[0]),
        batch.rows(x, at[1]),
        batch.rows(y, at[2]),
        batch.broadcast(weight, at[3]),
        batch.rows(tangent_x, at[4]),
        batch.broadcast(tangent_lam, at[5]),
        batch.broadcast(tangent_weight, at[6]),
        batch.dim,
        sharpen,
        n,
        dtype,
    )
    return tangent_y, 0


def _certify_rule(op: Any) -> Any:
    def rule(
        info: Any, at: tuple[Any, ...], x: Tensor, y: Tensor, lam: Any, weight: Any, dim: int
    ) -> Any:
        batch = _Rows(info, "x", x, at[0], dim)
        violation = op(
            batch.rows(x, at[0]),
            batch.rows(y, at[1]),
            batch.broadcast(lam, at[2]),
            batch.broadcast(weight, at[3]),
            batch.dim,
        )
        return violation, 0

    return rule


def _lam_max_rule(
    info: Any, at: tuple[Any, ...], x: Tensor, weight: Tensor | None, dim: int
) -> Any:
    batch = _Rows(info, "x", x, at[0], dim)
    found = _extension.find_lam_max(batch.rows(x, at[0]), batch.broadcast(weight, at[1]), batch.dim)
    return found, 0


def _solve2d_rule(op: Any) -> Any:
    def rule(
        info: Any,
        at: tuple[Any, ...],
        x: Tensor,
        row_lam: Any,
        column_lam: Any,
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
    ) -> Any:
        batch = _Images(info, "x", x.ndim - (at[0] is not None), height_dim, width_dim)
        y, partitions, *others = op(
            batch.front(x, at[0]),
            batch.broadcast(row_lam, at[1]),
            batch.broadcast(column_lam, at[2]),
            batch.rows(start, at[3]),
            *batch.dims,
            sharpen,
            accelerated,
            iterations,
            tol,
            of_solution,
            keep_partitions,
            report,
        )
        if partitions.numel():
            size = [y.shape[dim] for dim in batch.dims]
            partitions = batch.part(partitions, 1 if of_solution else iterations, *size)
        reported = 0 if report else None
        return (y, partitions, *others), (0, 0, 0, 0, reported, reported)

    return rule


def _backward2d_rule(
    info: Any,
    at: tuple[Any, ...],
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
    *wanted: bool,
) -> Any:
    batch = _Images(info, "grad_y", grad_y.ndim - (at[0] is not None), height_dim, width_dim)
    incoming = batch.front(grad_y, at[0])
    size = [incoming.shape[dim] for dim in batch.dims]
    gradients = _extension.backward2d(
        incoming,
        batch.join(partitions, at[1], 1 if of_solution else iterations, *size),
        batch.partition(momentum, at[2]),
        batch.partition(done, at[3]),
        *batch.dims,
        sharpen,
        iterations,
        of_solution,
        x_dtype,
        row_lam_size,
        [shared + 1 for shared in row_lam_shared_dims],
        row_lam_dtype,
        column_lam_size,
        [shared + 1 for shared in column_lam_shared_dims],
        column_lam_dtype,
        *wanted,
    )
    return tuple(gradients), tuple(0 if want else None for want in wanted)


def _jvp2d_rule(
    info: Any,
    at: tuple[Any, ...],
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
) -> Any:
    ndim = partitions.ndim - (at[0] is not None) + 1
    batch = _Images(info, "partitions", ndim, height_dim, width_dim)
    tangent_y = _extension.jvp2d(
        batch.join(partitions, at[0], 1 if of_solution else iterations, height, width),
        batch.partition(momentum, at[1]),
        batch.partition(done, at[2]),
        batch.rows(tangent_x, at[3]),
        batch.broadcast(tangent_row_lam, at[4]),
        batch.broadcast(tangent_column_lam, at[5]),
        *batch.dims,
        sharpen,
        iterations,
        of_solution,
        height,
        width,
        dtype,
    )
    return tangent_y, 0


def _gap2d_rule(op: Any) -> Any:
    def rule(
        info: Any,
        at: tuple[Any, ...],
        x: Tensor,
        y: Tensor,
        row_lam: Any,
        column_lam: Any,
        dual: Tensor | None,
        height_dim: int,
        width_dim: int,
    ) -> Any:
        batch = _Images(info, "x", x.ndim - (at[0] is not None), height_dim, width_dim)
        gap = op(
            batch.front(x, at[0]),
            batch.front(y, at[1]),
            batch.broadcast(row_lam, at[2]),
            batch.broadcast(column_lam, at[3]),
            batch.rows(dual, at[4]),
            *batch.dims,
        )
        return gap, 0

    return rule


for _op, _rule in (
    (_extension.solve, _solve_rule(_extension.solve)),
    (_extension.solve_number, _solve_rule(_extension.solve_number)),
    (_extension.solve_newton, _solve_newton_rule(_extension.solve_newton)),
    (_extension.solve_newton_number, _solve_newton_rule(_extension.solve_newton_number)),
    (_extension.backward, _backward_rule),
    (_extension.weighted_backward, _weighted_backward_rule),
    (_extension.jvp, _jvp_rule),
    (_extension.certify, _certify_rule(_extension.certify)),
    (_extension.certify_number, _certify_rule(_extension.certify_number)),
    (_extension.find_lam_max, _lam_max_rule),
    (_extension.solve2d, _solve2d_rule(_extension.solve2d)),
    (_extension.solve2d_number, _solve2d_rule(_extension.solve2d_number)),
    (_extension.backward2d, _backward2d_rule),
    (_extension.jvp2d, _jvp2d_rule),
    (_extension.find_gap2d, _gap2d_rule(_extension.find_gap2d)),
    (_extension.find_gap2d_number, _gap2d_rule(_extension.find_gap2d_number)),
):
    torch.library.register_vmap(_op, _rule)
