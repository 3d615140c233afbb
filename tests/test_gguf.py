"""Model files: read as they are written, dequantised bit for bit, or refused."""

from __future__ import annotations

import os
import re
import struct
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextual import download, gguf

RNG = np.random.default_rng(0)
U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64 = range(13)
CODES = {"F32": 0, "F16": 1, "Q4_1": 3, "Q8_0": 8}

# ---- a small writer, straight from the specification ---------------------------------


def text(string):
    raw = string if isinstance(string, bytes) else string.encode("utf-8")
    return struct.pack("<Q", len(raw)) + raw


def entry(key, kind, value):
    return text(key) + struct.pack("<I", kind) + value


def array(kind, elements):
    return struct.pack("<IQ", kind, len(elements)) + b"".join(elements)


def info(name, dims, code, offset):
    numbers = struct.pack(f"<{len(dims)}Q", *dims)
    return (
        text(name)
        + struct.pack("<I", len(dims))
        + numbers
        + struct.pack("<IQ", code, offset)
    )


def file_of(entries=(), infos=(), data=b"", version=3, alignment=32):
    head = b"GGUF" + struct.pack("<IQQ", version, len(infos), len(entries))
    head += b"".join(entries) + b"".join(infos)
    return head + bytes(-len(head) % alignment) + data


ENTRIES = [
    entry("general.name", STRING, text("petit modèle")),
    entry("u8", U8, b"\xff"),
    entry("i8", I8, b"\xff"),
    entry("u16", U16, b"\xfe\xff"),
    entry("i16", I16, b"\xfe\xff"),
    entry("u32", U32, struct.pack("<I", 2**32 - 1)),
    entry("i32", I32, struct.pack("<i", -(2**31))),
    entry("u64", U64, struct.pack("<Q", 2**64 - 1)),
    entry("i64", I64, struct.pack("<q", -(2**63))),
    entry("f32", F32, struct.pack("<f", 0.5)),
    entry("f64", F64, struct.pack("<d", 0.1)),
    entry("yes", BOOL, b"\1"),
    entry("tokens", ARRAY, array(STRING, [text("a"), text(""), text("Ġé")])),
    entry("scores", ARRAY, array(F32, [struct.pack("<f", x) for x in (1, -2)])),
    entry("flags", ARRAY, array(BOOL, [b"\1", b"\0"])),
    entry("deep", ARRAY, array(ARRAY, [array(U8, [b"\7"]), array(STRING, [])])),
]


def small_file(version=3):
    """Every type of metadata, and a tensor of every known type: about 1 kB."""
    infos = [
        info("matrix", (3, 2), CODES["F32"], 0),
        info("half", (4,), CODES["F16"], 32),
        info("q8", (64, 3), CODES["Q8_0"], 64),
        info("q4", (32, 2, 2), CODES["Q4_1"], 288),
    ]
    data = np.arange(6, dtype="<f4").tobytes().ljust(32, b"\0")
    data += np.array([1, -2, 0.5, 3], "<f2").tobytes().ljust(32, b"\0")
    data += random_blocks("Q8_0", 6).ljust(224, b"\0") + random_blocks("Q4_1", 4)
    return file_of(ENTRIES, infos, data, version)


def random_blocks(type_name, count):
    """Blocks of random bytes, whose scales are finite."""
    layout = gguf.TYPES[type_name]
    blocks = np.frombuffer(RNG.bytes(count * layout.block.itemsize), layout.block)
    blocks = blocks.copy()
    for name in set(blocks.dtype.names) & {"d", "m"}:
        blocks[name] = RNG.normal(size=count)
    return blocks.tobytes()


@pytest.fixture
def opened(tmp_path):
    """Write bytes to a file and read it back."""

    def read(content):
        path = tmp_path / "small.gguf"
        path.write_bytes(content)
        return gguf.read(path)

    return read


