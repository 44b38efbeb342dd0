"""The serving side of the process protocol: answers in order, and a bad line named after the good ones before it."""

import json
import os
import threading

import numpy as np
import pytest

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.errors import InputError
from mmaproof.hardware_replay.process import Conversation, serve
from mmaproof.smt.evaluate import evaluate_batch
from mmaproof.verification.distributions import draw

VOLTA = find_design("volta/f32.f16.f16.f32")
GST = find_design("rtx-blackwell/mma.m16n8k64.block16.f32.e2m1.e2m1.f32.ue4m3")
INTEGER = find_design("turing/mma.m8n8k32.satfinite.s32.s4.s4.s32")


def header(unit, **fields):
    record = {"design": None, **{f"{x}_format": f.name for x, f in zip("abcd", unit.formats, strict=True)}}
    return json.dumps(record | {"k": unit.k} | fields).encode()


def row(design, operands, **fields):
    a, b, c, _ = design.formats
    record = {"a": [a.hex(x) for x in operands.a], "b": [b.hex(x) for x in operands.b], "c": c.hex(operands.c)}
    for name in ("scale_a", "scale_b"):
        if design.scale_format is not None:
            record[name] = [design.scale_format.hex(x) for x in getattr(operands, name)]
    return json.dumps(record | fields).encode()


def batch_of(design, rows, k=None):
    return draw("normal", design, rows, k or design.k, np.random.default_rng(0))


def answers_of(returned):
    return [int(json.loads(x)["d"], 16) for x in returned.splitlines()]


@pytest.mark.few(5)
@pytest.mark.parametrize("design", [VOLTA, GST, INTEGER, find_design("cdna2/f64")], ids=lambda d: d.family)
@pytest.mark.parametrize("rows", [1, 2, 3, 50])
def test_rows_are_answered_in_order(design, rows):
    batch = batch_of(design, rows)
    lines = [header(design), *(row(design, batch.row(i)) for i in range(rows))]
    returned, problem = Conversation(design).answer(lines)
    assert problem is None
    assert answers_of(returned) == evaluate_batch(design, batch).tolist()
    assert returned.endswith(b"\n")
    width = 2 + design.d_format.hex_digits
    assert {len(json.loads(x)["d"]) for x in returned.splitlines()} == {width}


@pytest.mark.parametrize("k", [2, 4, 12])
def test_k_is_the_header_s(k):
    batch = batch_of(VOLTA, 3, k)
    returned, problem = Conversation(VOLTA).answer([header(VOLTA, k=k), *(row(VOLTA, batch.row(i)) for i in range(3))])
    assert (answers_of(returned), problem) == (evaluate_batch(VOLTA, batch).tolist(), None)


@pytest.mark.parametrize("name", [None, VOLTA.name, "volta/f32.f16.f16.f32"])
def test_the_design_or_none_is_asked_for(name):
    assert Conversation(VOLTA).answer([header(VOLTA, design=name)]) == (b"", None)


def test_other_spellings_of_a_pattern_unknown_fields_and_empty_lines():
    line = b'{"a": ["0x3C00", "0x0", "0X0", " 0x0000 "], "b": ["0x4000", "0x0", "0x0", "0x0"], "c": "0x0", "why": 1}'
    returned, problem = Conversation(VOLTA).answer([header(VOLTA, note="x"), b"", line, b" \r", line + b"\r"])
    assert problem is None
    assert returned == b'{"d": "0x40000000"}\n' * 2


def test_numbers_are_taken_as_well_as_patterns():
    line = b'{"a": ["1.5", "0x0000", "-2^-3", "1"], "b": ["2", "1", "8", "0"], "c": "0.25"}'
    assert Conversation(VOLTA).answer([header(VOLTA), line]) == (b'{"d": "0x40100000"}\n', None)


def test_results_are_decimals_where_that_is_asked_for():
    lines = [header(VOLTA), row(VOLTA, ONE), b'{"a": ["1.5", "0", "0", "1"], "b": ["2", "1", "8", "0"], "c": "inf"}']
    hexadecimal, _ = Conversation(VOLTA).answer(lines)
    returned, problem = Conversation(VOLTA, decimal=True).answer(lines)
    numbers = [json.loads(x)["d"] for x in returned.splitlines()]
    assert problem is None
    assert [int(np.float32(x).view(np.uint32)) for x in numbers] == answers_of(hexadecimal)
    assert numbers[1] == "inf"


