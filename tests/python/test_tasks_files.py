# Files that the tasks read, damaged in many ways: the outcome is a result or an InputError.
import copy
import json
import struct
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tautstring_tasks import checkpoints, runs, training
from tautstring_tasks.denoise import commands, weights
from tautstring_tasks.denoise.data import NoiseOptions
from tautstring_tasks.denoise.model import DnCNN, ModelOptions
from tautstring_tasks.errors import InputError
from tautstring_tasks.training import TrainingOptions

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


def about(**changes):
    return {**weights.describe(NET, NoiseOptions(), []), **changes}


def scores(arm, seed, psnr):
    return {
        **about(model=runs.as_options(ModelOptions(arm=arm))),
        "training": runs.as_options(TrainingOptions(seed=seed, steps=10, batch=2)),
        "sigma": 25.0,
        "precision": "float32",
        "machine": {"cpu": "a CPU"},
        "sets": {
            "CBSD68": {
                "sha256": "2",
                "images": {name: {"psnr": psnr, "ssim": 0.9} for name in ("one", "two")},
            }
        },
    }


def log():
    lam = {"at_input": [0.1, 0.2, 0.3], "at_output": [0.1]}
    return {
        **about(training=runs.as_options(TrainingOptions(steps=10, batch=2))),
        "run": {"precision": "float32"},
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
    attempt(lambda: weights.load(file))


@cases
@given(data=st.data())
def test_weights_of_any_header(net_file, tmp_path, data):
    header, tensors = split(net_file)
    file = tmp_path / "damaged.safetensors"
    file.write_bytes(join(data.draw(damaged(header)), tensors))
    attempt(lambda: weights.load(file))


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
    attempt(lambda: weights.load(file))


@cases
@given(data=st.data())
def test_scores_of_any_bytes(tmp_path, data):
    file = tmp_path / "damaged.json"
    file.write_bytes(data.draw(cut(json.dumps(scores("none", 0, 30.0)).encode())))
    attempt(lambda: runs.load_json(file))


@cases
@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")  # of scores near 1e308
@given(data=st.data())
def test_a_report_of_any_scores(tmp_path, data):
    results = [scores(arm, seed, 30.0 + seed) for arm in ("none", "both") for seed in (0, 1)]
    results[data.draw(st.integers(0, 3))] = data.draw(damaged(scores("none", 0, 30.0)))
    files = [tmp_path / f"{index}.json" for index in range(len(results))]
    for file, result in zip(files, results, strict=True):
        file.write_text(json.dumps(result))
    attempt(lambda: commands.report(tuple(files), tmp_path / "page.md"))


@settings(cases, max_examples=20)  # each draws a figure
@pytest.mark.filterwarnings("ignore")  # matplotlib's, of what it cannot show
@given(data=st.data())
def test_a_report_of_any_log(tmp_path, data):
    file = tmp_path / "run.json"
    file.write_text(json.dumps(data.draw(damaged(log()))))
    result = tmp_path / "scores.json"
    result.write_text(json.dumps(scores("none", 0, 30.0)))
    attempt(lambda: commands.report((result,), tmp_path / "page.md", (file,)))


def loss(called, step, share):
    return called(torch.ones(2, 2)).square().mean()


def train(folder, steps):
    torch.manual_seed(0)
    net = torch.nn.Linear(2, 2)
    options = TrainingOptions(steps=steps, batch=2)
    run = training.RunOptions(device="cpu", checkpoint_every=2, log_every=1)
    training.train(net, loss, options, run, folder, {"task": "test"}, training.Share())


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
