# Derivatives of tautstring.prox_tv2d: first and second, backward and forward, of the iterations
# and of the solution; what is saved for them; their dtypes and shapes.
import pytest
import torch
from test_torch_gradients import Partitions, check_all_derivatives, every_hessian, saved_bytes
from torch.autograd import forward_ad
from torch_support import DTYPES, assert_close

import tautstring
from tautstring import _extension

MODES = ["smooth", "sharp"]
# Plain iterations, and calls that come close to the solution.
SOLVERS = {
    "dykstra": {},
    "accelerated": {"method": "accelerated", "iterations": 5},
    "stopped": {"method": "accelerated", "tol": 1e-4, "grad": "unrolled"},
    "implicit": {"method": "accelerated", "tol": 1e-12, "iterations": 400},
}


@pytest.fixture(params=SOLVERS)
def solver(request):
    return SOLVERS[request.param]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("lam_shape", [(), (2, 1, 1)])
def test_derivatives_of_x_and_lam(make, make_positive, solver, mode, lam_shape):
    x = make(2, 4, 5, requires_grad=True)
    lam = make_positive(*lam_shape, requires_grad=True)
    check_all_derivatives(
        lambda x, lam: tautstring.prox_tv2d(x, lam, mode=mode, **solver), (x, lam)
    )


@pytest.mark.parametrize(
    "row_shape, column_shape",
    [((), (1, 1)), ((2, 1, 1), ()), ((4,), (3, 1)), ((4, 4), (3, 5)), ((2, 4, 1), (2, 1, 5))],
)
def test_derivatives_of_both_lams(make, make_positive, solver, row_shape, column_shape):
    arguments = (
        make(2, 4, 5, requires_grad=True),
        make_positive(*row_shape, requires_grad=True),
        make_positive(*column_shape, requires_grad=True),
    )
    check_all_derivatives(
        lambda x, rows, columns: tautstring.prox_tv2d(x, (rows, columns), **solver), arguments
    )


@pytest.mark.parametrize("dims", [(0, 1), (2, 0)])
def test_derivatives_along_any_dims_of_any_strides(make, make_positive, solver, dims):
    x = make(3, 4, 2).permute(2, 0, 1).requires_grad_()
    lam = make_positive(1, 1, 1, requires_grad=True)
    check_all_derivatives(
        lambda x, lam: tautstring.prox_tv2d(x, lam, dims=dims, **solver), (x, lam)
    )


def test_derivatives_with_numbers_as_lams(make, make_positive, solver):
    x = make(2, 4, 5, requires_grad=True)
    lam = make_positive(requires_grad=True)
    check_all_derivatives(lambda x: tautstring.prox_tv2d(x, 0.3, **solver), (x,))
    check_all_derivatives(
        lambda lam: tautstring.prox_tv2d(x.detach(), (0.3, lam), **solver), (lam,)
    )
    check_all_derivatives(lambda x, lam: tautstring.prox_tv2d(x, (lam, 0.3), **solver), (x, lam))


def test_derivatives_of_a_call_with_a_start(make, make_positive):
    x, lam = make(2, 4, 5, requires_grad=True), make_positive(requires_grad=True)
    _, info = tautstring.prox_tv2d(x, lam, return_info=True)
    start = 0.5 * info.dual
    for options in (SOLVERS["dykstra"], SOLVERS["accelerated"]):
        check_all_derivatives(
            lambda x, lam, options=options: tautstring.prox_tv2d(x, lam, start=start, **options),
            (x, lam),
        )


@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (4, 1), (3, 1, 1)])
def test_derivatives_of_tiny_images(make, make_positive, solver, shape):
    x, lam = make(*shape, requires_grad=True), make_positive(requires_grad=True)
    check_all_derivatives(lambda x, lam: tautstring.prox_tv2d(x, lam, **solver), (x, lam))


@pytest.mark.parametrize("mode", MODES)
def test_hessians_by_all_orders_of_transforms_agree(make, make_positive, solver, mode):
    arguments = (make(2, 3, 4), make_positive(2, 1, 1), make_positive(3))

    def loss(x, rows, columns):
        pair = (rows, columns.sum())
        return tautstring.prox_tv2d(x.square(), pair, mode=mode, **solver).sin().sum()

    expected = torch.autograd.functional.hessian(loss, arguments)
    assert expected[0][1].abs().max() > 0
    for hessian in every_hessian(loss, arguments):
        torch.testing.assert_close(hessian, expected, rtol=1e-9, atol=1e-9)


