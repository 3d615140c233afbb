"""The steps that make a page: formulas, policy, figures, style sheet, strip, recall."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from ext import access, figures, fonts, mathml, page, policy, sheet, strip
from tools.chapters import ROOT


def soup(html: str) -> BeautifulSoup:
    return BeautifulSoup(html, "html.parser")


def context(name: str = "notebooks/01_tokens") -> dict:
    chapters = ["notebooks/01_tokens", "notebooks/06_position_encoding"]
    up = "../" * name.count("/")
    return {
        "pagename": name,
        "chapters": chapters,
        "image_files": {},
        "pathto": lambda target, resource=0: (
            up + target + ("" if resource else ".html")
        ),
    }


# ---- formulas ------------------------------------------------------------------------


def test_a_formula_becomes_mathml_with_its_letters():
    text = mathml.to_mathml(r"\frac{q \cdot k}{\sqrt{d}}", display=False)
    assert text.startswith("<math")
    for part in ("<mfrac>", "<msqrt>", "<mi>q</mi>", "<mi>d</mi>"):
        assert part in text


def test_a_numbered_environment_is_not_numbered_twice():
    text = mathml.to_mathml(r"\begin{align} a &= b \end{align}", display=True)
    assert "(1)" not in BeautifulSoup(text, "html.parser").get_text()


def test_a_formula_that_is_no_tex_is_an_error_with_its_name():
    with pytest.raises(ValueError, match="nosuchcommand"):
        mathml.to_mathml(r"\nosuchcommand{x}", display=False)


# ---- the policy ----------------------------------------------------------------------


def test_inline_code_is_moved_or_dropped(tmp_path):
    made = soup(
        "<html><head><style>p{color:red}</style></head><body>"
        '<script>alert(1)</script><script type="application/json">{}</script>'
        '<p style="width: 3px;" class="a">x</p></body></html>'
    )
    policy.obey(made, context(), tmp_path / "_static")
    assert made.find("style") is None
    assert [s["type"] for s in made.find_all("script")] == ["application/json"]
    assert made.p["data-style"] == "width: 3px"
    assert not made.p.has_attr("style")
    (link,) = made.find_all("link")
    moved = tmp_path / "_static" / link["href"].split("_static/")[1]
    assert moved.read_text(encoding="utf-8") == "p{color:red}"


def test_a_style_attribute_comes_back_as_a_rule():
    rules = sheet.style_rules({"width: 3px", 'content: "x"'})
    assert '[data-style="width: 3px"]{width: 3px!important}' in rules
    assert r'[data-style="content: \"x\""]' in rules


# ---- the style sheet -----------------------------------------------------------------

PAGE = '<html><body class="on"><p id="one" data-x="1">a</p></body></html>'


@pytest.mark.parametrize(
    ("css", "kept"),
    [
        ("p{color:red}", True),
        ("table{color:red}", False),
        (".on p{color:red}", True),
        (".off p{color:red}", False),
        ("#one{color:red}", True),
        ("#two{color:red}", False),
        ("[data-x]{color:red}", True),
        ("[data-y]{color:red}", False),
        ("[data-bs-toggle]{color:red}", False),
        ("p:hover{color:red}", True),
        ("@media print{p{color:red}}", True),
        ("@media print{table{color:red}}", False),
    ],
)
def test_only_rules_that_can_match_are_kept(css, kept):
    used = sheet.used_by([PAGE])
    rules = sheet.tinycss2.parse_stylesheet(css, True, True)
    assert ("color:red" in sheet.purged(rules, used.names, str)) == kept


def test_of_several_selectors_only_the_matching_ones_stay():
    rules = sheet.tinycss2.parse_stylesheet("p,table{color:red}", True, True)
    text = sheet.purged(rules, sheet.used_by([PAGE]).names, str)
    assert text == "p{color:red}"


def test_variables_that_nobody_reads_go_even_in_chains():
    css = ":root{--a:1;--b:var(--a);--c:2}p{width:var(--c)}"
    assert sheet.without_unused_variables(css, "") == ":root{--c:2}p{width:var(--c)}"
    assert "--b" in sheet.without_unused_variables(css, "q{top:var(--b)}")


def test_the_font_of_formulas_holds_what_is_drawn_and_little_more(tmp_path):
    from fontTools.ttLib import TTFont

    name = fonts.subset_font(
        fonts.VENDOR / "latinmodern-math.otf", fonts.drawn("q+"), tmp_path
    )
    letters = TTFont(tmp_path / name).getBestCmap()
    assert {0x71, 0x2B, 0x1D45E} <= set(letters)  # q, plus, italic q
    assert 0x61 not in letters
    assert (tmp_path / name).stat().st_size < 10_000


# ---- figures -------------------------------------------------------------------------

SVG = (
    '<svg width="72pt" height="36pt"><!-- Matplotlib --><style type="text/css">*{}'
    '</style><g id="patch_1">\n<path d="M0" style="fill: #ffffff"/></g>'
    '<path style="stroke: #1a1a1a"/><path style="fill: #0072b2"/></svg>'
)


def test_a_figures_ink_follows_the_page_and_its_data_keep_their_colours():
    made = figures.adapted(SVG)
    assert "stroke: currentColor" in made
    assert "fill: none" in made
    assert "fill: #0072b2" in made
    assert "prefers-color-scheme:dark" in made
    assert figures.adapted(made) == made


def test_a_figure_of_others_is_left_alone():
    assert figures.adapted("<svg><style></style></svg>") == "<svg><style></style></svg>"


def test_figures_keep_room_load_late_and_must_have_words(tmp_path, caplog):
    path = tmp_path / "f.svg"
    path.write_text(SVG, encoding="utf-8")
    words = "Two curves that fall and meet."
    made = soup(f'<article><img src="f.svg" alt="{words}"/>' * 2 + "</article>")
    given = {**context(), "image_files": {"f.svg": path}}
    figures.place(made, given, tmp_path)
    first, second = made.find_all("img")
    assert (first["width"], first["height"]) == ("96", "48")
    assert not first.has_attr("loading")
    assert second["loading"] == "lazy"


# ---- people who cannot see or point --------------------------------------------------


def test_folds_become_details_without_scripts():
    made = soup(
        '<div class="admonition dropdown"><p class="admonition-title">T <a>x</a></p>'
        "<p>inside</p></div>"
    )
    access.mend(made, context(), Path())
    assert made.details.summary.get_text() == "T x"
    assert made.find("a") is None
    assert "dropdown" not in made.details["class"]


def test_a_table_scrolls_in_a_box_that_keys_reach_and_that_has_a_name():
    made = soup(
        "<article><table><thead><tr><th>word</th><th>id</th></tr></thead></table>"
        "</article>"
    )
    access.mend(made, context(), Path())
    box = made.select_one(".table-box")
    assert box["tabindex"] == "0"
    assert box["aria-label"] == "Table: word, id"
    access.mend(made, context(), Path())
    assert len(made.select(".table-box")) == 1


def test_an_id_stands_once():
    made = soup('<p id="a">1</p><p id="a">2</p>')
    access.mend(made, context(), Path())
    assert [p.get("id") for p in made.find_all("p")] == ["a", None]


# ---- the strip and the description ---------------------------------------------------


def test_the_strip_lights_this_chapter_links_written_ones_and_replaces_the_words():
    made = soup("<article><h1>Tokens</h1><p>text → pieces</p><p>A</p></article>")
    strip.add(made, context(), Path())
    (nav,) = made.select("nav.stages")
    assert [a["href"] for a in nav.select("a")] == [
        "../notebooks/01_tokens.html",
        "../notebooks/06_position_encoding.html",
    ]
    assert nav.select_one("[aria-current]").get_text() == "1 pieces and ids"
    assert len(nav.select("li")) == 10
    assert [p.get_text() for p in made.find_all("p")] == ["A"]


def test_pages_that_are_no_chapters_have_no_strip():
    made = soup("<article><h1>Names</h1></article>")
    strip.add(made, context("book/names"), Path())
    assert made.find("nav") is None


def test_a_long_description_ends_with_a_whole_word():
    inner = f"<section><p>{'word ' * 60}</p></section>"
    made = soup(f'<article class="bd-article">{inner}</article>')
    text = page.description(made)
    assert len(text) <= 156
    assert text.endswith("word…")


# ---- recall questions ----------------------------------------------------------------

QUESTION = """# Page

