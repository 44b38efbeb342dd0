"""What is proved of netlists is so: random pairs of small netlists and designs, decided as all operands decide.

Each netlist is written from the terms of a small design, rewritten at random (operands exchanged, sums in another
order, in wider words or by carry-save adders), and is equal to it. One with a cell changed is mostly not, and one of a
design with other parameters neither.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest
from pysmt.environment import Environment
from pysmt.fnode import FNode
from support.in_this_process import InAnyEnvironment, InThisProcess
from support.small_designs import all_operands, differences, random_pair, use_small_formats
from support.written_netlists import Writer, changed, netlist_of, of_circuit

from mmaproof.designs.circuit import Bits, Cell, Circuit
from mmaproof.designs.conversions import RHO, Conversion, Rounding
from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError
from mmaproof.designs.formats import Format, Specials
from mmaproof.designs.parameters import Chain
from mmaproof.designs.readings import IntegerOverflow
from mmaproof.designs.signature import Signature
from mmaproof.designs.steps import IntegerStep
from mmaproof.properties.equivalence import Equivalence
from mmaproof.smt.algebra.protocol import Word
from mmaproof.smt.proving.columns import Columns
from mmaproof.smt.proving.cut_variables import CutVariables
from mmaproof.smt.proving.net_sweep import NetSweep
from mmaproof.smt.proving.netlists import NetlistProof
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Ask
from mmaproof.smt.solving.verdict import Reply
from mmaproof.verification import netlists
from mmaproof.verification.netlists import by_nets

LIMITS = Limits(4, 4 << 30)
PATIENT = Limits(120, 4 << 30)
MOST_SECONDS = 0.05
"""What a query may take: what is not proved then is not said to be so."""


def briefly(formula: FNode, symbols: Sequence[FNode], /, *, limits: Limits) -> Reply:
    """Answer a query of a proof at once or not at all."""
    return InThisProcess().ask(formula, symbols, limits=replace(limits, seconds=min(limits.seconds, MOST_SECONDS)))


def patiently(formula: FNode, symbols: Sequence[FNode], /, *, limits: Limits) -> Reply:
    """Answer a query of a proof that is to succeed, however busy the machine is."""
    return InAnyEnvironment().ask(formula, symbols, limits=limits)


def _integer(name: str, bits: int, *, signed: bool = True) -> Format:
    return Format(name, name, None, 0, bits - signed, Specials.INTEGER, "small", signed=signed)


S2, U2 = _integer("small-s2", 2), _integer("small-u2", 2, signed=False)
S5, U5 = _integer("small-s5", 5), _integer("small-u5", 5, signed=False)


@pytest.fixture(autouse=True)
def small_formats(monkeypatch: pytest.MonkeyPatch) -> None:
    use_small_formats(monkeypatch)
    monkeypatch.setitem(RHO, "int32", Conversion(Rounding.RZ, S5, 4))
    monkeypatch.setitem(RHO, "uint32", Conversion(Rounding.RZ, U5, 5))


def integers(products: int, a: Format, b: Format, c: Format, *, saturates: bool = False) -> Design:
    """A design of integers of a few bits."""
    overflow = IntegerOverflow.SATURATE if saturates else IntegerOverflow.WRAP
    step = IntegerStep(L=products, rho="int32" if c.signed else "uint32", integer_overflow=overflow)
    signature = Signature(a, b, c, c)
    return Design("first", f"m1n1k{products}", "any", signature, 1, 1, products, Chain(), step, "a test")


def asked(
    netlist: Design, model: Design, seed: int = 0, *, rows: int = netlists.ROWS, ask: Ask = briefly
) -> tuple[bool, NetlistProof]:
    """Whether a netlist and a design are equal for all operands, and the proof net by net, which must not say more.

    Few samples, N ``rows`` of each distribution, suggest much that is not so.
    """
    question = Equivalence(netlist, model)
    different, tried = differences(question)
    with Environment(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(netlists, "ROWS", rows)
        proof = by_nets(question, netlist, model, ask, LIMITS if ask is briefly else PATIENT, seed)
    assert not (proof.proved and len(different)), f"{len(different)} of {tried} differ: {model}, {netlist.step}, {seed}"
    return not len(different), proof


def models(seed: int) -> Iterator[Design]:
    """A random small design, one with other parameters, and one whose register is narrower or wider."""
    if seed % 2:
        bit = [bool(seed >> i & 1) for i in range(1, 6)]
        a, b, c = ((S2, U2)[bit[1]], (S2, U2)[bit[2]], (S5, U5)[bit[3]])
        for saturates in (bit[4], not bit[4]):
            yield integers(1 + bit[0], a, b, c, saturates=saturates)
        return
    first, second = random_pair(seed, wide=False).question.designs
    yield first
    try:
        yield replace(first.change(carry_bits=(0, None)[seed // 2 % 2]), architecture="another register")
    except DesignError:
        yield second


def examine(seed: int) -> Counter[str]:
    """Ask about some netlists of one seed; return what was found."""
    first, *others = models(seed)
    written = netlist_of(first, seed)
    pairs = [("rewritten", written, first), ("changed", changed(written, seed), first)]
    pairs += [("of another design", written, x) for x in others if x.k == first.k]
    found: Counter[str] = Counter()
    for what, netlist, model in pairs:
        equal, proof = asked(netlist, model, seed, rows=netlists.ROWS if what == "rewritten" else 1 + seed // 2 % 2)
        assert equal or what != "rewritten", f"the test is wrong: {model}, {seed}"
        found[f"{what}, {'equal' if equal else 'different'}{', proved' * proof.proved}"] += 1
    return found


def examine_all(seeds: Sequence[int]) -> None:
    found = sum(map(examine, seeds), Counter())
    assert found["rewritten, equal, proved"] >= len(seeds) / 3, found
    assert found["changed, different"] >= len(seeds) / 3, found


@pytest.mark.middle
def test_random_netlists_are_decided_as_all_operands_decide() -> None:
    examine_all([1, 3, 5, 7, 16])


@pytest.mark.middle
@pytest.mark.parametrize("first", [9, 73, 137])
def test_more_netlists_of_integers_are_decided_as_all_operands_decide(first: int) -> None:
    examine_all(range(first, first + 64, 2))


# most proofs of those of floating-point numbers take all the time that they have
@pytest.mark.parametrize(
    "seed",
    [pytest.param(n, marks=pytest.mark.middle if n in (8, 20, 28, 50) else pytest.mark.slow) for n in range(0, 80, 2)],
)
def test_netlists_of_floating_point_numbers_are_decided_as_all_operands_decide(seed: int) -> None:
    examine(seed)


# --- by hand: what is nearly so -----------------------------------------------------------------------------


def by_hand(design: Design, write: Callable[[Writer, dict[str, Bits]], Bits]) -> Design:
    """A netlist that a function writes, given its inputs."""
    writer, inputs = Writer(None), dict[str, Bits]()
    a, b, c, _ = design.formats
    for name, fmt in (("a", a), ("b", b)):
        inputs |= {f"{name}{i}": writer.new(fmt.bits) for i in range(design.k)}
    inputs["c"] = writer.new(c.bits)
    d = write(writer, inputs)
    return of_circuit(design, Circuit("by hand", inputs, {"d": d}, tuple(writer.cells), {}, {}))


def wide_sum(writer: Writer, inputs: dict[str, Bits], width: int, signed: bool) -> Bits:
    """The sum of all products, of signed numbers or others, and c in a wide word."""
    total = writer.extended(inputs["c"], width, True)
    for i in range(sum(name[0] == "a" for name in inputs)):
        product = writer.cell("$mul", 5, signed=signed, A=inputs[f"a{i}"], B=inputs[f"b{i}"])
        total = writer.cell("$add", width, A=total, B=writer.extended(product, width, True))
    return total


@pytest.mark.few(1)
@pytest.mark.parametrize("products", [1, 2])
@pytest.mark.parametrize("place", [5, 6])
@pytest.mark.parametrize(("a", "c"), [(S2, S5), (S2, U5), (U2, S5)])
def test_the_bits_above_a_register_that_wraps_are_not_those_of_its_sign(
    products: int, place: int, a: Format, c: Format
) -> None:
    """A sum in a wider word is not that of the register extended: d is 1 where the upper bit is set."""
    design = integers(products, a, a, c)

    def write(writer: Writer, inputs: dict[str, Bits]) -> Bits:
        total = wide_sum(writer, inputs, 8, a.signed)
        return writer.cell("$mux", 5, A=total[:5], B=("1", "0", "0", "0", "0"), S=(total[place],))

    def lower_bits(writer: Writer, inputs: dict[str, Bits]) -> Bits:
        return wide_sum(writer, inputs, 8, a.signed)[:5]

    equal, _ = asked(by_hand(design, write), design)
    assert not equal
    equal, proof = asked(by_hand(design, lower_bits), design, ask=patiently)
    assert equal and (proof.proved or not c.signed)


@pytest.mark.few(1)
@pytest.mark.middle
@pytest.mark.parametrize("seed", [10, 12])
def test_a_wide_register_is_not_a_narrow_one(seed: int) -> None:
    first = random_pair(seed, wide=False).question.designs[0]
    narrow, wide = first.change(carry_bits=0), first.change(carry_bits=None)
    equal, _ = asked(netlist_of(wide), narrow)
    assert not equal
    equal, proof = asked(netlist_of(narrow), narrow, ask=patiently)
    assert equal and proof.proved


# --- replacements one by one --------------------------------------------------------------------------------


def random_sums(design: Design, seed: int, cells: int = 40) -> Design:
    """A netlist of sums, multiples, extensions and carry-save adders of the words of a design; its d is one of them."""
    rng = np.random.default_rng(seed)

    def write(writer: Writer, inputs: dict[str, Bits]) -> Bits:
        signed = design.a_format.signed and design.b_format.signed
        products = [
            writer.cell("$mul", 5, signed=signed, A=inputs[f"a{i}"], B=inputs[f"b{i}"]) for i in range(design.k)
        ]
        pool = [*products, inputs["c"]]

        def word(width: int) -> Bits:
            x = pool[int(rng.integers(len(pool)))] if rng.random() < 0.7 else pool[-1]
            return writer.extended(x, width, bool(rng.random() < 0.5))[:width]

        def constant(width: int) -> Bits:
            return tuple(str(rng.choice(["0", "1"])) for _ in range(width))  # type: ignore[return-value]

        for _ in range(cells):
            width = int(rng.integers(2, 9))
            x, y, z = (word(width) for _ in range(3))
            match int(rng.integers(9)):
                case 0 | 1:
                    pool.append(writer.cell(str(rng.choice(["$add", "$sub"])), width, A=x, B=y))
                case 2:
                    pool.append(writer.cell(str(rng.choice(["$not", "$neg"])), width, A=x))
                case 3:
                    total, carry = writer.new(width), writer.new(width)
                    ends = {"X": carry, "Y": total}
                    writer.cells.append(Cell(f"cell{len(writer.cells)}", "$fa", {}, {"A": x, "B": y, "C": z}, ends))
                    kept = int(rng.integers(width + 1))
                    low: Bits = ("0",) if rng.random() < 0.8 else ("0", "0") if rng.random() < 0.5 else ("1",)
                    pool += [total, low + carry[:kept]]
                case 4:
                    carry = writer.cell("$and", width, A=x, B=y)
                    pool += [writer.cell("$xor", width, A=x, B=y), ("0", *carry[: int(rng.integers(width + 1))])]
                case 5:
                    pool.append(writer.cell("$mul", width, A=x, B=constant(width)))
                case 6:
                    pool.append(writer.cell("$mux", width, A=constant(width), B=constant(width), S=(x[0],)))
                case 7:
                    pool.append(constant(int(rng.integers(1, 3))) + x)
                case _:
                    pool.append(writer.cell("$add", width, A=x, B=constant(width)))
            pool[-1] = pool[-1][:9]
            if rng.random() < 0.1:
                pool += products
        return writer.cell("$add", 5, A=word(5), B=word(5))

    return by_hand(design, write)


def replacements(netlist: Design, design: Design, few: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """Check on all operands each fact, and that each net has the value of what replaces it; return how many have.

    Only every N operands (``few``) are samples of the proof, which suggest what is to be proved.
    """
    question, replaced = Equivalence(netlist, design), 0
    names = [x.symbol_name() for x in question.formula.symbols]
    batch = all_operands(question)
    columns = [*batch.a.T, *batch.b.T, batch.c]
    rows = [dict(zip(names, map(int, row), strict=True)) for row in zip(*columns, strict=True)]
    rows = rows[:: max(len(rows) // 1024, 1) | 1]
    everywhere, original, noted = Columns(rows), NetSweep.on_net, CutVariables.note

    def note(self: CutVariables, fact: FNode) -> None:
        assert everywhere.values(self.without_cuts(fact)).all(), f"{fact} is not a fact of {netlist.step}"
        noted(self, fact)

    def on_net(self: NetSweep, name: str, word: Word[FNode]) -> Word[FNode]:
        nonlocal replaced
        found = original(self, name, word)
        replaced += found.data is not word.data
        same = self._cuts.without_cuts(self._terms.Equals(word.data, found.data))
        assert everywhere.values(same).all(), f"{name} of {netlist.step} is not {found.data}"
        return found

    with monkeypatch.context() as patch, Environment():
        patch.setattr(netlists, "sample_models", lambda *x, **y: rows[::few])
        patch.setattr(NetSweep, "on_net", on_net)
        patch.setattr(CutVariables, "note", note)
        by_nets(question, netlist, design, briefly, LIMITS, 0)
    return replaced


def in_random_sums(seed: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """Check the replacements of random sums."""
    bit = [bool(seed >> i & 1) for i in range(5)]
    design = integers(1 + bit[3], (S2, U2)[bit[0]], (S2, U2)[bit[1]], (S5, U5)[bit[2]])
    return replacements(random_sums(design, seed), design, (1, 37)[bit[4]], monkeypatch)


def in_a_rewritten_design(seed: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """Check the replacements of a netlist of floating-point numbers, with one cell changed."""
    design = random_pair(seed, wide=False).question.designs[0]
    netlist = netlist_of(design, seed)
    return replacements(changed(netlist, seed), design, (1, 37, 101)[seed % 3], monkeypatch)


@pytest.mark.middle
def test_each_net_has_the_value_of_what_replaces_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sum(in_random_sums(seed, monkeypatch) for seed in range(4, 24)) > 50
    assert sum(in_a_rewritten_design(seed, monkeypatch) for seed in (12, 19)) > 5


@pytest.mark.slow
def test_each_of_many_nets_has_the_value_of_what_replaces_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert sum(in_random_sums(seed, monkeypatch) for seed in range(24, 120)) > 250
    assert sum(in_a_rewritten_design(seed, monkeypatch) for seed in range(5)) > 10


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5, 24))
def test_each_net_of_a_rewritten_design_has_the_value_of_what_replaces_it(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_a_rewritten_design(seed, monkeypatch)