ONE = batch_of(VOLTA, 1).row(0)
SCALED = batch_of(GST, 1).row(0)


@pytest.mark.few(14)
@pytest.mark.parametrize(
    ("design", "line", "problem"),
    [
        (VOLTA, b"{", "not JSON"),
        (VOLTA, b"\xff\xfe{}", "not JSON"),
        (VOLTA, b'{"a": ' + b"9" * 5000 + b"}", "not JSON"),
        (VOLTA, b"[" * 100_000, "not JSON"),
        (VOLTA, b"[]", "not a JSON object"),
        (VOLTA, b"{}", "'c' is missing"),
        (VOLTA, row(VOLTA, ONE, c=0), "'c' is missing or no text"),
        (VOLTA, row(VOLTA, ONE, a="0x3c00"), "'a' is missing or no list"),
        (VOLTA, row(VOLTA, ONE, a=[1, 2, 3, 4]), "'a' is missing or no list"),
        (VOLTA, row(VOLTA, ONE, b=["0x0000"] * 5), "'b' has 5 elements, 4 are needed"),
        (VOLTA, row(VOLTA, ONE, b=[]), "'b' has 0 elements"),
        (VOLTA, row(VOLTA, ONE, a=["0x0000"] * 3 + ["3c00"]), r"a\[3\]: '3c00' is not a number"),
        (VOLTA, row(VOLTA, ONE, a=["0x0000"] * 3 + ["0x1g00"]), r"a\[3\]: '0x1g00' is not"),
        (VOLTA, row(VOLTA, ONE, a=["0x0000"] * 2 + ["0x000", "00x0000"]), r"a\[3\]: '00x0000' is not"),
        (VOLTA, row(VOLTA, ONE, a=["0x0000"] * 3 + ["0x00\u00e9\u00e9"]), r"a\[3\]: "),
        (VOLTA, row(VOLTA, ONE, b=["0x10000"] * 4), r"b\[0\]: 0x10000 is too wide for fp16"),
        (VOLTA, row(VOLTA, ONE, c="-0x1"), "c: '-0x1' is not"),
        (VOLTA, row(VOLTA, ONE, scale_a=["0x7f"]), "'scale_a' is given, and volta/.* has no scales"),
        (GST, row(GST, SCALED, scale_b=None), "'scale_b' is missing"),
        (GST, row(GST, SCALED, scale_b=["0x38"] * 3), "'scale_b' has 3 elements, 4 are needed"),
        (GST, row(GST, SCALED, a=["0x10"] * 64), r"a\[0\]: 0x10 is too wide for e2m1"),
    ],
)
def test_a_bad_line_is_named_after_the_good_ones(design, line, problem):
    batch = batch_of(design, 5)
    good = [row(design, batch.row(i)) for i in range(5)]
    returned, found = Conversation(design).answer([header(design), *good[:3], line, *good[3:]])
    assert answers_of(returned) == evaluate_batch(design, batch).tolist()[:3]
    assert isinstance(found, InputError)
    assert str(found).startswith("line 5: ")
    assert "\n" not in str(found)
    with pytest.raises(InputError, match=problem):
        raise found


