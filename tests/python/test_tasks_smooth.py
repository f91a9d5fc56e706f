# Smoothing, from data to report, on rendered scenes. With TAUTSTRING_BENCHMARK_EPS, the folder of
# the published data, the reference errors of its 100 test images are computed as well.
import dataclasses
import os
import re
import shutil
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.io import savemat
from tasks_support import call_task
from torch import nn

from tautstring_tasks import checkpoints, images, pooled, reporting, scores
from tautstring_tasks.errors import InputError
from tautstring_tasks.nets import make
from tautstring_tasks.smooth import data, task
from tautstring_tasks.smooth.data import Batch, VotedPatches
from tautstring_tasks.smooth.model import SmoothOptions
from tautstring_tasks.smooth.task import Smooth, sums_of, voted_loss

TASK = Smooth()
CPU = torch.device("cpu")
TINY = ["--channels", 4, "--blocks", 4, "--patch", 24, "--batch", 2, "--device", "cpu"]
BENCHMARK = os.environ.get("TAUTSTRING_BENCHMARK_EPS")


@pytest.fixture(scope="module")
def scenes(tmp_path_factory):
    """Rendered data; no test may change them."""
    folder = tmp_path_factory.mktemp("scenes")
    data.generate(folder)
    return folder


@pytest.fixture
def copied(scenes, tmp_path):
    return Path(shutil.copytree(scenes, tmp_path / "copied"))


@pytest.fixture
def published(tmp_path, monkeypatch):
    """Two training images and one for tests, in the published layout."""
    monkeypatch.setattr(data, "_LAST_OF_TRAINING", 2)
    generator = np.random.default_rng(0)
    for folder in ("origin_images", "gt_images"):
        (tmp_path / folder).mkdir()
    for number in range(1, 4):
        names = ["origin_images/000{}.png", *(f"gt_images/000{{}}_{k}.png" for k in range(1, 6))]
        for name in names:
            pixels = generator.integers(0, 256, (5 + number, 6, 3), np.uint8)
            images.write(tmp_path / name.format(number), pixels)
    votes = np.array([[0.2] * 5, [0.5, 0.5, 0, 0, 0], [0.4, 0.3, 0.1, 0.1, 0.1]])
    savemat(tmp_path / "weight_matrix.mat", {"weight_matrix": votes})
    return tmp_path


@pytest.fixture
def run():
    return partial(call_task, "smooth")


@pytest.fixture
def train(run, scenes, tmp_path):
    def call(arm, *arguments):
        folder = tmp_path / arm
        how = [*TINY, "--arm", arm, "--steps", 2, *arguments]
        run("train", "--data", scenes, "--out", folder, *how)
        return folder / "weights.safetensors"

    return call


def batch_of(truths=2, size=6, count=2):
    generator = torch.Generator().manual_seed(0)
    shape = (count, truths, 3, size, size)
    votes = torch.rand(count, truths, generator=generator)
    return Batch(
        255 * torch.rand(count, 3, size, size, generator=generator),
        255 * torch.rand(shape, generator=generator),
        votes / votes.sum(dim=1, keepdim=True),
    )


def columns_of(*sums):
    stored = dict(zip(TASK.scores_stored(), np.array(sums, np.float64).T, strict=True))
    return TASK.columns({"test": stored}, TASK.measures[0])


def as_the_whole_split(run):
    """The scores of two images as if they were those of 100."""
    sets = {"test": {**run.about["sets"]["test"], "items": 100}}
    sums = {name: np.tile(values, 50) for name, values in run.scores["test"].items()}
    return dataclasses.replace(run, about={**run.about, "sets": sets}, scores={"test": sums})


def test_sums_are_weighted_by_votes_over_all_pixels_and_colours():
    image = torch.full((1, 3, 1, 2), 10.0, dtype=torch.float64)
    truths = torch.tensor([10.0, 14.0]).double()[:, None, None, None].expand(2, 3, 1, 2)
    absolute, squared, values = sums_of(image, truths, torch.tensor([0.25, 0.75]).double())
    assert (absolute, squared, values) == (6 * 0.75 * 4, 6 * 0.75 * 16, 6)


