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
from tasks_support import SHORT, TASK, TINY, assert_same_tensors, load, scored
from torch import nn

from tautstring_tasks import checkpoints, images, nets, reporting, runs
from tautstring_tasks import scores as score_files
from tautstring_tasks.denoise import data, model, scores
from tautstring_tasks.denoise.data import NoiseOptions
from tautstring_tasks.denoise.model import DnCNN, ModelOptions
from tautstring_tasks.errors import InputError
from tautstring_tasks.patches import Patches
from tautstring_tasks.recipes import Recipe

pytest_plugins = ("tasks_fixtures",)

CPU = torch.device("cpu")
ENDS = ("input", "output")
ARMS = ("none", "both")


def make(seed=0, **options):
    return nets.make(TASK, ModelOptions(**options), seed)


def page(found, notes="", pictures=Path("images")):
    """The page, without the task's own figures."""
    return reporting.page(WithoutFigures(), found, notes, pictures)


class WithoutFigures(type(TASK)):
    def figures(self, found, folder):
        return ""


def test_train_evaluate_report_and_apply(run, train, scenes, tmp_path):
    results = []
    for arm in ARMS:
        for seed in (0, 1):
            trained = train(f"{arm}{seed}", "--arm", arm, "--seed", seed, "--steps", 6)
            results.append(tmp_path / f"{arm}{seed}.npz")
            run("evaluate", "--data", scenes, "--weights", trained, "--out", results[-1])
    (result,) = score_files.load(TASK, results[-1])
    assert (result.arm, result.seed, result.about["options"]["sigma"]) == ("both", 1, 25)
    assert list(result.scores) == list(data.TESTS)
    assert result.scores["CBSD68"]["PSNR"].shape == (2,)

    out = tmp_path / "page.md"
    run("report", *results, "--out", out)
    text = out.read_text()
    psnr = [score_files.load(TASK, file)[0].scores["CBSD68"]["PSNR"] for file in results[2:]]
    assert f"| DnCNNTV, both | 2 | {np.mean(psnr):.3f} ± " in text
    assert "| *DnCNN, the paper* |  | *31.24* | *32.14* | *31.52* |" in text
    assert re.search(r"\| DnCNNTV, both \| 2 \| (\*\*)?[+-]\d\.\d{3} \([+-]", text)
    assert "## Sigma 25, trained for 6 steps of 4 patches" in text
    assert "tested in float32." in text
    lines = [runs.load_json(tmp_path / f"both{seed}" / "run.json")["history"] for seed in (0, 1)]
    row = next(line for line in text.splitlines() if line.startswith("| DnCNNTV, both | sigma 25"))
    assert f"| 6 | 2 | {np.mean([line[-1]['loss'] for line in lines]):.4g} |" in row
    for end in ENDS:
        lams = [np.mean(line[-1]["lam"][f"at_{end}"]) for line in lines]
        assert f"| {np.mean(lams):.3g} ({min(lams):.3g} to {max(lams):.3g}) |" in row
    for picture in ("denoise_lambdas.svg", "denoise_stages.png"):
        assert (tmp_path / "images" / picture).stat().st_size > 1000
        assert f"](images/{picture})" in text

    photo, net = scenes / "CBSD68" / "scene0.png", tmp_path / "both0" / "weights.safetensors"
    run("apply", photo, tmp_path / "denoised.png", "--weights", net)
    denoised = images.read(tmp_path / "denoised.png")
    assert denoised.shape == images.read(photo).shape
    copied = Path(shutil.copy(photo, tmp_path))
    run("apply", copied, "--weights", net)
    assert (images.read(tmp_path / "scene0_denoise.png") == denoised).all()