:::{recall} Which one?
1. this
2. that

<details><summary>Answers</summary>

1. *Some belief.* It is not so.
2. **Right.** It is so.

</details>
:::
"""
CONF = """
import sys
sys.path.insert(0, r"{root}")
extensions = ["myst_parser", "recall_only"]
myst_enable_extensions = ["colon_fence"]
"""


def built(folder: Path, text: str, builder: str = "html") -> tuple[str, str]:
    """The page that Sphinx makes of a text, and what it warned of."""
    (folder / "index.md").write_text(text, encoding="utf-8")
    conf = CONF.format(root=ROOT) + f'sys.path.insert(0, r"{folder}")\n'
    (folder / "conf.py").write_text(conf, encoding="utf-8")
    module = "from ext.recall import setup\n"
    (folder / "recall_only.py").write_text(module, encoding="utf-8")
    command = [sys.executable, "-m", "sphinx", "-q", "-b", builder, ".", "out"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    suffix = {"html": "html", "text": "txt"}[builder]
    return (folder / "out" / f"index.{suffix}").read_text("utf-8"), done.stderr


def test_a_question_becomes_radio_buttons_each_with_its_sentence(tmp_path):
    html, said = built(tmp_path, QUESTION)
    assert "recall" not in said
    (box,) = soup(html).select("fieldset.recall")
    assert box.legend.get_text(strip=True) == "Which one?"
    radios = box.select("input[type=radio]")
    assert len({radio["name"] for radio in radios}) == 1
    wrong, right = box.select(".recall-says")
    assert wrong["role"] == right["role"] == "status"
    assert wrong.get_text(" ", strip=True).startswith("Not this one. Some belief.")
    assert right.get_text(" ", strip=True) == "Right. It is so."


def test_other_builders_get_the_two_lists(tmp_path):
    text, said = built(tmp_path, QUESTION, "text")
    assert "recall" not in said
    assert "Which one?" in text and "2. that" in text and "It is so." in text


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("**Right.** It is", "*Other.* It is", "has 0 answers that begin with"),
        ("*Some belief.* It", "**Right.** It", "has 2 answers that begin with"),
        ("2. that\n", "2. that\n3. more\n", "has 3 options but 2 answers"),
        ("*Some belief.* It is not so.", "No.", "must begin with *the misconception"),
        ("*Some belief.* It is not so.", "*Some belief.*", "has no sentence that says"),
        ("</details>\n", "", "must fold its answers"),
    ],
)
def test_a_question_out_of_form_is_a_warning(tmp_path, old, new, said):
    assert old in QUESTION
    _, warned = built(tmp_path, QUESTION.replace(old, new))
    assert said in warned
