# Classification of CIFAR-10 and CIFAR-10-C, from data to report, on rendered images.
import re
import shutil
from functools import partial

import numpy as np
import pytest
import torch
from tasks_support import call_task
from torch import nn

import tautstring
from tautstring_tasks import cifar10, cifar10c, nets, reporting, scores
from tautstring_tasks.cifar10 import CIFAR10
from tautstring_tasks.classify.data import Batches, ClassifyOptions, scaled
from tautstring_tasks.classify.model import AllConv, AllConvOptions
from tautstring_tasks.classify.task import Classify
from tautstring_tasks.errors import InputError
from tautstring_tasks.scores import Scored
from tautstring_tasks.sites import DecayedTVLayer

TASK = Classify()
CPU = torch.device("cpu")
SMALL = ["--width", "4", "--batch", "20", "--device", "cpu"]
ARMS = tuple(TASK.arms)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Rendered images, and corrupted ones in the layout of the published files."""
    found = tmp_path_factory.mktemp("cifar10")
    cifar10.generate(found, train=200, test=40)
    test = cifar10.load(found, "test")
    (found / "CIFAR-10-C").mkdir()
    for number, name in enumerate(cifar10c.CORRUPTIONS):
        noise = np.random.default_rng(number).integers(0, 30, (5, *test.images.shape), np.uint8)
        noise *= np.arange(5, dtype=np.uint8)[:, None, None, None, None]
        noisy = np.maximum(test.images, noise).reshape(-1, *test.images.shape[1:])
        np.save(found / "CIFAR-10-C" / f"{name}.npy", noisy)
    np.save(found / "CIFAR-10-C" / "labels.npy", np.tile(test.labels, 5))
    return found


@pytest.fixture
def run():
    return partial(call_task, "classify")


def make(arm="none", seed=0, **options):
    return nets.make(TASK, AllConvOptions(arm=arm, **{"width": 4, **options}), seed)


def images_of(count=6, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(count, 3, 32, 32, generator=generator) * 2 - 1


def test_the_net_has_the_parameters_of_augmix():
    with torch.device("meta"):
        net = AllConv(AllConvOptions(arm="none"))
    assert sum(parameter.numel() for parameter in net.parameters()) == 1_409_674


@pytest.mark.parametrize("arm", ["smooth", "sharp", "zero"])
def test_tv_is_between_the_convolution_and_the_norm_of_the_first_three_units(arm):
    net = make(arm)
    units = [*net.first, *net.second, *net.third]
    kinds = [[type(layer) for layer in unit][:3] for unit in units]
    assert kinds[:3] == [[nn.Conv2d, tautstring.TVLayer, nn.BatchNorm2d]] * 3
    assert kinds[3:] == [[nn.Conv2d, nn.Identity, nn.BatchNorm2d]] * 6
    assert all(unit.tv.lam.numel() == 1 for unit in units[:3])


@pytest.mark.parametrize("mode", ["smooth", "sharp"])
def test_lambda_is_decayed_in_the_arms_that_are_called_so(mode):
    def tv_of(arm):
        return make(arm).first[0].tv

    assert type(tv_of(mode)) is tautstring.TVLayer
    assert type(tv_of(f"{mode}-decayed")) is DecayedTVLayer
    x = images_of()[:, :1].expand(-1, 4, -1, -1)
    assert torch.equal(tv_of(mode)(x), tv_of(f"{mode}-decayed")(x))


def cut(maps):
    maps[..., 8:, :], maps[..., :, 8:] = 0, 0
    return maps


def test_the_head_sees_8_of_10_pixels_in_either_direction():
    net = make().eval()
    maps = []
    net.third.register_forward_hook(lambda layer, given, result: maps.append(result))
    expected = net(images_of())
    assert maps[0].shape[-2:] == (10, 10)
    net.third.register_forward_hook(lambda layer, given, result: cut(result))
    assert torch.equal(net(images_of()), expected)


@pytest.mark.parametrize("arm", ARMS)
def test_all_arms_begin_with_the_same_convolutions(arm):
    def state_of(arm):
        found = make(arm).state_dict()
        return {name: value for name, value in found.items() if ".tv." not in name}

    baseline, ours = state_of("none"), state_of(arm)
    assert baseline.keys() == ours.keys()
    assert all(torch.equal(value, ours[name]) for name, value in baseline.items())


@pytest.mark.parametrize("width", [1, 4])
@pytest.mark.parametrize("arm", ["zero", "blur"])
def test_controls_begin_as_the_identity(arm, width):
    images = images_of()
    expected = make(width=width).eval()(images)
    assert torch.equal(make(arm, width=width).eval()(images), expected)


def numbered(count=20):
    """Return images whose pixels are their number, at the edges and in the middle."""
    images = np.repeat(np.arange(1, count + 1, dtype=np.uint8), 32 * 32 * 3)
    return CIFAR10(images.reshape(count, 32, 32, 3), np.arange(count, dtype=np.uint8) % 10)


def drawn(batch):
    """Return the numbers of a batch's images."""
    middle = (batch.images[:, 0, 16, 16] + 1) * 127.5
    return (middle.round().int() - 1).tolist()


