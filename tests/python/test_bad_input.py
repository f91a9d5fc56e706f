# Bad arguments raise; the message names the argument, the value and what is allowed.
import re

import numpy as np
import pytest

import tautstring.numpy as tn

X = np.zeros((3, 5))


def assert_raises(exception, message, call):
    with pytest.raises(exception, match=f"^{re.escape(message)}"):
        call()


@pytest.mark.parametrize(
    "dtype", [np.complex64, np.longdouble, object, "U3", "datetime64[s]"], ids=str
)
def test_other_dtypes_of_x_raise_a_type_error_that_names_them(dtype):
    message = "x: dtype must be float16, float32, float64, integer or bool, got "
    x = np.zeros(3, dtype)
    assert_raises(TypeError, message + str(x.dtype), lambda: tn.prox_tv1d(x, 1.0))


@pytest.mark.parametrize("name", ["x", "y", "lam", "weight", "grad_y"])
def test_the_argument_of_a_wrong_dtype_is_named(name):
    def call():
        arguments = {"x": X, "y": X, "lam": 1.0, "weight": 1.0, "grad_y": X, name: "text"}
        grad_y, y = arguments.pop("grad_y"), arguments.pop("y")
        tn.certificate1d(y=y, **arguments)
        tn.prox_tv1d_vjp(**arguments)[1](grad_y)

    assert_raises(TypeError, f"{name}: dtype must be float16", call)


def test_ragged_list_raises_a_type_error():
    message = "x: cannot be read as an array: "
    assert_raises(TypeError, message, lambda: tn.prox_tv1d([[1.0, 2.0], [3.0]], 1.0))


def test_masked_array_raises_rather_than_loses_its_mask():
    masked = np.ma.masked_invalid([1.0, np.nan])
    assert_raises(TypeError, "x: must not be a masked array", lambda: tn.prox_tv1d(masked, 1.0))


@pytest.mark.parametrize("mode", ["sharpen", "", None, 1])
def test_unknown_mode_raises(mode):
    message = f"mode: must be 'smooth' or 'sharp', got {mode!r}"
    assert_raises(ValueError, message, lambda: tn.prox_tv1d(X, 1.0, mode=mode))


@pytest.mark.parametrize("dim", [2, -3, 10**30])
def test_dim_out_of_range_raises(dim):
    message = f"dim: must be from -2 to 1 for this x, got {dim}"
    assert_raises(ValueError, message, lambda: tn.prox_tv1d(X, 1.0, dim=dim))
    assert_raises(ValueError, message, lambda: tn.tv(X, dim=dim))


@pytest.mark.parametrize("dim", [1.0, None, "0", (0, 1)])
def test_dim_that_is_no_integer_raises(dim):
    message = f"dim: must be an integer, got {dim!r}"
    assert_raises(TypeError, message, lambda: tn.lam_max(X, dim=dim))


@pytest.mark.parametrize("threads", [0, -1, 10**30])
def test_threads_out_of_range_raise(threads):
    message = f"threads: must be None or an integer from 1 to 4096, got {threads}"
    assert_raises(ValueError, message, lambda: tn.prox_tv1d(X, 1.0, threads=threads))


def test_threads_that_are_no_integer_raise():
    message = "threads: must be None or an integer from 1 to 4096, got 1.5"
    assert_raises(TypeError, message, lambda: tn.prox_tv1d(X, 1.0, threads=1.5))


@pytest.mark.parametrize("lam, text", [(-1, "-1"), (float("nan"), "nan"), (-np.inf, "-inf")])
def test_negative_or_nan_lam_raises(lam, text):
    message = f"lam: must be >= 0 and not NaN, got {text}"
    assert_raises(ValueError, message, lambda: tn.prox_tv1d(X, lam))
    assert_raises(ValueError, message, lambda: tn.prox_tv1d(X, np.full((3, 1), lam)))
    assert_raises(ValueError, message, lambda: tn.certificate1d(X, X, lam))
    assert_raises(ValueError, message, lambda: tn.segments1d(X, lam))


def test_lam_too_large_for_a_float_raises():
    assert_raises(ValueError, "lam: must fit in a float64", lambda: tn.prox_tv1d(X, 10**400))


@pytest.mark.parametrize("shape", [(3, 5), (5,), (3, 2)])
def test_lam_of_a_wrong_size_along_dim_raises(shape):
    message = "lam: must have size 1 (one per row) or n - 1 (one per edge) along dim, got "
    assert_raises(ValueError, message, lambda: tn.prox_tv1d(X, np.ones(shape)))


