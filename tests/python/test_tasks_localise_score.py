# Scores of heat maps: each step against a plain transcription, and the command.
import json
import re

import numpy as np
import pytest
from PIL import Image
from scipy import ndimage
from tasks_support import run_function

from tautstring_tasks import _native
from tautstring_tasks.errors import InputError
from tautstring_tasks.localise import boxes, score
from tautstring_tasks.localise.boxes import Boxed

NEAR, ACROSS = np.ones((3, 3)), ndimage.generate_binary_structure(2, 1)
RING = ((0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1))  # clockwise


def heat(seed, size=(21, 26), sigma=2.0, values=256):
    """A smooth map of bytes from 0 to 255, or noise, with that many different values."""
    noise = np.random.default_rng(seed).normal(size=size)
    smooth = ndimage.gaussian_filter(noise, sigma)
    stretched = (smooth - smooth.min()) / np.ptp(smooth)
    return np.floor(np.floor(stretched * (values - 1)) * (255 / (values - 1))).astype(np.uint8)


# Plain transcriptions.


def cubic(map_, height, width):
    def weights(side, to):
        scale = 1.0 / (to / side)
        at = ((np.arange(to) + 0.5) * scale - 0.5).astype(np.float32)
        x = at - np.floor(at)
        a, one = np.float32(-0.75), np.float32(1)
        near = [((a + 2) * t - (a + 3)) * t * t + one for t in (x, one - x)]
        far = ((a * (x + one) - 5 * a) * (x + one) + 8 * a) * (x + one) - 4 * a
        places = np.floor(at).astype(int)[:, None] + np.arange(-1, 3)
        return places.clip(0, side - 1), np.stack([far, *near, one - far - near[0] - near[1]], 1)

    places, w = weights(map_.shape[1], width)
    rows = np.zeros((len(map_), width), np.float32)
    for k in range(4):
        rows += map_[:, places[:, k]] * w[:, k]
    places, w = weights(map_.shape[0], height)
    result = np.zeros((height, width), np.float32)
    for k in (3, 2, 1, 0):
        result = rows[places[:, k]] * w[:, k, None] + result
    return result


def prepared(map_):
    resized = cubic(np.asarray(map_, np.float32), 224, 224)
    if np.isnan(resized).any() or resized.min() == resized.max():
        return np.zeros_like(resized)
    resized -= resized.min()
    return resized / resized.max()


def generous(x0, y0, x1, y1, size):
    return x0, y0, min(x1 + 1, size[1] - 1), min(y1 + 1, size[0] - 1)


def bounds(is_in):
    rows, columns = np.nonzero(is_in)
    return columns.min(), rows.min(), columns.max(), rows.max()


def traced_area(is_in):
    """The area in a component's outer contour, which is followed pixel by pixel."""
    is_in = np.pad(is_in, 1)
    start = tuple(np.argwhere(is_in)[0])
    if is_in.sum() == 1:
        return 0.0
    place, back, path, first = start, 4, [], None
    while True:
        for turn in range(1, 9):
            k = (back + turn) % 8
            following = (place[0] + RING[k][0], place[1] + RING[k][1])
            if is_in[following]:
                break
        if (place, k) == first:
            break
        first = first or (place, k)
        path.append(place)
        place, back = following, (k + 4) % 8
    y, x = np.array(path).T
    return abs((x * np.roll(y, -1) - np.roll(x, -1) * y).sum()) / 2


def contours(map_, cut):
    """The boxes of all contours at a cut, and that of the largest one."""
    found, ranks = [], []
    labels, count = ndimage.label(map_ > cut, NEAR)
    for label in range(1, count + 1):
        is_in = labels == label
        found.append(generous(*bounds(is_in), map_.shape))
        ranks.append((traced_area(is_in), np.flatnonzero(is_in)[0], found[-1]))
    labels, count = ndimage.label(np.pad(map_ <= cut, 1, constant_values=True), ACROSS)
    for label in {*range(1, count + 1)} - {labels[0, 0]}:
        x0, y0, x1, y1 = bounds((labels == label)[1:-1, 1:-1])
        found.append(generous(x0 - 1, y0 - 1, x1 + 1, y1 + 1, map_.shape))
    zero = (0, 0, 0, 0)
    return sorted(found) or [zero], max(ranks, default=(0, 0, zero))[2]


