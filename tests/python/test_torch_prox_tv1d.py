# tautstring.prox_tv1d on torch tensors: values, dtypes, shapes, strides, special values.
import itertools
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
import torch
from torch_support import DTYPES, assert_close

import tautstring
import tautstring.numpy as tn

MODES = ["smooth", "sharp"]


def solve_by_numpy(x, lam, **options):
    """The same by tautstring.numpy in float64, whose tests prove optimality."""

    def as_numpy(value):
        is_tensor = isinstance(value, torch.Tensor)
        return value.detach().double().cpu().numpy() if is_tensor else value

    options = {name: as_numpy(value) for name, value in options.items()}
    return torch.from_numpy(np.asarray(tn.prox_tv1d(as_numpy(x), as_numpy(lam), **options)))


def assert_solves(x, lam, **options):
    y = tautstring.prox_tv1d(x, lam, **options)
    assert (y.shape, y.dtype, y.device) == (x.shape, x.dtype, x.device)
    if x.numel():
        assert_close(y.cpu(), solve_by_numpy(x, lam, **options), x.detach().cpu())


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype_agrees_with_float64(make, dtype, mode):
    assert_solves(make(6, 200, dtype=dtype), 0.7, mode=mode)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_certificate_proves_the_solution(make, dtype):
    x = make(6, 200, dtype=dtype)
    violation = tautstring.certificate1d(x, tautstring.prox_tv1d(x, 0.7), 0.7)
    assert violation.shape == (6,)
    # Rounding y to its dtype moves the sums of a row by up to half a unit a sample.
    assert float(violation.max()) <= 200 * torch.finfo(dtype).eps


@pytest.mark.parametrize("dim", [-1, 0, 1, -2])
@pytest.mark.parametrize("shape", [(1, 1), (7, 5), (0, 5), (5, 0), (4, 3, 6), (2, 1, 3, 4, 5)])
def test_any_shape_along_any_dim(make, shape, dim):
    assert_solves(make(*shape), 0.4, dim=dim)


@pytest.mark.parametrize("shape", [(), (0,), (1,), (2,)])
def test_tiny_rows(make, shape):
    x = make(*shape)
    assert_solves(x, 0.4)
    if x.numel() <= 1:
        assert torch.equal(tautstring.prox_tv1d(x, 0.4), x)