def test_errors_are_those_of_all_images_together():
    found = columns_of((30, 90, 10), (10, 10, 30), (0, 44, 8))
    assert found["test, WMAE"].mean() == pytest.approx(40 / 48)
    assert found["test, WRMSE"].mean() == pytest.approx(np.sqrt(144 / 48))


def test_the_spread_of_errors_is_that_of_a_ratio():
    # Of a mean over pixels the jackknife is that of the ratio: images' sums less their share.
    sums = np.random.default_rng(0).uniform(0.9, 1.1, (2000, 3)) * (3.0, 14.0, 1000.0)
    found = columns_of(*sums)["test, WMAE"]
    ratio = sums[:, 0].sum() / sums[:, 2].sum()
    expected = (sums[:, 0] - ratio * sums[:, 2]).std() / sums[:, 2].mean()
    assert found.std() == pytest.approx(expected, rel=1e-2)


def test_one_image_has_the_error_of_all():
    assert columns_of((30, 90, 10))["test, WRMSE"].tolist() == [3]
    assert pooled.jackknife(task.wmae, np.array([[30.0, 90.0, 10.0]])).tolist() == [3]


def test_results_are_clipped_and_not_rounded(published):
    class Shifted(nn.Module):
        def forward(self, image):
            return image + 100.25

    found = TASK.tests(published, ("test",), TASK.data, TASK.test)["test"]
    assert found.about["items"] == 1
    (example,) = data.examples(published, "test")
    pixels, truths = example.read()
    result = np.minimum(pixels + 100.25, 255)
    off = [vote * abs(result - truth) for vote, truth in zip(example.votes, truths, strict=True)]
    sums = found.score(Shifted(), CPU, "float32")
    assert sums["absolute"] == pytest.approx([np.sum(off)])
    assert sums["values"].tolist() == [8 * 6 * 3]


def test_the_oracle_takes_the_best_result_by_the_truths(scenes):
    found = TASK.tests(scenes, ("test",), TASK.data, TASK.test)["test"]
    sums = {
        arm: found.score(make(TASK, SmoothOptions(arm=arm, lam_alone=20.0), 0), CPU, "float32")[
            "absolute"
        ]
        for arm in ("single", "oracle")
    }
    assert (sums["oracle"] < 0.9 * sums["single"]).all()


@pytest.mark.parametrize("neighbourhood", [0.0, 1.0, 0.5])
def test_the_loss_is_that_of_a_plain_loop(neighbourhood):
    batch = batch_of()
    smoothed = batch.images
    count, truths, _, size, _ = batch.truths.shape
    expected = 0.0
    for n in range(count):
        for k in range(truths):
            vote, result, truth = batch.votes[n, k], smoothed[n], batch.truths[n, k]
            expected += vote * (result - truth).abs().mean() / count
            for y in range(-2, 3):
                for x in range(-2, 3):
                    inside = [
                        (row, column)
                        for row in range(size)
                        for column in range(size)
                        if 0 <= row + y < size and 0 <= column + x < size
                    ]
                    total = sum(
                        (
                            (result[:, i + y, j + x] - result[:, i, j])
                            - (truth[:, i + y, j + x] - truth[:, i, j])
                        ).abs()
                        for i, j in inside
                    )
                    of_offset = total.sum() / (3 * len(inside))
                    expected += neighbourhood * vote * of_offset / count
    found = voted_loss(smoothed, batch, neighbourhood)
    torch.testing.assert_close(found, torch.as_tensor(expected), rtol=1e-5, atol=0)


def test_the_loss_of_the_only_truth_itself_is_0():
    batch = batch_of(truths=1)
    assert voted_loss(batch.truths[:, 0], batch, 1.0) == 0


