# The edge task, from data to report, on rendered scenes.
import math
import re
import shutil
from functools import partial

import numpy as np
import pytest
import torch
from tasks_support import call_task

from tautstring_tasks import images, scores
from tautstring_tasks.devices import Share
from tautstring_tasks.edges import data, figures
from tautstring_tasks.edges.data import Crops, Example
from tautstring_tasks.edges.score import scores_of
from tautstring_tasks.edges.task import KINDS, Edges, weighted_loss
from tautstring_tasks.errors import InputError
from tautstring_tasks.task import Measure

TASK = Edges()
CPU = torch.device("cpu")
SMALL = ["--crop", "48", "--batch", "2", "--device", "cpu"]


@pytest.fixture(scope="module")
def scenes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scenes")
    data.generate(folder)
    return folder


@pytest.fixture
def run():
    return partial(call_task, "edges")


def crops_of(folder, pixels, edges, size=48):
    """Return the crops of one image."""
    for name, values in (("image", pixels), ("truth", np.repeat(edges[..., None], 3, axis=2))):
        images.write(folder / f"{name}.png", values)
    return Crops([Example(folder / "image.png", (folder / "truth.png",))], size, CPU)


def undone(prepared):
    """Return RGB in 0..255 of an image as nets take it."""
    return (prepared + torch.tensor(data._MEAN)[:, None, None]).flip(0)


def test_nets_take_bgr_less_the_mean_of_imagenet():
    image = torch.tensor([10.0, 20.0, 30.0]).reshape(1, 3, 1, 1)
    expected = torch.tensor([30 - 103.939, 20 - 116.779, 10 - 123.68])
    torch.testing.assert_close(data.prepared(image).flatten(), expected)


def test_crops_have_nothing_beyond_the_borders(tmp_path):
    white = np.full((96, 160, 3), 255, np.uint8)
    edges = np.zeros((96, 160), np.uint8)
    edges[0, 0] = 255  # a truth has two values
    crops = crops_of(tmp_path, white, edges)
    for step in range(100):
        batch = crops.of_step(4, 0, step)
        for image in batch.images:
            torch.testing.assert_close(undone(image), torch.full((3, 48, 48), 255.0))


def test_edges_are_where_they_are_in_the_image(tmp_path):
    generator = np.random.default_rng(0)
    blocks = generator.integers(0, 2, (12, 20), np.uint8)
    edges = 255 * blocks.repeat(8, axis=0).repeat(8, axis=1)
    crops = crops_of(tmp_path, np.repeat(edges[..., None], 3, axis=2), edges)
    for step in range(50):
        batch = crops.of_step(2, 0, step)
        for image, found in zip(batch.images, batch.edges, strict=True):
            # 0 and 255 are the same with any exponent; between them the image is interpolated.
            brightness = undone(image)[0]
            assert (found[0][brightness > 254] == 1).all()
            assert (found[0][brightness < 90] == 0).all()


def test_an_image_that_is_not_turned_is_not_interpolated(tmp_path):
    generator = np.random.default_rng(0)
    pixels = generator.integers(0, 256, (60, 90, 3), np.uint8)
    edges = generator.choice(np.array([0, 255], np.uint8), (60, 90))
    crops = crops_of(tmp_path, pixels, edges, size=32)
    crop = crops._crop(0.0, 0.0, 0.0, 0.9, 0.0, 0.2, 0.7)  # the whole image, as it is
    top, left = 14 + math.trunc(-0.3 * 28), 29 + math.trunc(0.2 * 58)
    expected = torch.from_numpy(pixels[top : top + 32, left : left + 32]).permute(2, 0, 1)
    torch.testing.assert_close(crop[:3], expected.float(), atol=0.02, rtol=0)


