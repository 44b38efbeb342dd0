"""Files of operands and results of any common kind: each is read with equal bits, or refused by what is missing."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.data_files import (
    DESIGN,
    INTERFACE,
    ROWS,
    Array,
    Beyond,
    Data,
    archived,
    exact,
    hexadecimal,
    json_lines,
    matrices,
    narrow,
    product_of_unit,
    pytorch,
    rows_of_unit,
    saved,
    table,
    wide,
    write,
)

from mmaproof.designs.errors import InputError
from mmaproof.hardware_replay.tables import table as tensors
from mmaproof.hardware_replay.tables.numbers import write_operands
from mmaproof.hardware_replay.tables.reading import Wanted, read_answers, read_operands
from mmaproof.hardware_replay.target import Answers

UNIT = rows_of_unit()
PATTERNS, NUMBERS = UNIT.patterns, UNIT.numbers
PRODUCT, PRODUCT_ROWS = product_of_unit()
WITHOUT_C = {n: x for n, x in PATTERNS.items() if n != "c"}


def flat(columns: dict[str, Array]) -> Array:
    """Return rows of a, b, c, d in one array of 32-bit patterns."""
    parts = [x if x.ndim == 2 else x[:, None] for x in columns.values()]
    return np.concatenate([x.astype(np.uint32) for x in parts], axis=1)


def lists(text: Callable[[Array], list[str]], columns: dict[str, Array]) -> bytes:
    """Return a CSV whose cells of a and b are lists in quotes."""
    rows = [
        ",".join(f'"{" ".join(text(x[i]))}"' if x.ndim == 2 else text(x[i : i + 1])[0] for x in columns.values())
        for i in range(ROWS)
    ]
    return "\n".join([",".join(columns), *rows]).encode()


def commas(x: Array) -> list[str]:
    """Return exact decimals with commas, each with a fraction."""
    return [(y if "." in y else f"{y}.0").replace(".", ",") for y in exact(x)]


def verilog(x: Array) -> list[str]:
    """Return patterns as literals with their width."""
    return [f"{8 * x.itemsize}'h{y[2:]}" for y in hexadecimal(x)]


def safetensors(columns: dict[str, Array]) -> bytes:
    """Return a safetensors file: the length of the header, the header, and the bytes."""
    header, at, content = {}, 0, b""
    for name, x in columns.items():
        types = {"float16": "F16", "float32": "F32", "bfloat16": "BF16", "uint16": "U16", "uint32": "U32"}
        data = np.ascontiguousarray(x).tobytes()
        header[name] = {"dtype": types[x.dtype.name], "shape": x.shape, "data_offsets": [at, at + len(data)]}
        at, content = at + len(data), content + data
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + content


SAID = {"interface": INTERFACE}
NATURAL = {
    "CSV of hexadecimal with a header": ({"x.csv": table(PATTERNS, hexadecimal)}, SAID),
    "CSV of decimals": ({"x.csv": table(NUMBERS, exact)}, SAID),
    "CSV without a header": ({"x.csv": table(PATTERNS, hexadecimal, header=False)}, SAID),
    "a .npy file for each array": ({f"{n}.npy": saved(x) for n, x in PATTERNS.items()}, SAID),
    "npz without about": ({"x.npz": archived(**PATTERNS)}, SAID),
    "npz of float arrays": ({"x.npz": archived(**NUMBERS)}, {}),
    "npz of wider floats": ({"x.npz": archived(**wide(NUMBERS))}, SAID),
    "JSON Lines": ({"x.jsonl": json_lines(PATTERNS, hexadecimal)}, SAID),
    "safetensors": ({"x.safetensors": safetensors(NUMBERS)}, {}),
}
MORE = {
    "TSV": ({"x.tsv": table(PATTERNS, hexadecimal, "\t")}, SAID),
    "semicolons": ({"x.csv": table(PATTERNS, hexadecimal, ";")}, SAID),
    "blanks without a header": ({"x.txt": table(PATTERNS, hexadecimal, " ", header=False)}, SAID),
    "patterns in decimal": ({"x.csv": table(PATTERNS, lambda x: [str(y) for y in x.tolist()])}, SAID),
    "hexadecimal without 0x": (
        {"x.csv": table(PATTERNS, lambda x: [y[2:] for y in hexadecimal(x)])},
        SAID | {"read_as": ("hexadecimal",)},
    ),
    "lines of testfloat_gen, with flags": (
        {
            "x.txt": table(PATTERNS, lambda x: [y[2:].upper() for y in hexadecimal(x)], " ", header=False).replace(
                b"\n", b" 1A\n"
            )
        },
        SAID | {"read_as": ("testfloat",)},
    ),
    "upper case, Windows lines, byte order mark": (
        {"x.csv": b"\xef\xbb\xbf" + table(PATTERNS, hexadecimal).upper().replace(b"0X", b"0x").replace(b"\n", b"\r\n")},
        SAID,
    ),
    "a spreadsheet with decimal commas": ({"x.csv": table(NUMBERS, commas, ";").replace(b"\n", b"\r\n")}, SAID),
    "decimal commas without a header": ({"x.csv": table(NUMBERS, commas, "\t", header=False)}, SAID),
    "literals of Verilog": ({"x.txt": table(PATTERNS, verilog, " ", header=False)}, SAID),
    "gzip": ({"x.csv.gz": gzip.compress(table(PATTERNS, hexadecimal))}, SAID),
    "UTF-16": ({"x.csv": table(PATTERNS, hexadecimal).decode().encode("utf-16")}, SAID),
    "a comment first": ({"x.csv": b"# my unit\n" + table(PATTERNS, hexadecimal)}, SAID),
    "names with brackets": ({"x.csv": table(PATTERNS, hexadecimal).replace(b"a1,", b"a[1],", 1)}, SAID),
    "lists in cells": ({"x.csv": lists(hexadecimal, PATTERNS)}, SAID),
    "one number a line": (
        {"x.txt": "\n".join(f"0x{y:x}" for y in flat(PATTERNS).ravel().tolist()).encode()},
        SAID | {"k": DESIGN.k, "read_as": ("with-c",)},
    ),
    "a file of one number a line for each": (
        {f"{n}.txt": "\n".join(hexadecimal(x.ravel())).encode() for n, x in PATTERNS.items()},
        SAID,
    ),
    "stacked rows": ({"x.npy": saved(flat(PATTERNS))}, SAID),
    "one stack of all numbers": (
        {"x.npy": saved(flat(PATTERNS).ravel())},
        SAID | {"k": DESIGN.k, "read_as": ("with-c",)},
    ),
    "Fortran order": ({"x.npz": archived(**{n: np.asfortranarray(x) for n, x in NUMBERS.items()})}, {}),
    "big endian": ({"x.npz": archived(**{n: x.astype(x.dtype.newbyteorder(">")) for n, x in NUMBERS.items()})}, {}),
    "big endian patterns": (
        {"x.npz": archived(**{n: x.astype(x.dtype.newbyteorder(">")) for n, x in PATTERNS.items()})},
        SAID,
    ),
    "signed integers of the width": (
        {"x.npz": archived(**{n: x.view(f"i{x.itemsize}") for n, x in PATTERNS.items()})},
        SAID,
    ),
    "wider unsigned integers": ({"x.npz": archived(**{n: x.astype(np.uint64) for n, x in PATTERNS.items()})}, SAID),
    "c and d as columns": ({"x.npz": archived(**(NUMBERS | {n: NUMBERS[n][:, None] for n in "cd"}))}, {}),
    "other names": (
        {"x.npz": archived(lhs=NUMBERS["a"], rhs=NUMBERS["b"], acc=NUMBERS["c"], out=NUMBERS["d"], note=np.arange(3))},
        {},
    ),
    "upper-case names": ({"x.npz": archived(**{n.upper(): x for n, x in NUMBERS.items()})}, {}),
    "four files in order": ({f"{i}.npy": saved(x) for i, x in enumerate(NUMBERS.values())}, {}),
    "JSON with whole arrays": (
        {"x.json": json.dumps({n: x.astype(float).tolist() for n, x in NUMBERS.items()}).encode()},
        SAID,
    ),
    "JSON Lines of numbers": ({"x.jsonl": json_lines(NUMBERS, lambda x: x.astype(float).tolist())}, SAID),
    "a list of objects": (
        {"x.json": b"[" + b",".join(json_lines(PATTERNS, hexadecimal).split(b"\n")) + b"]"},
        SAID,
    ),
    "safetensors of patterns": ({"x.safetensors": safetensors(PATTERNS)}, SAID),
    "UTF-16 of a spreadsheet": ({"x.csv": table(PATTERNS, hexadecimal).decode().encode("utf-16")}, SAID),
}


def assert_rows(found: Answers, held: Data) -> None:
    for name, x in zip("abcd", (found.batch.a, found.batch.b, found.batch.c, found.d), strict=True):
        assert np.array_equal(x, getattr(held, name)), name
    assert found.formats == DESIGN.formats


@pytest.mark.parametrize("kind", [*NATURAL, *MORE])
def test_it_is_read_with_equal_bits(kind: str, tmp_path: Path) -> None:
    files, said = (NATURAL | MORE)[kind]
    wanted = Wanted.of(said.get("interface"), said.get("k"), said.get("read_as", ()))  # type: ignore[arg-type]
    assert_rows(read_answers(write(tmp_path, files), wanted), UNIT)


@pytest.mark.parametrize("flags", ["2A", "1", "0x1", "1G"])
def test_what_testfloat_does_not_write_is_no_flags(flags: str, tmp_path: Path) -> None:
    lines = table(PATTERNS, lambda x: [y[2:] for y in hexadecimal(x)], " ", header=False)
    name = write(tmp_path, {"x.txt": lines.rstrip().replace(b"\n", b" 00\n") + f" {flags}\n".encode()})
    with pytest.raises(InputError, match=f"00 to 1F, in the last column, and one is '{flags}'"):
        read_answers(name, Wanted.of(INTERFACE, None, ("testfloat",)))


def test_numbers_of_an_array_are_no_lines_of_testfloat(tmp_path: Path) -> None:
    name = write(tmp_path, {"x.npz": archived(**NUMBERS)})
    with pytest.raises(InputError, match="testfloat_gen writes lines of texts without a header; found"):
        read_answers(name, Wanted.of(None, None, ("testfloat",)))


def test_matrices_are_a_row_for_each_d(tmp_path: Path) -> None:
    held = {n.upper(): x for n, x in PRODUCT.items()}
    assert_rows(read_answers(write(tmp_path, {"x.npz": archived(**held)})), PRODUCT_ROWS)


def test_the_second_matrix_may_be_stored_by_columns(tmp_path: Path) -> None:
    held = PRODUCT | {"b": np.ascontiguousarray(PRODUCT["b"].T)}
    assert_rows(read_answers(write(tmp_path, {"x.npz": archived(**held)})), PRODUCT_ROWS)


@pytest.mark.parametrize("transposed", [False, True])
def test_results_say_how_a_square_matrix_is_stored(transposed: bool, tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    a, b = (rng.normal(size=(DESIGN.k, DESIGN.k)).astype(np.float16).view(np.uint16) for _ in "ab")
    numbers, rows = matrices(a, b, np.zeros((DESIGN.k, DESIGN.k), np.uint32))
    stored = numbers | {"b": np.ascontiguousarray(numbers["b"].T)} if transposed else numbers
    assert_rows(read_answers(write(tmp_path, {"x.npz": archived(**stored)})), rows)


def test_a_square_matrix_that_results_do_not_explain_is_refused_with_both_readings(tmp_path: Path) -> None:
    square = {n: np.eye(DESIGN.k, dtype=np.float16) for n in "ab"} | {"d": np.eye(DESIGN.k, dtype=np.float32) * 7}
    name = write(tmp_path, {"x.npz": archived(**square)})
    with pytest.raises(InputError, match="--read-as b=KxN .*--read-as b=NxK"):
        read_answers(name)
    assert len(read_answers(name, Wanted.of(None, None, ("b=NxK",))).d) == DESIGN.k**2


def test_a_stack_of_products_has_the_rows_of_all(tmp_path: Path) -> None:
    stacked = {n: np.stack([x, x]) for n, x in PRODUCT.items()}
    found = read_answers(write(tmp_path, {"x.npz": archived(**stacked)}))
    assert np.array_equal(found.d, np.tile(PRODUCT_ROWS.d, 2))
    assert np.array_equal(found.batch.b, np.tile(PRODUCT_ROWS.b, (2, 1)))


def test_types_of_ml_dtypes_are_read_where_numpy_has_kept_the_bytes_alone(tmp_path: Path) -> None:
    numbers, patterns = narrow()
    found = read_answers(write(tmp_path, {"x.npz": archived(**numbers)}))
    assert [x.name for x in found.formats] == ["bf16", "bf16", "fp32", "fp32"]
    assert np.array_equal(found.batch.a, patterns["a"]) and np.array_equal(found.d, patterns["d"])


def test_the_narrow_type_that_numpy_stores_by_name_is_known(tmp_path: Path) -> None:
    ones = np.ones((2, 4), ml_dtypes.float8_e5m2)
    found = read_answers(write(tmp_path, {"x.npz": archived(a=ones, b=ones, d=np.full(2, 4, np.float32))}))
    assert [x.name for x in found.formats] == ["e5m2", "e5m2", "fp32", "fp32"]
    assert set(found.batch.a.ravel().tolist()) == {0x3C}


def test_scales_of_blocks_are_read(tmp_path: Path) -> None:
    rng = np.random.default_rng(9)
    held = {n: rng.integers(0, 0x7E, (3, 64), dtype=np.uint8) for n in "ab"}
    held |= {n: rng.integers(120, 130, (3, 2), dtype=np.uint8) for n in ("scale_a", "scale_b")}
    name = write(tmp_path, {"x.npz": archived(**held, d=np.zeros(3, np.float32))})
    found = read_answers(name, Wanted.of("block32.f32.e4m3.e4m3.f32.ue8m0", None))
    assert np.array_equal(found.batch.scale_a, held["scale_a"]) and found.batch.k == 64
    with pytest.raises(InputError, match="scale_a.*blockN"):
        read_answers(name, Wanted.of("f32.e4m3.e4m3.f32", None))


def test_c_is_zero_where_there_is_none(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    found = read_answers(write(tmp_path, {"x.npz": archived(**WITHOUT_C)}), Wanted.of(INTERFACE, None))
    assert not found.batch.c.any() and np.array_equal(found.d, UNIT.d)
    assert "has no c: it is zero" in caplog.text


def test_stdin_is_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(table(PATTERNS, hexadecimal))))
    assert_rows(read_answers("-", Wanted.of(INTERFACE, None)), UNIT)


def test_numbers_of_few_digits_are_read_where_that_is_said(tmp_path: Path) -> None:
    held = {n: np.round(x.astype(np.float64), 3) for n, x in NUMBERS.items()}
    name = write(tmp_path, {"x.csv": table(held, lambda x: [f"{y:.3f}" for y in x.tolist()])})
    with pytest.raises(InputError, match="--read-as nearest"):
        read_answers(name, Wanted.of(INTERFACE, None))
    found = read_answers(name, Wanted.of(INTERFACE, None, ("nearest",)))
    assert np.array_equal(found.batch.a.view(np.float16), held["a"].astype(np.float16))


def test_rounded_decimals_are_read_where_they_have_digits_enough(tmp_path: Path) -> None:
    content = table(NUMBERS, lambda x: [f"{float(y):.9g}" for y in x])
    assert_rows(read_answers(write(tmp_path, {"x.csv": content}), Wanted.of(INTERFACE, None)), UNIT)


def test_whole_numbers_that_may_be_numbers_or_patterns_are_refused_with_both_readings(tmp_path: Path) -> None:
    columns = {"a": np.ones((4, 2), int), "b": np.ones((4, 2), int), "d": np.ones(4, int)}
    name = write(tmp_path, {"x.csv": table(columns, lambda x: [str(y) for y in x.tolist()])})
    with pytest.raises(InputError, match="--read-as numbers .*--read-as patterns"):
        read_answers(name, Wanted.of(INTERFACE, None))
    ones = read_answers(name, Wanted.of(INTERFACE, None, ("numbers",)))
    assert set(ones.batch.a.ravel().tolist()) == {0x3C00}


def test_results_say_whether_whole_numbers_are_numbers_or_patterns(tmp_path: Path) -> None:
    a = np.arange(8).reshape(4, 2)
    columns = {"a": a, "b": a, "d": (a * a).sum(axis=1)}
    name = write(tmp_path, {"x.csv": table(columns, lambda x: [str(y) for y in x.tolist()])})
    assert read_answers(name, Wanted.of(INTERFACE, None)).d.view(np.float32).tolist() == columns["d"].tolist()


HEX = table(PATTERNS, hexadecimal)
REFUSED = {
    "lists with commas beside decimal commas": (
        {"x.csv": b"a;b;d\n" + 3 * b'"1,2";"3,4";11,0\n'},
        SAID,
        "shapes do not fit",
    ),
    "a gzip file that ends early": ({"x.gz": gzip.compress(bytes(100))[:-9]}, SAID, "a damaged gzip file"),
    "formats of patterns": (
        {"x.npz": archived(**WITHOUT_C)},
        {},
        r"formats: --interface D.A.B.C; found uint16 arrays a \(24, 16\), b \(24, 16\) and uint32 array d \(24,\)",
    ),
    "formats of text": ({"x.csv": HEX}, {}, r"formats: --interface .*found text arrays a \(24, 16\)"),
    "formats of wide floats": (
        {"x.npz": archived(**wide(NUMBERS))},
        {},
        "the numbers of a are in fp64, fp32, tf32, fp16",
    ),
    "formats of eight bits": (
        {"x.npz": archived(a=np.zeros((2, 4), ml_dtypes.float8_e4m3fn), b=np.zeros((2, 4), "u1"), d=np.zeros(2, "f4"))},
        {},
        "formats: --interface .*untyped 1-byte array a",
    ),
    "a length": ({"x.npy": saved(flat(PATTERNS).ravel())}, SAID, "--k N"),
    "no d": ({"x.npz": archived(a=UNIT.a, b=UNIT.b)}, SAID, "no array d"),
    "no a": ({"x.csv": b"b0,d\n0x0,0x0\n"}, SAID, "no array a"),
    "another k": ({"x.npz": archived(**PATTERNS)}, SAID | {"k": 8}, "rows of k = 16, not 8"),
    "ragged": ({"x.csv": HEX + b"0x1,0x2\n"}, SAID, "x.csv:26: 2 cells, and 34"),
    "ragged lists": ({"x.jsonl": b'{"a":["1","2"],"b":["1"],"d":"1"}'}, SAID, "shapes do not fit"),
    "ragged objects": (
        {"x.jsonl": b'{"a":["0x1"],"b":["0x1"],"d":"0x1"}\n{"a":["0x1","0x2"],"b":["0x1"],"d":"0x1"}'},
        SAID,
        r"x.jsonl:2: a has the shape \(2,\)",
    ),
    "an empty cell": ({"x.csv": b"a0,b0,d\n0x1,,0x1\n"}, SAID, "x.csv:2: b0 is empty"),
    "NaN where the format has none": (
        {"x.csv": b"a0,b0,d\nnan,1.0,1.0\n"},
        {"interface": "f32.e2m1.e2m1.f32"},
        "no NaN",
    ),
    "words": ({"x.csv": b"a0,b0,d\nN/A,1.0,1.0\n"}, SAID, "a: 'n/a' is not a number"),
    "hexadecimal that is too wide": ({"x.csv": b"a0,b0,d\n0x12345,0x0,0x0\n"}, SAID, "too wide for fp16"),
    "patterns that are too wide": (
        {"x.npz": archived(**(PATTERNS | {"a": UNIT.a.astype("u4") + 65536}))},
        SAID,
        "too wide",
    ),
    "numbers that the format does not have": (
        {"x.npz": archived(**(wide(NUMBERS) | {"a": wide(NUMBERS)["a"] + 2**-30}))},
        SAID,
        "not representable in fp16",
    ),
    "shapes": ({"x.npz": archived(**(PATTERNS | {"b": UNIT.b[:, :8]}))}, SAID, "shapes do not fit"),
    "more results than rows": ({"x.npz": archived(**(PATTERNS | {"d": UNIT.d[:5]}))}, SAID, "shapes do not fit"),
    "two arrays that are d": ({"x.npz": archived(**PATTERNS, out=UNIT.d)}, SAID, "d and out are both d"),
    "two files": ({"p.npy": saved(UNIT.a), "q.npy": saved(UNIT.b)}, SAID, "2 files, and their names do not say"),
    "nothing": ({"x.csv": b"\n"}, SAID, "holds no numbers"),
    "a header alone": ({"x.csv": b"a0,b0,d\n"}, SAID, "holds a header and no rows"),
    "bytes": ({"x.bin": b"\xff\x00\x81\x99" * 9}, SAID, "no known kind of file"),
    "JSON that ends early": ({"x.json": b'{"a": [1, 2'}, SAID, "not JSON"),
    "a damaged npz": ({"x.npz": archived(**PATTERNS)[:-40]}, SAID, "damaged"),
    "a damaged safetensors file": ({"x.st": safetensors(NUMBERS)[:-10]}, SAID, "damaged safetensors"),
    "complex numbers": (
        {"x.npz": archived(**(NUMBERS | {"a": NUMBERS["a"].astype("c8")}))},
        SAID,
        "neither numbers nor text",
    ),
    "numbers of a gap": ({"x.csv": b"a0,a2,b0,b1,d\n0x1,0x1,0x1,0x1,0x1\n"}, SAID, "numbers 0, 2"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_it_is_refused_by_what_is_wrong(kind: str, tmp_path: Path) -> None:
    files, said, message = REFUSED[kind]
    with pytest.raises(InputError, match=message):
        read_answers(write(tmp_path, files), Wanted.of(said.get("interface"), said.get("k")))  # type: ignore[arg-type]


class Unpickled:
    """An object that leaves a file behind when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("name", ["x.npy", "x.npz", "x.pkl"])
