"""One-line faults of small accumulators and arrays: refuted or refused, or right for every value there is.

The sources are changed one token at a time. What is called equal is run in a simulator with all values of operands and
of the register, for each of the claims.
"""

import itertools
import random
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from support.own_rtl import UNITS

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design
from mmaproof.designs.errors import InputError
from mmaproof.designs.operands import OperandBatch
from mmaproof.hardware_replay.rtl_simulator import simulate
from mmaproof.rtl import RtlUnit, read_unit
from mmaproof.smt.evaluate import evaluate_batch
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.verdict import Status
from mmaproof.verification.compare import compare
from mmaproof.verification.netlists import Answered, answer_transitions, whole_status

pytest.importorskip("pyosys")
LIMITS = Limits(300, 4 << 30)
RULES: tuple[tuple[str, str], ...] = (
    (r"(?<![<=>+])\+(?!\+)", "-"),
    (r" \^ ", " | "),
    (r" \| ", " ^ "),
    (r" & ", " | "),
    (r" \* ", " + "),
    (r"<< 1", "<< 2"),
    (r"<< 1", ">> 1"),
    (r" signed", ""),
    (r"8'd0", "8'd1"),
    (r"8'd0", "'x"),
    (r"\((clr|load|en|drain)\)", r"(!\1)"),
    (r"\((clr|load|en|drain)\)", "(1'b1)"),
    (r"\((clr)\)", "(clr && en)"),
    (r"else if \((load|en)\)", r"if (\1)"),
    (r"<= a;", "<= b;"),
    (r"<= (above|whole|product|sum|half);", r"<= ~\1;"),
    (r"<= (a0|b0|a|b);", r"<= \1 & 3'd3;"),
    (r"\[2:0\]\)", "[5:3])"),
    (r"\[5:3\]\)", "[2:0])"),
    (r"\.above\((c|half)\)", r".above(\1 >> 1)"),
    (r"\.below\(d\)", ".below({d[0], d[6:1]})"),
    (r"@\(posedge clk\) below <= sum;", "@(*) below = sum;"),
    (r"(a_q|b_q|above_q) <= (a|b|above);", r"begin logic [6:0] late; late <= \2; \1 <= late; end"),
    (r"7'\((a_q) \* (b_q)\)", r"{1'b0, 6'(\1 * \2)}"),
    (r"8'\((a_q) \* (b_q)\)", r"{2'b0, 6'(\1 * \2)}"),
    (r"7'\((a_q) \* (b_q)\)", r"7'(5'(\1 * \2))"),
    (r"8'\((a_q) \* (b_q)\)", r"8'(5'(\1 * \2))"),
    (r"above_q \+ product", "above + product"),
    (r"above_q \+ product", "(above_q + product) & 7'h3f"),
    (r"acc \+ product", "acc + product + (acc == 8'h7f)"),
    (r"acc   <= above", "acc <= {above[0], above[7:1]}"),
    (r"acc_c <= 8'd0", "acc_c <= acc_c"),
    (r"acc_s <= above", "acc_s <= above + 8'd1"),
    (r"<= acc_s \^ acc_c", "<= acc_s + acc_c"),
    (r"below <= whole", "below <= whole + product"),
    (r"drain\) below", "drain && en) below"),
    (r"acc_s \+ acc_c : acc", "acc_s | acc_c : acc"),
    (r"begin\n    a_q", "if (en) begin\n    a_q"),
    (r"\.clk,", ".clk(~clk),"),
    (r"\.b\(b\[2:0\]\)", ".b(a[2:0])"),
    (r"\.a\(a\[5:3\]\)", ".a(b[5:3])"),
    (r"\.above\(half\)", ".above(c)"),
    (r"a_q \* b_q", "a_q * a_q"),
    (r"a_q \* b_q", "a * b_q"),
    (r"a_q \* b_q", "a_q * b"),
    (r"above_q \+ product", "above_q + product + 7'd1"),
    (r"above_q \+ product", "above_q + (product >>> 1 << 1)"),
    (r"\[6:0\] half", "[5:0] half"),
    (r"\[6:0\] product", "[5:0] product"),
    (r"\[6:0\] above_q", "[5:0] above_q"),
    (r"\[2:0\] a_q", "[1:0] a_q"),
    (r"\[2:0\] b", "[1:0] b"),
)
"""what is replaced, at each place where it stands, and by what"""
KINDS = {"accumulators": ("small/acc_int3.toml", "small/pair_int3.toml"), "streaming": ("small/column_int3.toml",)}


