# Scores of edge maps: each step against a plain transcription, the layouts, and the command.
import json
import re
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image
from scipy import io, ndimage, sparse
from scipy.sparse.csgraph import maximum_bipartite_matching
from skimage import morphology
from tasks_support import run_function

from tautstring_tasks import _native
from tautstring_tasks.edges import layouts, maps, plot, score
from tautstring_tasks.errors import InputError

LEVELS = [-(-255 * k // 100) for k in range(1, 100)]  # k / 100 = t: the least byte of at least t


def smooth_map(seed, size=(40, 57), sigma=2):
    noise = np.random.default_rng(seed).normal(size=size)
    values = np.abs(ndimage.gaussian_filter(noise, sigma))
    return (255 * values / values.max()).astype(np.uint8)


def lines(seed, size=(40, 57), percent=6):
    return (np.random.default_rng(seed).uniform(size=size) < percent / 100).astype(np.uint8)


# Plain transcriptions.


def suppressed(values, radius, border, factor):
    triangle = np.array([1, 2, 3, 4, 5, 4, 3, 2, 1]) / 25
    smooth = ndimage.correlate1d(values, triangle, 1, mode="reflect")
    smooth = ndimage.correlate1d(smooth, triangle, 0, mode="reflect")
    oy, ox = np.gradient(smooth)
    oxx = np.gradient(ox)[1]
    oyy, oxy = np.gradient(oy)
    angle = np.mod(np.arctan(oyy * np.sign(-oxy) / (oxx + 1e-5)), np.pi)
    height, width = values.shape
    result = values.copy()
    for y, x in np.argwhere(values > 0):
        for d in {*range(-radius, radius + 1)} - {0}:
            at_x = min(max(x + d * np.cos(angle[y, x]), 0), width - 1.001)
            at_y = min(max(y + d * np.sin(angle[y, x]), 0), height - 1.001)
            x0, y0 = int(at_x), int(at_y)
            dx, dy = at_x - x0, at_y - y0
            (a, b), (c, e) = values[y0 : y0 + 2, x0 : x0 + 2]
            if (
                factor * values[y, x]
                < (a * (1 - dx) + b * dx) * (1 - dy) + (c * (1 - dx) + e * dx) * dy
            ):
                result[y, x] = 0
    for axis, length in enumerate(values.shape):
        distance = np.minimum(np.arange(length), np.arange(length)[::-1])
        damping = np.minimum(distance / min(border, length // 2), 1)
        result *= np.expand_dims(damping, 1 - axis)
    return np.floor(result * 255 + 0.5).astype(np.uint8)


def maximum_matching(predicted, truth, max_distance):
    ones, others = np.argwhere(predicted), np.argwhere(truth)
    if not len(ones) or not len(others):
        return 0
    distances = ((ones[:, None] - others[None]) ** 2).sum(-1)
    close = sparse.csr_matrix(distances <= max_distance**2)
    return int((maximum_bipartite_matching(close) >= 0).sum())


@pytest.mark.parametrize(("radius", "border", "factor"), [(1, 5, 1.03), (2, 5, 1.01), (4, 9, 1.2)])
def test_suppression_is_what_the_toolbox_does(radius, border, factor):
    values = smooth_map(0) / 255
    result = _native.suppress_edges(values.astype(np.float32), radius, border, factor)
    np.testing.assert_array_equal(result, suppressed(values, radius, border, factor))
    assert 0.03 < (result > 0).mean() < 0.6


@pytest.mark.parametrize("percent", [3, 20, 50, 80, 98])
def test_thinning_is_that_of_scikit_image(percent):
    for seed in range(5):
        for size in [(40, 57), (5, 90), (1, 30), (2, 2)]:
            binary = lines(seed, size, percent)
            np.testing.assert_array_equal(_native.thin_edges(binary), morphology.thin(binary))


def test_thinning_of_wide_areas_is_that_of_scikit_image():
    for level in (10, 40, 80, 120):
        binary = (smooth_map(3, (150, 180), 6) >= level).astype(np.uint8)
        np.testing.assert_array_equal(_native.thin_edges(binary), morphology.thin(binary))


@pytest.mark.parametrize("max_distance", [0, 1, 1.5, 2.9, 6, 100])
def test_matchings_are_as_large_as_those_of_scipy(max_distance):
    for seed, (percent, other) in enumerate([(5, 5), (20, 5), (5, 20), (40, 40), (0, 3)]):
        predicted = lines(seed, percent=percent)
        truth = lines(seed + 50, percent=other)
        ones, others = _native.match_edges(predicted, truth, max_distance)
        expected = maximum_matching(predicted, truth, max_distance)
        assert ones.sum() == others.sum() == expected
        assert (ones <= predicted).all()
        assert (others <= truth).all()


def test_counts_are_those_of_the_steps_done_one_by_one():
    image = smooth_map(1)
    truths = [lines(2), lines(3)]
    counts = _native.count_edges([image], [truths], max_dist=0.03, threads=2)
    assert counts.shape == (1, 99, 4)
    distance = 0.03 * np.hypot(*image.shape)
    for k, level in enumerate(LEVELS):
        binary = morphology.thin(image >= level).astype(np.uint8)
        found = [_native.match_edges(binary, truth, distance) for truth in truths]
        expected = [
            sum(int(truth.sum()) for _, truth in found),
            sum(int(truth.sum()) for truth in truths),
            np.logical_or(*(predicted for predicted, _ in found)).sum(),
            binary.sum(),
        ]
        assert counts[0, k].tolist() == expected


def test_scores_are_what_the_protocol_says():
    """Against NumPy, on counts of three images."""
    images = [smooth_map(seed) for seed in range(3)]
    truths = [[lines(seed + 10)] for seed in range(3)]
    scores = score.score_maps(["a", "b", "c"], images, truths, max_dist=0.03)
    total = scores.counts.sum(0)

    def of(counts):
        recall = counts[..., 0] / np.maximum(counts[..., 1], 1e-12)
        precision = counts[..., 2] / np.maximum(counts[..., 3], 1e-12)
        return recall, precision, 2 * recall * precision / np.maximum(recall + precision, 1e-12)

    recall, precision, f = of(total)
    np.testing.assert_allclose(np.array(scores.curve).T[1:], [recall, precision, f], atol=1e-12)
    share = np.linspace(0, 1, 100)[:, None]
    r, p = (v[:-1] * (1 - share) + v[1:] * share for v in (recall, precision))
    assert scores.ods[3] == pytest.approx((2 * r * p / np.maximum(r + p, 1e-12)).max(), abs=1e-12)
    best = [of(counts)[2].argmax() for counts in scores.counts]
    assert [point[0] for point in scores.best] == [(k + 1) / 100 for k in best]
    own = sum(counts[k] for counts, k in zip(scores.counts, best, strict=True))
    assert scores.ois[3] == pytest.approx(of(own)[2], abs=1e-12)
    unique, first = np.unique(recall, return_index=True)
    at = np.linspace(0, 1, 101)
    ap = np.interp(at, unique, precision[first], left=0, right=0).sum() / 100
    assert scores.ap == pytest.approx(ap, abs=1e-12)


def test_an_exception_of_the_progress_stops_the_work():
    class StoppedError(Exception):
        pass

    def stop(done):
        raise StoppedError

    images = [smooth_map(0)] * 400
    with pytest.raises(StoppedError):
        _native.count_edges(images, [[lines(0)]] * 400, max_dist=0.1, progress=stop)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"threads": -1}, "threads: must be at least 0, got -1"),
        ({"max_dist": 1.5}, r"max_dist: must be in \[0, 1\], got 1.5"),
        ({"truths": []}, "truths: must be 1 lists of maps, got 0"),
        ({"truths": [[]]}, "image 0: has no truth"),
        ({"truths": [[lines(0).T.copy()]]}, r"truths\[0\]: must have 40 x 57 pixels .* 57 x 40"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        _native.count_edges(**{"maps": [smooth_map(0)], "truths": [[lines(0)]], **arguments})


# Files and layouts.

NAMES = ("100", "200")


@pytest.fixture
def predictions(tmp_path):
    folder = tmp_path / "maps"
    folder.mkdir()
    for seed, name in enumerate(NAMES):
        Image.fromarray(smooth_map(seed)).save(folder / f"{name}.png")
    return folder


def truth_of(name, annotator=0):
    return lines(int(name) + annotator)


def save_png(file, truth):
    file.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(truth * np.uint8(255)).save(file)


def save_mat(file, truths):
    file.parent.mkdir(parents=True, exist_ok=True)
    cells = np.empty((1, len(truths)), object)
    for k, truth in enumerate(truths):
        cells[0, k] = {"Segmentation": np.uint16(truth + 1), "Boundaries": truth}
    io.savemat(file, {"groundTruth": cells})


@pytest.fixture
def truths(tmp_path):
    folder = tmp_path / "truths"
    for name in NAMES:
        save_png(folder / f"{name}.png", truth_of(name))
    return folder


def expected_counts(annotators=1):
    images = [
        _native.suppress_edges((smooth_map(seed) / np.float32(255)).astype(np.float32))
        for seed in range(len(NAMES))
    ]
    drawn = [[truth_of(name, k) for k in range(annotators)] for name in NAMES]
    return _native.count_edges(images, drawn).sum(0).tolist()


def run(*arguments):
    run_function(score.score, *arguments)


def result_of(capsys, *arguments):
    capsys.readouterr()
    run(*arguments, "--json")
    return json.loads(capsys.readouterr().out)


def test_json_has_scores_and_counts(predictions, truths, capsys):
    result = result_of(capsys, predictions, truths)
    assert result["counts"] == expected_counts()
    assert result["thresholds"] == [k / 100 for k in range(1, 100)]
    assert (result["images"], result["max_dist"]) == (2, 0.0075)
    assert result["nms"] == {"radius": 1, "border": 5, "factor": 1.03}
    assert all(0 < result[name] < 1 for name in ("ods", "ois", "ap"))
    assert 0 < result["ods_threshold"] < 1
    assert set(result["ois_thresholds"]) == set(NAMES)


def test_the_text_has_the_three_scores(predictions, truths, capsys):
    result = result_of(capsys, predictions, truths)
    run(predictions, truths)
    found = re.findall(r"^(ODS|OIS|AP) +([\d.]+)", capsys.readouterr().out, re.MULTILINE)
    assert dict(found) == {name: f"{result[name.lower()]:.3f}" for name in ("ODS", "OIS", "AP")}


def test_options_change_what_they_say(predictions, truths, capsys):
    without = result_of(capsys, predictions, truths, "--no-nms")
    images = [smooth_map(seed) for seed in range(2)]
    drawn = [[truth_of(name)] for name in NAMES]
    assert without["nms"] is None
    assert without["counts"] == _native.count_edges(images, drawn).sum(0).tolist()
    far = result_of(capsys, predictions, truths, "--no-nms", "--max-dist", "0.05")
    assert far["counts"] == _native.count_edges(images, drawn, max_dist=0.05).sum(0).tolist()
    rcf = result_of(capsys, predictions, truths, "--preset", "rcf", "--border", 3)
    assert rcf["nms"] == {"radius": 2, "border": 3, "factor": 1.01}


@pytest.mark.parametrize("layout", ["auto", "biped"])
@pytest.mark.parametrize("top", ["edges/edge_maps/test/rgbr", "BIPED/edges/edge_maps/test/rgbr"])
def test_biped(predictions, tmp_path, capsys, layout, top):
    for name in NAMES:
        save_png(tmp_path / "data" / top / f"{name}.png", truth_of(name))
    result = result_of(capsys, predictions, tmp_path / "data", "--layout", layout)
    assert result["counts"] == expected_counts()


def test_biped_train(predictions, tmp_path, capsys):
    for name in NAMES:
        save_png(tmp_path / f"data/edges/edge_maps/train/rgbr/real/{name}.png", truth_of(name))
    result = result_of(capsys, predictions, tmp_path / "data", "--split", "train")
    assert result["counts"] == expected_counts()


@pytest.mark.parametrize(
    ("place", "layout"),
    [
        ("BSDS500/data/groundTruth/test", "auto"),
        ("data/groundTruth/test", "bsds500"),
        (".", "folder"),
        (".", "auto"),
    ],
)
def test_bsds500_has_several_annotators_in_a_file(predictions, tmp_path, capsys, place, layout):
    for name in NAMES:
        save_mat(tmp_path / "data" / place / f"{name}.mat", [truth_of(name, k) for k in range(3)])
    result = result_of(capsys, predictions, tmp_path / "data", "--layout", layout)
    assert result["counts"] == expected_counts(annotators=3)


@pytest.mark.parametrize("pattern", ["{name}_{k}.png", "{name}.{k}.png", "{name}/{k}.png"])
@pytest.mark.parametrize("place", ["ground-truth/edges", "."])
def test_mdbd_has_a_file_for_each_annotator(predictions, tmp_path, capsys, place, pattern):
    for name in NAMES:
        for k in range(3):
            file = tmp_path / "data" / place / pattern.format(name=name, k=k + 1)
            save_png(file, truth_of(name, k))
    result = result_of(capsys, predictions, tmp_path / "data")
    assert result["counts"] == expected_counts(annotators=3)


def test_names_that_end_like_annotators_are_names(tmp_path):
    for name in ("4580_left_0165", "4580_left_0170"):
        save_png(tmp_path / "maps" / f"{name}.png", lines(0))
        for k in (1, 2):
            save_png(tmp_path / "truths" / f"{name}_{k}.png", lines(k))
    found = layouts.cases(tmp_path / "maps", tmp_path / "truths", "auto", "test")
    assert [(case.name, len(case.truths)) for case in found] == [
        ("4580_left_0165", 2),
        ("4580_left_0170", 2),
    ]


def test_predictions_can_be_arrays(predictions, truths, tmp_path, capsys):
    expected = result_of(capsys, predictions, truths)
    first, second = (np.asarray(Image.open(predictions / f"{name}.png")) for name in NAMES)
    for file in predictions.iterdir():
        file.unlink()
    np.save(predictions / f"{NAMES[0]}.npy", first / 255)
    io.savemat(predictions / f"{NAMES[1]}.mat", {"result": (second / 255).astype(np.float32)})
    assert result_of(capsys, predictions, truths) == expected
    (predictions / f"{NAMES[1]}.mat").unlink()
    np.save(predictions / f"{NAMES[1]}.npy", np.asfortranarray(second))
    assert result_of(capsys, predictions, truths) == expected


def test_pictures_of_16_bits_keep_them(tmp_path):
    values = np.arange(65536, dtype=np.uint16).reshape(256, 256)
    Image.fromarray(values).save(tmp_path / "a.png")
    np.testing.assert_allclose(maps.read_prediction(tmp_path / "a.png"), values / 65535, atol=1e-7)


def test_predictions_without_truth_are_left_out(predictions, truths, capsys):
    Image.fromarray(smooth_map(5)).save(predictions / "300.png")
    assert result_of(capsys, predictions, truths)["counts"] == expected_counts()


# What is written.


def test_the_report_has_a_line_for_each_image(predictions, truths, tmp_path, capsys):
    result = result_of(capsys, predictions, truths, "--out", tmp_path / "report.csv")
    head, *rows = (tmp_path / "report.csv").read_text().splitlines()
    assert head == (
        "image,annotators,threshold,recall,precision,f,matched_truth,truth,matched_predicted,predicted"
    )
    assert [row.split(",")[0] for row in rows] == list(NAMES)
    for row in rows:
        name, _, threshold, recall, _, _, matched, truth, *_ = row.split(",")
        assert float(threshold) == result["ois_thresholds"][name]
        assert float(recall) == int(matched) / int(truth)


def test_the_report_as_json_has_all_counts(predictions, truths, tmp_path, capsys):
    result = result_of(capsys, predictions, truths, "--out", tmp_path / "report.json")
    report = json.loads((tmp_path / "report.json").read_text())
    each = report.pop("per_image")
    assert report == result
    assert np.sum([image["counts"] for image in each], axis=0).tolist() == result["counts"]


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_the_plot_is_the_same_each_time(predictions, truths, tmp_path, suffix):
    one, other = (tmp_path / f"{name}{suffix}" for name in ("one", "other"))
    run(predictions, truths, "--plot", one)
    run(predictions, truths, "--plot", other)
    assert one.read_bytes() == other.read_bytes()
    if suffix == ".svg":
        assert "best F = " in one.read_text()


def test_the_plot_of_nothing_found_is_empty():
    scores = score.scores_of(["a"], np.zeros((1, 99, 4), np.int64))
    assert scores.ods[3] == scores.ois[3] == scores.ap == 0
    assert plot.draw(scores.curve, scores.ods, "a", ".svg")


@pytest.mark.parametrize(("option", "name"), [("--out", "a.csv"), ("--plot", "a.png")])
def test_files_are_only_overwritten_by_force(predictions, truths, tmp_path, option, name):
    (tmp_path / name).write_text("mine")
    with pytest.raises(InputError, match=rf"{name}: already exists \(use --force"):
        run(predictions, truths, option, tmp_path / name)
    assert (tmp_path / name).read_text() == "mine"
    run(predictions, truths, option, tmp_path / name, "--force")
    assert (tmp_path / name).read_bytes() != b"mine"


# What is wrong is named.


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--max-dist", "-1"), "--max-dist: must be at least 0 and at most 1, got -1"),
        (("--max-dist", "nan"), "--max-dist: must be finite"),
        (("--threads", "-1"), "--threads: must be at least 0, got -1"),
        (("--radius", "0"), "--radius: must be at least 1"),
        (("--border", "-1"), "--border: must be at least 0"),
        (("--factor", "0"), "--factor: must be above 0"),
        (("--out", "a.txt"), r"--out a.txt: the extension must be one of .csv, .json"),
        (("--plot", "a.pdf"), r"--plot a.pdf: the extension must be one of .png, .svg"),
        (("--layout", "biped"), r"has no edges/edge_maps/test/rgbr, where biped keeps its truths"),
    ],
)
def test_bad_options_are_named(predictions, truths, arguments, message):
    with pytest.raises(InputError, match=message):
        run(predictions, truths, *arguments)


def test_folders_that_cannot_be_used_are_named(predictions, truths, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="none: does not exist; it must be the folder of pred"):
        run(tmp_path / "none", truths)
    with pytest.raises(InputError, match="none: does not exist; it must be the folder of truths"):
        run(predictions, tmp_path / "none")
    with pytest.raises(InputError, match="empty: has no predictions"):
        run(tmp_path / "empty", truths)
    with pytest.raises(InputError, match="empty: has no truths"):
        run(predictions, tmp_path / "empty")


def test_a_truth_without_prediction_is_named(predictions, truths):
    (predictions / "200.png").unlink()
    with pytest.raises(InputError, match=r"truths.200.png: has no prediction; .*maps.200.png does"):
        run(predictions, truths)


def test_two_predictions_of_a_name_are_named(predictions, truths):
    np.save(predictions / "200.npy", smooth_map(0))
    with pytest.raises(InputError, match=r"200.png: 200.npy is a prediction of the same name"):
        run(predictions, truths)


def test_sizes_that_differ_are_named(predictions, truths):
    save_png(truths / "200.png", lines(0, (57, 40)))
    with pytest.raises(
        InputError, match=r"200.png: has 40 x 57 pixels, .*maps.200.png has 57 x 40"
    ):
        run(predictions, truths)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("200.png", b"no picture", "cannot be read as an image"),
        ("200.png", np.zeros((4, 4, 3), np.uint8) + np.uint8([1, 2, 3]), "must be grey, got colou"),
        ("200.npy", b"no array", "cannot be read as a NumPy array"),
        ("200.npy", np.zeros((2, 4, 4)), r"must be one map of shape .* got \(2, 4, 4\)"),
        ("200.npy", np.zeros((0, 4)), r"must be one map of shape .* got \(0, 4\)"),
        ("200.npy", np.full((4, 4), 1.5), r"values must be in \[0, 1\], got 1.5 to 1.5"),
        ("200.npy", np.full((4, 4), np.nan), r"values must be in \[0, 1\], got nan"),
        ("200.npy", np.zeros((4, 4), np.int64), "must have bytes or floating point .* got int64"),
        ("200.npy", np.array([{}]), "cannot be read as a NumPy array"),
        ("200.mat", b"MATLAB 5.0 MAT-file but not one", "cannot be read as a .mat file"),
        ("200.mat", {"a": np.eye(3), "b": np.eye(3)}, "must have one array of numbers, has a, b"),
    ],
)
def test_damaged_predictions_are_named(predictions, truths, name, content, message):
    (predictions / "200.png").unlink()
    write(predictions / name, content)
    with pytest.raises(InputError, match=rf"maps.{name}: .*{message}"):
        run(predictions, truths)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("200.png", b"no picture", "cannot be read as an image"),
        ("200.png", smooth_map(0), "a truth must have two values"),
        ("200.png", b"\x89PNG\r\n\x1a\n cut", "cannot be read as an image"),
        ("200.mat", b"", "cannot be read as a .mat file"),
        ("200.mat", {"other": np.eye(3)}, "has no groundTruth"),
        ("200.mat", {"groundTruth": np.eye(3)}, "groundTruth must be cells with Boundaries"),
    ],
)
def test_damaged_truths_are_named(predictions, truths, name, content, message):
    (truths / "200.png").unlink()
    write(truths / name, content)
    with pytest.raises(InputError, match=rf"truths.{name}: .*{message}"):
        run(predictions, truths)