def test_the_first_of_several_bad_lines_is_named():
    batch = batch_of(VOLTA, 1)
    good, misspelled = row(VOLTA, batch.row(0)), row(VOLTA, ONE, c="one")
    returned, found = Conversation(VOLTA).answer([header(VOLTA), good, misspelled, b"{"])
    assert len(returned.splitlines()) == 1
    assert str(found).startswith("line 3: c: 'one'")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"no JSON", "not JSON"),
        (row(VOLTA, ONE), 'a_format = null, volta/.* has "fp16"'),
        (header(VOLTA, b_format="bf16"), 'b_format = "bf16", volta/.* has "fp16"'),
        (header(VOLTA, d_format=16), "d_format = 16"),
        (header(VOLTA, design="volta/f16.f16.f16.f16"), r"asks for volta/\S+f16.f16.f16.f16, served is volta/"),
        (header(VOLTA, design=f"{VOLTA.name}@fraction_bits=24"), "@fraction_bits=24, served is"),
        (header(VOLTA, design="nothing"), "'nothing' is not a design name"),
        (header(VOLTA, design=["x" * 100]), r"'design' is \[\"xxx.*\.\.\.: a design name or null"),
        (header(VOLTA, k=5), r"k = 5 is above the K = 4 .* choose 4 or 8"),
        (header(VOLTA, k=0), "k = 0"),
        (header(VOLTA, k="4"), 'k = "4": a number'),
        (header(VOLTA, k=True), "k = true: a number"),
        (header(VOLTA, k=None), "k = null"),
    ],
)
def test_a_header_that_does_not_fit(line, problem):
    returned, found = Conversation(VOLTA).answer([line, row(VOLTA, ONE)])
    assert returned == b""
    assert str(found).startswith("line 1: ")
    with pytest.raises(InputError, match=problem):
        raise found


class Client:
    """The other end of a ``serve`` that runs in a thread."""

    def __init__(self, design):
        source, self.to = os.pipe()
        self.back, sink = os.pipe()
        self.error = None

        def run():
            try:
                serve(design, source, sink)
            except (InputError, BrokenPipeError) as error:
                self.error = error
            os.close(source)
            os.close(sink)

        self.thread = threading.Thread(target=run, daemon=True)
        self.thread.start()

    def send(self, data):
        view = memoryview(data)
        while view:
            view = view[os.write(self.to, view) :]

    def line(self):
        received = b""
        while not received.endswith(b"\n"):
            received += os.read(self.back, 1)
        return received

    def rest(self):
        parts = []
        while part := os.read(self.back, 1 << 16):
            parts.append(part)
        os.close(self.back)
        self.thread.join(30)
        assert not self.thread.is_alive()
        return b"".join(parts)


def test_each_row_is_answered_before_the_next_is_sent():
    batch = batch_of(VOLTA, 5)
    client = Client(VOLTA)
    client.send(header(VOLTA) + b"\n")
    for i, expected in enumerate(evaluate_batch(VOLTA, batch).tolist()):
        line = row(VOLTA, batch.row(i)) + b"\n"
        client.send(line[:30])
        client.send(line[30:])
        assert answers_of(client.line()) == [expected]
    os.close(client.to)
    assert client.rest() == b""
    assert client.error is None


def test_everything_may_be_written_before_anything_is_read():
    """Far more answers than a pipe holds: the server goes on reading while nobody takes them."""
    batch = batch_of(VOLTA, 20_000)
    lines = [header(VOLTA), *(row(VOLTA, batch.row(i)) for i in range(len(batch)))]
    client = Client(VOLTA)
    client.send(b"\n".join(lines))  # the last line has no end
    os.close(client.to)
    assert answers_of(client.rest()) == evaluate_batch(VOLTA, batch).tolist()
    assert client.error is None


def test_the_answers_before_a_bad_line_are_delivered():
    batch = batch_of(VOLTA, 5000)
    lines = [header(VOLTA), *(row(VOLTA, batch.row(i)) for i in range(len(batch))), b"{", row(VOLTA, ONE)]
    client = Client(VOLTA)
    client.send(b"\n".join(lines) + b"\n")
    assert answers_of(client.rest()) == evaluate_batch(VOLTA, batch).tolist()
    assert str(client.error).startswith("line 5002: not JSON")
    os.close(client.to)


def test_nobody_takes_the_answers():
    client = Client(VOLTA)
    os.close(client.back)
    client.send(header(VOLTA) + b"\n" + row(VOLTA, ONE) + b"\n")
    client.thread.join(30)
    assert isinstance(client.error, BrokenPipeError)
    os.close(client.to)


@pytest.mark.parametrize("text", [b"", b"\n", header(VOLTA)])
def test_an_input_without_rows(text):
    client = Client(VOLTA)
    client.send(text)
    os.close(client.to)
    assert client.rest() == b""
    assert client.error is None
