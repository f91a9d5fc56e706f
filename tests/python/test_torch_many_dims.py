# Tensors of more than eight dimensions: same results as with few dimensions.
import pytest
import torch

import tautstring

SHAPES = [(2, 1, 2, 3, 2, 1, 2, 2, 5), (2, 1, 3, 2, 1, 2, 1, 2, 1, 1, 2, 5)]


@pytest.fixture(params=SHAPES, ids=lambda shape: f"{len(shape)} dims")
def x(request, make):
    return make(*request.param)


def flat(x, dim):
    """The same rows in three dimensions, with dim the second."""
    return x.reshape(x.shape[:dim].numel(), x.shape[dim], -1)


@pytest.mark.parametrize("dim", [0, 3, -1])
def test_rows(x, dim):
    dim %= x.ndim
    y = tautstring.prox_tv1d(x, 0.4, dim=dim)
    assert torch.equal(flat(y, dim), tautstring.prox_tv1d(flat(x, dim), 0.4, dim=1))
    newton = tautstring.prox_tv1d(x, 0.4, dim=dim, solver="newton")
    torch.testing.assert_close(newton, y, rtol=0, atol=1e-12)
    assert (tautstring.certificate1d(x, y, 0.4, dim=dim) < 1e-12).all()


def test_dense_tensors_keep_their_strides(x):
    last = x.movedim(1, -1).contiguous().movedim(-1, 1)  # channels last
    y = tautstring.prox_tv1d(last, 0.4)
    assert y.stride() == last.stride()
    assert torch.equal(y, tautstring.prox_tv1d(x, 0.4))


def test_readings(x):
    rows = x.reshape(-1, x.shape[-1])
    assert torch.equal(tautstring.lam_max(x).reshape(-1), tautstring.lam_max(rows))
    assert torch.equal(tautstring.tv(x).reshape(-1), tautstring.tv(rows))
    pairs = zip(tautstring.segments1d(x, 0.4), tautstring.segments1d(rows, 0.4), strict=True)
    assert all(torch.equal(*starts) for starts in [(a.starts, b.starts) for a, b in pairs])


@pytest.mark.parametrize("mode", ["smooth", "sharp"])
def test_gradients(x, make_positive, mode):
    x.requires_grad_()
    lam = make_positive(x.shape[-6], *[1] * 5, requires_grad=True)
    weight = make_positive(x.shape[-1], requires_grad=True)
    few_shape = (-1, x.shape[-6], x.shape[-5:-1].numel(), x.shape[-1])
    for given in (None, weight):
        y = tautstring.prox_tv1d(x, lam, weight=given, mode=mode)
        few = tautstring.prox_tv1d(
            x.reshape(few_shape), lam.reshape(-1, 1, 1), weight=given, mode=mode
        )
        assert torch.equal(y.reshape(few.shape), few)
        arguments = (x, lam) if given is None else (x, lam, weight)
        for loss in (torch.Tensor.sum, lambda y: y.sin().sum()):  # of the first g is expanded
            grads = torch.autograd.grad(loss(y), arguments, retain_graph=True)
            expected = torch.autograd.grad(loss(few), arguments, retain_graph=True)
            torch.testing.assert_close(grads, expected, rtol=1e-12, atol=1e-12)


def test_double_backward_and_transforms(x, make_positive):
    x = x[..., :1, :].contiguous()
    lam = make_positive(*[1] * x.ndim)

    def solve(x, lam):
        return tautstring.prox_tv1d(x, lam)

    few = x.reshape(-1, x.shape[-1])

    def loss(x, lam):
        return solve(x, lam).sin().sum()

    hessian_times_x = torch.func.jvp(torch.func.grad(loss), (x, lam), (x, torch.ones_like(lam)))
    one = lam.reshape(1, 1)
    expected = torch.func.jvp(torch.func.grad(loss), (few, one), (few, torch.ones_like(one)))
    for result, other in zip(hessian_times_x, expected, strict=True):
        torch.testing.assert_close(result.reshape(few.shape), other, rtol=1e-12, atol=1e-12)
    mapped = torch.vmap(lambda part: solve(part, 0.4))(x)
    assert torch.equal(mapped, solve(x, 0.4))


@pytest.mark.parametrize("grad", ["unrolled", "implicit"])
@pytest.mark.parametrize("dims", [(-2, -1), (3, -1), (0, 3)])
def test_images(x, make_positive, dims, grad):
    x.requires_grad_()
    is_image_dim = [d in dims or d - x.ndim in dims for d in range(x.ndim)]
    shape = [1 if own else size for own, size in zip(is_image_dim, x.shape, strict=True)]
    lam = make_positive(*shape, requires_grad=True)
    moved = x.movedim(dims, (-2, -1))
    few = moved.reshape(-1, *moved.shape[-2:])
    few_lam = lam.movedim(dims, (-2, -1)).reshape(-1, 1, 1)
    options = {"tol": 1e-6, "grad": grad, "return_info": True}
    y, info = tautstring.prox_tv2d(x, lam, dims=dims, **options)
    expected, few_info = tautstring.prox_tv2d(few, few_lam, **options)
    assert torch.equal(y.movedim(dims, (-2, -1)).reshape(few.shape), expected)
    assert torch.equal(info.gap.reshape(-1), few_info.gap)
    gap = tautstring.gap2d(*[t.detach() for t in (x, y, lam)], dims=dims)
    few_gap = tautstring.gap2d(*[t.detach() for t in (few, expected, few_lam)])
    assert torch.equal(gap.reshape(-1), few_gap)
    grads = torch.autograd.grad(y.sin().sum(), (x, lam))
    few_grads = torch.autograd.grad(expected.sin().sum(), (x, lam))
    torch.testing.assert_close(grads, few_grads, rtol=1e-12, atol=1e-12)


def test_a_compiled_call(x):
    compiled = torch.compile(lambda x: tautstring.prox_tv1d(x, 0.4), backend="aot_eager")
    assert torch.equal(compiled(x), tautstring.prox_tv1d(x, 0.4))
