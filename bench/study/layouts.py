"""Rows of feature maps, contiguous and channels last, beside torch's own conversion between both.

Channels last, the samples of a row lie apart, so loading and storing takes longer. What torch
takes to make such a tensor contiguous shows how much of that is due to the layout itself.
"""

from collections.abc import Iterator

import torch

import tautstring
from study.benchmark import Benchmark, Call

SHAPES = ((64, 48, 32, 32), (16, 64, 56, 56))
LAMS = (0.05, 1, 10)
DIMS = {"rows": -1, "columns": -2}


def benchmarks(device: str) -> Iterator[Benchmark]:
    """Yield our calls in both layouts, and the conversion; only on the CPU."""
    if device != "cpu":
        return
    for shape in SHAPES:
        size = "x".join(map(str, shape))
        for lam in LAMS:
            for who, dim in DIMS.items():
                for layout in ("contiguous", "channels_last"):
                    yield Benchmark(
                        f"layout/noise/{size}/lam:{lam:g}/{who}:{layout}",
                        lambda shape=shape, lam=lam, dim=dim, layout=layout: _solve(
                            shape, lam, dim, layout
                        ),
                        repeats=9,
                    )
            yield Benchmark(
                f"layout/noise/{size}/lam:{lam:g}/conversion:contiguous",
                lambda shape=shape: _convert(shape),
                repeats=9,
            )


def _samples(shape: tuple[int, ...], layout: str) -> torch.Tensor:
    kind = torch.channels_last if layout == "channels_last" else torch.contiguous_format
    generator = torch.Generator().manual_seed(0)
    return torch.randn(shape, generator=generator).to(memory_format=kind)


def _solve(shape: tuple[int, ...], lam: float, dim: int, layout: str) -> Call:
    x = _samples(shape, layout)
    expected = tautstring.prox_tv1d(x.double(), lam, dim=dim)
    difference = (tautstring.prox_tv1d(x, lam, dim=dim) - expected).abs().max().item()
    relative = difference / (x.max() - x.min()).item()
    return Call(
        lambda: tautstring.prox_tv1d(x, lam, dim=dim), difference=relative, bytes=2 * x.nbytes
    )


def _convert(shape: tuple[int, ...]) -> Call:
    x = _samples(shape, "channels_last")
    return Call(x.contiguous, bytes=2 * x.nbytes)
