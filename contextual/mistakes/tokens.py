"""Exercises of 01_tokens."""

from __future__ import annotations

import re
from itertools import pairwise

from contextual.checks import Exercise

gluable = Exercise(
    name="tokens-gluable",
    asks="write gluable(words, pair): how often gluing the pair will happen.",
    confirms="a letter can be glued once, and a word counts as often as it occurs.",
    inputs=(
        {"words": {"banana": 3, "ban": 2, "nab": 4}, "pair": ("a", "n")},
        {"words": {"aaaaaa": 1, "aaab": 2}, "pair": ("a", "a")},
        {"words": {"nana": 3, "naan": 5}, "pair": ("a", "n")},
    ),
)


@gluable.right
def by_hand(words: dict[str, int], pair: tuple[str, str]) -> int:
    total = 0
    for word, n in words.items():
        i = 0
        while i < len(word) - 1:
            found = (word[i], word[i + 1]) == pair
            total += n * found
            i += 2 if found else 1
    return total


@gluable.right
def by_count(words: dict[str, int], pair: tuple[str, str]) -> int:
    return sum(n * word.count("".join(pair)) for word, n in words.items())


@gluable.mistake(
    "you counted overlapping pairs: `aaab` holds 2 pairs aa, but once two letters are "
    "glued they are taken, so only 1 can be glued."
)
def overlapping(words: dict[str, int], pair: tuple[str, str]) -> int:
    return sum(n * list(pairwise(word)).count(pair) for word, n in words.items())


@gluable.mistake(
    "you counted each distinct word once; it counts as often as it occurs."
)
def words_once(words: dict[str, int], pair: tuple[str, str]) -> int:
    return sum(word.count("".join(pair)) for word in words)


@gluable.mistake("you counted words that hold the pair; one word can hold it twice.")
def words_with_it(words: dict[str, int], pair: tuple[str, str]) -> int:
    return sum(n for word, n in words.items() if "".join(pair) in word)


@gluable.mistake(
    "you looked at places 0+1, 2+3, … only; a pair may begin at any place."
)
def every_second(words: dict[str, int], pair: tuple[str, str]) -> int:
    return sum(
        n * list(zip(word[::2], word[1::2])).count(pair) for word, n in words.items()
    )


@gluable.mistake("you took the pair in either order; a+n and n+a are two pairs.")
def either_order(words: dict[str, int], pair: tuple[str, str]) -> int:
    both = {"".join(pair), "".join(pair)[::-1]}
    return sum(n * len(re.findall("|".join(both), word)) for word, n in words.items())


@gluable.mistake("your loop stops one place early: it never sees a word's last pair.")
def last_pair_missed(words: dict[str, int], pair: tuple[str, str]) -> int:
    return sum(n * word[:-1].count("".join(pair)) for word, n in words.items())


@gluable.mistake(
    "you wrote the words in one row and counted across their borders; "
    "no pair reaches from one word into the next."
)
def across_words(words: dict[str, int], pair: tuple[str, str]) -> int:
    return "".join(word * n for word, n in words.items()).count("".join(pair))


cut = Exercise(
    name="tokens-cut",
    asks="write cut(word, merges): the pieces left when every merge has had its turn.",
    confirms="merges act in the order they were learned, each wherever it fits.",
    inputs=(
        {"word": "aac", "merges": [("a", "c"), ("a", "a")]},
        {"word": "acbab", "merges": [("b", "a"), ("c", "b"), ("cb", "ba")]},
        {"word": "aaaaa", "merges": [("a", "a")]},
        {"word": "xyxyz", "merges": [("x", "y"), ("y", "z"), ("xy", "xy")]},
        {"word": "abc", "merges": [("a", "b"), ("b", "c"), ("a", "bc")]},
        {"word": "abcd", "merges": [("c", "d"), ("b", "c"), ("a", "b")]},
    ),
)
Merges = list[tuple[str, str]]


def glue(pieces: list[str], pair: tuple[str, str], most: int = 1000) -> list[str]:
    """Glue a pair from left to right, at most `most` times."""
    out: list[str] = []
    i = 0
    while i < len(pieces):
        if tuple(pieces[i : i + 2]) == pair and most > 0:
            out, i, most = [*out, "".join(pair)], i + 2, most - 1
        else:
            out, i = [*out, pieces[i]], i + 1
    return out


@cut.right
def in_order(word: str, merges: Merges) -> list[str]:
    pieces = list(word)
    for pair in merges:
        pieces = glue(pieces, pair)
    return pieces


@cut.right
def earliest_first(word: str, merges: Merges) -> list[str]:
    pieces, rank = list(word), {tuple(pair): i for i, pair in enumerate(merges)}
    while True:
        known = [pair for pair in pairwise(pieces) if pair in rank]
        if not known:
            return pieces
        pieces = glue(pieces, min(known, key=rank.__getitem__))


@cut.mistake(
    "you took the longest piece that fits, from the left; BPE never looks for length, "
    "only for the merge that was learned first."
)
def longest_match(word: str, merges: Merges) -> list[str]:
    known = {"".join(pair) for pair in merges}
    out: list[str] = []
    while word:
        size = max(n for n in range(1, len(word) + 1) if n == 1 or word[:n] in known)
        out, word = [*out, word[:size]], word[size:]
    return out


@cut.mistake("you went through the merges backwards: the last one learned came first.")
def backwards(word: str, merges: Merges) -> list[str]:
    return in_order(word, list(merges)[::-1])


@cut.mistake("you glued only the first place where a merge fits; glue it everywhere.")
def first_place_only(word: str, merges: Merges) -> list[str]:
    pieces = list(word)
    for pair in merges:
        pieces = glue(pieces, pair, most=1)
    return pieces


@cut.mistake(
    "you glued the leftmost pair that any merge knows; the earlier merge goes first, "
    "wherever it stands."
)
def leftmost_first(word: str, merges: Merges) -> list[str]:
    pieces, known = list(word), {tuple(pair) for pair in merges}
    while True:
        pairs = list(pairwise(pieces))
        i = next((i for i, pair in enumerate(pairs) if pair in known), None)
        if i is None:
            return pieces
        pieces[i : i + 2] = ["".join(pieces[i : i + 2])]


@cut.mistake("you stopped after the first merge; all of them have their turn.")
def one_merge(word: str, merges: Merges) -> list[str]:
    return in_order(word, list(merges)[:1])


@cut.mistake("you glued from the right; in aaaaa the two on the left are glued first.")
def from_the_right(word: str, merges: Merges) -> list[str]:
    pieces = list(word)[::-1]
    for a, b in merges:
        pieces = glue(pieces, (b[::-1], a[::-1]))
    return [piece[::-1] for piece in pieces[::-1]]


@cut.mistake("you gave the letters: no merge was made.")
def letters(word: str, merges: Merges) -> list[str]:
    return list(word)
