# prox_tv2d and TVLayer with tol: the method they take, and a warning where tol is missed.
import warnings

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch_support import warns_of_missed_tolerance

import tautstring
from tautstring import TVLayer

MISSED = {"tol": 1e-9, "iterations": 4}


def test_with_tol_the_default_is_accelerated(make):
    x = make(256, 256, dtype=torch.float32)
    y, info = tautstring.prox_tv2d(x, 1.0, tol=1e-4, return_info=True)
    assert info.converged and info.iterations < 128
    assert torch.equal(y, tautstring.prox_tv2d(x, 1.0, method="accelerated", tol=1e-4))


def test_a_method_that_is_named_is_taken(make):
    x = make(3, 12, 17)
    options = {"tol": 1e-4, "return_info": True}
    _, info = tautstring.prox_tv2d(x, 0.5, method="dykstra", **options)
    assert info.converged.all()
    _, accelerated = tautstring.prox_tv2d(x, 0.5, **options)
    assert (info.iterations > accelerated.iterations).all()


def test_the_layers_default_is_that_of_the_function(make):
    x = make(2, 3, 24, 24)
    assert TVLayer(3).method is None
    for options in ({}, {"tol": 1e-4}, {"tol": 1e-4, "method": "dykstra"}, {"iterations": 2}):
        y = TVLayer(1, lam=0.3, learnable=False, dtype=x.dtype, **options).to(x.device)(x)
        assert torch.equal(y, tautstring.prox_tv2d(x, 0.3, **options))


def test_a_missed_tolerance_is_told_with_what_to_do(make):
    x = make(3, 12, 17)
    x[1] *= 1e-3  # constant at once
    message = (
        r"^prox_tv2d: 2 of 3 images \(0, 2\) stopped after 4 iterations to a gap of "
        r"[\d.e-]+ of the objective, which is above tol 1e-09; allow more iterations, "
        r"or use method='accelerated'$"
    )
    with warns_of_missed_tolerance(x, message):
        y = tautstring.prox_tv2d(x, 0.5, method="dykstra", **MISSED)
    with warns_of_missed_tolerance(x, message):
        y, info = tautstring.prox_tv2d(x, 0.5, method="dykstra", return_info=True, **MISSED)
    assert isinstance(y, torch.Tensor)
    assert info.converged.tolist() == [False, True, False]


def test_every_line_is_told_once(images):
    x = torch.from_numpy(images)
    with pytest.warns(RuntimeWarning) as caught:
        for _ in range(3):
            tautstring.prox_tv2d(x, 0.5, **MISSED)
        tautstring.prox_tv2d(x, 0.5, **MISSED)
    assert [warning.filename for warning in caught] == [__file__] * 2
    assert caught[1].lineno == caught[0].lineno + 1


def test_a_layer_in_a_net_tells_the_line_that_calls_the_net(images):
    net = torch.nn.Sequential(torch.nn.Identity(), TVLayer(1, lam=0.5, **MISSED))
    x = torch.from_numpy(images)[None]
    message = r"3 of 3 images \(\(0, 0\), \(0, 1\), \(0, 2\)\)"
    with pytest.warns(RuntimeWarning, match=message) as caught:
        net(x)
    assert caught[0].filename == __file__


def test_a_warning_that_is_an_error_is_raised_every_time(images):
    x = torch.from_numpy(images[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            with pytest.raises(RuntimeWarning, match="prox_tv2d: the image stopped"):
                tautstring.prox_tv2d(x, 0.5, **MISSED)


@pytest.mark.filterwarnings("ignore:prox_tv2d")
@pytest.mark.parametrize("grad", ["unrolled", "implicit"])
def test_the_warning_changes_no_bit_of_results_and_gradients(make, grad):
    x, lam = make(3, 12, 17, requires_grad=True), torch.tensor(0.5, requires_grad=True)
    lam = lam.to(x.device)
    results = []
    for _ in range(2):  # the line is told once
        y = tautstring.prox_tv2d(x, lam, grad=grad, **MISSED)
        results.append([y, *torch.autograd.grad(y.square().sum(), (x, lam))])
    assert all(torch.equal(*pair) for pair in zip(*results, strict=True))


def test_nothing_is_told_where_nothing_was_missed(make):
    x = make(3, 12, 17)
    tautstring.prox_tv2d(x, 0.5, iterations=1)  # no tolerance
    tautstring.prox_tv2d(x, 0.5, tol=1e-3)
    tautstring.prox_tv2d(x, 0.0, tol=1e-9)  # copied
    tautstring.prox_tv2d(torch.full_like(x, torch.nan), 0.5, tol=1e-9)  # there is no solution
    tautstring.prox_tv2d(x[:, :0], 0.5, tol=1e-9)
    tautstring.prox_tv2d(x[:0], 0.5, tol=1e-9)


def test_nothing_is_told_inside_transforms_and_traces(make):
    def solve(x):
        return tautstring.prox_tv2d(x, 0.5, **MISSED)

    x = make(3, 12, 17)
    torch.vmap(solve)(x)
    torch.func.grad(lambda x: solve(x).sum())(x)
    torch.func.jvp(solve, (x,), (x,))
    make_fx(solve, tracing_mode="fake")(x)
    make_fx(solve)(x)
    torch.compile(solve, fullgraph=True, backend="aot_eager")(x)
    torch.compile(solve, fullgraph=True, backend="aot_eager")(x.clone().requires_grad_())
    solve(x.to("meta"))
