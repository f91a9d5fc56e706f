# CIFAR-10-C: corruptions against plain transcriptions of the recipe, and the command.
import hashlib
import io
import json
import math

import numpy as np
import pytest
from PIL import Image
from scipy import ndimage, stats
from skimage import color, filters

from tautstring_tasks import _native, cifar10, cifar10c
from tautstring_tasks.errors import InputError

SEVERITIES = range(1, 6)
RICH = 8  # images without plain areas


def of(severity, *constants):
    return constants[severity - 1]


def smooth_scene(generator):
    scene = ndimage.gaussian_filter(generator.uniform(-2, 3, (32, 32, 3)), (2, 2, 0))
    return (scene * 255).clip(0, 255).astype(np.uint8)


@pytest.fixture(scope="module")
def images():
    """Noise, smooth scenes, edges, and plain images at the ends of the range."""
    generator = np.random.default_rng(0)
    noise = generator.integers(0, 256, (4, 32, 32, 3)).astype(np.uint8)
    smooth = [smooth_scene(generator) for _ in range(4)]
    edges = generator.choice(np.uint8([0, 255]), (2, 4, 4, 3)).repeat(8, 1).repeat(8, 2)
    plain = np.stack([np.full((32, 32, 3), value, np.uint8) for value in (0, 100, 255)])
    return np.concatenate([noise, smooth, edges, plain])


@pytest.fixture(scope="module")
def overlays():
    """Pictures whose sizes are not multiples of 5."""
    generator = np.random.default_rng(1)
    sizes = [(170, 223), (201, 166), (168, 169), (187, 178), (165, 300), (400, 400)]
    return [generator.integers(0, 256, (*size, 3)).astype(np.uint8) for size in sizes]


def truncated(values):
    return np.uint8(np.clip(values, 0, 1) * 255)


def levels_between(one, other):
    return np.abs(one.astype(int) - other.astype(int)).max()


def assert_close(name, severity, images, reference, overlays=()):
    """Compare all images with a function of an image and its random numbers, to one level.

    A level comes from truncation of values next to it. Apart from plain areas, that is rare.
    """
    results = _native.corrupt(images, name, severity, seed=3, overlays=list(overlays))
    different = 0
    for index, (image, result) in enumerate(zip(images, results, strict=True)):
        random = _native.draw(name, severity, seed=3, index=index, overlays=list(overlays))
        given = _native.corrupt_with(image, random, name, severity, list(overlays))
        np.testing.assert_array_equal(given[0], result)
        expected = reference(image, random)
        assert expected.dtype == np.uint8
        assert levels_between(result, expected) <= 1, index
        different += (result != expected).sum() if index < RICH else 0
    assert different <= 0.002 * images[:RICH].size


# The recipe, with the libraries that the original uses, or plain NumPy.


def clipped_zoom(image, factor):
    crop = math.ceil(32 / factor)
    top = (32 - crop) // 2
    zoomed = ndimage.zoom(image[top : top + crop, top : top + crop], (factor, factor, 1), order=1)
    trim = (zoomed.shape[0] - 32) // 2
    return zoomed[trim : trim + 32, trim : trim + 32]


def motion_line(image, radius, sigma, degrees):
    """The line's blur of bytes of shape (32, 32) or (32, 32, 3)."""
    steps = np.arange(2 * radius + 1)
    weights = np.exp(-(steps**2) / (2 * sigma**2))
    weights /= weights.sum()
    angle = math.radians(degrees)
    total = np.zeros(image.shape)
    for step, weight in enumerate(weights):
        x = (np.arange(32) + math.ceil(step * math.cos(angle) - 0.5)).clip(0, 31)
        y = (np.arange(32) + math.ceil(step * math.sin(angle) - 0.5)).clip(0, 31)
        total += weight * image[np.ix_(y, x)]
    return np.uint8(np.floor(total + 0.5))


