"""Every widget in a browser: Python's numbers and sentence, every control, any width.

A new widget joins by its line in contextual/widgets/__init__.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from contextual.widgets import ClockHands, Heads, base

ALL = list(base.widget_classes().values())
every = pytest.mark.parametrize("widget", ALL, ids=lambda cls: cls.__name__)
WORDS = ".ftc-words"


def random_widgets(widget: type, count: int, seed: int) -> Iterator[Any]:
    """Widgets in random states; values that do not go together are drawn again."""
    rng = np.random.default_rng(seed)
    while count:
        values = {k: t.draw(rng) for k, t in widget.checked_traits().items()}
        try:
            yield widget(**values)
        except ValueError:
            continue
        count -= 1


def settle(page: Any) -> None:
    """Two frames: an event, and the drawing that it asked for."""
    page.evaluate(
        "new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))"
    )


def sentence(page: Any) -> str:
    settle(page)
    return page.locator(WORDS).first.text_content()


COMPUTED = """async ({name, states}) => {
  const {model} = ftc.mounted[0], w = ftc.widgets[name], out = [];
  for (const state of states) {
    for (const [k, v] of Object.entries(state)) model.set(k, v);
    const all = Object.fromEntries(w.traits.map(k => [k, model.get(k)]));
    const part = w.part?.(all), raw = part == null ? null : model.get("parts")[part];
    const text = raw && (typeof raw === "string" ? raw : await ftc.load(raw.file));
    const data = text ? w.prepare(ftc.bytes(text), all) : undefined;
    const result = w.compute(all, data);
    out.push([result, w.describe(all, result, data)]);
  }
  return out;
}"""


def in_browser(page: Any, widget: type, states: list[dict[str, Any]]) -> list[Any]:
    """[result, sentence] for each state, computed by the script."""
    return page.evaluate(COMPUTED, {"name": widget.script, "states": states})


# ---- the same numbers and words as Python --------------------------------------------


@every
def test_the_script_computes_what_python_computes_on_200_random_states(opened, widget):
    states = [w.state() for w in random_widgets(widget, 200, seed=1)]
    for state, (result, _) in zip(
        states, in_browser(opened(widget()).page, widget, states)
    ):
        wanted = widget.compute(state)
        assert result.keys() == wanted.keys()
        for name, value in wanted.items():
            # degrees come from angles up to 2,000 radians: 1e-9 is their last digit
            close = pytest.approx(value, rel=1e-12, abs=1e-9)
            assert result[name] == close, (state, name)


@every
def test_the_script_says_what_python_says_at_the_default_and_50_random_states(
    opened, widget
):
    shown = [widget(), *random_widgets(widget, 50, seed=2)]
    said = in_browser(opened(widget()).page, widget, [w.state() for w in shown])
    assert [text for _, text in said] == [w.describe() for w in shown]


@every
def test_the_page_shows_the_sentence_of_the_state_it_was_given(opened, widget):
    for one in [widget(), *random_widgets(widget, 3, seed=3)]:
        assert sentence(opened(one).page) == one.describe()


MATHS = """([a, b, x, open, d, base, pair, angle]) => [ftc.dot(a, b), ftc.norm(a),
  ftc.cosine(a, b), ftc.softmax(x), ftc.softmax(x, open), ftc.frequencies(d, base),
  ftc.rotate2(pair, angle), ftc.wrap(angle * 100)]"""


def test_the_kits_maths_is_the_packages(opened):
    from contextual.attention import softmax
    from contextual.position import frequencies, rotate
    from contextual.vectors import cosine, dot, norm

    page, rng = opened(ClockHands()).page, np.random.default_rng(0)
    for case in range(30):
        a, b = rng.normal(size=(2, 5)) * (case > 0)
        x, pair, angle = rng.normal(size=4) * 5, rng.normal(size=2), rng.uniform(-9, 9)
        shown = rng.random(4) < 0.6 if case else np.zeros(4, bool)
        values = [a, b, x, shown, 2 * case + 2, 10.0 ** (1 + case % 6), pair, angle]
        asked = [v.tolist() if hasattr(v, "tolist") else v for v in values]
        got = page.evaluate(MATHS, asked)
        masked = softmax(np.where(shown, x, -np.inf))
        turned = rotate(pair[None], np.array([angle]))[0]
        speeds = frequencies(2 * case + 2, 10.0 ** (1 + case % 6))
        wanted = [dot(a, b), norm(a), cosine(a, b), softmax(x), masked, speeds, turned]
        for one, two in zip(got, [*wanted, base.wrap(angle * 100)]):
            np.testing.assert_allclose(one, two, rtol=1e-12, atol=1e-12)
    huge = page.evaluate("ftc.softmax([1000, 1001, 1002])")
    np.testing.assert_allclose(huge, softmax([1000.0, 1001.0, 1002.0]), rtol=1e-12)


def test_the_kit_writes_numbers_as_python_does(opened):
    rng = np.random.default_rng(0)
    ties = [0.125, -0.125, 0.375, 2.5, -0.5, 0.0, -0.0, 0.0005, 1e-9, -1e-9, 1234567.5]
    values = [*ties, *(rng.normal(size=300) * 10 ** rng.uniform(-4, 5, 300)).tolist()]
    calls = (
        "xs => xs.map(x => [0, 1, 2, 3].flatMap(d => [ftc.fmt(x, d), ftc.dec(x, d)])"
    )
    calls += ".concat([ftc.whole(x), ftc.deg(x), ftc.pct(Math.abs(x))]))"
    for x, got in zip(values, opened(ClockHands()).page.evaluate(calls, values)):
        wanted = [f(x, d) for d in range(4) for f in (base.fmt, base.dec)]
        assert got == [*wanted, base.whole(x), base.deg(x), base.pct(abs(x))], x


# ---- every control, by keyboard and by finger ----------------------------------------


def states_while(page: Any, presses: list[str]) -> list[str]:
    """The sentence before and after each key."""
    texts = [sentence(page)]
    for key in presses:
        page.keyboard.press(key)
        texts.append(sentence(page))
    return texts


@every
def test_each_range_answers_to_arrows_home_and_end(opened, widget):
    page = opened(widget()).page
    for slider in page.locator("input[type=range]").all():
        slider.focus()
        low, high = (slider.get_attribute(name) for name in ("min", "max"))
        page.keyboard.press("Home")
        assert slider.input_value() == low
        texts = states_while(page, ["ArrowRight", "End"])
        assert len(set(texts)) == 3, texts
        assert slider.input_value() == high
        assert states_while(page, ["ArrowLeft", "Home"])[-1] == texts[0]


@every
def test_each_group_of_radios_answers_to_arrows_and_to_a_tap(opened, widget):
    page = opened(widget(), has_touch=True).page
    for group in page.locator("fieldset:has(input[type=radio])").all():
        radios = group.locator("label:not([hidden]) input[type=radio]")
        radios.last.locator("xpath=..").tap()
        assert radios.last.is_checked()
        before = sentence(page)
        page.keyboard.press("ArrowLeft")
        assert not radios.last.is_checked()
        assert sentence(page) != before
        radios.last.locator("xpath=..").tap()
        assert sentence(page) == before


@every
def test_each_select_and_check_box_answers_to_its_keys(opened, widget):
    page = opened(widget()).page
    for control in page.locator("select, input[type=checkbox]").all():
        control.focus()
        name = control.evaluate("e => e.tagName")
        texts = states_while(page, ["ArrowDown" if name == "SELECT" else "Space"])
        if name == "SELECT":  # a stored part may still be on its way
            page.locator(WORDS, has_text=re.compile("(?<!numbers )…|[.]$")).wait_for()
        assert texts[0] != sentence(page)


@every
def test_each_range_answers_to_a_tap_with_the_finger(opened, widget):
    page = opened(widget(), width=360, has_touch=True).page
    for slider in page.locator("input[type=range]").all():
        slider.scroll_into_view_if_needed()
        box, before = slider.bounding_box(), sentence(page)
        page.touchscreen.tap(box["x"] + box["width"] * 0.37, box["y"] + 22)
        assert sentence(page) != before


def test_a_number_field_takes_what_is_typed_on_enter_and_says_why_it_does_not(opened):
    page = opened(ClockHands()).page
    field = page.get_by_label("Bank comes later by, exact")
    field.select_text()
    page.keyboard.type("44")
    assert "3 tokens apart" in sentence(page), "half typed is not taken"
    field.press("Enter")
    assert "differs by 1.0°: back where it was" in sentence(page)
    field.select_text()
    page.keyboard.type("5000")
    field.press("Enter")
    assert "1,023 tokens apart" in sentence(page)
    assert "Bank comes later by goes from 0 tokens to 1,023 tokens." in sentence(page)
    assert field.input_value() == "1023"
    field.select_text()
    page.keyboard.press("Delete")
    field.press("Enter")
    assert "stays at 1,023 tokens: no number was given." in sentence(page)
    page.get_by_label("Bank comes later by").first.focus()
    page.keyboard.press("Home")
    assert field.input_value() == "0", "the field follows the range"
    assert "no number" not in sentence(page)


def test_the_known_heads_are_one_tap_away_and_none_is_lit_elsewhere(opened):
    page = opened(Heads()).page
    page.get_by_text("previous word .8").click()
    assert "Layer 16, head 0: previous word, score .8." in sentence(page)
    page.get_by_role("radio", name="rocket").last.focus()
    page.locator("tbody tr").last.click()
    assert "rocket (2nd) reads lemon (2nd) 96 %" in sentence(page)
    page.get_by_label("Layer").focus()
    page.keyboard.press("ArrowRight")
    assert "Layer 17, head 0: no name for this one." in sentence(page)
    assert page.locator(".ftc-choice input:checked").count() == 0


def test_another_text_is_fetched_from_beside_the_page_and_only_then(opened):
    result = opened(Heads())
    assert not [url for url in result.asked if "heads-1" in url]
    result.page.get_by_label("Text").select_option(index=1)
    result.page.locator(WORDS, has_text="reads She").wait_for()
    assert len([url for url in result.asked if "heads-1" in url]) == 1


def test_a_part_that_cannot_be_had_is_said_and_the_old_picture_stays(opened):
    result = opened(Heads())
    result.page.route("**/heads-1-*", lambda route: route.abort())
    result.page.get_by_label("Text").select_option(index=1)
    result.page.locator(WORDS, has_text="could not be loaded").wait_for()
    result.page.unroute("**/heads-1-*")
    result.page.get_by_label("Layer").focus()
    result.page.keyboard.press("ArrowRight")
    result.page.locator(WORDS, has_text="Layer 19, head 6").wait_for()
    result.said.clear()  # the browser itself reports the request that was cut


def test_two_views_of_one_widget_share_their_state(opened):
    one = ClockHands()
    page = opened(one, one).page
    page.locator("input[type=range]").first.focus()
    page.keyboard.press("End")
    settle(page)
    texts = page.locator(WORDS).all_text_contents()
    assert texts[0] == texts[1]
    assert texts[0].startswith("River at 1,023")


# ---- what a listener hears -----------------------------------------------------------


@every
def test_every_control_has_a_name_and_every_range_says_its_value(opened, widget):
    page = opened(widget()).page
    names = page.evaluate(
        """[...document.querySelectorAll("input, select, textarea, button")].map(e => [
        e.ariaLabel ?? [...(e.labels ?? [])].map(l => l.textContent).join(),
        e.type, e.ariaValueText, e.dataset.lmSuppressShortcuts])"""
    )
    assert names
    for name, kind, said, quiet in names:
        assert kind == "radio" or name.strip(), kind
        assert quiet == "true", "arrow keys belong to the control, not to JupyterLab"
        assert kind != "range" or said
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))


@every
def test_the_status_speaks_after_a_change_and_never_at_the_start(opened, widget):
    page = opened(widget()).page
    page.wait_for_timeout(700)
    assert page.get_by_role("status").text_content() == ""
    page.locator("input[type=range]").first.focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    settle(page)
    assert page.get_by_role("status").text_content() == ""
    status = page.get_by_role("status").filter(has_text=sentence(page))
    status.wait_for(state="attached")


# ---- how it looks --------------------------------------------------------------------

SMALL = """() => {
  const out = [], kind = NodeFilter.SHOW_TEXT;
  const walk = document.createTreeWalker(document.querySelector(".ftc"), kind);
  while (walk.nextNode()) {
    const e = walk.currentNode.parentElement, r = e.getBoundingClientRect();
    const size = parseFloat(getComputedStyle(e).fontSize);
    if (r.width > 1 && r.height > 1 && size && size < 12) out.push(e.textContent);
  }
  return out;
}"""
TARGETS = """() => {
  const control = ".ftc-controls input, .ftc-controls select, .ftc-chip input";
  const small = "[type=radio], [type=checkbox]"; // the label is what one taps
  const target = e => e.matches(small) ? e.closest("label") : e;
  return [...document.querySelectorAll(control)].map(e => {
    const r = target(e).getBoundingClientRect();
    return [e.type, r.width, r.height];
  }).filter(r => r[1]);
}"""
CLIPPED = """() => {
  const p = document.querySelector(".ftc-body").getBoundingClientRect();
  const outside = e => {
    const r = e.getBoundingClientRect();
    return r.width && (r.left < p.left - 1 || r.right > p.right + 1);
  };
  const texts = ".ftc svg text, .ftc th, .ftc .ftc-pill";
  return [...document.querySelectorAll(texts)].filter(outside).map(e => e.textContent);
}"""


@every
@pytest.mark.parametrize("width", [360, 520, 720])
def test_nothing_scrolls_sideways_and_no_text_or_target_is_small(opened, widget, width):
    for one in [widget(), *random_widgets(widget, 2, seed=width)]:
        page = opened(one, width=width).page
        settle(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(SMALL) == []
        assert page.evaluate(CLIPPED) == []
        for kind, wide, high in page.evaluate(TARGETS):
            assert wide >= 44 and high >= 44, (kind, wide, high)


@every
@pytest.mark.parametrize("width", [344, 360, 420, 560, 720, 1280])
def test_nothing_moves_when_the_widget_starts(opened, widget, width):
    page = opened(widget(), width=width).page
    shift = page.evaluate(
        """new Promise(r => { new PerformanceObserver(l => r(l.getEntries().reduce(
        (t, e) => t + e.value, 0))).observe({type: "layout-shift", buffered: true});
        setTimeout(() => r(0), 400); })"""
    )
    assert shift == 0
    used, kept = page.evaluate(
        """[document.querySelector(".ftc-body").offsetHeight + 34,
        parseFloat(getComputedStyle(document.querySelector(".ftc")).minHeight)]"""
    )
    assert used <= kept, f"{widget.__name__}.reserve must be {used} or more"
    assert kept - used < 130, f"{widget.__name__}.reserve leaves {kept - used} px empty"


@every
def test_print_shows_the_present_state_and_no_controls(opened, widget):
    page = opened(widget()).page
    page.locator("input[type=range]").first.focus()
    page.keyboard.press("End")
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    settle(page)
    page.emulate_media(media="print")
    assert not page.locator(".ftc-controls").first.is_visible()
    label = page.locator(".ftc-controls label").first.text_content()
    value = page.locator("input[type=range]").first.get_attribute("aria-valuetext")
    printed = page.locator(".ftc-set").text_content()
    assert printed.startswith("Set to: ")
    assert value in printed or label in printed
    ink = page.evaluate("getComputedStyle(document.querySelector('.ftc')).color")
    assert ink == "rgb(27, 29, 32)", "dark ink on paper, whatever the theme"


@every
def test_dark_follows_the_page_and_else_the_reader_wish(opened, widget):
    page = opened(widget(), color_scheme="dark").page
    colour = "getComputedStyle(document.querySelector('.ftc')).backgroundColor"
    assert page.evaluate(colour) == "rgb(255, 255, 255)", "the page says light"
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    assert page.evaluate(colour) == "rgb(18, 20, 23)"
    page.evaluate("delete document.documentElement.dataset.theme")
    assert page.evaluate(colour) == "rgb(18, 20, 23)"
    page.evaluate("document.body.dataset.jpThemeLight = 'true'")
    assert page.evaluate(colour) == "rgb(255, 255, 255)"
    page.evaluate("document.body.dataset.jpThemeLight = 'false'")
    assert page.evaluate(colour) == "rgb(18, 20, 23)"


# ---- where it lives ------------------------------------------------------------------


@every
def test_with_scripts_off_the_picture_and_its_sentence_are_there(opened, widget):
    page = opened(widget(), java_script_enabled=False).page
    image = page.get_by_role("img")
    assert image.is_visible()
    assert image.get_attribute("alt") == widget().describe()
    assert page.get_by_text("Picture. Live in the web edition.").is_visible()


@every
def test_from_a_file_it_moves_too(opened, widget, site):
    result = opened(widget())
    result.home = "file:"
    path = site[0] / result.page.url.split("/")[-2] / "index.html"
    result.page.wait_for_load_state("networkidle")
    result.asked.clear()
    result.page.goto(path.as_uri())
    before = sentence(result.page)
    assert before == widget().describe()
    result.page.locator("input[type=range]").first.focus()
    result.page.keyboard.press("ArrowRight")
    assert sentence(result.page) != before
    assert result.asked and all(url.startswith("file:") for url in result.asked)


LEAK = """async () => {
  const live = new Map(), add = EventTarget.prototype.addEventListener;
  const {model} = ftc.mounted[0], box = document.querySelector("[data-ftc]");
  let heard = 0, watched = 0;
  const on = model.on, off = model.off, RO = window.ResizeObserver;
  model.on = (...a) => { heard++; return on(...a); };
  model.off = (...a) => { heard--; return off(...a); };
  window.ResizeObserver = class extends RO {
    observe(e) { watched++; super.observe(e); }
    disconnect() { watched--; super.disconnect(); }
  };
  const outside = [];
  EventTarget.prototype.addEventListener = function (type, ...rest) {
    if ([window, document, document.body].includes(this)) outside.push(type);
    return add.call(this, type, ...rest);
  };
  ftc.mounted[0].end.abort();
  for (let i = 0; i < 20; i++) {
    const {end} = ftc.mount(box);
    await new Promise(requestAnimationFrame);
    end.abort();
  }
  await new Promise(requestAnimationFrame);
  EventTarget.prototype.addEventListener = add;
  window.ResizeObserver = RO;
  return [heard, watched, outside, box.querySelectorAll("*").length];
}"""


@every
def test_twenty_mounts_and_aborts_leave_nothing_behind(opened, widget):
    heard, watched, outside, left = opened(widget()).page.evaluate(LEAK)
    assert heard == -1, "the first view let go of the model too"
    assert (watched, outside, left) == (0, [], 1)


JUPYTER = """async ({code, state}) => {
  const url = URL.createObjectURL(new Blob([code], {type: "text/javascript"}));
  const w = (await import(url)).default, heard = new Set(), saved = [];
  const set = (k, v) => { state[k] = v; heard.forEach(f => f()); };
  const model = {get: k => state[k], set,
    on: (_, f) => heard.add(f), off: (_, f) => heard.delete(f),
    save_changes: () => saved.push(structuredClone(state)), send() {}};
  const el = document.querySelector("main").appendChild(document.createElement("div"));
  const end = w.render({model, el});
  window.jupyter = {model, saved, end, heard};
}"""


@every
def test_the_joined_module_runs_as_anywidget_runs_it(browser, widget):
    """A module from a Blob, no signal given: render returns what lets go of it all."""
    page = browser.new_page()
    said: list[str] = []
    page.on("pageerror", lambda error: said.append(str(error)))
    page.set_content("<main></main>")
    one = widget()
    state = {k: v for k, v in one.get_state().items() if k[0] != "_" and k != "layout"}
    page.evaluate(JUPYTER, {"code": base.module(widget.script), "state": state})
    assert sentence(page) == one.describe()
    other = next(random_widgets(widget, 1, seed=5))
    page.evaluate(
        "s => Object.entries(s).forEach(e => jupyter.model.set(...e))", other.state()
    )
    assert sentence(page) == other.describe(), "a trait set from Python is drawn"
    slider = page.locator("input[type=range]").first
    slider.focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    settle(page)
    saved = page.evaluate("jupyter.saved.at(-1)")
    values = {k: saved[k] for k in widget.checked_traits()}
    assert widget(**values).describe() == sentence(page), (
        "what Python gets is what is seen"
    )
    page.evaluate("jupyter.end()")
    assert page.evaluate("jupyter.heard.size") == 0
    assert said == []
    page.close()
