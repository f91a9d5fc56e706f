# Bad arguments raise; the message names the argument, the value and what is allowed.
import re

import numpy as np
import pytest
import torch

import tautstring
from tautstring import TVLayer

X = torch.zeros(3, 5)


def assert_raises(exception, message, call):
    with pytest.raises(exception, match=f"^{re.escape(message)}"):
        call()


@pytest.mark.parametrize("x", [[1.0, 2.0], np.zeros(3), None, 1.0], ids=lambda x: type(x).__name__)
def test_x_that_is_no_tensor_raises(x):
    message = f"x: must be a tensor, got {type(x).__name__}"
    assert_raises(TypeError, message, lambda: tautstring.prox_tv1d(x, 1.0))


def test_an_array_is_told_where_arrays_are_taken():
    array, layer = np.zeros((3, 5)), TVLayer(1, direction="1d")

    def message(name, allowed="a tensor"):
        where = f"use tautstring.numpy for arrays, or give torch.from_numpy({name})"
        return f"{name}: must be {allowed}, got ndarray; {where}"

    assert_raises(TypeError, message("x"), lambda: tautstring.prox_tv1d(array, 1.0))
    assert_raises(TypeError, message("x"), lambda: tautstring.prox_tv2d(array, 1.0))
    assert_raises(TypeError, message("x"), lambda: layer(array))
    assert_raises(TypeError, message("y"), lambda: tautstring.certificate1d(X, array, 1.0))
    lam_message = message("lam", "a number or a tensor")
    assert_raises(TypeError, lam_message, lambda: tautstring.prox_tv1d(X, np.ones((3, 1))))


@pytest.mark.parametrize(
    "shape, dim, lam_shape, hint",
    [
        ((2, 3, 5), -1, (3,), "reshape to (3, 1) for one per index of x's dim 1"),
        ((2, 3, 4, 5), -1, (3,), "reshape to (3, 1, 1) for one per index of x's dim 1"),
        ((2, 3, 4, 5), -2, (3,), "reshape to (3, 1, 1) for one per index of x's dim 1"),
        ((2, 3, 4, 5), -1, (2, 3), "reshape to (2, 3, 1, 1) for one per index of x's dims 0, 1"),
        ((7, 3, 4, 5), -1, (7,), "reshape to (7, 1, 1, 1) for one per index of x's dim 0"),
    ],
)
def test_lam_that_fits_other_dims_is_told_how_to_be_reshaped(shape, dim, lam_shape, hint):
    x, lam = torch.zeros(shape), torch.ones(lam_shape)
    for call in (
        lambda: tautstring.prox_tv1d(x, lam, dim=dim),
        lambda: tautstring.prox_tv1d(x, lam, dim=dim, solver="newton"),
        lambda: tautstring.segments1d(x, lam, dim=dim),
        lambda: tautstring.certificate1d(x, x, lam, dim=dim),
    ):
        with pytest.raises(ValueError, match=f"^lam: must have .*; {re.escape(hint)}$"):
            call()
    reshaped = lam.reshape(tuple(int(size) for size in re.findall(r"\d+", hint.split(")")[0])))
    assert tautstring.prox_tv1d(x, reshaped, dim=dim).shape == x.shape


def test_lam_that_fits_no_dim_has_no_hint():
    with pytest.raises(ValueError) as error:
        tautstring.prox_tv1d(torch.zeros(2, 3, 5), torch.ones(7))
    assert "reshape" not in str(error.value)


@pytest.mark.parametrize("dtype", [torch.int64, torch.complex64, torch.bool, torch.float8_e5m2])
def test_other_dtypes_raise_with_the_name_of_the_argument(dtype):
    def message(name):
        return f"{name}: dtype must be float16, bfloat16, float32 or float64, got {dtype}"

    bad = torch.zeros(5).to(dtype)
    assert_raises(TypeError, message("x"), lambda: tautstring.prox_tv1d(bad, 1.0))
    assert_raises(TypeError, message("lam"), lambda: tautstring.prox_tv1d(X, bad))
    assert_raises(TypeError, message("weight"), lambda: tautstring.prox_tv1d(X, 1.0, weight=bad))
    assert_raises(TypeError, message("y"), lambda: tautstring.certificate1d(X, bad, 1.0))


