# What the commands of tasks do with files: nothing is overwritten, photos, missing packages.
import re
import shutil
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from skimage.data import astronaut
from tasks_support import TINY, call

from tautstring_tasks import extras, files, images
from tautstring_tasks.denoise.task import Denoise
from tautstring_tasks.errors import InputError

pytest_plugins = ("tasks_fixtures",)


@pytest.fixture(scope="module")
def scored(scenes, trained, tmp_path_factory):
    """Scores of the net that is trained; no test may change them."""
    out = tmp_path_factory.mktemp("scored") / "scores.npz"
    call("evaluate", "--data", scenes, "--weights", trained, "--out", out, "--sets", "CBSD68")
    return out


@pytest.fixture
def photo(tmp_path):
    file = tmp_path / "photo.png"
    images.write(file, np.ascontiguousarray(astronaut()[:16, :16]))
    return file


@pytest.fixture
def photos(tmp_path):
    folder = tmp_path / "photos"
    folder.mkdir()
    for index, suffix in enumerate((".png", ".bmp", ".jpg")):
        pixels = astronaut()[20 * index :][: 16 + index, :20]
        images.write(folder / f"{index}{suffix}", np.ascontiguousarray(pixels))
    return folder


@pytest.fixture(params=["calibrate", "halve", "evaluate", "report", "apply"])
def writing(request, scenes, trained, scored, photo, tmp_path):
    """A command that writes a file, and the file."""
    command, out = request.param, tmp_path / "out.png"
    data, net, to = ["--data", scenes], ["--weights", trained], ["--out", out]
    rest = {
        "calibrate": [*data, *net, *to, "--batches", 1],
        "halve": [*net, *to],
        "evaluate": [*data, *net, *to, "--sets", "CBSD68"],
        "report": [scored, *to],
        "apply": [photo, out, *net],
    }
    return [command, *rest[command]], out


def test_a_file_is_overwritten_by_force_alone(run, writing):
    arguments, out = writing
    run(*arguments)
    out.write_bytes(b"mine")
    message = f"{out}: already exists (use --force to overwrite it)"
    with pytest.raises(SystemExit, match=re.escape(message)):
        run(*arguments)
    assert out.read_bytes() == b"mine"
    run(*arguments, "--force")
    assert out.read_bytes() != b"mine"


def test_a_link_to_nothing_is_not_overwritten(run, writing):
    arguments, out = writing
    out.symlink_to("nowhere")
    with pytest.raises(SystemExit, match="already exists"):
        run(*arguments)
    assert out.is_symlink()


def test_the_photo_itself_is_not_overwritten(run, photo, tmp_path):
    before = photo.read_bytes()
    result = tmp_path / "photo_denoise.png"
    result.write_bytes(b"mine")
    for arguments, name in (((), result), ((photo,), photo)):
        with pytest.raises(SystemExit, match=re.escape(f"{name}: already exists")):
            run("apply", photo, *arguments)
    assert (photo.read_bytes(), result.read_bytes()) == (before, b"mine")
    run("apply", photo, "--force")
    assert images.read(result).shape == (16, 16, 3)
    assert sorted(file.name for file in tmp_path.iterdir()) == [photo.name, result.name]


def test_a_file_that_comes_while_apply_works_stays(run, photo, tmp_path, monkeypatch):
    result = tmp_path / "result.png"

    def denoise(*_):
        result.write_bytes(b"mine")
        return np.zeros((16, 16, 3), np.uint8)

    monkeypatch.setattr(Denoise, "apply", denoise)
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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["out.xyz"], "out.xyz: the extension must be one of .bmp"),
        (["nowhere/out.png"], "nowhere/out.png: the folder nowhere does not exist"),
        (["{folder}/folder.png"], "folder.png: is a folder; a file must be written there"),
        (["--weights", "none.safetensors"], "none.safetensors: cannot be read as safetensors"),
        (
            ["--weights", "{run}/checkpoint.safetensors"],
            "does not contain the weights of its net, ModelOptions(arm='both', depth=4",
        ),
    ],
)
def test_what_apply_cannot_use_is_named(run, trained, photo, tmp_path, arguments, message):
    (tmp_path / "folder.png").mkdir()
    places = {"run": trained.parent, "folder": tmp_path}
    given = [argument.format(**places) for argument in arguments]
    with pytest.raises(SystemExit, match=re.escape(message)):
        run("apply", photo, *given)
    assert not list(tmp_path.glob("*denoise*"))


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


