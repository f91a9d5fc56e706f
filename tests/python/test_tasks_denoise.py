# Denoising, from data to report, on a few rendered scenes.
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from skimage.data import astronaut
from torch import nn

import tautstring_tasks.__main__ as command_line
from tautstring_tasks import checkpoints, files, images, runs
from tautstring_tasks.denoise import data, model, plan, reporting, scores, weights
from tautstring_tasks.denoise.data import NoiseOptions
from tautstring_tasks.denoise.model import DnCNN, ModelOptions
from tautstring_tasks.errors import InputError
from tautstring_tasks.training import TrainingOptions

SHORT = ["--patch", "16", "--batch", "4", "--device", "cpu"]
TINY = ["--width", "4", "--depth", "4", *SHORT]
CPU = torch.device("cpu")
ENDS = ("input", "output")
ARMS = ("none", "both")


@pytest.fixture(scope="module")
def scenes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scenes")
    data.generate(folder)
    return folder


@pytest.fixture
def run(monkeypatch):
    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["tautstring_tasks", "denoise", *map(str, arguments)])
        command_line.main()

    return call


@pytest.fixture
def train(run, scenes, tmp_path):
    def call(name, *arguments):
        folder = tmp_path / name
        run("train", "--data", scenes, "--out", folder, *TINY, *arguments)
        return folder / "weights.safetensors"

    return call


def test_train_evaluate_report_and_apply(run, train, scenes, tmp_path):
    results = []
    for arm in ARMS:
        for seed in (0, 1):
            trained = train(f"{arm}{seed}", "--arm", arm, "--seed", seed, "--steps", 6)
            results.append(tmp_path / f"{arm}{seed}.json")
            run("evaluate", "--data", scenes, "--weights", trained, "--out", results[-1])
    result = runs.load_json(results[-1])
    assert result["sigma"] == 25
    assert list(result["sets"]) == list(data.TESTS)
    of_images = result["sets"]["CBSD68"]["images"].values()
    mean = result["sets"]["CBSD68"]["mean"]["psnr"]
    assert mean == pytest.approx(np.mean([score["psnr"] for score in of_images]))

    page = tmp_path / "page.md"
    log, net = tmp_path / "both0" / "run.json", tmp_path / "both0" / "weights.safetensors"
    run("report", *results, "--out", page, "--logs", log, "--figure-weights", net)
    text = page.read_text()
    assert f"{mean:.3f}"[:4] in text
    assert "| *DnCNN, the paper* | | *31.24* | *32.14* | *31.52* |" in text
    assert re.search(r"\| DnCNNTV, both \| 2 \| (\*\*)?[+-]\d\.\d{3} \([+-]", text)
    assert "## Sigma 25, trained for 6 steps of 4 patches of 16 x 16" in text
    assert "tested in float32." in text
    last = runs.load_json(log)["history"][-1]
    lams = [np.mean(last["lam"][f"at_{end}"]) for end in ENDS]
    row = next(
        line for line in text.splitlines() if line.startswith("| DnCNNTV, both | 25 | 6 | 1 |")
    )
    assert f"| {last['loss']:.4g} |" in row
    for lam in lams:
        assert f"| {lam:.3g} ({lam:.3g} to {lam:.3g}) |" in row
    for picture in ("denoise_lambdas.svg", "denoise_stages.png"):
        assert (tmp_path / "images" / picture).stat().st_size > 1000
        assert f"](images/{picture})" in text

    photo = scenes / "CBSD68" / "scene0.png"
    run("apply", photo, tmp_path / "denoised.png", "--weights", net)
    denoised = images.read(tmp_path / "denoised.png")
    assert denoised.shape == images.read(photo).shape
    copied = Path(shutil.copy(photo, tmp_path))
    run("apply", copied, "--weights", net)
    assert (images.read(tmp_path / "scene0_denoised.png") == denoised).all()


def scored(arm="none", steps=10, psnr=30.0, sigma=25.0, lr=1e-3, **changes):
    names = {"one": psnr, "two": psnr + 0.5}
    return {
        "model": runs.as_options(ModelOptions(arm=arm)),
        "training": runs.as_options(TrainingOptions(steps=steps, batch=2, lr=lr)),
        "noise": runs.as_options(NoiseOptions(sigma=sigma)),
        "data": {data.TRAIN: {"images": 1, "sha256": "1"}},
        "sigma": 25.0,
        "precision": "float32",
        "machine": {"cpu": "a CPU"},
        "sets": {
            "CBSD68": {
                "sha256": "2",
                "images": {name: {"psnr": value, "ssim": 0.9} for name, value in names.items()},
            }
        },
        **changes,
    }


