"""Byte-pair tokens: by hand, by property, and against the `tokenizers` library."""

import gzip
import random
import sys
import time
import unicodedata
import warnings
from collections import Counter
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextual import data
from contextual.tokens import (
    BytePairTokenizer,
    find_pair,
    merge_by_rank,
    pre_tokens,
    train_tokenizer,
)

LOWEST = "low\n" * 5 + "lower\n" * 2 + "widest\n" * 3 + "newest\n" * 6


def learned(text, n_merges):
    """The tokenizer and the pieces it learned, in order; a short stop is expected."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        tokenizer = train_tokenizer(text, n_merges)
    return tokenizer, tokenizer.pieces[256:]


# ---- training, by hand


def test_the_classic_four_words_give_the_merges_worked_by_hand():
    _, pieces = learned(LOWEST, 99)
    assert pieces == [
        b"st", b"est", b"ow", b"low", b"west", b"ne",
        b"newest", b"wi", b"wid", b"widest", b"lowe", b"lower",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "pieces"),
    [("", []), ("a", []), ("ab", [b"ab"]), ("aaa", [b"aa", b"aaa"])],
)
def test_training_stops_where_no_pair_is_left_and_says_so(text, pieces):
    with pytest.warns(UserWarning, match=f"Stopped after {len(pieces)} of 9 merges"):
        tokenizer = train_tokenizer(text, 9)
    assert tokenizer.pieces[256:] == pieces


def test_two_tied_pairs_still_make_one_merge_a_round():
    assert learned("abc abc", 1)[1] == [b"bc"]
    assert learned("abc abc", 2)[1] == [b"bc", b"abc"]


@pytest.mark.parametrize("words", [["bbbaaaddddcccc", "aaabbbccccdddd"], ["ab", "ba"]])
def test_the_same_words_in_another_order_give_the_same_merges(words):
    one, other = " ".join(words), " ".join(words[::-1])
    # the leading space belongs to the second word: give both words both forms
    text, turned = f"{one} {other}\n{one}", f"{one}\n{one} {other}"
    assert learned(text, 30)[1] == learned(turned, 30)[1]


def test_overlapping_twins_are_merged_from_the_left_without_overlap():
    assert find_pair(np.array([-1, 97, 97, 97, 97, 97, -1]), (97, 97)).tolist() == [
        1,
        3,
    ]
    run = np.array([-1, 5, 5, -1, 5, 5, 5, 7, 5, 5, -1])
    assert find_pair(run, (5, 5)).tolist() == [1, 4, 8]
    assert learned("aaaaa", 1)[0].tokens("aaaaa") == [b"aa", b"aa", b"a"]


def test_merges_follow_the_order_of_learning_not_the_longest_match():
    tokenizer, pieces = learned("cbbaba", 4)
    assert pieces[:3] == [b"ba", b"cb", b"cbba"]
    assert tokenizer.tokens("acbab") == [b"a", b"c", b"ba", b"b"]
    assert learned("bcbc\n" * 4 + "cbc\n" * 6, 2)[0].tokens("bcbc") == [b"bc", b"bc"]
    ab_first = BytePairTokenizer({i: i for i in range(256)}, [(97, 99), (97, 97)])
    assert ab_first.tokens("aac") == [b"a", b"ac"]


def recount_every_time(text, n_merges):
    """The slow, obvious trainer: count all pairs anew for every merge."""
    words = Counter(tuple(chunk.encode()) for chunk in pre_tokens(text))
    pieces = [bytes([byte]) for byte in range(256)]
    for _ in range(n_merges):
        pairs = Counter()
        for word, n in words.items():
            for pair in pairwise(word):
                pairs[pair] += n
        if not pairs:
            break
        most = max(pairs.values())
        tied = [pair for pair, n in pairs.items() if n == most]
        best = max(tied, key=lambda p: (pieces[p[0]], pieces[p[1]], p))
        merged = Counter()
        for word, n in words.items():
            new, i = [], 0
            while i < len(word):
                twin = tuple(word[i : i + 2]) == best
                new.append(len(pieces) if twin else word[i])
                i += 2 if twin else 1
            merged[tuple(new)] += n
        words = merged
        pieces.append(pieces[best[0]] + pieces[best[1]])
    return pieces[256:]


@given(st.text(alphabet="ab c\né😉1'", max_size=60), st.integers(0, 25))
def test_counting_only_what_changed_gives_the_merges_of_counting_everything(text, n):
    assert learned(text, n)[1] == recount_every_time(text, n)


def test_incremental_counts_agree_with_recounting_on_real_text():
    text = "\n".join(data.load_glosses()[:300])
    assert learned(text, 150)[1] == recount_every_time(text, 150)


# ---- encoding and decoding


def merge_by_scanning(ids, merge_ids):
    """The definition: again and again the earliest learned merge, leftmost first."""
    ids = list(ids)
    while True:
        ranked = [
            (merge_ids[p], i) for i, p in enumerate(pairwise(ids)) if p in merge_ids
        ]
        if not ranked:
            return ids
        new_id, i = min(ranked)
        ids[i : i + 2] = [new_id]


@given(st.text(alphabet="abc", max_size=40), st.text(alphabet="abc", max_size=40))
def test_the_heap_makes_the_merges_of_the_definition(corpus, text):
    tokenizer, _ = learned(corpus, 20)
    expected = merge_by_scanning(text.encode(), tokenizer.merge_ids)
    assert merge_by_rank(list(text.encode()), tokenizer.merge_ids) == expected


OURS, _ = learned(LOWEST + "café 안녕 😉\n", 30)
HARD = [
    "", " ", "\n", "\r", "\r\n", "\t", "a\tb", "a  b", "   ", "café", "cafe\u0301",
    "\u00a0x", "😉", "👩\u200d👩\u200d👧", "안녕", "“curly”", "''s", "I'll 'll", "1248",
    "a  1", "x \n 2", "\x00", "\x1c\x1f", "\x85", "<|endoftext|>", "a<|im_start|>b",
    "\ufeff", "½ Ⅷ ٣", "\ud800", "don't DON'T", "ﬁ ß İ", "\u2028\u2029", "𝔘𝔫𝔦",
]  # fmt: skip


@pytest.mark.parametrize("text", HARD, ids=ascii)
def test_our_own_tokenizer_loses_nothing_of_a_hard_text(text):
    assert OURS.decode(OURS.encode(text)) == text
    assert b"".join(OURS.tokens(text)) == text.encode("utf-8", "surrogatepass")
    assert "".join(OURS.pre_tokens(text)) == text


@given(st.text(st.characters(exclude_categories=())))
def test_our_own_tokenizer_loses_nothing_of_any_string(text):
    assert OURS.decode(OURS.encode(text)) == text


def test_half_a_character_is_bytes_not_a_wrong_letter():
    assert OURS.tokens("ü") == [b"\xc3", b"\xbc"]
    assert OURS.decode([0xC3]) == "\ufffd"
    assert OURS.decode([0xC3, 0xA9]) == "é"


def test_a_long_word_takes_time_that_grows_about_linearly():
    rng = random.Random(0)
    tokenizer = data.load_tokenizer()

    def seconds(n):
        word = "".join(rng.choice("etaoinshrdlu") for _ in range(n))
        best = float("inf")
        for _ in range(3):
            start = time.process_time()
            tokenizer.encode(word)
            best = min(best, time.process_time() - start)
        return best

    # 8 times the letters: n·log n takes about 11 times as long, n² takes 64 times.
    assert seconds(40_000) / seconds(5_000) < 30


# ---- the real tokenizer


@pytest.fixture(scope="session")
def smollm2():
    return data.load_tokenizer()


@pytest.fixture(scope="session")
def reference():
    pytest.importorskip("tokenizers")
    return build_reference()


def byte_letters():
    """GPT-2's printable letter for each byte, as the reference library stores them."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in shown]
    letters = {byte: chr(byte) for byte in shown}
    return letters | {byte: chr(256 + n) for n, byte in enumerate(hidden)}


