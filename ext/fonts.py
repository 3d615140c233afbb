"""Fonts with only the letters that the book writes."""

from __future__ import annotations

import hashlib
import logging
import re
from pathlib import Path

VENDOR = Path(__file__).parent / "vendor"
RADICAL, PLANCK = 0x221A, 0x210E  # msqrt draws the first; italic h is the second
ITALICS = (
    (0x41, 0x5A, 0x1D434), (0x61, 0x7A, 0x1D44E),
    (0x391, 0x3A9, 0x1D6E2), (0x3B1, 0x3C9, 0x1D6FC),
)  # fmt: skip
ICON = re.compile(r"\\(e[0-9a-f]{3}|f[0-9a-f]{3})\b")
FACE = re.compile(r"@font-face\s*\{[^}]*\}")


def subset_faces(css: str, static: Path, math: str) -> str:
    """A style sheet whose fonts hold what is drawn with them, and no unused face.

    static: where the theme's fonts lie and the subsets go; math: all text of formulas.
    """
    icons = {int(code, 16) for code in ICON.findall(css)}
    icons |= {ord(c) for c in css if "\ue000" <= c <= "\uf8ff"}

    def face(match: re.Match[str]) -> str:
        url = re.search(r"url\(([^)]+\.woff2)\)", match[0])
        source = face_source(url[1], static) if url else None
        if source is None:
            return ""
        wanted = drawn(math) if source.parent == VENDOR else icons
        name = subset_font(source, wanted, static)
        return one_face(match[0], name) if name else ""

    return FACE.sub(face, css)


def face_source(url: str, static: Path) -> Path | None:
    """The file of a face, or None for a face that the book never uses."""
    if "math.woff2" in url:
        return VENDOR / "latinmodern-math.otf"
    if "Temml" in url or "regular" in url or "v4compat" in url:
        return None  # script capitals; the outline style of icons
    return static / url


def one_face(block: str, name: str) -> str:
    """A face rule for a subset: text is shown at once, in another font if need be."""
    block = re.sub(r"src:[^;}]*", f'src:url({name}) format("woff2")', block)
    block = block.replace("font-display:block", "font-display:swap")
    return (
        block if "font-display" in block else block.replace("}", ";font-display:swap}")
    )


def drawn(math: str) -> set[int]:
    """The code points a browser draws for the text of MathML.

    A single letter in <mi> is drawn italic, from a plane of its own.
    """
    points = {ord(c) for c in math if not c.isspace()}
    for first, last, italic in ITALICS:
        points |= {p - first + italic for p in points if first <= p <= last}
    return points | {RADICAL, PLANCK}


def subset_font(source: Path, points: set[int], static: Path) -> str | None:
    """Write the part of a font that draws `points`; its name, or None for nothing."""
    from fontTools import subset  # type: ignore[import-untyped]

    logging.getLogger("fontTools").setLevel(logging.ERROR)
    options = subset.Options(flavor="woff2", hinting=False, notdef_outline=True)
    options.layout_features, options.recalc_timestamp = ["*"], False
    options.drop_tables += ["FFTM", "DSIG"]
    font = subset.load_font(str(source), options)
    wanted = sorted(points & set(font.getBestCmap()))
    if "brands" in source.name or not wanted:  # no icon of ours is a brand's
        font.close()
        return None
    cutter = subset.Subsetter(options)
    cutter.populate(unicodes=wanted)
    cutter.subset(font)
    target = static / "_subset.woff2"
    subset.save_font(font, str(target), options)
    digest = hashlib.sha256(target.read_bytes()).hexdigest()[:8]
    name = f"{source.stem}.{digest}.woff2"
    target.replace(static / name)
    font.close()
    return name
