"""A headless Chromium that reports every request it makes and everything it complains about."""

import base64
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

#: Reader of a phone, of a desk.
PHONE, DESK = (375, 812), (1280, 900)


def programs() -> tuple[str, str] | None:
    """Chromium and its driver, None if one of them is not installed."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    return (browser, driver) if browser and driver else None


@contextmanager
def chromium(place: Path) -> Iterator["Chrome"]:
    """A browser without a network whose own files lie below `place`; it has quit when this returns."""
    from selenium.webdriver import Chrome, ChromeOptions
    from selenium.webdriver.chrome.service import Service

    found = programs()
    assert found is not None
    options = ChromeOptions()
    options.binary_location = found[0]
    for argument in (
        *("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars"),
        *("--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"),
        *("--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={place / 'profile'}"),
    ):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    home = place / "browser-home"
    home.mkdir(exist_ok=True)
    env = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    service = Service(found[1], env=env | {"HOME": str(home), "TMPDIR": str(place)})
    driver = Chrome(options=options, service=service)
    try:
        driver.set_page_load_timeout(120)
        driver.set_script_timeout(120)
        yield driver
    finally:
        driver.quit()


def show(driver: "Chrome", page: Path, size: tuple[int, int] = DESK, *, dark: bool = False) -> None:
    """Load a page from the disk at that size, and wait until all its figures are drawn."""
    media = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})
    metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": size == PHONE}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    driver.get(page.resolve().as_uri())
    driver.execute_async_script(
        "const done = arguments[0];"
        "const look = () => [...document.querySelectorAll('[data-figure]')].every(e => e.querySelector('.main-svg'))"
        " ? requestAnimationFrame(() => requestAnimationFrame(() => done(true))) : setTimeout(look, 20);"
        "look();"
    )


def requests(driver: "Chrome") -> list[str]:
    """The address of each request since the last time this was asked."""
    found = []
    for entry in driver.get_log("performance"):  # type: ignore[no-untyped-call]
        message: dict[str, Any] = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            found.append(str(message["params"]["request"]["url"]))
    return found


def complaints(driver: "Chrome") -> list[str]:
    """What stands in the console since the last time this was asked."""
    return [f"{entry['level']}: {entry['message']}" for entry in driver.get_log("browser")]  # type: ignore[no-untyped-call]


def picture(driver: "Chrome", path: Path) -> None:
    """The whole page, also what one would have to scroll to."""
    found = driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png", "captureBeyondViewport": True})
    path.write_bytes(base64.b64decode(found["data"]))


def print_out(driver: "Chrome", path: Path) -> None:
    """The page as a PDF on A4."""
    paper = {"paperWidth": 8.27, "paperHeight": 11.69, "printBackground": True, "preferCSSPageSize": False}
    found = driver.execute_cdp_cmd("Page.printToPDF", paper)
    path.write_bytes(base64.b64decode(found["data"]))
