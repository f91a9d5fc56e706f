# The package itself: versions, imports, examples in docstrings.
import doctest
import re
import subprocess
import sys
import threading
from importlib.metadata import version

import numpy as np
import pytest

import tautstring
import tautstring.numpy as tn
from tautstring import _options
from tautstring.numpy import _images, _readings, _rows

FORBID_TORCH = """
import sys

class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError("torch is not installed here", name=name)

sys.meta_path.insert(0, NoTorch())
"""


def run_python(code):
    subprocess.run([sys.executable, "-c", code], check=True)


def test_version_is_the_one_of_the_distribution_and_of_the_library():
    assert tautstring.__version__ == version("tautstring") == tn.show_config()["version"]


def test_config_tells_compiler_and_threads():
    config = tn.show_config()
    assert config["compiler"] and config["threads"] >= 1


def test_config_tells_the_instruction_sets():
    config = tn.show_config()
    assert config["cpu_target"] in config["cpu_targets"]
    assert config["cpu_targets"][-1] == "portable"


def test_release_scratch_frees_what_calls_kept(freed_bytes):
    code = "\n".join(
        (
            "import numpy as np",
            "import tautstring.numpy as tn",
            "tn.prox_tv2d(np.random.default_rng(0).random((1500, 1500), np.float32), 0.2)",
        )
    )
    assert freed_bytes(code, "tn.release_scratch()") > 30e6


def test_an_instruction_set_that_is_not_there_is_an_error(monkeypatch):
    monkeypatch.setenv("TAUTSTRING_CPU", "avx1024")
    run_python(
        "import tautstring.numpy as tn\n"
        "assert tn.show_config()['cpu_target'] == 'none'\n"
        "try:\n"
        "    tn.prox_tv1d([0.0, 4.0], 1.0)\n"
        "except ValueError as error:\n"
        "    assert 'TAUTSTRING_CPU: must be ' in str(error), error\n"
        "else:\n"
        "    raise SystemExit('no error')\n"
    )


def test_works_where_torch_is_not_installed():
    run_python(
        FORBID_TORCH + "import tautstring.numpy as tn\n"
        "assert tn.prox_tv1d([0.0, 4.0], 1.0).tolist() == [1.0, 3.0]"
    )


def test_import_of_the_package_alone_loads_neither_numpy_nor_torch():
    run_python(
        "import sys, tautstring\n"
        "assert not {'numpy', 'torch', 'tautstring.numpy'} & set(sys.modules)"
    )


def test_all_names_what_the_module_offers():
    assert all(hasattr(tn, name) for name in tn.__all__)


@pytest.mark.parametrize("module", [tautstring, tn], ids=lambda module: module.__name__)
def test_dir_shows_public_names_alone(module):
    assert dir(module) == sorted(module.__all__)


@pytest.mark.parametrize(
    "module",
    [tautstring, _options, _rows, _images, _readings],
    ids=lambda module: module.__name__,
)
def test_examples_in_docstrings_run(module):
    result = doctest.testmod(module)
    assert result.failed == 0 and result.attempted > 0


def test_shared_paragraphs_are_in_their_docstrings():
    assert "checked every fourth iteration" in tn.prox_tv2d.__doc__
    assert "An upper bound on how far the objective" in tn.Info.__doc__
    assert not any(re.search(r"^ *\{\w+\}$", getattr(tn, n).__doc__, re.M) for n in tn.__all__)


def test_every_public_function_has_an_example():
    functions = [getattr(tn, name) for name in tn.__all__ if name[0].islower()]
    assert all(">>>" in item.__doc__ for item in [*functions, tn.Newton])


def test_calls_from_many_threads_do_not_disturb_one_another(rng):
    x = rng.normal(0, 1, (8, 20000))
    results = [None] * len(x)

    def solve(i):
        results[i] = tn.prox_tv1d(x[i], 0.5)

    workers = [threading.Thread(target=solve, args=(i,)) for i in range(len(x))]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    np.testing.assert_array_equal(results, tn.prox_tv1d(x, 0.5))
