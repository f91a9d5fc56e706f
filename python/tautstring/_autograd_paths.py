"""The three paths by which torch asks an op for derivatives, and the choice between them.

The *registered path*: formulas registered with the ops. ``torch.compile``, ``torch.export``
and second derivatives use it. The *functional path*: ``autograd.Function`` classes with
``jvp``, for calls inside a ``torch.func`` transform or a forward-AD level. There, registered
formulas raise or return a zero tangent; but functions with ``jvp`` cannot be compiled. The
*eager path*: a plain ``autograd.Function`` for all other calls; it takes less than half the
time of the others. All paths use the same formulas.

The choice relies on names outside torch's public API. With a torch that lacks them, all calls
take the registered path.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any, NoReturn

import torch
from torch import Tensor
from torch.autograd import forward_ad

try:
    _are_transforms_active = torch._C._are_functorch_transforms_active
    _below_autograd = torch._C._AutoDispatchBelowAutograd
    _get_transforms = torch._C._functorch.get_interpreter_stack
    _FUNCTIONALIZE = torch._C._functorch.TransformType.Functionalize
    _enable_forward_ad = forward_ad._set_fwd_grad_enabled
    forward_ad._current_level  # noqa: B018
    _get_tracing_state = torch._C._get_tracing_state
    from torch.utils._python_dispatch import is_in_torch_dispatch_mode as _is_in_dispatch_mode

    KNOWS_PATHS = True
except (AttributeError, ImportError):
    KNOWS_PATHS = False


def takes_eager_path() -> bool:
    """Return whether only autograd can ask for a derivative here."""
    return KNOWS_PATHS and not (
        _are_transforms_active() or forward_ad._current_level >= 0 or torch.compiler.is_compiling()
    )


def takes_functional_path() -> bool:
    """Return whether only the functional path supports all derivatives here."""
    if not KNOWS_PATHS:
        return False
    if not _are_transforms_active():
        return forward_ad._current_level >= 0
    return torch.compiler.is_compiling() or not _is_functionalized_alone()


def is_traced() -> bool:
    """Return whether a mode may be recording calls. Only on the eager path."""
    return _get_tracing_state() is not None or _is_in_dispatch_mode()


def may_hide_gradients() -> bool:
    """Return whether a transform may be active that hides if a gradient will be asked for."""
    return not KNOWS_PATHS or _are_transforms_active()


def below_autograd() -> AbstractContextManager[None]:
    """Call ops without autograd: nothing records these calls. Only on the eager path."""
    return _below_autograd()


def see_forward_ad() -> AbstractContextManager[None]:
    """Let outer levels of forward AD see what a ``jvp`` computes. Only on the functional path."""
    return _enable_forward_ad(True)


def _is_functionalized_alone() -> bool:
    """Return whether functionalize is the only transform: it supports ops, but not functions."""
    transforms = {transform.key() for transform in _get_transforms()}
    if _FUNCTIONALIZE not in transforms:
        return False
    if len(transforms) > 1 or forward_ad._current_level >= 0:
        raise NotImplementedError(
            "tautstring: torch.func.functionalize cannot be mixed with other transforms"
        )
    return True


def refuse_tangents(arguments: Iterable[Any]) -> None:
    """Raise where the registered path would return a zero tangent: with an unknown torch."""
    if KNOWS_PATHS:
        return
    for argument in arguments:
        if isinstance(argument, Tensor) and forward_ad.unpack_dual(argument).tangent is not None:
            raise NotImplementedError(
                f"tautstring: forward AD is not supported on torch {torch.__version__}, "
                "which is newer than this version of tautstring"
            )


def call_function(function: type[torch.autograd.Function], *arguments: Any) -> Any:
    """Call on the functional path.

    The compiler would trace the function's forward and lose its jvp. So a transform inside
    torch.compile runs uncompiled, which is an error with fullgraph=True.
    """
    if torch.compiler.is_compiling():
        torch._dynamo.graph_break("tautstring: torch.func and forward AD cannot be compiled")
    return function.apply(*arguments)


class _Reading(torch.autograd.Function):
    """The functional path to an op without derivatives, which raises: a zero tangent is wrong."""

    generate_vmap_rule = True

    @staticmethod
    def forward(op: Any, *arguments: Any) -> Tensor:
        return op(*arguments)  # type: ignore[no-any-return]

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.op = inputs[0]

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> NoReturn:
        _refuse_derivative(ctx.op)

    @staticmethod
    def jvp(ctx: Any, *tangents: Tensor | None) -> NoReturn:
        _refuse_derivative(ctx.op)


def read(op: Any, *arguments: Any) -> Tensor:
    """Call an op without derivatives, on the path that raises if a derivative is requested."""
    if takes_functional_path():
        return call_function(_Reading, op, *arguments)  # type: ignore[no-any-return]
    refuse_tangents(arguments)
    return op(*arguments)  # type: ignore[no-any-return]


def _refuse_derivative(op: Any) -> NoReturn:
    name = op._schema.name.split("::")[1]
    raise NotImplementedError(f"{name}: has no gradient; pass detached tensors")


def register_reading(op: Any) -> None:
    """Make the registered path to an op without derivatives raise."""

    def backward(ctx: Any, *grads: Tensor) -> NoReturn:
        _refuse_derivative(op)

    torch.library.register_autograd(op, backward)
