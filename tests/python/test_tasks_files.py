# Files that the tasks read, damaged in many ways: the outcome is a result or an InputError.
import copy
import json
import struct
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tasks_support import load as load_net
from tasks_support import scored, with_history

from tautstring_tasks import (
    arrays,
    checkpoints,
    evaluation,
    nets,
    reporting,
    scores,
    task,
    training,
)
from tautstring_tasks.denoise.data import NoiseOptions
from tautstring_tasks.denoise.model import DnCNN, ModelOptions
from tautstring_tasks.denoise.task import Denoise
from tautstring_tasks.devices import Share
from tautstring_tasks.errors import InputError
from tautstring_tasks.recipes import Recipe

# The same cases in every run.
cases = settings(
    max_examples=150,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

NUMBERS = st.integers() | st.floats() | st.sampled_from([-1, 0, 10**9, 10**400, 1e308])
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)

NET = ModelOptions(depth=3, width=2)
RECIPE = Recipe(steps=10, batch=2)


class OneSet(Denoise):
    """Denoising with a test set whose scores are known, and without figures."""

    def tests(self, folder, sets, data, test):
        known = {"PSNR": np.array([30.0, 31.0]), "SSIM": np.array([0.8, 0.9])}
        return {"CBSD68": task.TestSet(lambda *_: known, {"items": 2, "sha256": "2"})}

    def figures(self, found, folder):
        return ""


TASK = OneSet()


def about(**changes):
    return {
        **nets.describe(TASK, NET, NoiseOptions(), {}),
        **training.describe(RECIPE, training.RunOptions(), torch.device("cpu"), Share()),
        **changes,
    }


def log():
    lam = {"at_input": [0.1, 0.2, 0.3], "at_output": [0.1]}
    return {
        "machine": dict.fromkeys(("cpu", "threads", "date", "commit", "packages"), "x"),
        "history": [{"step": step, "loss": 0.5, "lam": lam} for step in (5, 10)],
    }


def places(content):
    """Return the path to each value inside JSON."""
    found = []
    inner = content.items() if isinstance(content, dict) else enumerate(content)
    for key, value in inner:
        found.append((key,))
        if isinstance(value, (dict, list)):
            found += [(key, *way) for way in places(value)]
    return found


@st.composite
def damaged(draw, content):
    """Draw the JSON with a few values replaced or left out."""
    content = copy.deepcopy(content)
    for _ in range(draw(st.integers(1, 2))):
        ways = places(content)
        if not ways:
            break
        *way, last = draw(st.sampled_from(ways))
        holder = content
        for key in way:
            holder = holder[key]
        if draw(st.booleans()):
            holder[last] = draw(VALUES)
        else:
            del holder[last]
    return content


@st.composite
def cut(draw, content):
    """Draw the bytes with a few changed, and perhaps without their end."""
    found = bytearray(content)
    for place in draw(st.lists(st.integers(0, len(found) - 1), max_size=4)):
        found[place] = draw(st.integers(0, 255))
    return bytes(found[: draw(st.integers(0, len(found)) | st.just(len(found)))])


def attempt(call):
    try:
        call()
    except InputError as error:
        assert str(error)


@pytest.fixture(scope="module")
def net_file(tmp_path_factory):
    file = tmp_path_factory.mktemp("net") / "net.safetensors"
    torch.manual_seed(0)
    checkpoints.save(file, DnCNN(NET).state_dict(), about())
    return file


def split(file):
    """Return the header of a safetensors file, and its data."""
    content = file.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    return json.loads(content[8 : 8 + length]), content[8 + length :]


def join(header, data):
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


@cases
@given(data=st.data())
def test_weights_of_any_bytes(net_file, tmp_path, data):
    file = tmp_path / "damaged.safetensors"
    file.write_bytes(data.draw(cut(net_file.read_bytes())))
    attempt(lambda: load_net(file))


@cases
@given(data=st.data())
def test_weights_of_any_header(net_file, tmp_path, data):
    header, tensors = split(net_file)
    file = tmp_path / "damaged.safetensors"
    file.write_bytes(join(data.draw(damaged(header)), tensors))
    attempt(lambda: load_net(file))


