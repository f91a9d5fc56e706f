# CIFAR-10 in its three forms, and what is said of damaged files.
import pickle

import numpy as np
import pytest
from PIL import Image

from tautstring_tasks import cifar10
from tautstring_tasks.errors import InputError


@pytest.fixture
def binary(tmp_path):
    cifar10.generate(tmp_path, train=52, test=20)
    return tmp_path


def assert_same(one, other):
    np.testing.assert_array_equal(one.images, other.images)
    np.testing.assert_array_equal(one.labels, other.labels)


def write_pickles(folder, source, protocol=2, keys=(b"data", b"labels")):
    """Write the Python version; its own files are of protocol 2."""
    folder.mkdir(parents=True, exist_ok=True)
    names = {f"data_batch_{i}": None for i in range(1, 6)} | {"test_batch": None}
    for name in names:
        records = np.fromfile(source / f"{name}.bin", np.uint8).reshape(-1, 3073)
        content = dict(zip(keys, (records[:, 1:].copy(), records[:, 0].tolist()), strict=True))
        (folder / name).write_bytes(pickle.dumps(content, protocol))


def write_mosaics(folder, generator):
    """Write the test images; the files of the others are there, but empty."""
    folder.mkdir(parents=True, exist_ok=True)
    pixels = generator.integers(0, 256, (100, 100, 3)).astype(np.uint8)
    mosaic = pixels.repeat(32, 0).repeat(32, 1)  # a colour for each image
    Image.fromarray(mosaic).save(folder / "test.webp", lossless=True, method=0, quality=0)
    labels = generator.integers(0, 10, 10000).astype(np.uint8)
    (folder / "test_labels.u8").write_bytes(labels.tobytes())
    for name in (*(f"train_{i}.webp" for i in range(1, 6)), "train_labels.u8"):
        (folder / name).touch()


@pytest.mark.parametrize(("part", "count"), [("train", 52), ("test", 20)])
def test_a_generated_set_has_all_classes_in_equal_parts(binary, part, count):
    found = cifar10.load(binary, part)
    assert found.images.shape == (count, 32, 32, 3)
    assert found.images.dtype == found.labels.dtype == np.uint8
    per_class = np.bincount(found.labels, minlength=10)
    assert per_class.max() - per_class.min() <= 1


def test_a_generated_set_is_the_same_again(binary, tmp_path):
    cifar10.generate(tmp_path / "again", train=52, test=20)
    assert_same(cifar10.load(tmp_path / "again", "train"), cifar10.load(binary, "train"))


def test_generated_classes_can_be_told_apart(tmp_path):
    """The nearest mean of a few features is right far more often than chance."""
    cifar10.generate(tmp_path, train=400, test=200)
    train, test = cifar10.load(tmp_path, "train"), cifar10.load(tmp_path, "test")

    def features(images):
        values = images.astype(float)
        colours = values[..., 0] - values[..., 2]
        inside = abs(colours) > 60
        rows, columns = inside.any(2).mean(1), inside.any(1).mean(1)
        return np.stack([np.sign(colours.mean((1, 2))), rows, columns, inside.mean((1, 2))], 1)

    means = np.stack([features(train.images[train.labels == k]).mean(0) for k in range(10)])
    distances = np.linalg.norm(features(test.images)[:, None] - means, axis=2)
    assert (distances.argmin(1) == test.labels).mean() > 0.5


def test_pixels_of_the_binary_version_are_in_place(tmp_path):
    image = np.arange(3072).reshape(3, 32, 32) % 251
    record = np.concatenate([[7], image.ravel()]).astype(np.uint8)
    (tmp_path / "test_batch.bin").write_bytes(record.tobytes())
    found = cifar10.load(tmp_path, "test")
    assert found.labels.tolist() == [7]
    np.testing.assert_array_equal(found.images[0], image.transpose(1, 2, 0))


@pytest.mark.parametrize("part", ["train", "test"])
@pytest.mark.parametrize("keys", [(b"data", b"labels"), ("data", "labels")])
@pytest.mark.parametrize("protocol", [3, 4])
def test_the_python_version_is_the_same(binary, tmp_path, part, protocol, keys):
    folder = tmp_path / "python"
    write_pickles(folder, binary, protocol, keys)
    assert_same(cifar10.load(folder, part), cifar10.load(binary, part))


def test_a_batch_of_python_2_is_read(binary):
    """The official files were written by Python 2, whose pickles store bytes as texts."""
    records = np.fromfile(binary / "test_batch.bin", np.uint8).reshape(-1, 3073)
    raw = records[:, 1:].tobytes()

    def text(value):
        return b"U" + bytes([len(value)]) + value

    array = (
        b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\nt" + text(b"b") + b"tR"
        b"(I1\n(I" + str(len(records)).encode() + b"\nI3072\ntcnumpy\ndtype\n("
        + text(b"u1") + b"I0\nI1\ntR(I3\n" + text(b"|") + b"NNNI-1\nI-1\nI0\ntb"
        b"I00\nT" + len(raw).to_bytes(4, "little") + raw + b"tb"
    )  # fmt: skip
    labels = b"(" + b"".join(b"I%d\n" % label for label in records[:, 0]) + b"l"
    content = b"\x80\x02}(" + text(b"data") + array + text(b"labels") + labels + b"u."
    expected = cifar10.load(binary, "test")
    folder = binary / "python"
    folder.mkdir()
    (folder / "test_batch").write_bytes(content)
    assert_same(cifar10.load(folder, "test"), expected)