def everything(file):
    """Read all there is in a file."""
    return [file.metadata[key] for key in file.metadata], [
        file.load(name) for name in file.tensors
    ]


# ---- each type by hand ---------------------------------------------------------------


def test_f32_and_f16_are_the_numbers_themselves():
    raw = struct.pack("<4f", 1, -0.0, 0.1, 3e38)
    expected = np.array([1, -0.0, 0.1, 3e38], "f4")
    assert gguf.dequantize(raw, "F32", (4,)).tobytes() == expected.tobytes()
    halves = gguf.dequantize(struct.pack("<2e", 0.1, -65504), "F16", (2,))
    assert halves.dtype == np.float32 and halves.tolist() == [0.0999755859375, -65504]


def test_a_q8_0_block_is_a_scale_and_32_signed_bytes():
    quants = [-128, -1, 0, 1, 127, *range(27)]
    raw = struct.pack("<e32b", 0.5, *quants)
    assert gguf.dequantize(raw, "Q8_0", (32,)).tolist() == [q / 2 for q in quants]


def test_a_q4_1_block_has_numbers_0_to_15_in_the_low_and_the_rest_in_the_high_bits():
    # byte i: number i in its low four bits, number i + 16 in its high four
    pairs = [low | (15 - low) << 4 for low in range(16)]
    raw = struct.pack("<ee16B", 0.25, -1, *pairs)
    low, high = (
        [0.25 * q - 1 for q in range(16)],
        [0.25 * (15 - q) - 1 for q in range(16)],
    )
    assert gguf.dequantize(raw, "Q4_1", (32,)).tolist() == low + high


# ---- bit for bit as the gguf package -------------------------------------------------


def bits(array):
    return np.ascontiguousarray(array).view(np.uint32)


def test_every_byte_of_every_type_gives_the_bits_that_the_gguf_package_gives():
    package = pytest.importorskip("gguf", reason="the gguf package is not installed")
    for type_name, layout in gguf.TYPES.items():
        raw = np.frombuffer(RNG.bytes(4 * 33 * 5 * layout.block.itemsize), np.uint8)
        shape = (4, 33, 5 * layout.numbers)
        ours = gguf.dequantize(raw, type_name, shape)
        with np.errstate(invalid="ignore"):  # random bytes include infinite scales
            theirs = package.quants.dequantize(
                raw.reshape(*shape[:2], -1),
                package.GGMLQuantizationType[type_name],
            )
        same = bits(ours) == bits(theirs)
        assert (same | (np.isnan(ours) & np.isnan(theirs))).all()
        assert same.mean() > 0.9  # the rule for NaN does not hide the rest


SIZES = st.lists(st.integers(1, 4), min_size=0, max_size=3)


@given(st.sampled_from(list(CODES)), SIZES, st.integers(1, 3), st.randoms())
def test_any_memory_order_of_out_holds_the_same_numbers(name, rows, blocks, random):
    layout = gguf.TYPES[name]
    shape = (*rows, blocks * layout.numbers)
    raw = random.randbytes(gguf.stored_size(name, shape))
    expected = gguf.dequantize(raw, name, shape)
    axes = random.sample(range(len(shape)), len(shape))
    spread = [2 * shape[axis] for axis in axes]  # in another order, with holes
    memory = np.full(spread, 7, np.float32)
    out = memory[(slice(None, None, 2),) * len(axes)].transpose(np.argsort(axes))
    assert gguf.dequantize(raw, name, shape, out) is out
    assert np.array_equal(out, expected, equal_nan=True)
    holes = [axis for axis, size in enumerate(spread) if size > 1]
    assert all((np.take(memory, 1, axis) == 7).all() for axis in holes)


def test_a_tensor_of_no_dimension_is_one_number(opened):
    file = opened(file_of(infos=[info("x", (), 0, 0)], data=struct.pack("<f", 2)))
    assert file.tensors["x"].shape == file.load("x").shape == ()
    assert file.load("x") == 2