@pytest.mark.parametrize("is_compressed", [False, True])
def test_a_truth_of_matlab_that_is_cut_short_is_named(tmp_path, is_compressed):
    # Other damage can crash SciPy's reader, which nothing here can catch.
    file = tmp_path / "a.mat"
    cells = np.empty((1, 1), object)
    cells[0, 0] = {"Boundaries": lines(0, (9, 9))}
    io.savemat(file, {"groundTruth": cells}, do_compression=is_compressed)
    whole = file.read_bytes()
    for length in range(len(whole) - 8):  # padding may be at its end
        file.write_bytes(whole[:length])
        with pytest.raises(InputError, match=r"a\.mat: "):
            maps.read_truths(file)


def write(file, content):
    if isinstance(content, bytes):
        file.write_bytes(content)
    elif isinstance(content, dict):
        io.savemat(file, content)
    elif file.suffix == ".npy":
        np.save(file, content)
    else:
        Image.fromarray(content).save(file)


def test_a_missing_package_is_named(predictions, truths, tmp_path):
    """And neither of them is needed for scores of pictures."""
    blocked = (
        "import sys, importlib.util as util\n"
        "find = util.find_spec\n"
        "missing = ('scipy', 'matplotlib')\n"
        "util.find_spec = lambda name, *rest: None if name in missing else find(name, *rest)\n"
        "for name in missing: sys.modules[name] = None\n"
        "from tautstring_tasks.edges.score import score\n"
        "from tautstring_tasks.errors import InputError\n"
        "from pathlib import Path\n"
        f"score(Path({str(predictions)!r}), Path({str(truths)!r}))\n"
        "try: score(Path({!r}), Path({!r}), plot_file=Path('a.png'))\n"
        "except InputError as error: print(error)\n"
    ).format(str(predictions), str(truths))
    done = subprocess.run(
        [sys.executable, "-c", blocked], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("ODS ")
    assert "needs the package matplotlib: pip install 'tautstring-tasks[edges]'" in done.stdout
