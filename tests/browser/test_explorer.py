"""The explorer as a person meets it: pictures, drags, keys, addresses."""

import io
import signal
import urllib.parse

import numpy as np
import pytest
from selenium.webdriver import ActionChains, Keys

from sparselin.plots.explorer import pages
from sparselin.plots.explorer.pages import script
from sparselin.plots.explorer.presets import PRESETS, state_of
from sparselin.plots.explorer.widget import Explorer
from tests.browser.chromium import browser, explorer, find, hosts, press, served, text, until, write


@pytest.fixture(scope="module")
def url():
    with served() as (url, _):
        yield url


@pytest.fixture(scope="module")
def driver():
    with browser() as driver:
        yield driver


def shown(driver):
    """The state that the address of the page says."""
    return state_of(urllib.parse.urlsplit(driver.current_url).query)


def settled(driver, condition, what):
    """The state, once the address says one that fulfils the condition."""
    return until(lambda: condition(shown(driver)) and shown(driver), what)


def place(driver, what):
    """Return the position of a handle in pixels of the window, and the pixels that make one unit."""
    return driver.execute_script(
        "const box = arguments[0].querySelector('.ring').getBoundingClientRect();"
        "return [box.x + box.width / 2, box.y + box.height / 2]",
        find(driver, f"[data-what='{what}']"),
    )


def pixels(driver):
    from PIL import Image

    return np.array(Image.open(io.BytesIO(driver.get_screenshot_as_png())).convert("RGB")).astype(int)


def test_the_picture_has_what_the_state_says(driver, url):
    explorer(driver, f"{url}?preset=plane")
    picture = pixels(driver)
    colours = {"y": (29, 35, 41), "0": (41, 91, 157), "1": (216, 114, 11), "2": (36, 133, 94)}
    for what, colour in colours.items():
        x, y = place(driver, what)
        around = picture[int(y) - 1 : int(y) + 2, int(x) - 1 : int(x) + 2].reshape(-1, 3)
        assert np.abs(around - colour).sum(axis=1).min() < 30, what
    at = np.array([place(driver, what) for what in colours])
    points = np.array([PRESETS["plane"].state.y, *PRESETS["plane"].state.columns]) * [1, -1]
    scale = np.linalg.norm(at[1] - at[0]) / np.linalg.norm(points[1] - points[0])
    assert np.abs((at - at[0]) - scale * (points - points[0])).max() < 2  # pixels
    assert "T = {0}, A(S) = {0}" in text(driver, ".words")
    assert text(driver, "tr[data-name='Forward regression'] .picks").split() == ["01=", "2"]  # a tie


def test_no_name_covers_another(driver, url):
    """Columns 0 and 1 are equal, so their names could coincide. The chart has numbers on its axes."""
    root = explorer(driver, f"{url}?preset=copies")
    boxes = {
        words: (x, y, x + w, y + h)
        for words, x, y, w, h in driver.execute_script(
            "return [...arguments[0].querySelectorAll('.handle text')].map((t) => {"
            "const b = t.getBoundingClientRect(); return [t.textContent, b.x, b.y, b.width, b.height]})",
            root,
        )
    }
    a, b = boxes["X₀"], boxes["X₁"]
    assert a[2] < b[0] or b[2] < a[0] or a[3] < b[1] or b[3] < a[1]
    explorer(driver, f"{url}?preset=trap")
    numbers = text(driver, "svg[role=img]")
    assert "β₀ = β₁" in numbers
    assert all(number in numbers for number in ("0.2", "0.4", "−0.5", "λ*"))


def test_a_drag_moves_y_and_all_that_follows(driver, url):
    root = explorer(driver, f"{url}?preset=plane")
    before = int(root.get_attribute("data-frames"))
    handle = find(driver, "[data-what=y] .ring")
    actions = ActionChains(driver, duration=20).click_and_hold(handle)
    for _ in range(20):
        actions.move_by_offset(-12, 0)
    actions.release().perform()
    state = settled(driver, lambda state: state.y[0] < 0.3, "y is on the left")
    assert state.columns == PRESETS["plane"].state.columns
    assert abs(state.y[1] - 0.75) < 0.05
    first = str(np.argmax(np.abs(state.X.T @ state.y)))
    assert first != "0"
    until(lambda: f"T = {{{first}}}" in text(driver, ".words"), "the words follow")
    attention = "tr[data-name='Sequential Attention'] .picks"
    until(lambda: text(driver, attention).startswith(first), "attention, once released")
    assert text(driver, "tr[data-name=OMP] .picks").startswith(first)
    assert int(root.get_attribute("data-frames")) > before + 3
    x, y = place(driver, "y")
    assert np.abs(pixels(driver)[int(y) - 1 : int(y) + 2, int(x), :] - (29, 35, 41)).sum(axis=1).min() < 30