def test_only_runs_that_differ_in_their_arm_are_compared():
    others = [
        scored("both", steps=20),
        scored("both", calibrate=40),
        scored("both", sigma=15.0),
        scored("both", lr=1e-2),
        scored("both", precision="bfloat16"),
        scored("both", start={"task": "denoise"}),
        scored("both", data={data.TRAIN: {"images": 1, "sha256": "3"}}),
    ]
    page = reporting.page([scored("none"), *others, scored("both", psnr=30.25, calibrate=0)])
    assert "| DnCNNTV, both | 1 | +0.250 (+0.250 to +0.250) |" in page  # of one seed: not bold
    assert page.count("Against DnCNN") == 1
    headings = [line for line in page.splitlines() if line.startswith("## ")]
    assert len(headings) == 8
    assert "## Sigma 25, trained against 15 for 10 steps of 2 patches of 40 x 40" in headings
    assert headings[-1] == "## Sigma 25, trained for 20 steps of 2 patches of 40 x 40"


def test_what_is_clear_with_several_seeds_is_bold():
    def trained(arm, seed, psnr):
        options = TrainingOptions(seed=seed, steps=10, batch=2)
        return scored(arm, psnr=psnr, training=runs.as_options(options))

    pairs = [trained(arm, seed, 30.0 + (arm == "both")) for seed in range(3) for arm in ARMS]
    assert "| DnCNNTV, both | 3 | **+1.000 (+1.000 to +1.000)** |" in reporting.page(pairs)


def test_sets_of_a_users_own_are_in_the_table():
    result = scored("none")
    result["sets"] = {"mine": result["sets"]["CBSD68"], **result["sets"]}
    page = reporting.page([result])
    assert "| | seeds | CBSD68 | mine |" in page
    assert "| *DnCNN, the paper* | | *31.24* |  |" in page


def test_the_page_is_that_of_the_results_that_are_kept():
    kept = Path(__file__).parents[2] / "tasks" / "results" / "denoise"
    scores = [runs.load_json(file) for file in sorted((kept / "scores").glob("*.json"))]
    page = kept.parents[2] / "docs" / "denoise.md"
    notes = (kept / "notes.md").read_text(encoding="utf-8")
    assert page.read_text(encoding="utf-8").startswith(reporting.page(scores, notes))


def test_a_run_that_is_given_twice_is_no_second_seed():
    with pytest.raises(InputError, match="two results of arm both with seed 0"):
        reporting.page([scored("none"), scored("both"), scored("both")])


def test_what_a_report_cannot_use_is_named(run, train, scenes, tmp_path):
    trained, page = train("run", "--steps", 1), tmp_path / "page.md"
    log, result = trained.with_name("run.json"), tmp_path / "scores.json"
    run("evaluate", "--data", scenes, "--weights", trained, "--out", result, "--sets", "CBSD68")
    for arguments, message in (
        ([], "FILE...: at least one of `evaluate` is needed"),
        ([tmp_path / "none.json"], "none.json: cannot be read"),
        ([log], "run.json: is not what `denoise evaluate` writes, or it has no sets"),
        ([result, "--logs", result], "is not what `denoise train` writes, or it has no history"),
        ([result, "--notes", tmp_path / "none.md"], "none.md: cannot be read"),
    ):
        with pytest.raises(SystemExit, match=message):
            run("report", *arguments, "--out", page)
        assert not page.exists()
    run("report", result, "--logs", log, "--out", page)


def test_images_that_cannot_be_scored_are_named(run, scenes, tmp_path):
    folder, out = tmp_path / "CBSD68", tmp_path / "scores.json"
    shutil.copytree(scenes / "CBSD68", folder)
    where = ["--data", tmp_path, "--weights", weights.shipped(25), "--out", out, "--sets", "CBSD68"]
    images.write(folder / "scene2.png", np.zeros((16, 10, 3), np.uint8))
    with pytest.raises(
        SystemExit, match=r"scene2.png: must be at least 11 pixels wide and high for SSIM"
    ):
        run("evaluate", *where)
    images.write(folder / "scene1.bmp", np.zeros((16, 16, 3), np.uint8))
    with pytest.raises(
        SystemExit, match="CBSD68: image names must differ in more than their extensions"
    ):
        run("evaluate", *where)
    assert not out.exists()


