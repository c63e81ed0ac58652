"""Time how the explorer follows a drag in headless Chromium: python -m tests.browser.speed [seconds]"""

import sys
import time

from tests.browser.chromium import browser, explorer, find, served

# Moves the handle of y on a circle at each animation frame, by the page's own events; notes when frames came.
_DRAG = """
const [handle, root, radius, seconds, done] = arguments;
const box = handle.getBoundingClientRect();
const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
handle.setPointerCapture = () => {};
handle.hasPointerCapture = () => true;
const send = (kind, a, b) => handle.dispatchEvent(
  new PointerEvent(kind, { pointerId: 1, clientX: a, clientY: b, bubbles: true }));
const picks = root.querySelector("tr[data-name=OMP]").parentNode;
const times = { handle: [], frames: [], picks: [] };
const note = (what) => new MutationObserver(() => times[what].push(performance.now()));
note("frames").observe(root, { attributes: true, attributeFilter: ["data-frames"] });
note("picks").observe(picks.parentNode, { childList: true });
const begin = performance.now();
send("pointerdown", x, y);
const step = (now) => {
  const angle = (now - begin) / 300;
  times.handle.push(now);
  send("pointermove", x + radius * (Math.cos(angle) - 1), y + radius * Math.sin(angle));
  if (now - begin < 1000 * seconds) return requestAnimationFrame(step);
  send("pointerup", x, y);
  done(times);
};
requestAnimationFrame(step);
"""


def drag(driver, url, seconds):
    """Updates per second of handle, polytope and picks; the 95th percentile of the polytope's gaps in ms."""
    root = explorer(driver, url)
    time.sleep(1)
    driver.set_script_timeout(seconds + 30)
    times = driver.execute_async_script(_DRAG, find(driver, "[data-what=y]"), root, 60, seconds)
    gaps = sorted(b - a for a, b in zip(times["frames"], times["frames"][1:], strict=False))
    rates = {what: len(found) / seconds for what, found in times.items()}
    return rates | {"late": gaps[int(0.95 * len(gaps))]}


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 5.0
    with served() as (url, _), browser() as driver:
        for preset in ("plane", "strict", "copies", "selected"):
            found = drag(driver, f"{url}?preset={preset}", seconds)
            rates = ", ".join(f"{what} {found[what]:.0f}/s" for what in ("handle", "frames", "picks"))
            sys.stdout.write(f"{preset}: {rates}; 95 % of the gaps below {found['late']:.0f} ms\n")


if __name__ == "__main__":
    main()