def test_what_is_dragged_near_a_tie_snaps(driver, url):
    explorer(driver, f"{url}?X=1,0;0,1&y=1,0.9&lam=0.5")
    unit = np.linalg.norm(np.subtract(place(driver, "0"), place(driver, "1"))) / np.sqrt(2)
    up = round(0.085 * unit)
    held = ActionChains(driver).click_and_hold(find(driver, "[data-what=y] .ring"))
    held.move_by_offset(0, -up).release().perform()
    state = settled(driver, lambda state: state.y != (1.0, 0.9), "y moved")
    assert state.y[0] == pytest.approx(state.y[1], rel=1e-15)
    until(lambda: "T = {0, 1}" in text(driver, ".words"), "a tie")
    assert text(driver, "tr[data-name=OMP] .chip.tie") == "0"


def test_keys_move_what_has_the_focus(driver, url):
    explorer(driver, f"{url}?X=1,0;0,1&y=1,0.5&lam=0.5")
    press(driver, "[data-what=y]", Keys.ARROW_UP)
    one = settled(driver, lambda state: state.y[1] > 0.5, "an arrow moves y").y[1] - 0.5
    ActionChains(driver).key_down(Keys.SHIFT).send_keys(Keys.ARROW_UP).key_up(Keys.SHIFT).perform()
    two = settled(driver, lambda state: state.y[1] > 0.5 + one, "shift moves it less").y[1] - 0.5 - one
    assert two == pytest.approx(one / 5)
    value = until(lambda: find(driver, "[data-what=y]").get_attribute("aria-valuetext"), "a value")
    assert "at (1, 0.5" in value
    press(driver, "input[type=range]", Keys.ARROW_RIGHT)
    assert settled(driver, lambda state: state.lam != 0.5, "an arrow moves λ").lam > 0.5


def test_every_control_is_reached_by_tab(driver, url):
    root = explorer(driver, f"{url}?preset=plane")
    driver.execute_script("arguments[0].focus()", find(driver, "select"))
    seen = set()
    for _ in range(30):
        active = "let a = document.activeElement; while (a && a.shadowRoot) a = a.shadowRoot.activeElement;"
        seen.add(driver.execute_script(active + "return a.getAttribute('aria-label') || a.textContent"))
        ActionChains(driver).send_keys(Keys.TAB).perform()
    handles = {f"{what}: arrow keys move it" for what in ("y", *(f"column {j} of X" for j in range(3)))}
    fields = {f"{what}, row {i}" for what in ("y", "column 0", "column 2") for i in (1, 2)}
    assert handles | fields | {"preset", "λ", "feature 0 in S", "remove column 1", "add a column"} <= seen
    assert root.is_displayed()


def test_the_flow_is_a_layer_that_stays(driver, url):
    explorer(driver, f"{url}?preset=flow")
    labels = "return [...arguments[0].querySelectorAll('text')].map((one) => one.textContent)"

    def seen():
        return {"flow", "average"} & set(driver.execute_script(labels, find(driver, "svg.picture")))

    assert not seen()
    assert "average" not in text(driver, ".words") + text(driver, ".key")
    box = "header label:nth-of-type(3) input"
    press(driver, box, Keys.SPACE)
    until(lambda: seen() == {"flow", "average"}, "two points")
    assert "its average is not a solution of the LASSO, because s₀" in text(driver, ".words")
    assert "w∘θ without weight decay" in text(driver, ".key")
    find(driver, "select").send_keys("Three obs")
    until(lambda: "preset=space" in driver.current_url and seen() == {"flow"}, "the average is u")
    find(driver, box).click()
    until(lambda: not seen(), "the layer is off")


def test_the_distance_is_a_layer(driver, url):
    explorer(driver, f"{url}?X=1,0;0.6,0.8;-0.3,0.7&y=1.2,0.4&lam=0.3")
    circles = "return arguments[0].querySelectorAll('circle.reach').length"

    def seen():
        return driver.execute_script(circles, find(driver, "svg.picture"))

    assert not seen()
    box = "header label:nth-of-type(4) input"
    press(driver, box, Keys.SPACE)
    until(seen, "a circle")
    assert "OMP picks X₀, then X₁, and so it does" in text(driver, ".words")
    assert "long-dashed" in text(driver, ".key")
    find(driver, box).click()
    until(lambda: not seen(), "the layer is off")


def test_space_is_turned(driver, url):
    explorer(driver, f"{url}?preset=space")
    before = place(driver, "0")
    held = ActionChains(driver).move_to_element_with_offset(find(driver, "svg.picture"), 150, 150)
    held.click_and_hold().move_by_offset(60, 0).release().perform()
    dragged = until(lambda: place(driver, "0") != before and place(driver, "0"), "a drag turns")
    press(driver, "svg.picture", Keys.ARROW_LEFT)
    until(lambda: place(driver, "0") != dragged, "a key turns")
    assert shown(driver) == PRESETS["space"].state


