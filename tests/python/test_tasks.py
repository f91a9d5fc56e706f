# Shared code of the vision tasks: resuming, complete files, paired differences.
import dataclasses
import json
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import ExifTags, Image, ImageCms
from tasks_support import (
    RECIPE,
    KilledError,
    assert_same_run,
    small_loss,
    small_net,
)
from tasks_support import train_small as train

import tautstring_tasks.__main__ as command_line
from tautstring_tasks import checkpoints, files, images, jobs, runs, training
from tautstring_tasks.devices import Share
from tautstring_tasks.errors import InputError
from tautstring_tasks.paired import difference
from tautstring_tasks.recipes import Recipe
from tautstring_tasks.training import RunOptions


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("killed_at", [3, 10, 17, 29])
def test_a_killed_run_resumes_to_the_same_result(tmp_path, killed_at, precision):
    assert train(tmp_path / "whole", small_loss(), precision=precision).is_done
    with pytest.raises(KilledError):
        train(tmp_path / "killed", small_loss(killed_at), precision=precision)
    assert train(tmp_path / "killed", small_loss(), precision=precision).is_done
    assert_same_run(tmp_path / "whole", tmp_path / "killed")


def test_a_run_that_is_stopped_by_time_resumes_to_the_same_result(tmp_path):
    train(tmp_path / "whole", small_loss())
    stopped = train(tmp_path / "stopped", small_loss(), minutes=0.0)
    assert not stopped.is_done
    assert stopped.steps == 4  # where the clock is first read
    assert not (tmp_path / "stopped" / training.WEIGHTS).exists()
    train(tmp_path / "stopped", small_loss())
    assert_same_run(tmp_path / "whole", tmp_path / "stopped")


def test_a_checkpoint_of_other_options_is_refused(tmp_path):
    train(tmp_path, small_loss(), minutes=0.0)
    with pytest.raises(InputError, match=r"training is .*'lr': 0.01.*, not .*'lr': 0.5"):
        train(tmp_path, small_loss(), recipe=dataclasses.replace(RECIPE, lr=0.5))
    with pytest.raises(InputError, match="task is test, not other"):
        train(tmp_path, small_loss(), about={"task": "other"})
    with pytest.raises(InputError, match=r"execution is .*'float32'.*, not .*'bfloat16'"):
        train(tmp_path, small_loss(), precision="bfloat16")


def test_a_run_that_is_done_is_left_as_it_is(tmp_path):
    train(tmp_path, small_loss())
    before = {file: file.stat().st_mtime_ns for file in tmp_path.iterdir()}
    again = train(tmp_path, small_loss())
    assert (again.is_done, again.steps) == (True, RECIPE.steps)
    assert {file: file.stat().st_mtime_ns for file in tmp_path.iterdir()} == before


def test_a_folder_is_for_one_process(tmp_path):
    def loss(net, step, share):
        with pytest.raises(InputError, match="another process is training there"):
            train(tmp_path, small_loss())
        return small_loss()(net, step, share)

    assert train(tmp_path, loss).is_done


def test_a_batch_must_be_shared_out_evenly(tmp_path):
    with pytest.raises(InputError, match="--batch: must be a multiple of the 3 processes, got 4"):
        training.train(small_net(), small_loss(), RECIPE, RunOptions(), tmp_path, {}, Share(0, 3))


def test_a_run_says_what_it_was(tmp_path):
    train(tmp_path, small_loss())
    log = runs.load_json(tmp_path / training.LOG)
    assert log["training"]["seed"] == 1
    assert log["machine"]["commit"]
    assert "torch 2." in log["machine"]["packages"]
    assert [line["step"] for line in log["history"]] == [4, 8, 12, 16, 20, 24, 28, 30]
    assert log["history"][0]["lam"]["1"] != log["history"][-1]["lam"]["1"]


@pytest.mark.parametrize("is_wanted", [False, True])
def test_files_for_tensorboard_are_written_on_request(tmp_path, is_wanted):
    train(tmp_path, small_loss(), tensorboard=is_wanted)
    assert len(list(tmp_path.glob("tensorboard/*"))) == is_wanted


def test_an_unfinished_run_has_a_log_and_a_resumed_one_says_so(tmp_path):
    train(tmp_path, small_loss(), minutes=0.0)
    first = runs.load_json(tmp_path / training.LOG)
    assert (first["steps"], len(first["history"]), first["earlier"]) == (4, 1, [])
    assert first["execution"] == {"precision": "float32", "processes": 1}  # what `auto` was
    train(tmp_path, small_loss(), log_every=8)
    last = runs.load_json(tmp_path / training.LOG)
    assert last["steps"] == RECIPE.steps
    assert last["run"]["log_every"] == 8
    assert last["earlier"] == [{key: first[key] for key in ("run", "machine", "steps")}]


