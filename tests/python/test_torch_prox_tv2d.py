# tautstring.prox_tv2d on torch tensors: values, methods, what is reported, shapes, strides,
# special values.
import itertools
from fractions import Fraction

import numpy as np
import pytest
import torch
from torch_support import DTYPES, assert_close, warns_of_missed_tolerance

import tautstring
import tautstring.numpy as tn

MODES = ["smooth", "sharp"]
METHODS = ["dykstra", "accelerated"]


def by_passes(x, lam_rows, lam_cols, method, iterations):
    """The iterations of the design note in float64, by exact 1D solves of tautstring.prox_tv1d."""
    x = x.detach().double()
    q = q_old = torch.zeros_like(x)
    t, b = torch.ones(x.shape[:-2]).to(x), torch.zeros(x.shape[:-2]).to(x)
    for _ in range(iterations):
        ahead = q + b[..., None, None] * (q - q_old)
        p = x - ahead - tautstring.prox_tv1d(x - ahead, lam_rows)
        y = tautstring.prox_tv1d(x - p, lam_cols, dim=-2)
        q_old, q = q, x - p - y
        if method == "accelerated":
            t = torch.where(((ahead - q) * (q - q_old)).sum((-2, -1)) > 0, 1, t)
            t_next = (1 + (1 + 4 * t * t).sqrt()) / 2
            t, b = t_next, (t - 1) / t_next
    return y


def objective(x, y, lam_rows, lam_cols):
    fit = (y - x).square().sum((-2, -1)) / 2
    along_rows = (lam_rows * y.diff(dim=-1).abs()).sum((-2, -1))
    return fit + along_rows + (lam_cols * y.diff(dim=-2).abs()).sum((-2, -1))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_iterations_are_passes_over_rows_and_columns(make, dtype, method):
    x = make(3, 20, 33, dtype=dtype)
    for iterations in (1, 2, 5):
        y = tautstring.prox_tv2d(x, 0.4, method=method, iterations=iterations)
        assert (y.shape, y.dtype, y.device) == (x.shape, x.dtype, x.device)
        # Each pass rounds: as many as there are.
        assert_close(y, by_passes(x, 0.4, 0.4, method, iterations), x, factor=4 * iterations)


@pytest.mark.parametrize("options", [{}, {"method": "accelerated", "tol": 1e-5}], ids=str)
def test_numpy_gives_the_same(make, options):
    x = make(3, 20, 33)
    y, info = tautstring.prox_tv2d(x, (0.4, 0.3), return_info=True, **options)
    expected, expected_info = tn.prox_tv2d(x.cpu().numpy(), (0.4, 0.3), return_info=True, **options)
    assert_close(y.cpu(), torch.from_numpy(expected), x, factor=16)
    assert info.iterations.tolist() == expected_info.iterations.tolist()
    assert info.converged.tolist() == expected_info.converged.tolist()


def test_the_paper_is_the_default(make):
    x = make(3, 20, 33)
    y = tautstring.prox_tv2d(x, 0.4)
    assert torch.equal(y, tautstring.prox_tv2d(x, 0.4, method="dykstra", iterations=4))
    y = tautstring.prox_tv2d(x, 0.4, method="accelerated")
    assert torch.equal(y, tautstring.prox_tv2d(x, 0.4, method="accelerated", iterations=16))


def test_sharpening_is_the_opposite_step(make):
    x = make(3, 20, 33)
    y = tautstring.prox_tv2d(x, 0.4, mode="sharp")
    torch.testing.assert_close(y, 2 * x - tautstring.prox_tv2d(x, 0.4), rtol=0, atol=1e-14)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("method", METHODS)
def test_gap_bounds_what_is_above_the_optimum(make, dtype, method):
    x = make(4, 20, 24, dtype=dtype)
    best = tautstring.prox_tv2d(x.double(), 0.5, method="accelerated", iterations=2000)
    optimum = objective(x.double(), best, 0.5, 0.5)
    for iterations in (1, 4, 40):
        y, info = tautstring.prox_tv2d(
            x, 0.5, method=method, iterations=iterations, return_info=True
        )
        excess = objective(x.double(), y.double(), 0.5, 0.5) - optimum
        assert (info.gap >= excess - 1e-9).all()
        assert info.gap.shape == (4,) and info.gap.dtype == torch.float64


