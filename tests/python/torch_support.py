# Shared by the tests on torch tensors: devices, dtypes, tolerances, data.
from contextlib import nullcontext

import numpy as np
import pytest
import tolerances
import torch

import tautstring

FRACTION = {
    torch.float64: tolerances.VALUE[np.dtype(np.float64)],
    torch.float32: tolerances.VALUE[np.dtype(np.float32)],
    torch.float16: tolerances.VALUE[np.dtype(np.float16)],
    torch.bfloat16: tolerances.VALUE[np.dtype(np.float16)],  # float32 arithmetic, too
}
DTYPES = list(FRACTION)


def why_no_cuda():
    """Why tests on CUDA cannot run here, None if they can."""
    if not torch.cuda.is_available():
        return "no GPU"
    return None if tautstring.show_config()["cuda"] else "tautstring was built without CUDA"


def device_parameters():
    """Every device; those not available are visible skips."""
    reason = why_no_cuda()
    marks = [] if reason is None else [pytest.mark.skip(reason=reason)]
    return ["cpu", pytest.param("cuda", marks=marks)]


def assert_close(result, expected, data, factor=1):
    """Compares with float64 values, within the table's tolerance for rows of `data`."""
    data_range = float(data.max() - data.min())
    largest = float(expected.abs().max())
    tolerance = factor * (
        FRACTION[result.dtype] * data_range + torch.finfo(result.dtype).eps * largest
    )
    error = float((result.double() - expected.double()).abs().max())
    assert error <= tolerance, f"error {error:.3g}, tolerance {tolerance:.3g}"


def warns_of_missed_tolerance(x, match="prox_tv2d: "):
    """Expects the warning on the CPU, and none on CUDA, where it would wait for the device."""
    return pytest.warns(RuntimeWarning, match=match) if x.is_cpu else nullcontext()


@pytest.fixture(params=device_parameters())
def device(request):
    return request.param


@pytest.fixture
def make(rng, device):
    """Makes tensors of normal noise: the same on every device."""

    def make_noise(*shape, dtype=torch.float64, requires_grad=False):
        noise = torch.from_numpy(np.asarray(rng.normal(0, 1, shape)))
        return noise.to(device, dtype).requires_grad_(requires_grad)

    return make_noise


@pytest.fixture
def make_positive(rng, device):
    """Makes tensors of numbers from 0.2 to 0.8: lambdas and weights."""

    def make_numbers(*shape, dtype=torch.float64, requires_grad=False):
        values = torch.from_numpy(np.asarray(rng.uniform(0.2, 0.8, shape)))
        return values.to(device, dtype).requires_grad_(requires_grad)

    return make_numbers
