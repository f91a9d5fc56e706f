# Data that all tests share: fixed seeds, a row with steps and noise.
import os
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from tautstring import _missed

if find_spec("torch"):
    from torch_support import device, make, make_positive  # noqa: F401  # fixtures
else:  # a package for NumPy alone
    collect_ignore_glob = ["test_torch_*.py"]


@pytest.fixture(autouse=True)
def no_line_has_been_warned(monkeypatch):
    """Missed tolerances warn once per line; reset that for every test."""
    monkeypatch.setattr(_missed, "_warned", set())


@pytest.fixture
def rng():
    return np.random.default_rng(20221109)


@pytest.fixture
def signal(rng):
    """Steps and noise: 200 samples of size about 1, without ties."""
    return np.repeat([0.0, 1.0, 0.3, 0.8], 50) + rng.normal(0, 0.2, 200)


@pytest.fixture
def batch(rng):
    """A batch of shape (3, 4, 50)."""
    return rng.normal(0, 1, (3, 4, 50))


@pytest.fixture
def images(rng):
    """A batch of images, of shape (3, 12, 17)."""
    return rng.normal(0, 1, (3, 12, 17))


@pytest.fixture
def resident_bytes():
    """A function that says how much memory this process has."""
    statm = Path("/proc/self/statm")
    return lambda: int(statm.read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
