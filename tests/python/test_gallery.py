# The examples of the gallery run, and each draws a figure. `make docs` shows them on the site.
import runpy
import warnings
from pathlib import Path

import pytest

plt = pytest.importorskip("matplotlib.pyplot")
pytest.importorskip("skimage")

FOLDER = Path(__file__).parents[2] / "examples" / "gallery"
NEEDS = {
    "lambda_map": ("torch",),
    "torchvision_net": ("torch", "torchvision"),
    "deepinv_prior": ("torch", "deepinv"),
}


@pytest.fixture
def figures(monkeypatch):
    """Counts the figures that are open at the end of an example, which shows none."""
    plt.switch_backend("agg")
    monkeypatch.setattr(plt, "show", lambda: None)
    plt.close("all")
    yield plt.get_fignums
    plt.close("all")


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.py")), ids=lambda file: file.stem)
def test_an_example_runs_and_draws(file, figures):
    for package in NEEDS.get(file.stem, ()):
        pytest.importorskip(package)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        runpy.run_path(str(file), run_name="__main__")
    assert figures()


def test_the_deepinv_example_says_that_it_is_skipped(monkeypatch, capsys):
    pytest.importorskip("torch")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    runpy.run_path(str(FOLDER / "deepinv_prior.py"))
    assert "SKIPPED: deepinv is not installed" in capsys.readouterr().out