@pytest.mark.parametrize("grad", ["unrolled", "implicit"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype, tol", [(torch.float32, 1e-4), (torch.float64, 1e-6)], ids=str)
def test_each_image_stops_within_the_tolerance(make, dtype, tol, mode, grad):
    x = make(6, 24, 24, dtype=dtype)
    x[::2] *= 0.1  # easier ones
    y, info = tautstring.prox_tv2d(
        x, 0.3, method="accelerated", tol=tol, mode=mode, grad=grad, return_info=True
    )
    assert info.converged.all()
    assert (info.iterations % 4 == 0).all() and len(info.iterations.unique()) > 1
    smooth = 2 * x - y if mode == "sharp" else y
    assert (info.gap <= tol * objective(x, smooth, 0.3, 0.3) * (1 + 1e-3)).all()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_a_report_is_about_what_is_returned(make, dtype, mode):
    x = (100 + make(2, 24, 24).sigmoid()).to(dtype)  # of few levels: no result is near enough
    with warns_of_missed_tolerance(x, "may be too coarse"):
        y, info = tautstring.prox_tv2d(x, 0.01, tol=1e-4, mode=mode, return_info=True)
    assert (info.iterations < 128).all()
    smooth = 2 * x.double() - y.double() if mode == "sharp" else y
    gap = tautstring.gap2d(x, smooth, 0.01)
    assert ((info.gap >= 0.98 * gap) & (info.gap <= 1.1 * gap)).all()
    within = info.gap <= 1e-4 * objective(x.double(), smooth.double(), 0.01, 0.01)
    assert torch.equal(info.converged, within) and not within.any()


def test_what_did_not_converge_says_so(make):
    x = make(2, 24, 24)
    with warns_of_missed_tolerance(x):
        _, info = tautstring.prox_tv2d(x, 1.0, tol=1e-9, iterations=8, return_info=True)
    assert info.iterations.tolist() == [8, 8] and not info.converged.any()
    _, info = tautstring.prox_tv2d(x, 1.0, return_info=True)
    assert info.iterations.tolist() == [4, 4] and not info.converged.any()


@pytest.mark.parametrize("grad", ["unrolled", "implicit"])
@pytest.mark.parametrize("tol", [None, 1e-5])
def test_neither_the_report_nor_a_gradient_changes_a_bit(make, tol, grad):
    x = make(4, 20, 24, dtype=torch.float32)
    options = {"method": "accelerated", "tol": tol, "grad": grad}
    y = tautstring.prox_tv2d(x, 0.3, **options)
    reported, info = tautstring.prox_tv2d(x, 0.3, return_info=True, **options)
    recorded = tautstring.prox_tv2d(x.clone().requires_grad_(), 0.3, **options)
    assert torch.equal(reported, y) and torch.equal(recorded, y)
    recorded, again = tautstring.prox_tv2d(
        x.clone().requires_grad_(), 0.3, return_info=True, **options
    )
    assert torch.equal(recorded, y) and recorded.requires_grad
    assert not any(part.requires_grad for part in again)
    assert all(torch.equal(a, b) for a, b in zip(info, again, strict=True))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_dual_is_where_a_later_call_starts(make, dtype):
    x = make(3, 24, 20, dtype=dtype)
    _, first = tautstring.prox_tv2d(x, 0.5, method="accelerated", iterations=30, return_info=True)
    assert first.dual.shape == x.shape
    assert first.dual.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    _, cold = tautstring.prox_tv2d(x, 0.5, iterations=1, return_info=True)
    _, warm = tautstring.prox_tv2d(x, 0.5, iterations=1, start=first.dual, return_info=True)
    assert (warm.gap < 0.1 * cold.gap).all()


def test_starting_at_nothing_is_no_start(make):
    x = make(3, 24, 20)
    y = tautstring.prox_tv2d(x, 0.5, start=torch.zeros_like(x))
    assert torch.equal(y, tautstring.prox_tv2d(x, 0.5))


@pytest.mark.parametrize("dims", [(-2, -1), (-1, -2), (0, 2), (3, 0), (1, -1)], ids=str)
def test_any_two_dims_are_those_of_images(make, dims):
    x = make(4, 3, 5, 6)
    y = tautstring.prox_tv2d(x, (0.3, 0.5), dims=dims)
    moved = x.movedim(dims, (-2, -1))
    expected = tautstring.prox_tv2d(moved.contiguous(), (0.3, 0.5))
    assert torch.equal(y.movedim(dims, (-2, -1)), expected)


@pytest.mark.parametrize(
    "shape", [(1, 1), (1, 7), (7, 1), (0, 5), (5, 0), (2, 0, 3, 4), (0, 3, 4), (2, 1, 3, 4, 5)]
)
def test_any_shape(make, shape):
    x = make(*shape)
    y, info = tautstring.prox_tv2d(x, 0.4, return_info=True)
    assert y.shape == info.dual.shape == shape
    assert info.gap.shape == info.iterations.shape == info.converged.shape == shape[:-2]
    if y.numel():
        assert_close(y, by_passes(x, 0.4, 0.4, "dykstra", 4), x, factor=16)


LAM_SHAPES = [
    ((), ()),
    ((3, 1, 1), ()),
    ((2, 1, 1, 1), (1, 1, 1)),
    ((6,), (4, 1)),
    ((5, 6), (4, 7)),
    ((5, 1), (7,)),
    ((2, 3, 5, 6), (2, 3, 4, 7)),
    ((3, 1, 6), (2, 1, 4, 1)),
]


@pytest.mark.parametrize("row_shape, column_shape", LAM_SHAPES)
def test_pairs_are_one_an_image_a_line_or_an_edge(make, make_positive, row_shape, column_shape):
    x = make(2, 3, 5, 7)
    pair = make_positive(*row_shape), make_positive(*column_shape)
    y = tautstring.prox_tv2d(x, pair)
    assert_close(y, by_passes(x, *pair, "dykstra", 4), x, factor=16)
    assert torch.equal(y, tautstring.prox_tv2d(x, list(pair)))


@pytest.mark.parametrize("lam_shape", [(), (1, 1), (3, 1, 1), (2, 1, 1, 1), (2, 3, 1, 1)])
def test_one_lam_is_that_of_rows_and_of_columns(make, make_positive, lam_shape):
    x, lam = make(2, 3, 5, 7), make_positive(*lam_shape)
    assert torch.equal(tautstring.prox_tv2d(x, lam), tautstring.prox_tv2d(x, (lam, lam)))


@pytest.mark.parametrize("number", [1, 0.5, np.float32(0.5), np.float64(0.5), Fraction(1, 2), True])
def test_numbers_of_any_type_are_lambdas(make, number):
    x = make(3, 12, 9)
    tensor = torch.tensor(float(number), device=x.device)
    expected = tautstring.prox_tv2d(x, tensor)
    assert torch.equal(tautstring.prox_tv2d(x, number), expected)
    for pair in itertools.product((number, tensor), repeat=2):
        assert torch.equal(tautstring.prox_tv2d(x, pair), expected)


def test_dtypes_of_x_and_lams_may_differ(make, make_positive):
    x = make(3, 12, 9, dtype=torch.bfloat16)
    pair = make_positive(3, 1, 1), make_positive(dtype=torch.float16)
    y = tautstring.prox_tv2d(x, pair)
    assert y.dtype == x.dtype
    assert_close(y, by_passes(x, *[lam.double() for lam in pair], "dykstra", 4), x, factor=16)


def test_along_rows_or_columns_alone_it_is_the_1d_solution(make):
    x = make(3, 12, 9)
    assert torch.equal(tautstring.prox_tv2d(x, (0.4, 0)), tautstring.prox_tv1d(x, 0.4))
    assert_close(tautstring.prox_tv2d(x, (0, 0.4)), tautstring.prox_tv1d(x, 0.4, dim=-2), x)


def assert_same_bits(one, other):
    bits = {8: torch.int64, 4: torch.int32, 2: torch.int16}[one.element_size()]
    assert torch.equal(one.view(bits), other.view(bits))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_lam_zero_is_the_identity_bit_for_bit(device, dtype, method, mode):
    values = [1.0, -0.0, float("inf"), 3.0, float("nan"), 1e-7, -2.5, 0.0]
    x = torch.tensor(values, dtype=dtype, device=device).reshape(2, 4)
    for lam in (0.0, -0.0, torch.zeros((), device=device), torch.zeros((1, 1), device=device)):
        assert_same_bits(tautstring.prox_tv2d(x, lam, method=method, mode=mode), x)


def test_a_copied_image_has_converged_whatever_it_holds(make):
    x = make(3, 4, 5)
    x[1, 2, 3], x[2] = float("nan"), float("inf")
    _, info = tautstring.prox_tv2d(x, 0.0, return_info=True)
    assert info.gap.tolist() == [0, 0, 0] and info.converged.all()


def test_lam_inf_gives_the_mean(make):
    x = make(3, 12, 9)
    y = tautstring.prox_tv2d(x, float("inf"))
    assert_close(y, x.mean((-2, -1), keepdim=True).expand_as(x), x, factor=16)


@pytest.mark.parametrize("method", METHODS)
def test_an_image_that_is_not_finite_comes_out_nan_alone(make, method):
    x = make(4, 12, 9)
    clean = tautstring.prox_tv2d(x, 0.3, method=method)
    x[1, 5, 2], x[2, 0, 0] = float("nan"), float("inf")
    y, info = tautstring.prox_tv2d(x, 0.3, method=method, return_info=True)
    assert y[1:3].isnan().all()
    assert torch.equal(y[[0, 3]], clean[[0, 3]])
    assert info.gap[1:3].isnan().all()
    assert not info.converged[1:3].any()


def test_images_do_not_depend_on_their_batch(make):
    x = make(5, 12, 9, dtype=torch.float32)
    y = tautstring.prox_tv2d(x, 0.3, method="accelerated")
    for image, alone in zip(y, x, strict=True):
        assert torch.equal(image, tautstring.prox_tv2d(alone, 0.3, method="accelerated"))


def test_channels_last_is_kept_and_gives_the_same_bits(make):
    x = make(2, 3, 5, 6, dtype=torch.float32)
    last = x.to(memory_format=torch.channels_last)
    y = tautstring.prox_tv2d(last, 0.3)
    assert y.is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(y, tautstring.prox_tv2d(x, 0.3))


def test_views_give_the_bits_of_their_copies(make):
    x = make(4, 8, 12)
    for view in (x.transpose(0, 2), x[:, ::2, 1::3], x[:, 2:5], x[:1].expand(5, -1, -1)):
        expected = tautstring.prox_tv2d(view.contiguous(), 0.3)
        assert torch.equal(tautstring.prox_tv2d(view, 0.3), expected)


def test_x_is_not_written_to(make):
    x = make(3, 12, 9)
    before = x.clone()
    tautstring.prox_tv2d(x, 0.3, return_info=True)
    assert torch.equal(x, before)


def test_autocast_changes_no_dtype_and_no_bit(make, make_positive):
    x, lam = make(6, 10, 12, dtype=torch.float32), make_positive(6, 1, 1, dtype=torch.float32)
    expected = tautstring.prox_tv2d(x, lam)
    with torch.autocast(x.device.type, dtype=torch.bfloat16):
        assert torch.equal(tautstring.prox_tv2d(x, lam), expected)


def test_the_same_bits_for_any_number_of_threads(make):
    threads = torch.get_num_threads()
    for shape in ((50, 32, 32), (256, 256)):
        x = make(*shape, dtype=torch.float32)
        results = []
        try:
            for count in (1, 2, 5):
                torch.set_num_threads(count)
                results.append(tautstring.prox_tv2d(x, 0.3, method="accelerated"))
        finally:
            torch.set_num_threads(threads)
        assert all(torch.equal(results[0], result) for result in results)