def overlap(a, b):
    width = min(a[2], b[2]) - max(a[0], b[0]) + 1
    height = min(a[3], b[3]) - max(a[1], b[1]) + 1
    both = max(width, 0) * max(height, 0)
    areas = [(box[2] - box[0] + 1) * (box[3] - box[1] + 1) for box in (a, b)]
    return both / (sum(areas) - both)


def accuracies(maps, truths):
    """MaxBoxAcc at each level and V1, cut by cut as published."""
    of_all, of_largest = np.zeros((2, len(maps), 1000))
    for i, (map_, true) in enumerate(zip(maps, truths, strict=True)):
        scored = (prepared(map_) * 255).astype(np.uint8)
        best = {}
        for k, threshold in enumerate(np.arange(0, 1, 0.001)):
            cut = int(threshold * scored.max())
            if cut not in best:
                found, largest = contours(scored, cut)
                best[cut] = (
                    max(overlap(box, each) for box in found for each in true),
                    max(overlap(largest, each) for each in true),
                )
            of_all[i, k], of_largest[i, k] = best[cut]
    hits = {level: (of_all >= level / 100).mean(axis=0) for level in (30, 50, 70)}
    v1 = (of_largest >= 0.5).mean(axis=0)
    return {level: (each.max(), each.argmax() / 1000) for level, each in hits.items()}, (
        v1.max(),
        v1.argmax() / 1000,
    )


def native_contours(map_):
    """What `contours` returns, of all cuts."""
    found, largest = _native.heat_boxes(map_)
    at_cut = [[] for _ in range(255)]
    for *box, first, last in found.tolist():
        for cut in range(first, last + 1):
            at_cut[cut].append(tuple(box))
    return [(sorted(each), tuple(box)) for each, box in zip(at_cut, largest.tolist(), strict=True)]


# Each step.


@pytest.mark.parametrize(
    "size", [(14, 14), (28, 28), (7, 9), (1, 1), (1, 5), (224, 224), (300, 250)]
)
def test_maps_are_resized_and_stretched_as_by_the_transcription(size):
    map_ = np.random.default_rng(0).normal(size=size).astype(np.float32)
    assert np.array_equal(_native.prepare_heat(map_), prepared(map_))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_map_that_is_not_finite_is_zero(bad):
    map_ = np.ones((14, 14), np.float32)
    assert not _native.prepare_heat(map_).any()
    map_[3, 4] = bad
    assert not _native.prepare_heat(map_).any()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    ("sigma", "values"), [(3.0, 256), (1.0, 20), (0.0, 256), (0.0, 4), (0.5, 2)]
)
def test_boxes_of_all_cuts_are_those_of_the_transcription(seed, sigma, values):
    map_ = heat(seed, (5 + 3 * seed, 23 - 4 * (seed % 3)), sigma, values)
    found = native_contours(map_)
    for cut in {0, 1, 254, *map_.ravel().tolist()} - {255}:
        assert found[cut] == contours(map_, cut), cut


@pytest.mark.parametrize("size", [(1, 1), (1, 9), (9, 1), (2, 2), (3, 3)])
def test_boxes_of_tiny_maps(size):
    for seed in range(20):
        map_ = np.random.default_rng(seed).integers(0, 3, size).astype(np.uint8) * 100
        found = native_contours(map_)
        for cut in (0, 99, 100, 199, 200, 254):
            assert found[cut] == contours(map_, cut)


@pytest.mark.parametrize("layout", ["rings", "comb", "spiral"])
def test_boxes_of_nested_contours(layout):
    map_ = np.zeros((31, 31), np.uint8)
    if layout == "rings":
        for k in range(0, 15, 2):
            map_[k : 31 - k, k : 31 - k] = 255 - 10 * k
            map_[k + 1 : 30 - k, k + 1 : 30 - k] = 0
    elif layout == "comb":
        map_[::2], map_[:, 0] = np.arange(31, dtype=np.uint8) * 8, 255
    else:
        place, step = np.array([15, 15]), np.array([0, 1])
        for length in range(2, 30, 2):
            for _ in range(length):
                map_[tuple(place)] = 255 - 6 * length
                place = place + step
            step = np.array([step[1], -step[0]])
    found = native_contours(map_)
    for cut in range(0, 255, 5):
        assert found[cut] == contours(map_, cut)


