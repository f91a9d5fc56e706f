# The localisation task, from data to report, on rendered shapes.
import csv
import re
from functools import partial
from urllib.error import URLError

import numpy as np
import pytest
import safetensors.torch
import torch
from tasks_support import call_task

import tautstring
from tautstring_tasks import _native, images, scores
from tautstring_tasks.errors import InputError
from tautstring_tasks.localise import data, score, task, trunks
from tautstring_tasks.localise.data import Batches
from tautstring_tasks.localise.model import LocaliseOptions, Lower
from tautstring_tasks.localise.task import Localise, LocalisePlaces, LocaliseTest, jackknifed

TASK = Localise()
CPU = torch.device("cpu")
MOBILE = LocaliseOptions(arm="none", backbone="mobilenet_v2", classes=3)
NET = ["--backbone", "mobilenet_v2", "--classes", 3]
SMALL = [*NET, "--batch", "6", "--device", "cpu"]


@pytest.fixture(scope="module")
def shapes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shapes")
    TASK.generate(folder)
    return folder


@pytest.fixture(scope="module")
def trunk(shapes):
    return shapes / "mobilenet_v2.safetensors"


@pytest.fixture(autouse=True)
def fresh():
    trunks.load.cache_clear()


@pytest.fixture
def run():
    return partial(call_task, "localise")


def save_random(backbone, file):
    trunks.save_random(backbone, file, seed=1)
    return file


# Data.


def test_the_index_has_images_with_classes_and_boxes(shapes):
    train, test = (data.examples(shapes, split) for split in ("train", "test"))
    assert (len(train), len(test)) == (18, 6)
    assert {each.label for each in train} == {each.label for each in test} == {0, 1, 2}
    for each in (*train, *test):
        pixels = images.read(each.file)
        assert pixels.shape == (each.boxed.height, each.boxed.width, 3)
        ((x0, y0, x1, y1),) = (map(int, box) for box in each.boxed.boxes)
        is_bright = pixels.min(axis=2) >= 120
        assert is_bright[y0 : y1 + 1, x0 : x1 + 1].any(axis=0).all()
        assert is_bright.sum() == is_bright[y0 : y1 + 1, x0 : x1 + 1].sum()


def test_cub_is_read_as_published(shapes, tmp_path):
    expected = {split: data.examples(shapes, split) for split in ("train", "test")}
    lines = {name: [] for name in data._CUB}
    number = 0
    for split, found in expected.items():
        for each in found:
            number += 1
            place = tmp_path / "images" / f"00{each.label + 1}.Shape" / each.file.name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(each.file.read_bytes())
            (x0, y0, x1, y1), *_ = each.boxed.boxes
            lines["images"].append(f"{number} {place.parent.name}/{place.name}")
            lines["image_class_labels"].append(f"{number} {each.label + 1}")
            lines["train_test_split"].append(f"{number} {int(split == 'train')}")
            lines["bounding_boxes"].append(f"{number} {x0} {y0} {x1 - x0} {y1 - y0}")
    for name, rows in lines.items():
        (tmp_path / f"{name}.txt").write_text("\n".join(rows))
    for split, found in expected.items():
        read = data.examples(tmp_path, split)
        assert [(each.label, each.boxed.boxes) for each in read] == [
            (each.label, each.boxed.boxes) for each in found
        ]
    (tmp_path / "bounding_boxes.txt").write_text("\n".join(lines["bounding_boxes"][1:]))
    with pytest.raises(InputError, match=r"image 1 \(001.Shape/shape0.png\) is not in all tables"):
        data.examples(tmp_path, "train")


def test_data_that_cannot_be_used_are_named(shapes, tmp_path):
    with pytest.raises(InputError, match=r"has neither index.csv nor images.txt"):
        data.examples(tmp_path, "train")
    text = (shapes / data.INDEX).read_text()
    (tmp_path / data.INDEX).write_text(text)
    with pytest.raises(InputError, match=r"train.shape0.png: does not exist"):
        data.examples(tmp_path, "train")
    (tmp_path / data.INDEX).write_text(text.replace("png,0,", "png,bird,"))
    with pytest.raises(InputError, match="a label must be a number, got bird"):
        data.examples(tmp_path, "train")
    found = data.examples(shapes, "train")
    with pytest.raises(InputError, match=r"--classes 2: .* has the label 2"):
        data.labels_of(found, 2, shapes)


