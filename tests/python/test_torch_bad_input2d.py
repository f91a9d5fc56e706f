# Bad arguments of prox_tv2d and of layers of images raise; the message names the argument, the
# value and what is allowed.
import re

import numpy as np
import pytest
import torch
from test_torch_bad_input import assert_raises

import tautstring
from tautstring import TVLayer

X = torch.zeros(2, 3, 5)


def solve(x=X, lam=1.0, **options):
    return lambda: tautstring.prox_tv2d(x, lam, **options)


@pytest.mark.parametrize("x", [[[1.0]], np.zeros((3, 3)), None, 1.0], ids=lambda x: str(type(x)))
def test_x_that_is_no_tensor_raises(x):
    assert_raises(TypeError, f"x: must be a tensor, got {type(x).__name__}", solve(x))


@pytest.mark.parametrize("shape", [(), (5,)])
def test_x_without_images_raises(shape):
    message = f"x: must have at least 2 dimensions, got {len(shape)}"
    assert_raises(ValueError, message, solve(torch.zeros(shape)))


@pytest.mark.parametrize("dtype", [torch.int64, torch.complex64, torch.bool])
def test_other_dtypes_raise_with_the_name_of_the_argument(dtype):
    bad = X.to(dtype)
    allowed = f"dtype must be float16, bfloat16, float32 or float64, got {dtype}"
    assert_raises(TypeError, f"x: {allowed}", solve(bad))
    assert_raises(TypeError, f"lam: {allowed}", solve(lam=bad))
    assert_raises(TypeError, f"lam_rows: {allowed}", solve(lam=(bad, 1.0)))
    assert_raises(TypeError, f"lam_cols: {allowed}", solve(lam=(1.0, bad)))
    assert_raises(TypeError, f"start: {allowed}", solve(start=bad))


@pytest.mark.parametrize("lam", ["1", None, 1j, np.ones(3), {}], ids=str)
def test_lam_that_is_no_number_and_no_tensor_raises(lam):
    allowed = f"must be a number or a tensor, got {type(lam).__name__}"
    assert_raises(TypeError, f"lam: {allowed}", solve(lam=lam))
    assert_raises(TypeError, f"lam_rows: {allowed}", solve(lam=(lam, 1.0)))
    assert_raises(TypeError, f"lam_cols: {allowed}", solve(lam=(1.0, lam)))


@pytest.mark.parametrize("lam", [(), (1.0,), (1.0, 1.0, 1.0)], ids=str)
def test_lams_that_are_no_pair_raise(lam):
    message = f"lam: must be one or a pair (lam_rows, lam_cols), got {len(lam)}"
    assert_raises(ValueError, message, solve(lam=lam))


@pytest.mark.parametrize("value, text", [(-1.0, "-1"), (float("nan"), "nan"), (-np.inf, "-inf")])
def test_negative_or_nan_lam_raises(value, text):
    allowed = f"must be >= 0 and not NaN, got {text}"
    for lam in (value, torch.full((2, 1, 1), value), torch.tensor(value, requires_grad=True)):
        assert_raises(ValueError, f"lam: {allowed}", solve(lam=lam))
        assert_raises(ValueError, f"lam_rows: {allowed}", solve(lam=(lam, 1.0)))
        assert_raises(ValueError, f"lam_cols: {allowed}", solve(lam=(torch.tensor(1.0), lam)))


def test_errors_inside_transforms_are_value_errors_too():
    gradient = torch.func.grad(lambda x: tautstring.prox_tv2d(x, -1.0).sum())
    assert_raises(ValueError, "lam: must be >= 0 and not NaN, got -1", lambda: gradient(X))


@pytest.mark.parametrize("shape", [(5,), (3, 1), (2, 1, 4), (3, 5)])
def test_one_lam_an_edge_without_a_pair_raises(shape):
    message = (
        "lam: must have size 1 along both dims, or be a pair (lam_rows, lam_cols), "
        f"got shape {shape}"
    )
    assert_raises(ValueError, message, solve(lam=torch.ones(shape)))


def test_lams_of_a_wrong_size_raise():
    edges = "must have size 1 (one per row) or n - 1 (one per edge) along dim, got "
    assert_raises(ValueError, f"lam_rows: {edges}5", solve(lam=(torch.ones(5), 1.0)))
    assert_raises(ValueError, f"lam_cols: {edges}3", solve(lam=(1.0, torch.ones(3, 1))))
    batch = "must have the size of x in its batch dimensions"
    assert_raises(ValueError, f"lam: {batch}", solve(lam=torch.ones(3, 1, 1)))
    assert_raises(ValueError, f"lam_rows: {batch}", solve(lam=(torch.ones(2, 4), 1.0)))
    assert_raises(ValueError, f"lam_cols: {batch}", solve(lam=(1.0, torch.ones(2, 4))))
    dims = "must not have more dimensions than x, got 4"
    assert_raises(ValueError, f"lam: {dims}", solve(lam=torch.ones(1, 1, 1, 1)))


@pytest.mark.parametrize("dims", [0, None, (0,), (0, 1, 2), "01"], ids=str)
def test_dims_that_are_no_pair_raise(dims):
    assert_raises(TypeError, f"dims: must be a pair of integers, got {dims!r}", solve(dims=dims))