def test_thresholds_are_the_lowest_of_each_cut():
    for cut, threshold in enumerate(score.THRESHOLDS):
        assert int(threshold * 255) == cut
        assert cut == 0 or int((threshold - 0.001) * 255) == cut - 1


def test_overlaps_are_in_whole_percent():
    maps = [heat(seed, (14, 14)).astype(np.float32) for seed in range(3)]
    true = [np.array([[20, 30, 90, 120], [100, 100, 150, 160]], np.int32)] * 3
    found = _native.score_heat(maps, true)
    for map_, (of_all, of_largest) in zip(maps, found, strict=True):
        scored = (prepared(map_) * 255).astype(np.uint8)
        for cut in range(0, 255, 50):
            every, largest = contours(scored, cut)
            best = max(overlap(box, each) for box in every for each in true[0].tolist())
            assert of_all[cut] == int(100 * best)
            assert of_largest[cut] == int(100 * max(overlap(largest, t) for t in true[0].tolist()))


@pytest.mark.parametrize("threads", [1, 3])
def test_scores_are_those_of_the_transcription(threads):
    generator = np.random.default_rng(1)
    maps = [heat(seed, (7, 7)).astype(np.float32) for seed in range(6)]
    maps.append(np.zeros((7, 7), np.float32))
    corners = np.sort(generator.integers(0, 224, (7, 2, 2)), axis=1)
    true = [each.reshape(1, 4).astype(np.int32) for each in corners]
    true[0] = np.concatenate([true[0], true[1]])
    scores = score.scores_of(_native.score_heat(maps, true, threads=threads))
    by_level, v1 = accuracies(maps, [each.tolist() for each in true])
    for level, (accuracy, threshold) in by_level.items():
        best = scores.by_level[level]
        assert (best.accuracy, best.threshold) == (accuracy, threshold)
    assert (scores.v1.accuracy, scores.v1.threshold) == v1
    assert scores.v2 == np.mean([accuracy for accuracy, _ in by_level.values()])


def test_pixel_precision_is_the_area_that_is_published():
    generator = np.random.default_rng(2)
    maps = [generator.normal(size=(14, 14)).astype(np.float32) for _ in range(3)]
    masks = [generator.choice([0, 1, 255], (224, 224)).astype(np.uint8) for _ in range(3)]
    values = np.stack([prepared(each) for each in maps])
    edges = np.append(np.arange(0, 1, 0.001), [1.0, 2.0, 3.0])
    hists = [np.histogram(values[np.stack(masks) == kind], edges)[0] for kind in (1, 0)]
    found, wrong = (hist[::-1].cumsum() for hist in hists)
    precision = np.divide(found, found + wrong, where=found + wrong > 0, out=np.zeros(len(found)))
    expected = (precision[1:] * np.diff(found / found[-1])).sum()
    counts = _native.count_heat(maps, masks)
    assert counts.tolist() == [hist[:-1].tolist() for hist in hists]
    assert score.pixel_precision(counts) == pytest.approx(expected, abs=1e-12)


def test_true_boxes_are_scaled_and_cut():
    image = Boxed("a", 60, 30, ((30.0, 7.0, 59.9, 30.0), (0.0, 0.0, 60.0, 30.0)))
    assert image.scaled().tolist() == [[112, 52, 223, 224], [0, 0, 224, 224]]


# The command.


NAMES = ("a.jpg", "b.jpg", "c.v2")
HEAD = "image,width,height,x0,y0,x1,y1"


@pytest.fixture
def maps(tmp_path):
    folder = tmp_path / "maps"
    folder.mkdir()
    for seed, name in enumerate(("a", "b", "c.v2")):
        np.save(folder / f"{name}.npy", heat(seed, (14, 14)).astype(np.float64) / 255)
    return folder


