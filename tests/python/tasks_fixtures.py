# Fixtures of the tests of denoising, for their pytest_plugins: data, commands, a trained net.
import pytest
from tasks_support import TINY, call

from tautstring_tasks import training
from tautstring_tasks.denoise import data


@pytest.fixture(scope="session")
def scenes(tmp_path_factory):
    """The data of denoising; no test may change them."""
    folder = tmp_path_factory.mktemp("scenes")
    data.generate(folder)
    return folder


@pytest.fixture
def run():
    return call


@pytest.fixture
def train(scenes, tmp_path):
    def call_train(name, *arguments):
        folder = tmp_path / name
        call("train", "--data", scenes, "--out", folder, *TINY, *arguments)
        return folder / training.WEIGHTS

    return call_train


@pytest.fixture(scope="session")
def trained(scenes, tmp_path_factory):
    """The weights of a net after a few steps; no test may change them."""
    folder = tmp_path_factory.mktemp("trained")
    call("train", "--data", scenes, "--out", folder, *TINY, "--steps", 3)
    return folder / training.WEIGHTS
