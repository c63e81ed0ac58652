"""Time how the explorer follows a drag in headless Chromium: python -m tests.browser.speed [seconds]"""

import sys
import time
from pathlib import Path

from tests.browser.chromium import browser, explorer, find, served

_DRAG = Path(__file__).with_name("drag.js").read_text(encoding="utf-8")


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