def defocus(severity):
    radius, sigma = of(severity, (0.3, 0.4), (0.4, 0.5), (0.5, 0.6), (1, 0.2), (1.5, 0.1))
    y, x = np.mgrid[-8:9, -8:9]
    disk = np.float32(x**2 + y**2 <= radius**2)
    line = np.exp(-(np.arange(-1, 2) ** 2) / (2 * sigma**2))
    line = np.float32(line / line.sum())
    kernel = disk / disk.sum()
    for axis in range(2):
        kernel = ndimage.correlate1d(kernel, line, axis, mode="constant")
    assert kernel.dtype == np.float32

    def reference(image, _):
        return truncated(ndimage.correlate(image / 255.0, kernel[..., None], mode="mirror"))

    return reference


def glass(severity):
    sigma, rounds = of(severity, (0.05, 1), (0.25, 1), (0.4, 1), (0.25, 2), (0.4, 2))

    def blurred(image):
        return truncated(filters.gaussian(image / 255.0, sigma=sigma, channel_axis=-1))

    def reference(image, random):
        image = blurred(image)
        steps = iter(np.where(random < 0.5, -1, 0))
        for _ in range(rounds):
            for y in range(31, 1, -1):
                for x in range(31, 1, -1):
                    dx, dy = next(steps), next(steps)
                    other = y + dy, x + dx
                    # views of one array, as in the original
                    image[y, x], image[other] = image[other], image[y, x]
        assert next(steps, None) is None
        return blurred(image)

    return reference


def motion(severity):
    radius, sigma = of(severity, (6, 1), (6, 1.5), (6, 2), (8, 2), (9, 2.5))

    def reference(image, random):
        return motion_line(image, radius, sigma, -45 + 90 * random[0])

    return reference


def zoom(severity):
    factors = np.arange(1, of(severity, 1.06, 1.11, 1.16, 1.21, 1.26), 0.01)
    assert len(factors) == of(severity, 7, 12, 16, 21, 26)

    def reference(image, _):
        image = (image / 255.0).astype(np.float32)
        total = np.zeros_like(image)
        for factor in factors:
            total += clipped_zoom(image, factor)
        return truncated((image + total) / (len(factors) + 1))

    return reference


def snow(severity):
    mean, deviation, factor, threshold, radius, sigma, mix = of(
        severity,
        (0.1, 0.2, 1, 0.6, 8, 3, 0.95),
        (0.1, 0.2, 1, 0.5, 10, 4, 0.9),
        (0.15, 0.3, 1.75, 0.55, 10, 4, 0.9),
        (0.25, 0.3, 2.25, 0.6, 12, 6, 0.85),
        (0.3, 0.3, 1.25, 0.65, 14, 12, 0.8),
    )

    def reference(image, random):
        image = np.float32(image) / np.float32(255)
        layer = clipped_zoom((mean + deviation * random[:1024]).reshape(32, 32, 1), factor)
        layer[layer < threshold] = 0
        layer = motion_line(truncated(layer[..., 0]), radius, sigma, -135 + 90 * random[1024])
        layer = layer[..., None] / 255.0
        grey = image @ np.float32([0.299, 0.587, 0.114])
        image = mix * image + (1 - mix) * np.maximum(image, grey[..., None] * 1.5 + 0.5)
        return truncated(image + layer + np.rot90(layer, k=2))

    return reference


def frost(severity, overlays):
    share, frost_share = of(severity, (1, 0.2), (1, 0.3), (0.9, 0.4), (0.85, 0.4), (0.75, 0.45))

    def reference(image, random):
        overlay = overlays[int(5 * random[0])]  # never the sixth
        height, width = (round(size * 0.2) for size in overlay.shape[:2])
        # bilinear: weight 1 for the pixel at 5 * i + 2
        small = overlay[2::5, 2::5][:height, :width]
        assert small.shape == (height, width, 3)
        top, left = int(random[1] * (height - 32)), int(random[2] * (width - 32))
        part = small[top : top + 32, left : left + 32]
        return np.uint8(np.clip(share * image + frost_share * part, 0, 255))

    return reference


