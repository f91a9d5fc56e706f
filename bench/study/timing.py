"""How a call is timed: one by one, after untimed calls, by the clock of its device."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

WARM_UP_MS = 200.0  # clocks rise, allocators fill
FEWEST_WARM_UPS = 2
LONG_MS = 20_000.0  # approximate limit for all timings of a slow call
FEWEST_REPEATS = 3


@dataclass(frozen=True)
class Timing:
    """Median and interquartile range of several timings."""

    ms: float
    spread: float  # the range, as a fraction of the median


class Timer:
    """Times calls that work on a device."""

    def __init__(self, device: str) -> None:
        self._once = _on_gpu if device == "cuda" else _on_host

    def time(self, call: Callable[[], object], repeats: int) -> Timing:
        """Time a call `repeats` times, or fewer if it is slow."""
        spent, calls = 0.0, 0
        while calls < FEWEST_WARM_UPS or spent < WARM_UP_MS:
            last = self._once(call)
            spent, calls = spent + last, calls + 1
            if last > LONG_MS / FEWEST_REPEATS:
                break
        repeats = max(FEWEST_REPEATS, min(repeats, int(LONG_MS / max(last, 1e-3))))
        times = sorted(self._once(call) for _ in range(repeats))
        middle = statistics.median(times)
        low, _, high = statistics.quantiles(times, n=4, method="inclusive")
        return Timing(middle, (high - low) / middle)


def graph_of(prepare: Callable[[], Callable[[], object]]) -> Callable[[], object]:
    """Capture the call that `prepare` makes in a CUDA graph, and return its replay.

    The call is prepared on the captured stream: a backward runs on the stream of its forward.
    """
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        call = prepare()
        for _ in range(FEWEST_WARM_UPS):
            call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        call()
    return graph.replay


def _on_host(call: Callable[[], object]) -> float:
    start = time.perf_counter_ns()
    call()
    return (time.perf_counter_ns() - start) / 1e6


def _on_gpu(call: Callable[[], object]) -> float:
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    start.record()
    call()
    end.record()
    end.synchronize()
    return start.elapsed_time(end)
