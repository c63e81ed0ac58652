"""Headless Chromium, and `sparselin explore` as a process."""

import contextlib
import json
import re
import shutil
import subprocess
import sys
import time
import urllib.parse
from pathlib import Path

from selenium import webdriver
from selenium.webdriver import ActionChains

CHROMIUM, DRIVER = shutil.which("chromium") or shutil.which("chromium-browser"), shutil.which("chromedriver")

_FIND = Path(__file__).with_name("find.js").read_text(encoding="utf-8")


@contextlib.contextmanager
def browser(width=1400, height=950):
    """A driver whose logs have what the pages load."""
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("headless=new", "no-sandbox", "disable-dev-shm-usage", f"window-size={width},{height}"):
        options.add_argument(f"--{argument}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(DRIVER))
    try:
        yield driver
    finally:
        driver.quit()


@contextlib.contextmanager
def served(*arguments):
    """The address of a running `sparselin explore` without its query, and its process."""
    command = [sys.executable, "-m", "sparselin", "explore", "--port", "0", "--no-browser", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            line = next(line for line in process.stdout if "127.0.0.1" in line)
            next(line for line in process.stdout if "It is ready" in line)
            yield re.search(r"http://127\.0\.0\.1:\d+/", line)[0], process
        finally:
            process.terminate()


def until(condition, what, seconds=30):
    """The first value of `condition()` that is true."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if value := condition():
            return value
        time.sleep(0.02)
    raise AssertionError(f"not within {seconds} s: {what}")


def find(driver, selector):
    """The first element, once it is there."""
    return until(lambda: driver.execute_script(_FIND, selector), selector)


def text(driver, selector):
    """Its text, in one step: elements are replaced while things move."""
    find(driver, selector)
    script = _FIND.replace("arguments[0]);", "arguments[0])?.textContent ?? '';")
    return driver.execute_script(script, selector)


def press(driver, selector, *keys):
    """Give the focus to an element, and press keys."""
    driver.execute_script("arguments[0].focus()", find(driver, selector))
    ActionChains(driver).send_keys(*keys).perform()


def write(driver, selector, words):
    """Replace the text of a field, and return the field."""
    field = find(driver, selector)
    field.clear()
    field.send_keys(f"{words}\n")
    return field


def explorer(driver, url):
    """Load a page of the explorer, until the first frame is drawn."""
    driver.get(url)
    return find(driver, ".sl-explorer[data-frames]")


def hosts(driver):
    """The hosts that were asked for anything since the last call, None for the disk."""
    messages = [json.loads(line["message"])["message"] for line in driver.get_log("performance")]
    sent = [one["params"] for one in messages if one["method"] == "Network.requestWillBeSent"]
    asked = (one["request"]["url"] for one in sent)
    return {urllib.parse.urlsplit(url).hostname for url in asked if not url.startswith(("data:", "blob:"))}