def test_tangents_are_not_zero(make, make_positive, solver):
    x, lam = make(3, 6, 8), make_positive(3, 1, 1)
    tangents = torch.ones_like(x), torch.full_like(lam, 0.1)

    def solve(x, lam):
        return tautstring.prox_tv2d(x, lam, **solver)

    for primals in ((x, lam), (x.clone().requires_grad_(), lam)):
        _, by_func = torch.func.jvp(solve, primals, tangents)
        with forward_ad.dual_level():
            duals = [forward_ad.make_dual(p, t) for p, t in zip(primals, tangents, strict=True)]
            by_level = forward_ad.unpack_dual(solve(*duals)).tangent
        assert torch.equal(by_func, by_level)
        assert (by_func != 0).all()
        assert not torch.allclose(by_func, torch.ones_like(by_func))


def test_vmap_over_any_argument_is_the_loop(make, make_positive, solver):
    x, rows, columns = make(4, 3, 6, 5), make_positive(4, 4), make_positive(3, 1, 1, 4)
    start = 0.1 * make(4, 3, 6, 5)

    def solve(x, rows, columns, start):
        return tautstring.prox_tv2d(
            x, (rows, columns), start=start, mode="sharp", return_info=True, **solver
        )

    arguments = (x, rows, columns, start)
    own = (0, 0, 3, 0)
    for dims in [
        (0, 0, 3, 0),
        (0, None, None, None),
        (None, 0, None, None),
        (None, None, 3, None),
        (None, None, None, 0),
    ]:
        given = [
            value if dim is not None else value.select(other, 0)
            for value, dim, other in zip(arguments, dims, own, strict=True)
        ]
        y, info = torch.vmap(solve, in_dims=dims)(*given)
        for i in range(4):
            one = [
                value if dim is None else value.select(dim, i)
                for value, dim in zip(given, dims, strict=True)
            ]
            expected, expected_info = solve(*one)
            assert torch.equal(y[i], expected)
            for part, other in zip(info, expected_info, strict=True):
                assert torch.equal(part[i], other)


def test_per_sample_gradients_by_vmap_of_grad(make, make_positive, solver):
    x, lam = make(4, 3, 6, 20), make_positive(4)  # batches of 3 images, rows of two words

    def loss(x, lam):
        return tautstring.prox_tv2d(x, lam, **solver).square().sum()

    grads = torch.vmap(torch.func.grad(loss, argnums=(0, 1)))(x, lam)
    for i in range(4):
        expected = torch.func.grad(loss, argnums=(0, 1))(x[i], lam[i])
        torch.testing.assert_close([g[i] for g in grads], list(expected), rtol=1e-12, atol=1e-12)


def test_vmap_in_vmap_is_the_loop_of_loops(make, make_positive, solver):
    x, lam = make(2, 3, 2, 4, 18), make_positive(3)

    def loss(x, lam):
        return tautstring.prox_tv2d(x, lam, **solver).square().sum()

    grad = torch.func.grad(loss, argnums=(0, 1))
    grads = torch.vmap(torch.vmap(grad), in_dims=(0, None))(x, lam)
    for i in range(2):
        for j in range(3):
            expected = grad(x[i, j], lam[j])
            torch.testing.assert_close(
                [g[i, j] for g in grads], list(expected), rtol=1e-12, atol=1e-12
            )


def test_jacobians_of_a_batch_of_images_agree(make):
    x = make(2, 4, 18)

    def solve(x):
        return tautstring.prox_tv2d(x, 0.3)

    by_rows, by_columns = torch.func.jacrev(solve)(x), torch.func.jacfwd(solve)(x)
    torch.testing.assert_close(by_rows, by_columns)
    assert by_rows[0, :, :, 1].abs().max() == 0  # images are independent


def test_functionalize_alone_gives_the_same(make, make_positive):
    x, lam = make(3, 6, 5, requires_grad=True), make_positive(3, 1, 1, requires_grad=True)

    def solve(x, lam):
        return tautstring.prox_tv2d(x.clone().add_(1), lam)

    y = torch.func.functionalize(solve)(x, lam)
    assert torch.equal(y, solve(x, lam))
    expected = torch.autograd.grad(solve(x, lam).square().sum(), (x, lam))
    torch.testing.assert_close(torch.autograd.grad(y.square().sum(), (x, lam)), expected)