@pytest.mark.parametrize("degrees", data._ANGLES)
@pytest.mark.parametrize(("width", "height"), [(1280, 720), (720, 720)])
def test_the_largest_rectangle_in_a_turned_one_touches_its_border(width, height, degrees):
    sides = np.array(data._inside(width, height, degrees))
    angle = np.radians(degrees)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    corners = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]]) * sides / 2 @ turn.T
    reached = abs(corners).max(axis=0) / (width / 2, height / 2)
    assert reached.max() == pytest.approx(1, abs=1e-9)


def test_a_batch_is_that_of_its_seed_and_step(scenes):
    crops = Crops(data.examples(scenes, "BIPED", "train"), 48, CPU)
    one, again = crops.of_step(3, 1, 5), crops.of_step(3, 1, 5)
    assert torch.equal(one.images, again.images)
    assert torch.equal(one.edges, again.edges)
    assert not torch.equal(one.images, crops.of_step(3, 1, 6).images)
    assert not torch.equal(one.images, crops.of_step(3, 2, 5).images)


def test_the_loss_is_the_published_one():
    generator = torch.Generator().manual_seed(0)
    maps = [torch.randn(2, 1, 4, 4, generator=generator) for _ in range(5)]
    edges = (torch.rand(2, 1, 4, 4, generator=generator) < 0.2).float()
    positive = edges.sum().item()
    share = positive / 32
    expected = 0.0
    for factor, logits in zip((0.7, 0.7, 1.1, 1.1, 1.3), maps, strict=True):
        chance = logits.double().sigmoid()
        each = -(
            edges * chance.log() * (1 - share) + (1 - edges) * (1 - chance).log() * 1.1 * share
        )
        expected += factor * each.mean(dim=(1, 2, 3)).sum().item()
    assert weighted_loss(maps, edges, Share()).item() == pytest.approx(expected, rel=1e-5)


def counts_of(generator, count=6):
    """Return counts of a few images, of shape (thresholds, 4, images)."""
    predicted = np.sort(generator.integers(1, 500, (count, 99)), axis=1)[:, ::-1]
    true = np.full_like(predicted, 400)
    matched = (np.minimum(predicted, true) * generator.uniform(0.5, 0.9, (count, 1))).astype(int)
    return np.stack([matched, true, matched, predicted], axis=2).transpose(1, 2, 0)


@pytest.mark.parametrize("measure", ["ODS", "OIS", "AP"])
def test_the_mean_of_jackknifed_values_is_the_score_of_all_images(measure):
    counts = counts_of(np.random.default_rng(0))
    found = scores_of([""] * 6, np.ascontiguousarray(counts.transpose(2, 0, 1)))
    expected = {"ODS": found.ods[3], "OIS": found.ois[3], "AP": found.ap}[measure]
    columns = TASK.columns({"BIPED": dict.fromkeys(KINDS, counts)}, Measure(measure, "", 3))
    values = columns["BIPED, fused"]
    assert values.shape == (6,)
    assert values.mean() == pytest.approx(expected)
    assert values.std() > 0


def test_train_evaluate_report_and_apply(run, scenes, tmp_path, capsys):
    how = [*SMALL, "--steps", 3]
    run("train", "--data", scenes, "--out", tmp_path / "run", *how)
    weights, out = tmp_path / "run" / "weights.safetensors", tmp_path / "scores.npz"
    run("evaluate", "--data", scenes, "--weights", weights, "--out", out)
    (found,) = scores.load(TASK, out)
    assert list(found.scores) == ["BIPED", "BSDS500"]
    for kinds in found.scores.values():
        assert {kind: each.shape for kind, each in kinds.items()} == {
            "fused": (99, 4, 2),
            "average": (99, 4, 2),
            "fused, not suppressed": (99, 4, 2),
            "crispness": (2,),
        }
    assert set(found.lambdas) == {"sharpen.2", "sharpen.3", "sharpen.4", "smooth"}
    assert re.search(r"BIPED, fused: ODS 0\.\d{3}", capsys.readouterr().out)
    run("report", out, "--out", tmp_path / "page.md")
    text = (tmp_path / "page.md").read_text()
    assert "ODS (OIS) (AP), means over images" in text
    assert "| *DexiNed, the paper* |  | *0.859 (0.867) (0.905)* |  |  |  |  |  |" in text
    assert all(f"images/edges_{kind}.svg" in text for kind in ("losses", "lambdas", "curves1"))
    crispness = found.scores["BIPED"]["crispness"].mean()
    assert f"| DexiNed + TV | 1 | {crispness:.3f} |" in text
    photo = data.examples(scenes, "BIPED", "test")[0].image
    run("apply", photo, tmp_path / "edges.png", "--weights", weights)
    drawn = images.read(tmp_path / "edges.png")
    assert drawn.shape == images.read(photo).shape
    assert (drawn.min(), drawn.max()) == (0, 255)