def test_only_runs_that_differ_in_their_arm_are_compared():
    others = [
        scored("both", recipe=Recipe(steps=20, batch=2)),
        scored("both", calibrate=40),
        scored("both", noise=NoiseOptions(sigma=15.0), test={"test_sigma": 25.0}),
        scored("both", recipe=Recipe(steps=10, batch=2, lr=1e-2)),
        scored("both", recipe=Recipe(steps=10, batch=2, optimizer="sgd")),
        scored("both", precision="bfloat16"),
        scored("both", execution={"precision": "bfloat16", "processes": 1}),
        scored("both", start={"task": "denoise"}),
        scored("both", half=True),
        scored("both", data={data.TRAIN: {"images": 1, "sha256": "3"}}),
        scored("both", sets={"CBSD68": {"items": 2, "sha256": "3"}}),
    ]
    text = page([scored("none"), *others, scored("both", psnr=30.25)])
    assert "| DnCNNTV, both | 1 | +0.250 (+0.250 to +0.250) |" in text  # of one seed: not bold
    assert text.count("Against DnCNN") == 1
    headings = [line for line in text.splitlines() if line.startswith("## ")]
    assert len(headings) == 1 + len(others)
    assert "## Sigma 25, trained against 15, trained for 10 steps of 2 patches" in headings
    assert headings[1] == "## Sigma 25, trained for 20 steps of 2 patches"


def test_what_is_clear_with_several_seeds_is_bold():
    pairs = [scored(arm, seed, 30.0 + (arm == "both")) for seed in range(3) for arm in ARMS]
    assert "| DnCNNTV, both | 3 | **+1.000 (+1.000 to +1.000)** |" in page(pairs)


def test_sets_of_a_users_own_are_in_the_table():
    text = page([scored("none", names=("mine", "CBSD68"))])
    assert "|  | seeds | CBSD68 | mine |" in text
    assert "| *DnCNN, the paper* |  | *31.24* |  |" in text


def test_the_page_is_that_of_the_results_that_are_kept(tmp_path):
    kept = Path(__file__).parents[2] / "tasks" / "results" / "denoise"
    # As in the page: the longer study last.
    studies = [score_files.load(TASK, kept / f"steps{steps}.npz") for steps in (5500, 40000)]
    written = (kept.parents[2] / "docs" / "denoise.md").read_text(encoding="utf-8")
    notes = (kept / "notes.md").read_text(encoding="utf-8")
    made = page([run for study in studies for run in study], notes, tmp_path)
    before_training, _ = made.split("\n## Training\n")
    assert written.startswith(before_training)


def test_a_run_that_is_given_twice_is_no_second_seed():
    with pytest.raises(InputError, match="two results of arm both with seed 0"):
        page([scored("none"), scored("both"), scored("both")])


def test_what_a_report_cannot_use_is_named(run, trained, scenes, tmp_path):
    out, log, other = tmp_path / "page.md", trained.with_name("run.json"), tmp_path / "other.npz"
    result = tmp_path / "scores.npz"
    run("evaluate", "--data", scenes, "--weights", trained, "--out", result, "--sets", "CBSD68")
    score_files.save(other, [scored(task="edges")])
    for arguments, message in (
        ([], "FILE...: at least one file written by `study` or `evaluate`"),
        ([tmp_path / "none.npz"], "none.npz: cannot be read"),
        ([log], "run.json: cannot be read as npz"),
        ([other], "other.npz: belongs to the task 'edges', not 'denoise'"),
        ([result, "--notes", tmp_path / "none.md"], "none.md: cannot be read"),
    ):
        with pytest.raises(SystemExit, match=message):
            run("report", *arguments, "--out", out)
        assert not out.exists()
    run("report", result, "--out", out)
    assert out.exists()


