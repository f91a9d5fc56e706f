# Data that all tests share: fixed seeds, a row with steps and noise.
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from tautstring import _missed

collect_ignore_glob = []
if find_spec("torch"):
    from torch_support import device, make, make_positive  # noqa: F401  # fixtures
else:  # a package for NumPy alone
    collect_ignore_glob += ["test_torch_*.py", "test_bench.py"]
if not (Path(__file__).parents[2] / "bench").exists():  # a package without its source tree
    collect_ignore_glob += ["test_bench.py"]


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
def freed_bytes():
    """A function that says how much memory a call frees, after some code, in a process of its own.

    Other tests may have told this process's allocator to keep what is freed.
    """

    def measure(code, call):
        program = "\n".join(
            (
                "import os",
                "from pathlib import Path",
                "def resident():",
                "    pages = int(Path('/proc/self/statm').read_text().split()[1])",
                "    return pages * os.sysconf('SC_PAGESIZE')",
                code,
                "before = resident()",
                call,
                "print(before - resident())",
            )
        )
        command = [sys.executable, "-c", program]
        return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    return measure