def batches_of(samples, batch=5, seed=0, **options):
    return Batches(samples, batch, ClassifyOptions(**options), seed, CPU)


def test_an_epoch_has_each_image_once_in_an_order_of_its_own():
    batches = batches_of(numbered())
    epochs = [[drawn(batches.of_step(4 * epoch + step)) for step in range(4)] for epoch in (0, 1)]
    for epoch in epochs:
        assert sorted(number for batch in epoch for number in batch) == list(range(20))
    assert epochs[0] != epochs[1]


def test_labels_are_those_of_their_images():
    batches = batches_of(numbered())
    for step in range(8):
        batch = batches.of_step(step)
        assert [number % 10 for number in drawn(batch)] == batch.labels.tolist()


def test_images_that_are_held_out_are_not_trained_on():
    batches = batches_of(numbered(), held_out=5)
    seen = {number for step in range(12) for number in drawn(batches.of_step(step))}
    assert seen == set(range(15))


def test_a_batch_is_that_of_its_seed_and_step():
    one, other = batches_of(numbered()), batches_of(numbered())
    for step in (7, 0, 3):
        other.of_step(step)
    for step in (0, 5):
        assert torch.equal(one.of_step(step).images, other.of_step(step).images)
    assert drawn(one.of_step(0)) != drawn(batches_of(numbered(), seed=1).of_step(0))


def test_images_are_shifted_and_mirrored_and_what_comes_in_is_black():
    generator = np.random.default_rng(0)
    image = generator.integers(1, 256, (1, 32, 32, 3), np.uint8)
    batches = batches_of(CIFAR10(image, np.zeros(1, np.uint8)), batch=1, shift=2)
    padded = np.pad(image[0], ((2, 2), (2, 2), (0, 0)))
    possible = {}
    for top in range(5):
        for left in range(5):
            shifted = padded[top : top + 32, left : left + 32]
            for mirrored in (False, True):
                view = np.ascontiguousarray(shifted[:, ::-1] if mirrored else shifted)
                possible[scaled(view[None]).numpy().tobytes()] = (top, left, mirrored)
    found = [possible[batches.of_step(step).images.numpy().tobytes()] for step in range(600)]
    assert set(found) == set(possible.values())


def test_pixels_are_scaled_to_between_minus_1_and_1():
    values = scaled(np.array([0, 51, 255], np.uint8).reshape(1, 1, 1, 3)).flatten()
    torch.testing.assert_close(values, torch.tensor([-1.0, -0.6, 1.0]))


def test_a_batch_of_more_images_than_there_are_is_refused():
    with pytest.raises(InputError, match="--batch: must be at most the 15 training images, got 16"):
        batches_of(numbered(), batch=16, held_out=5)


def test_training_learns_the_rendered_classes(run, folder, tmp_path):
    how = [*SMALL, "--arm", "smooth", "--width", "8", "--steps", "120", "--dropout", "0"]
    run("train", "--data", folder, "--out", tmp_path / "run", *how, "--lr", "0.05")
    weights, out = tmp_path / "run" / "weights.safetensors", tmp_path / "scores.npz"
    run("evaluate", "--data", folder, "--weights", weights, "--out", out, "--sets", "clean")
    (found,) = scores.load(TASK, out)
    assert found.scores["clean"]["accuracy"].mean() > 0.5  # by chance .1


