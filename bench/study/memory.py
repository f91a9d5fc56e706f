"""Memory of a training step beyond its tensors: ours, the paper's way, and an unrolled solver.

The paper's backward makes a matrix of n x n for each row. Unrolling makes autograd keep what every
iteration computed. Both are written here in plain PyTorch.
"""

import contextlib
import os
from collections.abc import Callable, Iterator

import torch

import tautstring
from study.benchmark import Benchmark, Call, UnavailableError
from study.data import noise

ROWS, LAM = 1024, 1.0
LENGTHS = [32, 128, 512, 2048]
UNROLLED_ITERATIONS = 100
REPEATS = 5
PAPER = "paper_backward"
MATRICES = 4  # matrices of n x n per row that its backward has at a time

Solve = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


class _PaperBackward(torch.autograd.Function):
    """grad_x = M^T grad_y with M = L (L^T L)^-1 L^T, L the steps at the starts of segments."""

    @staticmethod
    def forward(ctx, x, lam):
        y = tautstring.prox_tv1d(x.detach(), lam.detach())
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, grad_y):
        (y,) = ctx.saved_tensors
        n = y.shape[1]
        starts = torch.nn.functional.pad(y.diff(dim=1) != 0, (1, 0), value=True)
        steps = torch.ones(n, n, dtype=y.dtype, device=y.device).tril()
        chosen = steps * starts[:, None, :]  # columns of other samples are 0
        # Their rows and columns of L^T L are 0 too: with 1 on the diagonal it can be inverted.
        gram = chosen.mT @ chosen + torch.diag_embed((~starts).to(y.dtype))
        projected = chosen @ torch.linalg.solve(gram, chosen.mT @ grad_y[:, :, None])
        return projected[:, :, 0], None


def unrolled(x: torch.Tensor, lam: torch.Tensor) -> torch.Tensor:
    """Solve by accelerated projected gradient on the dual; autograd records every iteration."""
    u = torch.zeros_like(x[:, 1:])
    look, t = u, 1.0
    for _ in range(UNROLLED_ITERATIONS):
        y = x - torch.nn.functional.pad(look, (0, 1)) + torch.nn.functional.pad(look, (1, 0))
        step = look + y.diff(dim=1) / -4
        following = torch.maximum(torch.minimum(step, lam), -lam)
        t_next = (1 + (1 + 4 * t * t) ** 0.5) / 2
        look, u, t = following + (t - 1) / t_next * (following - u), following, t_next
    return x - torch.nn.functional.pad(u, (0, 1)) + torch.nn.functional.pad(u, (1, 0))


WAYS: dict[str, Solve] = {
    "direct": tautstring.prox_tv1d,
    PAPER: _PaperBackward.apply,
    f"unrolled_{UNROLLED_ITERATIONS}": unrolled,
}


def benchmarks(device: str) -> Iterator[Benchmark]:
    """Yield forward and backward of each way, with the bytes kept and the peak."""
    for n in LENGTHS:
        for who, solve in WAYS.items():
            yield Benchmark(
                f"memory/noise/{ROWS}x{n}/lam:{LAM:g}/{who}:fp32",
                lambda n=n, solve=solve: _step(device, n, solve),
                REPEATS,
            )


def _available_bytes(device: str) -> int:
    if device == "cuda":
        return torch.cuda.mem_get_info()[0]
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _step(device: str, n: int, solve: Solve) -> Call:
    if solve is WAYS[PAPER]:
        needed = MATRICES * ROWS * n * n * torch.float32.itemsize
        if needed > _available_bytes(device):
            raise UnavailableError(f"needs {needed / 1e9:.0f} GB")
    x = noise(ROWS, n).to(device).requires_grad_()
    lam = torch.tensor(LAM, device=device, requires_grad=True)
    grad_y = torch.ones_like(x)

    def run() -> None:
        torch.autograd.grad(solve(x, lam), (x, lam), grad_y, allow_unused=True)

    with counted_saves() as saved:
        solve(x, lam)
    return Call(run, saved_bytes=saved[0], peak_bytes=_peak(run, device))


@contextlib.contextmanager
def counted_saves() -> Iterator[list[int]]:
    """Count the bytes of all tensors that autograd keeps, each storage once."""
    kept: dict[int, int] = {}
    total = [0]

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        yield total
    total[0] = sum(kept.values())


def _peak(run: Callable[[], None], device: str) -> int:
    """Return the peak of allocated memory, above that before the call; 0 if it is not known."""
    if device != "cuda":
        return 0
    run()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    run()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before