def gradients_of(x, lam, grad_y, **options):
    x, lam = x.clone().requires_grad_(), lam.clone().requires_grad_()
    return torch.autograd.grad(tautstring.prox_tv2d(x, lam, **options), (x, lam), grad_y)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_gradients_in_every_dtype_agree_with_float64(make, dtype):
    x, grad_y = make(6, 10, 12, dtype=dtype), make(6, 10, 12, dtype=dtype)
    lam = torch.full((6, 1, 1), 0.5, dtype=dtype, device=x.device)
    result = gradients_of(x, lam, grad_y)
    expected = gradients_of(x.double(), lam.double(), grad_y.double())
    # Two precisions may split a near-tie differently: there all of an image's gradient differs.
    error = (result[0].double() - expected[0]).abs().amax((1, 2))
    same = error < 1e-2
    assert same.sum() >= 5
    assert_close(result[0][same], expected[0][same], grad_y, factor=16)
    assert_close(result[1][same], expected[1][same], grad_y, factor=100)  # a sum of 16 passes


# A tolerance of 1e-12 is more than these results can hold.
@pytest.mark.filterwarnings("ignore:prox_tv2d:RuntimeWarning")
def test_gradients_have_the_shapes_and_dtypes_of_their_arguments(make, make_positive, solver):
    arguments = [
        make(2, 3, 8, 9, dtype=torch.bfloat16, requires_grad=True),
        make_positive(3, 1, 1, dtype=torch.float32, requires_grad=True),
        make_positive(7, 1, dtype=torch.float64, requires_grad=True),
    ]
    tautstring.prox_tv2d(arguments[0], tuple(arguments[1:]), **solver).sum().backward()
    for argument in arguments:
        assert argument.grad.shape == argument.shape
        assert argument.grad.dtype == argument.dtype


def test_a_gradient_in_channels_last_stays_so(make):
    x = make(2, 3, 5, 6).to(memory_format=torch.channels_last).requires_grad_()
    (grad_x,) = torch.autograd.grad(tautstring.prox_tv2d(x, 0.3).square().sum(), x)
    assert grad_x.is_contiguous(memory_format=torch.channels_last)


def test_shared_lam_is_summed_in_float64(make):
    x, grad_y = make(500, 8, 8, dtype=torch.float32), make(500, 8, 8, dtype=torch.float32)
    lam = torch.tensor(0.25, device=x.device)
    _, shared = gradients_of(x, lam, grad_y)
    pair = [lam.expand(500, 8, 1).clone().requires_grad_() for _ in range(2)]
    pair[1] = lam.expand(500, 1, 8).clone().requires_grad_()
    each = torch.autograd.grad(tautstring.prox_tv2d(x, tuple(pair)), pair, grad_y)
    assert shared == each[0].double().sum().float() + each[1].double().sum().float()


# A tolerance of 1e-12 is more than these results can hold.
@pytest.mark.filterwarnings("ignore:prox_tv2d:RuntimeWarning")
@pytest.mark.parametrize("mode", MODES)
def test_lam_zero_hands_the_gradient_through_bit_for_bit(make, solver, mode):
    x, grad_y = make(3, 8, 9, dtype=torch.float32), make(3, 8, 9, dtype=torch.float32)
    lam = torch.tensor([0, 0.3, 0], device=x.device)[:, None, None]
    grad_x, _ = gradients_of(x, lam, grad_y, mode=mode, **solver)
    assert torch.equal(grad_x[::2], grad_y[::2])
    assert not torch.equal(grad_x[1], grad_y[1])


def test_an_image_that_is_not_finite_disturbs_no_other_gradient(make, solver):
    x, grad_y = make(3, 8, 9), make(3, 8, 9)
    lam = torch.full((3, 1, 1), 0.3, dtype=x.dtype, device=x.device)
    clean = gradients_of(x, lam, grad_y, **solver)
    x[1, 2, 3] = float("nan")
    for result, expected in zip(gradients_of(x, lam, grad_y, **solver), clean, strict=True):
        assert torch.equal(result[::2], expected[::2])


def test_backward_twice_with_retain_graph_gives_the_same(make, make_positive, solver):
    x, lam = make(3, 8, 5, requires_grad=True), make_positive(requires_grad=True)
    loss = tautstring.prox_tv2d(x, lam, **solver).square().sum()
    first = torch.autograd.grad(loss, (x, lam), retain_graph=True)
    second = torch.autograd.grad(loss, (x, lam))
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