# ---- a whole file --------------------------------------------------------------------


@pytest.mark.parametrize("version", [2, 3])
def test_metadata_come_back_as_they_were_written(opened, version):
    metadata = opened(small_file(version)).metadata
    assert len(metadata) == 16 and next(iter(metadata)) == "general.name"
    assert metadata["general.name"] == "petit modèle"
    whole = [metadata[f"{sign}{n}"] for n in (8, 16, 32, 64) for sign in "ui"]
    expected = [255, -1, 65534, -2, 2**32 - 1, -(2**31), 2**64 - 1, -(2**63)]
    assert whole == expected and all(type(n) is int for n in whole)
    assert (metadata["f32"], metadata["f64"]) == (0.5, 0.1)
    assert metadata["yes"] is True
    assert metadata["tokens"] == ["a", "", "Ġé"]
    assert metadata["scores"].dtype == np.float32
    assert metadata["scores"].tolist() == [1, -2]
    assert metadata["flags"].dtype == bool
    assert metadata["flags"].tolist() == [True, False]
    assert [list(inner) for inner in metadata["deep"]] == [[7], []]


def test_tensors_have_numpys_shapes_and_rows_lie_one_after_the_other(opened):
    file = opened(small_file())
    matrix = file.tensors["matrix"]
    assert (matrix.shape, matrix.type_name, matrix.nbytes) == ((2, 3), "F32", 24)
    assert file.load("matrix").tolist() == [[0, 1, 2], [3, 4, 5]]
    assert file.load("half").tolist() == [1, -2, 0.5, 3]
    assert [t.shape for t in file.tensors.values()][2:] == [(3, 64), (2, 2, 32)]
    raw = file.path.read_bytes()[file.tensors["q8"].offset :][: 6 * 34]
    by_row = [gguf.dequantize(raw[i : i + 68], "Q8_0", (64,)) for i in (0, 68, 136)]
    assert np.array_equal(file.load("q8"), by_row)


def test_a_matrix_can_be_written_transposed_into_an_array_that_is_there(opened):
    file, stored = opened(small_file()), np.empty((64, 3), np.float32)
    assert np.shares_memory(file.load("q8", out=stored.T), stored)
    assert np.array_equal(stored, file.load("q8").T)


def test_a_shape_may_be_a_list():
    raw, out = random_blocks("Q4_1", 4), np.empty((2, 64), np.float32)
    expected = gguf.dequantize(raw, "Q4_1", (2, 64))
    assert np.array_equal(gguf.dequantize(raw, "Q4_1", [2, 64], out), expected)


def test_what_is_loaded_is_the_callers_own(opened):
    file = opened(small_file())
    first = file.load("matrix")
    first[:] = 9
    assert file.load("matrix").max() == 5


def test_an_array_is_read_when_it_is_asked_for_and_then_kept(opened):
    good, bad = array(STRING, [text("ok")]), array(STRING, [text("ok"), text(b"\xff")])
    content = file_of([entry("good", ARRAY, good), entry("bad", ARRAY, bad)])
    metadata = opened(content).metadata  # nobody has looked at \xff yet
    assert metadata["good"] is metadata["good"]
    at = content.index(b"\xff")
    for _ in range(2):
        with pytest.raises(ValueError, match=f"byte {at}: element 1 of .*'bad'.*UTF-8"):
            metadata["bad"]


def test_a_file_may_set_its_own_alignment(opened):
    entries = [entry("general.alignment", U32, struct.pack("<I", 8))]
    infos = [info("a", (1,), 0, 0), info("b", (1,), 0, 8)]
    data = struct.pack("<f4xf", 1, 2)
    file = opened(file_of(entries, infos, data, alignment=8))
    assert [file.load(name).tolist() for name in "ab"] == [[1], [2]]


