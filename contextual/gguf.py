"""Reads a GGUF model file and turns its compressed tensors into numbers. Not taught.

`read(path)` maps the file into memory and checks all that the file says about itself:
counts, lengths, shapes and places, each against the size of the file before it is used.
`.load(name)` then decompresses one tensor. A file that makes no sense gets a ValueError
that names the byte where it stopped making sense.

Source: the GGUF specification, https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
(versions 2 and 3, little-endian), and the blocks of ggml/src/ggml-common.h.
"""

from __future__ import annotations

import math
import os
import stat
import struct
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

STRING, ARRAY, BOOL = 8, 9, 7  # types of metadata; the others are plain numbers:
NUMBERS = dict(zip((0, 1, 2, 3, 4, 5, 6, BOOL, 10, 11, 12), "BbHhIifBQqd"))
MAX_ENTRIES = 2**16  # tensors, and keys: more would fill memory before data are read
MAX_DEPTH = 4  # of arrays in arrays
MAX_DIMS = 4
INCOMPLETE = "; the file may be an incomplete copy"

Floats = NDArray[np.float32]


# ---- the numbers of a tensor ---------------------------------------------------------


class Layout(NamedTuple):
    """How a type of tensor is stored: blocks of `numbers` values, one record each.

    code: its number in the file; write: fills out (…, n, numbers) from blocks (…, n).
    """

    code: int
    numbers: int
    block: np.dtype[Any]
    write: Callable[[NDArray[Any], Floats], None]


def memory_order(out: Floats) -> Any:
    """In which order to copy the blocks first: numpy is slow where orders differ.

    "F" if rows of `out` lie side by side in memory, as in w.T; else "K", no other.
    """
    return "F" if abs(out.strides[0]) < abs(out.strides[-1]) else "K"


def write_floats(blocks: NDArray[Any], out: Floats) -> None:
    """F32 and F16: blocks (…, n) are the numbers themselves; out (…, n, 1)."""
    out[..., 0] = blocks


def write_q8_0(blocks: NDArray[Any], out: Floats) -> None:
    """Q8_0: blocks (…, n) of a scale d and 32 int8; out (…, n, 32) is d · q."""
    order = memory_order(out)
    d = blocks["d"].astype(np.float32, order=order)  # (…, n)
    out[...] = blocks["q"].astype(np.int8, order=order, copy=False)
    out *= d[..., None]


def write_q4_1(blocks: NDArray[Any], out: Floats) -> None:
    """Q4_1: blocks (…, n) of d, m and 16 bytes; out (…, n, 32) is d · q + m.

    The low four bits of byte i are number i of the block, the high four number i + 16.
    """
    order = memory_order(out)
    d, m = (blocks[name].astype(np.float32, order=order) for name in "dm")  # (…, n)
    pairs = blocks["q"].astype(np.uint8, order=order, copy=False)  # (…, n, 16)
    out[..., :16] = pairs & 15
    out[..., 16:] = pairs >> 4
    out *= d[..., None]
    out += m[..., None]


Q8_0 = np.dtype([("d", "<f2"), ("q", "i1", 32)])
Q4_1 = np.dtype([("d", "<f2"), ("m", "<f2"), ("q", "u1", 16)])
TYPES = {
    "F32": Layout(0, 1, np.dtype("<f4"), write_floats),
    "F16": Layout(1, 1, np.dtype("<f2"), write_floats),
    "Q4_1": Layout(3, 32, Q4_1, write_q4_1),
    "Q8_0": Layout(8, 32, Q8_0, write_q8_0),
}
NAMES = {layout.code: name for name, layout in TYPES.items()}
KNOWN = ", ".join(f"{name} ({code})" for code, name in NAMES.items())