def test_the_commit_of_a_copy_is_unknown(tmp_path, monkeypatch):
    assert runs.about_machine(torch.device("cpu"))["commit"]
    monkeypatch.setattr(runs, "__file__", str(tmp_path / "runs.py"))
    assert runs.about_machine(torch.device("cpu"))["commit"] == "unknown"


def test_a_loss_that_is_no_number_stops_the_run(tmp_path):
    with pytest.raises(InputError, match="the loss is nan after 4 steps; a lower --lr may help"):
        train(tmp_path, lambda net, step, share: small_loss()(net, step, share) + torch.nan)


def test_a_file_that_cannot_be_finished_leaves_the_old_one(tmp_path, monkeypatch):
    file = tmp_path / "weights.safetensors"
    checkpoints.save(file, {"a": torch.ones(2)}, {"number": 1})

    def fail(_):
        raise OSError("disk full")

    with monkeypatch.context() as patched:
        patched.setattr(files.os, "fsync", fail)
        with pytest.raises(OSError, match="disk full"):
            checkpoints.save(file, {"a": torch.zeros(2)}, {"number": 2})
    tensors, about = checkpoints.load(file)
    assert torch.equal(tensors["a"], torch.ones(2))
    assert about == {"number": 1}


def test_a_fused_optimizer_goes_on_with_channels_last(tmp_path):
    # As on a GPU; it rejects gradient means with another memory layout than the weights.
    def start():
        net = small_net().to(memory_format=torch.channels_last)
        return net, torch.optim.Adam(net.parameters(), fused=True)

    def step(net, optimizer, number):
        optimizer.zero_grad()
        torch.manual_seed(number)  # as in training: of dropout
        small_loss()(net, number, Share()).backward()
        optimizer.step()

    whole = start()
    step(*whole, 0)
    file = tmp_path / "checkpoint.safetensors"
    checkpoints.save(file, checkpoints.training_state(*whole), {})
    resumed = start()
    checkpoints.restore(file, *resumed, checkpoints.load(file)[0])
    for each in (whole, resumed):
        step(*each, 1)
    for one, other in zip(whole[0].parameters(), resumed[0].parameters(), strict=True):
        assert torch.equal(one, other)


def test_a_foreign_file_is_refused(tmp_path):
    import safetensors.torch

    file = tmp_path / "foreign.safetensors"
    safetensors.torch.save_file({"a": torch.ones(2)}, file)
    with pytest.raises(
        InputError, match=r"foreign.safetensors: was not written by tautstring_tasks"
    ):
        checkpoints.load(file)


def test_the_hash_of_files_knows_names_and_contents(tmp_path):
    (tmp_path / "a").write_bytes(b"1")
    (tmp_path / "b").write_bytes(b"2")
    files = [tmp_path / "a", tmp_path / "b"]
    first = runs.hash_of_files(files)
    assert runs.hash_of_files(reversed(files)) == first
    (tmp_path / "b").write_bytes(b"3")
    assert runs.hash_of_files(files) != first


def test_images_that_are_missing_or_broken_are_named(tmp_path):
    with pytest.raises(InputError, match=r"nowhere: does not exist. Get it there"):
        images.files_of(tmp_path / "nowhere", "Get it there")
    with pytest.raises(InputError, match="has no images"):
        images.files_of(tmp_path, "")
    (tmp_path / "broken.png").write_bytes(b"no image")
    with pytest.raises(InputError, match=r"broken.png: cannot be read as an image"):
        images.read(tmp_path / "broken.png")


def test_a_photo_that_was_taken_upright_is_upright(tmp_path):
    pixels = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3)
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = 6  # to be turned a quarter clockwise
    Image.fromarray(pixels).save(tmp_path / "turned.png", exif=exif)
    assert (images.read(tmp_path / "turned.png") == np.rot90(pixels, -1)).all()


@pytest.mark.parametrize("suffix", ["png", "tiff"])
def test_pixels_of_16_bits_are_rounded_to_8(tmp_path, suffix):
    values = np.array([[0, 128, 129, 257, 25700, 65535]], np.uint16)
    file = tmp_path / f"grey.{suffix}"
    Image.fromarray(values).save(file)
    assert images.read(file).tolist() == [[[v] * 3 for v in (0, 0, 1, 1, 100, 255)]]