def mutants_of(unit: str) -> list[tuple[str, str]]:
    """Return the names and the texts of the mutated sources of a unit."""
    source = next((UNITS / unit).parent.glob("column*.sv" if "column" in unit else "acc*.sv"))
    text = source.read_text(encoding="utf-8")
    body = text.index("module ")
    found = {}
    for old, new in RULES:
        for place in re.finditer(old, text[body:]):
            changed = text[: body + place.start()] + place.expand(new) + text[body + place.end() :]
            line = text.count("\n", 0, body + place.start()) + 1
            found.setdefault(changed, f"{Path(unit).stem}:{line}:{place[0].strip()} -> {place.expand(new).strip()}")
    return [(name, changed) for changed, name in found.items()]


def whole(unit: RtlUnit) -> OperandBatch:
    """Return all operands of a unit."""
    widths = [x.bits for x, n in zip(unit.design.formats, (unit.design.k,) * 2 + (1,), strict=False) for _ in range(n)]
    count = sum(widths)
    numbers = np.arange(1 << count)
    columns = [(numbers >> sum(widths[:i])) & ((1 << w) - 1) for i, w in enumerate(widths)]
    k = unit.design.k
    a, b = (np.stack(columns[i : i + k], axis=1).astype(np.uint8) for i in (0, k))
    return OperandBatch(a, b, columns[-1].astype(np.uint8))


def is_right(unit: RtlUnit, meant: Design, answered: tuple[Answered, ...]) -> bool:
    """Return whether the sources in a simulator return what is claimed, for all values."""
    batch = whole(unit)
    values = [0, 1, 0x55, 0xFF] if unit.file.added_to_c else [0]
    for word in values:
        free = {f"free {x}": word for x in unit.file.added_to_c}
        if simulate(unit, batch, free=free).d != tuple(evaluate_batch(meant, batch).tolist()):
            return False
    for x in answered:
        if x.claim.read is None:
            found = simulate(unit, batch, control=x.claim.control).d
            asked = batch if not x.claim.where else OperandBatch(batch.a, batch.b, np.zeros_like(batch.c))
            if found != tuple(evaluate_batch(x.claim.model or meant, asked).tolist()):
                return False
    return True


def decide(unit_name: str, text: str, folder: Path) -> str:
    """Prove a mutated unit, and return what came of it."""
    for file in (UNITS / unit_name).parent.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    source = next(x for x in folder.glob("*.sv") if x.name.startswith(Path(unit_name).stem[:3].replace("pai", "acc")))
    source.write_text(text, encoding="utf-8")
    path = folder / Path(unit_name).name
    try:
        meant = find_design(read_unit_design(path))
        unit = read_unit(path, signature=meant.signature)
    except InputError:
        return "refused"
    step = compare(unit.design, meant, limits=LIMITS)
    answered = answer_transitions(
        unit.transitions,
        meant,
        lambda claim, model: compare(
            claim.unit, model, limits=LIMITS, where=claim.where, nan_codes=True, zero_signs=True
        ),
    )
    status = whole_status(step, answered)
    if status is Status.PROVED:
        assert is_right(unit, meant, answered), unit_name
        return "equal"
    return "different" if status is Status.REFUTED else "unknown"


def read_unit_design(path: Path) -> str:
    found = re.search(r'design = "(.*)"', path.read_text(encoding="utf-8"))
    assert found is not None
    return found[1]


def drawn(kind: str, count: int) -> Iterator[tuple[str, str, str]]:
    """Yield mutants of a kind, in an order that mixes lines and rules: unit, name, source."""
    every = [(unit, *x) for unit in KINDS[kind] for x in mutants_of(unit)]
    random.Random(1).shuffle(every)
    assert len(every) >= count, len(every)
    yield from itertools.islice(every, count)


def decide_all(kind: str, count: int, folder: Path) -> Counter[str]:
    found = Counter[str]()
    for i, (unit, name, text) in enumerate(drawn(kind, count)):
        place = folder / str(i)
        place.mkdir()
        verdict = decide(unit, text, place)
        print(verdict, name)
        found[verdict] += 1
    return found


@pytest.mark.skipif(shutil.which("iverilog") is None, reason="Icarus Verilog is not installed")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "count", [pytest.param(2), pytest.param(8, marks=pytest.mark.middle), pytest.param(40, marks=pytest.mark.slow)]
)
def test_mutants_are_refuted_or_right(kind: str, count: int, tmp_path: Path) -> None:
    found = decide_all(kind, count, tmp_path)
    assert found["unknown"] <= count // 20, found
    assert found["different"] + found["refused"] >= count // 2, found  # some are in what the other variant uses


@pytest.mark.middle
@pytest.mark.parametrize("unit", [x for kind in KINDS.values() for x in kind])
def test_the_units_themselves_are_right(unit: str, tmp_path: Path) -> None:
    source = next((UNITS / unit).parent.glob("column*.sv" if "column" in unit else "acc*.sv"))
    assert decide(unit, source.read_text(encoding="utf-8"), tmp_path) == "equal"