def test_images_that_cannot_be_scored_are_named(run, scenes, tmp_path):
    folder, out = tmp_path / "CBSD68", tmp_path / "scores.npz"
    shutil.copytree(scenes / "CBSD68", folder)
    where = ["--data", tmp_path, "--weights", "none_sigma25", "--out", out, "--sets", "CBSD68"]
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
        ("train", "weight-decay", -1.0, "at least 0"),
        ("train", "drops", 0.0, "above 0 and at most 1"),
        ("train", "drops", 1.5, "above 0 and at most 1"),
        ("train", "rise", -0.1, "at least 0 and at most 1"),
        ("train", "sigma", -25.0, "at least 0"),
        ("train", "patch", 0, "at least 1"),
        ("train", "depth", 1, "at least 2 and at most 1000"),
        ("train", "width", 0, "at least 1 and at most 10000"),
        ("train", "lam", 0.0, "above 0"),
        ("evaluate", "test-sigma", -25.0, "at least 0"),
        ("calibrate", "batches", 0, "at least 1"),
        ("study", "at-once", 0, "at least 1"),
        ("study", "calibrate", -1, "at least 0"),
        ("study", "test-sigma", -25.0, "at least 0"),
    ],
)
def test_numbers_out_of_bounds_are_named(run, scenes, tmp_path, command, option, value, allowed):
    where = ["--data", scenes, "--out", tmp_path / "out"]
    if command in ("evaluate", "calibrate"):
        where += ["--weights", "none_sigma25"]
    message = f"tautstring_tasks: --{option}: must be {allowed}, got {value}"
    with pytest.raises(SystemExit, match=f"^{re.escape(message)}$"):
        run(command, *where, f"--{option}={value}")
    assert not any(tmp_path.iterdir())


def means_of(file):
    (found,) = score_files.load(TASK, file)
    return {name: each["PSNR"].mean() for name, each in found.scores.items()}


def test_training_denoises(run, train, scenes, tmp_path):
    trained = train("longer", "--arm", "both", "--steps", 150, "--batch", 8)
    run("evaluate", "--data", scenes, "--weights", trained, "--out", tmp_path / "scores.npz")
    found = means_of(tmp_path / "scores.npz")
    assert list(found) == list(data.TESTS)
    assert min(found.values()) > 26  # the noise alone is 20.2


def test_scores_in_bfloat16_are_nearly_those_in_float32(run, train, scenes, tmp_path):
    trained = train("short", "--arm", "both", "--steps", 60, "--batch", 8)
    means = {}
    for precision in ("float32", "bfloat16"):
        out = tmp_path / f"{precision}.npz"
        where = ["--data", scenes, "--weights", trained, "--out", out]
        run("evaluate", *where, "--precision", precision)
        assert score_files.load(TASK, out)[0].about["precision"] == precision
        means[precision] = means_of(out)
    assert means["bfloat16"] == pytest.approx(means["float32"], abs=0.02)
    assert means["bfloat16"] != means["float32"]


@pytest.mark.parametrize(("arguments", "sigma"), [([], 25.0), (["--test-sigma", 10], 10.0)])
def test_a_net_is_tested_against_the_noise_that_is_asked_for(
    run, trained, scenes, tmp_path, arguments, sigma
):
    out = tmp_path / "scores.npz"
    run("evaluate", "--data", scenes, "--weights", trained, "--out", out, *arguments)
    (found,) = score_files.load(TASK, out)
    assert found.about["test"] == {"test_sigma": sigma if arguments else None}
    assert found.about["options"]["sigma"] == 25
    net, _ = load(trained)
    clean = images.read(scenes / "Kodak24" / "scene1.png")
    denoised = images.to_pixels(net(data.with_test_noise(clean, sigma)))
    assert found.scores["Kodak24"]["PSNR"][1] == scores.psnr(clean, denoised)
    assert found.scores["Kodak24"]["SSIM"][1] == scores.ssim(clean, denoised)