def test_tensors_may_lie_in_another_order_than_they_are_named_in(opened):
    infos = [info("late", (1,), 0, 32), info("early", (1,), 0, 0)]
    file = opened(file_of(infos=infos, data=struct.pack("<f28xf", 1, 2)))
    assert list(file.tensors) == ["late", "early"]
    assert [file.load(name)[0] for name in file.tensors] == [2, 1]


def test_a_file_written_by_the_gguf_package_is_read(tmp_path):
    package = pytest.importorskip("gguf", reason="the gguf package is not installed")
    writer = package.GGUFWriter(tmp_path / "theirs.gguf", "llama")
    writer.add_block_count(30)
    writer.add_rope_freq_base(1e5)
    writer.add_token_list(["a", "Ġbank"])
    writer.add_token_types([1, 3])
    numbers = RNG.normal(size=(6, 64)).astype(np.float32)
    for name in CODES:
        kind = package.GGMLQuantizationType[name]
        stored = package.quants.quantize(numbers, kind)
        writer.add_tensor(name, stored, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    file = gguf.read(str(tmp_path / "theirs.gguf"))
    assert file.metadata["general.architecture"] == "llama"
    assert file.metadata["llama.block_count"] == 30
    assert file.metadata["llama.rope.freq_base"] == 1e5
    assert file.metadata["tokenizer.ggml.tokens"] == ["a", "Ġbank"]
    assert file.metadata["tokenizer.ggml.token_type"].tolist() == [1, 3]
    # Half a step of the coarsest rounding: half floats 2^-11 of the number; Q8_0 1/254
    # of a block's largest, Q4_1 1/30 of its range; both scales are half floats too.
    steps = {"F32": 0, "F16": 0.002, "Q8_0": 0.02, "Q4_1": 0.25}
    for name, step in steps.items():
        assert file.tensors[name].type_name == name
        assert np.abs(file.load(name) - numbers).max() <= step


# ---- the real model ------------------------------------------------------------------


@pytest.fixture(scope="module")
def model_path():
    """The model file if it is there already; tests do not download it."""
    path = Path(
        os.environ.get("CONTEXTUAL_MODEL")
        or download.cache_folder() / download.SMOLLM2.name
    )
    if not download.is_right(path, download.SMOLLM2):
        pytest.skip("the model is not in the cache; tests do not download it")
    return path


def test_all_272_tensors_of_the_model_have_the_bits_that_the_gguf_package_gives(
    model_path,
):
    package = pytest.importorskip("gguf", reason="the gguf package is not installed")
    file, reader = gguf.read(model_path), package.GGUFReader(model_path)
    assert list(file.tensors) == [tensor.name for tensor in reader.tensors]
    assert len(file.tensors) == 272
    for theirs in reader.tensors:
        expected = package.quants.dequantize(theirs.data, theirs.tensor_type)
        ours = file.load(theirs.name)
        assert ours.shape == expected.shape
        assert np.array_equal(bits(ours), bits(expected)), theirs.name
        if "blk.0." in theirs.name:
            turned = np.empty(expected.shape[::-1], np.float32)
            file.load(theirs.name, out=turned.T)
            assert np.array_equal(bits(turned.T), bits(expected)), theirs.name


def test_the_models_metadata_are_those_that_the_book_names(model_path):
    file = gguf.read(model_path)
    metadata, sizes = file.metadata, [np.prod(t.shape) for t in file.tensors.values()]
    assert metadata["general.architecture"] == "llama"
    assert metadata["llama.block_count"] == 30
    assert metadata["llama.attention.head_count_kv"] == 3
    assert len(metadata["tokenizer.ggml.tokens"]) == 49_152
    assert metadata["tokenizer.ggml.tokens"][5461] == "Ġbank"
    assert len(metadata["tokenizer.ggml.merges"]) == 48_900
    assert sum(sizes) == 134_515_008


def test_opening_the_model_takes_little_time_and_loading_it_no_second_copy(model_path):
    seconds = []
    for _ in range(3):  # of this process, whatever else the machine does
        start = time.process_time()
        file = gguf.read(model_path)
        seconds.append(time.process_time() - start)
    assert min(seconds) < 0.15
    out = np.empty(file.tensors["token_embd.weight"].shape, np.float32)
    tracemalloc.start()
    file.load("token_embd.weight", out=out)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < out.nbytes / 10  # float32 scales, one for 32 numbers, and no more


# ---- files that make no sense --------------------------------------------------------

SENTENCE = re.compile(r"[^\n]+ stops making sense at byte [\d,]+: [^\n]+[^.\n]\.")


def refused(content, path):
    """The sentence with which a file is refused, and no big allocation on the way."""
    path.write_bytes(content)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError) as error:
            everything(gguf.read(path))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    said = str(error.value)
    assert SENTENCE.fullmatch(said) and said.startswith(str(path)) and len(said) < 500
    assert peak < 5e6
    return said