def test_train_evaluate_and_report(run, folder, tmp_path, capsys):
    results = []
    for arm in ("none", "sharp"):
        place = tmp_path / arm
        run("train", "--data", folder, "--out", place, "--arm", arm, *SMALL, "--steps", 3)
        results.append(place / "scores.npz")
        weights = place / "weights.safetensors"
        run("evaluate", "--data", folder, "--weights", weights, "--out", results[-1])
    found = scores.load(TASK, results[-1])[0].scores
    assert {name: each["accuracy"].shape for name, each in found.items()} == {
        "clean": (40,),
        **dict.fromkeys(cifar10c.CORRUPTIONS, (5, 40)),
    }
    mean = 100 * np.mean([found[name]["accuracy"].mean() for name in cifar10c.CORRUPTIONS])
    assert f"all 15: accuracy {mean:.2f} %" in capsys.readouterr().out

    page = tmp_path / "page.md"
    run("report", *results, "--out", page)
    text = page.read_text()
    assert "|  | AllConv | TV-Sharp | *AllConv, the paper* |" in text
    assert re.search(r"\| defocus_blur \| [\d.]+ \| [\d.]+ \| \*77.9\* \|", text)
    assert re.search(r"\| gaussian_noise \| .*\(.* to .*\) \| \*\+6\.5\* \| \*\+4\.4\* \|", text)
    assert "![Accuracy over severity](images/classify_severities1.svg)" in text
    assert (tmp_path / "images" / "classify_severities1.svg").stat().st_size > 1000


def scored(arm, accuracy):
    about = {
        "model": {"arm": arm},
        "training": {"seed": 0},
    }
    return Scored(about, {name: {"accuracy": each} for name, each in accuracy.items()}, {})


def test_columns_are_means_over_severities_and_over_all_corruptions():
    is_right = np.zeros((5, 4), bool)
    is_right[:3, 0] = True
    found = {"clean": np.array([True, True, False, False])}
    found |= dict.fromkeys(cifar10c.CORRUPTIONS, is_right)
    found["fog"] = np.ones((5, 4), bool)
    columns = TASK.columns(scored("none", found).scores, TASK.measures[0])
    assert columns["clean"].tolist() == [1, 1, 0, 0]
    assert columns["snow"].tolist() == [0.6, 0, 0, 0]
    assert columns["all 15"] == pytest.approx([(14 * 0.6 + 1) / 15, *[1 / 15] * 3])
    del found["fog"]
    assert "all 15" not in TASK.columns(scored("none", found).scores, TASK.measures[0])


def test_the_papers_mean_over_all_corruptions_is_that_of_its_columns():
    for results in TASK.paper({}).values():
        found = {name: accuracy for name, (accuracy,) in results.items()}
        mean = np.mean([found[name] for name in cifar10c.CORRUPTIONS])
        assert mean == pytest.approx(found["all 15"], abs=0.06)


def test_the_place_of_corrupted_images_is_no_part_of_a_record(run, folder, tmp_path):
    run("train", "--data", folder, "--out", tmp_path / "run", *SMALL, "--steps", 1)
    weights = tmp_path / "run" / "weights.safetensors"
    where = ["--data", folder, "--weights", weights, "--sets", "fog", "--corrupted-images", 10]
    run("evaluate", *where, "--out", tmp_path / "one.npz")
    moved = ["--corrupted", (folder / "CIFAR-10-C").rename(tmp_path / "moved")]
    try:
        run("evaluate", *where, "--out", tmp_path / "other.npz", *moved)
        with pytest.raises(SystemExit, match="CIFAR-10-C"):
            run("evaluate", *where, "--out", tmp_path / "none.npz")
    finally:
        (tmp_path / "moved").rename(folder / "CIFAR-10-C")
    one, other = (scores.load(TASK, tmp_path / f"{name}.npz")[0] for name in ("one", "other"))
    assert one.about["test"] == other.about["test"] == {"corrupted_images": 10}
    assert one.about["sets"] == other.about["sets"]
    assert not (tmp_path / "none.npz").exists()