def test_calibrated_batch_norms_have_the_statistics_of_patches(run, train, scenes, tmp_path):
    trained = train("short", "--arm", "both", "--steps", 3)
    out = tmp_path / "calibrated.safetensors"
    run("calibrate", "--data", scenes, "--weights", trained, "--out", out, "--batches", 4)
    before, about = checkpoints.load(trained)
    after, calibrated_about = checkpoints.load(out)
    origin = {"calibrate": 4, "calibrated_from": runs.hash_of_file(trained)}
    assert calibrated_about == {**about, **origin}
    changed = {name for name, tensor in before.items() if not torch.equal(tensor, after[name])}
    net, _ = load(out)
    norms = [name for name, layer in net.named_modules() if isinstance(layer, nn.BatchNorm2d)]
    kept = ("running_mean", "running_var", "num_batches_tracked")
    assert changed == {f"{norm}.{key}" for norm in norms for key in kept}
    assert net.noise[3].num_batches_tracked == 4

    # The first norm's statistics are those of what reaches it, the mean of batches.
    pictures = [images.read(file) for file in images.files_of(scenes / data.TRAIN, "")]
    patches = Patches(pictures, 16, CPU)
    batches = [data.noisy_patches(patches, 8, 25.0, 0, 3 + step).noisy for step in range(4)]
    reached = [net.noise[:3](net.at_input(batch)) for batch in batches]
    means = torch.stack([each.mean((0, 2, 3)) for each in reached])
    torch.testing.assert_close(net.noise[3].running_mean, means.mean(0))


def test_scores_say_whether_batch_norms_were_calibrated(run, trained, scenes, tmp_path):
    calibrated, found = tmp_path / "calibrated.safetensors", []
    run("calibrate", "--data", scenes, "--weights", trained, "--out", calibrated, "--batches", 3)
    for number, file in enumerate((trained, calibrated)):
        out = tmp_path / f"{number}.npz"
        run("evaluate", "--data", scenes, "--weights", file, "--out", out)
        found += score_files.load(TASK, out)
    assert "calibrate" not in found[0].about
    assert found[1].about["calibrate"] == 3
    for name in data.TESTS:
        assert (found[0].scores[name]["PSNR"] != found[1].scores[name]["PSNR"]).all()
    assert "batch norms with the statistics of 3 batches" in page(found, pictures=tmp_path)


@pytest.mark.parametrize("arm", ARMS)
def test_a_halved_net_scores_nearly_the_same(run, train, scenes, tmp_path, arm):
    trained, half = train("whole", "--arm", arm, "--steps", 30), tmp_path / "half.safetensors"
    run("halve", "--weights", trained, "--out", half)
    means = []
    for number, file in enumerate((trained, half)):
        run("evaluate", "--data", scenes, "--weights", file, "--out", tmp_path / f"{number}.npz")
        means.append(means_of(tmp_path / f"{number}.npz"))
    assert means[1] == pytest.approx(means[0], abs=0.02)
    assert means[1] != means[0]


def test_a_halved_net_is_half_as_large_and_says_so(run, trained, tmp_path):
    half = tmp_path / "half.safetensors"
    run("halve", "--weights", trained, "--out", half)
    tensors, about = checkpoints.load(half)
    whole, whole_about = checkpoints.load(trained)
    assert about == {**whole_about, "half": True}
    net = load(half)[0].state_dict()
    for name, tensor in whole.items():
        is_float = tensor.is_floating_point()
        assert tensors[name].dtype == (torch.float16 if is_float else tensor.dtype), name
        assert net[name].dtype == tensor.dtype, name
        torch.testing.assert_close(net[name], tensor, rtol=1e-3, atol=1e-6, msg=name)
    assert "stored in half precision." in page([scored(half=True)])


def test_at_the_start_a_pixels_noise_stays_where_it_is():
    # With filters that mix neighbours a tenth is left after 16 of them: such a net learns late.
    net = make(arm="none")
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
    resumed, _ = load(train("stopped", *options))
    whole, _ = load(train("whole", *options))
    assert_same_tensors(whole.state_dict(), resumed.state_dict())


def test_training_goes_on_from_a_net(run, train, scenes, tmp_path):
    first = train("first", "--arm", "input", "--steps", 3)

    def go_on(name, *arguments):
        where = ["--data", scenes, "--out", tmp_path / name, "--weights", first]
        run("train", *where, *SHORT, *arguments)
        return tmp_path / name / "weights.safetensors"

    tensors, about = checkpoints.load(first)
    assert_same_tensors(checkpoints.load(go_on("untouched", "--steps", 0))[0], tensors)
    options = ["--sigma", 15, "--steps", 8, "--log-every", 4]
    go_on("stopped", *options, "--minutes", 0)
    net, onward = load(go_on("stopped", *options))
    assert onward["start"] == about
    assert onward["model"] == about["model"]
    assert net.noise[3].num_batches_tracked == 3 + 8
    for name, parameter in net.named_parameters():
        assert not torch.equal(parameter, tensors[name]), name
    whole, _ = load(go_on("whole", *options))
    assert_same_tensors(whole.state_dict(), net.state_dict())


