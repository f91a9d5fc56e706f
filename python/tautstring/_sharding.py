"""DTensor: batch dimensions may be sharded; each device solves the rows that it has.

Loaded when the first DTensor is passed. The ops do not take tensors that are sharded along rows
or columns; DTensor gathers those first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch.distributed.tensor import Partial, Replicate, Shard
from torch.distributed.tensor.experimental import register_sharding

from tautstring._ops import OPS, Call, Op, Result, Role

_Placements = tuple[list[Any], list[Any]]


def _sharding_rule(op: Op) -> Any:
    def rule(*arguments: Any) -> list[_Placements]:
        call = Call(op, arguments)
        return [
            (
                [_place_result(result, call, at) for result in op.results],
                [_place_argument(role, value, call, at) for role, value in call.items()],
            )
            for at in _ways_to_shard(call)
        ]

    return rule


def _ways_to_shard(call: Call) -> Iterator[int | None]:
    """Yield the dimensions of x that may be sharded, and None for not sharded.

    Partitions of images stay on their process: the bytes of its images are mixed, so they cannot
    be redistributed.
    """
    solved = [value for role, value in call.items() if role is Role.PASSES]
    for at in (None, *(d for d in range(call.ndim) if d not in call.dims)):
        if all(_place(Role.PASSES, call, at) in passes.placements for passes in solved):
            yield at


def _place(role: Role, call: Call, at: int | None) -> Any:
    """Return the placement of a tensor that is sharded with the batch, along ``at`` of x."""
    if at is None:
        return Replicate()
    if role in (Role.PER_LINE, Role.PASSES):
        return Shard(at - sum(at > dim for dim in call.dims))
    return Shard(at)


def _place_argument(role: Role, value: Any, call: Call, at: int | None) -> Any:
    if not hasattr(value, "shape"):
        return None  # not a tensor
    if (
        role is Role.BROADCAST and at is not None
    ):  # sharded with the batch only if it has that dimension
        own = at - (call.ndim - len(value.shape))
        return Shard(own) if own >= 0 and value.shape[own] > 1 else Replicate()
    return _place(role, call, at)


def _place_result(result: Result, call: Call, at: int | None) -> Any:
    if not result.is_wanted(call):
        return Replicate()
    if result.lam is not None and at in call[f"{result.lam}_shared_dims"]:
        return Partial()  # each process has part of the sum
    return _place(result.role, call, at)


for _op in OPS:
    register_sharding(list(_op.overloads))(_sharding_rule(_op))