@pytest.mark.parametrize("lam", ["1", None, [1.0], 1j, np.ones(3)], ids=str)
def test_lam_that_is_no_number_and_no_tensor_raises(lam):
    message = f"lam: must be a number or a tensor, got {type(lam).__name__}"
    assert_raises(TypeError, message, lambda: tautstring.prox_tv1d(X, lam))


@pytest.mark.parametrize("lam, text", [(-1.0, "-1"), (float("nan"), "nan"), (-np.inf, "-inf")])
def test_negative_or_nan_lam_raises(lam, text):
    message = f"lam: must be >= 0 and not NaN, got {text}"
    for value in (lam, torch.full((3, 1), lam), torch.tensor(lam, requires_grad=True)):
        assert_raises(ValueError, message, lambda value=value: tautstring.prox_tv1d(X, value))
        assert_raises(
            ValueError, message, lambda value=value: tautstring.certificate1d(X, X, value)
        )
        assert_raises(ValueError, message, lambda value=value: tautstring.segments1d(X, value))


def test_errors_inside_transforms_are_value_errors_too():
    message = "lam: must be >= 0 and not NaN, got -1"
    solve = torch.func.grad(lambda x: tautstring.prox_tv1d(x, -1.0).sum())
    assert_raises(ValueError, message, lambda: solve(X))


def test_lam_too_large_for_a_float_raises():
    assert_raises(
        ValueError, "lam: must fit in a float64", lambda: tautstring.prox_tv1d(X, 10**400)
    )


@pytest.mark.parametrize("shape", [(3, 5), (5,), (3, 2)])
def test_lam_of_a_wrong_size_along_dim_raises(shape):
    message = "lam: must have size 1 (one per row) or n - 1 (one per edge) along dim, got "
    assert_raises(ValueError, message, lambda: tautstring.prox_tv1d(X, torch.ones(shape)))


def test_lam_and_weight_never_enlarge_x():
    for name in ("lam", "weight"):

        def call(x, name=name, value=None):
            arguments = {"lam": 1.0, name: value}
            tautstring.prox_tv1d(x, arguments.pop("lam"), **arguments)

        message = f"{name}: must not have more dimensions than x, got "
        assert_raises(ValueError, message + "3", lambda: call(X, value=torch.ones(2, 3, 1)))
        assert_raises(ValueError, message + "1", lambda: call(torch.ones(()), value=torch.ones(1)))
        message = f"{name}: must have the size of x in its batch dimensions"
        assert_raises(ValueError, message, lambda: call(X[:1], value=torch.ones(3, 1)))


@pytest.mark.parametrize("value, text", [(-1, "-1"), (np.nan, "nan"), (np.inf, "inf")])
def test_negative_or_non_finite_weight_raises(value, text):
    weight = torch.ones(5)
    weight[2] = value
    message = f"weight: must be >= 0 and finite, got {text}"
    assert_raises(ValueError, message, lambda: tautstring.prox_tv1d(X, 1.0, weight=weight))
    assert_raises(ValueError, message, lambda: tautstring.lam_max(X, weight=weight))


def test_weight_of_a_wrong_shape_raises():
    message = "weight: must have the size of x along dim, got 4"
    assert_raises(ValueError, message, lambda: tautstring.prox_tv1d(X, 1.0, weight=torch.ones(4)))
    message = "weight: must be a tensor, got float"
    assert_raises(TypeError, message, lambda: tautstring.prox_tv1d(X, 1.0, weight=1.0))


@pytest.mark.parametrize("dim", [2, -3])
def test_dim_out_of_range_raises(dim):
    message = f"dim: must be from -2 to 1 for this x, got {dim}"
    for call in (tautstring.prox_tv1d, tautstring.segments1d):
        assert_raises(ValueError, message, lambda call=call: call(X, 1.0, dim=dim))
    assert_raises(ValueError, message, lambda: tautstring.tv(X, dim=dim))
    message = f"dim: must be from -1 to 0 for this x, got {dim}"
    assert_raises(ValueError, message, lambda: tautstring.prox_tv1d(X[0, 0], 1.0, dim=dim))


@pytest.mark.parametrize("dim", [1.0, None, "0", (0, 1)])
def test_dim_that_is_no_integer_raises(dim):
    message = f"dim: must be an integer, got {dim!r}"
    assert_raises(TypeError, message, lambda: tautstring.lam_max(X, dim=dim))


