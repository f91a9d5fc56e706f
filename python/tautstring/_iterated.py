"""Ops that iterate, behind the three doors of `tautstring._doors`.

Such an op takes ``(x, *lams, start, *options, keep_partitions, report)`` and gives y, what
derivatives need of it, and what is reported of the iterations; an `Iteration` knows which
is which. Derivatives are the maps of `tautstring._maps`; start is taken for a constant, and
reports have no derivative.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from tautstring._doors import (
    are_transforms_active,
    below_autograd,
    by_function,
    takes_eager_door,
    takes_functions_door,
)
from tautstring._maps import Argument, Batch, gradients_of_arguments, push_forward
from tautstring._tensors import raise_by_kind


class EagerDoor(torch.autograd.Function):
    """The eager door to an op: (iteration, x, *lams, start, *options) to y.

    Each op has its own class, whose name its results' grad_fn has.
    """

    @staticmethod
    def forward(ctx: Any, iteration: Iteration, *inputs: Any) -> Tensor:
        """Solve, with the partitions."""
        with below_autograd():
            output = iteration.call(inputs, True, False)
        _save(ctx, iteration, inputs, output)
        return output[0]

    @staticmethod
    def backward(ctx: Any, grad_y: Tensor) -> tuple[Tensor | None, ...]:
        """Give the gradients of x and the lams."""
        if torch.is_grad_enabled() or not takes_eager_door():
            return None, *_gradients(ctx, grad_y, ctx.needs_input_grad[1:])
        try:
            with below_autograd():  # nobody records these calls
                return None, *_gradients(ctx, grad_y, ctx.needs_input_grad[1:])
        except RuntimeError as error:
            raise_by_kind(error)


@dataclass(frozen=True)
class Iteration:
    """An op that iterates: what it takes and what it gives; no tuple, since torch opens those."""

    name: str  # of the function that leads to it
    op: Any
    op_of_numbers: Any  # the same for lams that are numbers
    eager_door: type[EagerDoor]
    lams: int
    saved: slice  # of the results, what derivatives need
    reported: slice
    make_batch: Callable[[Tensor, Sequence[Any]], Batch]  # from x and what follows start

    def call(
        self, arguments: Sequence[Any], keep_partitions: bool, report: bool
    ) -> tuple[Tensor, ...]:
        """Call the op."""
        op = self.op if isinstance(arguments[1], Tensor) else self.op_of_numbers
        return op(*arguments, keep_partitions, report)  # type: ignore[no-any-return]


class _FunctionsDoor(torch.autograd.Function):
    """The functions' door: (iteration, x, *lams, start, *options, report) to all results."""

    generate_vmap_rule = True

    @staticmethod
    def forward(iteration: Iteration, *inputs: Any) -> tuple[Tensor, ...]:
        *arguments, report = inputs
        return iteration.call(arguments, True, report)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        iteration, *arguments = inputs
        ctx.save_for_forward(*_save(ctx, iteration, arguments, output))
        ctx.others = len(output) - 1
        ctx.mark_non_differentiable(*output[1:])
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, grad_y: Tensor | None, *_: None) -> tuple[Tensor | None, ...]:
        return None, *_gradients(ctx, grad_y, ctx.needs_input_grad[1:])

    @staticmethod
    def jvp(
        ctx: Any, _: None, tangent_x: Tensor | None, *tangents: Tensor | None
    ) -> tuple[Tensor | None, ...]:
        lams = ctx.iteration.lams
        if tangents[lams] is not None:
            _refuse_start(ctx.iteration)
        tangent_y = push_forward(ctx.batch, ctx.saved_tensors, tangent_x, tangents[:lams])
        return tangent_y, *[None] * ctx.others


def solve(iteration: Iteration, arguments: tuple[Any, ...], needs_gradient: bool) -> Tensor:
    """Solve through the door that gives all derivatives which can be asked for here."""
    if not takes_eager_door():
        return _results(iteration, arguments, needs_gradient, False)[0]
    if needs_gradient:
        return iteration.eager_door.apply(iteration, *arguments)  # type: ignore[no-any-return]
    with below_autograd():
        return iteration.call(arguments, False, False)[0]


def solve_and_report(
    iteration: Iteration, arguments: tuple[Any, ...], needs_gradient: bool
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Solve through one of the doors that give the report as well."""
    results = _results(iteration, arguments, needs_gradient, True)
    return results[0], results[iteration.reported]


def _results(
    iteration: Iteration, arguments: tuple[Any, ...], needs_gradient: bool, report: bool
) -> tuple[Tensor, ...]:
    if takes_functions_door():
        return by_function(_FunctionsDoor, iteration, *arguments, report)  # type: ignore[no-any-return]
    # Functionalize hides from us whether a gradient will be asked for.
    return iteration.call(arguments, needs_gradient or are_transforms_active(), report)


def _save(
    ctx: Any, iteration: Iteration, inputs: Sequence[Any], output: tuple[Tensor, ...]
) -> tuple[Tensor, ...]:
    """Keep what the derivatives need."""
    x, *others = inputs
    ctx.iteration = iteration
    ctx.batch = iteration.make_batch(x, others[iteration.lams + 1 :])
    ctx.lams = [Argument.of(lam) for lam in others[: iteration.lams]]
    saved = output[iteration.saved]
    ctx.save_for_backward(*saved)
    return saved


def _gradients(ctx: Any, grad_y: Tensor | None, needs: Sequence[bool]) -> list[Tensor | None]:
    """Give the gradients of all inputs, None for those that nobody needs or that have none."""
    wants_x, *wants_lams, wants_start = needs[: ctx.iteration.lams + 2]
    if wants_start:
        _refuse_start(ctx.iteration)
    if grad_y is None:
        return [None] * len(needs)
    gradients = gradients_of_arguments(
        ctx.batch, ctx.saved_tensors, grad_y, ctx.lams, wants_x, wants_lams
    )
    return [*gradients, *[None] * (len(needs) - len(gradients))]


def _refuse_start(iteration: Iteration) -> None:
    raise NotImplementedError(f"{iteration.name}: takes start for a constant; give it detached")


def register(iteration: Iteration) -> None:
    """Register the derivatives with the ops."""

    def save(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        _save(ctx, iteration, inputs, output)
        *_, ctx.keeps_partitions, _ = inputs
        ctx.mark_non_differentiable(*output[1:])
        ctx.set_materialize_grads(False)

    def backward(ctx: Any, grad_y: Tensor | None, *_: Tensor | None) -> tuple[Tensor | None, ...]:
        if not ctx.keeps_partitions:
            raise RuntimeError(f"{iteration.name}: has gradients only where partitions are kept")
        return tuple(_gradients(ctx, grad_y, ctx.needs_input_grad))

    for op in (iteration.op, iteration.op_of_numbers):
        torch.library.register_autograd(op, backward, setup_context=save)
