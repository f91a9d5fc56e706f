"""DTensor: batch dimensions may be sharded, each device solves the rows that it has.

Loaded when the first DTensor comes. The dimension that the rows run along is never
sharded; DTensor gathers it where it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from torch.distributed.tensor import Partial, Replicate, Shard
from torch.distributed.tensor.experimental import register_sharding

from tautline import _extension

_Placements = tuple[list[Any], list[Any]]


def _batch_dims(ndim: int, dim: int) -> Iterator[int | None]:
    """Give every way to shard a batch: none, or one of its dimensions."""
    yield None
    yield from (d for d in range(ndim) if d != dim)


def _rows(at: int | None) -> Any:
    """Place a tensor of x's shape."""
    return Replicate() if at is None else Shard(at)


def _partition(at: int | None, dim: int) -> Any:
    """Place a partition, which lacks x's dimension ``dim``."""
    return Replicate() if at is None else Shard(at - (at > dim))


def _broadcast(tensor: Any, at: int | None, ndim: int) -> Any:
    """Place what broadcasts to x: with the batch where it has its dimension."""
    if tensor is None or not hasattr(tensor, "shape"):
        return None
    if at is None:
        return Replicate()
    own = at - (ndim - len(tensor.shape))
    return Shard(own) if own >= 0 and tensor.shape[own] > 1 else Replicate()


def _optional_rows(tensor: Any, at: int | None) -> Any:
    return None if tensor is None else _rows(at)


def _solve(x: Any, lam: Any, weight: Any, dim: int, *options: Any) -> list[_Placements]:
    return [
        (
            [_rows(at), _partition(at, dim)],
            [
                _rows(at),
                _broadcast(lam, at, x.ndim),
                _broadcast(weight, at, x.ndim),
                None,
                *[None for _ in options],
            ],
        )
        for at in _batch_dims(x.ndim, dim)
    ]


def _gradients(at: int | None, lam_shared_dims: Any, wanted: tuple[bool, ...]) -> list[Any]:
    """Place the gradients of x, lam and weight, or the first of them."""
    lam = Partial() if at in lam_shared_dims else _rows(at)  # each process has a part of the sum
    placed = (_rows(at), lam, _rows(at))
    return [place if want else Replicate() for place, want in zip(placed, wanted, strict=False)]


def _backward(
    grad_y: Any,
    partition: Any,
    dim: int,
    sharpen: bool,
    x_dtype: Any,
    lam_size: int,
    lam_shared_dims: Any,
    lam_dtype: Any,
    *wanted: bool,
) -> list[_Placements]:
    return [
        (
            _gradients(at, lam_shared_dims, wanted),
            [_rows(at), _partition(at, dim), *[None] * 6, *[None for _ in wanted]],
        )
        for at in _batch_dims(grad_y.ndim, dim)
    ]


def _weighted_backward(
    grad_y: Any,
    partition: Any,
    x: Any,
    y: Any,
    weight: Any,
    dim: int,
    sharpen: bool,
    lam_size: int,
    lam_shared_dims: Any,
    lam_dtype: Any,
    *wanted: bool,
) -> list[_Placements]:
    return [
        (
            _gradients(at, lam_shared_dims, wanted),
            [
                _rows(at),
                _partition(at, dim),
                _rows(at),
                _rows(at),
                _broadcast(weight, at, grad_y.ndim),
                *[None] * 5,
                *[None for _ in wanted],
            ],
        )
        for at in _batch_dims(grad_y.ndim, dim)
    ]


def _jvp(
    partition: Any,
    x: Any,
    y: Any,
    weight: Any,
    tangent_x: Any,
    tangent_lam: Any,
    tangent_weight: Any,
    dim: int,
    *options: Any,
) -> list[_Placements]:
    ndim = partition.ndim
    return [
        (
            [_rows(at)],
            [
                _partition(at, dim),
                _optional_rows(x, at),
                _optional_rows(y, at),
                _broadcast(weight, at, ndim),
                _optional_rows(tangent_x, at),
                _broadcast(tangent_lam, at, ndim),
                _broadcast(tangent_weight, at, ndim),
                None,
                *[None for _ in options],
            ],
        )
        for at in _batch_dims(ndim, dim)
    ]


def _certify(x: Any, y: Any, lam: Any, weight: Any, dim: int) -> list[_Placements]:
    return [
        (
            [_rows(at)],
            [
                _rows(at),
                _rows(at),
                _broadcast(lam, at, x.ndim),
                _broadcast(weight, at, x.ndim),
                None,
            ],
        )
        for at in _batch_dims(x.ndim, dim)
    ]


def _lam_max(x: Any, weight: Any, dim: int) -> list[_Placements]:
    return [
        ([_rows(at)], [_rows(at), _broadcast(weight, at, x.ndim), None])
        for at in _batch_dims(x.ndim, dim)
    ]


_RULES: tuple[tuple[list[Any], Callable[..., list[_Placements]]], ...] = (
    ([_extension.solve, _extension.solve_number], _solve),
    ([_extension.backward], _backward),
    ([_extension.weighted_backward], _weighted_backward),
    ([_extension.jvp], _jvp),
    ([_extension.certify, _extension.certify_number], _certify),
    ([_extension.find_lam_max], _lam_max),
)
for _ops, _rule in _RULES:
    register_sharding(_ops)(_rule)