@pytest.fixture
def truths(tmp_path):
    file = tmp_path / "boxes.csv"
    lines = ["a.jpg,224,224,30,40,100,90", "b.jpg,100,50,1.5,2,70,40", "c.v2,300,400,0,0,300,400"]
    file.write_text("\n".join([HEAD, *lines, "a.jpg,224,224,5,5,60,70"]))
    return file


def run(*arguments):
    run_function(score.score, *arguments)


def result_of(capsys, *arguments):
    capsys.readouterr()
    run(*arguments, "--json")
    return json.loads(capsys.readouterr().out)


def test_json_has_scores_and_thresholds(maps, truths, capsys):
    result = result_of(capsys, maps, truths)
    read = [np.load(maps / f"{name}.npy") for name in ("a", "b", "c.v2")]
    true = [
        [[30, 40, 100, 90], [5, 5, 60, 70]],
        [[3, 8, 156, 179]],
        [[0, 0, 224, 224]],
    ]
    by_level, v1 = accuracies(read, true)
    for level, (accuracy, threshold) in by_level.items():
        name = f"0.{level // 10}"
        assert result["max_box_acc"][name] == pytest.approx(100 * accuracy)
        assert result["best_thresholds"][name] == threshold
    assert result["max_box_acc_v1"] == pytest.approx(100 * v1[0])
    assert result["best_threshold_v1"] == v1[1]
    mean = np.mean([accuracy for accuracy, _ in by_level.values()])
    assert result["max_box_acc_v2"] == pytest.approx(100 * mean)
    assert result["images"] == 3
    assert "px_ap" not in result


def test_the_text_has_the_scores(maps, truths, capsys):
    result = result_of(capsys, maps, truths)
    run(maps, truths)
    text = capsys.readouterr().out
    found = dict(re.findall(r"^(\S+) +([\d.]+)", text, re.MULTILINE))
    assert found["MaxBoxAccV2"] == f"{result['max_box_acc_v2']:.2f}"
    assert found["MaxBoxAccV1"] == f"{result['max_box_acc_v1']:.2f}"
    assert "3 images" in text


def test_maps_can_have_the_whole_name_and_folders(maps, truths, capsys):
    expected = result_of(capsys, maps, truths)
    (maps / "a.npy").rename(maps / "a.jpg.npy")
    assert result_of(capsys, maps, truths) == expected
    (maps / "inner").mkdir()
    (maps / "b.npy").rename(maps / "inner" / "b.npy")
    truths.write_text(truths.read_text().replace("b.jpg", "inner/b.jpg"))
    assert result_of(capsys, maps, truths) == expected


def test_maps_can_have_other_types(maps, truths, capsys):
    expected = result_of(capsys, maps, truths)
    for file in maps.iterdir():
        np.save(file, np.asfortranarray(np.load(file), np.float32))
    assert result_of(capsys, maps, truths) == expected


def test_columns_can_be_more_and_in_any_order(maps, truths, capsys):
    expected = result_of(capsys, maps, truths)
    head, *lines = truths.read_text().splitlines()
    truths.write_text("\n".join([f"split,{head}", *(f"test,{line}" for line in lines)]))
    assert result_of(capsys, maps, truths) == expected


def test_a_constant_map_and_one_with_nan_find_one_corner(maps, truths, capsys):
    np.save(maps / "a.npy", np.full((14, 14), 3.0))
    np.save(maps / "b.npy", np.full((14, 14), np.nan))
    truths.write_text(f"{HEAD}\na.jpg,224,224,0,0,0,0\nb.jpg,224,224,50,50,60,60")
    result = result_of(capsys, maps, truths)
    assert result["max_box_acc"] == {"0.3": 50, "0.5": 50, "0.7": 50}
    assert result["best_thresholds"]["0.3"] == 0


def save_mask(file, values):
    file.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(values.astype(np.uint8)).save(file)


