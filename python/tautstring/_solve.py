"""Ops that solve, on the three paths of `tautstring._autograd_paths`.

Such an op takes ``(x, *lams, extra, *options, keep_partition)``, and ``report`` if it can
report on its iterations. It returns y, what the derivatives need, and the report, which has no
derivative. ``extra`` is an optional tensor: data weights, or a start, which is a constant.
A `Solver` knows which is which; its `Batch` computes the derivatives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from tautstring._autograd_paths import (
    below_autograd,
    call_function,
    may_hide_gradients,
    refuse_tangents,
    takes_eager_path,
    takes_functional_path,
)
from tautstring._derivatives import Argument, Batch
from tautstring._tensors import raise_by_kind


class EagerFunction(torch.autograd.Function):
    """The eager path to an op: (solver, x, *lams, extra, *options) to y.

    Each op has its own class, which names the grad_fn of its results.
    """

    @staticmethod
    def forward(ctx: Any, solver: Solver, *inputs: Any) -> Tensor:
        """Solve, with the partitions."""
        with below_autograd():
            output = solver.call(inputs, True, False)
        _save(ctx, solver, inputs, output)
        return output[0]

    @staticmethod
    def backward(ctx: Any, grad_y: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of x, the lams and the extra argument."""
        if torch.is_grad_enabled() or not takes_eager_path():
            return None, *_gradients(ctx, grad_y, ctx.needs_input_grad[1:])
        try:
            with below_autograd():  # these calls are not recorded
                return None, *_gradients(ctx, grad_y, ctx.needs_input_grad[1:])
        except RuntimeError as error:
            raise_by_kind(error)


@dataclass(frozen=True)
class Solver:
    """An op that solves: its arguments and results. Not a tuple, since torch unpacks those."""

    name: str  # of the public function
    op: Any
    op_of_numbers: Any  # the same for lams that are numbers
    eager_function: type[EagerFunction]
    lams: int
    make_batch: Callable[[Sequence[Any], Sequence[Tensor]], tuple[Batch, tuple[Tensor, ...]]]
    """From arguments and results: the batch, and the tensors that its derivatives need."""
    reported: slice | None = None  # of the results
    takes_start: bool = False  # as its extra argument

    def call(
        self, arguments: Sequence[Any], keep_partition: bool, report: bool
    ) -> tuple[Tensor, ...]:
        """Call the op."""
        op = self.op if isinstance(arguments[1], Tensor) else self.op_of_numbers
        if self.reported is None:
            return op(*arguments, keep_partition)  # type: ignore[no-any-return]
        return op(*arguments, keep_partition, report)  # type: ignore[no-any-return]

    def keeps_partition(self, inputs: Sequence[Any]) -> bool:
        """Return, from all arguments of the op, whether derivatives are possible."""
        return bool(inputs[-1 if self.reported is None else -2])


class _FunctionalSolve(torch.autograd.Function):
    """The functional path: (solver, x, *lams, extra, *options, report) to all results."""

    generate_vmap_rule = True

    @staticmethod
    def forward(solver: Solver, *inputs: Any) -> tuple[Tensor, ...]:
        *arguments, report = inputs
        return solver.call(arguments, True, report)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        solver, *arguments = inputs
        ctx.save_for_forward(*_save(ctx, solver, arguments, output))
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
        *lams, extra = tangents[: ctx.solver.lams + 1]
        if extra is not None:
            _refuse_start(ctx.solver)
        return ctx.batch.direction(ctx.saved_tensors, tangent_x, lams, extra), *[None] * ctx.others


def solve(solver: Solver, arguments: tuple[Any, ...], needs_gradient: bool) -> Tensor:
    """Solve on the path that has all derivatives that can be requested here."""
    if not takes_eager_path():
        return solve_for_all(solver, arguments, needs_gradient)[0]
    if needs_gradient:
        return solver.eager_function.apply(solver, *arguments)  # type: ignore[no-any-return]
    with below_autograd():
        return solver.call(arguments, False, False)[0]


def solve_and_report(
    solver: Solver, arguments: tuple[Any, ...], needs_gradient: bool
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """Solve on a path that also returns the report."""
    assert solver.reported is not None
    results = solve_for_all(solver, arguments, needs_gradient, report=True)
    return results[0], results[solver.reported]


def solve_for_all(
    solver: Solver, arguments: tuple[Any, ...], keep_partition: bool, report: bool = False
) -> tuple[Tensor, ...]:
    """Solve on a path that returns all results of the op."""
    if takes_functional_path():
        return call_function(_FunctionalSolve, solver, *arguments, report)  # type: ignore[no-any-return]
    refuse_tangents(arguments)
    return solver.call(arguments, keep_partition or may_hide_gradients(), report)


def _save(
    ctx: Any, solver: Solver, inputs: Sequence[Any], output: tuple[Tensor, ...]
) -> tuple[Tensor, ...]:
    """Save what the derivatives need."""
    ctx.solver = solver
    ctx.batch, saved = solver.make_batch(inputs, output)
    ctx.arguments = [Argument.of(argument) for argument in inputs[1 : solver.lams + 2]]
    ctx.save_for_backward(*saved)
    return saved


def _gradients(ctx: Any, grad_y: Tensor | None, needs: Sequence[bool]) -> list[Tensor | None]:
    """Return the gradients of all inputs, None for those that are not needed or have none."""
    wanted = needs[: ctx.solver.lams + 2]
    if wanted[-1]:
        _refuse_start(ctx.solver)
    if grad_y is None:
        return [None] * len(needs)
    gradients = ctx.batch.gradients(ctx.saved_tensors, grad_y, ctx.arguments, wanted)
    return [*gradients, *[None] * (len(needs) - len(gradients))]


def _refuse_start(solver: Solver) -> None:
    if solver.takes_start:
        raise NotImplementedError(f"{solver.name}: treats start as a constant; pass it detached")


def register(solver: Solver) -> None:
    """Register the derivatives with the ops."""

    def save(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        _save(ctx, solver, inputs, output)
        ctx.keeps_partition = solver.keeps_partition(inputs)
        ctx.mark_non_differentiable(*output[1:])
        ctx.set_materialize_grads(False)

    def backward(ctx: Any, grad_y: Tensor | None, *_: Tensor | None) -> tuple[Tensor | None, ...]:
        if not ctx.keeps_partition:
            raise RuntimeError(f"{solver.name}: has gradients only where the partition is kept")
        return tuple(_gradients(ctx, grad_y, ctx.needs_input_grad))

    for op in (solver.op, solver.op_of_numbers):
        torch.library.register_autograd(op, backward, setup_context=save)
