"""One function a figure. Each draws on opaque white and returns the figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

INK, GREY, PALE = "#1a1a1a", "#6b6b6b", "#eef1f4"
BLUE, ORANGE, GREEN, PINK = "#0072B2", "#D55E00", "#009E73", "#CC79A7"


def canvas(width: float, height: float) -> Figure:
    """A white figure of a size in inches, with text of at least 9 points."""
    import matplotlib.pyplot as plt

    return plt.figure(
        figsize=(width, height), facecolor="white", layout="constrained", dpi=120
    )


def shown(piece: bytes) -> str:
    """A piece as readers see it: a space as ␣, half a character as its bytes."""
    try:
        return piece.decode("utf-8").replace(" ", "␣")
    except UnicodeDecodeError:
        return piece.hex(" ")


def token_boxes(rows: Sequence[tuple[str, Sequence[bytes]]]) -> Figure:
    """Rows of boxes, one box a token, as wide as its text; equal text stands aligned.

    rows: (label, pieces of one and the same text). Boxes that hold a whole word, with
    its space, are drawn strong: there the word has come together.
    """
    figure = canvas(7.2, 0.5 * len(rows) + 0.3)
    axes = figure.add_subplot()
    words = {word for word in b"".join(rows[0][1]).replace(b" ", b"\0 ").split(b"\0")}
    for y, (label, pieces) in enumerate(rows):
        left = 0
        for piece in pieces:
            width = len(shown(piece))
            whole = piece in words
            axes.add_patch(
                _box(left, y, width, BLUE if whole else GREY, 1.8 if whole else 0.9)
            )
            axes.text(
                left + width / 2, y, shown(piece), ha="center", va="center",
                family="monospace", fontsize=10, color=INK,
            )  # fmt: skip
            left += width
        axes.text(-0.6, y, label, ha="right", va="center", fontsize=10, color=INK)
        axes.text(left + 0.6, y, str(len(pieces)), va="center", fontsize=10, color=INK)
    axes.set(xlim=(-8.5, left + 2.5), ylim=(len(rows) - 0.4, -0.6))
    axes.axis("off")
    return figure


def _box(left: float, y: float, width: float, colour: str, line: float) -> Patch:
    from matplotlib.patches import FancyBboxPatch

    return FancyBboxPatch(
        (left + 0.12, y - 0.33), width - 0.24, 0.66, linewidth=line, edgecolor=colour,
        facecolor=PALE, boxstyle="round,pad=0,rounding_size=0.2",
    )  # fmt: skip


def row_strips(
    sentences: Sequence[NDArray[Any]],
    labels: Sequence[Sequence[str]],
    framed: int,
    n_numbers: int,
) -> Figure:
    """The first numbers of every token's row as colour, one strip a sentence.

    sentences: (T, C) arrays; labels: T words each; `framed`: the column to frame.
    Blue is below zero, red above, white is zero.
    """
    figure = canvas(7.2, 3.6)
    axes = figure.subplots(1, len(sentences), sharey=True)
    reach = max(np.abs(rows[:, :n_numbers]).max() for rows in sentences)
    for panel, rows, words in zip(axes, sentences, labels):
        picture = panel.imshow(
            rows[:, :n_numbers].T, cmap="RdBu_r", vmin=-reach, vmax=reach, aspect="auto"
        )
        panel.set_xticks(range(len(words)), words, rotation=60, ha="right", fontsize=10)
        panel.tick_params(length=0)
        panel.axvspan(
            framed - 0.5, framed + 0.5, fill=False, edgecolor=INK, linewidth=2
        )
    axes[0].set_ylabel("number in the row", fontsize=10)
    axes[0].set_yticks([0, n_numbers - 1], ["1", str(n_numbers)], fontsize=9)
    bar = figure.colorbar(picture, ax=axes, shrink=0.8, pad=0.01)
    bar.ax.tick_params(labelsize=9)
    return figure


def cosine_baseline(
    crowds: Mapping[str, NDArray[Any]], marks: Mapping[str, float]
) -> Figure:
    """Histograms of the cosines of random pairs, with single pairs marked.

    crowds: label -> cosines of many pairs; marks: label -> the cosine of one pair.
    """
    figure = canvas(7.2, 3.4)
    axes = figure.add_subplot()
    bins = np.linspace(-0.2, 1, 61)
    styles = [(GREY, "--"), (BLUE, "-")]
    for (label, cosines), (colour, dash) in zip(crowds.items(), styles):
        heights, _ = np.histogram(cosines, bins, density=True)
        axes.stairs(heights, bins, color=colour, linestyle=dash, linewidth=1.8)
        top = int(heights.argmax())
        axes.annotate(
            label, (bins[top], heights[top]), xytext=(0, 6), ha="center",
            textcoords="offset points", color=colour, fontsize=10,
        )  # fmt: skip
    height = axes.get_ylim()[1]
    for n, (label, value) in enumerate(marks.items()):
        axes.axvline(value, ymax=0.55, color=ORANGE, linewidth=1.6)
        side = "left" if n % 2 == 0 else "right"
        text = f" {label} {value:.2f} "
        axes.text(value, height * 0.5, text, ha=side, color="#9C4300", fontsize=10)
    axes.set(xlabel="cosine of two rows", xlim=(-0.2, 1), ylim=(0, height * 1.12))
    axes.set_yticks([])
    axes.set_ylabel("share of pairs", fontsize=10)
    axes.spines[["top", "right", "left"]].set_visible(False)
    return figure
