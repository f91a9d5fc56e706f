"""One benchmark of the study, and what becomes of it."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import torch
from measurements import Median

from study.timing import Timer


class UnavailableError(Exception):
    """Why something cannot be measured here."""


@dataclass(frozen=True)
class Call:
    """What is timed, ready to be called."""

    run: Callable[[], object]
    difference: float = 0.0  # of its result from the right one, as a fraction of the range
    bytes: int = 0  # that a copy of the data reads and writes
    saved_bytes: int = 0  # kept for the backward
    peak_bytes: int = 0  # more than before the call, at most


@dataclass(frozen=True)
class Benchmark:
    """A name, and how to make its call: only when its turn comes, for it may be large."""

    name: str
    make: Callable[[], Call]
    repeats: int = 25
    threads: int = 1  # of PyTorch and of our solver on the CPU


def measure(benchmarks: Iterable[Benchmark], timer: Timer) -> Iterator[tuple[str, Median]]:
    """Measures one after the other; a failure is the result of its benchmark alone."""
    for benchmark in benchmarks:
        try:
            torch.set_num_threads(benchmark.threads)
            call = benchmark.make()
            timing = timer.time(call.run, benchmark.repeats)
        except UnavailableError as reason:
            yield benchmark.name, Median(error=str(reason))
        except Exception as error:  # of another library, perhaps: the study goes on
            yield benchmark.name, Median(error=f"{type(error).__name__}: {error}".splitlines()[0])
        else:
            yield (
                benchmark.name,
                Median(
                    ms=timing.ms,
                    spread=timing.spread,
                    difference=call.difference,
                    bytes=call.bytes,
                    saved_bytes=call.saved_bytes,
                    peak_bytes=call.peak_bytes,
                ),
            )
