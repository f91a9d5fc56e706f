"""The table of the ops: how each argument and result relates to a batch of rows or images.

Fake kernels (`tautstring._fake`), batching rules (`tautstring._vmap`) and sharding rules
(`tautstring._sharding`) are derived from it. Names and order of the arguments are those of the
schemas (src/torch/ops.cpp), where a name means the same in all ops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import cached_property
from typing import Any

import torch

from tautstring import _extension
from tautstring._shapes import (
    arithmetic_dtype,
    bytes_of_partition,
    bytes_of_passes,
    with_size,
    without_dims,
)


class Role(Enum):
    """How an argument or a result relates to the batch."""

    SAMPLES = auto()
    """Has x's dimensions, and x's sizes except along the rows."""
    BROADCAST = auto()
    """Broadcasts to x; may be a number."""
    PER_LINE = auto()
    """Has x's dimensions without those of a row (or image), and possibly one more at the end."""
    PASSES = auto()
    """Like PER_LINE, but the bytes of different images are mixed: partitions of 2D passes."""
    LAM_GRADIENT = auto()
    """Like SAMPLES, but with size 1 along the dimensions that share a lam."""
    DIM = auto()
    """A dimension of x, counted from the front, that rows (or images) run along."""
    SHARED_DIMS = auto()
    """Dimensions of x that share a lam, counted from the front."""
    STATIC = auto()
    """Does not depend on the batch."""


_ROLES = {
    Role.SAMPLES: ("x", "y", "grad_y", "tangent_x", "start", "dual"),
    Role.BROADCAST: (
        *("lam", "lam_rows", "lam_cols", "weight"),
        *("tangent_lam", "tangent_lam_rows", "tangent_lam_cols", "tangent_weight"),
    ),
    Role.PER_LINE: ("partition", "momentum", "done"),
    Role.PASSES: ("partitions",),
    Role.DIM: ("dim", "height_dim", "width_dim"),
    Role.SHARED_DIMS: ("lam_shared_dims", "lam_rows_shared_dims", "lam_cols_shared_dims"),
}
_ROLE_OF = {name: role for role, names in _ROLES.items() for name in names}


class Call:
    """The arguments of one call of an op by name, and the batch that they describe.

    Tensors may be real, fake or only described by a shape. ``main_ndim`` is given if the op's
    main argument has a vmapped dimension in addition to its own.
    """

    def __init__(self, op: Op, arguments: Sequence[Any], main_ndim: int | None = None) -> None:
        self._values = dict(zip(op.argument_names, arguments, strict=True))
        self.op = op
        self.main = self._values[op.main]
        self._main_ndim = self.main.ndim if main_ndim is None else main_ndim

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def items(self) -> Iterator[tuple[Role, Any]]:
        """Return all arguments in order, with their roles."""
        return ((_ROLE_OF.get(name, Role.STATIC), v) for name, v in self._values.items())

    @cached_property
    def dims(self) -> tuple[int, ...]:
        """Return the dimensions of x that rows (or images) run along."""
        return tuple(value for role, value in self.items() if role is Role.DIM)

    @cached_property
    def ndim(self) -> int:
        """Return the number of x's dimensions."""
        if _ROLE_OF[self.op.main] is Role.SAMPLES:
            return self._main_ndim
        return self._main_ndim - 1 + len(self.dims)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Return x's shape, assembled if no tensor of the call has it."""
        if _ROLE_OF[self.op.main] is Role.SAMPLES:
            return tuple(self.main.shape)
        names = ("n",) if len(self.dims) == 1 else ("height", "width")
        shape = list(self.main.shape[:-1])
        for dim, name in sorted(zip(self.dims, names, strict=True)):
            shape.insert(dim, self[name])
        return tuple(shape)

    @cached_property
    def batch_shape(self) -> tuple[int, ...]:
        """Return x's shape without the dimensions that rows (or images) run along."""
        return without_dims(self.shape, *self.dims)

    @property
    def sizes(self) -> list[int]:
        """Return the sizes of x along ``dims``."""
        return [self.shape[dim] for dim in self.dims]

    @property
    def saved_iterations(self) -> int:
        """Return the number of iterations whose partitions a 2D op saves."""
        return 1 if self["implicit"] else int(self["iterations"])


@dataclass(frozen=True)
class Result:
    """One result of an op."""

    role: Role
    dtype: Callable[[Call], torch.dtype]
    shape: Callable[[Call], Sequence[int]]
    like: str | None = None
    """The argument whose strides it has, if that is given."""
    flag: str | None = None
    """The argument that requests it. A result that is not requested has no elements."""
    lam: str | None = None
    """The lam that it is the gradient of."""

    def is_wanted(self, call: Call) -> bool:
        """Return whether the call requests it."""
        return self.flag is None or bool(call[self.flag])


@dataclass(frozen=True)
class Op:
    """One op of the library, for lams that are tensors and for lams that are numbers."""

    overloads: tuple[Any, ...]
    main: str
    """The argument whose dimensions determine the batch."""
    results: tuple[Result, ...]

    @cached_property
    def argument_names(self) -> tuple[str, ...]:
        """Return the names of the arguments in order."""
        return tuple(argument.name for argument in self.overloads[0]._schema.arguments)


