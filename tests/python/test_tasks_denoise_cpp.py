# The training loop in C++ (examples/cpp/denoise) does the same as the one in Python.
#
# TAUTSTRING_DENOISE names the program, which needs LibTorch; `make test` builds it.
import dataclasses
import json
import os
import struct
import subprocess
from pathlib import Path

import pytest
import torch
from PIL import ExifTags, Image
from tasks_support import TASK, load
from tasks_support import call as run

from tautstring_tasks import checkpoints, jobs, nets, scores
from tautstring_tasks.denoise import data
from tautstring_tasks.denoise.data import NoiseOptions
from tautstring_tasks.denoise.model import ModelOptions
from tautstring_tasks.recipes import Recipe

PROGRAM = os.environ.get("TAUTSTRING_DENOISE")
pytestmark = pytest.mark.skipif(PROGRAM is None, reason="TAUTSTRING_DENOISE names no program")

# No value is a default, so an option without effect is detected.
NOISE = NoiseOptions(sigma=30.0, patch=16)
NET = ModelOptions(arm="both", depth=4, width=4, lam=3e-2)
TRAINING = Recipe(seed=3, steps=5, batch=4, lr=2e-3, last_lr=3e-4, lam_lr_factor=20.0)
# The program has the others of Python's options with their defaults only.
ONLY_PYTHONS = frozenset({"optimizer", "schedule", "drops", "rise", "weight_decay"})


@pytest.fixture(scope="module")
def scenes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scenes")
    data.generate(folder)
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = 6  # one is to be turned
    turned = folder / data.TRAIN / "scene1.png"
    with Image.open(turned) as image:
        image.save(turned, exif=exif)
    return folder


def arguments_of(*options):
    return [text for each in options for text in jobs.as_arguments(each, without=ONLY_PYTHONS)]


def call(folder, out, *arguments):
    command = [PROGRAM, "--data", folder, "--out", out, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def train_in_cpp(folder, out, *arguments):
    result = call(folder, out, *arguments)
    assert result.returncode == 0, result.stderr
    return out / "weights.safetensors"


def train_in_python(folder, out, net=NET, training=TRAINING):
    run(
        "train",
        "--data",
        folder,
        "--out",
        out,
        "--device",
        "cpu",
        *arguments_of(NOISE, net, training),
    )
    return out / "weights.safetensors"


def train_in_both(folder, tmp_path, net=NET, training=TRAINING):
    in_cpp = train_in_cpp(folder, tmp_path / "cpp", *arguments_of(NOISE, net, training))
    return checkpoints.load(in_cpp), checkpoints.load(
        train_in_python(folder, tmp_path / "python", net, training)
    )


def assert_same_tensors(ours, theirs):
    assert ours.keys() == theirs.keys()
    for name, tensor in theirs.items():
        assert tensor.dtype == ours[name].dtype, name
        assert torch.equal(tensor, ours[name]), name


def assert_same_description(about, python_about):
    """Options that the program does not have count as their defaults."""
    assert about.keys() == python_about.keys()
    for key in about.keys() - {"training"}:
        assert about[key] == python_about[key]
    ours, theirs = (nets.options_of(TASK, Path("net"), each) for each in (about, python_about))
    assert ours == theirs


@pytest.mark.parametrize("arm", ["none", "input", "output", "both"])
def test_a_seed_stands_for_the_same_net_but_for_the_rounding_of_adam(
    arm, scenes, tmp_path, monkeypatch
):
    # LibTorch's Adam computes the mean of gradients this way; Python's rounds differently.
    monkeypatch.setattr(
        torch.Tensor, "lerp_", lambda mean, new, part: mean.mul_(1 - part).add_(new, alpha=part)
    )
    net = dataclasses.replace(NET, arm=arm)
    (ours, about), (theirs, python_about) = train_in_both(scenes, tmp_path, net)
    assert_same_tensors(ours, theirs)
    assert_same_description(about, python_about)


def test_a_seed_stands_for_nearly_the_same_net(scenes, tmp_path):
    (ours, _), (theirs, _) = train_in_both(scenes, tmp_path)
    # A bias before a batch norm has no effect, and its gradient is only rounding: Adam turns that
    # into full steps, and the norm's mean follows.
    is_adrift = {"noise.2.bias", "noise.3.running_mean", "noise.5.bias", "noise.6.running_mean"}
    assert ours.keys() == theirs.keys()
    for name, tensor in theirs.items():
        most = TRAINING.steps * TRAINING.lr if name in is_adrift else 1e-7
        torch.testing.assert_close(ours[name], tensor, atol=most, rtol=0, msg=name)


def test_python_evaluates_the_weights(scenes, tmp_path):
    trained = train_in_cpp(scenes, tmp_path, *arguments_of(NOISE, NET, TRAINING))
    out = tmp_path / "scores.npz"
    run("evaluate", "--data", scenes, "--weights", trained, "--out", out, "--device", "cpu")
    (found,) = scores.load(TASK, out)
    assert list(found.scores) == list(data.TESTS)
    assert found.about["options"]["sigma"] == NOISE.sigma
    assert found.about["training"]["schedule"] == "cosine"


def test_a_net_of_python_is_gone_on_from(scenes, tmp_path):
    file = train_in_python(scenes, tmp_path / "python")
    theirs, python_about = checkpoints.load(file)
    untouched = train_in_cpp(scenes, tmp_path / "cpp", "--weights", file, "--steps", "0")
    ours, about = checkpoints.load(untouched)
    assert_same_tensors(ours, theirs)
    assert about["model"] == python_about["model"]
    assert about["start"] == python_about
    onward = ["--weights", file, "--steps", "2", *arguments_of(NOISE)]
    net, _ = load(train_in_cpp(scenes, tmp_path / "onward", *onward))
    state = net.state_dict()
    assert state["noise.3.num_batches_tracked"] == TRAINING.steps + 2
    assert not torch.equal(state["at_input.raw_lam"], theirs["at_input.raw_lam"])


def safetensors_of(tensors, content, about='{"task": "denoise"}'):
    header = json.dumps({"__metadata__": {"about": about}, **tensors}).encode()
    return struct.pack("<Q", len(header)) + header + content


def entry(dtype="F32", shape=(2,), offsets=(0, 8)):
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"1234567", "was cut off before its header"),
        (safetensors_of({"a": entry()}, b"")[:40], "was cut off in its header"),
        (safetensors_of({"a": entry()}, bytes(7)), "was cut off in a"),
        (safetensors_of({"a": entry()}, bytes(9)), "has more data than tensors"),
        (struct.pack("<Q", 4) + b'{"a"', "parse error"),
        (
            safetensors_of({"a": entry(), "b": entry(offsets=(4, 12))}, bytes(12)),
            "b does not begin where the one before ends",
        ),
        (safetensors_of({"a": entry(offsets=(4, 12))}, bytes(12)), "a does not begin where"),
        (safetensors_of({"a": entry(shape=(3,))}, bytes(8)), "a has not the bytes of its shape"),
        (safetensors_of({"a": entry(shape=(-2, -1))}, bytes(8)), "shape of a must be whole"),
        (safetensors_of({"a": entry(shape=(2.5,))}, bytes(8)), "shape of a must be whole"),
        (safetensors_of({"a": entry(offsets=(0.5, 8.5))}, bytes(8)), "offsets of a must be whole"),
        (safetensors_of({"a": entry(offsets=(0, 1e300))}, bytes(8)), "offsets of a must be whole"),
        (safetensors_of({"a": entry(dtype="F4")}, bytes(8)), "the dtype F4 is not known"),
        (safetensors_of({}, b"", about='{"task": "edges"}'), "is not of the task denoise"),
        (struct.pack("<Q", 2) + b"{}", "was not written by tautstring_tasks"),
    ],
)
def test_broken_weights_are_named(content, message, scenes, tmp_path):
    file = tmp_path / "broken.safetensors"
    file.write_bytes(content)
    result = call(scenes, tmp_path, "--weights", file)
    assert result.returncode == 1
    assert f"{file}: " in result.stderr
    assert message in result.stderr