def test_batches_are_crops_of_features_as_they_are_or_mirrored():
    numbers = np.arange(7 * 2 * 16 * 16, dtype=np.float32).reshape(7, 2, 1, 16, 16) / 64
    features = numbers.astype(np.float16)
    batches = Batches(features, np.arange(7), 14, 3, 0, CPU)
    seen = []
    for step in range(40):
        batch = batches.of_step(step)
        assert batch.features.shape == (3, 1, 14, 14)
        for crop, label in zip(batch.features.numpy(), batch.labels.tolist(), strict=True):
            places = [
                (m, y, x)
                for m in range(2)
                for y in range(3)
                for x in range(3)
                if np.array_equal(crop, features[label, m, :, y : y + 14, x : x + 14])
            ]
            assert places
            seen += places
    assert len(set(seen)) == 18
    again = Batches(features, np.arange(7), 14, 3, 0, CPU).of_step(5)
    assert torch.equal(again.features, batches.of_step(5).features)


def test_features_are_kept_in_memory_or_in_files(shapes, trunk, tmp_path, monkeypatch):
    found = data.examples(shapes, "test")[:2]
    lower = trunks.load(MOBILE, trunk).lower(MOBILE)
    for folder in (None, tmp_path / "cache"):
        cache = data.Cache(folder)
        first = cache.features(lower, {"a": 1}, found, {"b": 2}, 224, CPU)
        assert first.shape == (2, 1, 96, 14, 14)
        assert first.dtype == np.float16
        with monkeypatch.context() as patched:
            patched.setattr(Lower, "forward", None)  # is not needed again
            again = cache.features(lower, {"a": 1}, found, {"b": 2}, 224, CPU)
        assert np.array_equal(first, again)
        assert cache.features(lower, {"a": 1}, found, {"b": 2}, 256, CPU).shape[1] == 2


# Trunks.


def test_a_net_starts_with_the_upper_stages_of_its_trunk(trunk):
    here = TASK.at(LocalisePlaces(trunk=trunk))
    stored = safetensors.torch.load_file(trunk)
    tensors = [stored[name] for name in trunks._names("mobilenet_v2")]
    net = here.start(MOBILE)
    lower = trunks.load(MOBILE, trunk).lower(MOBILE)
    ours = [*trunks._tensors_of(lower), *trunks._tensors_of(net.stages)]
    assert all(torch.equal(one, other) for one, other in zip(ours, tensors, strict=True))
    assert not any(each.requires_grad for each in lower.parameters())


def test_files_of_torch_are_read_and_what_is_not_of_the_trunk_is_left_out(trunk, tmp_path):
    tensors = safetensors.torch.load_file(trunk)
    more = {"classifier.1.weight": torch.zeros(2), "0.num_batches_tracked": torch.tensor(3)}
    torch.save({**tensors, **more}, tmp_path / "trunk.pth")
    found = trunks.load(MOBILE, tmp_path / "trunk.pth")
    assert torch.equal(found.id, trunks.load(MOBILE, trunk).id)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"nothing", r"--trunk .*a.pth: cannot be read as a state dict"),
        ([1, 2], "must be a state dict: tensors by name"),
        (
            {"features.0.0.weight": torch.zeros(3)},
            r"is no state dict of mobilenet_v2: features.0.0.weight has the shape \(3,\), not",
        ),
        (
            {"features.0.0.weight": torch.zeros(32, 3, 3, 3)},
            r"is no state dict of mobilenet_v2: features.0.1.weight not found",
        ),
    ],
)
def test_a_file_that_is_no_trunk_is_named(tmp_path, content, message):
    file = tmp_path / "a.pth"
    if isinstance(content, bytes):
        file.write_bytes(content)
    else:
        torch.save(content, file)
    with pytest.raises(InputError, match=message):
        trunks.load(MOBILE, file)