def test_training_goes_on_from_a_net_of_the_package(run, scenes, tmp_path):
    where = ["--data", scenes, "--out", tmp_path, "--weights", "none_sigma50"]
    run("train", *where, *SHORT, "--steps", 0)
    tensors, about = checkpoints.load(tmp_path / "weights.safetensors")
    ours, shipped = load(TASK.weights()["none_sigma50"])
    assert_same_tensors(tensors, ours.state_dict())
    assert about["start"] == shipped
    assert (about["model"], about["options"]["sigma"]) == (shipped["model"], 25)
    assert "half" not in about


def test_a_net_that_training_goes_on_from_is_what_it_is(train):
    first = train("first", "--arm", "input", "--steps", 1)
    with pytest.raises(SystemExit, match=r"--weights .*: is ModelOptions\(arm='input'.*leave out"):
        train("other", "--weights", first, "--arm", "output")


def test_lambda_frozen_at_0_is_the_baseline(train):
    baseline, _ = load(train("none", "--arm", "none", "--steps", 5))
    zero, _ = load(train("zero", "--arm", "zero", "--steps", 5))
    for name, tensor in baseline.state_dict().items():
        assert torch.equal(tensor, zero.state_dict()[name]), name


def test_all_arms_begin_with_the_same_convolutions():
    ones = [make(seed=3, arm=arm) for arm in ("none", "input", "both", "blur")]
    for net in ones[1:]:
        for name, tensor in ones[0].state_dict().items():
            assert torch.equal(tensor, net.state_dict()[name]), name
    other = make(seed=4, arm="none")
    assert not torch.equal(ones[0].noise[0].weight, other.noise[0].weight)


def test_the_net_has_the_parameters_of_kair():
    assert sum(p.numel() for p in DnCNN(ModelOptions(arm="none")).parameters()) == 559_363


@pytest.mark.parametrize("arm", ["none", "both", "zero", "blur"])
def test_images_are_not_rounded_to_bfloat16_in_any_arm(arm):
    net = make(arm=arm, depth=3, width=4)
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
        net = make(arm=arm, lam=0.2).eval()
        stages = net.stages(x)
        assert torch.equal(stages.after_input, x) is not at_input
        assert torch.equal(stages.result, stages.before_output) is not at_output


@pytest.mark.parametrize("rows", [1, 5, 16, 39, 40])
def test_large_images_in_strips_are_what_they_are_whole(monkeypatch, rows):
    net = make(arm="both", depth=5, width=8).double()
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
    patches = Patches(pictures, 8, CPU)
    seen = set()
    for step in range(8):
        for patch in data.noisy_patches(patches, 64, 25.0, 0, step).clean.mul(255).round().int():
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
    patches = Patches([numbered(12, 12).astype(np.uint8)], 8, CPU)
    clean = data.noisy_patches(patches, 2000, 25.0, 0, 0).clean.mul(255).round().int()
    least = (clean[:, 0] * 256 + clean[:, 1]).flatten(1).amin(1)  # the upper left pixel
    assert set(least.tolist()) == {12 * top + left for top in range(5) for left in range(5)}


def test_a_batch_is_that_of_its_seed_and_step(scenes):
    pictures = [images.read(file) for file in images.files_of(scenes / data.TRAIN, "")]
    patches = Patches(pictures, 16, CPU)

    def noisy(seed, step):
        return data.noisy_patches(patches, 4, 25.0, seed, step).noisy

    assert torch.equal(noisy(1, 7), noisy(1, 7))
    assert not torch.equal(noisy(1, 7), noisy(1, 8))
    assert not torch.equal(noisy(1, 7), noisy(2, 7))