def test_what_is_saved_is_four_bits_a_pixel_and_iteration(make, make_positive):
    x = make(16, 32, 48, dtype=torch.float32, requires_grad=True)
    lam = make_positive(dtype=torch.float32, requires_grad=True)
    codes, done, momentum = x.numel() // 2, 16 * 4, 16 * 8
    for iterations in (1, 4):
        saved = saved_bytes(lambda k=iterations: tautstring.prox_tv2d(x, lam, iterations=k))
        assert saved == iterations * (codes + momentum) + done
    # Of the solution, for any number of iterations.
    assert saved_bytes(lambda: tautstring.prox_tv2d(x, lam, tol=1e-3)) == codes + done


def bytes_of_partitions(*arguments, **options):
    with Partitions(_extension.solve2d, _extension.solve2d_number) as partitions:
        tautstring.prox_tv2d(*arguments, **options)
    return partitions.bytes


def test_no_partition_is_made_where_nothing_needs_a_gradient(make, make_positive, solver):
    x, lam = make(4, 16, 32), make_positive(1, 1)
    assert bytes_of_partitions(x, 0.3, **solver) == 0
    assert bytes_of_partitions(x, lam, **solver) == 0
    assert bytes_of_partitions(x, (lam, 0.3), return_info=True, **solver) == 0
    for argument in (x, lam):
        argument.requires_grad_()
        assert bytes_of_partitions(x, lam, **solver) >= x.numel() // 2
        with torch.no_grad():
            assert bytes_of_partitions(x, lam, **solver) == 0


def test_only_wanted_gradients_are_computed(make, make_positive):
    x, lam = make(4, 16, 32), make_positive(1, 1)
    _, *saved = _extension.solve2d(
        x, lam, lam, None, 1, 2, False, False, 4, 0.0, False, True, False
    )[:4]
    rest = (x, *saved, 1, 2, False, 4, False, x.dtype)
    lams = (1, (0, 1), x.dtype, 1, (0, 2), x.dtype)
    for wanted in [(True, False, False), (False, True, False), (False, False, True)]:
        gradients = _extension.backward2d(*rest, *lams, *wanted)
        assert [g.numel() > 0 for g in gradients] == list(wanted)


def test_start_has_no_gradient_and_says_so(make):
    x, start = make(3, 6, 5), make(3, 6, 5)

    def solve(start):
        return tautstring.prox_tv2d(x, 0.3, start=start).square().sum()

    def backward():
        solve(start.clone().requires_grad_()).backward()

    def by_level():
        with forward_ad.dual_level():
            solve(forward_ad.make_dual(start, torch.ones_like(start)))

    for ask in (
        backward,
        by_level,
        lambda: torch.func.grad(solve)(start),
        lambda: torch.func.jvp(solve, (start,), (start,)),
    ):
        with pytest.raises(NotImplementedError, match=r"^prox_tv2d: treats start as a constant"):
            ask()


def test_reports_have_no_gradient(make):
    x = make(3, 6, 5, requires_grad=True)
    y, info = tautstring.prox_tv2d(x, 0.3, return_info=True)
    assert y.requires_grad and not any(part.requires_grad for part in info)
    (grad_x,) = torch.autograd.grad(y.square().sum(), x)
    (expected,) = torch.autograd.grad(tautstring.prox_tv2d(x, 0.3).square().sum(), x)
    assert torch.equal(grad_x, expected)
    # Nor a tangent: a product with them has only the derivative of the other factor.
    _, tangent = torch.func.jvp(
        lambda x: x * tautstring.prox_tv2d(x, 0.3, return_info=True)[1].gap[:, None, None],
        (x.detach(),),
        (torch.ones_like(x),),
    )
    torch.testing.assert_close(tangent, info.gap[:, None, None].expand_as(x))


def test_checkpointing_recomputes_the_same(make, make_positive):
    from torch.utils.checkpoint import checkpoint

    x, lam = make(3, 8, 5, requires_grad=True), make_positive(requires_grad=True)
    plain = torch.autograd.grad(tautstring.prox_tv2d(x, lam).square().sum(), (x, lam))
    y = checkpoint(tautstring.prox_tv2d, x, lam, use_reentrant=False)
    again = torch.autograd.grad(y.square().sum(), (x, lam))
    assert all(torch.equal(a, b) for a, b in zip(plain, again, strict=True))
