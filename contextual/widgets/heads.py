"""Real heads: attention weights of SmolLM2 on five texts, any head, any reader."""

from __future__ import annotations

import functools
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import traitlets
from numpy.typing import NDArray

from contextual import data, plots
from contextual.widgets.base import FtcWidget, Whole, fixed, pct

if TYPE_CHECKING:
    from matplotlib.figure import Figure

N_LAYERS, N_HEADS = 30, 9


@dataclass(frozen=True, eq=False)
class StoredHeads:
    """What data/smollm2_attention.npz holds.

    texts: for each text its tokens as [piece, id]; weights: for each text an array
    (30, 9, T, T) of thousandths, every row 1000 in sum, 0 above the diagonal;
    known: dicts of name, layer, head and score.
    """

    texts: list[list[list[Any]]]
    weights: list[NDArray[np.int64]]
    known: list[dict[str, Any]]


def unpack(packed: NDArray[Any], n_tokens: int) -> NDArray[np.int64]:
    """Lower triangles (270, T(T+1)/2) as whole squares (30, 9, T, T)."""
    squares = np.zeros((len(packed), n_tokens, n_tokens), np.int64)
    squares[:, *np.tril_indices(n_tokens)] = packed
    return squares.reshape(N_LAYERS, N_HEADS, n_tokens, n_tokens)


@functools.cache
def load_heads() -> StoredHeads:
    """The stored weights, scores and texts; tools/build_heads.py made them."""
    arrays, tokenizer = data.read_arrays(data.ATTENTION), data.load_tokenizer()
    texts, weights = [], []
    for number, text in enumerate(arrays["texts"].tolist()):
        ids = tokenizer.encode(text)
        texts.append([[tokenizer.pieces[i].decode("utf-8"), i] for i in ids])
        weights.append(unpack(arrays[f"weights_{number}"], len(ids)))
    rows = zip(arrays["names"].tolist(), arrays["places"].tolist(), arrays["scores"])
    known = [
        {"name": name, "layer": place[0], "head": place[1], "score": one_digit(score)}
        for name, place, score in rows
    ]
    return StoredHeads(texts, weights, known)


def one_digit(score: float) -> str:
    """.7, 1.0: the second digit would move with other texts."""
    return f"{score:.1f}".removeprefix("0")


