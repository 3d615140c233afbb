"""Clock hands: two words, their distance, and what the rotary hands make of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from contextual import plots
from contextual.position import frequencies
from contextual.widgets.base import (
    FtcWidget,
    Number,
    OneOf,
    Whole,
    dec,
    deg,
    whole,
    wrap,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class ClockHands(FtcWidget):
    """River and bank as hands of a clock: only their distance counts.

    start: place of river, 0 to 1023; distance: how many tokens later bank comes, 0 to
    1023; hand: "fast", "middle", "slow" or "all"; base: above 1, SmolLM2's is 100,000;
    d_head: even, 2 to 128, two numbers a hand. Anything else: ValueError.
    """

    reserve: ClassVar[tuple[int, int, int]] = (1240, 1180, 750)
    start = Whole(0, 0, 1023)
    distance = Whole(3, 0, 1023)
    hand = OneOf("fast", ["fast", "middle", "slow", "all"])
    base = Number(100_000, 1, 10_000_000, above=True)
    d_head = Whole(64, 2, 128, step=2)

    @staticmethod
    def compute(state: Mapping[str, Any]) -> dict[str, Any]:
        """Angles in radians and degrees, whole turns, and the match of all hands."""
        speeds = frequencies(state["d_head"], state["base"])
        n, distance = len(speeds), state["distance"]
        chosen = {"fast": 0, "middle": n // 4, "slow": n - 1, "all": 0}[state["hand"]]
        apart = [wrap(math.degrees(distance * speed)) for speed in speeds]
        return {
            "n_hands": n,
            "river": float(state["start"] * speeds[chosen]),
            "bank": float((state["start"] + distance) * speeds[chosen]),
            "apart": apart[chosen],
            "slowest": apart[-1],
            "turns": math.floor(distance * speeds[chosen] / (2 * math.pi) + 0.5),
            "match": float(np.cos(distance * speeds).mean()),
        }

    @staticmethod
    def sentence(state: Mapping[str, Any], result: Mapping[str, Any]) -> str:
        """Where the two stand, how far apart the hands are, and how well they match."""
        start, distance, hand = state["start"], state["distance"], state["hand"]
        tokens = "1 token" if distance == 1 else f"{whole(distance)} tokens"
        where = f"River at {whole(start)}, bank at {whole(start + distance)}: {tokens}"
        match = f"match {dec(result['match'])}, wherever the two stand."
        apart, n = deg(result["apart"]), result["n_hands"]
        if hand == "all":
            return (
                f"{where} apart. Of {n} hands the fastest differs by {apart}, the "
                f"slowest by {deg(result['slowest'])}. Together they {match}"
            )
        again = ""
        if result["turns"] > 0 and abs(result["apart"]) < 1.05:
            turns = "1 turn" if result["turns"] == 1 else f"{result['turns']} turns"
            again = f": back where it was, after {turns}"
        return (
            f"{where} apart. The {hand} hand differs by {apart}{again}. "
            f"All {n} hands together {match}"
        )

    def picture(self) -> Figure:
        """The chosen hand on a dial beside the match over distance."""
        result = self.compute(self.state())
        speeds = frequencies(self.d_head, self.base)
        label = f"{'fast' if self.hand == 'all' else self.hand} hand: "
        return plots.clock_hands(
            (result["river"], result["bank"]),
            label + f"{deg(result['apart'])} apart",
            np.cos(np.arange(1024)[:, None] * speeds).mean(axis=1),
            self.distance,
        )