def test_masks_give_the_precision_of_pixels(maps, truths, tmp_path, capsys):
    generator = np.random.default_rng(0)
    parts = generator.integers(0, 2, (2, 299, 333))
    save_mask(tmp_path / "masks" / "a" / "1.png", 255 * parts[0])
    save_mask(tmp_path / "masks" / "a" / "2.png", parts[1])
    single = generator.integers(0, 2, (2, 448, 224))
    save_mask(tmp_path / "masks" / "b.png", 7 * single[0])
    save_mask(tmp_path / "masks" / "c.v2.png", single[1])
    for name in ("a", "b", "c.v2"):
        save_mask(tmp_path / "ignored" / f"{name}.png", generator.integers(0, 2, (224, 224)))
    how = ("--masks", tmp_path / "masks", "--ignored", tmp_path / "ignored")
    result = result_of(capsys, maps, truths, *how)
    rows, columns = np.arange(224) * 299 // 224, np.arange(224) * 333 // 224
    masks = [parts.any(axis=0)[rows][:, columns], *(each[::2] for each in single)]
    masks = [each.astype(np.uint8) for each in masks]
    for mask, name in zip(masks, ("a", "b", "c.v2"), strict=True):
        ignored = np.asarray(Image.open(tmp_path / "ignored" / f"{name}.png")) != 0
        mask[ignored & (mask == 0)] = 255
    read = [score.read_map(maps / f"{name}.npy") for name in ("a", "b", "c.v2")]
    expected = 100 * score.pixel_precision(_native.count_heat(read, masks))
    assert result["px_ap"] == pytest.approx(expected)
    run(maps, truths, *how)
    assert f"PxAP        {expected:.2f}" in capsys.readouterr().out


# What is written.


def test_the_report_has_a_line_for_each_image(maps, truths, tmp_path, capsys):
    result = result_of(capsys, maps, truths, "--out", tmp_path / "report.csv")
    head, *rows = (tmp_path / "report.csv").read_text().splitlines()
    assert head == "image,boxes,overlap_0.3,overlap_0.5,overlap_0.7,overlap_v1"
    assert [row.split(",")[:2] for row in rows] == [["a.jpg", "2"], ["b.jpg", "1"], ["c.v2", "1"]]
    hits = np.mean([int(row.split(",")[3]) >= 50 for row in rows])
    assert 100 * hits == pytest.approx(result["max_box_acc"]["0.5"])


def test_the_report_as_json_has_all_overlaps(maps, truths, tmp_path, capsys):
    result = result_of(capsys, maps, truths, "--out", tmp_path / "report.json")
    report = json.loads((tmp_path / "report.json").read_text())
    assert {key: report[key] for key in result} == result
    overlaps = np.array([[i["overlaps"], i["overlaps_v1"]] for i in report["per_image"]])
    assert score.summary(score.scores_of(overlaps), 3) == result
    assert len(report["cut_thresholds"]) == overlaps.shape[2] == 255


