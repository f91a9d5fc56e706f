# The programs of docs/many_machines.md run, with two processes on this machine.
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "many_machines"
needs_programs = pytest.mark.skipif(not FOLDER.exists(), reason="the programs are not here")
TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2")


def run(*arguments):
    """Returns what a program prints."""
    command = [sys.executable, *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr[-4000:]
    return result.stdout


@needs_programs
@pytest.mark.parametrize("options", [(), ("--shard",)], ids=["DDP", "FSDP"])
def test_a_net_is_trained(options):
    torch = pytest.importorskip("torch")
    if not torch.distributed.is_available():
        pytest.skip("torch without distributed")
    lines = run(*TORCHRUN, FOLDER / "train.py", *options).splitlines()
    errors = [float(line.rpartition(" ")[2]) for line in lines]
    assert len(errors) == 3
    assert errors[2] < errors[0] / 2


@needs_programs
def test_images_of_a_dtensor_are_solved_where_they_are():
    torch = pytest.importorskip("torch")
    if not torch.distributed.is_available():
        pytest.skip("torch without distributed")
    output = run(*TORCHRUN, FOLDER / "sharded.py")
    assert sorted(output.splitlines()) == [
        "process 0 has solved 3 images",
        "process 1 has solved 3 images",
    ]


@needs_programs
def test_blocks_of_a_dask_array_are_solved_by_a_cluster():
    pytest.importorskip("dask.array")
    pytest.importorskip("distributed")
    output = run(FOLDER / "larger_than_memory.py")
    assert output == "10 blocks of rows and 4 of images: the same bits as one call\n"
