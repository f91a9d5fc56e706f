"""One benchmark of the study, and its measurement."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import torch
from measurements import Median

from study.timing import Timer


class UnavailableError(Exception):
    """Raised with the reason if something cannot be measured here."""


@dataclass(frozen=True)
class Call:
    """The call to be timed, fully prepared."""

    run: Callable[[], object]
    difference: float = 0.0  # from the correct result, as a fraction of the range
    bytes: int = 0  # read and written by a copy of the data
    saved_bytes: int = 0  # kept for the backward
    peak_bytes: int = 0  # peak memory, above that before the call


@dataclass(frozen=True)
class Benchmark:
    """A name, and how to make its call: only when its turn comes, as it may be large."""

    name: str
    make: Callable[[], Call]
    repeats: int = 25
    threads: int = 1  # for PyTorch and for our solver on the CPU


def measure(benchmarks: Iterable[Benchmark], timer: Timer) -> Iterator[tuple[str, Median]]:
    """Measure one after the other; a failure affects only its own benchmark."""
    for benchmark in benchmarks:
        try:
            torch.set_num_threads(benchmark.threads)
            call = benchmark.make()
            timing = timer.time(call.run, benchmark.repeats)
        except UnavailableError as reason:
            yield benchmark.name, Median(error=str(reason))
        except Exception as error:  # perhaps from another library: continue the study
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