def test_a_trunk_that_cannot_be_downloaded_says_how_to_get_it(monkeypatch):
    def fail(url, **options):
        raise URLError("no network")

    monkeypatch.setattr(torch.hub, "load_state_dict_from_url", fail)
    with pytest.raises(InputError, match=r"vgg16-397923af.pth .*no network.* --trunk FILE"):
        trunks.load(LocaliseOptions(), None)


def test_torchvisions_weights_are_asked_for_by_name(trunk, monkeypatch):
    asked = []

    def load(url, **options):
        asked.append(url)
        return safetensors.torch.load_file(trunk)

    monkeypatch.setattr(torch.hub, "load_state_dict_from_url", load)
    assert torch.equal(trunks.load(MOBILE, None).id, trunks.load(MOBILE, trunk).id)
    assert asked == ["https://download.pytorch.org/models/mobilenet_v2-b0353104.pth"]


# Scores.


def test_the_mean_of_jackknifed_values_is_the_score_of_all_images():
    overlaps = np.random.default_rng(0).integers(0, 101, (255, 9), np.uint8)
    both = np.stack([overlaps.T, overlaps.T], axis=1)
    expected = score.scores_of(both)
    stored = {task.OVERLAPS: overlaps, task.LARGEST: overlaps}
    for name, value in (
        (task.V2, expected.v2),
        ("MaxBoxAcc at 0.7", expected.by_level[70].accuracy),
        (task.V1, expected.v1.accuracy),
    ):
        values = task._values(stored, name)
        assert values.shape == (9,)
        assert values.mean() == pytest.approx(value)
        without = score.scores_of(np.delete(both, 3, axis=0))
        if name == task.V2:
            others = values.sum() - values[3]
            assert 8 * without.v2 == pytest.approx(others, abs=9 * abs(others))
    assert jackknifed([overlaps[:, :1] >= 50]).shape == (1,)


def test_the_spread_of_values_is_that_of_a_mean_if_the_threshold_is_fixed():
    hits = np.zeros((255, 8), bool)
    hits[7, :5] = True
    np.testing.assert_allclose(jackknifed([hits]), hits[7].astype(float), atol=1e-12)


def test_lambda_in_tests_replaces_the_layer():
    features = torch.randn(2, 5, 14, 14, generator=torch.Generator().manual_seed(0))
    net = TASK.make(MOBILE)
    assert torch.equal(task._smoothed(net, features, None), features)
    expected = tautstring.TVLayer(1, lam=0.7, learnable=False)(features)
    assert torch.equal(task._smoothed(net, features, 0.7), expected)


# The commands.


def test_train_evaluate_report_and_apply(run, shapes, trunk, tmp_path, capsys):
    where = ["--data", shapes, "--trunk", trunk]
    run("train", *where, "--out", tmp_path / "run", *SMALL, "--steps", 3)
    weights, out = tmp_path / "run" / "weights.safetensors", tmp_path / "scores.npz"
    run("evaluate", *where, "--weights", weights, "--out", out, "--cache", tmp_path / "cache")
    assert len(list((tmp_path / "cache").iterdir())) == 1
    (found,) = scores.load(TASK, out)
    kinds = found.scores["test"]
    assert {kind: (each.shape, each.dtype.str) for kind, each in kinds.items()} == {
        task.OVERLAPS: ((255, 6), "|u1"),
        task.LARGEST: ((255, 6), "|u1"),
        task.SPREAD: ((6,), "<f4"),
        task.RIGHT: ((6,), "|b1"),
    }
    assert re.search(r"test: MaxBoxAccV2 \d+\.\d\d %", capsys.readouterr().out)
    run("report", out, "--out", tmp_path / "page.md")
    text = (tmp_path / "page.md").read_text()
    assert "Mobilenet_v2, maps of 14 x 14" in text
    photo = data.examples(shapes, "test")[0].file
    run("apply", photo, tmp_path / "heat.png", "--weights", weights, "--trunk", trunk)
    drawn = images.read(tmp_path / "heat.png")
    assert drawn.shape == images.read(photo).shape
    assert (drawn == np.uint8([0, 255, 0])).all(axis=2).any()


