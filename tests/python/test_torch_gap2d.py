# tautstring.gap2d on torch tensors: NumPy's numbers, transforms, graphs, bad arguments.
import pytest
import torch
from test_torch_bad_input import assert_raises
from test_torch_compile import assert_opcheck
from test_torch_gradients import assert_no_gradient
from torch_support import DTYPES

import tautstring
import tautstring.numpy as tn
from tautstring import _extension


@pytest.mark.parametrize("with_dual", [False, True])
def test_gap_is_that_of_numpy(make, make_positive, with_dual):
    x, rows, columns = make(2, 3, 12, 17), make_positive(3, 12, 16), make_positive(11, 1)
    y, info = tautstring.prox_tv2d(x, (rows, columns), return_info=True)
    dual = info.dual if with_dual else None
    gap = tautstring.gap2d(x, y, (rows, columns), dual=dual)
    arrays = [None if t is None else t.cpu().numpy() for t in (x, y, rows, columns, dual)]
    expected = torch.from_numpy(tn.gap2d(*arrays[:2], tuple(arrays[2:4]), dual=arrays[4]))
    assert gap.dtype == torch.float64
    # CUDA adds up in another order.
    torch.testing.assert_close(gap.cpu(), expected, rtol=1e-9 if gap.is_cuda else 0, atol=0)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_gap_of_a_result_is_not_more_than_the_one_that_came_with_it(make, dtype):
    x = make(3, 20, 33, dtype=dtype)
    y, info = tautstring.prox_tv2d(x, 0.5, return_info=True)
    gap = tautstring.gap2d(x, y, 0.5, dual=info.dual)
    if dtype in (torch.float32, torch.float64):
        assert (gap <= info.gap).all()
    assert (gap > 0.5 * info.gap).all()  # small types: of y as it was rounded


def test_dtypes_of_x_y_lam_and_dual_may_differ(make, make_positive):
    x, lam = make(3, 12, 20, dtype=torch.float32), make_positive(3, 1, 1)
    y, info = tautstring.prox_tv2d(x, lam, return_info=True)
    gap = tautstring.gap2d(x, y, lam, dual=info.dual)
    arguments = (x.double(), y.double(), lam)
    assert torch.equal(tautstring.gap2d(*arguments, dual=info.dual.double()), gap)
    assert torch.equal(tautstring.gap2d(x, y.double(), lam, dual=info.dual), gap)


def test_any_dims_and_strides(make):
    x = make(4, 5, 6).permute(2, 0, 1)
    y = tautstring.prox_tv2d(x, (0.3, 0.5), dims=(0, 2))
    gap = tautstring.gap2d(x, y.contiguous(), (0.3, 0.5), dims=(0, -1))
    assert gap.shape == (4,)
    moved = x.movedim(0, 1).contiguous(), y.movedim(0, 1).contiguous()
    assert torch.equal(gap, tautstring.gap2d(*moved, (0.3, 0.5)))


@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (0, 3, 4), (2, 0, 4), (1, 1), (2, 1, 5)])
def test_any_shape(shape):
    x = torch.zeros(shape)
    assert torch.equal(tautstring.gap2d(x, x, 0.3), torch.zeros(shape[:-2], dtype=torch.float64))


def test_vmap_over_any_argument_is_the_loop(make, make_positive):
    arguments = [make(4, 3, 6, 5), make(4, 3, 6, 5), make_positive(4, 3, 1, 1), make(4, 3, 6, 5)]

    def find(x, y, lam, dual):
        return tautstring.gap2d(x, y, lam, dual=dual)

    for batched in [range(4), *([i] for i in range(4))]:
        given = [value if i in batched else value[0] for i, value in enumerate(arguments)]
        dims = tuple(0 if i in batched else None for i in range(4))
        gap = torch.vmap(find, in_dims=dims)(*given)
        for k in range(4):
            one = [value[k] if i in batched else value for i, value in enumerate(given)]
            assert torch.equal(gap[k], find(*one))
    number = torch.vmap(lambda x: tautstring.gap2d(x, x, (0.3, 0.2)))(arguments[0])
    assert torch.equal(number, tautstring.gap2d(arguments[0], arguments[0], (0.3, 0.2)))


