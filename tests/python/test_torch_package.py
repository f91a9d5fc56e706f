# The package with torch: lazy import, what is said where torch is missing or too old,
# examples in docstrings.
import ctypes
import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from test_package import FORBID_TORCH, run_python

import tautstring
from tautstring import _extension, _numpy, functional, layers

OLD_TORCH = """
import sys, types

class Version(str):
    def __ge__(self, other):
        return False

torch = types.ModuleType("torch")
torch.__version__ = Version("2.4.1")
sys.modules["torch"] = torch
"""


def error_of(code):
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode != 0
    return result.stderr.strip().splitlines()[-1]


def test_names_of_the_package_are_those_of_its_modules():
    for name in tautstring.__all__:
        assert getattr(tautstring, name) is not None
        assert name in dir(tautstring)
    public = {*functional.__all__, *layers.__all__}
    assert public == set(tautstring.__all__) - {"__version__"}


@pytest.mark.parametrize("module", [functional, layers], ids=lambda module: module.__name__)
def test_dir_shows_public_names_alone(module):
    assert dir(module) == sorted(module.__all__)


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'prox_tv9d'"):
        _ = tautstring.prox_tv9d


def test_torch_is_loaded_when_a_name_is_used():
    run_python(
        "import sys, tautstring\n"
        "assert 'torch' not in sys.modules\n"
        "tautstring.prox_tv1d\n"
        "assert 'torch' in sys.modules\n"
        "assert 'torch.distributed.tensor' not in sys.modules"
    )


def test_without_torch_one_sentence_says_what_to_do():
    message = error_of(FORBID_TORCH + "import tautstring; tautstring.TVLayer")
    assert message == (
        "ImportError: tautstring works on torch tensors where torch 2.11 or newer is installed "
        "(pip install 'tautstring[torch]'); tautstring.numpy works without it"
    )


def test_with_an_old_torch_one_sentence_names_it():
    message = error_of(OLD_TORCH + "import tautstring; tautstring.prox_tv1d")
    assert message == "ImportError: tautstring needs torch 2.11 or newer, found torch 2.4.1"


def test_a_package_without_the_ops_says_so():
    message = error_of(
        "import pathlib\n"
        "exists = pathlib.Path.exists\n"
        "pathlib.Path.exists = lambda self: self.name != '_C_stable.so' and exists(self)\n"
        "import tautstring; tautstring.prox_tv1d"
    )
    assert message == (
        "ImportError: this tautstring was built for NumPy alone; build it without "
        "TAUTSTRING_TORCH=OFF, or use tautstring.numpy"
    )


def test_every_op_runs_on_the_cpu_and_on_cuda_and_is_known_to_tracers():
    # The pages say so, of gap2d too; whether a build has the kernels on CUDA, show_config() tells.
    on_the_cpu_only = {"tautstring::path1d"}
    names = [n for n in torch._C._dispatch_get_all_op_names() if n.startswith("tautstring::")]
    assert "tautstring::gap2d" in names and "tautstring::gap2d.number" in names
    for name in set(names) - {"tautstring::has_cuda"}:
        for key in ("CPU", "Meta") if name in on_the_cpu_only else ("CPU", "CUDA", "Meta"):
            assert torch._C._dispatch_has_kernel_for_dispatch_key(name, key), (name, key)


@pytest.mark.skipif(torch.version.cuda is None, reason="torch without CUDA")
def test_torch_has_the_function_that_calls_on_cuda_look_up():
    # As src/torch/call_context.cpp does; here also where there is no GPU.
    library = ctypes.CDLL("libtorch_cuda.so", mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
    assert library.aoti_torch_get_current_cuda_stream


@pytest.mark.skipif(
    not tautstring.show_config()["cuda"], reason="tautstring was built without CUDA"
)
def test_a_package_has_its_cuda_kernels_once():
    has_kernels = {
        library: b".nv_fatbin" in Path(library).read_bytes()
        for library in (_extension.find_library(), _numpy.__file__)
    }
    assert list(has_kernels.values()) == [True, False], has_kernels


def test_works_where_no_gpu_can_be_seen(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    run_python(
        "import torch, tautstring\n"
        "assert tautstring.prox_tv1d(torch.tensor([0.0, 4.0]), 1.0).tolist() == [1.0, 3.0]"
    )


@pytest.mark.parametrize("module", [functional, layers], ids=lambda module: module.__name__)
def test_examples_in_docstrings_run(module):
    result = doctest.testmod(module)
    assert result.failed == 0 and result.attempted > 0


def test_shared_paragraphs_are_in_their_docstrings():
    assert "checked every fourth iteration" in functional.prox_tv2d.__doc__
    names = functional.__all__
    assert not any(re.search(r"^ *\{\w+\}$", getattr(functional, n).__doc__, re.M) for n in names)


def test_every_public_function_and_class_has_an_example():
    with_examples = [functional.__dict__[n] for n in functional.__all__ if n[0].islower()]
    assert all(">>>" in item.__doc__ for item in [*with_examples, layers.TVLayer])


def test_a_torch_without_its_private_names_has_the_registered_derivatives():
    # torch uses the name itself, so it is back when the ops are called.
    code = """
import torch
from torch.autograd import forward_ad, gradcheck, gradgradcheck

hidden = torch._C._AutoDispatchBelowAutograd
del torch._C._AutoDispatchBelowAutograd
import tautstring
tautstring.prox_tv1d  # loads the ops
torch._C._AutoDispatchBelowAutograd = hidden

generator = torch.Generator().manual_seed(0)
x, weight = (torch.rand(2, 6, dtype=torch.float64, generator=generator) for _ in range(2))
lam = torch.tensor(0.1, dtype=torch.float64, requires_grad=True)
x.requires_grad_()

def solve(x, lam):
    return tautstring.prox_tv1d(x, lam)

def solve_image(x, lam):
    return tautstring.prox_tv2d(x.reshape(1, 3, 4), lam)

for function in (solve, solve_image):
    assert gradcheck(function, (x, lam)) and gradgradcheck(function, (x, lam))
assert gradcheck(lambda w: tautstring.prox_tv1d(x, lam, weight=w), (weight + 0.5).requires_grad_())
rows = x.detach()
y = torch.vmap(lambda row: tautstring.prox_tv1d(row, 0.1))(rows)
assert torch.equal(y, tautstring.prox_tv1d(rows, 0.1))

def refuses(call):
    try:
        call()
    except NotImplementedError as error:
        return "forward AD is not supported on torch" in str(error)
    return False

tangent = torch.ones_like(rows)
for function in (solve, solve_image, tautstring.certificate1d):
    first, *others = (rows, 0.1) if function is not tautstring.certificate1d else (rows, rows, 0.1)
    assert refuses(lambda: torch.func.jvp(lambda x: function(x, *others), (first,), (tangent,)))
with forward_ad.dual_level():
    assert refuses(lambda: solve(forward_ad.make_dual(rows, tangent), 0.1))
"""
    run_python(code)