def one_tensor(dims=(2,), code=0, offset=0, data=bytes(8)):
    return file_of(infos=[info("w", dims, code, offset)], data=data)


def one_value(kind, value):
    return file_of([entry("key", kind, value)])


def nested(depth):
    """A list in a list in a list …, the innermost of one number."""
    value = array(U8, [b"\1"])
    for _ in range(depth - 1):
        value = array(ARRAY, [value])
    return one_value(ARRAY, value)


def counts(n_tensors, n_values):
    return b"GGUF" + struct.pack("<IQQ", 3, n_tensors, n_values) + bytes(2_000_000)


TWO = [info("w", (2,), 0, 0), info("w", (2,), 0, 32)]
HUGE = 2**63
BAD = {
    "nothing": (b"", r"byte 0: it begins with b''"),
    "three letters": (b"GGU", r"byte 0: it begins with b'GGU'"),
    "zip": (b"PK\3\4" + bytes(99), r"byte 0: it begins with b'PK.*with b'GGUF'"),
    "only the magic": (b"GGUF", r"byte 4: the version takes 4 bytes, but 0 are left"),
    "version 1": (file_of(version=1), r"byte 4: it is GGUF version 1, not 2 or 3"),
    "version 4": (file_of(version=4), r"byte 4: it is GGUF version 4, not 2 or 3"),
    "version 0": (file_of(version=0), r"byte 4: it is GGUF version 0"),
    "big-endian": (b"GGUF\0\0\0\3" + bytes(16), r"byte 4: .*big-endian"),
    "many tensors": (
        counts(HUGE, 0),
        r"byte 8: the number of tensors is 9,223,.* left",
    ),
    "many values": (counts(0, HUGE), r"byte 16: the number of metadata entries is 9,"),
    "too many tensors": (
        counts(70_000, 0),
        r"byte 8: 70,000 tensors .*more than 65,536",
    ),
    "long key": (
        b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, HUGE) + bytes(99),
        r"byte 24: the length of the key of metadata entry 0 of 1 is 9,223,.*99 bytes",
    ),
    "long string": (
        one_value(STRING, struct.pack("<Q", 2**64 - 1) + b"abc"),
        r"byte 39: the length of the value of 'key' is 18,446,",
    ),
    "long list": (
        one_value(ARRAY, struct.pack("<IQ", STRING, HUGE)),
        r"byte 43: the number of elements of the value of 'key' is 9,223,",
    ),
    "long list of numbers": (
        one_value(ARRAY, struct.pack("<IQ", F64, 2**61)),
        r"byte 43: the number of elements of the value of 'key' is 2,305,",
    ),
    "list one byte short": (
        one_value(ARRAY, array(F64, [bytes(8), bytes(8)]))[:66],
        r"byte 43: the number of elements .* is 2, too many for the 15 bytes left",
    ),
    "long string in a list": (
        one_value(ARRAY, array(STRING, [text("a"), struct.pack("<Q", 2**62)])),
        r"byte 60: the length of element 1 of the value of 'key' is 4,611,",
    ),
    "long list in a list": (
        one_value(ARRAY, array(ARRAY, [struct.pack("<IQ", U8, HUGE)])),
        r"byte 55: the number of elements of the value of 'key' is 9,223,",
    ),
    "deep list": (nested(5), r"byte \d+: the value of 'key' is an array nested more"),
    "deepest list": (nested(20_000), r"nested more than 4 deep"),
    "unknown kind": (
        one_value(13, b""),
        r"byte 35: the type of the value of 'key' is 13",
    ),
    "unknown kind in a list": (
        one_value(ARRAY, array(99, [])),
        r"byte 39: the type of the elements of the value of 'key' is 99",
    ),
    "bool of 2": (
        one_value(BOOL, b"\2"),
        r"byte 39: .*'key' holds 2 where only 0 or 1",
    ),
    "bool of 3 in a list": (
        one_value(ARRAY, array(BOOL, [b"\1", b"\3"])),
        r"byte 52: .*'key' holds 3 where only 0 or 1",
    ),
    "key that is no text": (
        file_of([entry(b"ab\xff", U8, b"\1")]),
        r"byte 34: the key of metadata entry 0 of 1 is not text in UTF-8",
    ),
    "value that is no text": (
        one_value(STRING, text(b"\xc3")),
        r"byte 47: the value of 'key' is not text in UTF-8",
    ),
    "key twice": (
        file_of([entry("key", U8, b"\1"), entry("key", U8, b"\2")]),
        r"byte 40: the key 'key' is there twice",
    ),
    "alignment 0": (
        file_of([entry("general.alignment", U32, bytes(4))]),
        r"byte 24: general.alignment must be a positive multiple of 8, not 0",
    ),
    "alignment 12": (
        file_of([entry("general.alignment", U32, struct.pack("<I", 12))]),
        r"multiple of 8, not 12",
    ),
    "alignment in words": (
        file_of([entry("general.alignment", STRING, text("32"))]),
        r"multiple of 8, not '32'",
    ),
    "alignment true": (
        file_of([entry("general.alignment", BOOL, b"\1")]),
        r"multiple of 8, not True",
    ),
    "alignment past the end": (
        file_of(
            [entry("general.alignment", U32, struct.pack("<I", 2**31))],
            [info("w", (2,), 0, 0)],
        ),
        r"byte 2,147,483,648: the data of tensor 'w' begin there",
    ),
    "5 dimensions": (one_tensor((1,) * 5), r"byte 33: tensor 'w' has 5 dimensions"),
    "2 ** 32 - 1 dimensions": (
        file_of(infos=[text("w") + b"\xff" * 4 + bytes(99)]),
        r"byte 33: tensor 'w' has 4,294,967,295 dimensions",
    ),
    "a 0 in the shape": (one_tensor((0, 2**64 - 1)), r"byte 37: .*its shape has a 0"),
    "product 2 ** 256": (
        one_tensor((2**63,) * 4),
        r"byte 96: the data of tensor 'w' begin there and take .*has 104 bytes in all",
    ),
    "product 2 ** 64 + 0": (one_tensor((2**32, 2**32)), r"take 73,786,976,.* bytes,"),
    "unknown type": (
        one_tensor(code=12),
        r"byte 45: tensor 'w' is of type 12, not .*: "
        r"F32 \(0\), F16 \(1\), Q4_1 \(3\), Q8_0 \(8\)\.",
    ),
    "half a block": (
        one_tensor((48, 2), CODES["Q4_1"], data=bytes(99)),
        r"in tensor 'w', a row of 48 numbers is not made of whole Q4_1 blocks of 32",
    ),
    "misaligned": (
        one_tensor(offset=8, data=bytes(99)),
        r"byte 49: the data of tensor 'w' are at 8, .*no multiple .*, 32",
    ),
    "past the end": (one_tensor(offset=2**63), r"byte 9,223,.*the file has 72 bytes"),
    "one byte short": (one_tensor(data=bytes(7)), r"byte 64: .*take 8 bytes.*has 71"),
    "same place": (
        file_of(infos=[info("a", (2,), 0, 0), info("b", (2,), 0, 0)], data=bytes(99)),
        r"byte 96: the data of tensor 'b' begin inside those of tensor 'a'",
    ),
    "overlapping": (
        file_of(infos=[info("a", (9,), 0, 0), info("b", (2,), 0, 32)], data=bytes(99)),
        r"byte 128: the data of tensor 'b' begin inside those of tensor 'a'",
    ),
    "name twice": (file_of(infos=TWO, data=bytes(99)), r"byte 57: tensor 'w' is there"),
    "name of a million letters": (
        file_of(infos=[info("w" * 10**6, (2,), 12, 0)]),
        r"tensor 'w{60} …' is of type 12",
    ),
    "name over two lines": (
        file_of(infos=[info("w\n\x1b[31m", (2,), 12, 0)]),
        r"tensor 'w\\n\\x1b\[31m' is of type 12",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_file_is_refused_where_it_stops_making_sense(case, tmp_path):
    content, expected = BAD[case]
    assert re.search(expected, refused(content, tmp_path / "bad.gguf"))


def test_lists_four_deep_are_read(opened):
    assert opened(nested(4)).metadata["key"][0][0][0].tolist() == [1]


def test_a_folder_is_no_file_and_a_missing_file_is_missing(tmp_path):
    with pytest.raises(ValueError, match=f"{re.escape(str(tmp_path))} is not a file"):
        gguf.read(tmp_path)
    with pytest.raises(FileNotFoundError):
        gguf.read(tmp_path / "none.gguf")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no such pipes")
def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="pipe is not a file"):
        gguf.read(tmp_path / "pipe")


