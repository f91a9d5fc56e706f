# Files with the scores of runs.
import dataclasses
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tasks_support import TASK, scored, with_history

from tautstring_tasks import arrays, scores
from tautstring_tasks.errors import InputError

STUDY = [with_history(scored("none")), scored("both", seed=1, psnr=31.0, calibrate=40, half=True)]


def assert_same(ones, others):
    for one, other in zip(ones, others, strict=True):
        assert one.about == other.about
        assert one.scores.keys() == other.scores.keys()
        of_sets = ((one.scores[name], other.scores[name]) for name in one.scores)
        for found, wanted in (*of_sets, (one.history, other.history)):
            assert found.keys() == wanted.keys()
            for name, values in wanted.items():
                assert found[name].dtype == values.dtype
                np.testing.assert_array_equal(found[name], values)


def test_a_study_is_read_as_it_was_written(tmp_path):
    scores.save(tmp_path / "study.npz", STUDY)
    assert_same(scores.load(TASK, tmp_path / "study.npz"), STUDY)


def test_many_runs_stay_apart(tmp_path):
    many = [scored("none", seed, 30.0 + seed) for seed in range(12)]  # 1 and 11 begin alike
    scores.save(tmp_path / "study.npz", many)
    assert_same(scores.load(TASK, tmp_path / "study.npz"), many)


VALUES = hnp.arrays(np.float64, 2, elements=st.floats(allow_nan=False))
NAMES = st.text("abcXYZ-_ .0/é", min_size=1, max_size=8).filter(lambda name: not name.isspace())


@settings(max_examples=60, derandomize=True, database=None, deadline=None)
@given(names=st.lists(NAMES, min_size=1, max_size=3, unique=True), values=VALUES)
def test_any_scores_of_any_sets_are_read_as_they_were_written(tmp_path_factory, names, values):
    file = tmp_path_factory.getbasetemp() / "any.npz"
    run = scored(names=names)
    run = dataclasses.replace(run, scores={n: {"PSNR": values, "SSIM": values} for n in names})
    scores.save(file, [run])
    assert_same(scores.load(TASK, file), [run])


def test_a_run_knows_its_arm_seed_and_lambdas(tmp_path):
    scores.save(tmp_path / "study.npz", STUDY)
    first, second = scores.load(TASK, tmp_path / "study.npz")
    assert (first.arm, first.seed, second.arm, second.seed) == ("none", 0, "both", 1)
    assert {name: found.shape for name, found in first.lambdas.items()} == {
        "at_input": (2, 3),
        "at_output": (2, 1),
    }
    assert second.lambdas == {}


def test_the_same_content_gives_the_same_file(tmp_path, monkeypatch):
    scores.save(tmp_path / "one.npz", STUDY)
    monkeypatch.setattr("time.time", lambda: 2e9)  # years later
    monkeypatch.setattr("time.localtime", lambda *_: (2033, 5, 18, 3, 33, 20, 2, 138, 0))
    scores.save(tmp_path / "two.npz", STUDY)
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()


def test_options_that_are_newer_than_a_file_have_their_defaults(tmp_path):
    run = scored()
    for part, option in (("training", "rise"), ("model", "lam"), ("test", "test_sigma")):
        del run.about[part][option]
    scores.save(tmp_path / "study.npz", [run])
    assert_same(scores.load(TASK, tmp_path / "study.npz"), [scored()])


def save_changed(file, changes):
    """Write the study with some arrays replaced, or left out (None)."""
    scores.save(file, STUDY)
    about, found = arrays.load(file)
    assert changes.keys() <= found.keys()
    arrays.save(file, about, {n: a for n, a in {**found, **changes}.items() if a is not None})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"1/scores/CBSD68/SSIM": None}, "has no SSIM on CBSD68 of {'arm': 'both'"),
        (
            {"1/scores/CBSD68/PSNR": None, "1/scores/CBSD68/SSIM": None},
            "has no PSNR on CBSD68 of {'arm': 'both'",
        ),
        ({"1/scores/CBSD68/PSNR": np.array(["a", "b"])}, "has no PSNR on CBSD68"),
        (
            {"0/scores/CBSD68/PSNR": np.ones(3)},
            "0/scores/CBSD68/PSNR does not have a value for each item",
        ),
        (
            {"0/scores/CBSD68/PSNR": np.ones((0, 2))},
            "0/scores/CBSD68/PSNR does not have a value for each item",
        ),
        (
            {"0/scores/CBSD68/PSNR": np.ones((5, 2))},
            "0/scores/CBSD68/PSNR has too many dimensions",
        ),
        ({"0/history/step": None}, "0/history is not that of a training"),
        ({"0/history/loss": np.ones(3)}, "0/history is not that of a training"),
        ({"0/history/lam/at_input": np.ones(2)}, "0/history is not that of a training"),
    ],
)
def test_scores_that_do_not_fit_are_named(tmp_path, changes, message):
    file = tmp_path / "study.npz"
    save_changed(file, changes)
    with pytest.raises(InputError, match=re.escape(f"{file}: {message}")):
        scores.load(TASK, file)


@pytest.mark.parametrize("content", [b"", b"no zip", b"PK\x03\x04 and nothing"])
def test_a_file_that_is_no_study_is_named(tmp_path, content):
    (tmp_path / "study.npz").write_bytes(content)
    with pytest.raises(InputError, match=r"study.npz: cannot be read as npz"):
        scores.load(TASK, tmp_path / "study.npz")


def test_an_array_alone_is_no_study(tmp_path):
    np.save(tmp_path / "array.npy", np.ones(2))
    with pytest.raises(InputError, match=r"array.npy: cannot be read as npz"):
        scores.load(TASK, tmp_path / "array.npy")


def test_the_arrays_of_another_program_are_no_study(tmp_path):
    np.savez(tmp_path / "foreign.npz", a=np.ones(2))
    with pytest.raises(InputError, match=r"foreign.npz: was not written by tautstring_tasks"):
        scores.load(TASK, tmp_path / "foreign.npz")


@pytest.mark.parametrize("length", [10, -10, -1])
def test_a_study_that_was_cut_off_is_named(tmp_path, length):
    file = tmp_path / "study.npz"
    scores.save(file, STUDY)
    file.write_bytes(file.read_bytes()[:length])
    with pytest.raises(InputError, match=r"study.npz: cannot be read as npz"):
        scores.load(TASK, file)