READINGS = {
    "x": lambda x: tautstring.gap2d(x, x.detach(), 0.3),
    "y": lambda x: tautstring.gap2d(x.detach(), x, 0.3),
    "lam": lambda x: tautstring.gap2d(x.detach(), x.detach(), x[:, :1, :1].exp()),
    "dual": lambda x: tautstring.gap2d(x.detach(), x.detach(), 0.3, dual=x),
}


@pytest.mark.parametrize("argument", READINGS)
def test_it_has_no_gradient_and_says_so(make, argument):
    assert_no_gradient("gap2d", READINGS[argument], make(3, 5, 6))


def test_ops_pass_opcheck(make, make_positive):
    x, y, dual = make(2, 3, 20).transpose(0, 1), make(3, 2, 20), make(3, 2, 20)
    lams = make_positive(3, 1, 1), make_positive()
    assert_opcheck(_extension.find_gap2d, (x, y, *lams, dual, 1, 2))
    assert_opcheck(_extension.find_gap2d, (x, y, *lams, None, 2, 1))
    assert_opcheck(_extension.find_gap2d_number, (x, y, 0.3, 0.2, None, 1, 2))


def test_it_is_compiled(make, make_positive):
    def find(x, y, lam, dual):
        return tautstring.gap2d(x, y, (lam, 0.2), dual=dual), tautstring.gap2d(x, y, 0.3)

    arguments = make(3, 12, 20), make(3, 12, 20), make_positive(3, 1, 1), make(3, 12, 20)
    compiled = torch.compile(find, fullgraph=True, backend="aot_eager")
    for one, other in zip(compiled(*arguments), find(*arguments), strict=True):
        assert torch.equal(one, other)
    assert tautstring.gap2d(*[a.to("meta") for a in arguments[:2]], 0.3).shape == (3,)


def test_bad_arguments_raise_by_name():
    x = torch.zeros(2, 3, 5)

    def find(x=x, y=x, lam=1.0, **options):
        return lambda: tautstring.gap2d(x, y, lam, **options)

    assert_raises(TypeError, "x: must be a tensor, got list", find(x=[[1.0]]))
    assert_raises(TypeError, "y: must be a tensor, got NoneType", find(y=None))
    assert_raises(TypeError, "dual: must be a tensor, got int", find(dual=0))
    assert_raises(TypeError, "y: dtype must be float16", find(y=x.long()))
    assert_raises(ValueError, "x: must have at least 2 dimensions, got 1", find(x=x[0, 0]))
    allowed = "must be >= 0 and not NaN, got -1"
    assert_raises(ValueError, f"lam: {allowed}", find(lam=-1.0))
    assert_raises(ValueError, f"lam_rows: {allowed}", find(lam=(torch.tensor(-1.0), 1.0)))
    assert_raises(ValueError, f"lam_cols: {allowed}", find(lam=(1.0, torch.full((2, 1), -1.0))))
    assert_raises(ValueError, "lam: must have size 1 along both dims", find(lam=torch.ones(4)))
    assert_raises(ValueError, "dims: must be from -3 to 2", find(dims=(0, 3)))
    assert_raises(ValueError, "y: must have the size of x along dim, got 4", find(y=x[..., :4]))
    assert_raises(ValueError, "y: must have as many dimensions as x, got 2", find(y=x[0]))
    assert_raises(ValueError, "y: must be on x's device cpu, got meta", find(y=x.to("meta")))
    assert_raises(ValueError, "dual: must have the size of x in its batch", find(dual=x[:1]))
    assert_raises(ValueError, "dual: must be on x's device", find(dual=x.to("meta")))
    with pytest.raises(TypeError):
        tautstring.gap2d(x, x, 1.0, x)
