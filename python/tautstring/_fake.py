"""Fake kernels for tracing: shapes, dtypes and strides of the ops' results, without data.

They must match exactly what src/torch/tv1d.cpp, newton1d.cpp and tv2d.cpp allocate.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from tautstring._ops import OPS, Call, Op, Result
from tautstring._shapes import require_dims


def _fake_kernel(op: Op) -> Any:
    def kernel(*arguments: Any) -> Any:
        call = Call(op, arguments)
        require_dims(op.main, call.ndim, call.dims)
        results = tuple(_empty(result, call) for result in op.results)
        return results if len(results) > 1 else results[0]

    return kernel


def _empty(result: Result, call: Call) -> Tensor:
    main: Tensor = call.main
    if not result.is_wanted(call):
        return main.new_empty((0,))
    dtype = result.dtype(call)
    if result.like is not None and call[result.like] is not None:
        return torch.empty_like(call[result.like], dtype=dtype)
    return main.new_empty(tuple(result.shape(call)), dtype=dtype)


for _op in OPS:
    for _overload in _op.overloads:
        torch.library.register_fake(_overload)(_fake_kernel(_op))