def fog(severity):
    amount, decay = of(severity, (0.2, 3), (0.5, 3), (0.75, 2.5), (1, 2), (1.5, 1.75))

    def plasma(random):
        random = iter(random)
        points = np.zeros((32, 32))
        step, wibble = 32, 100.0

        def drawn(total):
            noise = np.array([next(random) for _ in range(total.size)]).reshape(total.shape)
            return total / 4 + wibble * (-wibble + 2 * wibble * noise)

        while step >= 2:
            half = step // 2
            corners = points[::step, ::step]
            total = corners + np.roll(corners, -1, 0)
            points[half::step, half::step] = drawn(total + np.roll(total, -1, 1))
            middles = points[half::step, half::step]
            points[::step, half::step] = drawn(
                middles + np.roll(middles, 1, 0) + corners + np.roll(corners, -1, 1)
            )
            points[half::step, ::step] = drawn(
                middles + np.roll(middles, 1, 1) + corners + np.roll(corners, -1, 0)
            )
            step, wibble = half, wibble / decay
        assert next(random, None) is None
        points -= points.min()
        return points / points.max()

    def reference(image, random):
        image = image / 255.0
        brightest = image.max()
        image = image + amount * plasma(random)[..., None]
        return truncated(image * brightest / (brightest + amount))

    return reference


def brightness(severity):
    amount = of(severity, 0.05, 0.1, 0.15, 0.2, 0.3)

    def reference(image, _):
        hsv = color.rgb2hsv(image / 255.0)
        hsv[..., 2] = np.clip(hsv[..., 2] + amount, 0, 1)
        return truncated(color.hsv2rgb(hsv))

    return reference


def contrast(severity):
    factor = of(severity, 0.75, 0.5, 0.4, 0.3, 0.15)

    def reference(image, _):
        means = np.mean(image / 255.0, axis=(0, 1), keepdims=True)
        return truncated((image / 255.0 - means) * factor + means)

    return reference


def elastic(severity):
    alpha, sigma, jitter = of(
        severity, (0, 0, 2.56), (1.6, 6.4, 2.24), (2.56, 1.92, 1.92), (3.2, 1.28, 1.6),
        (3.2, 0.96, 0.96),
    )  # fmt: skip

    def sampled(image, y, x, mode):
        return np.stack(
            [ndimage.map_coordinates(image[..., c], [y, x], order=1, mode=mode) for c in range(3)],
            axis=-1,
        )

    def reference(image, random):
        image = np.float32(image) / np.float32(255)
        start = np.float32([[26, 26], [26, 6], [6, 6]])  # x, y
        moved = start + np.float32(jitter * (2 * random[:6] - 1)).reshape(3, 2)
        # the affine map from the moved points back
        inverse = np.linalg.solve(np.c_[moved.astype(float), np.ones(3)], start)
        y, x = np.mgrid[:32, :32].astype(float)
        from_x, from_y = (x[..., None] * inverse[0] + y[..., None] * inverse[1] + inverse[2]).T
        image = sampled(image, from_y.T, from_x.T, "mirror")
        if alpha > 0:
            shifts = [
                np.float32(filters.gaussian(field, sigma, mode="reflect", truncate=3) * alpha)
                for field in (2 * random[6:] - 1).reshape(2, 32, 32)
            ]
            image = sampled(image, y + shifts[1], x + shifts[0], "reflect")
        return truncated(image)

    return reference


def pixelate(severity):
    size = int(32 * of(severity, 0.95, 0.9, 0.85, 0.75, 0.65))

    def reference(image, _):
        small = Image.fromarray(image).resize((size, size), Image.Resampling.BOX)
        return np.asarray(small.resize((32, 32), Image.Resampling.BOX))

    return reference


def jpeg(severity):
    def reference(image, _):
        content = io.BytesIO()
        Image.fromarray(image).save(content, "JPEG", quality=of(severity, 80, 65, 58, 50, 40))
        return np.asarray(Image.open(content))

    return reference


