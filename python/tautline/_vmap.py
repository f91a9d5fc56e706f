"""Batching rules: a vmapped dimension becomes one more batch dimension in front.

All rows are independent, so nothing else changes. x, partition and whatever has x's
shape get the dimension even where only another argument is batched; lam and weight
broadcast, so they get it only where they have it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from tautline import _extension
from tautline._shapes import require_dim


class _Batch:
    """Puts the vmapped dimension of each argument in front, and ``dim`` behind it."""

    def __init__(self, info: Any, name: str, rows: Tensor, at: int | None, dim: int) -> None:
        self._size = info.batch_size
        self._ndim = rows.ndim - (at is not None)
        # Here: with one more dimension in front the ops might know a dim that is none.
        require_dim(name, self._ndim, dim)
        self.dim = dim + 1

    def rows(self, tensor: Tensor | None, at: int | None) -> Tensor | None:
        """Give a tensor of x's shape."""
        if tensor is None:
            return None
        return self._expand(tensor) if at is None else tensor.movedim(at, 0)

    def partition(self, tensor: Tensor, at: int | None) -> Tensor:
        """Give a partition, without gaps as the ops want it."""
        return (self._expand(tensor) if at is None else tensor.movedim(at, 0)).contiguous()

    def broadcast(self, tensor: Any, at: int | None) -> Any:
        """Give what broadcasts to x: its own dimensions stay the last ones."""
        if at is None:
            return tensor
        front = tensor.movedim(at, 0)
        missing = self._ndim - (front.ndim - 1)
        return front[(slice(None), *[None] * missing)]

    def _expand(self, tensor: Tensor) -> Tensor:
        return tensor.expand(self._size, *tensor.shape)


def _solve_rule(op: Any) -> Any:
    def rule(
        info: Any, at: tuple[Any, ...], x: Tensor, lam: Any, weight: Any, dim: int, *options: Any
    ) -> Any:
        batch = _Batch(info, "x", x, at[0], dim)
        y, partition = op(
            batch.rows(x, at[0]),
            batch.broadcast(lam, at[1]),
            batch.broadcast(weight, at[2]),
            batch.dim,
            *options,
        )
        return (y, partition), (0, 0)

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
    batch = _Batch(info, "grad_y", grad_y, at[0], dim)
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
    batch = _Batch(info, "grad_y", grad_y, at[0], dim)
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
    batch = _Batch(info, "partition", partition, at[0], dim)
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
        batch = _Batch(info, "x", x, at[0], dim)
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
    batch = _Batch(info, "x", x, at[0], dim)
    found = _extension.find_lam_max(batch.rows(x, at[0]), batch.broadcast(weight, at[1]), batch.dim)
    return found, 0


for _op, _rule in (
    (_extension.solve, _solve_rule(_extension.solve)),
    (_extension.solve_number, _solve_rule(_extension.solve_number)),
    (_extension.backward, _backward_rule),
    (_extension.weighted_backward, _weighted_backward_rule),
    (_extension.jvp, _jvp_rule),
    (_extension.certify, _certify_rule(_extension.certify)),
    (_extension.certify_number, _certify_rule(_extension.certify_number)),
    (_extension.find_lam_max, _lam_max_rule),
):
    torch.library.register_vmap(_op, _rule)
