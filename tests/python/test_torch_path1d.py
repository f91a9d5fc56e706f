# The lambdas at which jumps close, on tensors.
import numpy as np
import pytest
import torch

import tautstring
import tautstring.numpy as tn
from tautstring import _extension


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_tensors_have_the_numbers_of_arrays(dtype):
    x = torch.randn(3, 4, 50, generator=torch.Generator().manual_seed(0)).to(dtype)
    for dim in (0, 1, -1):
        path = tautstring.path1d(x, dim=dim)
        expected = tn.path1d(
            x.to(torch.float64 if dtype == torch.float64 else torch.float32), dim=dim
        )
        assert path.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
        np.testing.assert_array_equal(path.numpy(), expected)


def test_weights_broadcast():
    x, weight = torch.randn(3, 20), torch.rand(20) + 0.5
    path = tautstring.path1d(x, weight=weight)
    for row, expected in zip(x, path, strict=True):
        assert torch.equal(tautstring.path1d(row, weight=weight), expected)


def test_it_has_no_gradient():
    x = torch.randn(20, requires_grad=True)
    with pytest.raises(RuntimeError, match="path1d"):
        tautstring.path1d(x).sum().backward()
    assert not tautstring.path1d(x.detach()).requires_grad


def test_it_works_with_vmap_compile_and_meta():
    x = torch.randn(3, 20)
    assert torch.equal(torch.vmap(tautstring.path1d)(x), tautstring.path1d(x))
    compiled = torch.compile(tautstring.path1d, backend="aot_eager", fullgraph=True)
    assert torch.equal(compiled(x), tautstring.path1d(x))
    assert tautstring.path1d(x.to("meta")).shape == (3, 19)
    torch.library.opcheck(_extension.find_path1d, (x, None, 1))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_tensors_on_cuda_are_an_error_that_says_what_to_do():
    with pytest.raises(NotImplementedError, match=r"x: path1d runs on the CPU; pass x.cpu\(\)"):
        tautstring.path1d(torch.randn(20, device="cuda"))
