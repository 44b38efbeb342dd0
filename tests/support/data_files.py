"""Files of operands and results as people have them: one function writes each kind."""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.operands import OperandBatch, array_of
from mmaproof.smt.evaluate import evaluate_batch
from mmaproof.verification.distributions import draw

INTERFACE = "f32.f16.f16.f32"
DESIGN = find_design("hopper/wgmma.f32.f16.f16")
ROWS, M, N, K = 24, 4, 3, DESIGN.k
Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Data:
    """Patterns of rows a, b, c, d, and the matrices that some of the kinds hold."""

    a: Array
    b: Array
    c: Array
    d: Array

    @property
    def numbers(self) -> dict[str, Array]:
        """The same as arrays of the formats' own types."""
        formats = dict(zip("abcd", DESIGN.formats, strict=True))
        return {n: array_of(getattr(self, n), formats[n]) for n in "abcd"}

    @property
    def patterns(self) -> dict[str, Array]:
        """The patterns by name."""
        return {n: getattr(self, n) for n in "abcd"}


def rows_of_unit() -> Data:
    """Return random rows, and what the unit returns for them."""
    batch = draw("normal", DESIGN, ROWS, K, np.random.default_rng(5))
    return Data(batch.a, batch.b, batch.c, evaluate_batch(DESIGN, batch))


def product_of_unit(k: int = K) -> tuple[dict[str, Array], Data]:
    """Return matrices A, B, C, D of the formats' own types, and their rows."""
    batch = draw("normal", DESIGN, max(M, N) * N, k, np.random.default_rng(6))
    a, b, c = batch.a[:M], batch.b[:N].T, batch.c[: M * N].reshape(M, N)
    return matrices(a, b, c)


def matrices(a: Array, b: Array, c: Array) -> tuple[dict[str, Array], Data]:
    """Return the product of matrices of patterns as the unit has it, and its rows."""
    m, n = c.shape
    rows = OperandBatch(np.repeat(a, n, axis=0), np.tile(b.T, (m, 1)), c.reshape(-1))
    d = evaluate_batch(DESIGN, rows)
    held = {"a": a, "b": b, "c": c, "d": d.reshape(m, n)}
    formats = dict(zip("abcd", DESIGN.formats, strict=True))
    numbers = {x: array_of(np.ascontiguousarray(y), formats[x]) for x, y in held.items()}
    return numbers, Data(rows.a, rows.b, rows.c, d)


def saved(array: Array) -> bytes:
    """Return an array as a .npy file."""
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=False)
    return stream.getvalue()


def archived(**arrays: Array) -> bytes:
    """Return arrays as an .npz file."""
    stream = io.BytesIO()
    np.savez(stream, **arrays)  # type: ignore[arg-type]
    return stream.getvalue()


def hexadecimal(x: Array) -> list[str]:
    """Return patterns as texts."""
    return [f"0x{y:0{2 * x.dtype.itemsize}x}" for y in x.tolist()]


def exact(x: Array) -> list[str]:
    """Return numbers as decimals with all their digits."""
    return [repr(float(y)) for y in x.tolist()]


def table(
    columns: dict[str, Array], text: Callable[[Array], list[str]], separator: str = ",", *, header: bool = True
) -> bytes:
    """Return rows as text, a column for each element."""
    names = [f"{n}{i}" for n, x in columns.items() if x.ndim == 2 for i in range(x.shape[1])]
    names += [n for n, x in columns.items() if x.ndim == 1]
    lines = [separator.join(names)] if header else []
    for i in range(len(columns["a"])):
        cells = [y for x in columns.values() if x.ndim == 2 for y in text(x[i])]
        cells += [y for x in columns.values() if x.ndim == 1 for y in text(x[i : i + 1])]
        lines.append(separator.join(cells))
    return ("\n".join(lines) + "\n").encode()


def json_lines(columns: dict[str, Array], text: Callable[[Array], Sequence[Any]]) -> bytes:
    """Return an object a line."""
    lines = [
        json.dumps({n: text(x[i]) if x.ndim == 2 else text(x[i : i + 1])[0] for n, x in columns.items()})
        for i in range(len(columns["a"]))
    ]
    return "\n".join(lines).encode()


def wide(columns: dict[str, Array]) -> dict[str, Array]:
    """Return numbers in float64, which holds them exactly."""
    return {n: x.astype(np.float64) for n, x in columns.items()}


def narrow() -> tuple[dict[str, Array], dict[str, Array]]:
    """Return rows of bf16 numbers with fp32 results, and their patterns."""
    unit = find_design("hopper/wgmma.f32.bf16.bf16")
    batch = draw("normal", unit, ROWS, unit.k, np.random.default_rng(7))
    d = evaluate_batch(unit, batch)
    patterns = {"a": batch.a, "b": batch.b, "c": batch.c, "d": d}
    numbers = {
        "a": batch.a.view(ml_dtypes.bfloat16),
        "b": batch.b.view(ml_dtypes.bfloat16),
        "c": batch.c.view(np.float32),
        "d": d.view(np.float32),
    }
    return numbers, patterns


def write(folder: Path, files: dict[str, bytes]) -> str:
    """Write files, and return what a command is given: their names with commas between."""
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return ",".join(str(folder / x) for x in files)


@dataclass(frozen=True)
class Beyond:
    """A tensor that need not be within its elements."""

    elements: Array
    offset: int
    size: tuple[int, ...]
    stride: tuple[int, ...]


@dataclass(frozen=True)
class _Name:
    module: str
    name: str


_STORAGES = {"float16": "Half", "float32": "Float", "float64": "Double", "bfloat16": "BFloat16"}


def pytorch(held: Any, *, transposed: bool = False) -> bytes:
    """Return what ``torch.save`` writes of arrays as tensors; ``transposed`` ones are stored by columns."""
    stream, storages = io.BytesIO(), []

    def tensor(x: Beyond) -> bytes:
        name, storage = x.elements.dtype.name, _Name("torch.storage", "UntypedStorage")
        if name in _STORAGES:
            storage = _Name("torch", f"{_STORAGES[name]}Storage")
        storages.append(x.elements.tobytes())
        place = pickled(("storage", storage, str(len(storages) - 1), "cpu", x.elements.size)) + b"Q"
        hooks = pickled(_Name("collections", "OrderedDict")) + b")R"
        rest = b"" if name in _STORAGES else pickled(_Name("torch", name))
        made = pickled(_Name("torch._utils", f"_rebuild_tensor_v{3 if rest else 2}"))
        part = b"".join(pickled(y) for y in (x.offset, x.size, x.stride, False))
        return made + b"(" + place + part + hooks + rest + b"tR"

    def pickled(x: Any) -> bytes:
        match x:
            case Beyond():
                return tensor(x)
            case np.ndarray():
                order = np.asfortranarray(x) if transposed else np.ascontiguousarray(x)
                steps = tuple(y // x.itemsize for y in order.strides)
                return tensor(Beyond(order.ravel(order="K"), 0, x.shape, steps))
            case _Name():
                return f"c{x.module}\n{x.name}\n".encode()
            case tuple() | list():
                first, last = (b"(", b"t") if isinstance(x, tuple) else (b"](", b"e")
                return first + b"".join(map(pickled, x)) + last
            case dict():
                return b"}(" + b"".join(pickled(z) for y in x.items() for z in y) + b"u"
            case _:
                return pickle.dumps(x, 2)[2:-1]

    content = b"\x80\x02" + pickled(held) + b"."
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("x/data.pkl", content)
        for key, elements in enumerate(storages):
            archive.writestr(f"x/data/{key}", elements)
    return stream.getvalue()
