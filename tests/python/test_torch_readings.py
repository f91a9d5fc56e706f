# certificate1d, segments1d, lam_max, tv, show_config and release_scratch on torch tensors.
import numpy as np
import pytest
import torch
from torch_support import DTYPES

import tautstring
import tautstring.numpy as tn

SHAPES = [(), (1,), (7,), (3, 7), (2, 1, 7), (0, 7), (3, 0)]


def as_numpy(tensor):
    return tensor.detach().cpu().numpy()


def test_certificate_is_that_of_numpy(make, make_positive):
    x, y, lam, weight = make(3, 9), make(3, 9), make_positive(3, 1), make_positive(9)
    result = tautstring.certificate1d(x, y, lam, weight=weight)
    expected = tn.certificate1d(*map(as_numpy, (x, y, lam)), weight=as_numpy(weight))
    np.testing.assert_allclose(as_numpy(result), expected, rtol=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_lam_max_is_that_of_numpy(make, shape):
    x = make(*shape)
    np.testing.assert_allclose(as_numpy(tautstring.lam_max(x)), tn.lam_max(as_numpy(x)), rtol=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_total_variation_is_that_of_numpy(make, shape):
    x = make(*shape)
    np.testing.assert_allclose(as_numpy(tautstring.tv(x)), tn.tv(as_numpy(x)), rtol=1e-12)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_readings_are_in_the_arithmetic_dtype(make, dtype):
    x = make(3, 9, dtype=dtype)
    expected = torch.float64 if dtype == torch.float64 else torch.float32
    for reading in (tautstring.lam_max(x), tautstring.tv(x), tautstring.certificate1d(x, x, 1.0)):
        assert (reading.dtype, reading.shape) == (expected, (3,))


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_readings_along_any_dim(make, dim):
    x = make(2, 3, 4)
    for reading in (tautstring.lam_max, tautstring.tv):
        expected = getattr(tn, reading.__name__)(as_numpy(x), dim=dim)
        np.testing.assert_allclose(as_numpy(reading(x, dim=dim)), expected, rtol=1e-12)


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("shape", [(40,), (3, 40), (40, 3), (2, 17, 2), (3, 0), (0, 3), (1,)])
def test_segments_are_those_of_numpy(make, shape, dim):
    if dim >= len(shape):
        pytest.skip("x has no such dimension")
    x = make(*shape)
    result = tautstring.segments1d(x, 0.5, dim=dim)
    expected = tn.segments1d(as_numpy(x), 0.5, dim=dim)
    if len(shape) == 1:
        result, expected = [result], [expected]
    assert len(result) == len(expected)
    for row, same in zip(result, expected, strict=True):
        for part, expected_part in zip(row, same, strict=True):
            np.testing.assert_array_equal(as_numpy(part), expected_part)


def test_segments_of_one_number():
    segments = tautstring.segments1d(torch.tensor(3.0), 0.5)
    assert [part.tolist() for part in segments] == [[0], [1], [3.0], [0]]


def test_values_of_segments_are_differentiable(make):
    x = make(20, requires_grad=True)
    segments = tautstring.segments1d(x, 0.5)
    (grad,) = torch.autograd.grad(segments.values[0], x)
    length = int(segments.lengths[0])
    torch.testing.assert_close(grad[:length], torch.full_like(grad[:length], 1 / length))
    assert (grad[length:] == 0).all()


def test_config_tells_the_build_and_torch():
    config = tautstring.show_config()
    numpy_config = tn.show_config()
    assert config["torch"] == torch.__version__
    assert config["torch_cuda"] == torch.version.cuda
    assert config["threads"] == torch.get_num_threads()
    shared = set(numpy_config) - {"threads"}
    assert all(config[name] == numpy_config[name] for name in shared)


@pytest.mark.parametrize(
    "call", ["tautstring.prox_tv2d(x, 0.2)", "tautstring.numpy.prox_tv2d(x.numpy(), 0.2)"]
)
def test_release_scratch_frees_what_calls_kept(call, freed_bytes):
    code = f"import torch, tautstring, tautstring.numpy; x = torch.rand(1500, 1500); {call}"
    assert freed_bytes(code, "tautstring.release_scratch()") > 30e6
