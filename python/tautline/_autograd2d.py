"""Derivatives of the 2D op, behind the three doors of `tautline._doors`.

They are the maps of `tautline._maps`, over the partitions of all passes (those of the
iterations) or of the last two (those of the exact solution).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from tautline import _extension
from tautline._doors import (
    are_transforms_active,
    below_autograd,
    by_function,
    register_reading,
    takes_eager_door,
    takes_functions_door,
)
from tautline._maps import (
    Argument,
    Batch,
    Sharing,
    adjoint_of_pull_back,
    adjoint_of_push_forward,
    gradients_of_arguments,
    push_forward,
)


@dataclass(frozen=True)
class Images(Batch):
    """A batch of images; of it partitions, momentum and done iterations are saved."""

    height_dim: int
    width_dim: int
    sharpen: bool
    iterations: int
    of_solution: bool
    height: int
    width: int

    @property
    def lam_dims(self) -> tuple[int, ...]:
        """Give the dimension that rows run along, then that of columns."""
        return self.width_dim, self.height_dim

    def call_backward(
        self,
        saved: Sequence[Tensor],
        grad_y: Tensor,
        wants_x: bool,
        sharings: Sequence[Sharing | None],
    ) -> tuple[Tensor, ...]:
        """Call the op that takes the gradient of y to those of x and the lams."""
        rows, columns = (sharing or Sharing(1, (), self.dtype) for sharing in sharings)
        return _extension.backward2d(  # type: ignore[no-any-return]
            grad_y,
            *saved,
            self.height_dim,
            self.width_dim,
            self.sharpen,
            self.iterations,
            self.of_solution,
            self.dtype,
            rows.size,
            rows.shared_dims,
            rows.dtype,
            columns.size,
            columns.shared_dims,
            columns.dtype,
            wants_x,
            *[sharing is not None for sharing in sharings],
        )

    def call_jvp(
        self,
        saved: Sequence[Tensor],
        tangent_x: Tensor | None,
        tangent_lams: Sequence[Tensor | None],
    ) -> Tensor:
        """Call the op that takes directions of x and the lams to that of y."""
        return _extension.jvp2d(  # type: ignore[no-any-return]
            *saved,
            tangent_x,
            *tangent_lams,
            self.height_dim,
            self.width_dim,
            self.sharpen,
            self.iterations,
            self.of_solution,
            self.height,
            self.width,
            self.dtype,
        )


class Options(NamedTuple):
    """What the op is told beside its tensors."""

    height_dim: int
    width_dim: int
    sharpen: bool
    accelerated: bool
    iterations: int
    tol: float  # 0: none
    of_solution: bool


class Report(NamedTuple):
    """What a call leaves beside y, none of which has a derivative."""

    done: Tensor
    gap: Tensor
    dual: Tensor


def _save(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """Keep what the derivatives need."""
    x, row_lam, column_lam, _start, *rest = inputs
    options = Options(*rest[:7])
    ctx.images = Images(
        x.dtype,
        options.height_dim,
        options.width_dim,
        options.sharpen,
        options.iterations,
        options.of_solution,
        x.shape[options.height_dim],
        x.shape[options.width_dim],
    )
    ctx.lams = (Argument.of(row_lam), Argument.of(column_lam))
    saved = output[1:4]
    ctx.save_for_backward(*saved)
    return saved


def _gradients(ctx: Any, grad_y: Tensor | None) -> tuple[Tensor | None, ...]:
    """Give the gradients of x, the lams and start, None for those that nobody needs."""
    wants_x, wants_row_lam, wants_column_lam, wants_start = ctx.needs_input_grad[:4]
    if wants_start:
        _refuse_start()
    if grad_y is None:
        return None, None, None, None
    wants_lams = (wants_row_lam, wants_column_lam)
    gradients = gradients_of_arguments(
        ctx.images, ctx.saved_tensors, grad_y, ctx.lams, wants_x, wants_lams
    )
    return (*gradients, None)


def _refuse_start() -> None:
    raise NotImplementedError("prox_tv2d: takes start for a constant; give it detached")


class ProxTv2d(torch.autograd.Function):
    """The eager door to the op: (x, row_lam, column_lam, start, *options) to y."""

    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> Tensor:
        with below_autograd():
            output = _op_for(inputs[1])(*inputs, True, False)
        _save(ctx, inputs, output)
        return output[0]  # type: ignore[no-any-return]

    @staticmethod
    def backward(ctx: Any, grad_y: Tensor) -> tuple[Tensor | None, ...]:
        if torch.is_grad_enabled() or not takes_eager_door():
            return (*_gradients(ctx, grad_y), *[None] * 7)
        with below_autograd():  # nobody records these calls
            return (*_gradients(ctx, grad_y), *[None] * 7)


class Solve2d(torch.autograd.Function):
    """The functions' door: (x, row_lam, column_lam, start, *options, report) to all results."""

    generate_vmap_rule = True

    @staticmethod
    def forward(*inputs: Any) -> tuple[Tensor, ...]:
        """Solve, with the partitions."""
        *arguments, report = inputs
        return _op_for(inputs[1])(*arguments, True, report)  # type: ignore[no-any-return]

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        """Keep what the derivatives need."""
        ctx.save_for_forward(*_save(ctx, inputs, output))
        ctx.mark_non_differentiable(*output[1:])
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, grad_y: Tensor | None, *_: None) -> tuple[Tensor | None, ...]:
        """Give the gradients of x and the lams."""
        return (*_gradients(ctx, grad_y), *[None] * 8)

    @staticmethod
    def jvp(
        ctx: Any,
        tangent_x: Tensor | None,
        tangent_row_lam: Tensor | None,
        tangent_column_lam: Tensor | None,
        tangent_start: Tensor | None,
        *_: None,
    ) -> tuple[Tensor | None, ...]:
        """Give the direction of y."""
        if tangent_start is not None:
            _refuse_start()
        tangent_lams = (tangent_row_lam, tangent_column_lam)
        tangent_y = push_forward(ctx.images, ctx.saved_tensors, tangent_x, tangent_lams)
        return (tangent_y, *[None] * 5)