def test_images_are_paired_by_their_names():
    ours = scored("both", psnr=31.0)
    of_images = ours["sets"]["CBSD68"]["images"]
    ours["sets"]["CBSD68"]["images"] = dict(reversed(of_images.items()))
    assert "+1.000 (+1.000 to +1.000)" in reporting.page([ours, scored("none")])


def test_a_study_trains_and_scores_all_runs_and_goes_on(run, scenes, tmp_path, capsys):
    def call(*arms):
        options = ["--seeds", 1, "--sigmas", 50, "--steps", 2, "--device", "cpu", "--batch", 2]
        rest = ["--no-tensorboard", "--at-once", 2, "--arms", *arms]
        rest += ["--test-precision", "bfloat16"]
        run("study", "--data", scenes, "--out", tmp_path, *options, *rest)
        return {file.name: file.stat().st_mtime_ns for file in tmp_path.glob("*.json")}

    first = call("none")
    assert set(first) == {"none_sigma50_seed1.json"}
    both = call("none", "both")
    assert set(both) == {*first, "both_sigma50_seed1.json"}
    assert first.items() <= both.items()
    result = runs.load_json(tmp_path / "both_sigma50_seed1.json")
    assert (result["model"]["arm"], result["training"]["seed"], result["sigma"]) == ("both", 1, 50)
    assert result["training"]["steps"] == 2
    assert result["precision"] == "bfloat16"

    file = tmp_path / "none_sigma50_seed1" / "weights.safetensors"
    tensors, about = checkpoints.load(file)
    checkpoints.save(file, {name: 0 * tensor for name, tensor in tensors.items()}, about)
    assert call("none")["none_sigma50_seed1.json"] != first["none_sigma50_seed1.json"]
    assert "1 of 1 runs are trained" in capsys.readouterr().out
    with pytest.raises(SystemExit, match=r"training is .*'lr': 0.001.*, not .*'lr': 0.5"):
        call("none", "--lr", 0.5)
    with pytest.raises(SystemExit, match=r"training is .*'float32'.*, not .*'bfloat16'"):
        call("none", "--precision", "bfloat16")


def test_scores_of_another_test_are_not_a_studys(tmp_path):
    run = plan.Run(tmp_path, "none", 25.0, 0)
    checkpoints.save(run.weights, {}, {})
    kept = {"sigma": 25.0, "precision": "float32", "sets": {name: {} for name in data.TESTS}}
    kept["weights_sha256"] = runs.hash_of_file(run.weights)
    runs.save_json(run.scores, kept)
    assert run.is_scored("float32")
    assert not run.is_scored("bfloat16")
    for change in ({"sigma": 50.0}, {"sets": {"CBSD68": {}}}, {"weights_sha256": ""}):
        runs.save_json(run.scores, {**kept, **change})
        assert not run.is_scored("float32")


@pytest.mark.parametrize(
    ("command", "option", "value", "allowed"),
    [
        ("train", "seed", -1, "at least 0 and at most 2147483647"),
        ("train", "seed", 2**31, "at least 0 and at most 2147483647"),
        ("train", "steps", -5, "at least 0"),
        ("train", "batch", 0, "at least 1"),
        ("train", "lr", -1.0, "above 0"),
        ("train", "lr", float("nan"), "finite and above 0"),
        ("train", "last-lr", float("inf"), "finite and at least 0"),
        ("train", "lam-lr-factor", -1.0, "at least 0"),
        ("train", "log-every", 0, "at least 1"),
        ("train", "checkpoint-every", 0, "at least 1"),
        ("train", "minutes", -1.0, "at least 0"),
        ("train", "sigma", -25.0, "at least 0"),
        ("train", "patch", 0, "at least 1"),
        ("train", "depth", 1, "at least 2"),
        ("train", "width", 0, "at least 1"),
        ("train", "lam", 0.0, "above 0"),
        ("evaluate", "sigma", -25.0, "at least 0"),
        ("calibrate", "batches", 0, "at least 1"),
        ("study", "at-once", 0, "at least 1"),
    ],
)
def test_numbers_out_of_bounds_are_named(run, scenes, tmp_path, command, option, value, allowed):
    where = ["--data", scenes, "--out", tmp_path / "out"]
    if command in ("evaluate", "calibrate"):
        where += ["--weights", weights.shipped(25)]
    message = f"tautstring_tasks: --{option}: must be {allowed}, got {value}"
    with pytest.raises(SystemExit, match=f"^{re.escape(message)}$"):
        run(command, *where, f"--{option}={value}")
    assert not any(tmp_path.iterdir())