@pytest.mark.parametrize(
    ("dtype", "what"), [(np.int32, "32-bit integers"), (np.float32, "floating point numbers")]
)
def test_pixels_whose_white_is_not_known_are_refused(tmp_path, dtype, what):
    file = tmp_path / "image.tiff"
    Image.fromarray(np.ones((2, 2), dtype)).save(file)
    with pytest.raises(InputError, match=f"image.tiff: pixels must have 8 or 16 bits, got {what}"):
        images.read(file)


def test_an_image_beyond_what_pillow_trusts_is_named(tmp_path, monkeypatch):
    Image.fromarray(np.zeros((8, 8, 3), np.uint8)).save(tmp_path / "large.png")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 10)
    with pytest.raises(InputError, match=r"large.png: cannot be read as an image \(Image size"):
        images.read(tmp_path / "large.png")


def test_images_keep_their_colour_profile(tmp_path):
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    pixels = np.zeros((2, 2, 3), np.uint8)
    for suffix in ("png", "jpg", "tif", "webp"):
        file = tmp_path / f"image.{suffix}"
        images.write(file, pixels)
        assert images.colour_profile(file) is None
        images.write(file, pixels, profile)
        assert images.colour_profile(file) == profile


def test_a_place_that_cannot_be_written_is_named_before_the_work(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"file: cannot create the folder \(File exists\)"):
        files.prepare_place(tmp_path / "file" / "scores.json")
    with pytest.raises(InputError, match="is a folder; a file must be written there"):
        files.prepare_place(tmp_path)
    with pytest.raises(InputError, match=r"file: cannot create the folder \(File exists\)"):
        train(tmp_path / "file", small_loss())
    files.prepare_place(tmp_path / "new" / "scores.json")
    assert (tmp_path / "new").is_dir()


def test_json_that_is_none_is_named(tmp_path):
    with pytest.raises(InputError, match=r"none.json: cannot be read \(No such file"):
        runs.load_json(tmp_path / "none.json")
    for content, message in (
        (b"\xff", "is not a text file"),
        (b"{", "is not valid JSON"),
        (b"[]", "a JSON object"),
    ):
        (tmp_path / "bad.json").write_bytes(content)
        with pytest.raises(InputError, match=message):
            runs.load_json(tmp_path / "bad.json")


def test_a_constant_difference_is_certain():
    scores = np.random.default_rng(0).normal(30, 2, (3, 20))
    found = difference(scores + 0.25, scores)
    assert (found.mean, found.low, found.high) == pytest.approx((0.25, 0.25, 0.25))
    assert found.is_clear


@pytest.mark.parametrize(
    ("seeds", "images"), [(3, 68), (3, 18), (5, 24), (40, 60), (1, 24), (5, 1)]
)
@pytest.mark.parametrize("of_seed", [0.0, 0.3, 2.0])
def test_the_interval_has_the_mean_as_often_as_it_says(seeds, images, of_seed):
    generator = np.random.default_rng(3)
    count = 2000
    hits = 0
    for _ in range(count):
        shared = generator.normal(0, of_seed, (seeds, 1)) if seeds > 1 else 0  # else not to be seen
        of_image = generator.normal(0, 1, (1, images)) if images > 1 else 0
        pairs = 0.1 + shared + of_image + generator.normal(0, 1, (seeds, images))
        found = difference(pairs, np.zeros_like(pairs))
        hits += found.low < 0.1 < found.high
    assert 0.93 < hits / count < 0.98  # its deviation is 0.005; cautious where freedoms are few


def test_one_pair_tells_nothing():
    found = difference(np.array([[31.0]]), np.array([[30.0]]))
    assert found.mean == 1
    assert not found.is_clear


def test_scores_that_are_no_pairs_are_refused():
    with pytest.raises(ValueError, match=r"pairs of \(seeds, images\), got \(3, 20\)"):
        difference(np.zeros((3, 20)), np.zeros((3, 21)))


