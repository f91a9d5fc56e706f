"""Row solvers of other libraries: their forward on the CPU, with a gradient in PyTorch."""

import importlib
from collections.abc import Callable

import numpy as np
import torch

from study.benchmark import UnavailableError

RowsFunction = Callable[[np.ndarray, float], np.ndarray]


def prox_tv(method: str) -> RowsFunction:
    """Return a method of prox_tv. It takes one row at a time, so its time includes Python."""
    package = _import("prox_tv")
    return lambda rows, lam: np.stack([package.tv1_1d(row, lam, method=method) for row in rows])


def condat_tv() -> RowsFunction:
    """Return Condat's own algorithm, which takes all rows at once."""
    return _import("condat_tv").tv_denoise_matrix


def _import(name: str):
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise UnavailableError(f"{name} is not installed") from error


class _Rows(torch.autograd.Function):
    """The closed form of the gradient: means over segments."""

    @staticmethod
    def forward(ctx, x, lam, solve):
        y = torch.from_numpy(solve(x.detach().double().numpy(), float(lam)))
        ctx.save_for_backward(y)
        return y.to(x.dtype)

    @staticmethod
    def backward(ctx, grad_y):
        (y,) = ctx.saved_tensors
        rise = y.diff(dim=1).sign()
        starts = torch.nn.functional.pad(rise != 0, (1, 0), value=True)
        segments = starts.flatten().cumsum(0) - 1
        lengths = torch.bincount(segments)
        sums = torch.zeros(lengths.numel(), dtype=grad_y.dtype)
        sums.index_add_(0, segments, grad_y.flatten())
        means = (sums / lengths)[segments].reshape(y.shape)
        # At a jump, lambda lowers the upper segment and lifts the lower one.
        pulls = rise * (means[:, :-1] - means[:, 1:])
        return means, pulls.sum().to(grad_y.dtype), None


def solve_rows(x: torch.Tensor, lam: torch.Tensor, solve: RowsFunction) -> torch.Tensor:
    """Solve the rows of x by another library; lam is one number."""
    return _Rows.apply(x, lam, solve)


def cvxpy_layer(n: int) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    """Return the problem as a layer of cvxpylayers, for rows of n samples."""
    cvxpy, layers = _import("cvxpy"), _import("cvxpylayers.torch")
    x, lam, y = cvxpy.Parameter(n), cvxpy.Parameter(nonneg=True), cvxpy.Variable(n)
    objective = cvxpy.sum_squares(y - x) / 2 + lam * cvxpy.norm1(cvxpy.diff(y))
    problem = cvxpy.Problem(cvxpy.Minimize(objective))
    layer = layers.CvxpyLayer(problem, parameters=[x, lam], variables=[y])
    return lambda rows, value: layer(rows, value)[0]
