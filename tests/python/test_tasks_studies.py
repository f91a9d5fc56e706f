# Studies of denoising: what is trained and scored, and what is left as it is.
import shutil
import types

import numpy as np
import pytest
from tasks_support import SHORT, TASK, TINY, assert_same_tensors, call

from tautstring_tasks import calibration, checkpoints, jobs, scores
from tautstring_tasks.denoise import data
from tautstring_tasks.errors import InputError

pytest_plugins = ("tasks_fixtures",)

OPTIONS = [*TINY, "--steps", 2, "--seeds", 1, "--sets", "CBSD68"]


@pytest.fixture
def commands(monkeypatch):
    """The commands that a study runs: in this process, without a start of Python for each."""
    found = []

    def run_all(planned, at_once, minutes=None):
        failed = []
        for job in planned:
            found.append(types.SimpleNamespace(name=job.arguments[1], place=job.log.parent.name))
            try:
                call(*job.arguments[1:])
            except SystemExit:
                failed.append(job.log)
        return failed

    monkeypatch.setattr(jobs, "run_all", run_all)
    return found


@pytest.fixture
def study(commands, scenes, tmp_path):
    """Run a study and return the commands that it took."""

    def run_study(*arguments, folder=scenes):
        commands.clear()
        call("study", "--data", folder, "--out", tmp_path / "study", *OPTIONS, *arguments)
        return [(command.name, command.place) for command in commands]

    return run_study


def loaded(tmp_path):
    return scores.load(TASK, tmp_path / "study" / "study.npz")


def test_a_study_trains_and_scores_runs_in_processes_of_their_own(run, scenes, tmp_path, capsys):
    options = ["--arms", "both", "--sigma", 50, "--calibrate", 1]
    options += ["--test-precision", "bfloat16", "--optimizer", "sgd", "--drops", 0.5, 0.75]
    run("study", "--data", scenes, "--out", tmp_path / "study", *OPTIONS, *options)
    (found,) = loaded(tmp_path)
    assert (found.arm, found.seed) == ("both", 1)
    assert (found.about["options"]["sigma"], found.about["calibrate"]) == (50, 1)
    assert found.about["precision"] == "bfloat16"
    assert found.about["execution"] == {"precision": "float32", "processes": 1}
    training = found.about["training"]
    assert (training["steps"], training["optimizer"]) == (2, "sgd")
    assert training["drops"] == [0.5, 0.75]
    assert list(found.scores) == ["CBSD68"]
    assert "1 of 1 runs are trained, 1 are in study.npz" in capsys.readouterr().out
    assert {file.name for file in (tmp_path / "study").iterdir()} == {"both_seed1", "study.npz"}


def test_a_study_of_all_arms_and_seeds_goes_seed_by_seed(study, tmp_path):
    done = study("--arms", "none", "blur", "--seeds", 3, 1)
    places = ["none_seed3", "blur_seed3", "none_seed1", "blur_seed1"]
    assert done == [(name, place) for name in ("train", "evaluate") for place in places]
    assert [(run.arm, run.seed) for run in loaded(tmp_path)] == [
        *[("none", 3), ("blur", 3), ("none", 1), ("blur", 1)]
    ]


def test_a_study_that_is_done_is_left_as_it_is(study, tmp_path):
    study("--calibrate", 1, "--arms", "none")
    before = (tmp_path / "study" / "study.npz").read_bytes()
    assert study("--calibrate", 1, "--arms", "none") == []
    assert (tmp_path / "study" / "study.npz").read_bytes() == before


def test_a_study_goes_on_with_what_is_missing(study, tmp_path):
    assert len(study("--arms", "none")) == 2
    assert study("--arms", "none", "both") == [("train", "both_seed1"), ("evaluate", "both_seed1")]
    assert [run.arm for run in loaded(tmp_path)] == ["none", "both"]


def test_a_study_that_was_stopped_resumes_to_the_same_weights(study, scenes, tmp_path):
    options = ["--steps", 4, "--log-every", 2]
    study("--arms", "none", *options)
    place, whole = tmp_path / "study" / "none_seed1", tmp_path / "whole"
    shutil.move(place, whole)
    stopped = [*TINY, *options, "--arm", "none", "--seed", 1, "--minutes", 0]
    call("train", "--data", scenes, "--out", place, *stopped)
    assert not (place / "weights.safetensors").exists()
    assert study("--arms", "none", *options) == [(n, place.name) for n in ("train", "evaluate")]
    resumed, expected = (
        checkpoints.load(each / "weights.safetensors")[0] for each in (place, whole)
    )
    assert_same_tensors(resumed, expected)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--test-sigma", 50],
        ["--sets", "Kodak24"],
        ["--sets", "CBSD68", "Kodak24"],
        ["--test-precision", "bfloat16"],
    ],
)
def test_scores_of_another_test_are_not_a_studys(study, tmp_path, arguments):
    study("--arms", "none")
    before = (tmp_path / "study" / "study.npz").read_bytes()
    assert study("--arms", "none", *arguments) == [("evaluate", "none_seed1")]
    assert (tmp_path / "study" / "study.npz").read_bytes() != before
    assert study("--arms", "none", *arguments) == []