def test_the_table_edits_the_design(driver, url):
    explorer(driver, f"{url}?preset=plane")
    find(driver, "input[aria-label='feature 0 in S']").click()
    assert settled(driver, lambda state: state.S, "0 is in S").S == (0,)
    write(driver, "input[data-what='1'][data-row='0']", "0.5")
    typed = settled(driver, lambda state: state.columns[1][0] == 0.5, "a number is typed")
    assert typed.columns[1] == (0.5, 0.97)
    find(driver, "button[aria-label='remove column 0']").click()
    state = settled(driver, lambda state: len(state.columns) == 2, "a column is gone")
    assert state.columns[0] == (0.5, 0.97)
    assert state.S == ()
    field = "input[data-what='0'][data-row='1']"
    write(driver, field, "much")
    message = 'column 0, row 2 must be a number; got "much"'
    until(lambda: text(driver, "[role=alert]") == message, "a message")
    assert find(driver, field).get_attribute("aria-invalid") == "true"
    assert shown(driver) == state
    write(driver, field, "1,5")
    assert settled(driver, lambda state: state.columns[0][1] == 1.5, "a decimal comma").y == state.y
    assert text(driver, "[role=alert]") == ""
    find(driver, "button[aria-label='remove column 0']").click()
    settled(driver, lambda state: len(state.columns) == 1, "one column is left")
    assert not find(driver, "button[aria-label='remove column 0']").is_enabled()
    add = find(driver, "header button")
    for count in range(2, 9):
        add.click()
        settled(driver, lambda state, count=count: len(state.columns) == count, f"{count} columns")
    assert not add.is_enabled()
    write(driver, "input[aria-label='λ as a number']", "0.25")
    settled(driver, lambda state: state.lam == 0.25, "λ is typed")


def test_an_address_is_the_state(driver, url):
    explorer(driver, f"{url}?X=1,0;0.6,0.8&y=1,0.8&lam=0.32&S=0")
    until(lambda: driver.current_url.endswith("?preset=lemma-3-4"), "a preset's address is short")
    assert "S = {0}: λ* = 0.64, T = {1}" in text(driver, ".words")


def test_a_broken_address_is_told(driver, url):
    explorer(driver, f"{url}?X=1,0;0&y=1,0")
    why = "column 1 of X must have 2 numbers, like y; got 1"
    message = f"This address cannot be read: {why}. The first preset is shown instead."
    until(lambda: text(driver, "[role=alert]") == message, "a message")
    find(driver, "input[aria-label='feature 0 in S']").click()
    until(lambda: text(driver, "[role=alert]") == "", "it goes with the next change")


def test_a_narrow_window_does_not_scroll_sideways(url):
    with browser(420, 900) as driver:
        explorer(driver, f"{url}?preset=plane")
        inner, outer, page, window = driver.execute_script(
            "const [one, all] = [arguments[0], document.documentElement];"
            "return [one.scrollWidth, one.clientWidth, all.scrollWidth, innerWidth]",
            find(driver, ".sl-explorer"),
        )
        assert inner <= outer
        assert page <= window


def test_nothing_is_loaded_from_elsewhere(driver, url):
    driver.get_log("performance")
    explorer(driver, f"{url}?preset=plane")
    assert {host for host in hosts(driver) if host} == {urllib.parse.urlsplit(url).hostname}
    assert not [line for line in driver.get_log("browser") if line["level"] == "SEVERE"]


def test_two_pages_at_once(driver, url):
    first = explorer(driver, f"{url}?preset=plane")
    assert first.is_displayed()
    with browser() as second:
        explorer(second, f"{url}?preset=strict")
        until(lambda: "A(S) = {0}" in text(second, ".words"), "the other page has its own state")
    assert shown(driver) == PRESETS["plane"].state


def test_a_stopped_server_is_told(driver):
    with served() as (url, process):
        explorer(driver, f"{url}?preset=plane")
        process.send_signal(signal.SIGINT)  # Ctrl-C
        assert process.wait(10) == 0
        assert process.stdout.read() == "Stopped.\n"
    find(driver, "input[aria-label='feature 0 in S']").click()
    until(lambda: text(driver, "[role=alert]").startswith("No answer"), "a message", 20)