@pytest.mark.parametrize(
    "lam_shape", [(), (1,), (3, 1), (2, 1, 1), (2, 3, 1), (11,), (3, 11), (2, 1, 11), (2, 3, 11)]
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_lam_one_a_row_one_an_edge_and_shared(make, make_positive, lam_shape, dtype):
    assert_solves(make(2, 3, 12, dtype=dtype), make_positive(*lam_shape, dtype=dtype))


def test_lam_along_a_middle_dim_is_one_a_row_or_one_an_edge(make, make_positive):
    x = make(2, 6, 3)
    assert_solves(x, make_positive(2, 1, 3), dim=1)
    assert_solves(x, make_positive(5, 1), dim=1)


@pytest.mark.parametrize("weight_shape", [(), (12,), (3, 1), (2, 3, 12)])
@pytest.mark.parametrize("mode", MODES)
def test_data_weights_broadcast(make, make_positive, weight_shape, mode):
    x = make(2, 3, 12)
    assert_solves(x, make_positive(3, 1), weight=make_positive(*weight_shape), mode=mode)


def test_missing_samples_are_not_read(make):
    x = make(3, 12)
    weight = torch.ones_like(x)
    weight[:, 4:6] = 0
    filled = tautstring.prox_tv1d(x, 0.3, weight=weight)
    x[:, 4:6] = float("nan")
    assert torch.equal(tautstring.prox_tv1d(x, 0.3, weight=weight), filled)


@pytest.mark.parametrize("number", [1, 0.5, np.float32(0.5), np.float64(0.5), Fraction(1, 2), True])
def test_numbers_of_any_type_are_lambdas(make, number):
    x = make(3, 12)
    expected = tautstring.prox_tv1d(x, torch.tensor(float(number), device=x.device))
    assert torch.equal(tautstring.prox_tv1d(x, number), expected)


def test_dtypes_of_x_lam_and_weight_may_differ(make, make_positive):
    x = make(3, 12, dtype=torch.bfloat16)
    assert_solves(x, make_positive(3, 1), weight=make_positive(12, dtype=torch.float16))
    assert_solves(make(3, 12), make_positive(3, 1, dtype=torch.float32))


def assert_same_bits(one, other):
    bits = {8: torch.int64, 4: torch.int32, 2: torch.int16}[one.element_size()]
    assert torch.equal(one.view(bits), other.view(bits))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_lam_zero_is_the_identity_bit_for_bit(device, make_positive, dtype, mode, weighted):
    values = [1.0, -0.0, float("inf"), 3.0, float("nan"), 1e-7, -2.5, 0.0]
    x = torch.tensor([values, values[::-1]], dtype=dtype, device=device)
    for weight in (make_positive(8), make_positive(2, 8)) if weighted else (None,):
        for lam in (
            0.0,
            -0.0,
            *(torch.zeros(s, device=device) for s in [(), (2, 1), (7,), (2, 7)]),
        ):
            assert_same_bits(tautstring.prox_tv1d(x, lam, weight=weight, mode=mode), x)


@pytest.mark.parametrize("n", [8, 300, 5000])
@pytest.mark.parametrize("mode", MODES)
def test_rows_with_lam_zero_are_copied_beside_others(make, make_positive, mode, n):
    x = make(4, n, dtype=torch.float32)
    x[0, 1], x[2, 3] = -0.0, float("nan")
    lam = torch.tensor([0, 0.3, 0, 0.5], device=x.device)[:, None]
    for given in (lam, lam.expand(4, n - 1)):
        for weight in (None, make_positive(n)):
            y = tautstring.prox_tv1d(x, given, weight=weight, mode=mode)
            assert_same_bits(y[::2], x[::2])
            assert not torch.equal(y[1::2], x[1::2])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_lam_zero_along_one_dim_then_the_other_is_the_identity(make, dtype, mode):
    x = make(2, 3, 20, 30, dtype=dtype)
    y = tautstring.prox_tv1d(x, 0.0, dim=-1, mode=mode)
    assert_same_bits(tautstring.prox_tv1d(y, torch.zeros(3, 1, 1).to(x), dim=-2, mode=mode), x)


@pytest.mark.parametrize("lam", [1e5, 3.4028235677973366e38, 1e39, 1e300, 10**300])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_lam_beyond_any_float32_gives_the_mean(make, make_positive, dtype, lam):
    x, weight = make(6, 200, dtype=dtype), make_positive(200)
    given = torch.tensor(lam, dtype=torch.float64, device=x.device)
    mean = x.double().mean(-1, keepdim=True).expand_as(x)
    assert_close(tautstring.prox_tv1d(x, lam), mean, x)
    for mode in MODES:
        for value in (lam, given, given.expand(6, 1), given.expand(199)):
            assert_solves(x, value, mode=mode)
            assert_solves(x, value, weight=weight, mode=mode)
        edges = given.repeat(199)
        edges[[20, 100]] = 0.3
        assert_solves(x, edges, mode=mode)


def test_lam_inf_gives_the_mean(make):
    x = make(3, 12)
    y = tautstring.prox_tv1d(x, float("inf"))
    torch.testing.assert_close(y, x.mean(-1, keepdim=True).expand_as(x))


def test_row_that_is_not_finite_comes_out_nan_alone(make):
    x = make(4, 12)
    clean = tautstring.prox_tv1d(x, 0.3)
    x[1, 5], x[2, 0] = float("nan"), float("inf")
    y = tautstring.prox_tv1d(x, 0.3)
    assert y[1:3].isnan().all()
    assert torch.equal(y[[0, 3]], clean[[0, 3]])


@pytest.mark.parametrize("dim", [0, 1, 2, 3])
def test_channels_last_is_kept_and_gives_the_same_bits(make, dim):
    x = make(2, 3, 5, 6, dtype=torch.float32)
    last = x.to(memory_format=torch.channels_last)
    y = tautstring.prox_tv1d(last, 0.3, dim=dim)
    assert y.is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(y, tautstring.prox_tv1d(x, 0.3, dim=dim))


def views_of(x):
    """Views of x's memory: transposed, with gaps, a slice, repeated rows."""
    yield x.transpose(0, 1)
    yield x[::2, 1::3]
    yield x[:, 2:9]
    yield x[0].expand(5, -1)
    yield x.unsqueeze(1).flatten(0, 1).t()
    yield x.as_strided((4, 6), (3, 2))


def test_views_give_the_bits_of_their_copies(make):
    for view, dim in itertools.product(views_of(make(8, 12)), (0, 1)):
        expected = tautstring.prox_tv1d(view.contiguous(), 0.3, dim=dim)
        assert torch.equal(tautstring.prox_tv1d(view, 0.3, dim=dim), expected)


def test_a_negated_view_is_read_as_what_it_stands_for(make):
    imaginary = torch.complex(make(3, 12), make(3, 12)).conj().imag
    assert imaginary.is_neg()
    expected = tautstring.prox_tv1d(imaginary.resolve_neg(), 0.3)
    assert torch.equal(tautstring.prox_tv1d(imaginary, 0.3), expected)


def test_x_is_not_written_to(make):
    x = make(3, 12)
    before = x.clone()
    y = tautstring.prox_tv1d(x, 0.3)
    assert torch.equal(x, before)
    assert y.data_ptr() != x.data_ptr()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_autocast_changes_no_dtype_and_no_bit(make, make_positive, dtype):
    x, lam = make(6, 50, dtype=torch.float32), make_positive(6, 1, dtype=torch.float32)
    expected = tautstring.prox_tv1d(x.to(dtype), lam)
    with torch.autocast(x.device.type, dtype=torch.bfloat16):
        y = tautstring.prox_tv1d(x.to(dtype), lam)
    assert y.dtype == dtype
    assert torch.equal(y, expected)


def test_the_same_bits_for_any_number_of_threads(make):
    x = make(500, 64, dtype=torch.float32)
    threads = torch.get_num_threads()
    results = []
    try:
        for count in (1, 2, 5):
            torch.set_num_threads(count)
            results.append(tautstring.prox_tv1d(x, 0.3))
    finally:
        torch.set_num_threads(threads)
    assert all(torch.equal(results[0], result) for result in results)


def test_deterministic_algorithms_are_all_there_are(make, make_positive):
    x, lam = make(50, 64, requires_grad=True), make_positive(1, requires_grad=True)
    torch.use_deterministic_algorithms(True)
    try:
        tautstring.prox_tv1d(x, lam).square().sum().backward()
    finally:
        torch.use_deterministic_algorithms(False)
    assert lam.grad.isfinite().all()


def test_calls_from_many_threads_do_not_disturb_one_another(make):
    x = make(8, 20000)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda row: tautstring.prox_tv1d(row, 0.5), x))
    assert torch.equal(torch.stack(results), tautstring.prox_tv1d(x, 0.5))


class Smoothed(torch.utils.data.Dataset):
    """Solves in the process that loads a sample."""

    def __init__(self, samples):
        self.samples = samples

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, i):
        return tautstring.prox_tv1d(self.samples[i], 0.5)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # newer Pythons warn of fork itself
def test_a_forked_worker_solves_after_its_parent_did(rng):
    samples = torch.from_numpy(rng.normal(0, 1, (2, 100, 500)))
    expected = tautstring.prox_tv1d(samples, 0.5)  # large enough for all threads
    loader = torch.utils.data.DataLoader(
        Smoothed(samples), batch_size=2, num_workers=1, multiprocessing_context="fork", timeout=60
    )
    assert torch.equal(next(iter(loader)), expected)