REFERENCES = {
    "defocus_blur": defocus,
    "glass_blur": glass,
    "motion_blur": motion,
    "zoom_blur": zoom,
    "snow": snow,
    "fog": fog,
    "brightness": brightness,
    "contrast": contrast,
    "elastic_transform": elastic,
    "pixelate": pixelate,
    "jpeg_compression": jpeg,
}


@pytest.mark.parametrize("severity", SEVERITIES)
@pytest.mark.parametrize("name", REFERENCES)
def test_a_corruption_is_what_the_recipe_says(name, severity, images):
    assert_close(name, severity, images, REFERENCES[name](severity))


@pytest.mark.parametrize("severity", SEVERITIES)
def test_frost_is_what_the_recipe_says(severity, images, overlays):
    assert_close("frost", severity, images, frost(severity, overlays), overlays)


@pytest.mark.parametrize("severity", SEVERITIES)
@pytest.mark.parametrize("name", ["pixelate", "jpeg_compression"])
def test_corruptions_by_pillow_are_exact(name, severity, images):
    results = _native.corrupt(images, name, severity)
    for image, result in zip(images, results, strict=True):
        np.testing.assert_array_equal(result, REFERENCES[name](severity)(image, None))


# The random ones by their distributions.


@pytest.mark.parametrize("severity", SEVERITIES)
def test_gaussian_noise_adds_normals(severity):
    deviation = of(severity, 0.04, 0.06, 0.08, 0.09, 0.1)
    image = np.full((20, 32, 32, 3), 128, np.uint8)
    result = _native.corrupt(image, "gaussian_noise", severity, seed=1)
    # Truncation is a shift by half a level, and a uniform error.
    noise = (result.astype(float) + 0.5) / 255 - 128 / 255
    count = noise.size
    assert abs(noise.mean()) < 5 * deviation / math.sqrt(count)
    variance = deviation**2 + 1 / 12 / 255**2
    assert abs(noise.var() / variance - 1) < 5 * math.sqrt(2 / count)
    random = _native.draw("gaussian_noise", severity)
    given = _native.corrupt_with(image[0], random, "gaussian_noise", severity)[0]
    expected = truncated(image[0] / 255.0 + deviation * random.reshape(32, 32, 3))
    np.testing.assert_array_equal(given, expected)


@pytest.mark.parametrize("severity", SEVERITIES)
def test_shot_noise_is_poisson(severity, images):
    photons = of(severity, 500, 250, 100, 75, 50)
    random = _native.draw("shot_noise", severity, seed=2).reshape(32, 32, 3)
    for image in images:
        result = _native.corrupt_with(image, random.ravel(), "shot_noise", severity)[0]
        counts = stats.poisson.ppf(random, image / 255.0 * photons)
        counts[image == 0] = 0
        np.testing.assert_array_equal(result, truncated(counts / photons))


@pytest.mark.parametrize("severity", SEVERITIES)
def test_impulse_noise_is_salt_and_pepper(severity):
    share = of(severity, 0.01, 0.02, 0.03, 0.05, 0.07)
    image = np.full((100, 32, 32, 3), 100, np.uint8)
    result = _native.corrupt(image, "impulse_noise", severity, seed=1)
    assert set(np.unique(result)) == {0, 100, 255}
    for value in (0, 255):
        found = (result == value).mean()
        expected = share / 2
        assert abs(found - expected) < 5 * math.sqrt(expected / result.size)
    # each colour on its own
    assert (result == 255).any(-1).mean() > 2.5 * (result == 255).mean()


def test_random_numbers_of_images_severities_corruptions_and_seeds_differ():
    keys = [
        ("gaussian_noise", 1, 0, 0), ("gaussian_noise", 2, 0, 0), ("gaussian_noise", 1, 1, 0),
        ("gaussian_noise", 1, 0, 1), ("gaussian_noise", 1, 2**40, 0),
        ("gaussian_noise", 1, 0, 2**40),
    ]  # fmt: skip
    drawn = [_native.draw(name, level, seed=seed, index=i) for name, level, seed, i in keys]
    shot = stats.norm.ppf(_native.draw("shot_noise", 1))
    correlations = np.corrcoef([*drawn, shot]) - np.eye(len(keys) + 1)
    assert abs(correlations).max() < 5 / math.sqrt(3072)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("name", cifar10c.CORRUPTIONS)
