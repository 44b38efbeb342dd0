"""Random circuits of all covered cells: Yosys' own evaluation and every interpretation give the same bits."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.circuit_runs import INTERPRETATIONS, TermsInParts, circuit_as_read, differences, on_integers, terms_of
from support.random_circuits import KINDS, RandomCircuit, random_circuit, with_yosys

from mmaproof.designs.circuit import Cell
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.semantics import cells, wires
from mmaproof.smt.semantics.cells import RULES, Outputs, Rule
from mmaproof.smt.semantics.wires import ONE, ZERO, Places, extended
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Outcome


def circuits(seeds: Sequence[int], folder: Path, **how: int) -> list[RandomCircuit]:
    found = [random_circuit(seed, first=KINDS[seed % len(KINDS)], **how) for seed in seeds]
    with_yosys(found, folder)
    return found


def check(seeds: Sequence[int], folder: Path) -> Counter[str]:
    counted: Counter[str] = Counter()
    for random in circuits(seeds, folder):
        circuit = circuit_as_read(random)
        for name, run in INTERPRETATIONS.items():
            found = run(circuit, random.rows)
            if found is None:
                continue
            compared, wrong = differences(random, found)
            assert not wrong, (name, random.kinds, wrong[:5], random.text)
            counted[name] += compared
            counted[f"circuits, {name}"] += 1
    return counted


def test_all_rules_are_tried() -> None:
    assert set(KINDS) == set(RULES)


@pytest.mark.middle
def test_random_circuits_agree(tmp_path: Path) -> None:
    counted = check(range(len(KINDS)), tmp_path)
    assert counted["integers"] == counted["terms"] > 50 * len(KINDS)
    assert counted["circuits, machine operations"] > 0.9 * len(KINDS)


@pytest.mark.slow
def test_a_thousand_random_circuits_agree(tmp_path: Path) -> None:
    counted = check(range(1000, 2000), tmp_path)
    assert counted["circuits, terms"] == 1000
    assert counted["integers"] > 100_000


@pytest.mark.middle
def test_in_parts_is_proved_the_same_as_whole(tmp_path: Path) -> None:
    ask, decided = Solving(), 0
    for random in circuits(range(3000, 3030), tmp_path, cells=4, widest=7):
        circuit = circuit_as_read(random)
        whole, parts = terms_of(circuit)["d"], terms_of(circuit, TermsInParts())["d"]
        formula = (~(whole == parts)).data
        symbols = list(formula.get_free_variables())
        reply = ask.ask(formula, symbols, limits=Limits(20, 4 << 30))
        assert reply.outcome is Outcome.UNSAT, random.text
        decided += 1
    assert decided == 30


# --- mutants ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> list[RandomCircuit]:
    return circuits(range(10 * len(KINDS)), tmp_path_factory.mktemp("mutants"), cells=3)


def _is_seen(tried: list[RandomCircuit]) -> bool:
    return any(differences(x, on_integers(circuit_as_read(x), x.rows))[1] for x in tried)


def _changed(change: Callable[[Cell], Cell]) -> Callable[[Rule], Rule]:
    def mutate(rule: Rule) -> Rule:
        return lambda wires, cell: rule(wires, change(cell))

    return mutate


def _with(cell: Cell, **changes: Any) -> Cell:
    held = {n: getattr(cell, n) for n in ("name", "kind", "parameters", "inputs", "outputs", "source")}
    return Cell(**held | changes)


def _unsigned(cell: Cell) -> Cell:
    return _with(cell, parameters=dict(cell.parameters) | {"A_SIGNED": 0, "B_SIGNED": 0})


def _swapped(first: str, second: str) -> Callable[[Cell], Cell]:
    def change(cell: Cell) -> Cell:
        a, b = cell.inputs[first], cell.inputs[second]
        return _with(cell, inputs=dict(cell.inputs) | {first: b, second: a})

    return change


def _another_kind(kind: str) -> Callable[[Rule], Rule]:
    return lambda rule: lambda wires, cell: RULES[kind](wires, cell)


def _zero_extended(places: Places, width: int, signed: bool) -> Places:
    return extended(places, width, False)


SIGNED = ("$add", "$sub", "$mul", "$and", "$or", "$xor", "$xnor", "$not", "$neg", "$pos", "$lt", "$le", "$gt", "$ge")
SIGNED += ("$eq", "$ne", "$div", "$mod", "$divfloor", "$modfloor", "$shl", "$shr", "$sshl", "$sshr", "$shift", "$alu")

RULE_MUTANTS: dict[str, tuple[str, Callable[[Rule], Rule]]] = {
    **{f"{kind} without signs": (kind, _changed(_unsigned)) for kind in SIGNED},
    "$mux swapped": ("$mux", _changed(_swapped("A", "B"))),
    "$bwmux swapped": ("$bwmux", _changed(_swapped("A", "B"))),
    "$concat swapped": ("$concat", _changed(_swapped("A", "B"))),
    "$sub swapped": ("$sub", _changed(_swapped("A", "B"))),
    "$lcu swapped": ("$lcu", _changed(_swapped("P", "G"))),
    "$alu swapped": ("$alu", _changed(_swapped("CI", "BI"))),
    "$_MUX4_ swapped": ("$_MUX4_", _changed(_swapped("S", "T"))),
    "$_AOI3_ swapped": ("$_AOI3_", _changed(_swapped("A", "C"))),
    "$_ANDNOT_ swapped": ("$_ANDNOT_", _changed(_swapped("A", "B"))),
    "$le as $lt": ("$le", _another_kind("$lt")),
    "$sshr as $shr": ("$sshr", lambda rule: _changed(lambda c: _with(c, kind="$shr"))(rule)),
    "$div as $divfloor": ("$div", _another_kind("$divfloor")),
    "$modfloor as $mod": ("$modfloor", _another_kind("$mod")),
    "$reduce_xor as $reduce_or": ("$reduce_xor", _another_kind("$reduce_or")),
    "$logic_and as $logic_or": ("$logic_and", _another_kind("$logic_or")),
    "$xnor as $xor": ("$xnor", _another_kind("$xor")),
    "$fa with two ports swapped": ("$fa", lambda rule: lambda w, c: _exchanged(rule(w, c), "X", "Y")),
    "$slice one place up": ("$slice", _changed(lambda c: _with(c, parameters={"OFFSET": 0}))),
    "$pow of one less": ("$pow", lambda rule: lambda w, c: {"Y": w.places(c.inputs["A"])[:1] * len(c.outputs["Y"])}),
}


def _exchanged(outputs: Outputs, first: str, second: str) -> Outputs:
    return outputs | {first: outputs[second], second: outputs[first]}


@pytest.mark.few(2)
@pytest.mark.parametrize("mutant", RULE_MUTANTS)
def test_a_wrong_rule_is_seen(mutant: str, tried: list[RandomCircuit], monkeypatch: pytest.MonkeyPatch) -> None:
    kind, mutate = RULE_MUTANTS[mutant]
    monkeypatch.setitem(cells.RULES, kind, mutate(RULES[kind]))  # type: ignore[arg-type]
    assert _is_seen([x for x in tried if kind in x.kinds])


def _late(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function of the last argument increased by one."""
    return lambda *x: function(*x[:-1], x[-1] + 1)