def test_a_folder_of_photos_becomes_a_folder_of_results(run, photos, trained, tmp_path, capsys):
    run("apply", photos, "--weights", trained)
    results = tmp_path / "photos_denoise"
    assert sorted(file.name for file in results.iterdir()) == ["0.png", "1.png", "2.png"]
    for photo in images.files_of(photos, ""):
        alone = tmp_path / "alone.png"
        run("apply", photo, alone, "--weights", trained, "--force")
        found = images.read(results / f"{photo.stem}.png")
        np.testing.assert_array_equal(found, images.read(alone))
    assert f"wrote {results / '1.png'}" in capsys.readouterr().out


def test_the_folder_of_results_may_be_anywhere(run, photos, trained, tmp_path):
    run("apply", photos, tmp_path / "new" / "results", "--weights", trained)
    assert len(list((tmp_path / "new" / "results").iterdir())) == 3


def test_the_folder_of_photos_may_be_the_current_one(run, photos, trained, tmp_path, monkeypatch):
    monkeypatch.chdir(photos)
    run("apply", ".", "--weights", trained)
    assert len(list((tmp_path / "photos_denoise").iterdir())) == 3


def test_one_result_that_exists_is_found_before_any_photo_is_denoised(run, photos, tmp_path):
    results = tmp_path / "photos_denoise"
    results.mkdir()
    (results / "2.png").write_bytes(b"mine")
    with pytest.raises(SystemExit, match=r"2.png: already exists"):
        run("apply", photos)
    assert [file.name for file in results.iterdir()] == ["2.png"]
    assert (results / "2.png").read_bytes() == b"mine"


def test_photos_whose_results_would_be_one_file_are_named(run, photos, tmp_path):
    shutil.copy(photos / "0.png", photos / "1.png")
    with pytest.raises(SystemExit, match="photos: image names must differ in more than their ext"):
        run("apply", photos)
    assert not (tmp_path / "photos_denoise").exists()


def test_a_file_for_the_results_of_a_folder_is_named(run, photos, photo):
    with pytest.raises(SystemExit, match=r"photo.png: must be a folder, since .*photos is one"):
        run("apply", photos, photo, "--force")


def test_a_folder_without_photos_is_named(run, tmp_path):
    with pytest.raises(SystemExit, match=r"has no images. A folder of photos is needed"):
        run("apply", tmp_path)


def hide(monkeypatch, package):
    def find(name):
        return None if name == package else find_spec(name)

    monkeypatch.setattr(extras, "find_spec", find)


@pytest.mark.parametrize(
    ("command", "package", "extra"),
    [
        ("train", "tensorboard", "tensorboard"),
        ("evaluate", "skimage", "denoise"),
        ("report", "matplotlib", "report"),
        ("report", "scipy", "report"),
        ("report", "skimage", "denoise"),
    ],
)
def test_a_missing_package_is_named(
    run, scenes, trained, scored, tmp_path, monkeypatch, command, package, extra
):
    hide(monkeypatch, package)
    out = tmp_path / "out"
    rest = {
        "train": ["--data", scenes, *TINY, "--steps", 1, "--tensorboard"],
        "evaluate": ["--data", scenes, "--weights", trained],
        "report": [scored],
    }
    message = f"this needs the package {package}: pip install 'tautstring-tasks[{extra}]'"
    with pytest.raises(SystemExit, match=re.escape(message)):
        run(command, *rest[command], "--out", out)
    assert not out.is_file()


def test_a_package_is_not_needed_by_commands_that_do_without(run, scenes, tmp_path, monkeypatch):
    monkeypatch.setattr(extras, "find_spec", lambda _: None)
    run("train", "--data", scenes, "--out", tmp_path, *TINY, "--steps", 1)
    assert (tmp_path / "weights.safetensors").exists()