def test_a_file_cut_anywhere_is_refused_as_an_incomplete_copy(tmp_path):
    content = small_file()
    cuts = [*range(8, len(content), 97), len(content) - 1]
    assert len(cuts) > 10
    for cut in cuts:
        said = refused(content[:cut], tmp_path / "cut.gguf")
        assert "the file may be an incomplete copy" in said


def clean_or_refused(content, path):
    """Whether a file can be read whole; if not it must be a ValueError."""
    path.write_bytes(content)
    try:
        everything(gguf.read(path))
    except ValueError as error:
        assert SENTENCE.fullmatch(str(error)), error
        return False
    return True


def test_300_changed_bytes_in_the_header_give_a_clean_read_or_a_sentence(tmp_path):
    content, path = small_file(), tmp_path / "changed.gguf"
    header = content.index(b"q4") + 100
    tracemalloc.start()
    outcomes = []
    for place, new in zip(RNG.integers(0, header, 300), RNG.integers(0, 256, 300)):
        changed = bytearray(content)
        changed[place] = new
        outcomes.append(clean_or_refused(bytes(changed), path))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 50e6
    assert 30 < sum(outcomes) < 270  # both happen: names change, lengths break


PIECES = st.one_of(  # what a header is made of, in any order
    st.integers(0, 12).map(lambda n: struct.pack("<I", n)),
    st.integers(0, 40).map(lambda n: struct.pack("<Q", n)),
    st.binary(max_size=3).map(text),
    st.binary(max_size=9),
    st.integers(0, 12).map(lambda kind: entry("key", kind, b"")),
    st.integers(0, 12).map(lambda kind: entry("k", ARRAY, struct.pack("<I", kind))),
    st.lists(st.integers(1, 3), max_size=4).map(lambda dims: info("w", dims, 0, 0)),
)