@cache
def build_reference():
    """The same merges in the `tokenizers` library, built as SmolLM2 builds it."""
    import tokenizers as library

    smollm2 = data.load_tokenizer()
    letters = byte_letters()
    specials = {i: text for text, i in smollm2.specials.items()}
    spell = [
        specials.get(i) or "".join(letters[byte] for byte in piece)
        for i, piece in enumerate(smollm2.pieces)
    ]
    model = library.models.BPE(
        vocab={name: i for i, name in enumerate(spell)},
        merges=[(spell[left], spell[right]) for left, right in smollm2.merges],
    )
    tokenizer = library.Tokenizer(model)
    steps = library.pre_tokenizers
    tokenizer.pre_tokenizer = steps.Sequence(
        [
            steps.Digits(individual_digits=True),
            steps.ByteLevel(add_prefix_space=False, use_regex=True),
        ]
    )
    tokenizer.decoder = library.decoders.ByteLevel()
    tokenizer.add_special_tokens(list(smollm2.specials))
    return tokenizer


def test_real_ids_are_the_ones_in_the_model_file(smollm2):
    ids = {
        "cat": 9786, " cat": 2644, "dog": 22676, " dog": 2767, "bank": 19501,
        " bank": 5461, " king": 4197, " river": 4626, " money": 2478, " Paris": 7042,
        "<|endoftext|>": 0,
    }  # fmt: skip
    assert {text: smollm2.encode(text) for text in ids} == {
        text: [i] for text, i in ids.items()
    }
    assert smollm2.encode("😉") == [10813, 242, 227]
    assert smollm2.encode(" unbelievable") == [33282, 16275]
    assert smollm2.encode("1248") == [33, 34, 36, 40]
    assert smollm2.vocab_size == 49_152
    assert len(smollm2.merges) == 48_900