def test_nothing_is_unpickled(name: str, tmp_path: Path) -> None:
    trap = np.array([Unpickled(tmp_path / "unpickled")], dtype=object)
    with (tmp_path / name).open("wb") as stream:
        if name == "x.npz":
            np.savez(stream, a=trap, b=trap, d=trap, allow_pickle=True)
        elif name == "x.npy":
            np.save(stream, trap, allow_pickle=True)
        else:
            pickle.dump(trap, stream)
    with pytest.raises(InputError):
        read_answers(str(tmp_path / name), Wanted.of(INTERFACE, None))
    assert not (tmp_path / "unpickled").exists()


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl", ".npz"])
def test_operands_that_are_written_are_read_again(ending: str, tmp_path: Path) -> None:
    held = read_answers(write(tmp_path, {"x.npz": archived(**PATTERNS)}), Wanted.of(INTERFACE, None))
    write_operands(tmp_path / f"y{ending}", held)
    again = read_operands(str(tmp_path / f"y{ending}"), Wanted.of(INTERFACE, None))
    for x, y in ((held.batch.a, again.batch.a), (held.batch.b, again.batch.b), (held.batch.c, again.batch.c)):
        assert np.array_equal(x, y)


def test_safetensors_need_an_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tensors, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'mmaproof\[files\]'"):
        read_answers(write(tmp_path, {"x.safetensors": safetensors(NUMBERS)}))