def dequantize(
    block_bytes: Any, type_name: str, shape: tuple[int, ...], out: Floats | None = None
) -> Floats:
    """The numbers of a tensor, float32 of `shape`, from its bytes as they are stored.

    `out`: an array of that shape to write into, in any memory order; `w.T` fills w of
    shape (in, out) from a tensor of shape (out, in). ValueError for another size.
    """
    if type_name not in TYPES:
        raise ValueError(f"type {type_name!r} is not one of {', '.join(TYPES)}.")
    shape = tuple(shape)
    layout, needed = TYPES[type_name], stored_size(type_name, shape)
    stored = np.frombuffer(block_bytes, np.uint8)
    if len(stored) != needed:
        what = f"{type_name} numbers of shape {shape}"
        raise ValueError(f"{what} take {needed:,} bytes, not {len(stored):,}.")
    out = as_target(out, shape)
    *rows, row = shape or (1,)
    blocks = stored.view(layout.block).reshape(*rows, row // layout.numbers)
    with np.errstate(invalid="ignore"):  # 0 · infinity, if a file has such a scale
        layout.write(blocks, out.reshape(*blocks.shape, layout.numbers))
    return out


def as_target(out: Any, shape: tuple[int, ...]) -> Floats:
    """`out` if a tensor of `shape` can be written into it, a new array for None."""
    if out is None:
        return np.empty(shape, np.float32)
    if not isinstance(out, np.ndarray) or out.dtype != np.float32:
        kind = getattr(out, "dtype", type(out).__name__)
        raise ValueError(f"out must be an array of float32, not {kind}.")
    if out.shape != shape or not out.flags.writeable:
        state = "" if out.flags.writeable else "read-only "
        raise ValueError(
            f"out must be a writeable array of shape {shape}, "
            f"not a {state}one of shape {out.shape}."
        )
    return out


def stored_size(type_name: str, shape: tuple[int, ...]) -> int:
    """Bytes that a tensor takes; ValueError if a row of it is not whole blocks."""
    layout, row = TYPES[type_name], shape[-1] if shape else 1
    if row % layout.numbers:
        raise ValueError(
            f"a row of {row:,} numbers is not made of whole {type_name} blocks of "
            f"{layout.numbers}."
        )
    return math.prod(shape) // layout.numbers * layout.block.itemsize


# ---- moving through the file ---------------------------------------------------------


class Cursor:
    """A place in the bytes of a file; it moves forward and never past the end."""

    def __init__(self, data: memoryview, path: Path, position: int = 0) -> None:
        self.data, self.path, self.position = data, path, position

    def copy(self) -> Cursor:
        """Another cursor at the same place."""
        return Cursor(self.data, self.path, self.position)

    def wrong(self, problem: str, at: int) -> ValueError:
        """The error for a file that stops making sense at a byte."""
        where = f"{self.path} stops making sense at byte {at:,}"
        return ValueError(f"{where}: {problem.rstrip('.')}.")

    def need(self, size: int, what: str) -> None:
        """ValueError if fewer than `size` bytes are left."""
        left = len(self.data) - self.position
        if size > left:
            problem = f"{what} takes {size:,} bytes, but {left:,} are left{INCOMPLETE}"
            raise self.wrong(problem, self.position)

    def number(self, code: str, what: str) -> Any:
        """The next number, of a type that `struct` calls `code`."""
        size = struct.calcsize("<" + code)
        self.need(size, what)
        self.position += size
        return struct.unpack_from("<" + code, self.data, self.position - size)[0]

    def count(self, what: str, each: int) -> int:
        """The next number, how many things of at least `each` bytes follow."""
        count = self.number("Q", what)
        left = len(self.data) - self.position
        if count * each > left:
            problem = f"{what} is {count:,}, too many for the {left:,} bytes left"
            raise self.wrong(problem + INCOMPLETE, self.position - 8)
        return count

    def text(self, what: str) -> str:
        """The next string: its length, then UTF-8."""
        size = self.count(f"the length of {what}", 1)
        start, self.position = self.position, self.position + size
        try:
            return str(self.data[start : self.position], "utf-8")
        except UnicodeDecodeError as error:
            problem = f"{what} is not text in UTF-8 ({error.reason})"
            raise self.wrong(problem, start + error.start) from None

    def spans(self, count: int, what: str) -> Iterator[tuple[int, int]]:
        """Begin and end of the next `count` strings; quick, as there may be 49,152."""
        length, data = struct.Struct("<Q").unpack_from, self.data
        position, size = self.position, len(data)
        for i in range(count):
            start = end = position + 8
            if start <= size:
                end += length(data, position)[0]
            if end > size:
                self.position = position
                self.count(f"the length of element {i} of {what}", 1)  # raises
            yield start, end
            position = end
        self.position = position

    def texts(self, count: int, what: str) -> list[str]:
        """The next `count` strings."""
        data, found = self.data, []
        try:
            for start, end in self.spans(count, what):
                found.append(str(data[start:end], "utf-8"))
        except UnicodeDecodeError as error:
            what = f"element {len(found)} of {what}"
            problem = f"{what} is not text in UTF-8 ({error.reason})"
            raise self.wrong(problem, start + error.start) from None
        return found


def shown(name: str) -> str:
    """A name from the file, short enough for a sentence."""
    return repr(name if len(name) <= 64 else name[:60] + " …")


# ---- metadata ------------------------------------------------------------------------


class Metadata(Mapping[str, Any]):
    """Keys and values. An array is read when it is first asked for, then kept.

    Arrays of strings or of arrays are lists, arrays of numbers are numpy arrays.
    """

    def __init__(self, values: dict[str, Any]) -> None:
        self._values = values

    def __getitem__(self, key: str) -> Any:
        value = self._values[key]
        if isinstance(value, Cursor):  # an array that nobody has asked for yet
            place = value.copy()
            value = self._values[key] = read_array(place, f"the value of {shown(key)}")
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"<Metadata: {', '.join(self)}>"


def read_metadata(cursor: Cursor, count: int) -> tuple[Metadata, int]:
    """All keys and values, and the alignment of the tensors, 32 if there is none."""
    values: dict[str, Any] = {}
    alignment = 32
    for i in range(count):
        start = cursor.position
        key = cursor.text(f"the key of metadata entry {i} of {count:,}")
        if key in values:
            raise cursor.wrong(f"the key {shown(key)} is there twice", start)
        value = read_value(cursor, f"the value of {shown(key)}")
        if key == "general.alignment":
            alignment = value
            if type(value) is not int or value <= 0 or value % 8:
                problem = f"{key} must be a positive multiple of 8, not {value!r}"
                raise cursor.wrong(problem, start)
        values[key] = value
    return Metadata(values), alignment


def read_value(cursor: Cursor, what: str) -> Any:
    """The next value; of an array, once it is checked, only the place is kept."""
    kind = read_kind(cursor, what)
    if kind == STRING:
        return cursor.text(what)
    if kind == ARRAY:
        place = cursor.copy()
        skip_array(cursor, what)
        return place
    value = cursor.number(NUMBERS[kind], what)
    if kind == BOOL:
        check_bools(cursor, np.array([value], np.uint8), what, cursor.position - 1)
        return bool(value)
    return value


def read_kind(cursor: Cursor, what: str) -> int:
    """The next metadata type, one of the 13 that there are."""
    kind: int = cursor.number("I", f"the type of {what}")
    if kind not in (STRING, ARRAY, *NUMBERS):
        problem = f"the type of {what} is {kind}, but types go from 0 to 12"
        raise cursor.wrong(problem, cursor.position - 4)
    return kind


def check_bools(cursor: Cursor, stored: NDArray[np.uint8], what: str, at: int) -> None:
    """ValueError if a byte is neither 0 nor 1, as the specification demands."""
    strange = np.flatnonzero(stored > 1)
    if strange.size:
        problem = f"{what} holds {stored[strange[0]]} where only 0 or 1 can be"
        raise cursor.wrong(problem, at + int(strange[0]))


def read_array_start(cursor: Cursor, what: str, depth: int) -> tuple[int, int]:
    """Type and number of the elements of an array that lies in depth - 1 others."""
    if depth > MAX_DEPTH:
        problem = f"{what} is an array nested more than {MAX_DEPTH} deep"
        raise cursor.wrong(problem, cursor.position)
    kind = read_kind(cursor, f"the elements of {what}")
    least = {STRING: 8, ARRAY: 12}.get(kind) or struct.calcsize(NUMBERS[kind])
    return kind, cursor.count(f"the number of elements of {what}", least)


def skip_array(cursor: Cursor, what: str, depth: int = 1) -> None:
    """Move past an array, checking every length in it."""
    kind, count = read_array_start(cursor, what, depth)
    if kind == STRING:
        deque(cursor.spans(count, what), maxlen=0)
    elif kind == ARRAY:
        for _ in range(count):
            skip_array(cursor, what, depth + 1)
    else:
        start, size = cursor.position, struct.calcsize(NUMBERS[kind])
        cursor.position += count * size
        if kind == BOOL:
            stored = np.frombuffer(cursor.data[start : cursor.position], np.uint8)
            check_bools(cursor, stored, what, start)


def read_array(cursor: Cursor, what: str, depth: int = 1) -> Any:
    """An array: a list of strings or of arrays, or a numpy array (count,)."""
    kind, count = read_array_start(cursor, what, depth)
    if kind == STRING:
        return cursor.texts(count, what)
    if kind == ARRAY:
        return [read_array(cursor, what, depth + 1) for _ in range(count)]
    dtype, start = np.dtype("<" + NUMBERS[kind]), cursor.position
    cursor.position += count * dtype.itemsize
    numbers = np.frombuffer(cursor.data[start : cursor.position], dtype)
    return numbers.astype(np.bool_ if kind == BOOL else dtype.newbyteorder("="))


# ---- tensors -------------------------------------------------------------------------


@dataclass(frozen=True)
class Tensor:
    """What the file says about a tensor.

    shape: in numpy's order, (out, in) for a matrix; the file has it the other way.
    offset: of its first byte, from the start of the file; nbytes: as stored.
    """

    name: str
    shape: tuple[int, ...]
    type_name: str
    offset: int
    nbytes: int


def read_tensor(cursor: Cursor, what: str) -> Tensor:
    """What is said about the next tensor; its offset still from where data begin."""
    name = cursor.text(f"the name of {what}")
    what = f"tensor {shown(name)}"
    shape = read_shape(cursor, what)
    code = cursor.number("I", f"the type of {what}")
    if code not in NAMES:
        problem = f"{what} is of type {code}, not one of those known here: {KNOWN}"
        raise cursor.wrong(problem, cursor.position - 4)
    try:
        nbytes = stored_size(NAMES[code], shape)
    except ValueError as error:
        raise cursor.wrong(f"in {what}, {error}", cursor.position - 4) from None
    offset = cursor.number("Q", f"the place of {what}")
    return Tensor(name, shape, NAMES[code], offset, nbytes)


def read_shape(cursor: Cursor, what: str) -> tuple[int, ...]:
    """The shape of a tensor, in numpy's order; its size is still to be checked."""
    start = cursor.position
    n_dims = cursor.number("I", f"the number of dimensions of {what}")
    if n_dims > MAX_DIMS:
        problem = f"{what} has {n_dims:,} dimensions, but {MAX_DIMS} are the most"
        raise cursor.wrong(problem, start)
    sizes = [cursor.number("Q", f"the shape of {what}") for _ in range(n_dims)]
    if 0 in sizes:
        raise cursor.wrong(f"{what} holds no numbers, its shape has a 0", start + 4)
    return tuple(reversed(sizes))


def read_tensors(cursor: Cursor, count: int, alignment: int) -> dict[str, Tensor]:
    """All tensors by name, in the order of the file, each in a place of its own."""
    tensors: dict[str, Tensor] = {}
    for i in range(count):
        start = cursor.position
        tensor = read_tensor(cursor, f"tensor {i} of {count:,}")
        if tensor.name in tensors:
            raise cursor.wrong(f"tensor {shown(tensor.name)} is there twice", start)
        if tensor.offset % alignment:
            problem = (
                f"the data of tensor {shown(tensor.name)} are at {tensor.offset:,}, "
                f"which is no multiple of the alignment, {alignment}"
            )
            raise cursor.wrong(problem, cursor.position - 8)
        tensors[tensor.name] = tensor
    begin = cursor.position + -cursor.position % alignment
    for name, tensor in tensors.items():
        tensors[name] = replace(tensor, offset=begin + tensor.offset)
    check_places(cursor, tensors.values())
    return tensors


def check_places(cursor: Cursor, tensors: Iterable[Tensor]) -> None:
    """ValueError for data that reach past the end, or into another tensor's."""
    end, before = 0, ""
    for tensor in sorted(tensors, key=lambda tensor: tensor.offset):
        data = f"the data of tensor {shown(tensor.name)}"
        if tensor.offset < end:
            problem = f"{data} begin inside those of tensor {shown(before)}"
            raise cursor.wrong(problem, tensor.offset)
        end, before = tensor.offset + tensor.nbytes, tensor.name
        if end > len(cursor.data):
            problem = (
                f"{data} begin there and take {tensor.nbytes:,} bytes, but the file "
                f"has {len(cursor.data):,} bytes in all{INCOMPLETE}"
            )
            raise cursor.wrong(problem, tensor.offset)


# ---- the file ------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class GGUFFile:
    """An open model file: what it says, and the bytes it says it about.

    data: the file's bytes, mapped, (size,) uint8; read-only, not yet in memory.
    """

    path: Path
    metadata: Metadata
    tensors: dict[str, Tensor]
    data: NDArray[np.uint8] = field(repr=False)

    def load(self, name: str, out: Floats | None = None) -> Floats:
        """A tensor's numbers, float32, in numpy's order: (out, in) for a matrix.

        `out`: see `dequantize`. ValueError if the file has no such tensor.
        """
        if name not in self.tensors:
            raise ValueError(f"{self.path} has no tensor {shown(name)}.")
        tensor = self.tensors[name]
        stored = self.data[tensor.offset : tensor.offset + tensor.nbytes]
        return dequantize(stored, tensor.type_name, tensor.shape, out)


def read(path: str | os.PathLike[str]) -> GGUFFile:
    """Open a GGUF file, version 2 or 3, and check what it says about itself.

    ValueError if that makes no sense, OSError if the file cannot be read.
    """
    path = Path(path)
    data = map_file(path)
    cursor = Cursor(data.data, path)
    check_start(cursor)
    n_tensors = cursor.count("the number of tensors", 24)
    n_values = cursor.count("the number of metadata entries", 13)
    if max(n_tensors, n_values) > MAX_ENTRIES:
        problem = f"{n_tensors:,} tensors and {n_values:,} metadata entries"
        raise cursor.wrong(f"{problem} are more than {MAX_ENTRIES:,}", 8)
    metadata, alignment = read_metadata(cursor, n_values)
    tensors = read_tensors(cursor, n_tensors, alignment)
    return GGUFFile(path, metadata, tensors, data)


def map_file(path: Path) -> NDArray[np.uint8]:
    """The bytes of a file, read from the disk only where they are looked at."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise ValueError(f"{path} is not a file.")
    if status.st_size == 0:
        return np.empty(0, np.uint8)
    return np.memmap(path, np.uint8, mode="r").view(np.ndarray)


def check_start(cursor: Cursor) -> None:
    """ValueError unless the file begins as GGUF, version 2 or 3, little-endian."""
    begins = bytes(cursor.data[:4])
    if begins != b"GGUF":
        raise cursor.wrong(f"it begins with {begins!r}, a GGUF file with b'GGUF'", 0)
    cursor.position = 4
    version = cursor.number("I", "the version")
    if version and version % 2**16 == 0:
        problem = "the version is written big-endian; only little-endian can be read"
        raise cursor.wrong(problem, 4)
    if version not in (2, 3):
        raise cursor.wrong(f"it is GGUF version {version:,}, not 2 or 3", 4)