def test_the_stored_overlaps_are_those_of_the_maps(run, shapes, trunk):
    """The frame and the command `score` agree."""
    here = TASK.at(LocalisePlaces(trunk=trunk))
    net = here.start(MOBILE).eval()
    tested = here.tests(shapes, ["test"], data.LocaliseData(), LocaliseTest())["test"]
    with torch.no_grad():
        found = tested.score(net, CPU, "float32")
        lower = trunks.load(MOBILE, trunk).lower(MOBILE)
        for index, example in enumerate(data.examples(shapes, "test")):
            features = lower(data.resized(images.read(example.file), 224)[None]).half().float()
            seen = net.features(features)
            weights = net.classes.weight[example.label]
            heat = (seen[0] * weights[:, None, None]).sum(dim=0).numpy()
            overlaps = _native.score_heat([heat], [example.boxed.scaled()])[0]
            # Rounding differs between batches, so some pixels are on the other side of a cut.
            is_same = found[task.OVERLAPS][:, index] == overlaps[0]
            assert is_same.mean() > 0.9
            assert found[task.SPREAD][index] == pytest.approx(seen.std().item(), rel=1e-3)


def test_a_study_passes_the_places_on(run, shapes, trunk, tmp_path):
    out = tmp_path / "study"
    run(
        *("study", "--data", shapes, "--trunk", trunk, "--cache", tmp_path / "cache"),
        *("--out", out, "--arms", "none", "tv", "--seeds", 0, *SMALL, "--steps", 1),
        *("--test-lam", "0.5", "--at-once", 1),
    )
    found = scores.load(TASK, out / "study.npz")
    assert [each.arm for each in found] == ["none", "tv"]
    assert all(each.about["test"] == {"test_lam": 0.5} for each in found)
    assert str(tmp_path) not in str([each.about for each in found])


def test_the_zero_arm_equals_the_baseline(run, shapes, trunk, tmp_path):
    for arm in ("none", "zero"):
        run(
            *("train", "--data", shapes, "--trunk", trunk, "--out", tmp_path / arm),
            *(*SMALL, "--steps", 3, "--arm", arm),
        )
    one, other = (
        safetensors.torch.load_file(tmp_path / arm / "weights.safetensors")
        for arm in ("none", "zero")
    )
    assert all(torch.equal(tensor, other[name]) for name, tensor in one.items())


def test_a_net_of_another_trunk_is_refused(run, shapes, trunk, tmp_path):
    run("train", "--data", shapes, "--trunk", trunk, "--out", tmp_path, *SMALL, "--steps", 1)
    other = save_random("mobilenet_v2", tmp_path / "other.safetensors")
    weights, photo = tmp_path / "weights.safetensors", data.examples(shapes, "test")[0].file
    with pytest.raises(SystemExit, match=r"other.safetensors: is not the trunk that this net was"):
        run("apply", photo, tmp_path / "a.png", "--weights", weights, "--trunk", other)


def test_drawn_photos_have_the_box_of_the_largest_contour():
    heat = np.zeros((224, 224), np.float32)
    heat[50:100, 100:180] = 1
    photo = np.full((448, 112, 3), 200, np.uint8)
    found = task.drawn(photo, heat)
    is_box = (found == np.uint8([0, 255, 0])).all(axis=2)
    rows, columns = np.nonzero(is_box)
    assert (rows.min(), rows.max()) == (100, 201)
    assert (columns.min(), columns.max()) == (50, 90)
    assert not is_box[110:190, 60:80].any()


def test_the_table_of_boxes_can_be_scored(shapes, tmp_path):
    """The index of the data is a table of boxes, too."""
    with (shapes / data.INDEX).open() as file:
        names = [line["image"] for line in csv.DictReader(file)]
    assert len(score.boxes.read(shapes / data.INDEX)) == len(names)