@pytest.mark.parametrize(
    "mode", ["sharpen", "", None, 1, ["smooth"], np.array(["a", "b"])], ids=str
)
def test_unknown_mode_raises(mode):
    message = f"mode: must be 'smooth' or 'sharp', got {mode!r}"
    assert_raises(ValueError, message, lambda: tautstring.prox_tv1d(X, 1.0, mode=mode))
    assert_raises(ValueError, message, lambda: TVLayer(1, direction="row", mode=mode))


def test_y_of_another_shape_than_x_raises():
    message = "y: must have the size of x along dim, got 4"
    assert_raises(ValueError, message, lambda: tautstring.certificate1d(X, X[:, :4], 1.0))


def test_more_than_32_dimensions_raise():
    message = "x: must have at most 32 dimensions"
    assert_raises(ValueError, message, lambda: tautstring.prox_tv1d(torch.zeros((1,) * 33), 1.0))


def test_dimensions_that_do_not_fold_raise_by_their_number():
    x = torch.zeros((2,) * 11).permute(*reversed(range(11)))
    message = (
        "x: must have at most 8 batch dimensions after folding those that all arguments step "
        "through evenly (as contiguous arrays do), got 10"
    )
    assert_raises(ValueError, message, lambda: tautstring.prox_tv1d(x, 1.0))
    assert torch.equal(tautstring.prox_tv1d(x.contiguous(), 1.0), x)


@pytest.mark.parametrize(
    "make_bad, got",
    [
        (torch.Tensor.to_sparse, "layout torch.sparse_coo"),
        (torch.Tensor.to_sparse_csr, "layout torch.sparse_csr"),
        (torch.Tensor.to_mkldnn, "layout torch._mkldnn"),
        (lambda x: torch.nested.nested_tensor(list(x)), "a nested one"),
        (lambda x: torch.nested.nested_tensor(list(x), layout=torch.jagged), "a nested one"),
    ],
)
@pytest.mark.filterwarnings("ignore::UserWarning")  # of torch, that these are prototypes
def test_tensors_that_are_not_dense_raise(make_bad, got):
    bad = make_bad(torch.ones(3, 5))
    calls = {
        "x": lambda: tautstring.prox_tv1d(bad, 1.0),
        "lam": lambda: tautstring.prox_tv1d(X, bad),
        "weight": lambda: tautstring.prox_tv1d(X, 1.0, weight=bad),
        "y": lambda: tautstring.certificate1d(X, bad, 1.0),
    }
    for name, call in calls.items():
        assert_raises(TypeError, f"{name}: must be a dense tensor, got {got}", call)
    layer = TVLayer(1, direction="1d")
    assert_raises(TypeError, f"x: must be a dense tensor, got {got}", lambda: layer(bad))


def test_quantized_tensors_raise_by_their_dtype():
    bad = torch.quantize_per_tensor(X, 0.1, 0, torch.qint8)
    message = "x: dtype must be float16, bfloat16, float32 or float64, got torch.qint8"
    assert_raises(TypeError, message, lambda: tautstring.prox_tv1d(bad, 1.0))


@pytest.mark.parametrize("x", [[1.0, 2.0], np.zeros(3), None, 1.0], ids=lambda x: type(x).__name__)
def test_layer_of_what_is_no_tensor_raises(x):
    message = f"x: must be a tensor, got {type(x).__name__}"
    assert_raises(TypeError, message, lambda: TVLayer(1, direction="1d")(x))


def test_options_are_by_keyword_only():
    with pytest.raises(TypeError):
        tautstring.prox_tv1d(X, 1.0, 0)
    message = "TVLayer: only channels may be positional, got "
    keyword = "arguments; pass the others by keyword, as in TVLayer(3, lam=0.25)"
    assert_raises(TypeError, f"{message}2 {keyword}", lambda: TVLayer(3, 0.25))
    assert_raises(TypeError, f"{message}3 {keyword}", lambda: TVLayer(3, 0.25, "smooth"))
    keyword = "arguments; pass the others by keyword, as in TVLayer(1, lam=0.1)"
    assert_raises(TypeError, f"{message}2 {keyword}", lambda: TVLayer(1, "smooth"))


@pytest.mark.parametrize("channels", [0, -1, 1.5, None, "3", [3]])
def test_layer_without_channels_raises(channels):
    message = f"channels: must be an integer >= 1, got {channels!r}"
    assert_raises(ValueError, message, lambda: TVLayer(channels, direction="row"))


@pytest.mark.parametrize("direction", ["diagonal", None, ["row"], {}, 1], ids=str)
def test_unknown_direction_raises(direction):
    message = f"direction: must be '2d', 'row', 'col' or '1d', got {direction!r}"
    assert_raises(ValueError, message, lambda: TVLayer(1, direction=direction))