def test_a_study_has_seeds_not_a_seed(run, scenes, tmp_path):
    with pytest.raises(SystemExit, match="--seed: a study takes --seeds"):
        run("study", "--data", scenes, "--out", tmp_path / "out", "--seed", 1)
    with pytest.raises(SystemExit, match=r"--seed: must be at least 0 .*, got -1"):
        run("study", "--data", scenes, "--out", tmp_path / "out", "--seeds", 0, -1)
    assert not any(tmp_path.iterdir())


def test_a_study_looks_for_its_data_first(run, scenes, tmp_path):
    shutil.copytree(scenes / data.TRAIN, tmp_path / data.TRAIN)
    with pytest.raises(SystemExit, match="CBSD68: does not exist"):
        run("study", "--data", tmp_path, "--out", tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


def test_training_denoises(run, train, scenes, tmp_path):
    trained = train("longer", "--arm", "both", "--steps", 150, "--batch", 8)
    run("evaluate", "--data", scenes, "--weights", trained, "--out", tmp_path / "scores.json")
    found = runs.load_json(tmp_path / "scores.json")["sets"]
    for name in data.TESTS:
        assert found[name]["mean"]["psnr"] > 26  # the noise alone is 20.2


def test_scores_in_bfloat16_are_nearly_those_in_float32(run, train, scenes, tmp_path):
    trained = train("short", "--arm", "both", "--steps", 60, "--batch", 8)
    means = {}
    for precision in ("float32", "bfloat16"):
        out = tmp_path / f"{precision}.json"
        where = ["--data", scenes, "--weights", trained, "--out", out]
        run("evaluate", *where, "--precision", precision)
        result = runs.load_json(out)
        assert result["precision"] == precision
        means[precision] = [found["mean"]["psnr"] for found in result["sets"].values()]
    assert means["bfloat16"] == pytest.approx(means["float32"], abs=0.02)
    assert means["bfloat16"] != means["float32"]


def test_calibrated_batch_norms_have_the_statistics_of_patches(run, train, scenes, tmp_path):
    trained = train("short", "--arm", "both", "--steps", 3)
    out = tmp_path / "calibrated.safetensors"
    run("calibrate", "--data", scenes, "--weights", trained, "--out", out, "--batches", 4)
    before, about = checkpoints.load(trained)
    after, calibrated_about = checkpoints.load(out)
    assert calibrated_about == {**about, "calibrate": 4}
    changed = {name for name, tensor in before.items() if not torch.equal(tensor, after[name])}
    net, _ = weights.load(out)
    norms = [name for name, layer in net.named_modules() if isinstance(layer, nn.BatchNorm2d)]
    kept = ("running_mean", "running_var", "num_batches_tracked")
    assert changed == {f"{norm}.{key}" for norm in norms for key in kept}
    assert net.noise[3].num_batches_tracked == 4

    # The first norm's statistics are those of what reaches it, the mean of batches.
    pictures = [images.read(file) for file in images.files_of(scenes / data.TRAIN, "")]
    patches = data.Patches(pictures, 16, CPU)
    batches = [patches.batch(8, 25.0, 2**31, step).noisy for step in range(4)]
    reached = [net.noise[:3](net.at_input(batch)) for batch in batches]
    means = torch.stack([each.mean((0, 2, 3)) for each in reached])
    torch.testing.assert_close(net.noise[3].running_mean, means.mean(0))


def test_scores_say_whether_batch_norms_were_calibrated(run, train, scenes, tmp_path):
    trained = train("short", "--arm", "both", "--steps", 3)
    calibrated, out = tmp_path / "calibrated.safetensors", tmp_path / "scores.json"
    run("calibrate", "--data", scenes, "--weights", trained, "--out", calibrated)
    found = []
    for file in (trained, calibrated):
        run("evaluate", "--data", scenes, "--weights", file, "--out", out)
        found.append(runs.load_json(out))
    assert "calibrate" not in found[0]
    assert found[1]["calibrate"] == 40
    assert found[0]["sets"] != found[1]["sets"]
    assert "batch norms with the statistics of 40 batches" in reporting.page(found)


def test_at_the_start_a_pixels_noise_stays_where_it_is():
    # With filters that mix neighbours a tenth is left after 16 of them: such a net learns late.
    net = model.make(ModelOptions(arm="none"), seed=0)
    x = torch.rand(2, 3, 41, 41, generator=torch.Generator().manual_seed(0))
    changed = x.clone()
    changed[:, :, 20, 20] += 0.1
    before_last = net.noise[:-1]
    change = (before_last(changed) - before_last(x)).square()
    near = change[:, :, 19:22, 19:22]  # where the first convolution takes it
    assert near.sum() > 0.5 * change.sum()


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_stopped_command_goes_on(train, tmp_path, capsys, precision):
    options = ["--steps", 12, "--log-every", 4, "--width", 16, "--precision", precision]
    train("stopped", *options, "--minutes", 0)
    assert "4 steps, stopped; the same command resumes it" in capsys.readouterr().out
    resumed, _ = weights.load(train("stopped", *options))
    whole, _ = weights.load(train("whole", *options))
    for name, tensor in whole.state_dict().items():
        assert torch.equal(tensor, resumed.state_dict()[name]), name


def test_training_goes_on_from_a_net(run, train, scenes, tmp_path):
    first = train("first", "--arm", "input", "--steps", 3)

    def go_on(name, *arguments):
        where = ["--data", scenes, "--out", tmp_path / name, "--weights", first]
        run("train", *where, *SHORT, *arguments)
        return tmp_path / name / "weights.safetensors"

    tensors, about = checkpoints.load(first)
    for name, tensor in checkpoints.load(go_on("untouched", "--steps", 0))[0].items():
        assert torch.equal(tensor, tensors[name]), name
    options = ["--sigma", 15, "--steps", 8, "--log-every", 4]
    go_on("stopped", *options, "--minutes", 0)
    net, onward = weights.load(go_on("stopped", *options))
    assert onward["start"] == about
    assert onward["model"] == about["model"]
    assert net.noise[3].num_batches_tracked == 3 + 8
    for name, parameter in net.named_parameters():
        assert not torch.equal(parameter, tensors[name]), name
    whole, _ = weights.load(go_on("whole", *options))
    for name, tensor in whole.state_dict().items():
        assert torch.equal(tensor, net.state_dict()[name]), name


def test_a_net_that_training_goes_on_from_is_what_it_is(train):
    first = train("first", "--arm", "input", "--steps", 1)
    with pytest.raises(SystemExit, match=r"--weights .*: is ModelOptions\(arm='input'.*leave out"):
        train("other", "--weights", first, "--arm", "output")


def test_lambda_frozen_at_0_is_the_baseline(train):
    baseline, _ = weights.load(train("none", "--arm", "none", "--steps", 5))
    zero, _ = weights.load(train("zero", "--arm", "zero", "--steps", 5))
    for name, tensor in baseline.state_dict().items():
        assert torch.equal(tensor, zero.state_dict()[name]), name


def test_all_arms_begin_with_the_same_convolutions():
    nets = [model.make(ModelOptions(arm=arm), seed=3) for arm in ("none", "input", "both", "blur")]
    for net in nets[1:]:
        for name, tensor in nets[0].state_dict().items():
            assert torch.equal(tensor, net.state_dict()[name]), name
    other = model.make(ModelOptions(arm="none"), seed=4)
    assert not torch.equal(nets[0].noise[0].weight, other.noise[0].weight)


def test_the_net_has_the_parameters_of_kair():
    assert sum(p.numel() for p in DnCNN(ModelOptions(arm="none")).parameters()) == 559_363


@pytest.mark.parametrize("arm", ["none", "both", "zero", "blur"])
def test_images_are_not_rounded_to_bfloat16_in_any_arm(arm):
    net = model.make(ModelOptions(arm=arm, depth=3, width=4), seed=0)
    with torch.autocast("cpu", torch.bfloat16):
        stages = net.stages(torch.rand(1, 3, 8, 8))
    for image in (stages.after_input, stages.before_output, stages.result):
        assert image.dtype == torch.float32


@pytest.mark.parametrize("arm", ["zero", "blur"])
def test_controls_begin_as_the_identity(arm):
    net = DnCNN(ModelOptions(arm=arm))
    x = torch.rand(1, 3, 8, 8)
    assert torch.equal(net.at_input(x), x)
    assert torch.equal(net.at_output(x), x)


def test_tv_is_where_the_arm_says():
    x = torch.rand(1, 3, 12, 12)
    for arm, at_input, at_output in (
        ("input", True, False),
        ("output", False, True),
        ("both", True, True),
    ):
        net = model.make(ModelOptions(arm=arm, lam=0.2), seed=0).eval()
        stages = net.stages(x)
        assert torch.equal(stages.after_input, x) is not at_input
        assert torch.equal(stages.result, stages.before_output) is not at_output


@pytest.mark.parametrize("rows", [1, 5, 16, 39, 40])
def test_large_images_in_strips_are_what_they_are_whole(monkeypatch, rows):
    net = model.make(ModelOptions(arm="both", depth=5, width=8), seed=0).double()
    x = torch.rand(2, 3, 40, 12, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    net(x)  # batch norms have statistics now
    net.eval()
    whole = net(x)
    monkeypatch.setattr(model, "STRIP_PIXELS", 2 * 12 * rows)
    calls = []
    net.noise.register_forward_pre_hook(lambda _, arguments: calls.append(arguments[0].shape))
    torch.testing.assert_close(net(x), whole, rtol=0, atol=1e-14)
    assert len(calls) == -(-40 // rows)
    assert max(shape[-2] for shape in calls) <= rows + 2 * 5


def numbered(height, width):
    """An image whose pixels are all different."""
    number = np.arange(height * width)
    return np.stack([number // 256, number % 256, 0 * number], -1).reshape(height, width, 3)


def test_patches_are_patches_in_all_orientations():
    sizes = [(20, 30), (33, 17)]
    pictures = [numbered(*size).astype(np.uint8) for size in sizes]
    pictures[1][..., 2] = 1
    patches = data.Patches(pictures, 8, CPU)
    seen = set()
    for step in range(8):
        for patch in patches.batch(64, 25.0, seed=0, step=step).clean.mul(255).round().int():
            pixels = patch.permute(1, 2, 0).numpy()
            picture = pixels[0, 0, 2]
            for turn in range(8):
                turned = np.rot90(pixels, turn % 4)
                turned = turned.transpose(1, 0, 2) if turn >= 4 else turned
                top, left = np.divmod(turned[0, 0, 0] * 256 + turned[0, 0, 1], sizes[picture][1])
                expected = pictures[picture][top : top + 8, left : left + 8]
                if expected.shape == turned.shape and (expected == turned).all():
                    seen.add((picture, turn))
                    break
            else:
                pytest.fail("not a patch of its picture")
    assert len(seen) == 16


def test_patches_come_from_everywhere():
    patches = data.Patches([numbered(12, 12).astype(np.uint8)], 8, CPU)
    clean = patches.batch(2000, 25.0, seed=0, step=0).clean.mul(255).round().int()
    least = (clean[:, 0] * 256 + clean[:, 1]).flatten(1).amin(1)  # the upper left pixel
    assert set(least.tolist()) == {12 * top + left for top in range(5) for left in range(5)}


def test_a_batch_is_that_of_its_seed_and_step(scenes):
    pictures = [images.read(file) for file in images.files_of(scenes / data.TRAIN, "")]
    patches = data.Patches(pictures, 16, CPU)

    def noisy(seed, step):
        return patches.batch(4, 25.0, seed, step).noisy

    assert torch.equal(noisy(1, 7), noisy(1, 7))
    assert not torch.equal(noisy(1, 7), noisy(1, 8))
    assert not torch.equal(noisy(1, 7), noisy(2, 7))


def test_noise_has_its_deviation(scenes):
    patches = data.Patches([np.zeros((50, 50, 3), np.uint8)], 40, CPU)
    batch = patches.batch(100, 50.0, seed=0, step=0)
    assert batch.noisy.std().item() == pytest.approx(50 / 255, rel=0.01)
    assert batch.noisy.min() < 0  # it is not clipped


def test_a_patch_that_does_not_fit_is_refused():
    with pytest.raises(InputError, match="must fit the smallest image, 20 pixels, got 24"):
        data.Patches([numbered(20, 30).astype(np.uint8)], 24, CPU)


def test_the_noise_of_tests_is_kairs():
    clean = np.full((5, 4, 3), 100, np.uint8)
    np.random.seed(0)
    expected = np.float32(100 / 255) + np.random.normal(0, 25 / 255, (5, 4, 3))
    noisy = data.with_test_noise(clean, 25.0)
    torch.testing.assert_close(noisy[0].permute(1, 2, 0).double(), torch.from_numpy(expected))


def test_results_are_rounded_and_clipped():
    image = torch.tensor([-0.1, 0.5, 0.4999 / 255, 1.2]).expand(1, 3, 1, 4)
    assert images.to_pixels(image)[0, :, 0].tolist() == [0, 128, 0, 255]


def test_scores_of_known_errors():
    clean = np.full((16, 16, 3), 100, np.uint8)
    assert scores.psnr(clean, clean) == np.inf
    assert scores.psnr(clean, clean + np.uint8(5)) == pytest.approx(20 * np.log10(255 / 5))
    assert scores.ssim(clean, clean) == pytest.approx(1)
    # of two constants: (2 a b + c) / (a^2 + b^2 + c), c = (0.01 * 255)^2
    expected = (2 * 100 * 150 + 2.55**2) / (100**2 + 150**2 + 2.55**2)
    assert scores.ssim(clean, clean + np.uint8(50)) == pytest.approx(expected)


def test_missing_data_say_what_to_get(run, tmp_path):
    with pytest.raises(SystemExit, match=r"train_cbsd432: does not exist. The data .*BSDS500"):
        run("train", "--data", tmp_path, "--out", tmp_path / "run", *TINY)


def test_weights_of_another_task_are_refused(tmp_path):
    checkpoints.save(tmp_path / "other.safetensors", {}, {"task": "edges"})
    with pytest.raises(InputError, match="belongs to the task 'edges', not 'denoise'"):
        weights.load(tmp_path / "other.safetensors")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["out.xyz"], "out.xyz: the extension must be one of .bmp"),
        (["nowhere/out.png"], "nowhere/out.png: the folder nowhere does not exist"),
        (["{folder}/folder.png"], "folder.png: is a folder; a file must be written there"),
        (["--weights", "none.safetensors"], "none.safetensors: cannot be read as safetensors"),
        (
            ["--weights", "{run}/checkpoint.safetensors"],
            "does not contain the weights of a net; a run's are in",
        ),
        (["--weights", "{run}/weights.safetensors", "--sigma", 25], "--sigma: selects one of"),
        (["--weights", "{run}/weights.safetensors", "--arm", "none"], "--arm: selects one of"),
    ],
)
def test_what_apply_cannot_use_is_named(run, train, scenes, tmp_path, arguments, message):
    if "{run}" in str(arguments):
        train("run", "--steps", 1)
    (tmp_path / "folder.png").mkdir()
    places = {"run": tmp_path / "run", "folder": tmp_path}
    given = [str(argument).format(**places) for argument in arguments]
    photo = shutil.copy(scenes / "CBSD68" / "scene0.png", tmp_path)
    with pytest.raises(SystemExit, match=re.escape(message)):
        run("apply", photo, *given)
    assert not list(tmp_path.glob("*denoised*"))


@pytest.mark.parametrize("sigma", [25, 50])
@pytest.mark.parametrize("arm", ARMS)
def test_the_packages_own_nets_denoise_a_photo(run, tmp_path, sigma, arm):
    clean = np.ascontiguousarray(astronaut()[20:180, 140:300])
    noisy = images.to_pixels(data.with_test_noise(clean, sigma))
    images.write(tmp_path / "photo.png", noisy)
    run("apply", tmp_path / "photo.png", "--sigma", sigma, "--arm", arm)
    denoised = images.read(tmp_path / "photo_denoised.png")
    assert scores.psnr(clean, denoised) > scores.psnr(clean, noisy) + 8
    _, about = weights.load(weights.shipped(sigma, arm))
    assert (about["model"]["arm"], about["noise"]["sigma"]) == (arm, sigma)
    assert about["training"]["seed"] == 0  # chosen before training


def test_apply_overwrites_by_force_alone(run, tmp_path):
    photo = tmp_path / "photo.png"
    images.write(photo, np.ascontiguousarray(astronaut()[:16, :16]))
    result = tmp_path / "photo_denoised.png"
    result.write_bytes(b"mine")
    message = f"{result}: already exists (use --force to overwrite it)"
    for arguments in ((), (result,)):
        with pytest.raises(SystemExit, match=re.escape(message)):
            run("apply", photo, *arguments)
    with pytest.raises(SystemExit, match=re.escape(f"{photo}: already exists")):
        run("apply", photo, photo)
    assert result.read_bytes() == b"mine"
    run("apply", photo, "--force")
    assert images.read(result).shape == (16, 16, 3)
    assert sorted(file.name for file in tmp_path.iterdir()) == [photo.name, result.name]


def test_a_file_that_comes_while_apply_works_stays(run, tmp_path, monkeypatch):
    photo, result = tmp_path / "photo.png", tmp_path / "result.png"
    images.write(photo, np.ascontiguousarray(astronaut()[:16, :16]))

    def denoise(*_):
        result.write_bytes(b"mine")
        return torch.zeros(1, 3, 16, 16)

    monkeypatch.setattr(model, "denoise", denoise)
    with pytest.raises(SystemExit, match="already exists"):
        run("apply", photo, result)
    assert result.read_bytes() == b"mine"
    assert sorted(file.name for file in tmp_path.iterdir()) == [photo.name, result.name]


def test_a_file_system_without_links_is_written_to_as_well(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    files.write_whole(tmp_path / "new", b"new", force=False)
    assert (tmp_path / "new").read_bytes() == b"new"
    with pytest.raises(InputError, match="already exists"):
        files.write_whole(tmp_path / "new", b"newer", force=False)
    assert [file.name for file in tmp_path.iterdir()] == ["new"]


@pytest.mark.parametrize("suffix", [".png", ".tiff", ".webp", ".jpg", ".bmp", ".ppm"])
def test_alpha_stays_as_it_is_or_a_note_says_so(run, tmp_path, capsys, suffix):
    colours = np.ascontiguousarray(astronaut()[:16, :24])
    alpha = np.arange(16 * 24, dtype=np.uint8).reshape(16, 24)
    images.write(tmp_path / "opaque.png", colours)
    images.write(tmp_path / "photo.png", colours, alpha=alpha)
    run("apply", tmp_path / "opaque.png", tmp_path / "opaque.tiff")
    assert "note" not in capsys.readouterr().out
    result = tmp_path / f"result{suffix}"
    run("apply", tmp_path / "photo.png", result)
    note = f"note: {suffix[1:]} does not support alpha; the image is placed on white\n"
    expected = images.read(tmp_path / "opaque.tiff")
    if suffix in (".png", ".tiff", ".webp"):
        assert capsys.readouterr().out == f"wrote {result}\n"
        np.testing.assert_array_equal(images.read_alpha(result), alpha)
    else:
        assert capsys.readouterr().out == f"{note}wrote {result}\n"
        share = alpha[..., None] / 255
        expected = np.round(expected * share + 255 * (1 - share))
        assert images.read_alpha(result) is None
    if suffix in (".png", ".tiff", ".bmp", ".ppm"):  # the others lose some of the colours
        found = images.read(result).astype(int)
        assert np.abs(found - expected).max() <= (1 if suffix in (".bmp", ".ppm") else 0)


def test_the_net_that_is_taken_is_that_of_sigma_25_with_tv():
    assert weights.shipped() == weights.shipped(25, "both") != weights.shipped(25, "none")


def test_noise_without_a_net_of_ours_is_named(run, scenes, tmp_path):
    photo = scenes / "CBSD68" / "scene0.png"
    with pytest.raises(SystemExit, match="--sigma 7: the package has no such weights"):
        run("apply", photo, tmp_path / "out.png", "--sigma", 7)


@pytest.mark.skipif(not torch.distributed.is_available(), reason="torch without distributed")
def test_two_processes_train_what_one_does(train, scenes, tmp_path):
    # Without batch norm, whose statistics are a process's own.
    options = ["--depth", "2", "--arm", "both", "--steps", "4"]
    one, _ = weights.load(train("one", *options))
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    command = ["-m", "tautstring_tasks", "denoise", "train", *TINY, *options]
    where = ["--data", str(scenes), "--out", str(tmp_path / "two")]
    result = subprocess.run(
        [*torchrun, *command, *where], capture_output=True, text=True, timeout=120
    )
    assert result.returncode == 0, result.stderr[-4000:]
    two, _ = weights.load(tmp_path / "two" / "weights.safetensors")
    for name, tensor in one.state_dict().items():
        torch.testing.assert_close(two.state_dict()[name], tensor, atol=1e-5, rtol=1e-4)
