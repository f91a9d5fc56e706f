"""Rows and images to solve; made on the CPU, so that all devices get the same numbers."""

import math
import sys

import torch

from study.benchmark import UnavailableError

SEED = 2022


def _generator() -> torch.Generator:
    return torch.Generator().manual_seed(SEED)


def noise(rows: int, n: int) -> torch.Tensor:
    """Return standard normal noise around a unit step in mid-row: the paper's data."""
    x = torch.randn(rows, n, generator=_generator())
    x[:, n // 2 :] += 1
    return x


def steps(rows: int, n: int) -> torch.Tensor:
    """Return constant pieces of about 16 samples, with noise of a tenth of a step."""
    generator = _generator()
    starts = torch.rand(rows, n, generator=generator) < 1 / 16
    levels = torch.randn(rows, n, generator=generator)
    starts[:, 0] = True
    last_start = torch.where(starts, torch.arange(n), 0).cummax(1).values
    return levels.gather(1, last_start) + 0.1 * torch.randn(rows, n, generator=generator)


def ramp(rows: int, n: int) -> torch.Tensor:
    """Return 0, 1, 2, ...: the worst case for methods that go back."""
    return torch.arange(n, dtype=torch.float32).expand(rows, n).contiguous()


def sine(rows: int, n: int) -> torch.Tensor:
    """Return sines of 1 to 8 periods per row, with random phase."""
    generator = _generator()
    periods = torch.randint(1, 9, (rows, 1), generator=generator)
    phase = torch.rand(rows, 1, generator=generator, dtype=torch.float64)
    turns = periods * torch.arange(n) / n + phase
    return torch.sin(2 * math.pi * turns).float()


def photo_rows(rows: int, n: int) -> torch.Tensor:
    """Return rows of scikit-image's `camera` (CC0, 512 x 512, in [0, 1]), repeated."""
    try:
        from skimage import data
    except ImportError as error:
        raise UnavailableError("scikit-image is not installed") from error
    image = torch.from_numpy(data.camera()).float() / 255
    wanted = -(-rows * n // image.numel())
    return image.flatten().repeat(wanted)[: rows * n].reshape(rows, n)


FAMILIES = {"noise": noise, "steps": steps, "ramp": ramp, "sine": sine, "photo": photo_rows}


def images(samples: int, channels: int, height: int, width: int) -> torch.Tensor:
    """Return standard normal noise around a step in mid-width."""
    return noise(samples * channels * height, width).reshape(samples, channels, height, width)


def add_peers(folder: str) -> None:
    """Make the packages of the peers' environment importable, after all others."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    sys.path.append(f"{folder}/lib/{version}/site-packages")
