"""Chromium: the browser that tests drive, and how it is started."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.conftest import needed

if TYPE_CHECKING:
    from playwright.sync_api import Browser

PROGRAM = (
    os.environ.get("CHROMIUM")
    or shutil.which("chromium")
    or shutil.which("chromium-browser")
    or shutil.which("google-chrome")
    or ""
)
HINT = "install Debian's package chromium, or name the program by CHROMIUM"
LEFT_OUT = [
    # Two pages of the browser's own address bar, loaded by a process of their own for each window though nobody sees
    # them: almost half of what opening a page costs.
    "WebUIOmniboxPopup",
    "WebUIOmniboxAimPopup",
    # What Playwright leaves out by itself; the browser obeys only the last list that it is given.
    "AimEnabled",
    "AvoidCorsURLLoaderRestartOnRedirect",
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsFirstBalancedModeAutoEnable",
    "HttpsUpgrades",
    "LensOverlay",
    "MediaRouter",
    "NetworkTimeServiceQuerying",
    "OptimizationHints",
    "PaintHolding",
    "PreconnectToSearch",
    "ThirdPartyStoragePartitioning",
]
# No sandbox of its own (the suite may run as root), and no request of its own to anywhere.
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    f"--disable-features={','.join(LEFT_OUT)}",
]


def there() -> None:
    """Skips the test, or on CI fails it, where there is none."""
    needed("Chromium", PROGRAM, HINT)


@contextmanager
def started() -> Iterator[Browser]:
    """A browser, until the end of the block. Its driver keeps an event loop in this thread for as long."""
    there()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=PROGRAM, args=ARGUMENTS)
        yield browser
        browser.close()
