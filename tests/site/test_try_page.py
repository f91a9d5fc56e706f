"""The page that runs the solver, in headless Chromium: `make test-docs`.

It is opened as a file, as a reader of the built site does. The WebAssembly is the core's plain
C++, so with TAUTSTRING_CPU=portable the library gives the same bits.
"""

import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

import tautstring.numpy as ts

PAGE = Path(__file__).parents[2] / "out" / "site" / "try.html"
WIDTHS = (1300, 400)  # a desktop's and a phone's
pytestmark = pytest.mark.skipif(
    os.environ.get("TAUTSTRING_CPU") != "portable",
    reason="compares bits with TAUTSTRING_CPU=portable",
)


@pytest.fixture(scope="module")
def browser():
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    service = webdriver.ChromeService("/usr/bin/chromedriver")
    with webdriver.Chrome(options, service) as found:
        yield found


@pytest.fixture
def page(browser):
    browser.set_window_size(WIDTHS[0], 1500)
    browser.get(PAGE.as_uri())
    WebDriverWait(browser, 60).until(
        lambda driver: driver.execute_script("return window.tautstringPage !== undefined")
    )
    return browser


def array_of(page, expression):
    values = page.execute_script(f"return Array.from(window.tautstringPage.{expression})")
    return np.array(values, np.float32)


def slide(page, name, value):
    page.execute_script(
        "const slider = document.getElementById(arguments[0]); slider.value = arguments[1];"
        "slider.dispatchEvent(new Event('input'))",
        *(name, value),
    )


def status(page, name):
    return page.find_element(By.ID, name).text


def test_a_signal_is_solved_as_the_library_does(page):
    for value in (10, 55, 90, 100):
        slide(page, "signal-lam", value)
        x, y = array_of(page, "signal.x"), array_of(page, "signal.smooth")
        lam = page.execute_script("return window.tautstringPage.signal.lam")
        np.testing.assert_array_equal(y, ts.prox_tv1d(x, lam))


def test_a_signal_is_sharpened_as_the_library_does(page):
    page.find_element(By.ID, "signal-sharp").click()
    x, y = array_of(page, "signal.x"), array_of(page, "signal.y")
    lam = page.execute_script("return window.tautstringPage.signal.lam")
    np.testing.assert_array_equal(y, ts.prox_tv1d(x, lam, mode="sharp"))


def test_dragging_a_sample_changes_the_result(page):
    before = array_of(page, "signal.x"), array_of(page, "signal.smooth")
    canvas = page.find_element(By.ID, "signal-canvas")
    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", canvas)
    ActionChains(page).move_to_element_with_offset(canvas, 20, 60).click_and_hold().move_by_offset(
        0, -150
    ).release().perform()
    after = array_of(page, "signal.x"), array_of(page, "signal.smooth")
    (moved,) = np.flatnonzero(before[0] != after[0])
    assert moved in (30, 31, 32)
    assert after[0][moved] > before[0][moved]
    assert (before[1] != after[1]).any()


def test_the_keyboard_moves_samples(page):
    canvas = page.find_element(By.ID, "signal-canvas")
    x = array_of(page, "signal.x")
    canvas.send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ARROW_UP)
    moved = array_of(page, "signal.x")
    assert np.flatnonzero(moved != x).tolist() == [2]
    assert moved[2] == pytest.approx(x[2] + 0.02)
    assert "sample 3 is" in status(page, "signal-status")


@pytest.mark.parametrize("direction", ["0", "1", "2"])
def test_an_image_is_solved_as_the_library_does(page, direction):
    page.execute_script(
        "document.getElementById('image-direction').value = arguments[0]", direction
    )
    for value in (30, 60):
        slide(page, "image-lam", value)
        WebDriverWait(page, 60).until(
            lambda driver: driver.execute_script("return !window.tautstringPage.picture.waits")
        )
        x = array_of(page, "picture.x").reshape(3, 256, 256)
        y = array_of(page, "picture.y").reshape(3, 256, 256)
        lam = (value / 100) ** 3
        if direction == "0":
            expected = ts.prox_tv2d(x, lam, tol=1e-2, grad="unrolled", threads=1)
        else:
            expected = ts.prox_tv1d(x, lam, dim=-int(direction))
        np.testing.assert_array_equal(y, expected)


def test_a_readers_photo_is_solved(page, tmp_path):
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:512, :512]
    photo = 128 + 60 * np.sin(x / 50) * np.cos(y / 70) + rng.normal(0, 15, (512, 512))
    pixels = np.repeat(photo.clip(0, 255).astype(np.uint8)[..., None], 3, axis=2)
    Image.fromarray(pixels).save(tmp_path / "photo.png")
    page.find_element(By.ID, "image-file").send_keys(str(tmp_path / "photo.png"))
    WebDriverWait(page, 60).until(lambda _: "512 x 512" in status(page, "image-status"))
    slide(page, "image-lam", 45)
    WebDriverWait(page, 60).until(
        lambda driver: driver.execute_script("return !window.tautstringPage.picture.waits")
    )
    print(status(page, "image-status"))  # how long it took; tests do not depend on time
    assert array_of(page, "picture.y").shape == (3 * 512 * 512,)


def test_what_is_no_image_is_named(page, tmp_path):
    (tmp_path / "photo.txt").write_text("no pixels")
    page.find_element(By.ID, "image-file").send_keys(str(tmp_path / "photo.txt"))
    WebDriverWait(page, 20).until(
        lambda _: status(page, "image-status") == "photo.txt cannot be read as an image"
    )


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_wider_than_the_screen(page, width):
    page.set_window_size(width, 1200)
    widest = page.execute_script("return document.documentElement.scrollWidth")
    assert widest <= page.execute_script("return window.innerWidth")


def test_all_controls_have_names(page):
    controls = page.execute_script(
        "return Array.from(document.querySelectorAll('#try-signal *, #try-image *'))"
        ".filter((each) => ['INPUT', 'SELECT', 'BUTTON', 'CANVAS'].includes(each.tagName))"
    )
    assert len(controls) == 11
    assert all(control.accessible_name for control in controls)
