"""The built book in a browser: silent, self-contained, strict, readable by everyone.

Reads _build/html, so `make book` comes first (`make test` builds it).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from bs4 import BeautifulSoup

from ext.policy import POLICY
from tools.chapters import ROOT, listed_pages
from tools.serve import server

HTML = ROOT / "_build" / "html"
LISTED = [f"{name}.html" for name in listed_pages(ROOT)]
PAGES = [*LISTED, "search.html", "genindex.html", "404.html"]
CHAPTERS = [name for name in LISTED if name.startswith("notebooks/")]
every_page = pytest.mark.parametrize("name", PAGES)
PREFIX = "/some/where/"
TARGET = 44  # CSS pixels
ALT_WORDS = 5


@pytest.fixture(scope="session")
def home() -> Iterator[str]:
    """The address of the built book, served below a sub-path."""
    if not (HTML / "index.html").exists():
        pytest.fail("There is no built book: run `make book` first.")
    pages = server(HTML, 0, PREFIX)
    Thread(target=pages.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{pages.server_port}{PREFIX}"
    pages.shutdown()
    pages.server_close()


@dataclass
class Visit:
    """A page in the browser, what its console said and what it asked for."""

    page: Any
    said: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)


Open = Callable[..., Visit]


@pytest.fixture
def visit(browser: Any, home: str) -> Iterator[Open]:
    """visit(name, width=…, …): a page with everything outside the book cut off."""
    contexts, visits = [], []

    def go(name: str, width: int = 1280, base: str = home, **options: Any) -> Visit:
        view = {"width": width, "height": 900}
        contexts.append(browser.new_context(viewport=view, **options))
        found = Visit(contexts[-1].new_page())
        visits.append(found)
        found.page.on("console", lambda message: found.said.append(message.text))
        found.page.on("pageerror", lambda error: found.said.append(str(error)))

        def gate(route: Any) -> None:
            inside = route.request.url.startswith(base)
            if not inside:
                found.outside.append(route.request.url)
            (route.continue_ if inside else route.abort)()

        found.page.route("**/*", gate)
        found.page.goto(base + name)
        return found

    yield go
    for context in contexts:
        context.close()
    for found in visits:
        assert found.outside == [], "no request leaves the book"
        assert found.said == [], "the console stays empty"


@functools.cache
def soup_of(name: str) -> BeautifulSoup:
    return BeautifulSoup((HTML / name).read_text(encoding="utf-8"), "html.parser")


# ---- what the files hold -------------------------------------------------------------


@every_page
def test_a_page_carries_the_strict_policy_and_nothing_inline(name):
    soup = soup_of(name)
    metas = soup.select('meta[http-equiv="Content-Security-Policy"]')
    assert [meta["content"] for meta in metas] == [POLICY]
    for loose in ("unsafe", "blob:", "data:", "http", "*"):
        assert loose not in POLICY
    scripts = soup.select("script:not([src]):not([type='application/json'])")
    assert scripts == []
    assert soup.select("style, [style]") == []
    handlers = [a for tag in soup.find_all(True) for a in tag.attrs if a[:2] == "on"]
    assert handlers == []


@every_page
def test_a_page_asks_for_files_of_the_book_only(name):
    soup, asked = soup_of(name), []
    for tag, attribute in (("script", "src"), ("link", "href"), ("img", "src")):
        asked += [
            str(e[attribute]) for e in soup.find_all(tag) if e.has_attr(attribute)
        ]
    for address in asked:
        assert "//" not in address, address
        path = (HTML / name).parent / address.split("?")[0].split("#")[0]
        assert path.resolve().exists(), address


@every_page
def test_a_page_says_what_it_is(name):
    soup = soup_of(name)
    assert soup.html["lang"] == "en"
    assert len(soup.find_all("h1")) == 1
    assert soup.title.get_text(strip=True)
    (description,) = soup.select("meta[name=description]")
    assert len(description["content"].split()) >= 5
    assert len(description["content"]) <= 160


@pytest.mark.parametrize("name", LISTED)
def test_every_figure_is_put_in_words(name):
    for image in soup_of(name).select("article img"):
        assert len(image["alt"].split()) >= ALT_WORDS, image["src"]
        assert image.has_attr("width") and image.has_attr("height")


@pytest.mark.parametrize("name", LISTED)
def test_links_inside_the_book_lead_somewhere(name):
    for link in soup_of(name).select("a[href]"):
        address, _, anchor = str(link["href"]).partition("#")
        if re.match(r"(https?|mailto):", address):
            continue
        path = (HTML / name).parent / address if address else HTML / name
        assert path.resolve().exists(), link["href"]
        if anchor and path.suffix == ".html":
            inner = soup_of(str(path.resolve().relative_to(HTML.resolve())))
            assert inner.find(id=anchor) or anchor == "", link["href"]


def test_the_front_page_is_a_page_and_not_a_redirect():
    soup = soup_of("index.html")
    assert soup.select('meta[http-equiv="refresh" i]') == []
    assert soup.h1.get_text().startswith("From Token to Context")
    doors = [a["href"].split("#")[0] for a in soup.select(".doors a")]
    assert doors == ["notebooks/01_tokens.html", "", "book/instructors.html"]


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_begins_with_the_strip_and_its_own_stage_is_lit(name):
    (strip,) = soup_of(name).select("nav.stages")
    (here,) = strip.select("[aria-current=page]")
    assert here.b.get_text() == str(int(name.split("/")[1][:2]))
    written = [a["href"] for a in strip.select("a")]
    assert len(written) == len(CHAPTERS)


@pytest.mark.parametrize("name", CHAPTERS)
def test_every_exercise_with_a_check_has_its_solution_folded_on_the_page(name):
    folds = soup_of(name).select("details.solution")
    assert len(folds) >= 2
    for fold in folds:
        assert not fold.has_attr("open")
        assert "Right:" in fold.get_text()


# ---- in the browser ------------------------------------------------------------------


@every_page
def test_no_page_scrolls_sideways(visit, name):
    page = visit(name, width=360).page
    for width in (360, 390, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        wide = "document.documentElement.scrollWidth - innerWidth"
        assert page.evaluate(wide) <= 0, width


@pytest.mark.parametrize("name", LISTED)
def test_axe_finds_nothing_on_phone_and_desk_in_light_and_dark(browser, home, name):
    from axe_playwright_python.sync_playwright import Axe

    # axe comes in as a script of its own, which the policy would block
    context = browser.new_context(bypass_csp=True)
    page, said = context.new_page(), []
    page.goto(home + name)
    page.wait_for_timeout(200)
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.wait_for_timeout(100)
            found = Axe().run(page).response["violations"]
            nodes = [(v["id"], n["html"][:120]) for v in found for n in v["nodes"]]
            said += [(width, scheme, *node) for node in nodes]
    context.close()
    assert said == []


@pytest.mark.parametrize("name", LISTED)
def test_the_page_controls_are_large_enough_to_touch(visit, name):
    page = visit(name, width=390, has_touch=True).page
    controls = page.locator(
        ".article-header-buttons button:visible, .primary-toggle:visible, "
        ".prev-next-area a:visible, .stages a:visible, article summary:visible, "
        ".recall-choice label:visible"
    )
    for box in (c.bounding_box() for c in controls.all()):
        assert min(box["width"], box["height"]) >= TARGET - 0.5, box


def test_colours_follow_the_system_and_then_the_switch(visit):
    page = visit("index.html", color_scheme="dark").page
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(ground)
    button = page.locator(".theme-switch-button").first
    button.click()
    assert page.locator("html").get_attribute("data-theme") == "light"
    assert page.evaluate(ground) != dark
    assert "light" in button.inner_text()
    page.reload()
    assert page.locator("html").get_attribute("data-theme") == "light", "it is kept"


@pytest.mark.parametrize("name", CHAPTERS)
def test_print_shows_the_text_without_the_bars(visit, name):
    page = visit(name).page
    page.emulate_media(media="print")
    for bar in (".bd-sidebar-primary", ".stages", ".prev-next-area", ".copy"):
        assert not any(e.is_visible() for e in page.locator(bar).all()), bar
    assert page.locator("article h1").is_visible()


@pytest.mark.parametrize("name", LISTED)
def test_without_scripts_every_widget_is_its_picture(visit, name):
    page = visit(name, java_script_enabled=False).page
    page.wait_for_timeout(100)
    for place in page.locator(".ftc-mount").all():
        picture = place.locator("img")
        picture.scroll_into_view_if_needed()
        assert len(picture.get_attribute("alt").split()) >= ALT_WORDS
    assert page.locator("article h1").is_visible()


def test_a_recall_question_answers_by_keyboard_without_scripts(visit):
    page = visit("notebooks/01_tokens.html", java_script_enabled=False).page
    first = page.locator("fieldset.recall").first
    says = first.locator(".recall-says > div")
    assert not any(e.is_visible() for e in says.all())
    first.locator("input").first.focus()
    page.keyboard.press("Space")
    assert [e.is_visible() for e in says.all()] == [True, False, False]
    assert "Not this one." in says.first.inner_text()
    page.keyboard.press("ArrowDown")
    assert [e.is_visible() for e in says.all()] == [False, True, False]
    assert says.nth(1).inner_text().startswith("Right.")


def test_a_solution_opens_by_keyboard(visit):
    page = visit("notebooks/03_embedding_lookup.html").page
    fold = page.locator("details.solution").first
    inner = fold.locator("div.cell_output").first
    assert not inner.is_visible()
    fold.locator("summary").focus()
    page.keyboard.press("Enter")
    assert inner.is_visible()


def test_the_drawer_opens_on_a_phone_and_gives_the_focus_back(visit):
    page = visit("index.html", width=390).page
    toggle = page.locator(".primary-toggle")
    toggle.click()
    dialog = page.locator("#pst-primary-sidebar-modal")
    assert dialog.is_visible()
    assert toggle.get_attribute("aria-expanded") == "true"
    page.keyboard.press("Escape")
    assert not dialog.is_visible()
    assert page.evaluate("document.activeElement.className").find("primary-toggle") > -1


@pytest.mark.parametrize("word", ["RoPE", "bank", "softmax"])
@pytest.mark.parametrize("folder", [False, True], ids=["served", "from a folder"])
def test_the_search_finds_the_words_of_the_book(visit, home, word, folder):
    base = HTML.resolve().as_uri() + "/" if folder else home
    page = visit(f"search.html?q={word}", base=base).page
    page.locator("#search-results .search li a").first.wait_for()
    found = page.locator("#search-results .search li a").all_inner_texts()
    assert any(text for text in found)


@pytest.mark.parametrize("name", ["index.html", "notebooks/06_position_encoding.html"])
def test_widgets_move_from_a_folder_and_with_the_network_off(visit, name):
    base = HTML.resolve().as_uri() + "/"
    page = visit(name, base=base, width=390).page
    page.context.set_offline(True)
    frame = page.locator(".ftc").first
    frame.wait_for()
    words = frame.locator(".ftc-words")
    before = words.inner_text()
    frame.locator("input[type=range]").first.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    page.wait_for_timeout(100)
    assert words.inner_text() != before


def test_previous_and_next_lead_through_the_whole_book(visit):
    page = visit("index.html").page
    for name in LISTED[1:]:
        page.locator(".prev-next-area a.right-next").click()
        page.wait_for_load_state()
        assert page.url.split("?")[0].endswith(name)


def test_an_unknown_address_gets_the_page_that_says_so(browser, home):
    page = browser.new_page()
    answer = page.goto(home + "no/such/page.html")
    assert answer.status == 404
    assert "not in the book" in page.inner_text("h1")
    page.close()


def test_every_page_is_light(home):
    import gzip

    for name in LISTED:
        soup, total = soup_of(name), 0
        files = {HTML / name}
        for tag, attribute in (("script", "src"), ("link", "href")):
            for element in soup.find_all(tag):
                if element.has_attr(attribute):
                    address = str(element[attribute]).split("?")[0]
                    files.add(((HTML / name).parent / address).resolve())
        files |= set((HTML / "_static").glob("*.woff2"))
        for path in files:
            data = Path(path).read_bytes()
            packed = path.suffix == ".woff2"
            total += len(data) if packed else len(gzip.compress(data))
        assert total <= 120_000, (name, total)