def test_weights_of_another_net_are_named(scenes, tmp_path):
    file = train_in_python(scenes, tmp_path / "python", training=Recipe(steps=0))
    tensors, about = checkpoints.load(file)
    for change, message in (
        ({"noise.0.bias": torch.zeros(5)}, "noise.0.bias: must have shape [4], got [5]"),
        ({"noise.9.bias": torch.zeros(5)}, "must have"),
    ):
        checkpoints.save(file, {**tensors, **change}, about)
        result = call(scenes, tmp_path, "--weights", file)
        assert result.returncode == 1
        assert message in result.stderr
    del tensors["noise.0.bias"]
    checkpoints.save(file, tensors, about)
    assert "noise.0.bias: is missing" in call(scenes, tmp_path, "--weights", file).stderr


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *[("seed", "-1"), ("seed", "2147483648"), ("steps", "-1"), ("batch", "0"), ("lr", "0")],
        *[("last-lr", "-1"), ("lam-lr-factor", "-1"), ("sigma", "-25"), ("patch", "0")],
        *[("depth", "1"), ("width", "0"), ("lam", "0"), ("arm", "neither"), ("device", "tpu")],
    ],
)
def test_options_out_of_bounds_are_named(option, value, scenes, tmp_path):
    result = call(scenes, tmp_path / "out", f"--{option}={value}")
    assert result.returncode != 0
    assert option in result.stderr
    assert value in result.stderr
    assert not (tmp_path / "out" / "weights.safetensors").exists()


def test_a_folder_that_cannot_be_made_is_named_before_training(scenes, tmp_path):
    (tmp_path / "file").touch()
    result = call(scenes, tmp_path / "file" / "run", *arguments_of(NOISE, NET, TRAINING))
    assert result.returncode == 1
    assert f"{tmp_path}/file" in result.stderr
    assert "step" not in result.stdout


def test_bad_data_are_named(scenes, tmp_path):
    assert "train_cbsd432: has no images" in call(tmp_path, tmp_path).stderr
    picture = scenes / data.TRAIN / "scene0.png"
    folder = tmp_path / data.TRAIN
    folder.mkdir()
    (folder / "half.png").write_bytes(picture.read_bytes()[: picture.stat().st_size // 2])
    result = call(tmp_path, tmp_path)
    assert result.returncode == 1
    assert "half.png: cannot be read as an image" in result.stderr
    assert (
        "must fit the smallest image, 64 pixels" in call(scenes, tmp_path, "--patch", "65").stderr
    )
    assert not (tmp_path / "weights.safetensors").exists()