def test_held_out_images_are_a_test_set(run, folder, tmp_path):
    how = [*SMALL, "--steps", 1, "--held-out", 50]
    run("train", "--data", folder, "--out", tmp_path / "run", *how)
    weights = tmp_path / "run" / "weights.safetensors"
    out = tmp_path / "scores.npz"
    run("evaluate", "--data", folder, "--weights", weights, "--sets", "held-out", "--out", out)
    assert scores.load(TASK, out)[0].scores["held-out"]["accuracy"].shape == (50,)


def test_sets_that_there_are_not_are_named(run, folder, tmp_path):
    run("train", "--data", folder, "--out", tmp_path / "run", *SMALL, "--steps", 1)
    weights = tmp_path / "run" / "weights.safetensors"
    where = ["--data", folder, "--weights", weights, "--out", tmp_path / "scores.npz"]
    with pytest.raises(SystemExit, match="held-out: the net was trained on all images"):
        run("evaluate", *where, "--sets", "held-out")
    with pytest.raises(SystemExit, match=r"--sets: must be one of clean, .*fog.*, got smoke"):
        run("evaluate", *where, "--sets", "smoke")
    assert not (tmp_path / "scores.npz").exists()


def test_corrupted_images_of_another_order_are_refused(run, folder, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(folder / "CIFAR-10-C", other)
    np.save(other / "labels.npy", np.roll(np.load(other / "labels.npy"), 1))
    run("train", "--data", folder, "--out", tmp_path / "run", *SMALL, "--steps", 1)
    weights, out = tmp_path / "run" / "weights.safetensors", tmp_path / "scores.npz"
    where = ["--data", folder, "--weights", weights, "--out", out, "--sets", "fog"]
    with pytest.raises(SystemExit, match="other: belongs to other test images: its labels differ"):
        run("evaluate", *where, "--corrupted", other)
    np.save(other / "labels.npy", np.zeros(3))
    with pytest.raises(
        SystemExit, match=r"labels.npy: must have 5 \* N whole numbers, got float64"
    ):
        run("evaluate", *where, "--corrupted", other)
    assert not out.exists()


def test_rendered_data_are_all_that_evaluate_needs(run, tmp_path):
    run("generate", tmp_path / "data")
    run("train", "--data", tmp_path / "data", "--out", tmp_path / "run", *SMALL, "--steps", 1)
    weights, out = tmp_path / "run" / "weights.safetensors", tmp_path / "scores.npz"
    where = ["--data", tmp_path / "data", "--weights", weights, "--out", out]
    run("evaluate", *where, "--corrupted-images", 20)
    assert list(scores.load(TASK, out)[0].scores) == list(TASK.sets)


def test_runs_that_are_not_alike_have_figures_of_their_own(run, folder, tmp_path):
    results = []
    for steps in (1, 2):
        place = tmp_path / str(steps)
        run("train", "--data", folder, "--out", place, *SMALL, "--steps", steps)
        results.append(place / "scores.npz")
        where = ["--data", folder, "--weights", place / "weights.safetensors", "--sets", "fog"]
        run("evaluate", *where, "--out", results[-1])
    run("report", *results, "--out", tmp_path / "page.md")
    text = (tmp_path / "page.md").read_text()
    for number in (1, 2):
        assert f"](images/classify_severities{number}.svg)" in text
        assert (tmp_path / "images" / f"classify_severities{number}.svg").exists()


def test_apply_says_what_it_sees(run, folder, tmp_path, capsys):
    run("train", "--data", folder, "--out", tmp_path / "run", *SMALL, "--steps", 1)
    from tautstring_tasks import images

    photo = tmp_path / "photo.png"
    images.write(photo, np.full((50, 70, 3), 99, np.uint8))
    run("apply", photo, "--weights", tmp_path / "run" / "weights.safetensors")
    assert re.search(r"photo.png: \w+ \d+ %, \w+ \d+ %, \w+ \d+ %", capsys.readouterr().out)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["photo.png", "run"]
    with pytest.raises(SystemExit, match=r"result.png: this task prints what it sees"):
        run("apply", photo, tmp_path / "result.png", "--weights", tmp_path / "run")


def test_a_seed_that_is_there_twice_is_named():
    with pytest.raises(InputError, match="two results of arm none with seed 0"):
        reporting.by_arm(TASK, [scored("none", {}), scored("none", {})])
