"""Batching rules: a vmapped dimension becomes an additional first batch dimension.

All rows (or images) are independent, so nothing else changes. Tensors with x's shape, and those
saved per row, get the dimension even if only another argument is batched; lam and weight
broadcast, so they only get it if they are batched themselves. Only the partitions of images must
be rearranged, since the bytes of different images of a batch are mixed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from tautstring._ops import OPS, Call, Op, Role
from tautstring._shapes import bytes_of_passes, require_dims


def _batching_rule(op: Op, overload: Any) -> Any:
    main = op.argument_names.index(op.main)

    def rule(info: Any, at: tuple[Any, ...], *arguments: Any) -> Any:
        own_ndim = arguments[main].ndim - (at[main] is not None)
        call = Call(op, arguments, own_ndim)
        # Checked here: with the additional dimension, an invalid dim could pass the op's own check.
        require_dims(op.main, call.ndim, call.dims)
        batch = _Batch(info.batch_size, call.ndim)
        moved = [
            batch.move(role, value, place)
            for (role, value), place in zip(call.items(), at, strict=True)
        ]
        whole = Call(op, moved)
        joined = [
            batch.join(value, whole) if role is Role.PASSES else value
            for role, value in whole.items()
        ]
        results = overload(*joined)
        if len(op.results) == 1:
            return results, 0
        each = tuple(
            batch.part(value, whole) if result.role is Role.PASSES else value
            for result, value in zip(op.results, results, strict=True)
        )
        return each, tuple(0 if result.is_wanted(call) else None for result in op.results)

    return rule


class _Batch:
    """Move the vmapped dimension of each argument in front of the ``ndim`` dimensions of x."""

    def __init__(self, size: int, ndim: int) -> None:
        self._size = size
        self._ndim = ndim

    def move(self, role: Role, value: Any, at: int | None) -> Any:
        """Return an argument in the form that the op takes for the whole batch."""
        match role:
            case Role.DIM:
                return value + 1
            case Role.SHARED_DIMS:
                return [dim + 1 for dim in value]
            case Role.SAMPLES if value is not None:
                return self._front(value, at)
            case Role.PER_LINE | Role.PASSES:
                return self._front(value, at).contiguous()  # required by the ops
            case Role.BROADCAST if at is not None:
                front = value.movedim(at, 0)
                missing = self._ndim - (front.ndim - 1)  # its own dimensions stay last
                return front[(slice(None), *[None] * missing)]
        return value

    def _front(self, tensor: Tensor, at: int | None) -> Tensor:
        return tensor.expand(self._size, *tensor.shape) if at is None else tensor.movedim(at, 0)

    def join(self, each: Tensor, whole: Call) -> Tensor:
        """Convert the partitions of each sample's images to those of one batch."""
        sizes = self._bytes_of_passes(each.shape[1:-1], whole)
        shape = (self._size, whole.saved_iterations, sum(sizes))
        passes = each.reshape(shape).movedim(0, 1).split(sizes, 2)
        return torch.cat([lines.flatten(1) for lines in passes], 1).reshape(each.shape)

    def part(self, joined: Tensor, whole: Call) -> Tensor:
        """Convert the partitions of a batch to those of each sample's images."""
        if not joined.numel():
            return joined
        saved = whole.saved_iterations
        sizes = self._bytes_of_passes(joined.shape[1:-1], whole)
        passes = joined.reshape(saved, -1).split([self._size * size for size in sizes], 1)
        each = [lines.reshape(saved, self._size, -1) for lines in passes]
        return torch.cat(each, 2).movedim(1, 0).reshape(joined.shape)

    @staticmethod
    def _bytes_of_passes(images: Sequence[int], whole: Call) -> list[int]:
        """Return the number of bytes of one sample's row pass and of its column pass."""
        return [torch.Size(images).numel() * size for size in bytes_of_passes(*whole.sizes)]


for _op in OPS:
    for _overload in _op.overloads:
        torch.library.register_vmap(_overload, _batching_rule(_op, _overload))
