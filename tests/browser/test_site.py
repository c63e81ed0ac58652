"""The site that `make docs` made, from the disk: its search, the ledger's, and the pages of presets."""

import re
import subprocess
import sys
import urllib.parse
from functools import partial
from pathlib import Path

import pytest
from selenium.webdriver import Keys
from selenium.webdriver.common.by import By

import sparselin as sl
from tests.browser.chromium import browser, explorer, find, hosts, until

SITE = Path(__file__).parents[2] / "docs" / "_build" / "html"
pytestmark = pytest.mark.skipif(not (SITE / "index.html").exists(), reason="no site: `make docs` makes it")


@pytest.fixture(scope="module")
def driver():
    with browser() as driver:
        yield driver


def address(page, query=""):
    return (SITE / page).as_uri() + query


def shown(driver):
    """The ids of the rows of the ledger that are to be seen."""
    return driver.execute_script(
        "const rows = [...document.querySelectorAll('tr[data-paper]')];"
        "return rows.filter(row => row.offsetParent).map(row => row.id)"
    )


def test_the_start_page_leads_to_every_section(driver):
    driver.get(address("index.html"))
    pages = ("guide/README", "explorer", "theory/README", "made/gallery/index", "api", "ledger", "inside")
    wanted = {address(f"docs/{page}.html") for page in pages}
    links = "return [...document.querySelectorAll('header a, main a')].map(one => one.href.split('#')[0])"
    until(lambda: wanted <= set(driver.execute_script(links)), "a link to each section")


def test_the_search_works_from_the_disk(driver):
    driver.get(address("search.html", "?q=homotopy"))
    found = "return [...document.querySelectorAll('#search-results li a')].map(one => one.href)"
    until(lambda: any("lasso" in url for url in driver.execute_script(found)), "a page about the LASSO")


def test_the_ledger_is_searched_by_symbol_paper_and_verdict(driver):
    driver.get(address("docs/ledger.html"))
    everything = until(lambda: len(rows := shown(driver)) > 200 and rows, "more than 200 rows")
    field = driver.find_element(By.CSS_SELECTOR, "input[name=find]")
    field.send_keys("Q*")
    some = until(lambda: len(shown(driver)) < len(everything) and shown(driver), "fewer rows")
    for one in some:
        assert "Q*" in driver.find_element(By.ID, one).get_attribute("data-symbols").split()
    driver.find_element(By.CSS_SELECTOR, "select[name=paper]").send_keys(Keys.ARROW_DOWN)
    until(lambda: "paper=" in driver.current_url, "the search in the address")
    query = urllib.parse.parse_qs(urllib.parse.urlsplit(driver.current_url).query)
    assert query["find"] == ["Q*"]
    again, fewer = driver.current_url, shown(driver)
    assert set(fewer) <= set(some)
    driver.get("about:blank")
    driver.get(again)
    until(lambda: shown(driver) == fewer, "the same rows for the same address")


def test_a_row_leads_to_its_check(driver):
    driver.get(address("docs/ledger.html"))
    row = driver.find_element(By.ID, "SA-theorem-3.3")
    target = row.find_element(By.CSS_SELECTOR, "a[href*='_checks/']").get_attribute("href")
    driver.get(target)
    line = driver.find_element(By.ID, target.partition("#")[2])
    below = driver.execute_script("return arguments[0].closest('pre').innerText", line)
    assert "def test_" in below


def test_a_preset_is_a_click_away(driver):
    driver.get(address("docs/explorer.html"))
    driver.find_element(By.LINK_TEXT, "The trap for greedy selection").click()
    until(lambda: driver.current_url.endswith("trap.html"), "the page of the preset")
    assert explorer(driver, driver.current_url).is_displayed()
    assert find(driver, "[data-what=y]")


def test_nothing_is_cut_off_on_a_narrow_screen():
    with browser(420, 900) as driver:
        for page in ("docs/index", "docs/ledger", "docs/theory/sets", "docs/made/api/sparselin.omp"):
            driver.get(address(f"{page}.html"))
            wide, window = driver.execute_script("return [document.documentElement.scrollWidth, innerWidth]")
            assert wide <= window, page


def test_no_page_fetches_anything(driver):
    driver.get_log("performance")
    for page in ("index", "docs/ledger", "notebooks/02_the_dual_polytope", "docs/teaching"):
        driver.get(address(f"{page}.html"))
    assert hosts(driver) == {None}


def test_a_menu_leads_to_the_same_page_of_another_version(driver, tmp_path):
    """From the disk, and from a server, which knows that a page is missing; alone, the site has no menu."""
    ours, other = sl.__version__, tmp_path / "9.0.0"
    (tmp_path / ours).symlink_to(SITE)
    (other / "docs").mkdir(parents=True)
    (other / "_static").symlink_to(SITE / "_static")
    for page in ("index.html", "docs/index.html", "docs/api.html"):
        text = (SITE / page).read_text(encoding="utf-8")
        (other / page).write_text(text.replace(f'data-version="{ours}"', 'data-version="9.0.0"'), "utf-8")
    menus = "return [...document.querySelectorAll('select.versions')].map(one => [one.hidden, one.value])"
    values = partial(driver.execute_script, menus)
    driver.get(address("docs/api.html"))
    assert {hidden for hidden, _ in values()} == {True}
    (tmp_path / "versions.js").write_text(f'window.sparselinVersions = ["9.0.0", "{ours}"];\n', "utf-8")
    choose = "const menu = document.querySelector('select.versions'); menu.value = '9.0.0';" \
             "menu.dispatchEvent(new Event('change'))"  # fmt: skip
    command = [sys.executable, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory", tmp_path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        try:
            local = re.search(r"http://[\d.:]+/", server.stdout.readline())[0]
            for root, page, target in ((f"{tmp_path.as_uri()}/", "docs/api", "docs/api"),
                                       (local, "docs/api", "docs/api"),
                                       (local, "docs/speed", "docs/index")):  # fmt: skip
                driver.get(f"{root}{ours}/{page}.html")
                until(lambda: [False, ours] in values(), "our version in the menu")
                driver.execute_script(choose)
                wanted = f"{root}9.0.0/{target}.html"
                until(lambda: driver.current_url == wanted, wanted)  # noqa: B023
                until(lambda: [False, "9.0.0"] in values(), "the other version in the menu")
        finally:
            server.terminate()