def _op_for(row_lam: Tensor | float) -> Any:
    return _extension.solve2d if isinstance(row_lam, Tensor) else _extension.solve2d_number


def solve(
    x: Tensor,
    row_lam: Tensor | float,
    column_lam: Tensor | float,
    start: Tensor | None,
    options: Options,
    needs_gradient: bool,
) -> Tensor:
    """Solve through the door that gives all derivatives which can be asked for here."""
    arguments = (x, row_lam, column_lam, start, *options)
    if not takes_eager_door():
        y, _ = _solve(arguments, needs_gradient, False)
        return y
    if needs_gradient:
        return ProxTv2d.apply(*arguments)  # type: ignore[no-any-return]
    with below_autograd():
        return _op_for(row_lam)(*arguments, False, False)[0]  # type: ignore[no-any-return]


def solve_and_report(
    x: Tensor,
    row_lam: Tensor | float,
    column_lam: Tensor | float,
    start: Tensor | None,
    options: Options,
    needs_gradient: bool,
) -> tuple[Tensor, Report]:
    """Solve through one of the doors that give the report as well."""
    y, report = _solve((x, row_lam, column_lam, start, *options), needs_gradient, True)
    return y, Report(*report)


def _solve(
    arguments: tuple[Any, ...], needs_gradient: bool, report: bool
) -> tuple[Tensor, tuple[Tensor, ...]]:
    if takes_functions_door():
        y, _, _, *others = by_function(Solve2d, *arguments, report)
    else:
        # Functionalize hides from us whether a gradient will be asked for.
        keeps = needs_gradient or are_transforms_active()
        y, _, _, *others = _op_for(arguments[1])(*arguments, keeps, report)
    return y, tuple(others)


def _save_solve(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    _save(ctx, inputs, output)
    ctx.keeps_partitions = inputs[11]
    ctx.mark_non_differentiable(*output[1:])
    ctx.set_materialize_grads(False)


def _backward_of_solve(
    ctx: Any, grad_y: Tensor | None, *_: Tensor | None
) -> tuple[Tensor | None, ...]:
    if not ctx.keeps_partitions:
        raise RuntimeError("prox_tv2d: has gradients only with keep_partitions=True")
    return (*_gradients(ctx, grad_y), *[None] * 9)


def _save_backward(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    grad_y, partitions, momentum, done, height_dim, width_dim, *rest = inputs
    sharpen, iterations, of_solution = rest[:3]
    size = (grad_y.shape[height_dim], grad_y.shape[width_dim])
    ctx.images = Images(
        grad_y.dtype, height_dim, width_dim, sharpen, iterations, of_solution, *size
    )
    ctx.wanted = rest[-3:]
    ctx.save_for_backward(partitions, momentum, done)


def _backward_of_backward(ctx: Any, *cotangents: Tensor | None) -> tuple[Tensor | None, ...]:
    grad = adjoint_of_pull_back(ctx.images, ctx.saved_tensors, ctx.wanted, cotangents)
    return (grad, *[None] * 18)


def _save_jvp(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.images = Images(inputs[-1], *inputs[6:-1])
    ctx.tangents = [Argument.of(tangent) for tangent in inputs[3:6]]
    ctx.save_for_backward(*inputs[:3])


def _backward_of_jvp(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    wanted = ctx.needs_input_grad[3:6]
    gradients = adjoint_of_push_forward(ctx.images, ctx.saved_tensors, ctx.tangents, grad, wanted)
    return (*[None] * 3, *gradients, *[None] * 8)


for _op in (_extension.solve2d, _extension.solve2d_number):
    torch.library.register_autograd(_op, _backward_of_solve, setup_context=_save_solve)
torch.library.register_autograd(
    _extension.backward2d, _backward_of_backward, setup_context=_save_backward
)
torch.library.register_autograd(_extension.jvp2d, _backward_of_jvp, setup_context=_save_jvp)
for _op in (_extension.find_gap2d, _extension.find_gap2d_number):
    register_reading(_op)
