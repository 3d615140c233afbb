"""One function a figure. Each draws on opaque white and returns the figure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

INK, GREY, PALE = "#1a1a1a", "#6b6b6b", "#eef1f4"
WIDTH = 4.8  # inches: on a phone, where this is 350 pixels, 10.5 points are 11 pixels
BLUE, ORANGE, GREEN, PINK = "#0072B2", "#D55E00", "#009E73", "#CC79A7"


def canvas(width: float, height: float) -> Figure:
    """A white figure of a size in inches, with text of 10.5 points."""
    import matplotlib.pyplot as plt

    draw_as_svg()
    plt.rcParams["font.size"] = 10.5
    return plt.figure(
        figsize=(width, height), facecolor="white", layout="constrained", dpi=180
    )


def draw_as_svg() -> None:
    """In a notebook, figures are SVG: sharp at any size, the same bytes every time."""
    import matplotlib.pyplot as plt
    from matplotlib_inline.backend_inline import set_matplotlib_formats

    plt.rcParams["svg.hashsalt"] = "contextual"
    if "inline" in plt.get_backend():
        set_matplotlib_formats("svg", metadata={"Date": None})


def shown(piece: bytes) -> str:
    """A piece as readers see it: a space as ␣, half a character as its bytes."""
    try:
        return piece.decode("utf-8").replace(" ", "␣")
    except UnicodeDecodeError:
        return piece.hex(" ")


def token_boxes(rows: Sequence[tuple[str, Sequence[bytes]]]) -> Figure:
    """Rows of boxes, one box a token, as wide as its text; equal text stands aligned.

    rows: (label, pieces of one and the same text). A box that holds a whole word, with
    its space, is drawn strong: there the word has come together.
    """
    figure = canvas(WIDTH, 0.66 * len(rows) + 0.2)
    axes = figure.add_subplot()
    words = b"".join(rows[0][1]).replace(b" ", b"\0 ").split(b"\0")
    for y, (label, pieces) in enumerate(rows):
        axes.text(0, y - 0.5, f"{label}: {len(pieces)} tokens", va="center", color=INK)
        left = 0
        for piece in pieces:
            width = len(shown(piece))
            axes.add_patch(_box(left, y, width, strong=piece in words))
            axes.text(
                left + width / 2, y, shown(piece), ha="center", va="center",
                family="monospace", fontsize=10.5, color=INK,
            )  # fmt: skip
            left += width
    axes.set(xlim=(-0.1, left + 0.1), ylim=(len(rows) - 0.6, -0.75))
    axes.axis("off")
    return figure


def _box(left: float, y: float, width: float, strong: bool) -> Patch:
    from matplotlib.patches import FancyBboxPatch

    return FancyBboxPatch(
        (left + 0.08, y - 0.24), width - 0.16, 0.48,
        linewidth=2 if strong else 0.9, edgecolor=BLUE if strong else GREY,
        facecolor=PALE, boxstyle="round,pad=0,rounding_size=0.12",
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
    figure = canvas(WIDTH, 3.9)
    axes = figure.subplots(1, len(sentences), sharey=True)
    reach = max(np.abs(rows[:, :n_numbers]).max() for rows in sentences)
    for panel, rows, words in zip(axes, sentences, labels):
        picture = panel.imshow(
            rows[:, :n_numbers].T, cmap="RdBu_r", vmin=-reach, vmax=reach, aspect="auto"
        )
        panel.set_xticks(range(len(words)), words, rotation=90)
        panel.tick_params(length=0)
        panel.axvspan(
            framed - 0.5, framed + 0.5, fill=False, edgecolor=INK, linewidth=2
        )
    axes[0].set_ylabel("number in the row")
    axes[0].set_yticks([0, n_numbers - 1], ["1", str(n_numbers)])
    bar = figure.colorbar(picture, ax=axes, orientation="horizontal", shrink=0.6)
    bar.set_label("value")
    return figure


def cosine_baseline(
    crowds: Mapping[str, NDArray[Any]], marks: Mapping[str, float]
) -> Figure:
    """Histograms of the cosines of random pairs, with single pairs marked.

    crowds: label -> cosines of many pairs; marks: label -> the cosine of one pair.
    """
    figure = canvas(WIDTH, 3.2)
    axes = figure.add_subplot()
    bins = np.linspace(-0.2, 1, 61)
    styles = [(GREY, "--", "left"), (BLUE, "-", "right")]
    for (label, cosines), (colour, dash, side) in zip(crowds.items(), styles):
        heights, _ = np.histogram(cosines, bins, density=True)
        axes.stairs(heights, bins, color=colour, linestyle=dash, linewidth=1.8)
        shoulder = cosines.mean() + (1.4 if side == "left" else -1.4) * cosines.std()
        wrapped = label.replace(" ", "\n")
        axes.text(
            shoulder, heights.max() * 0.6, wrapped, ha=side, va="center", color=colour
        )
    axes.set(xlabel="cosine of two rows", ylabel="share of pairs", xlim=(-0.3, 1))
    axes.set_ylim(0)
    axes.set_yticks([])
    top = axes.get_ylim()[1]
    for label, value in marks.items():
        axes.axvline(value, color=ORANGE, linewidth=1.6)
        text = f"{label}\n{value:.2f}"
        axes.text(value, top * 1.02, text, ha="center", va="bottom", color="#9C4300")
    axes.spines[["top", "right", "left"]].set_visible(False)
    return figure


def cosines_over_layers(
    lines: Mapping[str, Sequence[float]], crowd: Sequence[NDArray[Any]]
) -> Figure:
    """Cosines of a few pairs after every layer, above the band of random pairs.

    lines: label -> (n_layers + 1,) cosines; crowd: the same number of arrays of the
    cosines of random pairs, drawn as mean ± one standard deviation.
    """
    figure = canvas(WIDTH, 3.4)
    axes = figure.add_subplot()
    layers = np.arange(len(crowd))
    mean = np.array([cosines.mean() for cosines in crowd])
    spread = np.array([cosines.std() for cosines in crowd])
    axes.fill_between(layers, mean - spread, mean + spread, color="#d4d8dc")
    axes.text(layers[-1] * 0.55, mean[len(mean) // 2] - 0.2, "random pairs", color=INK)
    styles = [(BLUE, "-"), ("#8a3c6d", "--"), (ORANGE, ":")]
    for (label, cosines), (colour, dash) in zip(lines.items(), styles):
        axes.plot(layers, cosines, dash, color=colour, linewidth=2.2, label=label)
    axes.legend(frameon=False, loc="lower left", bbox_to_anchor=(0.1, 0.02))
    axes.set(xlabel="layer", ylabel="cosine", xlim=(0, layers[-1]), ylim=(-0.25, 1.03))
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def hands_over_distance(hands: Mapping[str, int], longest: int = 100) -> Figure:
    """How well two equal hands match over the distance of their words, 64 numbers.

    hands: label -> which of the 32 hands; the last curve is the average of all 32.
    """
    from contextual.position import frequencies

    distance = np.arange(longest + 1)
    matches = np.cos(distance[:, None] * frequencies(64))  # (longest + 1, 32)
    curves = {label: matches[:, hand] for label, hand in hands.items()}
    curves["all 32, on average"] = matches.mean(axis=1)
    figure = canvas(WIDTH, 1.15 * len(curves) + 0.4)
    panels = figure.subplots(len(curves), 1, sharex=True)
    for panel, (label, curve), colour in zip(
        panels, curves.items(), (ORANGE, BLUE, "#007A5A", INK)
    ):
        panel.axhline(0, color=GREY, linewidth=0.8)
        panel.axvline(44, color=GREY, linewidth=1, linestyle=(0, (4, 3)))
        panel.plot(distance, curve, ".-", color=colour, linewidth=1.1, markersize=3.5)
        panel.set_title(label, loc="left", fontsize=10.5, color=colour, pad=3)
        low = -1 if curve.min() < 0 or label in hands else 0
        ticks = [-1, 0, 1] if low else [0, 0.5, 1]
        panel.set(xlim=(-1, longest + 1), ylim=(low * 1.15, 1.15), yticks=ticks)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].text(44, 1.3, "44", ha="center", va="bottom", color=INK)
    panels[-1].set_xlabel("distance in words")
    figure.supylabel("match", fontsize=10.5)
    return figure


def score_over_distance(
    curves: Sequence[Sequence[float]], marked: int, label: str
) -> Figure:
    """Scores of a few pairs of words over the distance they are put at, from 0.

    curves: one list of scores a pair; `marked` is drawn strong and has the label.
    """
    figure = canvas(WIDTH, 3.2)
    axes = figure.add_subplot()
    for i, curve in enumerate(curves):
        if i != marked:
            axes.plot(curve, color="#9aa3ab", linewidth=1, linestyle="--")
    axes.plot(curves[marked], ".-", color=BLUE, linewidth=2, markersize=5)
    axes.annotate(
        f"{label}:\nbest one word after", (1, curves[marked][1]),
        xytext=(7, curves[marked][1]), va="center", color=INK,
        arrowprops={"arrowstyle": "->", "color": INK},
    )  # fmt: skip
    axes.set(xlabel="distance in words", ylabel="score", xlim=(-0.6, len(curves[0])))
    axes.set_xticks([1, *range(5, len(curves[0]), 5)])
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def clock_hands(
    angles: tuple[float, float], label: str, match: NDArray[Any], distance: int
) -> Figure:
    """Two hands on a dial, and below them the match of all hands over distance.

    angles: of river and of bank, in radians, 0 at three o'clock, anticlockwise; label:
    what stands under the dial; match: (n,) for distances 0, 1, 2, …; distance: the one
    to mark.
    """
    figure = canvas(WIDTH, 5.4)
    face, axes = figure.subplots(2, 1, height_ratios=[1.25, 1])
    _dial(face, angles, label)
    axes.plot(match, color=INK, linewidth=1.2)
    axes.axhline(0, color=GREY, linewidth=0.8)
    axes.axvline(distance, color=ORANGE, linestyle="--", linewidth=1.4)
    axes.plot(distance, match[distance], "o", color=ORANGE, markersize=7)
    side, shift = ("left", 12) if distance < len(match) / 2 else ("right", -12)
    value = f"{distance} apart: {match[distance]:.3f}"
    axes.annotate(
        value, (distance, 1.0), (shift, 0), textcoords="offset points", ha=side,
        va="center", color="#9C4300",
    )  # fmt: skip
    axes.set(xlabel="tokens apart", ylabel="match of all hands", xlim=(-12, len(match)))
    axes.set_ylim(-0.35, 1.08)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def _dial(axes: Axes, angles: tuple[float, float], label: str) -> None:
    """A round dial with the hands of river (dashed) and of bank (solid)."""
    from matplotlib.patches import Circle

    axes.add_patch(Circle((0, 0), 1, facecolor=PALE, edgecolor=GREY))
    turn = math.remainder(angles[1] - angles[0], 2 * math.pi)
    apart = math.copysign(max(0.0, 0.5 - abs(turn)) / 2, turn)
    styles = [("river", "#00684c", "--", 0.76), ("bank", BLUE, "-", 0.95)]
    for angle, side, (word, colour, dash, size) in zip(angles, (-apart, apart), styles):
        tip = size * np.cos(angle), size * np.sin(angle)
        axes.plot([0, tip[0]], [0, tip[1]], dash, color=colour, linewidth=2.6)
        axes.plot(*tip, "o", color=colour, markersize=6)
        at = 1.28 * np.cos(angle + side), 1.22 * np.sin(angle + side)
        axes.text(*at, word, color=colour, ha="center", va="center", weight="bold")
    axes.text(0, -1.6, label, ha="center", va="center", weight="bold", color=INK)
    axes.set(xlim=(-2.4, 2.4), ylim=(-1.75, 1.4), aspect="equal")
    axes.axis("off")


def head_weights(weights: NDArray[Any], words: Sequence[str], reader: int) -> Figure:
    """What each word of a text reads with one head, in per cent; one row is framed.

    weights: (T, T), rows read columns; above the diagonal the mask makes them 0.
    """
    n_words = len(words)
    figure = canvas(WIDTH, 4.4)
    axes = figure.add_subplot()
    shown = np.ma.masked_where(~np.tri(n_words, dtype=bool), weights)
    axes.imshow(shown, cmap="cividis", vmin=0, vmax=1, aspect="auto")
    for i, j in np.argwhere(np.tri(n_words)).tolist():
        share, ink = weights[i, j], INK if weights[i, j] > 0.465 else "white"
        text = f"{math.floor(100 * share + 0.5 + 1e-9)}" if share >= 0.005 else "<1"
        axes.text(j, i, text, ha="center", va="center", color=ink, fontsize=9)
    for i, j in np.argwhere(1 - np.tri(n_words)).tolist():
        axes.text(j, i, "0", ha="center", va="center", color=GREY, fontsize=9)
    axes.axhspan(reader - 0.5, reader + 0.5, fill=False, edgecolor=ORANGE, linewidth=2)
    axes.axvline(0.5, color=INK, linewidth=2)
    axes.set_xticks(range(n_words), words, rotation=90)
    axes.set_yticks(range(n_words), words)
    axes.tick_params(length=0)
    axes.xaxis.tick_top()
    axes.set_xlabel("rows read columns, in per cent; left: the first word")
    axes.spines[:].set_visible(False)
    return figure
