"""The op that solves images (`tautstring._solve`), and its derivatives.

The derivatives are the maps of `tautstring._derivatives`, over the partitions of all passes (for
the iterations) or of the last two (for the exact solution).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from tautstring import _extension
from tautstring._autograd_paths import register_reading
from tautstring._derivatives import (
    Argument,
    Batch,
    Sharing,
    adjoint_of_pull_back,
    adjoint_of_push_forward,
)
from tautstring._solve import EagerFunction, Solver, register


@dataclass(frozen=True)
class Images(Batch):
    """A batch of images; its partitions, momentum and done iterations are saved."""

    height_dim: int
    width_dim: int
    sharpen: bool
    iterations: int
    implicit: bool
    height: int
    width: int

    @property
    def lam_dims(self) -> tuple[int, ...]:
        """Return the dimension that rows run along, then that of columns."""
        return self.width_dim, self.height_dim

    def call_backward(
        self,
        saved: Sequence[Tensor],
        grad_y: Tensor,
        wants_x: bool,
        sharings: Sequence[Sharing | None],
    ) -> tuple[Tensor, ...]:
        """Call the op that maps the gradient of y to those of x and the lams."""
        rows, columns = (sharing or Sharing(1, (), self.dtype) for sharing in sharings)
        return _extension.backward2d(  # type: ignore[no-any-return]
            grad_y,
            *saved,
            self.height_dim,
            self.width_dim,
            self.sharpen,
            self.iterations,
            self.implicit,
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
        """Call the op that maps the tangents of x and the lams to that of y."""
        return _extension.jvp2d(  # type: ignore[no-any-return]
            *saved,
            tangent_x,
            *tangent_lams,
            self.height_dim,
            self.width_dim,
            self.sharpen,
            self.iterations,
            self.implicit,
            self.height,
            self.width,
            self.dtype,
        )


class Options(NamedTuple):
    """The op's arguments other than tensors."""

    height_dim: int
    width_dim: int
    sharpen: bool
    accelerated: bool
    iterations: int
    tol: float  # 0: none
    implicit: bool


class ProxTv2d(EagerFunction):
    """The eager path to the op."""


def _make_batch(
    inputs: Sequence[Any], results: Sequence[Tensor]
) -> tuple[Images, tuple[Tensor, ...]]:
    x, _, _, _, *options = inputs
    call = Options(*options[: len(Options._fields)])
    images = Images(
        x.dtype,
        call.height_dim,
        call.width_dim,
        call.sharpen,
        call.iterations,
        call.implicit,
        x.shape[call.height_dim],
        x.shape[call.width_dim],
    )
    _, partitions, momentum, done, *_ = results
    return images, (partitions, momentum, done)


SOLVER = Solver(
    name="prox_tv2d",
    op=_extension.solve2d,
    op_of_numbers=_extension.solve2d_number,
    eager_function=ProxTv2d,
    lams=2,
    make_batch=_make_batch,
    reported=slice(3, 8),  # done, gap, objective, converged, dual
    takes_start=True,
)


def _save_backward(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    grad_y, partitions, momentum, done, height_dim, width_dim, *rest = inputs
    sharpen, iterations, implicit = rest[:3]
    size = (grad_y.shape[height_dim], grad_y.shape[width_dim])
    ctx.images = Images(grad_y.dtype, height_dim, width_dim, sharpen, iterations, implicit, *size)
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


register(SOLVER)
torch.library.register_autograd(
    _extension.backward2d, _backward_of_backward, setup_context=_save_backward
)
torch.library.register_autograd(_extension.jvp2d, _backward_of_jvp, setup_context=_save_jvp)
for _op in (_extension.find_gap2d, _extension.find_gap2d_number):
    register_reading(_op)