def test_files_are_only_overwritten_by_force(maps, truths, tmp_path):
    (tmp_path / "a.csv").write_text("mine")
    with pytest.raises(InputError, match=r"a.csv: already exists \(use --force"):
        run(maps, truths, "--out", tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text() == "mine"
    run(maps, truths, "--out", tmp_path / "a.csv", "--force")
    assert (tmp_path / "a.csv").read_text() != "mine"


def test_a_table_of_boxes_is_read_as_it_was_written(tmp_path):
    found = [Boxed("a, b.jpg", 5, 6, ((0.0, 0.5, 4.25, 6.0), (1.0, 1.0, 2.0, 2.0)))]
    (tmp_path / "a.csv").write_bytes(boxes.written(found))
    assert boxes.read(tmp_path / "a.csv") == found


# What is wrong is named.


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--threads", "-1"), "--threads: must be at least 0, got -1"),
        (("--out", "a.txt"), r"--out a.txt: the extension must be one of .csv, .json"),
        (("--ignored", "a"), "--ignored: needs --masks"),
        (("--masks", "none"), r"none.a.png: does not exist; it must be the mask of a.jpg"),
    ],
)
def test_bad_options_are_named(maps, truths, arguments, message):
    with pytest.raises(InputError, match=message):
        run(maps, truths, *arguments)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a.jpg,224,224,30,40,100", "line 2: y1 must be a number, got nothing"),
        ("a.jpg,224,224,30,40,100,x", "line 2: y1 must be a number, got x"),
        ("a.jpg,224,224,30,40,nan,90", "line 2: x1 must be a number, got nan"),
        ("a.jpg,0,224,0,40,0,90", "line 2: width must be a number of pixels, got 0"),
        ("a.jpg,22.5,224,0,40,0,90", "line 2: width must be a number of pixels, got 22.5"),
        (",224,224,30,40,100,90", "line 2: has no image"),
        ("a.jpg,224,224,-1,40,100,90", r"line 2: the box of a.jpg .* got x0 = -1, x1 = 100"),
        ("a.jpg,224,224,30,40,225,90", r"line 2: .* x1 <= 224; got x0 = 30, x1 = 225"),
        ("a.jpg,224,100,30,40,100,101", r"line 2: .* y1 <= 100; got y0 = 40, y1 = 101"),
        ("a.jpg,224,224,30,90,100,40", r"line 2: .* got y0 = 90, y1 = 40"),
        (
            "a.jpg,224,224,1,1,2,2\na.jpg,224,225,1,1,2,2",
            "line 3: a.jpg has 224 x 225 pixels, but 224 x 224 in an earlier line",
        ),
        ('"a.jpg', "near line 1: cannot be read as CSV"),
        ("d.jpg,224,224,1,1,2,2", r"maps.d.npy: does not exist; it must be the map of d.jpg"),
        ("", "boxes.csv: has no boxes"),
    ],
)
def test_bad_boxes_are_named(maps, truths, line, message):
    truths.write_text(f"{HEAD}\n{line}")
    with pytest.raises(InputError, match=message):
        run(maps, truths)


def test_missing_columns_and_folders_are_named(maps, truths, tmp_path):
    with pytest.raises(InputError, match="none: does not exist; it must be the folder of maps"):
        run(tmp_path / "none", truths)
    with pytest.raises(InputError, match=r"none.csv: cannot be read \(No such file"):
        run(maps, tmp_path / "none.csv")
    truths.write_text("image,width,x0,y0,x1,y1\n")
    with pytest.raises(InputError, match=r"must name the columns .*; height not found"):
        run(maps, truths)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"no array", "cannot be read as a NumPy array"),
        (np.zeros((2, 4, 4)), r"must be one map of shape .* got \(2, 4, 4\)"),
        (np.zeros((1, 32769)), r"must have at most 32768 pixels per side, got \(1, 32769\)"),
        (np.zeros((0, 4)), r"must be one map of shape .* got \(0, 4\)"),
        (np.full((4, 4), np.inf), "values must be finite in float32, got inf"),
        (np.full((4, 4), 1e39), r"values must be finite in float32, got 1e\+39"),
        (np.zeros((4, 4), complex), "must have numbers, got complex128"),
        (np.array([{}]), "cannot be read as a NumPy array"),
    ],
)
def test_damaged_maps_are_named(maps, truths, content, message):
    if isinstance(content, bytes):
        (maps / "b.npy").write_bytes(content)
    else:
        np.save(maps / "b.npy", content)
    with pytest.raises(InputError, match=rf"maps.b.npy: .*{message}"):
        run(maps, truths)


def test_masks_that_cannot_be_used_are_named(maps, truths, tmp_path):
    for name in ("a", "b", "c.v2"):
        save_mask(tmp_path / "masks" / f"{name}.png", np.zeros((5, 5)))
    with pytest.raises(InputError, match="masks: no mask has a pixel of an object"):
        run(maps, truths, "--masks", tmp_path / "masks")
    (tmp_path / "masks" / "b.png").write_bytes(b"no image")
    with pytest.raises(InputError, match=r"masks.b.png: cannot be read as an image"):
        run(maps, truths, "--masks", tmp_path / "masks")
    (tmp_path / "masks" / "b").mkdir()
    with pytest.raises(InputError, match=r"masks.b: has no masks \(.png\)"):
        run(maps, truths, "--masks", tmp_path / "masks")