def test_an_id_is_252_plus_the_rank_of_its_merge(smollm2):
    rank = smollm2.merges.index(smollm2.merges[5461 - 252])
    assert smollm2.merge_ids[smollm2.merges[rank]] == 252 + rank == 5461


def generated_corpus(n=1500):
    """Texts of all kinds: prose, code, numbers, spaces, every script, broken bits."""
    rng = random.Random(0)
    scripts = [
        (0x20, 0x7E), (0xA0, 0x24F), (0x370, 0x3FF), (0x400, 0x4FF), (0x590, 0x6FF),
        (0x900, 0x97F), (0xE00, 0xE7F), (0x1100, 0x11FF), (0x2000, 0x206F),
        (0x2190, 0x22FF), (0x3040, 0x30FF), (0x4E00, 0x4FFF), (0xAC00, 0xAD00),
        (0xFE00, 0xFE0F), (0x1D400, 0x1D7FF), (0x1F300, 0x1F64F), (0x0, 0x1F),
    ]  # fmt: skip
    glue = [
        "",
        " ",
        "  ",
        "\n",
        "\t",
        "\u00a0",
        "'s",
        "'LL",
        "12",
        " 7",
        "  3.14",
        "<|x|>",
    ]
    prose = data.load_glosses()
    for n_text in range(n):
        kind, words = n_text % 3, []
        for _ in range(rng.randrange(1, 12)):
            low, high = rng.choice(scripts)
            word = "".join(chr(rng.randint(low, high)) for _ in range(rng.randrange(6)))
            words.append(rng.choice(prose) if kind == 0 else word)
            words.append(rng.choice(glue))
        yield "".join(words)
    yield from Path(__file__).read_text(encoding="utf-8").splitlines()


