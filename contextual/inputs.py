"""Checks on arguments: each says in one sentence what was wrong and what to do.

Not taught: the chapters' functions call these so that their own lines stay few.
"""

from __future__ import annotations

import difflib
import math
import warnings
from collections.abc import Collection, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

LARGEST_SIZE = 2**40


def as_size(value: Any, name: str, at_least: int = 1) -> int:
    """A whole number that is at least `at_least`; anything else is a ValueError."""
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole:
        kind = type(value).__name__
        raise ValueError(f"{name} must be a whole number, not {value!r} ({kind}).")
    if value < at_least:
        raise ValueError(f"{name} must be at least {at_least}, not {value}.")
    if value > LARGEST_SIZE:
        raise ValueError(f"{name} is {value}: no array is that long.")
    return int(value)


def as_array(values: Any, name: str, min_ndim: int = 1) -> NDArray[Any]:
    """A real, non-empty array of float32 or float64, as it was given.

    Integers become float64. Half precision becomes float32: a sum of a few thousand
    halves is off by much, without a word.
    """
    if isinstance(values, np.ma.MaskedArray):
        raise ValueError(f"{name} is a masked array; fill it first: {name}.filled(…).")
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"{name} is not an array of numbers: {error}.") from None
    if array.dtype.kind not in "iuf":
        kind = array.dtype if array.dtype.kind != "O" else "ragged or mixed objects"
        raise ValueError(f"{name} must hold real numbers, not {kind}.")
    if array.ndim < min_ndim:
        raise ValueError(
            f"{name} needs at least {min_ndim} dimension(s), not shape {array.shape}."
        )
    if array.size == 0:
        raise ValueError(f"{name} is empty: its shape is {array.shape}.")
    if array.dtype == np.float16:
        return array.astype(np.float32)
    return array if array.dtype.kind == "f" else array.astype(np.float64)


def as_token_ids(values: ArrayLike, vocab_size: int) -> NDArray[np.int64]:
    """Row numbers of a table with `vocab_size` rows, any shape; never negative."""
    vocab_size = as_size(vocab_size, "vocab_size")
    try:
        ids = np.asarray(values)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"token_ids is not an array of numbers: {error}.") from None
    if ids.size == 0:
        raise ValueError("token_ids is empty: give at least one id.")
    if ids.dtype.kind not in "iu":
        raise ValueError(f"token_ids must be whole numbers, not {ids.dtype}.")
    wrong = ids[(ids < 0) | (ids >= vocab_size)]
    if wrong.size:
        raise ValueError(
            f"token id {wrong.flat[0]} is not a row of this table: "
            f"its {vocab_size} rows are numbered 0 to {vocab_size - 1}."
        )
    return ids.astype(np.int64)


def as_one_text(values: ArrayLike, vocab_size: int) -> NDArray[np.int64]:
    """The token ids of one text, (T,); none at all are fine, a batch is refused."""
    try:
        ids = np.atleast_1d(np.asarray(values))
    except (TypeError, ValueError, RuntimeError):
        raise ValueError("token_ids is not one list of whole numbers.") from None
    if ids.ndim > 1:
        raise ValueError(
            f"token_ids has shape {ids.shape}: one text at a time, please, such as "
            "[tokenizer.decode(ids) for ids in batch]."
        )
    return as_token_ids(ids, vocab_size) if ids.size else ids.astype(np.int64)


