"""Widgets of the book: `ClockHands()` as the last line of a cell shows one.

They compute in JavaScript, in Jupyter as in the page; their traits can be read and set
from Python, and `print(widget)` says in words what they show. Not taught.
"""

from contextual.widgets.clock_hands import ClockHands
from contextual.widgets.heads import Heads

__all__ = ["ClockHands", "Heads"]