def test_real_ids_equal_the_reference_on_a_generated_corpus(smollm2, reference):
    texts = [
        *HARD,
        *generated_corpus(),
        *smollm2.specials,
        "a <|im_end|>\n<|im_start|>b",
    ]
    texts = [t for t in texts if not any(0xD800 <= ord(c) < 0xE000 for c in t)]
    assert len(texts) > 1800
    encoded = reference.encode_batch(texts, add_special_tokens=False)
    wrong = [
        t for t, e in zip(texts, encoded, strict=True) if smollm2.encode(t) != e.ids
    ]
    assert wrong == []


def batches(items, size=50):
    return [items[i : i + size] for i in range(0, len(items), size)]


def test_real_ids_equal_the_reference_on_every_code_point(smollm2, reference):
    points = [chr(i) for i in range(sys.maxunicode + 1) if not 0xD800 <= i < 0xE000]
    # Letters that one of the two Unicode tables does not know yet may be cut apart.
    known = [c for c in points if unicodedata.category(c) not in ("Cn", "Co")]
    texts = ["\n".join(f"a{c}b {c}{c} 1{c}" for c in part) for part in batches(known)]
    encoded = reference.encode_batch(texts, add_special_tokens=False)
    wrong = [
        t for t, e in zip(texts, encoded, strict=True) if smollm2.encode(t) != e.ids
    ]
    assert wrong == []


@settings(max_examples=300)
@given(text=st.text())
def test_real_ids_equal_the_reference_on_any_string(text):
    pytest.importorskip("tokenizers")
    expected = build_reference().encode(text, add_special_tokens=False).ids
    assert data.load_tokenizer().encode(text) == expected


def test_the_real_tokenizer_loses_only_the_bytes_it_has_no_token_for(smollm2):
    missing = [byte for byte in range(256) if byte not in smollm2.byte_ids]
    assert len(missing) == 21
    for text in HARD:
        kept = bytes(
            b for b in text.encode("utf-8", "surrogatepass") if b not in missing
        )
        assert b"".join(smollm2.tokens(text)) == kept
    assert smollm2.decode(smollm2.encode("a\x04b")) == "ab"
    assert smollm2.decode(smollm2.encode("<|endoftext|> café")) == "<|endoftext|> café"


# ---- saving


def test_a_damaged_compressed_file_is_refused_in_a_sentence(tmp_path):
    OURS.save(tmp_path / "t.json.gz")
    content = (tmp_path / "t.json.gz").read_bytes()
    refused = 0
    for place in range(10, len(content)):
        damaged = bytearray(content)
        damaged[place] ^= 0xFF
        (tmp_path / "t.json.gz").write_bytes(damaged)
        with pytest.raises(ValueError, match="is not a saved tokenizer"):
            BytePairTokenizer.load(tmp_path / "t.json.gz")
        refused += 1
    assert refused > 300


@pytest.mark.parametrize("name", ["ours.json", "ours.json.gz", "é ö.json"])
def test_a_saved_tokenizer_comes_back_equal(tmp_path, name):
    OURS.save(tmp_path / name)
    assert BytePairTokenizer.load(tmp_path / name) == OURS
    first = (tmp_path / name).read_bytes()
    OURS.save(tmp_path / name)
    assert (tmp_path / name).read_bytes() == first


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{}", b"[1, 2]", b"not json", b"\x1f\x8b broken", b"null",
        b"[" * 200_000, gzip.compress(b"{}" * 99)[:40] + b"?" * 40,
        b'{"format": "contextual byte-pair tokenizer 1"}',
        b'{"format": "contextual byte-pair tokenizer 1", "byte_ids": [[97, 0]],'
        b' "merges": [[0, 7]], "specials": {}}',
        b'{"format": "contextual byte-pair tokenizer 1", "byte_ids": [[97, 5]],'
        b' "merges": [], "specials": {}}',
        b'{"format": "contextual byte-pair tokenizer 1", "byte_ids": [[999, 0]],'
        b' "merges": [], "specials": {}}',
    ],
)  # fmt: skip
def test_a_foreign_or_damaged_file_is_refused_in_a_sentence(tmp_path, content):
    (tmp_path / "x.json").write_bytes(content)
    with pytest.raises(ValueError, match=r"x\.json is not a saved tokenizer"):
        BytePairTokenizer.load(tmp_path / "x.json")