def test_threads_and_parts_change_no_bit(name, threads, images, overlays):
    whole = _native.corrupt(images, name, 3, seed=7, threads=1, overlays=overlays)
    again = np.concatenate(
        [
            _native.corrupt(
                images[first : first + 5], name, 3, seed=7, first_index=first, threads=threads,
                overlays=overlays,
            )
            for first in range(0, len(images), 5)
        ]
    )  # fmt: skip
    np.testing.assert_array_equal(again, whole)


EXPECTED_BITS = "7b61d2338d088bb69e96b72db37ee29d2b5d3456dfff4dbeaa8b2b544a0e56fe"


def test_bits_are_those_of_the_first_version(overlays):
    """Files with checksums are only of use if a new version makes the same ones."""
    images = np.random.default_rng(4).integers(0, 256, (20, 32, 32, 3)).astype(np.uint8)
    total = hashlib.sha256()
    for name in cifar10c.CORRUPTIONS:
        for severity in SEVERITIES:
            total.update(_native.corrupt(images, name, severity, overlays=overlays).tobytes())
    assert total.hexdigest() == EXPECTED_BITS


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"corruption": "rain"}, "corruption: must be one of .* got rain"),
        ({"severity": 0}, "severity: must be in 1..5, got 0"),
        ({"severity": 6}, "severity: must be in 1..5, got 6"),
        ({"threads": -1}, "threads: must be at least 0, got -1"),
        ({"corruption": "frost"}, "overlays: frost needs at least 5 pictures, got 0"),
    ],
)
def test_bad_arguments_are_named(arguments, message, images):
    with pytest.raises(ValueError, match=message):
        _native.corrupt(images, **{"corruption": "fog", "severity": 1, **arguments})


def test_overlays_must_be_large_enough(images, overlays):
    small = [*overlays[:4], overlays[4][:162]]
    with pytest.raises(ValueError, match=r"overlays: .* got 300 x 162"):
        _native.corrupt(images, "frost", 1, overlays=small)


def test_given_random_numbers_must_fit(images):
    with pytest.raises(ValueError, match="random: must have 1 numbers, got 2"):
        _native.corrupt_with(images[0], np.zeros(2), "motion_blur", 1)
    with pytest.raises(ValueError, match=r"random: uniforms must be in \[0, 1\), got 1"):
        _native.corrupt_with(images[0], np.ones(1), "motion_blur", 1)


def test_an_exception_of_the_progress_stops_the_work(images):
    class StoppedError(Exception):
        pass

    def stop(done):
        raise StoppedError

    with pytest.raises(StoppedError):
        _native.corrupt(images.repeat(200, 0), "zoom_blur", 5, progress=stop)


# The command and what it writes.


@pytest.fixture(scope="module")
def data(tmp_path_factory, overlays):
    folder = tmp_path_factory.mktemp("cifar10")
    cifar10.generate(folder, train=5, test=12)
    (folder / "frost").mkdir()
    for number, overlay in enumerate(overlays[:5], start=1):
        suffix = "png" if number <= 3 else "jpg"
        Image.fromarray(overlay).save(folder / "frost" / f"frost{number}.{suffix}")
    return folder


def run(*arguments):
    cifar10c.app.cli(args=["make", *map(str, arguments)])


def test_files_are_checked_against_their_checksums(tmp_path, data, capsys):
    run("--data", data, "--out", tmp_path, "--corruptions", "fog")
    cifar10c.app.cli(args=["check", str(tmp_path)])
    assert "2 files are as they were made" in capsys.readouterr().out
    content = bytearray((tmp_path / "fog.npy").read_bytes())
    content[-1] ^= 1
    (tmp_path / "fog.npy").write_bytes(content)
    with pytest.raises(InputError, match=r"fog.npy: has the SHA-256 .* should be"):
        cifar10c.app.cli(args=["check", str(tmp_path)])