def test_patches_have_their_own_truths_and_votes(published):
    found = data.examples(published, "train")
    patches = VotedPatches(found, 5, CPU)
    pictures = [example.read() for example in found]
    for step in range(4):
        batch = patches.of_step(8, 0, step)
        for image, truths, votes in zip(batch.images, batch.truths, batch.votes, strict=True):
            number = int(votes[0] == 0.5)
            assert votes.tolist() == pytest.approx(found[number].votes)
            pixels, drawn = pictures[number]
            place = np.argwhere((pixels == image[:, 2, 2].numpy()).all(axis=2))
            # The middle of a patch stays where it is in all orientations.
            assert any((drawn[:, y, x] == truths[:, :, 2, 2].numpy()).all() for y, x in place)


def test_a_batch_is_that_of_its_seed_and_step(scenes):
    patches = VotedPatches(data.examples(scenes, "train"), 16, CPU)
    one, again = patches.of_step(3, 1, 5), patches.of_step(3, 1, 5)
    assert torch.equal(one.images, again.images)
    assert torch.equal(one.truths, again.truths)
    assert not torch.equal(one.images, patches.of_step(3, 1, 6).images)
    assert not torch.equal(one.images, patches.of_step(3, 2, 5).images)


def test_an_image_with_fewer_truths_has_votes_of_0(copied):
    votes = copied / "weights.csv"
    lines = votes.read_text().splitlines()
    votes.write_text("\n".join(lines[:1] + lines[3:]) + "\n")  # without two of scene0
    found = data.examples(copied, "train")
    assert [len(example.truths) for example in found] == [3, *[5] * 7]
    assert sum(found[0].votes) == pytest.approx(1)
    batch = VotedPatches(found[:2], 16, CPU).of_step(16, 0, 0)
    assert {int((votes == 0).sum()) for votes in batch.votes} == {0, 2}
    assert torch.isfinite(voted_loss(batch.images, batch, 1.0))


def test_the_published_layout_is_split_by_numbers(published):
    train, test = data.examples(published, "train"), data.examples(published, "test")
    assert [example.image.stem for example in train] == ["0001", "0002"]
    assert [example.image.stem for example in test] == ["0003"]
    assert test[0].truths[4].name == "0003_5.png"
    assert test[0].votes == pytest.approx((0.4, 0.3, 0.1, 0.1, 0.1))


def test_the_listed_layout_is_split_by_folders(scenes):
    train, test = data.examples(scenes, "train"), data.examples(scenes, "test")
    assert (len(train), len(test)) == (8, 2)
    assert {example.image.parent.name for example in test} == {"test"}
    assert [file.stem for file in test[0].truths] == [f"scene8_gt{k}" for k in range(1, 6)]


def test_no_test_image_is_a_training_image(scenes, published):
    for folder in (scenes, published):
        train, test = (
            {example.image.read_bytes() for example in data.examples(folder, split)}
            for split in ("train", "test")
        )
        assert not train & test


def test_data_of_neither_layout_are_refused(tmp_path):
    message = r"has neither origin_images nor weights\.csv\. The data .*Benchmark_EPS"
    with pytest.raises(InputError, match=message):
        data.examples(tmp_path, "train")
    with pytest.raises(InputError, match="--sets: must be one of test, train, got MINE"):
        TASK.tests(tmp_path, ("MINE",), TASK.data, TASK.test)


@pytest.mark.parametrize("name", ["origin_images/0002.png", "gt_images/0001_4.png"])
def test_a_missing_published_file_is_named(published, name):
    (published / name).unlink()
    with pytest.raises(InputError, match=f"{name}: does not exist"):
        data.examples(published, "train")