def pack(weights: NDArray[np.int64]) -> str:
    """Lower triangles as base64: all low bytes first, then all high bytes."""
    n_tokens = weights.shape[-1]
    flat = weights[:, :, *np.tril_indices(n_tokens)].ravel()
    planes = np.concatenate([flat % 256, flat // 256]).astype(np.uint8)
    return b64encode(planes.tobytes()).decode("ascii")


def labels(tokens: Sequence[Sequence[Any]]) -> list[str]:
    """ "lemon (2nd)" where the word stands there more than once, else "lemon"."""
    names, found = [piece.strip() for piece, _ in tokens], []
    for i, word in enumerate(names):
        nth = names[: i + 1].count(word)
        suffix = {1: "st", 2: "nd", 3: "rd"}.get(nth, "th")
        found.append(word if names.count(word) < 2 else f"{word} ({nth}{suffix})")
    return found


def relation(tokens: Sequence[Sequence[Any]], reader: int, top: int) -> str:
    """What the word most read is to the reader, if it can be said."""
    own = tokens[reader][1]
    if top == reader:
        return "itself"
    if top == 0:
        return "the first word"
    if tokens[top][1] == own:
        return "the same word, earlier"
    if tokens[top - 1][1] == own:
        return f"what followed {tokens[reader][0].strip()} before"
    return "the word just before" if top == reader - 1 else ""


def other_token(tokens: Sequence[Sequence[Any]], reader: int) -> str:
    """A word that stood there before as another token: with and without a space."""
    piece, own = tokens[reader]
    same = [i for text, i in tokens[:reader] if text.strip() == piece.strip()]
    if not same or own in same:
        return ""
    return (
        f" For the model it is new: token {own}, not {same[0]} as at the start, "
        "where no space came first."
    )


class Heads(FtcWidget):
    """One head of SmolLM2 at work on one of five texts; row: the word that reads.

    layer 0 to 29; head 0 to 8; text 0 to 4; row 0 to the last word of the text.
    Anything else: ValueError. A shorter text takes the row back to its last word.
    """

    reserve: ClassVar[tuple[int, int, int]] = (1510, 1370, 1090)
    layer = Whole(18, 0, N_LAYERS - 1)
    head = Whole(6, 0, N_HEADS - 1)
    row = Whole(8, 0, 10)
    text = Whole(0, 0, 4)
    texts = fixed(None)
    known = fixed(None)

    def __init__(self, **values: Any) -> None:
        stored = load_heads()
        self.set_trait("texts", stored.texts)
        self.set_trait("known", stored.known)
        packed = {str(i): pack(weights) for i, weights in enumerate(stored.weights)}
        super().__init__(parts=packed, **values)
        self.first = [str(self.text)]

    @traitlets.validate("row")
    def _row_is_in_the_text(self, proposal: Mapping[str, Any]) -> int:
        row, last = int(proposal["value"]), len(load_heads().texts[self.text]) - 1
        if row > last:
            raise ValueError(
                f"row must be 0 to {last} for text {self.text}, not {row}."
            )
        return row

    @traitlets.observe("text")
    def _keep_the_row_in_the_text(self, change: Mapping[str, Any]) -> None:
        self.row = min(self.row, len(load_heads().texts[change["new"]]) - 1)

    @staticmethod
    def compute(state: Mapping[str, Any]) -> dict[str, Any]:
        """The reader, its shares in thousandths, the two most read, the known head."""
        stored, place = load_heads(), (state["layer"], state["head"])
        reader = min(state["row"], len(stored.texts[state["text"]]) - 1)
        shares = stored.weights[state["text"]][place][reader, : reader + 1].tolist()
        order = sorted(range(reader + 1), key=lambda j: (-shares[j], j))
        named = [(k["layer"], k["head"]) for k in stored.known]
        return {
            "reader": reader,
            "shares": shares,
            "top": order[0],
            "next": order[1] if reader else -1,
            "known": named.index(place) if place in named else -1,
        }

    @staticmethod
    def sentence(state: Mapping[str, Any], result: Mapping[str, Any]) -> str:
        """Which head, its name if it has one, and what the reader reads with it."""
        stored, known = load_heads(), result["known"]
        called = "no name for this one"
        if known >= 0:
            called = "{name}, score {score}".format(**stored.known[known])
        words = labels(stored.texts[state["text"]])
        start = f"Layer {state['layer']}, head {state['head']}: {called}. "
        start += f"{words[result['reader']]} reads "
        if result["reader"] == 0:
            return start + "itself 100 %: nothing stands before it."
        return start + reads(stored.texts[state["text"]], words, result)

    def picture(self) -> Figure:
        """The whole table of this head on this text, the reader's row framed."""
        stored, reader = load_heads(), self.compute(self.state())["reader"]
        weights = stored.weights[self.text][self.layer, self.head]
        return plots.head_weights(
            weights / 1000, labels(stored.texts[self.text]), reader
        )


def reads(
    tokens: Sequence[Sequence[Any]], words: Sequence[str], result: Mapping[str, Any]
) -> str:
    """`rocket (1st) 97 %: what followed lemon before; then blue (1st) 2 %.`"""
    reader, top, second = result["reader"], result["top"], result["next"]
    shares, what = result["shares"], relation(tokens, reader, top)
    own = {**dict(enumerate(words)), reader: "itself"}
    text = f"{own[top]} {pct(shares[top] / 1000)}"
    said = bool(what) and what != "itself"
    text += f": {what}" if said else ""
    if shares[second] >= 5:
        text += (
            f"{';' if said else ','} then {own[second]} {pct(shares[second] / 1000)}"
        )
    text += "."
    if 0 not in (top, second) and shares[0] >= 5:
        text += f" It parks {pct(shares[0] / 1000)} on the first word."
    return text + other_token(tokens, reader)