class ByHand:
    """A page whose questions the test answers, late or in another order."""

    def __init__(self, driver, folder, number=0):
        made = "explorer(document.body, { ask: (question) => asked.push(question) })"
        page = f"<meta charset=utf-8><body><script>{script()} const asked = []; const made = {made};</script>"
        (folder / "page.html").write_text(page, "utf-8")
        driver.get((folder / "page.html").as_uri())
        self.driver, self.widget = driver, Explorer()
        self.answer({"address": "preset=plane", "number": number})

    def asked(self):
        return self.driver.execute_script("return asked")

    def answer(self, question):
        self.driver.execute_script("made.show(arguments[0])", self.widget.answer(question))

    def set(self, selector, value, kind="change"):
        script = "const [field, to, kind] = arguments; field.value = to; field.dispatchEvent(new Event(kind))"
        self.driver.execute_script(script, find(self.driver, selector), value, kind)


def test_an_edit_before_the_answer_to_another_keeps_both(driver, tmp_path):
    page = ByHand(driver, tmp_path)
    page.set("input[data-what='0'][data-row='0']", "0.5")
    page.set("input[data-what='1'][data-row='0']", "0.7")
    first, second = (state_of(question["address"]).columns for question in page.asked())
    assert (first[0][0], first[1][0]) == (0.5, 0.26)
    assert (second[0][0], second[1][0]) == (0.5, 0.7)


def test_an_answer_that_is_late_is_not_shown(driver, tmp_path):
    page = ByHand(driver, tmp_path)
    for j in (0, 1):
        find(driver, f"input[aria-label='feature {j} in S']").click()
    for question in reversed(page.asked()):
        page.answer(question)
    assert text(driver, ".words").startswith("S = {0, 1}")


def test_a_slider_keeps_what_it_was_released_at(driver, tmp_path):
    page = ByHand(driver, tmp_path)
    for lam in (0.5, 0.6, 0.7):
        page.set("input[aria-label='λ']", lam, "input")
    page.answer(page.asked()[0])
    released = float(find(driver, "input[aria-label='λ']").get_attribute("value"))
    page.set("input[aria-label='λ']", released)
    for question in page.asked()[1:]:
        page.answer(question)
    assert page.asked()[-1]["reach"] > 0
    assert state_of(page.asked()[-1]["address"]).lam == released == pytest.approx(0.7, abs=0.01)


def test_without_snapping_the_slider_goes_to_no_knot(driver, tmp_path):
    page = ByHand(driver, tmp_path)
    find(driver, "header input[type=checkbox]").click()
    page.set("input[aria-label='λ']", 0.5, "input")
    assert page.asked()[-1]["reach"] == 0


def test_a_second_view_of_a_widget_goes_on_counting(driver, tmp_path):
    page = ByHand(driver, tmp_path, number=7)
    find(driver, "input[aria-label='feature 0 in S']").click()
    assert page.asked()[0]["number"] == 8


def test_a_drag_ends_where_its_handle_goes(driver, tmp_path):
    page = ByHand(driver, tmp_path)
    driver.execute_script(
        """
        const handle = arguments[0];
        handle.setPointerCapture = () => {};
        handle.hasPointerCapture = () => true;
        const at = { pointerId: 1, clientX: 300, clientY: 300 };
        for (const kind of ["pointerdown", "pointermove"]) handle.dispatchEvent(new PointerEvent(kind, at));
        """,
        find(driver, "[data-what='2']"),
    )
    page.answer({"address": "X=1,0;0,1&y=1,0.5&lam=0.5", "number": page.asked()[-1]["number"]})
    find(driver, "input[aria-label='feature 0 in S']").click()
    assert page.asked()[-1]["picks"] == "all"


def test_a_page_made_ahead_works_from_disk(driver, tmp_path):
    for name, page in pages.pages_of({name: PRESETS[name] for name in ("selected", "space")}).items():
        (tmp_path / name).write_text(page, encoding="utf-8")
    driver.get_log("performance")
    explorer(driver, (tmp_path / "selected.html").as_uri())
    assert {host for host in hosts(driver) if host} == set()
    assert "S = {0}: " in text(driver, ".words")
    find(driver, ".story summary").click()
    level, size = find(driver, "input[aria-label='λ']"), find(driver, "input[aria-label='size of S']")
    typed = find(driver, "input[aria-label='λ as a number']")
    assert typed.get_attribute("value") == "0.17"
    level.send_keys(Keys.ARROW_RIGHT)
    until(lambda: typed.get_attribute("value") != "0.17", "λ moves")
    size.send_keys(Keys.ARROW_LEFT)
    until(lambda: text(driver, ".words").startswith("λ* = "), "S is empty")
    assert find(driver, ".story details").get_attribute("open") is not None  # opened before λ moved
    explorer(driver, (tmp_path / "space.html").as_uri())
    at = place(driver, "0")
    press(driver, "svg.picture", Keys.ARROW_LEFT)
    until(lambda: place(driver, "0") != at, "space turns")
