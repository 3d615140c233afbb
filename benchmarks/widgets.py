"""What a widget's script costs for one event and the drawing that follows."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bs4 import BeautifulSoup

from benchmarks.measure import Row
from contextual.widgets.base import FtcWidget, widget_classes
from ext import widgets

AIM = 4.0  # milliseconds, at the 95th percentile
MEASURE = """async () => {
  const real = window.requestAnimationFrame, all = [];
  for (const input of document.querySelectorAll("input[type=range]")) {
    const low = +input.min, steps = Math.round((input.max - low) / (input.step || 1));
    for (let i = 0; i < 200; i++) {
      let work = 0;
      const timed = (f, ...rest) => {
        const start = performance.now();
        f(...rest);
        work += performance.now() - start;
      };
      window.requestAnimationFrame = f => real(now => timed(f, now));
      timed(() => {
        input.value = low + (input.step || 1) * ((7 * i) % (steps + 1));
        input.dispatchEvent(new Event("input", {bubbles: true}));
      });
      window.requestAnimationFrame = real;
      await new Promise(done => real(() => real(done)));
      all.push(work);
    }
  }
  return all.sort((a, b) => a - b);
}"""


def write_page(folder: Path, widget: FtcWidget) -> Path:
    """A page with one widget, mounted as in the book."""
    state = json.dumps({"state": {"m": {"state": widget.get_state()}}}, default=str)
    view = json.dumps({"model_id": "m"})
    html = f'<html><head></head><body><script type="{widgets.VIEW}">{view}</script>'
    html += f'<script type="{widgets.STATE}">{state}</script></body></html>'
    soup = BeautifulSoup(html, "html.parser")
    context = {"pagename": "page", "pathto": lambda name, resource: name}
    widgets.mount(soup, context, folder / "_static")
    (folder / "page.html").write_text(str(soup), encoding="utf-8")
    return folder / "page.html"


def rows() -> Iterator[Row]:
    """A line for each widget; none where there is no Chromium."""
    named = os.environ.get("CONTEXTUAL_CHROMIUM", "chromium")
    browser_path = shutil.which(named)
    if browser_path is None:
        print("No chromium here: the widgets are not measured.")
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        options = {"executable_path": browser_path, "args": ["--no-sandbox"]}
        browser = playwright.chromium.launch(**options)  # type: ignore[arg-type]
        for name, cls in widget_classes().items():
            page = browser.new_page(viewport={"width": 720, "height": 900})
            page.goto(write_page(Path(folder), cls()).as_uri())
            times = page.evaluate(MEASURE)
            middle, late = times[len(times) // 2], times[int(len(times) * 0.95)]
            yield Row(
                f"widget {name}: event and drawing, median", f"{middle:.1f} ms",
                "(p95)", f"{late:.1f} ms", f"≤ {AIM:.0f} ms", late <= AIM,
            )  # fmt: skip
        browser.close()