def test_noise_has_its_deviation(scenes):
    patches = Patches([np.zeros((50, 50, 3), np.uint8)], 40, CPU)
    batch = data.noisy_patches(patches, 100, 50.0, 0, 0)
    assert batch.noisy.std().item() == pytest.approx(50 / 255, rel=0.01)
    assert batch.noisy.min() < 0  # it is not clipped


def test_a_patch_that_does_not_fit_is_refused():
    with pytest.raises(InputError, match="must fit the smallest image, 20 pixels, got 24"):
        Patches([numbered(20, 30).astype(np.uint8)], 24, CPU)


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
        load(tmp_path / "other.safetensors")


@pytest.mark.parametrize("sigma", [25, 50])
@pytest.mark.parametrize("arm", ARMS)
def test_the_packages_own_nets_denoise_a_photo(run, tmp_path, sigma, arm):
    clean = np.ascontiguousarray(astronaut()[20:180, 140:300])
    noisy = images.to_pixels(data.with_test_noise(clean, sigma))
    images.write(tmp_path / "photo.png", noisy)
    run("apply", tmp_path / "photo.png", "--weights", f"{arm}_sigma{sigma}")
    denoised = images.read(tmp_path / "photo_denoise.png")
    assert scores.psnr(clean, denoised) > scores.psnr(clean, noisy) + 8
    _, about = load(TASK.weights()[f"{arm}_sigma{sigma}"])
    assert (about["model"]["arm"], about["options"]["sigma"]) == (arm, sigma)
    assert about["training"]["seed"] == 0  # chosen before training
    assert about["half"]


def test_the_net_that_is_taken_is_that_of_sigma_25_with_tv(run, tmp_path):
    photo, found = tmp_path / "photo.png", {}
    images.write(photo, np.ascontiguousarray(astronaut()[:16, :16]))
    for name in (None, "both_sigma25", "none_sigma25"):
        run(
            "apply", photo, tmp_path / f"{name}.png", *([] if name is None else ["--weights", name])
        )
        found[name] = images.read(tmp_path / f"{name}.png").tolist()
    assert found[None] == found["both_sigma25"] != found["none_sigma25"]


def test_a_net_that_the_package_does_not_have_is_named(run, scenes, tmp_path):
    photo = scenes / "CBSD68" / "scene0.png"
    known = "both_sigma25, both_sigma50, none_sigma25, none_sigma50"
    message = f"both_sigma7: is neither a file nor one of the package's nets ({known})"
    with pytest.raises(SystemExit, match=re.escape(message)):
        run("apply", photo, tmp_path / "out.png", "--weights", "both_sigma7")


@pytest.mark.skipif(not torch.distributed.is_available(), reason="torch without distributed")
def test_two_processes_train_what_one_does(train, scenes, tmp_path):
    # Without batch norm, whose statistics are a process's own.
    options = ["--depth", "2", "--arm", "both", "--steps", "4"]
    one, _ = load(train("one", *options))
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    command = ["-m", "tautstring_tasks", "denoise", "train", *TINY, *options]
    where = ["--data", str(scenes), "--out", str(tmp_path / "two")]
    result = subprocess.run(
        [*torchrun, *command, *where], capture_output=True, text=True, timeout=120
    )
    assert result.returncode == 0, result.stderr[-4000:]
    two, _ = load(tmp_path / "two" / "weights.safetensors")
    for name, tensor in one.state_dict().items():
        torch.testing.assert_close(two.state_dict()[name], tensor, atol=1e-5, rtol=1e-4)


def test_the_log_of_another_training_is_not_a_nets(run, train, scenes, tmp_path):
    trained = train("one", "--arm", "none", "--steps", 1)
    other = train("other", "--arm", "both", "--steps", 2)
    shutil.copy(other.with_name("run.json"), trained.with_name("run.json"))
    out = tmp_path / "scores.npz"
    where = ["--data", scenes, "--weights", trained, "--out", out, "--sets", "CBSD68"]
    run("evaluate", *where)
    assert score_files.load(TASK, out)[0].history == {}