@given(st.lists(PIECES, max_size=6).map(b"".join), st.integers(0, 2), st.integers(0, 3))
def test_any_bytes_after_the_version_give_a_clean_read_or_a_sentence(
    tmp_path_factory, rest, n_tensors, n_values
):
    content = b"GGUF" + struct.pack("<IQQ", 3, n_tensors, n_values) + rest
    path = tmp_path_factory.getbasetemp() / "random.gguf"
    assert clean_or_refused(content, path) or n_tensors + n_values


SIZE = st.sampled_from([1, 2, 8, 32, 2**16, 2**31, 2**32, 2**63, 2**64 - 1])
SOMETIMES_HUGE = st.sampled_from([0, 0, 0, 2**31, 2**62])


@given(
    st.lists(SIZE, max_size=4), st.sampled_from([0, 1, 3, 8, 9]), *[SOMETIMES_HUGE] * 3
)
def test_hostile_numbers_in_every_place_of_a_tensor_never_fill_memory(
    tmp_path_factory, dims, code, offset, length, more_values
):
    tensor = info("w", dims, code, offset)
    values = array(ARRAY, [array(STRING, [text("a")]), struct.pack("<IQ", U8, length)])
    content = file_of([entry("k", ARRAY, values)], [tensor], bytes(64))
    content = content[:16] + struct.pack("<Q", 1 + more_values) + content[24:]
    tracemalloc.start()
    clean_or_refused(content, tmp_path_factory.getbasetemp() / "hostile.gguf")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 50e6