def test_the_command_writes_the_published_layout(tmp_path, data):
    out = tmp_path / "c"
    run("--data", data, "--out", out, "--seed", 5)
    test = cifar10.load(data, "test")
    names = {f"{name}.npy" for name in cifar10c.CORRUPTIONS}
    assert {file.name for file in out.iterdir()} == {*names, "labels.npy", "checksums.json"}
    fog_images = np.load(out / "fog.npy")
    assert fog_images.shape == (60, 32, 32, 3)
    assert fog_images.dtype == np.uint8
    np.testing.assert_array_equal(np.load(out / "labels.npy"), np.tile(test.labels, 5))
    for severity in SEVERITIES:
        expected = _native.corrupt(test.images, "fog", severity, seed=5)
        np.testing.assert_array_equal(fog_images[12 * (severity - 1) : 12 * severity], expected)
        np.testing.assert_array_equal(cifar10c.load(out, "fog", severity), expected)
        np.testing.assert_array_equal(cifar10c.load(out, "fog", severity, images=3), expected[:3])


def test_checksums_are_of_the_files(tmp_path, data):
    run("--data", data, "--out", tmp_path, "--corruptions", "fog", "snow", "--images", 4)
    about = json.loads((tmp_path / "checksums.json").read_text())
    assert (about["seed"], about["images"]) == (0, 4)
    assert set(about["sha256"]) == {"fog.npy", "snow.npy", "labels.npy"}
    for name, checksum in about["sha256"].items():
        assert hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() == checksum


def test_corruptions_and_images_can_be_made_in_parts(tmp_path, data):
    run("--data", data, "--out", tmp_path / "whole", "--corruptions", "fog", "snow")
    run("--data", data, "--out", tmp_path / "parts", "--corruptions", "snow")
    run("--data", data, "--out", tmp_path / "parts", "--corruptions", "fog")
    for name in ("fog.npy", "snow.npy", "labels.npy", "checksums.json"):
        whole, parts = (tmp_path / folder / name for folder in ("whole", "parts"))
        assert whole.read_bytes() == parts.read_bytes()
    run("--data", data, "--out", tmp_path / "few", "--corruptions", "fog", "--images", 3)
    for severity in SEVERITIES:
        few = cifar10c.load(tmp_path / "few", "fog", severity)
        whole = cifar10c.load(tmp_path / "whole", "fog", severity, images=3)
        np.testing.assert_array_equal(few, whole)


def test_parts_of_different_sets_are_not_mixed(tmp_path, data):
    run("--data", data, "--out", tmp_path, "--corruptions", "fog")
    with pytest.raises(InputError, match=r"checksums.json: describes other files \(seed 0, not 1"):
        run("--data", data, "--out", tmp_path, "--corruptions", "snow", "--seed", 1)
    with pytest.raises(
        InputError, match=r"checksums.json: describes other files \(images 12, not 2"
    ):
        run("--data", data, "--out", tmp_path, "--corruptions", "snow", "--images", 2)


def test_files_are_only_overwritten_by_force(tmp_path, data):
    run("--data", data, "--out", tmp_path, "--corruptions", "fog")
    with pytest.raises(InputError, match=r"fog.npy: already exists \(use --force"):
        run("--data", data, "--out", tmp_path, "--corruptions", "fog", "snow", "--seed", 1)
    assert not (tmp_path / "snow.npy").exists()
    run("--data", data, "--out", tmp_path, "--corruptions", "fog", "--seed", 1, "--force")
    expected = _native.corrupt(cifar10.load(data, "test").images, "fog", 1, seed=1)
    np.testing.assert_array_equal(cifar10c.load(tmp_path, "fog", 1), expected)