@pytest.mark.parametrize("content", [b"not a matrix", None])
def test_a_damaged_or_missing_matrix_is_named(published, content):
    file = published / "weight_matrix.mat"
    file.unlink() if content is None else file.write_bytes(content)
    with pytest.raises(InputError, match=r"weight_matrix.mat: cannot be read as a .mat file"):
        data.examples(published, "test")


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ({"other": np.ones((3, 5))}, "must have a weight_matrix with 5 columns"),
        ({"weight_matrix": np.ones((3, 4))}, "must have a weight_matrix with 5 columns"),
        ({"weight_matrix": -np.ones((3, 5))}, "row 1: weights must be at least 0"),
        ({"weight_matrix": np.full((3, 5), np.nan)}, "row 1: weights must be at least 0"),
        ({"weight_matrix": np.zeros((3, 5))}, "row 1: weights must be at least 0, and one above"),
    ],
)
def test_votes_that_are_none_are_named(published, matrix, message):
    savemat(published / "weight_matrix.mat", matrix)
    with pytest.raises(InputError, match=message):
        data.examples(published, "train")


def test_a_split_without_images_is_named(published):
    savemat(published / "weight_matrix.mat", {"weight_matrix": np.ones((2, 5))})
    with pytest.raises(InputError, match="has no images of the split test"):
        data.examples(published, "test")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("train,scene0,6,0.1", "train/scene0_gt6: there is no image of this name"),
        ("train,other,1,0.1", "train/other: there is no image of this name"),
        ("train,scene0,1,0.1", "line 52: is the second one for this truth"),
        ("train,scene0,6,much", "line 52: the weight must be a number, got 'much'"),
        ("train,scene0", "line 52: must have the columns split, image, ground_truth, weight"),
        ("train,scene0,5,-1", "line 52: is the second one"),
    ],
)
def test_a_damaged_list_of_votes_is_named(copied, line, message):
    with (copied / "weights.csv").open("a") as opened:
        opened.write(line + "\n")
    with pytest.raises(InputError, match=message):
        data.examples(copied, "train")


def test_a_truth_of_another_size_is_named(copied):
    file = copied / "test" / "scene8_gt2.png"
    images.write(file, images.read(file)[:-1])
    with pytest.raises(InputError, match=r"scene8_gt2.png: has 80 x 63 pixels, its image 80 x 64"):
        data.examples(copied, "test")[0].read()


def test_a_damaged_image_is_named(copied):
    file = copied / "test" / "scene8_gt2.png"
    file.write_bytes(file.read_bytes()[:50])
    with pytest.raises(InputError, match=r"scene8_gt2.png: cannot be read as an image"):
        data.examples(copied, "test")[0].read()


def test_options_that_cannot_be_are_named():
    with pytest.raises(InputError, match="--patch: must be at least 3, got 2"):
        data.PatchOptions(patch=2)
    with pytest.raises(InputError, match="--blocks: must be at least 4"):
        SmoothOptions(blocks=3)


def test_train_evaluate_report_and_apply(run, train, scenes, tmp_path, capsys):
    results = []
    for arm in ("none", "tv", "single", "map", "oracle"):
        results.append(tmp_path / f"{arm}.npz")
        run("evaluate", "--data", scenes, "--weights", train(arm), "--out", results[-1])
    assert re.search(r"test, WMAE: Error \d\.\d{3} levels", capsys.readouterr().out)
    (found,) = scores.load(TASK, results[1])
    assert found.scores["test"]["absolute"].shape == (2,)
    assert set(found.lambdas) == {*(f"sharpen.{block}" for block in range(1, 5)), "smooth"}
    run("report", *results, "--out", tmp_path / "page.md")
    text = (tmp_path / "page.md").read_text()
    assert "|  | seeds | test, WMAE | test, WRMSE |" in text
    assert "## 4 channels, 4 blocks, trained for 2 steps of 2 patches" in text
    assert "Against ResNet, pair by pair, Error, levels" in text
    assert "Against TV alone, one lambda, pair by pair, Error, levels" in text
    assert "| TV alone, best lambda of each image (uses its truths) | 1 | " in text
    assert "the paper* |" not in text  # its numbers are those of other test images
    whole = [as_the_whole_split(scores.load(TASK, file)[0]) for file in results]
    text = reporting.page(TASK, whole, "", tmp_path)
    assert "| *L1 smoothing, the paper* |  | *5.76* | *9.89* |" in text
    assert "| *ResNetTV, the paper* |  | *5.47* | *8.87* |" in text
    photo = data.examples(scenes, "test")[0].image
    net = tmp_path / "tv" / "weights.safetensors"
    run("apply", photo, tmp_path / "smooth.png", "--weights", net)
    assert images.read(tmp_path / "smooth.png").shape == images.read(photo).shape