def test_a_hostile_file_that_doubles_a_token_at_every_merge_is_refused():
    doubling = [(n, n) for n in range(60)]
    with pytest.raises(ValueError, match="bytes long"):
        BytePairTokenizer({97: 0}, doubling)


# ---- refusals


@pytest.mark.parametrize("bad", [None, 5, b"bytes", ["a"], 1.5])
def test_what_is_not_a_string_is_refused_by_name(bad):
    for call in (
        OURS.encode,
        OURS.pre_tokens,
        OURS.tokens,
        data.load_tokenizer().encode,
    ):
        with pytest.raises(ValueError, match=type(bad).__name__):
            call(bad)
    with pytest.raises(ValueError, match=type(bad).__name__):
        train_tokenizer(bad, 3)


@pytest.mark.parametrize("bad", [-1, 1.5, True, "3", None])
def test_a_number_of_merges_that_is_no_count_is_refused(bad):
    with pytest.raises(ValueError, match="n_merges"):
        train_tokenizer("abc", bad)


@pytest.mark.parametrize("bad", [[-1], [OURS.vocab_size], [1.0], ["a"], [True], 10**9])
def test_an_id_outside_the_vocabulary_is_refused(bad):
    with pytest.raises(ValueError, match="token"):
        OURS.decode(bad)


def test_a_batch_is_not_decoded_into_one_text():
    with pytest.raises(ValueError, match=r"shape \(1, 2\): one text at a time"):
        OURS.decode([[97, 98]])
    with pytest.raises(ValueError, match="one list"):
        OURS.decode([[97], [97, 98]])


@pytest.mark.parametrize(
    ("byte_ids", "merges", "specials", "says"),
    [
        ({97: 0.0}, [], {}, "An id must be a whole number"),
        ({97: True}, [], {}, "An id must be a whole number"),
        ({-1: 0}, [], {}, "A byte must be a whole number from 0 to 255"),
        ({97: 0}, [(0.9, 0)], {}, "An id must be a whole number"),
        ({97: 0}, ["01"], {}, "whole number"),
        ({97: 0}, [0], {}, "pairs"),
        ({97: 0}, [], {"": 1}, "special token"),
        ({97: 0}, [], {5: 1}, "special token"),
        ([(97, 0)], [], {}, "must be dicts"),
        ({97: 0}, [(0, 1)], {}, "cannot use 1"),
    ],
)
def test_what_cannot_be_a_tokenizer_is_refused(byte_ids, merges, specials, says):
    with pytest.raises(ValueError, match=says):
        BytePairTokenizer(byte_ids, merges, specials)


def test_a_tokenizer_keeps_its_own_copy_of_what_it_was_given(tmp_path):
    byte_ids, merges = {97: 0, 98: 1}, [[np.int64(0), np.int64(1)]]
    tokenizer = BytePairTokenizer(byte_ids, merges)
    byte_ids[99] = 2
    merges.append([1, 0])
    assert tokenizer.vocab_size == 3
    tokenizer.save(tmp_path / "t.json")
    assert BytePairTokenizer.load(tmp_path / "t.json") == tokenizer


def test_decoding_takes_lists_and_arrays_and_nothing():
    ids = OURS.encode("newest lowest")
    assert OURS.decode(np.array(ids)) == OURS.decode(tuple(ids)) == "newest lowest"
    assert OURS.decode([]) == ""
    assert OURS.decode(97) == "a"