def test_dims_that_are_none_of_x_raise():
    message = "dims: must be from -3 to 2 for this x, got 3"
    assert_raises(ValueError, message, solve(dims=(0, 3)))
    assert_raises(TypeError, "dims: must be an integer, got 1.5", solve(dims=(0, 1.5)))
    message = "dims: must be two different dimensions of x, got (1, -2)"
    assert_raises(ValueError, message, solve(dims=(1, -2)))


CHOICES = {
    "mode": "'smooth' or 'sharp'",
    "method": "None, 'dykstra' or 'accelerated'",
    "grad": "None, 'unrolled' or 'implicit'",
}


@pytest.mark.parametrize("value", ["other", "", 1, ["dykstra"], np.array(["a", "b"])], ids=str)
@pytest.mark.parametrize("name", CHOICES)
def test_unknown_words_raise(name, value):
    message = f"{name}: must be {CHOICES[name]}, got {value!r}"
    assert_raises(ValueError, message, solve(**{name: value}))
    assert_raises(ValueError, message, lambda: TVLayer(1, **{name: value}))


@pytest.mark.parametrize("call", [lambda **o: solve(**o)(), lambda **o: TVLayer(1, **o)])
def test_iterations_that_are_no_count_raise(call):
    for value in (0, -3):
        message = f"iterations: must be an integer >= 1, got {value}"
        assert_raises(ValueError, message, lambda value=value: call(iterations=value))
    for value in (1.5, "4"):
        message = f"iterations: must be an integer, got {value!r}"
        assert_raises(TypeError, message, lambda value=value: call(iterations=value))
    message = "iterations: must be at most 2147483647, got 2147483648"
    assert_raises(ValueError, message, lambda: call(iterations=2**31))


@pytest.mark.parametrize("call", [lambda **o: solve(**o)(), lambda **o: TVLayer(1, **o)])
def test_tolerances_that_are_none_raise(call):
    for value in (0, -1e-4, float("nan"), float("inf")):
        message = f"tol: must be None or > 0 and finite, got {value:g}"
        assert_raises(ValueError, message, lambda value=value: call(tol=value))
    assert_raises(TypeError, "tol: must be None or a number, got '1'", lambda: call(tol="1"))


def test_start_of_another_shape_or_device_raises():
    message = "start: must have the size of x along dim, got 4"
    assert_raises(ValueError, message, solve(start=X[..., :4]))
    message = "start: must have the size of x in its batch dimensions"
    assert_raises(ValueError, message, solve(start=X[:1]))
    message = "start: must be on x's device cpu, got meta"
    assert_raises(ValueError, message, solve(start=X.to("meta")))
    assert_raises(TypeError, "start: must be a tensor, got int", solve(start=0))


def test_lam_of_channels_is_told_how_to_be_reshaped():
    x, lam = torch.zeros(2, 3, 4, 5), torch.ones(3)
    hint = "; reshape to (3, 1, 1) for one per index of x's dim 1"
    message = "lam: must have size 1 along both dims, or be a pair (lam_rows, lam_cols), got shape "
    assert_raises(ValueError, f"{message}(3,){hint}", lambda: tautstring.prox_tv2d(x, lam))
    assert_raises(ValueError, f"{message}(3,){hint}", lambda: tautstring.gap2d(x, x, lam))
    for call in (tautstring.prox_tv2d, lambda x, lam: tautstring.gap2d(x, x, lam)):
        with pytest.raises(ValueError, match=f"^lam_cols: must have .*{re.escape(hint)}$"):
            call(x, (torch.ones(3, 1, 1), lam))
    assert_raises(
        ValueError, message + "(2, 3); reshape to (2, 3, 1, 1)", solve(x, lam=torch.ones(2, 3))
    )


def test_isotropic_is_not_implemented():
    message = "isotropic: True is not implemented; must be False"
    assert_raises(NotImplementedError, message, solve(isotropic=True))
    assert_raises(NotImplementedError, message, lambda: TVLayer(1, isotropic=True))


def test_options_are_by_keyword_only():
    with pytest.raises(TypeError):
        tautstring.prox_tv2d(X, 1.0, (0, 1))


@pytest.mark.parametrize(
    "name, value",
    [("method", "accelerated"), ("iterations", 4), ("tol", 1e-4), ("grad", "unrolled")],
)
@pytest.mark.parametrize("direction", ["row", "col", "1d"])
def test_how_to_iterate_is_told_to_layers_of_images_alone(direction, name, value):
    message = f"{name}: only for direction='2d', got {value!r}"
    assert_raises(ValueError, message, lambda: TVLayer(1, direction=direction, **{name: value}))


def test_more_than_32_dimensions_raise():
    assert_raises(ValueError, "x: must have at most 32 dimensions", solve(torch.zeros((1,) * 33)))


def test_a_meta_tensor_beside_x_is_refused():
    message = "lam: must be on x's device cpu, got meta"
    assert_raises(ValueError, message, solve(lam=torch.ones(1, 1, device="meta")))


def test_vmap_lets_nothing_enlarge_x():
    lam = torch.ones(2, 1, 1)
    message = "lam: must not have more dimensions than x, got 3"
    call = torch.vmap(lambda image: tautstring.prox_tv2d(image, lam))
    assert_raises(ValueError, message, lambda: call(X))