def _dtype_of(name: str) -> Callable[[Call], torch.dtype]:
    def dtype(call: Call) -> torch.dtype:
        value = call[name]
        return value if isinstance(value, torch.dtype) else value.dtype

    return dtype


def _arithmetic(call: Call) -> torch.dtype:
    return arithmetic_dtype(call["x"].dtype)


def _always(dtype: torch.dtype) -> Callable[[Call], torch.dtype]:
    return lambda call: dtype


def _samples(like: str, dtype: Callable[[Call], torch.dtype], flag: str | None = None) -> Result:
    return Result(Role.SAMPLES, dtype, lambda call: call.shape, like, flag)


def _one_per_row(call: Call) -> tuple[int, ...]:
    return with_size(call.shape, call["dim"], 1)


def _edges(call: Call) -> tuple[int, ...]:
    return with_size(call.shape, call["dim"], max(call.sizes[0] - 1, 0))


def _per_line(
    dtype: torch.dtype, saved: Callable[[Call], int] | None = None, flag: str | None = None
) -> Result:
    """Return a result with one number per row (or image), or with ``saved(call)`` numbers."""

    def shape(call: Call) -> tuple[int, ...]:
        return call.batch_shape if saved is None else (*call.batch_shape, saved(call))

    return Result(Role.PER_LINE, _always(dtype), shape, flag=flag)


def _bytes_of_rows(call: Call) -> int:
    return bytes_of_partition(call.sizes[0]) if call["keep_partition"] else 0


def _bytes_of_images(call: Call) -> int:
    each = sum(bytes_of_passes(*call.sizes))
    return call.saved_iterations * each if call["keep_partitions"] else 0


def _kept_momentum(call: Call) -> int:
    return call["iterations"] if call["keep_partitions"] and not call["implicit"] else 0


def _lam_gradient(lam: str, dim: str) -> Result:
    def shape(call: Call) -> tuple[int, ...]:
        shape = with_size(call.shape, call[dim], call[f"{lam}_size"])
        for shared in call[f"{lam}_shared_dims"]:
            shape = with_size(shape, shared, 1)
        return shape

    dtype = _dtype_of(f"{lam}_dtype")
    return Result(Role.LAM_GRADIENT, dtype, shape, flag=f"wants_{lam}", lam=lam)


_PARTITION = _per_line(torch.uint8, _bytes_of_rows)

OPS = (
    Op(
        (_extension.solve, _extension.solve_number),
        "x",
        (_samples("x", _dtype_of("x")), _PARTITION),
    ),
    Op(
        (_extension.backward,),
        "grad_y",
        (_samples("grad_y", _dtype_of("x_dtype"), "wants_x"), _lam_gradient("lam", "dim")),
    ),
    Op(
        (_extension.weighted_backward,),
        "grad_y",
        (
            _samples("grad_y", _dtype_of("x"), "wants_x"),
            _lam_gradient("lam", "dim"),
            _samples("grad_y", _arithmetic, "wants_weight"),
        ),
    ),
    Op((_extension.jvp,), "partition", (_samples("tangent_x", _dtype_of("dtype")),)),
    Op(
        (_extension.solve_newton, _extension.solve_newton_number),
        "x",
        (
            _samples("x", _dtype_of("x")),
            _PARTITION,
            _per_line(torch.int32, flag="report"),  # done
            _per_line(torch.float64, flag="report"),  # gap
            _per_line(torch.bool, flag="report"),  # converged
            Result(Role.SAMPLES, _always(torch.float64), _edges, flag="report"),  # dual
        ),
    ),
    Op(
        (_extension.certify, _extension.certify_number),
        "x",
        (Result(Role.SAMPLES, _arithmetic, _one_per_row),),
    ),
    Op((_extension.find_lam_max,), "x", (Result(Role.SAMPLES, _arithmetic, _one_per_row),)),
    Op((_extension.find_path1d,), "x", (Result(Role.SAMPLES, _arithmetic, _edges),)),
    Op(
        (_extension.solve2d, _extension.solve2d_number),
        "x",
        (
            _samples("x", _dtype_of("x")),
            Result(
                Role.PASSES,
                _always(torch.uint8),
                lambda call: (*call.batch_shape, _bytes_of_images(call)),
            ),
            _per_line(torch.float64, _kept_momentum),
            _per_line(torch.int32),  # done
            _per_line(torch.float64, flag="report"),  # gap
            _per_line(torch.float64, flag="report"),  # objective
            _per_line(torch.bool, flag="report"),  # converged
            _samples("x", _arithmetic, "report"),  # dual
        ),
    ),
    Op(
        (_extension.backward2d,),
        "grad_y",
        (
            _samples("grad_y", _dtype_of("x_dtype"), "wants_x"),
            _lam_gradient("lam_rows", "width_dim"),
            _lam_gradient("lam_cols", "height_dim"),
        ),
    ),
    Op((_extension.jvp2d,), "partitions", (_samples("tangent_x", _dtype_of("dtype")),)),
    Op(
        (_extension.find_gap2d, _extension.find_gap2d_number),
        "x",
        (_per_line(torch.float64),),
    ),
)