@pytest.mark.parametrize(
    "shape, lam_shape, hint",
    [
        ((2, 3, 5), (3,), "reshape to (3, 1) for one per index of x's dim 1"),
        ((2, 3, 4, 5), (3,), "reshape to (3, 1, 1) for one per index of x's dim 1"),
        ((2, 3, 4, 5), (2, 3), "reshape to (2, 3, 1, 1) for one per index of x's dims 0, 1"),
    ],
)
def test_lam_that_fits_other_dims_is_told_how_to_be_reshaped(shape, lam_shape, hint):
    x, lam = np.zeros(shape), np.ones(lam_shape)
    calls = [
        lambda: tn.prox_tv1d(x, lam),
        lambda: tn.prox_tv1d(x, lam, solver="newton"),
        lambda: tn.prox_tv1d_vjp(x, lam),
        lambda: tn.segments1d(x, lam),
        lambda: tn.certificate1d(x, x, lam),
    ]
    if len(shape) == 4:
        calls += [
            lambda: tn.prox_tv2d(x, lam),
            lambda: tn.gap2d(x, x, lam),
        ]
    for call in calls:
        with pytest.raises(ValueError, match=f"^lam: must have .*; {re.escape(hint)}$"):
            call()
    if len(shape) == 4:
        with pytest.raises(ValueError, match=f"^lam_rows: must have .*; {re.escape(hint)}$"):
            tn.prox_tv2d(x, (lam, 1.0))


def test_a_tensor_that_is_no_array_is_told_where_tensors_are_taken():
    torch = pytest.importorskip("torch")
    hint = "; use the functions of tautstring itself for tensors"
    for x in (torch.zeros(3, requires_grad=True), torch.zeros(3, dtype=torch.bfloat16)):
        message = f"^x: cannot be read as an array: .*[^.]{hint}$"
        with pytest.raises(TypeError, match=message):
            tn.prox_tv1d(x, 1.0)
    np.testing.assert_array_equal(tn.prox_tv1d(torch.tensor([0.0, 4.0]), 1.0), [1, 3])


def test_lam_never_enlarges_x():
    more_dims = "lam: must not have more dimensions than x, got 3"
    assert_raises(ValueError, more_dims, lambda: tn.prox_tv1d(X, np.ones((2, 3, 1))))
    more_rows = "lam: must have the size of x in its batch dimensions"
    assert_raises(ValueError, more_rows, lambda: tn.prox_tv1d(np.zeros((1, 5)), np.ones((3, 1))))


@pytest.mark.parametrize("value, text", [(-1, "-1"), (np.nan, "nan"), (np.inf, "inf")])
def test_negative_or_non_finite_weight_raises(value, text):
    weight = np.ones(5)
    weight[2] = value
    message = f"weight: must be >= 0 and finite, got {text}"
    assert_raises(ValueError, message, lambda: tn.prox_tv1d(X, 1.0, weight=weight))
    assert_raises(ValueError, message, lambda: tn.lam_max(X, weight=weight))


def test_weight_of_a_wrong_shape_raises():
    message = "weight: must have the size of x along dim, got 4"
    assert_raises(ValueError, message, lambda: tn.prox_tv1d(X, 1.0, weight=np.ones(4)))


def test_y_of_another_shape_than_x_raises():
    message = "y: must have the size of x along dim, got 4"
    assert_raises(ValueError, message, lambda: tn.certificate1d(X, X[:, :4], 1.0))


def test_grad_y_of_another_shape_than_y_raises():
    _, pullback = tn.prox_tv1d_vjp(X, 1.0)
    message = "grad_y: must have y's shape (3, 5), got (5,)"
    assert_raises(ValueError, message, lambda: pullback(np.ones(5)))


def test_more_than_32_dimensions_raise():
    message = "x: must have at most 32 dimensions"
    if int(np.__version__.partition(".")[0]) < 2:
        pytest.skip("NumPy 1 has no such arrays")
    x = np.zeros((1,) * 33)
    for call in (lambda: tn.prox_tv1d(x, 1.0), lambda: tn.segments1d(x, 1.0), lambda: tn.tv(x)):
        assert_raises(ValueError, message, call)


def test_options_are_by_keyword_only():
    with pytest.raises(TypeError):
        tn.prox_tv1d(X, 1.0, 0)
