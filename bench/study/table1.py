"""The paper's Table 1: 256 images of 32 x 32, along rows; forward, backward, and both.

A unit step with normal noise, lambda 1, 25 runs. Gradients are those of x and of lambda. On a GPU
our solvers are called from PyTorch, like the paper's, and also replayed from a CUDA graph.
"""

import os
from collections.abc import Callable, Iterator

import torch

import tautstring
from study import solvers
from study.benchmark import Benchmark, Call, UnavailableError
from study.data import noise
from study.timing import graph_of

ROWS, LENGTH, LAM = 8192, 32, 1.0
CASE = f"table1/noise/{ROWS}x{LENGTH}/lam:{LAM:g}"

Solve = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]

# Other libraries, all of them on the CPU, each called from PyTorch in the fastest way.
PEERS: dict[str, Callable[[], Solve]] = {
    "cvxpylayers": lambda: solvers.cvxpy_layer(LENGTH),
    "prox_tv:taut_string": lambda: _by_row(solvers.prox_tv("hybridtautstring")),
    "prox_tv:projected_newton": lambda: _by_row(solvers.prox_tv("pn")),
    "condat_tv": lambda: _by_row(solvers.condat_tv()),
}
OURS: dict[str, Solve] = {
    "direct": tautstring.prox_tv1d,
    "newton": lambda x, lam: tautstring.prox_tv1d(x, lam, solver="newton"),
}


def _by_row(solve: solvers.RowsFunction) -> Solve:
    return lambda x, lam: solvers.solve_rows(x, lam, solve)


def benchmarks(device: str) -> Iterator[Benchmark]:
    """Yield our solvers on the device; on a CPU with one thread and with all, and the peers."""
    all_threads = len(os.sched_getaffinity(0))
    if device == "cpu":
        for who, make in PEERS.items():
            yield from _solver(who, make, torch.float64, device)
    for who, solve in OURS.items():
        yield from _solver(who, lambda solve=solve: solve, torch.float32, device)
        if device == "cuda":
            yield from _solver(f"{who}:graph", lambda solve=solve: solve, torch.float32, device)
        if device == "cpu" and all_threads > 1:
            name = f"{who}:all_threads"
            yield from _solver(name, lambda solve=solve: solve, torch.float32, device, all_threads)


def _solver(
    who: str, make: Callable[[], Solve], dtype: torch.dtype, device: str, threads: int = 1
) -> Iterator[Benchmark]:
    def prepare(part: str) -> tuple[Callable[[], object], float]:
        solve = make()
        x = noise(ROWS, LENGTH).to(device, dtype).requires_grad_()
        lam = torch.tensor(LAM, dtype=dtype, device=device, requires_grad=True)
        grad_y = noise(ROWS, LENGTH).to(device, dtype).cos()
        y = solve(x, lam)

        def backward(of: torch.Tensor, keep: bool) -> tuple[torch.Tensor, ...]:
            return torch.autograd.grad(of, (x, lam), grad_y, retain_graph=keep)

        runs = {
            "forward": lambda: solve(x, lam),
            "backward": lambda: backward(y, keep=True),
            "total": lambda: backward(solve(x, lam), keep=False),
        }
        return runs[part], difference_from_ours(x, y)

    def call(part: str) -> Call:
        run, difference = prepare(part)
        if who.endswith(":graph"):
            run = graph_of(lambda: prepare(part)[0])
        return Call(run, difference=difference)

    for part in ("forward", "backward", "total"):
        name = f"{CASE}/{who}:{part}"
        yield Benchmark(name, lambda part=part: call(part), threads=threads)


def difference_from_ours(x: torch.Tensor, y: torch.Tensor) -> float:
    """Return the largest difference from the certified float64 result, relative to the range."""
    samples = x.detach().cpu().double()
    right = tautstring.prox_tv1d(samples, LAM)
    if tautstring.certificate1d(samples, right, LAM).max() > 1e-10:
        raise UnavailableError("WRONG: our own result is not certified")
    ranges = samples.amax(1) - samples.amin(1)
    return ((y.detach().cpu().double() - right).abs().amax(1) / ranges).max().item()