def test_the_command_line_lists_its_commands():
    command = [sys.executable, "-m", "tautstring_tasks", "denoise", "--help"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for name in ("train", "evaluate", "report", "apply", "generate"):
        assert name in shown


def test_jobs_that_fail_are_named_and_others_go_on(tmp_path):
    bad = jobs.Job(("denoise", "generate"), tmp_path / "bad" / "log")
    good = jobs.Job(("denoise", "generate", str(tmp_path / "scenes")), tmp_path / "good" / "log")
    assert jobs.run_all([bad, good], at_once=1) == [bad.log]
    assert (tmp_path / "scenes" / "CBSD68").is_dir()


@pytest.fixture
def started(monkeypatch):
    """The processes started, with their arguments; each sleeps instead."""
    found = []
    start = subprocess.Popen

    def note(command, *, stdout, stderr, env):
        sleep = "import time; time.sleep(0.3)"
        found.append((start([sys.executable, "-c", sleep], stdout=stdout, stderr=stderr), env))
        return found[-1][0]

    monkeypatch.setattr(jobs.subprocess, "Popen", note)
    return found


def test_jobs_share_the_cores(tmp_path, monkeypatch, started):
    monkeypatch.setattr(jobs.os, "sched_getaffinity", lambda _: set(range(6)))
    job = jobs.Job((), tmp_path / "log")
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    jobs.run_all([job], at_once=2)
    jobs.run_all([job], at_once=12)
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    jobs.run_all([job], at_once=2)
    assert [env["OMP_NUM_THREADS"] for _, env in started] == ["3", "1", "5"]


def test_no_more_jobs_run_at_once_than_may(tmp_path, monkeypatch, started):
    most = []
    sleep = time.sleep

    def look(seconds):
        most.append(sum(process.poll() is None for process, _ in started))
        sleep(seconds)

    monkeypatch.setattr(jobs.time, "sleep", look)
    jobs.run_all([jobs.Job((str(index),), tmp_path / "log") for index in range(5)], at_once=2)
    assert len(started) == 5
    assert max(most) == 2


def test_what_ends_a_study_ends_its_jobs(tmp_path, monkeypatch, started):
    def end(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(jobs.time, "sleep", end)
    with pytest.raises(KeyboardInterrupt):
        jobs.run_all([jobs.Job((str(index),), tmp_path / "log") for index in range(3)], at_once=2)
    assert [process.returncode for process, _ in started] == [-signal.SIGTERM] * 2


def test_a_signal_to_end_is_an_exception(monkeypatch):
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(sys, "argv", ["tautstring_tasks", "--help"])
    try:
        with pytest.raises(SystemExit):
            command_line.main()
        with pytest.raises(SystemExit) as ended:
            signal.raise_signal(signal.SIGTERM)
        assert ended.value.code == 143
    finally:
        signal.signal(signal.SIGTERM, before)


def test_bfloat16_is_for_gpus_unless_asked_for():
    cpu, gpu = torch.device("cpu"), torch.device("cuda")
    assert RunOptions().on(gpu) == "bfloat16"
    assert RunOptions().on(cpu) == "float32"
    assert RunOptions(precision="bfloat16").on(cpu) == "bfloat16"
    assert RunOptions(precision="float32").on(gpu) == "float32"


def test_bfloat16_is_of_convolutions_alone(tmp_path):
    seen = {}

    def loss(net, step, share):
        seen["convolution"] = net[0](torch.rand(1, 1, 6, 6)).dtype
        seen["weight"] = net[0].weight.dtype
        return net(torch.rand(1, 1, 6, 6)).square().mean()

    train(tmp_path, loss, precision="bfloat16")
    assert seen == {"convolution": torch.bfloat16, "weight": torch.float32}


def test_no_job_is_begun_when_time_is_up(tmp_path):
    job = jobs.Job(("denoise", "generate", str(tmp_path / "scenes")), tmp_path / "log")
    jobs.run_all([job], at_once=1, minutes=0.0)
    assert not job.log.exists()


def test_options_become_arguments():
    options = RunOptions(device="cpu", compile=True, tensorboard=False, minutes=None)
    arguments = jobs.as_arguments(options, without=frozenset({"log_every"}))
    assert arguments == [
        *["--device", "cpu", "--precision", "auto", "--compile", "--checkpoint-every", "5000"],
        "--no-tensorboard",
    ]


@pytest.mark.parametrize("drops", [(0.5, 0.75), (0.5,), ()])
def test_a_tuple_becomes_one_argument_with_its_items(drops):
    arguments = jobs.as_arguments(Recipe(drops=drops))
    at = arguments.index("--drops") + 1
    assert arguments[at : at + len(drops)] == [str(drop) for drop in drops]
    assert arguments[at + len(drops)] == "--rise"


def test_options_are_what_json_has():
    options = runs.as_options(RECIPE)
    assert options == json.loads(json.dumps(options))
    assert options["lr"] == 1e-2
    assert options["drops"] == [0.3, 0.6, 0.9]


@dataclass(frozen=True)
class PlacedOptions:
    count: int = 3
    folder: Path = field(default=Path("somewhere"), metadata=runs.PLACE)


def test_the_place_of_a_file_is_not_part_of_a_record():
    assert runs.as_options(PlacedOptions(folder=Path("elsewhere"))) == {"count": 3}