FUNCTION_MUTANTS: dict[str, tuple[Any, str, Any]] = {
    "a shift by a constant goes one place too far": (cells, "_moved_up", _late(cells._moved_up)),
    "a shift down brings in ones": (
        cells,
        "_moved_down",
        lambda a, by, filler: a[by:] + [ONE] * min(by, len(a)),
    ),
    "the sign is not extended": (cells, "extended", _zero_extended),
    "the sign of what is shifted is not extended": (cells, "extended", _zero_extended),
    "a choice takes the other value": (
        cells,
        "choice",
        lambda w, select, a, b: wires.choice(w, select, b, a),
    ),
    "any bit of the lower ones": (cells, "any_bit", lambda w, x: wires.any_bit(w, x[:-1] or x)),
    "a carry that is lost": (cells, "total", lambda w, a, b, carry=ZERO: wires.total(w, a, b)),
}


@pytest.mark.few(2)
@pytest.mark.parametrize("mutant", FUNCTION_MUTANTS)
def test_a_wrong_function_is_seen(mutant: str, tried: list[RandomCircuit], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*FUNCTION_MUTANTS[mutant])
    assert _is_seen(tried)


ALGEBRA_MUTANTS: dict[str, tuple[str, Callable[..., int]]] = {
    "a sum that keeps its carry": ("_wrapped_sum", lambda self, x, y, width: (x + y) & ((2 << width) - 1)),
    "a difference the other way": ("_wrapped_difference", lambda self, x, y, width: (y - x) % (1 << width)),
    "a shift modulo the width": (
        "_shift_left_within",
        lambda self, x, width, amount, amount_width: (x << amount % width) % (1 << width),
    ),
    "a right shift modulo the width": (
        "_shift_right",
        lambda self, x, width, signed, amount, amount_width: x >> amount % width,
    ),
    "or for exclusive or": ("_bitwise_xor", lambda self, x, y: x | y),
}


@pytest.mark.parametrize("mutant", ALGEBRA_MUTANTS)
def test_a_wrong_operation_is_seen(mutant: str, tried: list[RandomCircuit], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(IntegerAlgebra, *ALGEBRA_MUTANTS[mutant])
    assert _is_seen(tried)


@pytest.mark.middle
def test_what_is_not_mutated_is_not_seen(tried: list[RandomCircuit]) -> None:
    assert not _is_seen(tried)
