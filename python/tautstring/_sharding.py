"""DTensor: batch dimensions may be sharded, each device solves the rows that it has.

Loaded when the first DTensor comes. The dimensions that rows and columns run along are
never sharded; DTensor gathers them where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from torch.distributed.tensor import Partial, Replicate, Shard
from torch.distributed.tensor.experimental import register_sharding

from tautstring import _extension

_Placements = tuple[list[Any], list[Any]]


def _batch_dims(ndim: int, *dims: int) -> Iterator[int | None]:
    """Give every way to shard a batch: none, or one of its dimensions."""
    yield None
    yield from (d for d in range(ndim) if d not in dims)


def _rows(at: int | None) -> Any:
    """Place a tensor of x's shape."""
    return Replicate() if at is None else Shard(at)


def _partition(at: int | None, *dims: int) -> Any:
    """Place a partition, which lacks x's dimensions ``dims``."""
    return Replicate() if at is None else Shard(at - sum(at > dim for dim in dims))


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


def _solve_newton(x: Any, lam: Any, start: Any, dim: int, *options: Any) -> list[_Placements]:
    *_, report = options
    return [
        (
            [
                _rows(at),
                _partition(at, dim),
                *[_partition(at, dim) if report else Replicate()] * 3,
                _rows(at) if report else Replicate(),
            ],
            [
                _rows(at),
                _broadcast(lam, at, x.ndim),
                _optional_rows(start, at),
                None,
                *[None for _ in options],
            ],
        )
        for at in _batch_dims(x.ndim, dim)
    ]


def _gradients(at: int | None, lam_shared_dims: Any, wanted: tuple[bool, ...]) -> list[Any]:
    """Place the gradients of x, lam and weight, or the first of them."""
    placed = (_rows(at), _lam_gradient(at, lam_shared_dims), _rows(at))
    return [place if want else Replicate() for place, want in zip(placed, wanted, strict=False)]


def _lam_gradient(at: int | None, lam_shared_dims: Any) -> Any:
    return Partial() if at in lam_shared_dims else _rows(at)  # each process has a part of the sum


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


def _solve2d(
    x: Any,
    row_lam: Any,
    column_lam: Any,
    start: Any,
    height_dim: int,
    width_dim: int,
    sharpen: bool,
    accelerated: bool,
    iterations: int,
    tol: float,
    of_solution: bool,
    keep_partitions: bool,
    report: bool,
) -> list[_Placements]:
    dims = (height_dim, width_dim)
    return [
        (
            [
                _rows(at),
                *[_partition(at, *dims)] * 3,
                _partition(at, *dims) if report else Replicate(),
                _rows(at) if report else Replicate(),
            ],
            [
                _rows(at),
                _broadcast(row_lam, at, x.ndim),
                _broadcast(column_lam, at, x.ndim),
                _optional_rows(start, at),
                *[None] * 9,
            ],
        )
        for at in _batch_dims(x.ndim, *dims)
    ]


def _where_solved(partitions: Any, ndim: int, *dims: int) -> Iterator[int | None]:
    """Give the ways to shard that leave partitions where they are.

    Those of the images of one process are mixed: they cannot be sent to others.
    """
    here = set(partitions.placements)
    return (at for at in _batch_dims(ndim, *dims) if _partition(at, *dims) in here)


def _backward2d(
    grad_y: Any,
    partitions: Any,
    momentum: Any,
    done: Any,
    height_dim: int,
    width_dim: int,
    sharpen: bool,
    iterations: int,
    of_solution: bool,
    x_dtype: Any,
    row_lam_size: int,
    row_lam_shared_dims: Any,
    row_lam_dtype: Any,
    column_lam_size: int,
    column_lam_shared_dims: Any,
    column_lam_dtype: Any,
    wants_x: bool,
    *wants_lams: bool,
) -> list[_Placements]:
    dims = (height_dim, width_dim)
    shared_dims = (row_lam_shared_dims, column_lam_shared_dims)
    return [
        (
            [
                _rows(at) if wants_x else Replicate(),
                *[
                    _lam_gradient(at, shared) if wants else Replicate()
                    for shared, wants in zip(shared_dims, wants_lams, strict=True)
                ],
            ],
            [_rows(at), *[_partition(at, *dims)] * 3, *[None] * 15],
        )
        for at in _where_solved(partitions, grad_y.ndim, *dims)
    ]


def _jvp2d(
    partitions: Any,
    momentum: Any,
    done: Any,
    tangent_x: Any,
    tangent_row_lam: Any,
    tangent_column_lam: Any,
    height_dim: int,
    width_dim: int,
    *options: Any,
) -> list[_Placements]:
    dims, ndim = (height_dim, width_dim), partitions.ndim + 1
    return [
        (
            [_rows(at)],
            [
                *[_partition(at, *dims)] * 3,
                _optional_rows(tangent_x, at),
                _broadcast(tangent_row_lam, at, ndim),
                _broadcast(tangent_column_lam, at, ndim),
                *[None] * 2,
                *[None for _ in options],
            ],
        )
        for at in _where_solved(partitions, ndim, *dims)
    ]


def _find_gap2d(
    x: Any, y: Any, row_lam: Any, column_lam: Any, dual: Any, height_dim: int, width_dim: int
) -> list[_Placements]:
    dims = (height_dim, width_dim)
    return [
        (
            [_partition(at, *dims)],
            [
                _rows(at),
                _rows(at),
                _broadcast(row_lam, at, x.ndim),
                _broadcast(column_lam, at, x.ndim),
                _optional_rows(dual, at),
                *[None] * 2,
            ],
        )
        for at in _batch_dims(x.ndim, *dims)
    ]


_RULES: tuple[tuple[list[Any], Callable[..., list[_Placements]]], ...] = (
    ([_extension.solve, _extension.solve_number], _solve),
    ([_extension.solve_newton, _extension.solve_newton_number], _solve_newton),
    ([_extension.backward], _backward),
    ([_extension.weighted_backward], _weighted_backward),
    ([_extension.jvp], _jvp),
    ([_extension.certify, _extension.certify_number], _certify),
    ([_extension.find_lam_max], _lam_max),
    ([_extension.solve2d, _extension.solve2d_number], _solve2d),
    ([_extension.backward2d], _backward2d),
    ([_extension.jvp2d], _jvp2d),
    ([_extension.find_gap2d, _extension.find_gap2d_number], _find_gap2d),
)
for _ops, _rule in _RULES:
    register_sharding(_ops)(_rule)