# ---- from CONTEXTUAL_MODEL -----------------------------------------------------------


def test_contextual_model_that_names_half_a_file_ends_in_a_sentence(
    tmp_path, monkeypatch
):
    content = small_file()
    path = tmp_path / "half.gguf"
    path.write_bytes(content[: len(content) // 2])
    monkeypatch.setenv("CONTEXTUAL_MODEL", str(path))
    with pytest.raises(ValueError, match=r"half\.gguf stops .* an incomplete copy\."):
        gguf.read(download.fetch_model())


@pytest.mark.parametrize("size", [1000, 500_000, 10_000_000, 98_362_431])
def test_a_cut_copy_of_the_model_ends_in_a_sentence(model_path, tmp_path, size):
    with model_path.open("rb") as file:
        said = refused(file.read(size), tmp_path / "cut.gguf")
    assert said.endswith("; the file may be an incomplete copy.")
    assert ("the data of tensor" in said) == (size >= 10_000_000)


# ---- arguments -----------------------------------------------------------------------


def test_what_cannot_be_dequantised_is_refused_with_both_sides():
    raw = random_blocks("Q4_1", 2)
    with pytest.raises(ValueError, match="'Q4_K' is not one of F32, F16, Q4_1, Q8_0"):
        gguf.dequantize(raw, "Q4_K", (64,))
    with pytest.raises(ValueError, match=r"shape \(3, 32\) take 60 bytes, not 40\.$"):
        gguf.dequantize(raw, "Q4_1", (3, 32))
    with pytest.raises(ValueError, match=r"row of 16 numbers .* blocks of 32\.$"):
        gguf.dequantize(raw, "Q4_1", (4, 16))


def test_an_out_that_does_not_fit_is_refused_and_stays_as_it_is(opened):
    file = opened(small_file())
    read_only = np.zeros((2, 3), np.float32)
    read_only.flags.writeable = False
    for out, expected in (
        (np.zeros((3, 2), np.float32), r"shape \(2, 3\), not a one|not one of shape"),
        (np.zeros((2, 3)), "float32, not float64"),
        ([[0] * 3] * 2, "float32, not list"),
        (read_only, "read-only"),
    ):
        with pytest.raises(ValueError, match=expected):
            file.load("matrix", out=out)
        assert not np.any(out)


def test_a_tensor_that_is_not_there_is_named(opened):
    with pytest.raises(ValueError, match=r"small\.gguf has no tensor 'blk\.0'\."):
        opened(small_file()).load("blk.0")
