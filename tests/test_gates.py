"""Each gate fails on the smallest input that is wrong, and says what is wrong.

Every test starts from a small book that passes and breaks one thing in it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from ext import execution
from tools import chapters, gates, hygiene, numbers, outputs, serve, setup, sync

MODULE = '''"""Small numbers."""

ROW = 3


def double(x: int) -> int:
    """Twice x."""
    return _twice(x)


def _twice(x: int) -> int:
    return 2 * x
'''


def text(source: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": source}


def code(source: str, *tags: str, printed: str = "") -> dict[str, Any]:
    stream = {"output_type": "stream", "name": "stdout", "text": printed}
    return {
        "cell_type": "code",
        "metadata": {"tags": list(tags)} if tags else {},
        "source": source,
        "execution_count": 1 if printed else None,
        "outputs": [stream] if printed else [],
    }


def small_chapter() -> list[dict[str, Any]]:
    """A chapter of 25 cells, 10 of them compared, that breaks no rule."""
    cells = [text("# Small numbers"), code("import math")]
    cells.append(code("# kept in contextual/tokens.py\n" + MODULE.split("\n\n\n")[1]))
    cells.append(code("# kept in contextual/tokens.py\nROW = 3"))
    for n in range(10):
        printed = f"{n + 0.25}\n"
        cells.append(code("print(0)", chapters.COMPARED, printed=printed))
        cells.append(text(f"That printed {n + 0.25}."))
    return [*cells, text("The end.")]


def small_practice() -> list[dict[str, Any]]:
    """Five recall questions and two checked exercises with solutions."""
    cells = [text("## Recall"), *[text(":::{recall} Why?\n:::")] * 5]
    for name in ("one", "two"):
        cells.append(code(f'check("{name}", f)', chapters.COMPARED, printed="no\n"))
        cells.append(text(f"```{{solution-start}} ex-{name}\n```"))
        cells.append(code(f'check("{name}", g)', chapters.COMPARED, printed="yes\n"))
        cells.append(text("```{solution-end}\n```"))
    return cells


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """A small book that passes every gate."""
    for folder in ("contextual", "notebooks", "book", "tools"):
        (tmp_path / folder).mkdir()
    (tmp_path / "contextual" / "tokens.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "book" / "index.md").write_text("# A book\n", encoding="utf-8")
    toc = "root: book/index\nchapters:\n  - file: notebooks/01_tokens\n"
    (tmp_path / "_toc.yml").write_text(toc, encoding="utf-8")
    save(tmp_path, small_chapter())
    return tmp_path


def save(book: Path, cells: list[dict[str, Any]]) -> Path:
    path = book / "notebooks" / "01_tokens.ipynb"
    asks = any("## Recall" in cell["source"] for cell in cells)
    chapters.write(path, {"cells": [*cells, *([] if asks else small_practice())]})
    return path


def found(problems: list[chapters.Problem]) -> str:
    return "\n".join(map(str, problems))


def test_the_small_book_passes_every_gate(book):
    assert found(sync.sync(book, check=True)) == ""
    assert found(hygiene.hygiene(book)) == ""
    assert found(numbers.numbers(book)) == ""


# Kept cells


def test_sync_fails_with_a_diff_when_a_kept_cell_differs(book):
    cells = small_chapter()
    cells[2]["source"] = cells[2]["source"].replace("Twice x", "Two times x")
    save(book, cells)
    message = found(sync.sync(book, check=True))
    assert "01_tokens.ipynb: cell 3" in message
    assert '-    """Two times x."""' in message
    assert '+    """Twice x."""' in message


def test_sync_rewrites_the_cell_from_the_package_and_then_passes(book):
    path = book / "contextual" / "tokens.py"
    path.write_text(MODULE.replace("Twice x", "x and x"), encoding="utf-8")
    assert found(sync.sync(book)) == ""
    cell = chapters.read(book / "notebooks" / "01_tokens.ipynb")["cells"][2]
    assert "x and x" in chapters.source(cell)
    assert chapters.source(cell).startswith("# kept in contextual/tokens.py\ndef ")
    assert path.read_text(encoding="utf-8") == MODULE.replace("Twice x", "x and x")


def test_sync_turns_a_bare_name_below_the_head_into_its_source(book):
    cells = small_chapter()
    cells[2]["source"] = "# kept in contextual/tokens.py\ndouble"
    save(book, cells)
    assert found(sync.sync(book)) == ""
    assert found(sync.sync(book, check=True)) == ""


def test_sync_takes_decorators_and_the_comment_right_above(book):
    lines = "# In one place.\n@functools.cache\ndef double(x: int) -> int:"
    module = MODULE.replace("def double(x: int) -> int:", lines)
    (book / "contextual" / "tokens.py").write_text(module, encoding="utf-8")
    sync.sync(book)
    cell = chapters.read(book / "notebooks" / "01_tokens.ipynb")["cells"][2]
    assert chapters.source(cell).split("\n", 1)[1].startswith(lines)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda cells: cells.pop(2), "double is public, but no chapter teaches it"),
        (lambda cells: cells.pop(3), "ROW is public, but no chapter teaches it"),
        (lambda cells: cells.append(cells[2]), "double is taught more than once"),
        (
            lambda cells: cells[2]["metadata"].update(tags=["hide-input"]),
            "never tagged hide-input",
        ),
        (
            lambda cells: cells.append(code("# kept in contextual/tokens.py\ndoubl")),
            "doubl is not in the module (near it: double)",
        ),
        (
            lambda cells: cells.append(code("# kept in contextual/nowhere.py\nx")),
            "there is no contextual/nowhere.py",
        ),
    ],
)
def test_sync_names_what_breaks_its_rules(book, change, message):
    cells = small_chapter()
    change(cells)
    save(book, cells)
    assert message in found(sync.sync(book, check=True))


def test_sync_waits_for_a_chapter_that_is_not_in_the_contents_yet(book, capsys):
    (book / "_toc.yml").write_text("root: book/index\n", encoding="utf-8")
    save(book, [text("# Nothing kept")])
    assert found(sync.sync(book, check=True)) == ""
    assert "contextual/tokens.py waits for 01_tokens." in capsys.readouterr().out


def test_sync_refuses_a_function_of_26_lines_and_a_class_that_computes(book):
    module = MODULE.replace('    """Twice x."""\n', '    """Twice x."""\n' + "\n" * 22)
    (book / "contextual" / "tokens.py").write_text(module, encoding="utf-8")
    assert "double has 26 lines, more than 25" not in found(sync.sync(book))
    module = MODULE.replace('    """Twice x."""\n', '    """Twice x."""\n' + "\n" * 23)
    (book / "contextual" / "tokens.py").write_text(module, encoding="utf-8")
    assert "double has 26 lines, more than 25" in found(sync.sync(book))

    delegates = (
        "class Rows:\n" + '    """Rows."""\n\n    def go(self):\n        f()\n' * 7
    )
    (book / "contextual" / "tokens.py").write_text(delegates, encoding="utf-8")
    save(book, [code("# kept in contextual/tokens.py\nRows")])
    assert found(sync.sync(book)) == ""
    steps = delegates + "        g()\n" * 5
    (book / "contextual" / "tokens.py").write_text(steps, encoding="utf-8")
    assert "go has 6 statements" in found(sync.sync(book))
    (book / "contextual" / "tokens.py").write_text(delegates + "\n" * 18 + "    x = 1")
    assert "more than 45" in found(sync.sync(book))


# Stored outputs


def output(kind: str, **fields: Any) -> dict[str, Any]:
    return {"output_type": kind, **fields}


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        (output("error", ename="KeyError"), "stores an error (KeyError)"),
        (output("stream", name="stderr", text="!"), "written to stderr"),
        (output("display_data", data={"image/png": ""}), "stores a figure"),
        (
            output(
                "display_data", data={"application/vnd.jupyter.widget-view+json": 1}
            ),
            "stores a widget",
        ),
        (output("execute_result", data={"text/html": ""}), "stores text/html"),
        (
            output("execute_result", data={"text/plain": "<f at 0x7f3a>"}),
            "stores a memory address",
        ),
    ],
)
def test_hygiene_refuses_an_output_that_is_not_repeatable_text(book, stored, message):
    cells = small_chapter()
    cells[4]["outputs"] = [stored]
    save(book, cells)
    assert message in found(hygiene.hygiene(book))


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        (code("print(1)", printed="1\n"), "stores an output but is not tagged"),
        ({**code("1"), "execution_count": 3}, "stores an execution count but no"),
        (code("print(1)", chapters.COMPARED), "is compared but stores no output"),
        (
            {**code("1", chapters.COMPARED, printed="1"), "execution_count": None},
            "is compared but has no execution count: nbval would skip it silently",
        ),
        (code("x = 1\n" * 16), "has 16 lines of code, more than 15"),
        (code("x = 1\n" * 31, "hide-input"), "has 31 lines of code, more than 30"),
        (
            code("# kept in contextual/tokens.py\n" + "x = 1\n" * 26),
            "has 26 lines of code, more than 25",
        ),
        (
            code("# kept in contextual/tokens.py\nclass A:\n" + "    x = 1\n" * 45),
            "has 46 lines of code, more than 45",
        ),
        (code("from math import *"), "`from math import *`: hides where"),
        (code("!pip install x"), "`!pip`: installing is the set-up's work"),
        (code("%matplotlib inline"), "`%matplotlib`: is not needed"),
        (text("word " * 201), "has 201 words, more than 200"),
    ],
)
def test_hygiene_names_the_cell_that_breaks_a_rule(book, cell, message):
    save(book, [*small_chapter(), cell])
    assert f"01_tokens.ipynb: cell 26: {message}" in found(hygiene.hygiene(book))


@pytest.mark.parametrize(
    "cell",
    [
        code("x = 1\n" * 15),
        code("x = 1\n" * 30, "hide-input"),
        code("# kept in contextual/tokens.py\n" + "x = 1\n" * 25),
        text("word " * 200),
        text("```{note}\n:class: tip\n" + "word " * 90 + "\n```"),
    ],
)
def test_hygiene_accepts_what_is_exactly_at_a_limit(book, cell):
    save(book, [*small_chapter(), cell])
    assert found(hygiene.hygiene(book)) == ""


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (small_chapter()[:-1], "has 24 cells, not 25 to 45"),
        (small_chapter() + [text("x")] * 21, "has 46 cells, not 25 to 45"),
        (small_chapter()[:10] + [text("x")] * 15, "has 7 compared cells, fewer than 8"),
        (small_chapter() + [text("w " * 91)] * 2, "2 of 14 text cells have over 90"),
        (small_chapter() + [text("w " * 150)] * 15, "words, more than 2200"),
        (
            [small_chapter()[0], code("import math\nx = 1"), *small_chapter()[2:]],
            "cell 2: is the first code cell: it holds imports and nothing else",
        ),
    ],
)
def test_hygiene_names_the_chapter_that_breaks_a_rule(book, cells, message):
    save(book, cells)
    assert message in found(hygiene.hygiene(book))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda cells: cells[:5] + cells[6:], "has 4 recall questions, fewer than 5"),
        (lambda cells: cells[:-4], "has 1 exercises with check(…), not 2"),
        (lambda cells: cells[:-3], "exercise two needs a starter cell and a solution"),
        (
            lambda cells: [*cells[:-2], code("print(1)"), cells[-1]],
            "has a solution that is not compared",
        ),
        (lambda cells: [cells[0]], "has 0 recall questions, fewer than 5"),
    ],
)
def test_hygiene_wants_questions_and_checked_exercises(book, change, message):
    save(book, [*small_chapter(), *change(small_practice())])
    assert message in found(hygiene.hygiene(book))


def test_hygiene_does_not_count_widgets_and_practice_as_cells_to_read(book):
    save(book, [*small_chapter(), *[text("x")] * 20, code("Clock()", "widget")])
    assert found(hygiene.hygiene(book)) == ""


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("widgets", {}, "stores widget state"),
        ("kernelspec", {"name": "my-env"}, "not in the form that is committed"),
    ],
)
def test_hygiene_refuses_other_notebook_metadata(book, field, value, message):
    path = book / "notebooks" / "01_tokens.ipynb"
    notebook = json.loads(path.read_text(encoding="utf-8"))
    notebook["metadata"][field] = value
    path.write_text(json.dumps(notebook), encoding="utf-8")
    assert message in found(hygiene.hygiene(book))


def test_a_damaged_notebook_is_named_without_a_traceback(book):
    (book / "notebooks" / "01_tokens.ipynb").write_text("{", encoding="utf-8")
    assert "01_tokens.ipynb is not a notebook" in found(hygiene.hygiene(book))


# Running the chapters


def test_outputs_stores_compared_text_with_its_count_and_nothing_else(tmp_path):
    pytest.importorskip("ipykernel")
    cells = [
        text("# One"),
        code("import os"),
        code("print('not compared')"),
        code("print(1)\nprint(os.environ['OMP_NUM_THREADS'])\n2", chapters.COMPARED),
    ]
    path = tmp_path / "one.ipynb"
    done = outputs.strip(outputs.run({"cells": cells}, tmp_path), path)
    chapters.write(path, done)
    stored = json.loads(path.read_text(encoding="utf-8"))["cells"]
    assert (stored[2]["outputs"], stored[2]["execution_count"]) == ([], None)
    assert stored[3]["execution_count"] == 3
    assert stored[3]["outputs"][0]["text"] == ["1\n", "1\n"]
    assert stored[3]["outputs"][1]["data"] == {"text/plain": ["2"]}
    assert not chapters.write(path, done), "a second time changes nothing"


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        ([], "prints nothing"),
        ([output("stream", name="stderr", text="!")], "writes to stderr"),
        ([output("display_data", data={"image/png": ""})], "shows more than text"),
    ],
)
def test_outputs_refuses_to_store_a_figure_or_a_warning(stored, message):
    cell = {**code("x", chapters.COMPARED), "outputs": stored}
    with pytest.raises(ValueError, match=message):
        outputs.compared_outputs(cell, "01_tokens.ipynb: cell 4")


# Numbers in prose


@pytest.mark.parametrize(
    ("sentence", "number"),
    [
        ("It costs 21 %.", "21"),
        ("It costs 21 percent.", "21"),
        ("It takes 20 s.", "20"),
        ("It takes 2 GB.", "2"),
        ("It turns by 57°.", "57"),
        ("It is 0.5 now.", "0.5"),
        ("It is .583 now.", ".583"),
        ("It is −.26 now.", "−.26"),
        ("It has 576 columns.", "576"),
        ("It has 49,152 rows.", "49,152"),
        ("It has 49 152 rows.", "49 152"),
        ("A 135-million-parameter model.", "135"),
        ("It is 2e-16 at most.", "2e-16"),
        ("```{note}\nIt is 0.5 here.\n```", "0.5"),
        (":::{admonition} Half is 0.5\ntext\n:::", "0.5"),
        ("- one\n- it is 0.5 {cite}`b`\n- it is 0.7", "0.7"),
        ("It is 0.5 {cite}`paper2013`. It is 0.7.", "0.7"),
        ("See [a page](https://example.org/0.4), 0.5.", "0.5"),
    ],
)
def test_numbers_lists_a_number_that_nothing_backs(book, sentence, number):
    (book / "book" / "index.md").write_text(f"# A\n\n{sentence}\n", encoding="utf-8")
    problems = numbers.numbers(book)
    assert len(problems) == 1, found(problems)
    assert str(problems[0]).startswith(f"book/index.md: {number} in: ")


@pytest.mark.parametrize(
    "sentence",
    [
        "Three heads, 9 of them, 64 wide.",
        "It is 0.5 {cite}`paper2013`.",
        "It is 0.5 ([paper](https://doi.org/10.1000/182)).",
        "It is 0.5 (https://arxiv.org/abs/1301.3781).",
        "Code `0.5`, math $0.5$, $$0.25$$ and a role {math}`0.5`.",
        "```python\nx = 0.5\n```",
        "```{code-block} python\nx = 0.5\n```",
        "```{figure} images/100.png\n:width: 100%\nA picture\n```",
        "The names SmolLM2-135M, GPT-3.5 and UTF-16, in 01_tokens.",
        "[A page](https://example.org/2013/100) and <!-- 0.5 -->.",
        "A matrix of 2 × 3.",
    ],
)
def test_numbers_leaves_names_code_math_and_citations_alone(book, sentence):
    (book / "book" / "index.md").write_text(f"# A\n\n{sentence}\n", encoding="utf-8")
    assert found(numbers.numbers(book)) == ""


@pytest.mark.parametrize(
    ("printed", "prose", "backed"),
    [
        ("49152", "49,152 rows", True),
        ("49,152", "49 152 rows", True),
        ("0.583", ".583", True),
        ("-0.26", "−.26", True),
        ("-0.26", "0.26", False),
        ("0.583", "0.58", False),
        ("0.583", "583", False),
        ("[101,102]", "102 and 101", True),
        ("1e-05", "1e-5", True),
        ("21 %", "21 %", True),
    ],
)
def test_a_printed_number_backs_the_same_number_in_any_spelling(
    book, printed, prose, backed
):
    cells = small_chapter()
    cells[4] = code("x", chapters.COMPARED, printed=printed)
    cells[5] = text(f"There are {prose}.")
    save(book, cells)
    assert (found(numbers.numbers(book)) == "") is backed


def test_a_number_is_backed_by_the_three_cells_before_it_and_not_by_a_fourth(book):
    cells = small_chapter()[:4]
    cells.append(code("x", chapters.COMPARED, printed="0.123"))
    save(book, [*cells, text("a"), text("b"), text("It is 0.123.")])
    assert found(numbers.numbers(book)) == ""
    save(book, [*cells, text("a"), text("b"), text("c"), text("It is 0.123.")])
    assert "cell 9: 0.123" in found(numbers.numbers(book))


def test_an_output_of_a_cell_that_is_not_compared_backs_nothing(book):
    save(book, [code("x", printed="0.123"), text("It is 0.123.")])
    assert "cell 2: 0.123" in found(numbers.numbers(book))


def test_the_list_of_allowed_numbers_is_exact(book):
    (book / "book" / "index.md").write_text("It is 0.5.\n", encoding="utf-8")
    path = book / numbers.ALLOWED
    path.write_text("# why\nbook/index.md | .50 | a half\n", encoding="utf-8")
    assert found(numbers.numbers(book)) == ""
    path.write_text("book/index.md | .50 | a half\nbook/index.md | 7 | x\n")
    assert "line 2 is not needed: book/index.md | 7" in found(numbers.numbers(book))
    path.write_text("book/index.md | .50 |\n")
    assert "line 1 is not `file | number | reason`" in found(numbers.numbers(book))
    path.write_text("\n".join(f"book/index.md | {n} | x" for n in range(21)))
    assert "has 21 entries, more than 20" in found(numbers.numbers(book))


# The order of the gates, set-up, cache and server


def test_a_gate_that_fails_stops_the_run_with_its_sentence(monkeypatch, capfd):
    bad = gates.Gate("bad", ("json.tool", "--no-such-option"), "This is why.")
    never = gates.Gate("never", ("json.tool", "--help"), "")
    monkeypatch.setitem(gates.SETS, "few", [bad, never])
    assert gates.main(["few"]) == 1
    out = capfd.readouterr().out
    assert "== bad failed. This is why." in out
    assert "== never" not in out


def test_every_gate_is_in_make_test_and_pytest_comes_last():
    assert [gate.name for gate in gates.SETS["test"]] == [
        "ruff check",
        "ruff format",
        "types",
        "sync",
        "hygiene",
        "numbers",
        "build",
        "nbval",
        "pytest",
    ]
    quick = [gate.name for gate in gates.SETS["quick"]]
    assert "build" not in quick
    assert "nbval" not in quick


@pytest.mark.parametrize(
    ("module", "page"),
    [("tools.sync", "--check"), ("tools.hygiene", ""), ("tools.numbers", "")],
)
def test_a_gate_that_finds_something_exits_with_1(book, root, module, page):
    cells = small_chapter()
    cells[2]["source"] += "\n# more"
    cells[5]["source"] = "It is 0.999."
    cells[6]["execution_count"] = None
    save(book, cells)
    arguments = [*filter(None, [page]), "--root", str(book)]
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, cwd=root, capture_output=True, encoding="utf-8")
    assert done.returncode == 1, done.stdout
    assert "to put right" in done.stdout


def test_setup_refuses_an_old_python_with_a_sentence(monkeypatch):
    monkeypatch.setattr(setup, "OLDEST", (99, 0))
    with pytest.raises(SystemExit, match=r"needs Python 99\.0 or newer"):
        setup.make_venv()


def test_setup_is_done_once_and_again_when_a_requirement_changes(monkeypatch, tmp_path):
    for name in ("requirements.txt", "requirements-dev.txt", "pyproject.toml"):
        (tmp_path / name).write_text("torch==1.0\nnumpy==2.0\n", encoding="utf-8")
    calls: list[str] = []
    monkeypatch.setattr(setup, "ROOT", tmp_path)
    monkeypatch.setattr(setup, "STAMP", tmp_path / "stamp")
    monkeypatch.setattr(setup, "venv_version", lambda: "3.12")
    monkeypatch.setattr(setup, "install", lambda level, *rest: calls.append(level))
    monkeypatch.delenv("TORCH", raising=False)
    setup.main(["dev"])
    setup.main(["book"])  # dev holds all that book needs
    setup.main(["dev"])
    assert calls == ["dev"]
    (tmp_path / "requirements-dev.txt").write_text("more==1\n", encoding="utf-8")
    setup.main(["book"])  # needs nothing of the dev file
    assert calls == ["dev"]
    setup.main(["dev"])
    (tmp_path / "requirements.txt").write_text("numpy==2.1\n", encoding="utf-8")
    setup.main(["book"])
    assert calls == ["dev", "dev", "book"]
    monkeypatch.setenv("TORCH", "no")
    setup.main(["book"])
    monkeypatch.delenv("TORCH")
    setup.main(["book"])  # torch stays out until it is asked for
    assert calls == ["dev", "dev", "book", "book"]
    monkeypatch.setattr(setup, "venv_version", lambda: "3.13")
    setup.main(["book"])
    assert len(calls) == 5


def test_setup_leaves_torch_out_only_when_asked():
    with_torch = setup.requirements("dev", torch=True)
    without = setup.requirements("dev", torch=False)
    left_out = {line.split("==")[0] for line in set(with_torch) - set(without)}
    assert left_out == {"torch", "accelerate"}  # accelerate would bring torch along
    assert not [line for line in with_torch if line.startswith("-r")]


def test_the_cache_has_another_name_when_code_data_or_a_version_changes(
    book, monkeypatch
):
    (book / "requirements.txt").write_text("numpy==0\nnothing==1\n", encoding="utf-8")
    (book / "data").mkdir()
    keys = [execution.key(book)]
    assert execution.key(book) == keys[0]
    (book / "contextual" / "tokens.py").write_text("ROW = 4\n", encoding="utf-8")
    keys.append(execution.key(book))
    (book / "data" / "rows.npz").write_bytes(b"1")
    keys.append(execution.key(book))
    monkeypatch.setattr(execution, "version", lambda name: "9.9")
    keys.append(execution.key(book))
    assert len(set(keys)) == 4


def test_the_book_is_served_under_a_sub_path_and_nowhere_else(tmp_path):
    (tmp_path / "index.html").write_text("hello", encoding="utf-8")
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "index.html").write_text("book", encoding="utf-8")
    prefix = serve.as_prefix("x")
    pages = serve.server(tmp_path, 0, prefix)
    Thread(target=pages.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{pages.server_port}"
    try:
        with urllib.request.urlopen(f"{address}/x/index.html") as answer:
            assert answer.read() == b"hello"
        with urllib.request.urlopen(f"{address}/x/book") as answer:
            assert answer.read() == b"book"
            assert answer.url == f"{address}/x/book/"
        with pytest.raises(urllib.error.HTTPError, match="404") as refused:
            urllib.request.urlopen(f"{address}/y/index.html")
        refused.value.close()
    finally:
        pages.shutdown()
        pages.server_close()