def test_the_page_shows_maps_of_the_packages_nets(run, scenes, tmp_path, monkeypatch):
    weights = {}
    for arm in ("tv", "none"):
        run("train", "--data", scenes, "--out", tmp_path / arm, "--arm", arm, *SMALL, "--steps", 1)
        weights[arm] = tmp_path / arm / "weights.safetensors"
    assert figures.pictures(TASK, tmp_path) == ""  # the package has no nets yet
    monkeypatch.setattr(Edges, "weights", lambda self: weights)
    assert "images/edges_maps.png" in figures.pictures(TASK, tmp_path)
    height, width, _ = images.read(tmp_path / "edges_maps.png").shape
    assert (height, width) == (640, 1200)  # two rows of image, truth, and a map per net


def test_all_three_scores_are_compared(run, scenes, tmp_path):
    results = []
    for arm in ("none", "tv"):
        place = tmp_path / arm
        run("train", "--data", scenes, "--out", place, "--arm", arm, *SMALL, "--steps", 1)
        results.append(place / "scores.npz")
        where = ["--data", scenes, "--weights", place / "weights.safetensors", "--sets", "BIPED"]
        run("evaluate", *where, "--out", results[-1])
    run("report", *results, "--out", tmp_path / "page.md")
    text = (tmp_path / "page.md").read_text()
    for name in ("ODS", "OIS", "AP"):
        assert f"Against DexiNed, pair by pair, {name} (95 % confidence" in text


def test_photos_of_any_size_are_drawn(run, scenes, tmp_path):
    run("train", "--data", scenes, "--out", tmp_path / "run", *SMALL, "--steps", 1)
    noise = np.random.default_rng(0).integers(0, 256, (37, 51, 3), np.uint8)
    images.write(tmp_path / "photo.png", noise)
    weights = tmp_path / "run" / "weights.safetensors"
    run("apply", tmp_path / "photo.png", "--weights", weights)
    assert images.read(tmp_path / "photo_edges.png").shape == (37, 51, 3)


def test_what_cannot_be_trained_on_is_named(scenes, tmp_path):
    with pytest.raises(InputError, match=r"scene0.png: is too small for crops of 96 pixels"):
        Crops(data.examples(scenes, "BIPED", "train"), 96, CPU)
    with pytest.raises(InputError, match="--crop: must be a multiple of 16, got 50"):
        data.CropOptions(crop=50)
    with pytest.raises(InputError, match="--sets: must be one of BIPED, BSDS500, got MINE"):
        data.examples(scenes, "MINE", "test")
    shutil.copytree(scenes, tmp_path / "copy")
    root = tmp_path / "copy" / "BIPED" / "edges"
    (root / "edge_maps" / "test" / "rgbr" / "scene7.png").unlink()
    with pytest.raises(InputError, match=r"scene7.png: has no truth of the same name"):
        data.examples(tmp_path / "copy", "BIPED", "test")
    truth = root / "edge_maps" / "test" / "rgbr" / "scene6.png"
    images.write(truth, images.read(truth)[:-1])
    example = Example(root / "imgs" / "test" / "rgbr" / "scene6.png", (truth,))
    with pytest.raises(InputError, match=r"scene6.png: has 128 x 96 pixels, its truth 128 x 95"):
        example.read()