def as_mask(mask: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """A boolean mask (True = may look) that fits scores of `shape`."""
    array = np.asarray(mask)
    if array.dtype.kind == "f":
        raise ValueError(
            "mask holds floats. Some tools add such a mask to the scores; here a mask "
            "is boolean and True = may look. From an additive mask: mask == 0."
        )
    if array.dtype != np.bool_:
        raise ValueError(
            f"mask holds {array.dtype}, which can be read both ways. Here True = may "
            "look: use mask.astype(bool) if 1 means may look, mask == 0 if 1 hides."
        )
    try:
        fits = np.broadcast_shapes(array.shape, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(
            f"mask of shape {array.shape} does not fit scores of shape {shape}: "
            "its last two axes are (words that read, words that are read)."
        )
    return array


def as_text(text: Any, name: str = "text") -> str:
    """A string; bytes, numbers and None are refused with what to do."""
    if isinstance(text, str):
        return text
    hint = " Use .decode('utf-8') first." if isinstance(text, bytes) else ""
    raise ValueError(f"{name} must be a str, not {type(text).__name__}.{hint}")


def unknown_word(word: Any, words: Iterable[str]) -> KeyError:
    """The KeyError for a word that is not in the table, with the nearest spellings."""
    if not isinstance(word, str):
        return KeyError(f"a word is a str, not {type(word).__name__}.")
    known = list(words)
    near = [w for w in (word.lower(), word.strip().lower()) if w in set(known)]
    near = near or difflib.get_close_matches(word.lower(), known, n=3, cutoff=0.7)
    hint = f" Near it: {', '.join(dict.fromkeys(near))}." if near else ""
    return KeyError(f"{word!r} is not among the {len(known):,} words.{hint}")


def as_finite(values: Any, name: str, min_ndim: int = 1) -> NDArray[Any]:
    """As `as_array`, and neither NaN nor infinity: one NaN would reach every word."""
    array = as_array(values, name, min_ndim)
    if np.count_nonzero(np.isfinite(array)) < array.size:  # twice as fast as .all()
        raise ValueError(f"{name} holds NaN or infinity; every number must be finite.")
    return array


def as_even_size(value: Any, name: str) -> int:
    """A size that splits into pairs: a whole, even number, at least 2."""
    size = as_size(value, name)
    if size % 2:
        raise ValueError(
            f"{name} must be even, because it is split in pairs, not {size}."
        )
    return size


def as_base(base: Any) -> float:
    """The constant of the turning speeds: a finite number above 1."""
    number = isinstance(base, (int, float, np.integer, np.floating))
    try:
        value = float(base) if number and not isinstance(base, bool) else math.nan
    except OverflowError:  # a whole number that no float can hold
        value = math.inf
    if not 1 < value < math.inf:
        raise ValueError(f"base must be a finite number above 1, not {base!r}.")
    return value


def as_axis(axis: Any, shape: tuple[int, ...], name: str) -> int:
    """An axis of an array of `shape`, counted from the front or (negative) the back."""
    whole = isinstance(axis, (int, np.integer)) and not isinstance(axis, bool)
    if not whole or not -len(shape) <= axis < len(shape):
        raise ValueError(
            f"axis must be a whole number from {-len(shape)} to {len(shape) - 1} "
            f"for {name} of shape {shape}, not {axis!r}."
        )
    return int(axis)


def as_positions(positions: ArrayLike, x_shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Positions that fit x of shape (…, T, d_head), in float64 whatever came in."""
    array = as_finite(positions, "positions", min_ndim=0).astype(np.float64)
    words = x_shape[:-1]
    if array.shape[-1:] != words[-1:]:
        count = array.shape[-1] if array.ndim else "a single position"
        raise ValueError(
            f"positions has {count} for {words[-1] if words else 'a single word'}: "
            f"x of shape {x_shape} needs positions of shape {words[-1:]}."
        )
    # (B, T) against (B, H, T) would be read per head: only a full set of axes is clear.
    vague = 1 < array.ndim < len(words) and max(array.shape[:-1]) > 1
    if vague or not _fits(array.shape, words):
        raise ValueError(
            f"positions of shape {array.shape} do not fit x of shape {x_shape}: give "
            f"{words[-1:]}, or all axes but the last, with 1 where they are shared, "
            "as in positions[:, None, :] for (B, H, T, d_head)."
        )
    return array


def as_divisor(part: Any, part_name: str, whole: int, whole_name: str) -> int:
    """A number of equal parts: `part` must divide `whole`."""
    part = as_size(part, part_name)
    if whole % part:
        raise ValueError(
            f"{whole_name} {whole} cannot be split into {part} equal parts: "
            f"{part_name} must divide {whole_name}."
        )
    return part


def as_queries_keys_values(
    q: Any, k: Any, v: Any
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """q (…, T, d_head), k (…, S, d_head), v (…, S, d_v) that fit together."""
    q, k, v = (as_finite(a, n, 2) for a, n in ((q, "q"), (k, "k"), (v, "v")))
    if q.shape[-1] != k.shape[-1]:
        raise ValueError(
            f"q and k must have the same d_head, not {q.shape[-1]} and {k.shape[-1]}: "
            f"q has shape {q.shape}, k has shape {k.shape}."
        )
    if k.shape[-2] != v.shape[-2]:
        raise ValueError(
            f"every key needs one value, not {k.shape[-2]} keys and {v.shape[-2]} "
            f"values: k has shape {k.shape}, v has shape {v.shape}."
        )
    try:
        if not q.shape[:-2] == k.shape[:-2] == v.shape[:-2]:
            np.broadcast_shapes(q.shape[:-2], k.shape[:-2], v.shape[:-2])
    except ValueError:
        raise ValueError(
            f"the leading axes of q {q.shape}, k {k.shape} and v {v.shape} "
            "do not fit together."
        ) from None
    largest = float(np.abs(q).max()) * float(np.abs(k).max()) * q.shape[-1]
    if largest > float(np.finfo(np.result_type(q, k)).max):
        raise ValueError(
            f"q and k hold numbers up to {np.abs(q).max():.0e} and "
            f"{np.abs(k).max():.0e}: their products do not fit "
            f"{np.result_type(q, k)}."
        )
    return q, k, v


def _fits(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """True where broadcasting `shape` against `target` leaves `target` as it is."""
    try:
        return np.broadcast_shapes(shape, target) == target
    except ValueError:
        return False


def _mask_array(mask: ArrayLike) -> NDArray[Any]:
    try:
        return np.asarray(mask)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"mask is not an array of booleans: {error}.") from None


def as_attention_mask(mask: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """As `as_mask`, and refused where one mask per text would be taken for per head."""
    array = _mask_array(mask)
    texts, missing = array.shape[:-2], len(shape) - array.ndim
    if array.dtype == np.bool_ and missing > 0 and max(texts, default=1) > 1:
        per_text = texts + (1,) * missing + array.shape[-2:]
        if _fits(per_text, shape):
            raise ValueError(
                f"mask of shape {array.shape} lacks an axis of scores {shape}: "
                "write mask[:, None] for a mask per text, mask[None] for one per head."
            )
    return as_mask(array, shape)


def as_head_mask(
    mask: ArrayLike | None, x_shape: tuple[int, ...], n_heads: int
) -> NDArray[np.bool_] | None:
    """A mask for all texts, for each text, or for each head of x (…, T, C)."""
    if mask is None:
        return None
    array = _mask_array(mask)
    *texts, seq_len, _ = x_shape
    square = (seq_len, seq_len)
    scores_shape = (*texts, n_heads, *square)
    one_per_text = array.ndim >= 2 and array.ndim == len(x_shape)
    full = np.expand_dims(array, -3) if one_per_text else array  # all heads share it
    vague = 2 < array.ndim < len(x_shape)  # per text or per head? refused
    if array.dtype == np.bool_ and (vague or not _fits(full.shape, scores_shape)):
        raise ValueError(
            f"mask of shape {array.shape} does not fit x of shape {x_shape} with "
            f"{n_heads} heads: give {square} for all texts, {(*texts, *square)} for "
            f"each text, or {scores_shape} for each head (1 where it is shared)."
        )
    return as_mask(full, scores_shape)


def as_layer(
    x: Any,
    w_q: Any,
    w_k: Any,
    w_v: Any,
    w_o: Any,
    n_heads: Any,
    n_kv_heads: Any = None,
) -> list[NDArray[Any]]:
    """x and the four matrices of an attention layer, stored (in, out), as arrays."""
    x = as_finite(x, "x", min_ndim=2)
    d_model = x.shape[-1]
    n_heads = as_divisor(n_heads, "n_heads", d_model, "d_model")
    if n_kv_heads is not None:
        as_divisor(n_kv_heads, "n_kv_heads", n_heads, "n_heads")
    d_kv = d_model // n_heads * (n_heads if n_kv_heads is None else int(n_kv_heads))
    arrays = [x]
    for name, w, d_out in (
        ("w_q", w_q, d_model),
        ("w_k", w_k, d_kv),
        ("w_v", w_v, d_kv),
        ("w_o", w_o, d_model),
    ):
        array = as_finite(w, name, min_ndim=2)
        if array.shape != (d_model, d_out):
            raise ValueError(
                f"{name} must have shape {(d_model, d_out)} (in, out) for d_model "
                f"{d_model} and {n_heads} heads of {d_model // n_heads}, "
                f"not {array.shape}."
            )
        arrays.append(array)
    return arrays


def as_lengths(lengths: ArrayLike, seq_len: Any) -> NDArray[np.int64]:
    """How many real tokens each text has: whole numbers (B,), each 0 to seq_len."""
    seq_len = as_size(seq_len, "seq_len")
    try:
        array = np.asarray(lengths)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"lengths is not a list of numbers: {error}.") from None
    if array.ndim != 1 or array.size == 0:
        raise ValueError(
            f"lengths must be a list with one length per text, not shape {array.shape}."
        )
    if array.dtype.kind not in "iu":
        raise ValueError(f"lengths must be whole numbers, not {array.dtype}.")
    wrong = array[(array < 0) | (array > seq_len)]
    if wrong.size:
        raise ValueError(
            f"length {wrong[0]} does not fit seq_len {seq_len}: "
            f"a text has 0 to {seq_len} tokens here."
        )
    return array.astype(np.int64)


def as_vectors(a: Any, b: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Two finite arrays of vectors of one width, whose leading axes fit each other."""
    a, b = as_finite(a, "a"), as_finite(b, "b")
    try:
        if a.ndim > 1 and b.ndim > 1:
            np.broadcast_shapes(a.shape[:-1], b.shape[:-1])
        fits = a.shape[-1] == b.shape[-1]
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(
            f"a has shape {a.shape} and b has shape {b.shape}: the last axes must be "
            "equally long, the others equal or 1."
        )
    return a, b


def as_rows(rows: Any, n_rows: int, name: str) -> NDArray[np.int64]:
    """Row numbers of a table, as a set, list or array of any length, also none."""
    if not isinstance(rows, Collection | np.ndarray) or isinstance(rows, str):
        raise ValueError(f"{name} must be a list of row numbers, not {rows!r}.")
    if len(rows) == 0:
        return np.empty(0, dtype=np.int64)
    try:
        return as_token_ids(list(rows), n_rows)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def check_query(table: NDArray[Any], query: NDArray[Any]) -> None:
    """Refuse a query that is not one vector as wide as the table."""
    if table.ndim != 2 or query.shape != table.shape[1:]:
        raise ValueError(
            f"the query has shape {query.shape}, the table {table.shape}: "
            "the query must be one vector as wide as a row."
        )


def warn_stopped(done: int, wanted: int) -> None:
    """Warn that a trainer ran out of pairs; the line shown is its caller's caller."""
    say = f"Stopped after {done} of {wanted} merges: no pair is left to glue."
    warnings.warn(say, stacklevel=3)


def for_heads(
    positions: Any, mask: Any, leading: tuple[int, ...], seq_len: int, total: int
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Positions (T,) or (B, T) and a mask (T, S) or (B, T, S), with an axis for heads.

    leading: () for one text, (B,) for a batch; seq_len words read `total` words.
    """
    try:
        places = np.asarray(positions, dtype=np.float64)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(f"positions is not an array of numbers: {error}.") from None
    if places.shape not in ((seq_len,), (*leading, seq_len)):
        raise ValueError(
            f"positions of shape {places.shape} do not fit token_ids of shape "
            f"{(*leading, seq_len)}: give one place a word."
        )
    looks = _mask_array(mask)
    if looks.shape not in ((seq_len, total), (*leading, seq_len, total)):
        raise ValueError(
            f"mask of shape {looks.shape} does not fit: {seq_len} words read "
            f"{total} words, so it is {(seq_len, total)} or, one for each text, "
            f"{(*leading, seq_len, total)}."
        )
    looks = as_mask(looks, looks.shape)
    if places.ndim > 1:
        places = places[..., None, :]  # (B, 1, T)
    return places, looks[..., None, :, :] if looks.ndim > 2 else looks


def check_text_length(token_ids: Any, longest: int) -> None:
    """Refuse a text whose tables of weights would fill the memory."""
    seq_len = np.shape(token_ids)[-1] if np.ndim(token_ids) else 1
    if seq_len > longest:
        raise ValueError(
            f"{seq_len} tokens are too many for a table of every weight: "
            f"at most {longest}. Cut the text, or look at one layer with walk()."
        )


def as_sampling(
    logits: Any, temperature: Any, top_k: Any, top_p: Any
) -> NDArray[np.floating[Any]]:
    """Logits (V,) of one place, temperature ≥ 0, top_k ≥ 1 and 0 < top_p ≤ 1."""
    array = as_finite(logits, "logits")
    if array.ndim != 1:
        raise ValueError(
            f"logits must be those of one place, (V,), not {array.shape}: logits[-1]."
        )
    if not _number_within(temperature, 0, math.inf):
        raise ValueError(f"temperature must be 0 or more, not {temperature!r}.")
    if top_k is not None:
        as_size(top_k, "top_k")
    if top_p is not None and not (_number_within(top_p, 0, 1) and top_p > 0):
        raise ValueError(f"top_p must be above 0 and at most 1, not {top_p!r}.")
    return array.astype(np.float64)


def _number_within(value: Any, low: float, high: float) -> bool:
    number = isinstance(value, (int, float, np.integer, np.floating))
    return number and not isinstance(value, bool) and low <= value <= high


def as_prompt(token_ids: list[int]) -> NDArray[np.int64]:
    """The ids of a prompt; an empty one gives the model nothing to continue."""
    if not token_ids:
        raise ValueError("the prompt is empty: give the model something to continue.")
    return np.array(token_ids)