@pytest.mark.parametrize("lam, text", [(0, "0"), (-1, "-1"), (np.nan, "nan"), (np.inf, "inf")])
def test_learnable_lambda_that_softplus_cannot_give_raises(lam, text):
    message = f"lam: must be > 0 and finite with learnable=True, got {text}"
    assert_raises(ValueError, message, lambda: TVLayer(1, direction="row", lam=lam))


@pytest.mark.parametrize("lam, text", [(-1, "-1"), (np.nan, "nan")])
def test_fixed_lambda_that_is_none_raises(lam, text):
    message = f"lam: must be >= 0 and not NaN with learnable=False, got {text}"
    assert_raises(
        ValueError, message, lambda: TVLayer(1, direction="row", lam=lam, learnable=False)
    )


def test_layer_lambdas_of_another_number_or_type_raise():
    message = "lam: must be a number or of shape (3,), got shape (2,)"
    assert_raises(ValueError, message, lambda: TVLayer(3, direction="row", lam=[0.1, 0.2]))
    for lam in ("much", None, 1j, [[0.1, 0.2, 0.3]], ["0.1", "0.2", "0.3"]):
        message = f"lam: must be one number or one per channel, got {lam!r}"
        assert_raises(TypeError, message, lambda lam=lam: TVLayer(3, direction="row", lam=lam))
    without_values = torch.ones(3, device="meta")
    message = "lam: must have values, got tensor(..., device='meta', size=(3,))"
    assert_raises(TypeError, message, lambda: TVLayer(3, direction="row", lam=without_values))


@pytest.mark.parametrize("learnable", [True, False])
def test_layer_lambda_that_its_dtype_does_not_hold_raises(learnable):
    for lam, dtype in ((1e40, torch.float32), (1e5, torch.float16)):
        message = f"lam: must fit in {dtype}, got {lam:g}"
        options = {"lam": lam, "dtype": dtype, "learnable": learnable}
        assert_raises(ValueError, message, lambda o=options: TVLayer(1, direction="row", **o))
    message = "lam: must fit in a float64, got a larger number"
    assert_raises(ValueError, message, lambda: TVLayer(1, direction="row", lam=10**400))


@pytest.mark.parametrize("direction", ["2d", "row", "col"])
def test_image_layer_takes_images_alone(direction):
    layer = TVLayer(1, direction=direction)
    for shape in [(5,), (3, 5), (1, 2, 3, 4, 5)]:
        message = (
            f"x: must have shape (N, C, H, W) or (C, H, W) with direction={direction!r}, "
            f"got shape {shape}"
        )
        assert_raises(ValueError, message, lambda shape=shape: layer(torch.zeros(shape)))


def test_signal_layer_takes_signals_alone():
    message = "x: must have shape (N, C, L) or (C, L) with direction='1d', got shape (2, 3, 4, 5)"
    layer = TVLayer(1, direction="1d")
    assert_raises(ValueError, message, lambda: layer(torch.zeros(2, 3, 4, 5)))


def test_layer_wants_its_own_number_of_channels():
    message = "x: must have 3 channels, got 4 in shape (2, 4, 5, 6)"
    layer = TVLayer(3, direction="row")
    assert_raises(ValueError, message, lambda: layer(torch.zeros(2, 4, 5, 6)))
    # A 3D input is (C, H, W): never (N, C, L).
    message = "x: must have 3 channels, got 4 in shape (4, 3, 6)"
    assert_raises(ValueError, message, lambda: layer(torch.zeros(4, 3, 6)))


@pytest.mark.parametrize("name", ["lam", "weight"])
def test_a_meta_tensor_beside_x_is_refused(name: str) -> None:
    arguments = {"lam": 1.0, name: torch.ones(5, device="meta")}
    if name == "lam":
        arguments["lam"] = torch.ones(1, device="meta")
    with pytest.raises(ValueError, match=f"{name}: must be on x's device cpu, got meta"):
        tautstring.prox_tv1d(torch.ones(3, 5), **arguments)


def test_vmap_lets_nothing_enlarge_x() -> None:
    lam = torch.ones(3, 1)
    with pytest.raises(ValueError, match="lam: must not have more dimensions than x, got 2"):
        torch.vmap(lambda row: tautstring.prox_tv1d(row, lam))(torch.rand(3, 5))
