# Data-parallel training and sharded tensors, on two processes of this machine.
import subprocess
import sys
from pathlib import Path

import pytest
import torch

PROGRAM = Path(__file__).with_name("distributed_program.py")


@pytest.mark.skipif(not torch.distributed.is_available(), reason="torch without distributed")
@pytest.mark.parametrize(
    "case", ["ddp", "dtensor", "dtensor_of_images", "compiled_dtensor", "sharded_parameters"]
)
def test_two_processes_agree_with_one(case):
    run = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    result = subprocess.run([*run, str(PROGRAM), case], capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr[-4000:]
