"""Times and the table they are printed in."""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from statistics import median

ONE_THREAD = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "RAYON_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
}


@dataclass(frozen=True)
class Row:
    """One line of the table: what, ours, the peer's, their ratio, and the aim."""

    what: str
    ours: str
    peer: str
    ratio: str
    aim: str
    reached: bool

    @property
    def verdict(self) -> str:
        return "reached" if self.reached else "NOT reached"


def use_one_thread() -> None:
    """Before numpy or a peer is imported: one thread each, so that ratios are fair."""
    os.environ.update(ONE_THREAD)


def seconds(call: Callable[[], object], repeats: int = 5) -> float:
    """The median time of a call, in seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return median(times)


def side_by_side(
    ours: Callable[[], object], peer: Callable[[], object], repeats: int = 5
) -> tuple[float, float]:
    """Median seconds of both, taken in turn, so that a busy moment hits both."""
    pairs = [(seconds(ours, 1), seconds(peer, 1)) for _ in range(repeats)]
    return median(p[0] for p in pairs), median(p[1] for p in pairs)


def times_slower(
    what: str, ours: float, peer: float, peer_name: str, most: float
) -> Row:
    """A row that says how many times longer we take; good is at most `most`."""
    ratio = ours / peer
    return Row(
        what, f"{ours:.3f} s", f"{peer:.3f} s {peer_name}", f"{ratio:.2f}×",
        f"≤ {most:g}×", ratio <= most,
    )  # fmt: skip


def times_faster(
    what: str, ours: float, peer: float, peer_name: str, least: float
) -> Row:
    """A row that says how many times faster we are; good is at least `least`."""
    ratio = peer / ours
    return Row(
        what, f"{ours:.3f} s", f"{peer:.3f} s {peer_name}", f"{ratio:.0f}× faster",
        f"≥ {least:g}× faster", ratio >= least,
    )  # fmt: skip


def machine() -> str:
    """One line on where this was measured."""
    found = []
    for name in ("numpy", "regex", "tokenizers", "torch"):
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"no {name}")
    python = sys.version.split()[0]
    where = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    return f"{where}; Python {python}, {', '.join(found)}; one thread each"


def print_table(rows: list[Row]) -> None:
    """The rows as a Markdown table, which also reads well in a terminal."""
    head = ("what", "ours", "peer", "ratio", "aim", "")
    lines = [(r.what, r.ours, r.peer, r.ratio, r.aim, r.verdict) for r in rows]
    widths = [max(len(line[i]) for line in [head, *lines]) for i in range(len(head))]
    for n, line in enumerate([head, *lines]):
        cells = " | ".join(text.ljust(w) for text, w in zip(line, widths))
        print(f"| {cells} |")
        if n == 0:
            print("|" + "|".join("-" * (w + 2) for w in widths) + "|")
    print(f"\n{machine()}")
