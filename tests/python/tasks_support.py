# What several tests of the vision tasks need: their commands, scores of runs, a small net.
import dataclasses
import sys

import numpy as np
import torch
import tyro
from torch import nn

import tautstring
import tautstring_tasks.__main__ as command_line
from tautstring_tasks import checkpoints, nets, runs, training
from tautstring_tasks.denoise import data
from tautstring_tasks.denoise.data import NoiseOptions
from tautstring_tasks.denoise.model import ModelOptions
from tautstring_tasks.denoise.task import Denoise, DenoiseTest
from tautstring_tasks.devices import Share
from tautstring_tasks.recipes import Recipe
from tautstring_tasks.scores import Scored
from tautstring_tasks.training import RunOptions

TASK = Denoise()
SHORT = ["--patch", "16", "--batch", "4", "--device", "cpu"]
TINY = ["--width", "4", "--depth", "4", *SHORT]
RECIPE = Recipe(seed=1, steps=30, batch=4, lr=1e-2)
ABOUT = {"task": "test"}


def call_task(task, *arguments):
    """Run a command of a task in this process."""
    before = sys.argv
    sys.argv = ["tautstring_tasks", task, *map(str, arguments)]
    try:
        command_line.main()
    finally:
        sys.argv = before


def call(*arguments):
    """Run a command of denoising in this process."""
    call_task("denoise", *arguments)


def run_function(function, *arguments):
    """Run a function as a command; its errors are not turned into messages."""
    app = tyro.extras.SubcommandApp()
    app.command(name="it")(function)
    app.command(name="other")(lambda: None)  # else there would be no subcommands
    app.cli(args=["it", *map(str, arguments)], config=(tyro.conf.OmitArgPrefixes,))


def load(file):
    return nets.load(TASK, file)


def assert_same_tensors(ones, others):
    assert ones.keys() == others.keys()
    for name, tensor in ones.items():
        assert torch.equal(tensor, others[name]), name


def scored(arm="none", seed=0, psnr=30.0, *, recipe=None, noise=None, names=("CBSD68",), **changes):
    """A run with the scores of two images on each test set, without a history."""
    recipe = recipe or Recipe(steps=10, batch=2)
    trained_on = {data.TRAIN: {"images": 1, "sha256": "1"}}
    about = {
        **nets.describe(TASK, ModelOptions(arm=arm), noise or NoiseOptions(), trained_on),
        "training": runs.as_options(dataclasses.replace(recipe, seed=seed)),
        "execution": {"precision": "float32", "processes": 1},
        "test": runs.as_options(DenoiseTest()),
        "precision": "float32",
        "machine": {"cpu": "a CPU"},
        "sets": {name: {"sha256": "2", "items": 2} for name in names},
        **changes,
    }
    values = {"PSNR": np.array([psnr, psnr + 0.5]), "SSIM": np.array([0.9, 0.8])}
    return Scored(about, {name: dict(values) for name in names}, {})


def with_history(run):
    """The run, with the history of its training."""
    history = {
        "step": np.array([5, 10], np.int32),
        "loss": np.array([0.5, 0.25], np.float32),
        "lam/at_input": np.array([[0.1, 0.2, 0.3], [0.2, 0.3, 0.4]], np.float32),
        "lam/at_output": np.array([[0.1], [0.2]], np.float32),
    }
    keys = ("cpu", "threads", "date", "commit", "packages")
    about = {**run.about, "trained_on": dict.fromkeys(keys, "x")}
    return dataclasses.replace(run, about=about, history=history)


class KilledError(Exception):
    pass


def small_net():
    torch.manual_seed(0)
    return nn.Sequential(
        *[nn.Conv2d(1, 2, 3, padding=1), tautstring.TVLayer(2), nn.BatchNorm2d(2)],
        nn.Conv2d(2, 2, 3),
        nn.Dropout(0.2),
    )


def small_loss(killed_at=None):
    def loss(net, step, share):
        if step == killed_at:
            raise KilledError
        generator = training.step_generator(RECIPE.seed, step, torch.device("cpu"))
        return net(share.of(torch.rand(4, 1, 6, 6, generator=generator))).square().mean()

    return loss


def train_small(folder, loss, recipe=RECIPE, about=ABOUT, rates=None, **run):
    net = small_net()
    how = RunOptions(**{"device": "cpu", "checkpoint_every": 10, "log_every": 4, **run})
    return training.train(net, loss, recipe, how, folder, about, Share(), rates)


def assert_same_run(one, other):
    weights, about = checkpoints.load(one / training.WEIGHTS)
    other_weights, other_about = checkpoints.load(other / training.WEIGHTS)
    assert_same_tensors(weights, other_weights)
    assert about == other_about
    history, other_history = (
        runs.load_json(folder / training.LOG)["history"] for folder in (one, other)
    )
    assert history == other_history