def test_without_overlays_the_others_are_made(tmp_path, data):
    cifar10.generate(tmp_path / "data", train=5, test=2)
    with pytest.raises(InputError, match=r"--frost .*frost1.png: does not exist"):
        run("--data", tmp_path / "data", "--out", tmp_path / "c")
    others = [name for name in cifar10c.CORRUPTIONS if name != "frost"]
    run("--data", tmp_path / "data", "--out", tmp_path / "c", "--corruptions", *others)
    frost_folder = ("--frost", data / "frost")
    run(*("--data", tmp_path / "data"), "--out", tmp_path / "c", "--corruptions", "frost",
        *frost_folder)  # fmt: skip
    assert (tmp_path / "c" / "frost.npy").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--images", 0), "--images: must be at least 1 and at most 12, got 0"),
        (("--images", 13), "--images: must be at least 1 and at most 12, got 13"),
        (("--threads", -1), "--threads: must be at least 0 and at most 2147483647, got -1"),
        (("--seed", -1), "--seed: must be at least 0"),
        (("--data", "missing"), "missing: does not exist"),
    ],
)
def test_bad_options_are_named(tmp_path, data, arguments, message):
    options = {"--data": data, "--out": tmp_path / "c", **dict([arguments])}
    with pytest.raises(InputError, match=message):
        run(*[each for pair in options.items() for each in pair])
    assert not (tmp_path / "c").exists()


def test_overlays_that_cannot_be_used_are_named(tmp_path, data):
    frost_folder = tmp_path / "frost"
    frost_folder.mkdir()
    for file in (data / "frost").iterdir():
        (frost_folder / file.name).write_bytes(file.read_bytes())
    options = ("--data", data, "--out", tmp_path / "c", "--frost", frost_folder)
    (frost_folder / "frost2.png").write_bytes(b"no picture")
    with pytest.raises(InputError, match=r"frost2.png: cannot be read as an image"):
        run(*options)
    Image.new("RGB", (100, 300)).save(frost_folder / "frost2.png")
    with pytest.raises(InputError, match=r"frost2.png: must be at least 163 x 163 .* 100 x 300"):
        run(*options)
    (frost_folder / "frost2.png").unlink()
    with pytest.raises(InputError, match=r"--frost .*frost2.png: does not exist"):
        run(*options)


def test_published_files_can_be_read(tmp_path):
    published = np.random.default_rng(0).integers(0, 256, (50, 32, 32, 3)).astype(np.uint8)
    np.save(tmp_path / "fog.npy", published)
    np.testing.assert_array_equal(cifar10c.load(tmp_path, "fog", 2), published[10:20])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("fog", None, "fog.npy: does not exist"),
        ("fog", b"no array", "fog.npy: cannot be read as a NumPy array"),
        ("fog", np.zeros((50, 32, 32), np.uint8), r"fog.npy: must have shape .* got \(50, 32, 32"),
        ("fog", np.zeros((49, 32, 32, 3), np.uint8), "fog.npy: must have shape"),
        ("fog", np.zeros((50, 32, 32, 3)), "fog.npy: must have bytes, got float64"),
        ("fog", np.array([{}]), "fog.npy: cannot be read as a NumPy array"),
        ("rain", None, "rain: is none of the corruptions"),
    ],
)
def test_bad_files_are_named(tmp_path, name, content, message):
    file = tmp_path / f"{name}.npy"
    if isinstance(content, bytes):
        file.write_bytes(content)
    elif content is not None:
        np.save(file, content)
    with pytest.raises(InputError, match=message):
        cifar10c.load(tmp_path, name, 1)


def test_load_checks_severity_and_count(tmp_path):
    np.save(tmp_path / "fog.npy", np.zeros((50, 32, 32, 3), np.uint8))
    with pytest.raises(InputError, match=r"severity: must be in 1..5, got 6"):
        cifar10c.load(tmp_path, "fog", 6)
    with pytest.raises(InputError, match=r"fog.npy: has 10 images per severity, 11 are needed"):
        cifar10c.load(tmp_path, "fog", 1, images=11)
