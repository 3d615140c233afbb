"""Write book/images/page.png, the picture in README: a built page in a browser.

python -m tools.picture        after `make book`; needs Chromium
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "_build" / "html" / "notebooks" / "03_embedding_lookup.html"
PLACE = "ask-for-bank-three-times"
TARGET = ROOT / "book" / "images" / "page.png"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
QUIET = ("--no-sandbox", "--disable-gpu", "--disable-background-networking")
SCROLL = """id => {
    document.documentElement.style.scrollBehavior = "auto";
    const top = document.getElementById(id).getBoundingClientRect().top;
    window.scrollTo(0, top + window.scrollY - 70);
}"""


def take(browser_path: str) -> None:
    """Open the page, scroll to its place and save what is seen, in 256 colours."""
    from PIL import Image
    from playwright.sync_api import sync_playwright

    TARGET.parent.mkdir(exist_ok=True)
    with sync_playwright() as player:
        browser = player.chromium.launch(executable_path=browser_path, args=QUIET)
        page = browser.new_page(viewport={"width": 1280, "height": 1090})
        page.goto(PAGE.as_uri())
        page.evaluate(SCROLL, PLACE)
        page.wait_for_timeout(500)
        page.screenshot(path=TARGET)
        browser.close()
    with Image.open(TARGET) as picture:
        picture.convert("RGB").quantize(256).save(TARGET, optimize=True)


def main() -> int:
    browser = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if browser is None:
        print("No Chromium was found; install one to take the picture.")
        return 1
    if not PAGE.exists():
        print("The page is not built yet: make book")
        return 1
    take(browser)
    print(f"{TARGET.relative_to(ROOT)}: {TARGET.stat().st_size // 1000} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
