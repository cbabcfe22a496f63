"""The page in a real browser, its network watched: charts drawn, nothing asked for, a phone, the dark, paper."""

import json
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kcut.report import html
from kcut.report.cells import Cell
from tests import browser, reports
from tests.conftest import Kcut

if TYPE_CHECKING:
    from collections.abc import Callable

    from selenium.webdriver import Chrome

    from kcut.model.artifact import Artifact

pytestmark = [
    pytest.mark.skipif(find_spec("selenium") is None, reason="selenium is not installed"),
    pytest.mark.skipif(browser.programs() is None, reason="chromium and chromedriver are not installed"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # selenium's own connections
]

PAGES: dict[str, list["Callable[[], Artifact]"]] = {
    "fixed": [reports.fixed],
    "sequential": [reports.sequential],
    "tasks": [reports.several_tasks],
    "hostile": [reports.hostile],
    "several": [reports.fixed, reports.eprocess, lambda: reports.sequential("cut")],
    "huge": [reports.huge],
}


@pytest.fixture(scope="module")
def chrome(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Chrome"]:
    with browser.chromium(tmp_path_factory.mktemp("browser")) as driver:
        driver.get("about:blank")
        browser.requests(driver)
        yield driver


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    found = {}
    for name, makers in PAGES.items():
        found[name] = folder / f"{name}.html"
        found[name].write_text(html.render([Cell(make()) for make in makers]))
    return found


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_drawn_without_asking_for_anything(chrome: "Chrome", pages: dict[str, Path], name: str) -> None:
    browser.requests(chrome)
    browser.show(chrome, pages[name])
    asked = {address for address in browser.requests(chrome) if not address.startswith("data:")}
    assert {address for address in asked if not address.startswith("file://")} == set()
    assert pages[name].resolve().as_uri() in asked
    assert browser.complaints(chrome) == []
    marks = "e => e.querySelectorAll('.scatterlayer path, .barlayer path').length"
    drawn = chrome.execute_script(f"return [...document.querySelectorAll('[data-figure]')].map({marks})")
    assert len(drawn) >= 4
    assert all(drawn)
    assert chrome.execute_script("return document.querySelectorAll('svg a, .modebar a').length") == 0


@pytest.mark.parametrize("name", ["sequential", "tasks", "hostile"])
def test_a_phone_needs_not_scroll_sideways(chrome: "Chrome", pages: dict[str, Path], name: str) -> None:
    browser.show(chrome, pages[name], browser.PHONE)
    wide = chrome.execute_script("return [document.documentElement.scrollWidth, innerWidth]")
    assert wide == [375, 375]
    ends = "return [...document.querySelectorAll('.chart svg')].map(e => e.getBoundingClientRect().right)"
    assert max(chrome.execute_script(ends)) <= 375


def test_the_dark(chrome: "Chrome", pages: dict[str, Path]) -> None:
    colors = (
        "const text = document.querySelector('.chart .xtick text');"
        "return [getComputedStyle(document.body).backgroundColor, getComputedStyle(text).fill]"
    )
    found = []
    for dark in (False, True):
        browser.show(chrome, pages["tasks"], dark=dark)
        found.append(chrome.execute_script(colors))
    (page, ink), (dark_page, dark_ink) = found
    assert page == "rgb(255, 255, 255)"
    assert _brightness(dark_page) < 60
    assert _brightness(dark_ink) > 180
    assert _brightness(ink) < 60


def _brightness(color: str) -> float:
    return sum(map(int, re.findall(r"\d+", color)[:3])) / 3


def test_paper_is_light_and_holds_everything(chrome: "Chrome", pages: dict[str, Path], tmp_path: Path) -> None:
    browser.show(chrome, pages["tasks"], dark=True)
    state = (
        "return [document.querySelectorAll('details[open]').length, getComputedStyle(document.body).backgroundColor]"
    )
    assert chrome.execute_script(state)[0] == 0
    chrome.execute_script(
        "addEventListener('beforeprint', () => { window.seen = ["
        "document.querySelectorAll('details:not([open])').length,"
        "Math.max(...[...document.querySelectorAll('.chart svg')].map(e => e.getBoundingClientRect().width))] })"
    )
    browser.print_out(chrome, tmp_path / "page.pdf")
    data = (tmp_path / "page.pdf").read_bytes()
    assert data.startswith(b"%PDF-")
    assert 3 <= len(re.findall(rb"/Type\s*/Page\b", data)) <= 12
    closed, widest = chrome.execute_script("return window.seen")
    assert closed == 0
    assert widest <= 660
    assert chrome.execute_script(state)[0] == 0  # as it was before
    assert browser.complaints(chrome) == []


def test_ten_thousand_trials_open_when_asked_for(chrome: "Chrome", pages: dict[str, Path]) -> None:
    assert pages["huge"].stat().st_size < 8_000_000
    browser.show(chrome, pages["huge"])
    assert chrome.execute_script("return document.querySelectorAll('.trials tbody tr').length") == 10_000
    folded = chrome.execute_script("return document.body.scrollHeight")
    chrome.execute_script("document.querySelector('details[data-long]').open = true")
    assert chrome.execute_script("return document.body.scrollHeight") > folded + 100_000


def test_what_the_policy_forbids_does_not_happen(chrome: "Chrome", pages: dict[str, Path], tmp_path: Path) -> None:
    """Had text escaped its place after all, it could neither run nor call home."""
    text = pages["fixed"].read_text()
    evil = '<script>window.evil = 1</script><img src="http://127.0.0.1:9/x.png" onerror="window.evil = 2">'
    path = tmp_path / "evil.html"
    path.write_text(text.replace("<main>", f"<main>{evil}"))
    browser.requests(chrome)
    browser.show(chrome, path)
    assert chrome.execute_script("return window.evil === undefined")
    assert len([line for line in browser.complaints(chrome) if "Content Security Policy" in line]) >= 2


def test_the_command_writes_the_page_that_is_shown(chrome: "Chrome", kcut: Kcut, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(reports.fixed().document()))
    assert kcut("report", "a.json", "-o", "a.html", cwd=tmp_path).returncode == 0
    browser.show(chrome, tmp_path / "a.html")
    assert chrome.title == "kcut: tidy-imports"
    assert browser.complaints(chrome) == []