@pytest.mark.parametrize(
    "held", [list(NUMBERS.values()), tuple(NUMBERS.values()), NUMBERS], ids=["list", "tuple", "dict"]
)
def test_tensors_of_pytorch_are_read_without_it(held: Any, tmp_path: Path) -> None:
    assert_rows(read_answers(write(tmp_path, {"x.pt": pytorch(held)})), UNIT)


def test_parts_of_storages_and_narrow_types_of_pytorch_are_read(tmp_path: Path) -> None:
    numbers, patterns = narrow()
    found = read_answers(write(tmp_path, {"x.pt": pytorch(numbers, transposed=True)}))
    assert np.array_equal(found.batch.a, patterns["a"]) and np.array_equal(found.d, patterns["d"])
    ones = {n: np.ones((2, 4), ml_dtypes.float8_e5m2) for n in "ab"} | {"d": np.full(2, 4, np.float32)}
    found = read_answers(write(tmp_path, {"y.pt": pytorch(ones)}))
    assert [x.name for x in found.formats] == ["e5m2", "e5m2", "fp32", "fp32"]
    assert set(found.batch.a.ravel().tolist()) == {0x3C}


@pytest.mark.parametrize(
    ("held", "message"),
    [
        ({"a": 1}, "no dictionary of tensors"),
        ({}, "no dictionary of tensors"),
        (Beyond(np.ones(4, np.float32), 1, (2, 2), (2, 1)), "strides is incompatible|negative|offset must"),
        (Beyond(np.ones(4, np.float32), 0, (1 << 40,), (0,)), "is larger than"),
        (Beyond(np.ones(4, np.float32), 0, (2,), (-1,)), "strides is incompatible|negative|offset must"),
        (Beyond(np.ones(4, np.float32), -1, (2,), (1,)), "strides is incompatible|negative|offset must"),
        (print, "__builtin__.print is not a tensor"),
    ],
)
def test_what_is_not_a_tensor_of_pytorch_is_refused(held: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        read_answers(write(tmp_path, {"x.pt": pytorch(held)}))


def test_no_code_of_a_file_of_pytorch_runs(tmp_path: Path) -> None:
    name = write(tmp_path, {"x.pt": pytorch({"a": Unpickled(tmp_path / "unpickled")})})
    with pytest.raises(InputError, match="not a file of tensors alone: __builtin__.getattr is not a tensor"):
        read_answers(name)
    assert not (tmp_path / "unpickled").exists()
    with pytest.raises(InputError, match="damaged"):
        read_answers(write(tmp_path, {"y.pt": pytorch(NUMBERS)[:-30]}))


def test_what_pytorch_writes_is_read(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    torch.save({n: torch.from_numpy(x.copy()) for n, x in NUMBERS.items()}, tmp_path / "x.pt")
    assert_rows(read_answers(str(tmp_path / "x.pt")), UNIT)
    narrow_types = {n: torch.ones(2, 4).to(torch.float8_e4m3fn) for n in "ab"} | {"d": torch.full((2,), 4.0)}
    torch.save(narrow_types, tmp_path / "y.pt")
    assert [x.name for x in read_answers(str(tmp_path / "y.pt")).formats] == ["e4m3", "e4m3", "fp32", "fp32"]