def test_the_papers_columns_are_those_of_all_test_images():
    def paper(items):
        return TASK.paper({"sets": {"test": {"items": items}}})

    assert paper(100)["tv"] == {"test, WMAE": (5.47,), "test, WRMSE": (8.87,)}
    assert paper(100)["L1 smoothing"] == {"test, WMAE": (5.76,), "test, WRMSE": (9.89,)}
    assert paper(11) == {}
    assert TASK.paper({"sets": {"train": {"items": 100}}}) == {}


def test_lambda_frozen_at_0_is_the_baseline(train):
    baseline, zero = (checkpoints.load(train(arm))[0] for arm in ("none", "zero"))
    for name, tensor in baseline.items():
        assert torch.equal(tensor, zero[name]), name


@pytest.mark.parametrize("arm", ["tv", "vdcnn", "image", "map"])
@pytest.mark.parametrize("size", [(1, 1), (1, 40), (40, 1), (37, 51)])
def test_photos_of_any_size_are_smoothed(run, train, tmp_path, arm, size):
    noise = np.random.default_rng(0).integers(0, 256, (*size, 3), np.uint8)
    images.write(tmp_path / "photo.png", noise)
    run("apply", tmp_path / "photo.png", "--weights", train(arm))
    assert images.read(tmp_path / "photo_smooth.png").shape == (*size, 3)


def test_a_folder_of_photos_is_smoothed(run, train, scenes, tmp_path):
    run("apply", scenes / "test", tmp_path / "out", "--weights", train("map"))
    assert len(list((tmp_path / "out").iterdir())) == 12


def test_figures_show_the_packages_nets(train, tmp_path, monkeypatch):
    assert TASK.figures([], tmp_path) == ""  # it has none yet
    files = {arm: train(arm) for arm in ("none", "tv", "map", "single")}
    monkeypatch.setattr(Smooth, "weights", lambda self: files)
    text = TASK.figures([], tmp_path / "images")
    drawn = sorted(file.name for file in (tmp_path / "images").iterdir())
    assert drawn == ["smooth_map_lambdas.png", "smooth_tv_maps.png", "smooth_tv_stages.png"]
    assert re.findall(r"\(images/(.*)\)", text) == [
        "smooth_tv_stages.png",
        "smooth_tv_maps.png",
        "smooth_map_lambdas.png",
    ]


@pytest.mark.skipif(BENCHMARK is None, reason="needs TAUTSTRING_BENCHMARK_EPS")
def test_errors_on_the_benchmark_are_the_reference():
    results = {"input": [], "best-voted truth": [], "weighted mean": []}
    for example in data.examples(Path(BENCHMARK), "test"):
        pixels, truths = (torch.from_numpy(each.copy()).double() for each in example.read())
        truths, votes = truths.permute(0, 3, 1, 2), torch.tensor(example.votes).double()
        mean = (votes[:, None, None, None] * truths).sum(dim=0)
        images = (pixels.permute(2, 0, 1), truths[votes.argmax()], mean)
        for sums, image in zip(results.values(), images, strict=True):
            sums.append(sums_of(image[None], truths, votes))
    errors = {
        name: tuple(f"{values.mean():.3f}" for values in columns_of(*sums).values())
        for name, sums in results.items()
    }
    assert errors == {
        "input": ("9.025", "13.476"),
        "best-voted truth": ("4.226", "8.671"),
        "weighted mean": ("4.301", "6.848"),
    }
