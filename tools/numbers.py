"""Numbers in prose that nothing in the book backs (`make check`).

A number counts when it has a unit, a percent sign, a decimal point or three digits. It
is backed by a compared cell's output that prints it, in one of the three cells before
the text, or by a citation in its own sentence: a {cite} role or a link to a DOI or to
arXiv. What else has to stand is in tools/numbers_allowed.txt, with a reason.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

from tools.chapters import (
    COMPARED,
    ROOT,
    Cell,
    Problem,
    name_of,
    notebooks,
    read,
    report,
    source,
    tags,
)

LOOK_BACK = 3
MOST_ALLOWED = 20
ALLOWED = Path("tools/numbers_allowed.txt")
CITED = "\N{REFERENCE MARK}"  # stands for a citation once the markup is gone

LISTINGS = ("code", "code-block", "code-cell", "math", "bibliography", "raw")
PICTURES = ("figure", "image")
FENCE = re.compile(r"(`{3,}|~{3,}|:{3,})\s*(?:\{([\w:-]+)\})?\s*(.*)")
UNITS = (
    r"%|‰|°|×(?!\s*\d)|percent\b|per cent\b|degrees?\b|times\b|[nµm]?s\b|sec\b"
    r"|seconds?\b|min\b|minutes?\b|hours?\b|days?\b|weeks?\b|years?\b|[kKMGT]i?B\b"
    r"|bytes?\b|bits?\b|[kMG]\b|[kMG]?Hz\b|thousand\b|million\b|billion\b|trillion\b"
)
SPACES = "\u00a0\u2009\u202f "  # no-break, thin, narrow and ordinary
UNIT = re.compile(rf"[{SPACES}-]?(?:{UNITS})")
NUMBER = re.compile(
    rf"(?:(?<![\w.)\]])[-−])?(?<![\w.,])"
    rf"(?:(?:\d{{1,3}}(?:[,{SPACES}]\d{{3}})+(?!\d)|\d+)(?:\.\d+)?|\.\d+)"
    r"(?:e[+-]?\d+)?",
    flags=re.I,
)
NAME = re.compile(r"(?<!\w)[^\W\d_]\w*(?:[-.]\w+)*")  # SmolLM2-135M, GPT-2, x86-64
PRINTED = re.compile(
    r"(?:(?<![\w)])[-−])?(?:\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?"
    r"|(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)",
    flags=re.I,
)
SENTENCE_END = re.compile(
    r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)(?<!cf\.)(?<!vs\.)(?<!al\.)[\"”’)*_]*\s+"
    r"(?=[\"“‘(*_]*[A-ZÀ-Þ0-9])"
)


def value(text: str) -> Decimal:
    """The number meant by `49,152`, `49 152`, `−.583`, `0.583` or `1e-05`."""
    return Decimal(re.sub(f"[,{SPACES}]", "", text).replace("−", "-"))


def plain(text: str) -> str:
    """Prose without code, math, addresses and options; citations become a mark."""
    text = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.S)
    text = re.sub(r"<!--.*?-->", " ", text, flags=re.S)
    text = without_listings(text)
    text = re.sub(r"\$\$.*?\$\$|(?<!\\)\$[^$\n]+\$", " ", text, flags=re.S)
    text = re.sub(r"\{cite[\w:]*\}`[^`]*`", CITED, text)
    text = re.sub(r"\{[\w:-]+\}`[^`]*`", " ", text)
    text = re.sub(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)", " ", text, flags=re.S)
    paper = r"https?://(?:dx\.|www\.)?(?:doi|arxiv)\.org/[^\s)>\]]*"
    text = re.sub(rf"\]\({paper}\)|<?{paper}>?", CITED, text)
    text = re.sub(r"\]\([^)\s]*\)|<?https?://[^\s)>\]]*>?", " ", text)
    text = re.sub(r"</?[a-zA-Z][^>]*>", " ", text)
    return re.sub(r"\b\d\d_[a-z]\w*", " ", text)


def without_listings(text: str) -> str:
    """Drop code blocks whole; of other directives only the fence and the options."""
    kept: list[str] = []
    skipping, depth = "", 0
    for line in text.splitlines():
        bare = line.strip()
        fence = FENCE.fullmatch(bare)
        if skipping:
            skipping = "" if bare == skipping else skipping
        elif fence:
            marks, name, rest = fence[1], fence[2], fence[3]
            closes = not name and not rest and depth > 0
            code = not name and not closes and marks[0] != ":"
            if code or name in LISTINGS:
                skipping = marks
            else:
                depth += -1 if closes else 1
            title = name and name not in LISTINGS and name not in PICTURES
            kept.append(f"\n{rest}\n" if title else "")
        elif not re.match(r":[\w-]+:( |$)", bare):
            kept.append(line)
    return "\n".join(kept)


def sentences(text: str) -> Iterator[str]:
    """The sentences of a plain text; list items, rows and headings stand alone."""
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*+|#>]\s?|\d+\.\s))", text):
        yield from SENTENCE_END.split(" ".join(block.split()))


def claims(text: str) -> Iterator[tuple[str, str]]:
    """Every number that counts and stands in a sentence without a citation."""
    for sentence in sentences(plain(text)):
        names = [match.span() for match in NAME.finditer(sentence)]
        for match in NUMBER.finditer(sentence) if CITED not in sentence else ():
            number, after = match[0], match.end()
            exact = "." in number or "e" in number.lower()
            counts = exact or len(re.sub(r"\D", "", number)) >= 3
            in_name = any(start < match.start() < end for start, end in names)
            if not in_name and (counts or UNIT.match(sentence, after)):
                yield number, sentence


def printed(cells: list[Cell]) -> set[Decimal]:
    """The numbers in the stored outputs of the compared cells."""
    found: set[Decimal] = set()
    for cell in cells:
        if cell["cell_type"] != "code" or COMPARED not in tags(cell):
            continue
        for output in cell.get("outputs", []):
            data = output.get("data", {}).get("text/plain", [])
            text = "".join(output.get("text", [])) + " " + "".join(data)
            for number in PRINTED.findall(text):
                # `12,345` may be one number or, in a list, two: both are backed
                found |= {value(number), *map(value, number.split(","))}
    return found


def unbacked(root: Path) -> Iterator[tuple[Problem, str, Decimal]]:
    """Every number in prose without a backing: what to say, its file, its value."""
    for path in notebooks(root):
        cells = read(path)["cells"]
        for index, cell in enumerate(cells):
            if cell["cell_type"] != "markdown":
                continue
            backed = printed(cells[max(0, index - LOOK_BACK) : index + 1])
            for number, sentence in claims(source(cell)):
                if value(number) not in backed:
                    problem = Problem(name_of(path, index), f"{number} in: {sentence}")
                    yield problem, f"notebooks/{path.name}", value(number)
    for path in sorted((root / "book").glob("*.md")):
        for number, sentence in claims(path.read_text(encoding="utf-8")):
            problem = Problem(f"book/{path.name}", f"{number} in: {sentence}")
            yield problem, f"book/{path.name}", value(number)


def allowed(root: Path) -> tuple[dict[tuple[str, Decimal], int], list[Problem]]:
    """The exceptions with their line numbers, and what is wrong with the list."""
    found: dict[tuple[str, Decimal], int] = {}
    problems: list[Problem] = []
    path = root / ALLOWED
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    for count, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = [field.strip() for field in line.split("|")]
        try:
            name, number, reason = fields
            found[name, value(number)] = count
        except (ValueError, ArithmeticError):
            reason = ""
        if not reason:
            what = f"line {count} is not `file | number | reason`"
            problems.append(Problem(ALLOWED.as_posix(), what))
    if len(found) > MOST_ALLOWED:
        what = f"has {len(found)} entries, more than {MOST_ALLOWED}"
        problems.append(Problem(ALLOWED.as_posix(), what))
    return found, problems


def numbers(root: Path) -> list[Problem]:
    """Numbers without backing, and exceptions that nothing needs any more."""
    exceptions, problems = allowed(root)
    used = set()
    for problem, name, number in unbacked(root):
        if (name, number) in exceptions:
            used.add((name, number))
        else:
            problems.append(problem)
    for key in exceptions.keys() - used:
        what = f"line {exceptions[key]} is not needed: {key[0]} | {key[1]}"
        problems.append(Problem(ALLOWED.as_posix(), what))
    return problems


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="numbers", description=__doc__)
    parser.add_argument("--root", type=Path, default=ROOT, help="of the book")
    options = parser.parse_args(arguments)
    good = "every number in prose is printed by a compared cell or cited."
    return report("numbers", numbers(options.root), good)


if __name__ == "__main__":
    sys.exit(main())