@cases
@given(data=st.data())
def test_weights_that_say_anything_of_themselves(net_file, tmp_path, data):
    header, tensors = split(net_file)
    said = json.dumps(data.draw(damaged(about())))
    header["__metadata__"]["about"] = data.draw(cut(said.encode()) | st.just(said.encode())).decode(
        errors="replace"
    )
    file = tmp_path / "damaged.safetensors"
    file.write_bytes(join(header, tensors))
    attempt(lambda: load_net(file))


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    file = tmp_path_factory.mktemp("study") / "study.npz"
    found = [scored(arm, seed, 30.0 + seed) for arm in ("none", "both") for seed in (0, 1)]
    scores.save(file, map(with_history, found))
    return file


def report(file, folder):
    reporting.page(TASK, scores.load(TASK, file), "", folder / "images")


@cases
@given(data=st.data())
def test_a_study_of_any_bytes(study, tmp_path, data):
    file = tmp_path / "damaged.npz"
    file.write_bytes(data.draw(cut(study.read_bytes())))
    attempt(lambda: scores.load(TASK, file))


@cases
@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")  # of scores near 1e308
@given(data=st.data())
def test_a_report_of_any_description(study, tmp_path, data):
    said, found = arrays.load(study)
    if data.draw(st.integers(0, 9)):  # else a figure is drawn
        found = {name: each for name, each in found.items() if "/history/" not in name}
    file = tmp_path / "damaged.npz"
    which = data.draw(st.integers(0, 3))
    said["runs"][which] = data.draw(damaged(said["runs"][which]))
    arrays.save(file, said, found)
    attempt(lambda: report(file, tmp_path))


ARRAYS = hnp.arrays(
    st.sampled_from([np.float64, np.float32, np.int32, bool, "U3", np.complex64]),
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3),
)


@settings(cases, max_examples=40)  # most draw a figure
@pytest.mark.filterwarnings("ignore")  # matplotlib's and NumPy's, of extreme values
@given(data=st.data())
def test_a_report_of_any_arrays(study, tmp_path, data):
    said, found = arrays.load(study)
    for name in data.draw(st.lists(st.sampled_from(sorted(found)), min_size=1, max_size=3)):
        if data.draw(st.booleans()):
            found[name] = data.draw(ARRAYS)
        else:
            found.pop(name, None)
    file = tmp_path / "damaged.npz"
    arrays.save(file, said, found)
    attempt(lambda: report(file, tmp_path))


@settings(cases, max_examples=60)
@pytest.mark.filterwarnings("ignore:overflow")  # of losses near 1e308
@given(data=st.data())
def test_a_net_is_scored_beside_any_log(net_file, tmp_path, data):
    weights = tmp_path / training.WEIGHTS
    weights.write_bytes(net_file.read_bytes())
    (tmp_path / training.LOG).write_text(json.dumps(data.draw(damaged(log()))))

    def evaluate():
        device = torch.device("cpu")
        return evaluation.evaluate(TASK, tmp_path, weights, (), TASK.test, device, "float32")

    attempt(evaluate)


def loss(called, step, share):
    return called(torch.ones(2, 2)).square().mean()


def train(folder, steps):
    torch.manual_seed(0)
    net = torch.nn.Linear(2, 2)
    recipe = Recipe(steps=steps, batch=2)
    run = training.RunOptions(device="cpu", checkpoint_every=2, log_every=1)
    training.train(net, loss, recipe, run, folder, {"task": "test"}, Share())


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    train(folder, 4)
    return Path(folder) / training.CHECKPOINT


@settings(cases, max_examples=60)
@given(data=st.data())
def test_a_run_resumed_from_any_checkpoint(checkpoint, tmp_path, data):
    header, tensors = split(checkpoint)
    if data.draw(st.booleans()):
        header = data.draw(damaged(header))
    else:
        said = json.loads(header["__metadata__"]["about"])
        header["__metadata__"]["about"] = json.dumps(data.draw(damaged(said)))
    (tmp_path / training.CHECKPOINT).write_bytes(join(header, tensors))
    (tmp_path / training.WEIGHTS).unlink(missing_ok=True)
    attempt(lambda: train(tmp_path, 4))
