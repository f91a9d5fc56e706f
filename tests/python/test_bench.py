"""The parts of bench/ that could be wrong without anybody seeing it in a table."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import tautstring
import tautstring.numpy

sys.path.append(str(Path(__file__).parents[2] / "bench"))

import compare
from measurements import load
from study import memory, solvers
from study.data import FAMILIES, noise


def gradients(solve, x, lam):
    x = x.clone().requires_grad_()
    lam = torch.tensor(lam, dtype=x.dtype, requires_grad=True)
    y = solve(x, lam)
    grads = torch.autograd.grad(y, (x, lam), x.detach().cos(), allow_unused=True)
    return y.detach(), *grads


def test_the_gradient_of_others_is_ours():
    x = noise(20, 50).double()
    expected = gradients(tautstring.prox_tv1d, x, 0.7)

    def solve(x, lam):
        return solvers.solve_rows(x, lam, tautstring.numpy.prox_tv1d)

    torch.testing.assert_close(gradients(solve, x, 0.7), expected)


def test_the_papers_backward_is_ours():
    x = noise(5, 40).double()
    ours, papers = (gradients(memory.WAYS[who], x, 0.7) for who in ("direct", "paper_backward"))
    torch.testing.assert_close(papers[:2], ours[:2])


def test_the_unrolled_solver_comes_near():
    x = noise(5, 30).double()
    y = memory.unrolled(x, torch.tensor(0.5, dtype=torch.float64))
    torch.testing.assert_close(y, tautstring.prox_tv1d(x, 0.5), atol=1e-4, rtol=0)


def test_what_autograd_keeps_is_counted_once():
    x = torch.rand(100, requires_grad=True)
    with memory.counted_saves() as saved:
        (x * x).sum()
    assert saved[0] == 400


@pytest.mark.parametrize("name", [name for name in FAMILIES if name != "photo"])
def test_families_have_their_shape_and_are_finite(name):
    x = FAMILIES[name](7, 33)
    assert x.shape == (7, 33) and x.dtype == torch.float32
    assert x.isfinite().all() and np.ptp(x.numpy()) > 0


def results(tmp_path, name, **times):
    """A file of the CUDA benchmark with one case."""
    medians = {
        f"hard/sine/8x8/lam:1/{who}:fp32": {"ms": ms, "copy_ms": 1.0, "spread": 0.01}
        if isinstance(ms, float)
        else {"error": ms}
        for who, ms in times.items()
    }
    file = tmp_path / name
    about = {"date": "2026-01-01", "gpu": "any", "commit": "none"}
    file.write_text(json.dumps({"about": about, "runs": {"cuda": medians}}), encoding="utf-8")
    return load([file])


@pytest.mark.parametrize(
    ("now", "is_worse"),
    [(3.0, False), (3.2, False), (3.5, True), (1.0, False), ("WRONG: y off by 1", True)],
    ids=str,
)
def test_a_ratio_that_got_worse_is_found(tmp_path, now, is_worse):
    old = results(tmp_path, "old", forward=3.0)
    new = results(tmp_path, "new", forward=now)
    (change,) = compare.changes(old, new)
    assert change.is_worse(0.1) == is_worse
