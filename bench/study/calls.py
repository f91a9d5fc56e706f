"""One long signal, called as users call it: from Python, with a fresh result each time.

The C++ program times such rows with memory that is kept from call to call. Here the memory of
the result is new in every call, ours and the peers'.
"""

from collections.abc import Callable, Iterator

import numpy as np
import torch

import tautstring
import tautstring.numpy
from study import data, solvers
from study.benchmark import Benchmark, Call

SAMPLES = 4_000_000
LAMS = (0.05, 1, 10)
METHODS = ("condat", "linearizedtautstring", "classictautstring", "hybridtautstring", "dp")
TOLERANCE = 1e-6

Solve = Callable[[np.ndarray], object]


def benchmarks(device: str) -> Iterator[Benchmark]:
    """Yield our calls and those of other libraries; only on the CPU."""
    if device != "cpu":
        return
    for lam in LAMS:
        for who, make in _callers(lam).items():
            name = f"calls/noise/1x{SAMPLES}/lam:{lam:g}/{who}"
            yield Benchmark(name, lambda make=make, lam=lam: _call(make(), lam), repeats=9)


def _callers(lam: float) -> dict[str, Callable[[], tuple[type, Solve]]]:
    """Return who calls: the dtype of the samples, and the call; made when its turn comes."""

    def torch_call(dtype: type) -> tuple[type, Solve]:
        return dtype, lambda x: tautstring.prox_tv1d(torch.from_numpy(x), lam)

    def numpy_call() -> tuple[type, Solve]:
        return np.float32, lambda x: tautstring.numpy.prox_tv1d(x, lam, threads=1)

    def prox_tv_call(method: str) -> tuple[type, Solve]:
        solve = solvers.prox_tv(method)
        return np.float64, lambda x: solve(x, lam)

    def condat_call() -> tuple[type, Solve]:
        solve = solvers.condat_tv()
        return np.float64, lambda x: solve(x, lam)

    return {
        "torch:fp32": lambda: torch_call(np.float32),
        "torch:fp64": lambda: torch_call(np.float64),
        "numpy:fp32": numpy_call,
        **{f"prox_tv:{m}": lambda m=m: prox_tv_call(m) for m in METHODS},
        "condat_tv:v2": condat_call,
    }


def _call(caller: tuple[type, Solve], lam: float) -> Call:
    dtype, solve = caller
    samples = data.noise(1, SAMPLES).numpy()
    expected = tautstring.numpy.prox_tv1d(samples.astype(np.float64), lam)
    x = samples.astype(dtype)
    found = np.asarray(solve(x), dtype=np.float64)
    difference = float(np.abs(found - expected).max() / np.ptp(samples))
    if difference > TOLERANCE:
        raise ValueError(f"wrong by {difference:.1g} of the range")
    return Call(lambda: solve(x), difference=difference, bytes=2 * x.nbytes)