def test_official_folders_are_found(binary, tmp_path):
    outer = tmp_path / "outer"
    cifar10.generate(outer / "cifar-10-batches-bin", train=52, test=20)
    assert_same(cifar10.load(outer, "test"), cifar10.load(binary, "test"))
    other = tmp_path / "other"
    write_pickles(other / "cifar-10-batches-py", binary, 4)
    assert_same(cifar10.load(other, "test"), cifar10.load(binary, "test"))


def test_mosaics_are_cut_row_by_row(tmp_path):
    write_mosaics(tmp_path, np.random.default_rng(0))
    found = cifar10.load(tmp_path, "test")
    with Image.open(tmp_path / "test.webp") as image:
        pixels = np.asarray(image)
    assert found.images.shape == (10000, 32, 32, 3)
    np.testing.assert_array_equal(found.images[101], pixels[32:64, 32:64])
    assert found.labels.tobytes() == (tmp_path / "test_labels.u8").read_bytes()
    files = cifar10.files_of(tmp_path, "train")
    assert [file.name for file in files] == [
        *(f"train_{i}.webp" for i in range(1, 6)),
        "train_labels.u8",
    ]
    (tmp_path / "test_labels.u8").write_bytes(b"\0" * 9999)
    with pytest.raises(InputError, match=r"test_labels.u8: must have one byte per image, 10000"):
        cifar10.load(tmp_path, "test")
    Image.new("RGB", (320, 320)).save(tmp_path / "test.webp")
    (tmp_path / "test_labels.u8").write_bytes(b"\0" * 10000)
    with pytest.raises(InputError, match=r"test.webp: must be 3200 x 3200 pixels, got 320 x 320"):
        cifar10.load(tmp_path, "test")
    (tmp_path / "test.webp").write_bytes(b"no picture")
    with pytest.raises(InputError, match=r"test.webp: cannot be read as an image"):
        cifar10.load(tmp_path, "test")


def test_the_files_of_a_part_are_listed_in_order(binary):
    names = [file.name for file in cifar10.files_of(binary, "train")]
    assert names == [f"data_batch_{i}.bin" for i in range(1, 6)]


class Malice:
    def __reduce__(self):
        return (print, ("this must never run",))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "cannot be read"),
        (b"\x80\x02.", "cannot be read"),
        (pickle.dumps(Malice()), "needs builtins.print"),
        (pickle.dumps([1]), "a dictionary; got list"),
        (pickle.dumps({"data": [1], "labels": [1]}), "its data must be bytes of shape"),
        (
            pickle.dumps({"data": np.zeros((1, 3072)), "labels": [1]}, 4),
            "its data must be bytes of shape",
        ),
        (
            pickle.dumps({"data": np.zeros((2, 3072), np.uint8), "labels": [1]}, 4),
            "its labels must be a list of 2 numbers",
        ),
        (
            pickle.dumps({"data": np.zeros((1, 3072), np.uint8), "labels": [10]}, 4),
            r"labels must be integers in 0\.\.9",
        ),
    ],
)
def test_damaged_pickles_are_named_and_run_nothing(tmp_path, capsys, content, message):
    (tmp_path / "test_batch").write_bytes(content)
    with pytest.raises(InputError, match=rf"test_batch: .*{message}"):
        cifar10.load(tmp_path, "test")
    assert capsys.readouterr().out == ""


def test_damaged_binary_files_are_named(binary):
    file = binary / "data_batch_3.bin"
    content = file.read_bytes()
    file.write_bytes(content[:-1])
    with pytest.raises(InputError, match=r"data_batch_3.bin: must have 3073 bytes per image"):
        cifar10.load(binary, "train")
    file.write_bytes(b"\x0a" + content[1:])
    with pytest.raises(InputError, match=r"data_batch_3.bin: labels must be below 10, got 10"):
        cifar10.load(binary, "train")
    file.unlink()
    with pytest.raises(InputError, match=r"data_batch_3.bin: does not exist"):
        cifar10.load(binary, "train")


def test_folders_without_the_data_are_named(tmp_path):
    with pytest.raises(InputError, match=r"none: does not exist. CIFAR-10 is a folder with"):
        cifar10.load(tmp_path / "none", "test")
    with pytest.raises(InputError, match="has no test images"):
        cifar10.load(tmp_path, "test")


@pytest.mark.parametrize(("train", "test"), [(4, 1), (5, 0)])
def test_a_generated_set_has_no_empty_file(tmp_path, train, test):
    with pytest.raises(InputError, match="must be at least"):
        cifar10.generate(tmp_path, train, test)