def test_scores_of_other_weights_are_not_a_studys(study, tmp_path):
    study("--arms", "none")
    (before,) = loaded(tmp_path)
    file = tmp_path / "study" / "none_seed1" / "weights.safetensors"
    tensors, about = checkpoints.load(file)
    checkpoints.save(file, {name: 0 * tensor for name, tensor in tensors.items()}, about)
    assert study("--arms", "none") == [("evaluate", "none_seed1")]
    (after,) = loaded(tmp_path)
    assert not np.array_equal(before.scores["CBSD68"]["PSNR"], after.scores["CBSD68"]["PSNR"])


def test_a_study_calibrates_again_where_it_must(study, tmp_path):
    again = [("calibrate", "none_seed1"), ("evaluate", "none_seed1")]
    study("--arms", "none")
    assert study("--arms", "none", "--calibrate", 1) == again
    assert loaded(tmp_path)[0].about["calibrate"] == 1
    assert study("--arms", "none", "--calibrate", 2) == again  # another number
    assert loaded(tmp_path)[0].about["calibrate"] == 2
    assert study("--arms", "none") == again[1:]
    assert "calibrate" not in loaded(tmp_path)[0].about


def test_runs_that_were_trained_differently_are_not_a_studys(study):
    study("--arms", "none")
    for arguments, message in (
        (["--lr", 0.5], r"training is .*'lr': 0.001.*, not .*'lr': 0.5"),
        (["--sigma", 50], r"options is .*'sigma': 25.0.*, not .*'sigma': 50.0"),
        (["--width", 5], r"model is .*'width': 4.*, not .*'width': 5"),
        (["--precision", "bfloat16"], r"execution is .*'float32'.*, not .*'bfloat16'"),
    ):
        with pytest.raises(SystemExit, match=message):
            study("--arms", "none", *arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--seed", 1], "--seed: a study takes --seeds"),
        (["--arm", "none"], "--arm: a study takes --arms"),
        (["--arms", "none", "all"], "--arms: must be one of none, zero, blur, .*, got all"),
        (["--seeds", 0, -1], "--seed: must be at least 0 .*, got -1"),
    ],
)
def test_arms_and_seeds_that_a_study_cannot_use_are_named(study, tmp_path, arguments, message):
    with pytest.raises(SystemExit, match=message):
        study(*arguments)
    assert not (tmp_path / "study").exists()


@pytest.mark.parametrize(("kept", "missing"), [(data.TRAIN, "CBSD68"), ("CBSD68", data.TRAIN)])
def test_a_study_looks_for_its_data_first(study, scenes, tmp_path, kept, missing):
    shutil.copytree(scenes / kept, tmp_path / "data" / kept)
    with pytest.raises(SystemExit, match=f"{missing}: does not exist"):
        study(folder=tmp_path / "data")
    assert not (tmp_path / "study").exists()


def test_a_run_that_fails_is_named_and_the_others_are_saved(study, tmp_path, capsys):
    study("--arms", "none")
    (tmp_path / "study" / "both_seed1").write_text("in the way")
    with pytest.raises(SystemExit, match=r"failed, see .*both_seed1/train.log"):
        study("--arms", "none", "both")
    assert [run.arm for run in loaded(tmp_path)] == ["none"]
    assert "1 of 2 runs are trained, 1 are in study.npz" in capsys.readouterr().out


def test_a_calibration_that_fails_is_not_replaced_by_an_earlier_one(study, tmp_path, monkeypatch):
    study("--calibrate", 1, "--arms", "none")
    monkeypatch.setattr(calibration, "calibrate", fail)
    with pytest.raises(SystemExit, match="failed, see"):
        study("--calibrate", 2, "--arms", "none")
    assert not (tmp_path / "study" / "study.npz").exists()


def fail(*_):
    raise InputError("no calibration")


def test_a_net_trained_from_another_one_is_not_a_studys(study, scenes, tmp_path):
    study("--arms", "none")
    place = tmp_path / "study" / "none_seed1"
    base = (place / "weights.safetensors").rename(tmp_path / "base.safetensors")
    shutil.rmtree(place)
    start = ["--data", scenes, "--out", place, *SHORT, "--steps", 2, "--seed", 1]
    call("train", *start, "--weights", base)
    with pytest.raises(SystemExit, match=r"its start is \{'task': 'denoise'.*\}, not None"):
        study("--arms", "none")


@pytest.mark.parametrize("option", ["arms", "seeds", "sets"])
def test_a_study_of_nothing_is_refused(study, option):
    with pytest.raises(SystemExit, match=f"--{option}: at least one is needed"):
        study(f"--{option}")
