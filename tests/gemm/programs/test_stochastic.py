"""Conversions that round stochastically, against IEEE P3109; random bits are an operand or stated."""

import numpy as np
import pytest
from reference.formats import decode as decode_number
from reference.p3109 import Parameters, project

from mmaproof import compare_plans, matmul, run_gemm
from mmaproof.designs.catalogue import find_design
from mmaproof.designs.conversions import Stochastic
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import DesignError, InputError, OperandError
from mmaproof.designs.formats import find_format
from mmaproof.gemm.programs import read_plan
from mmaproof.gemm.programs.spelling import spelled
from mmaproof.verification import distributions

UNIT = "cpu/vfmadd231ps"
SPECIALS = [0, 1 << 31, 0x7F800000, 0xFF800000, 0x7FC00000, 1, 0x80000001, 0x7F7FFFFF, 0xFF7FFFFF]
FORMATS = [
    *(Parameters(8, 4, True, True), Parameters(8, 4, True, False), Parameters(6, 3, True, True)),
    *(Parameters(8, 1, True, True), Parameters(3, 2, True, False), Parameters(8, 3, True, True)),
]


def operands(f: Parameters, rng: np.random.Generator) -> np.ndarray:
    """Numbers of fp32 of the size of the format's, those between two numbers at eighths and about, and specials."""
    fmt = find_format(f.name)
    least = 2.0 ** (fmt.e_min - fmt.fraction_bits)
    spread = 2.0 ** rng.uniform(fmt.e_min - f.p - 3, fmt.e_max + 3, 60)
    eighths = rng.integers(0, 64, 60) / 16 * least
    sizes = np.concatenate([spread, eighths]).astype(np.float32)
    return np.concatenate([sizes.view(np.uint32), (-sizes).view(np.uint32), np.uint32(SPECIALS)])


def converted(spelling: str, c: np.ndarray, random: np.ndarray) -> np.ndarray:
    zeros, minus = np.zeros((len(c), 1), dtype=np.uint32), np.full((1, 1), 1 << 31, dtype=np.uint32)
    found = matmul(read_plan(f"{UNIT} | out={spelling}"), zeros, minus, c[:, None], random=random[:, None])
    return np.asarray(found).reshape(-1)


def value_of(pattern: int):
    """A number of fp32 as P3109 has it."""
    x = decode_number(pattern, "fp32")
    kinds = {"nan": "nan", "inf": "-inf" if x.sign else "inf"}
    return kinds.get(x.kind, -x.magnitude if x.sign else x.magnitude)


@pytest.mark.parametrize("mode", ["SatFinite", "SatPropagate", "OvfInf"])
@pytest.mark.parametrize("draw", "abc")
@pytest.mark.parametrize("bits", [1, 2, 8, 23])
@pytest.mark.parametrize("f", FORMATS, ids=lambda f: f.name)
@pytest.mark.few(24)
def test_projections_are_those_of_the_standard(f, bits, draw, mode):
    rng = np.random.default_rng(bits)
    c = operands(f, rng)
    random = rng.integers(0, 1 << bits, len(c), dtype=np.uint32)
    found = converted(f"{f.name}:sr{bits}{draw}:{mode}", c, random)
    for pattern, r, d in zip(c.tolist(), random.tolist(), found.tolist(), strict=True):
        assert d == project(f, f"sr{draw} {bits} {r}", mode, value_of(pattern)), (hex(pattern), hex(r), hex(d))


@pytest.mark.slow
@pytest.mark.parametrize("draw", "abc")
@pytest.mark.parametrize("f", FORMATS[:3], ids=lambda f: f.name)
def test_100000_rows_are_those_of_the_standard(f, draw):
    """Numbers of five distributions, any random bits and the ends of them, and all specials."""
    rng, unit = np.random.default_rng(8), find_design(UNIT)
    rows = [distributions.draw(x, unit, 20_000, 1, rng).c for x in distributions.BASIC]
    c = np.concatenate([*rows, operands(f, rng)])
    random = np.where(rng.integers(0, 4, len(c)), rng.integers(0, 256, len(c)), rng.choice([0, 127, 128, 255], len(c)))
    found = converted(f"{f.name}:sr8{draw}:SatPropagate", c, random.astype(np.uint32))
    assert len(c) > 100_000
    for pattern, r, d in zip(c.tolist(), random.tolist(), found.tolist(), strict=True):
        assert d == project(f, f"sr{draw} 8 {r}", "SatPropagate", value_of(pattern)), (hex(pattern), hex(r), hex(d))


def test_every_random_number_counts_once():
    """1 + 2^-5 lies at a quarter between 1 and 1.125: a quarter of all random numbers rounds it up."""
    for draw, above in (("a", 64), ("b", 64), ("c", 64)):
        c, random = np.full(256, 0x3F840000, dtype=np.uint32), np.arange(256, dtype=np.uint32)
        found = converted(f"e4m3:sr8{draw}", c, random).view(np.uint8).tolist()
        assert found == [0x38] * (256 - above) + [0x39] * above


def test_one_element_is_that_of_the_matrix_and_names_its_random_bits():
    for r in (0, 0xBF, 0xC0, 0xFF):
        done = run_gemm(f"{UNIT} | out=e4m3:sr8", Operands((0,), (1 << 31,), 0x3F840000), random=r)
        assert (done.d, spelled(done.plan)) == (0x39 if r >= 0xC0 else 0x38, f"{done.unit.name} | out=e4m3:sr8@{r:#x}")
        assert run_gemm(spelled(done.plan), done.operands).d == done.d


@pytest.mark.parametrize("text", ["sr8", "sr1b", "sr32c", "sr4@0xf", "sr8b@0x0"])
def test_spellings(text):
    plan = read_plan(f"{UNIT} | out=e4m3:{text}:saturate")
    assert plan.epilogue.rounding == Stochastic.parse(text)
    assert read_plan(spelled(plan)) == plan
    assert f":{text}:saturate" in spelled(plan)


@pytest.mark.parametrize("text", ["sr", "sr0", "sr33", "sr8d", "sr8@5", "sr8@0x100", "sr8@", "sr08", "SR8"])
def test_what_is_no_spelling(text):
    with pytest.raises(InputError, match=r"is not allowed: .*srN, srNb or srNc"):
        read_plan(f"{UNIT} | out=e4m3:{text}")


def test_half_of_the_random_numbers_is_rounding_to_nearest_and_none_is_truncation():
    """2^(N - 1) of StochasticA rounds ties away, 0 truncates; StochasticB's 0 rounds up from 1 - 2^-(N + 1) on."""
    for one, other, verdict in (
        ("sr8@0x80", "rna", "equivalent"),
        ("sr8@0x0:saturate", "rz:saturate", "equivalent"),
        ("sr8b@0x0:saturate", "rz:saturate", "different"),
        ("sr8@0x7f", "rna", "different"),
    ):
        assert compare_plans(f"{UNIT} | out=e4m3:{one}", f"{UNIT} | out=e4m3:{other}").verdict == verdict


def test_random_bits_that_are_missing_or_do_not_fit():
    plan, one = read_plan(f"{UNIT} | out=e4m3:sr8"), np.zeros((1, 1), dtype=np.uint32)
    with pytest.raises(OperandError, match="takes 8 random bits for each element"):
        matmul(plan, one, one)
    with pytest.raises(OperandError, match="takes no random bits"):
        matmul(f"{UNIT} | out=e4m3", one, one, random=one)
    with pytest.raises(OperandError, match="takes no factors and no random bits"):
        matmul(UNIT, one, one, random=one)
    with pytest.raises(OperandError, match="holds 0x100"):
        matmul(plan, one, one, random=one + 256)
    with pytest.raises(OperandError, match=r"shape \(1, 2\)"):
        matmul(plan, one, one, random=np.zeros((1, 2), dtype=np.uint32))
    for bad in (-1, 256):
        with pytest.raises(OperandError, match="are not of 8 bits"):
            run_gemm(plan, Operands((0,), (0,), 0), random=bad)
    with pytest.raises(OperandError, match="takes 8 random bits"):
        run_gemm(plan, Operands((0,), (0,), 0))
    with pytest.raises(OperandError, match="takes no random bits"):
        run_gemm(f"{UNIT} | out=e4m3:rz", Operands((0,), (0,), 0), random=0)
    with pytest.raises(DesignError, match="nothing is rounded to it"):
        matmul(f"{UNIT} | out=fp32:sr8", one, one, random=one)
    with pytest.raises(DesignError, match="flushes nothing"):
        read_plan(f"{UNIT} | out=e4m3:sr8:flush")
    with pytest.raises(DesignError, match="which of them are the same is not stated"):
        compare_plans(plan, f"{UNIT} | out=e4m3:sr7")


FP8, SMALL = "paper/fma-fp8", Parameters(4, 2, True, False)


def projected(spelling: str, value, r: int) -> int:
    """What the reference projects to: of ``sr2b:MODE`` StochasticB with these random bits."""
    rounding, mode = spelling.split(":")
    if rounding.startswith("sr"):
        draw, bits = (rounding[-1], rounding[2:-1]) if rounding[-1] in "abc" else ("a", rounding[2:])
        rounding = f"sr{draw} {bits} {r}"
    return project(SMALL, rounding, mode, value)


@pytest.mark.parametrize(
    ("one", "other", "bits"),
    [
        ("sr2:SatFinite", "sr2b:SatFinite", 2),
        ("sr2:SatFinite", "sr2c:SatFinite", 2),
        ("sr2:SatFinite", "rz:SatFinite", 2),
        ("sr1:SatFinite", "rna:SatFinite", 1),
        # infinities tell these apart, and there are none
        ("sr2:SatFinite", "sr2:SatPropagate", 2),
        ("sr2:SatFinite", "sr2:OvfInf", 2),
        # seven bits hold all that is dropped
        pytest.param("sr7:SatFinite", "sr7c:SatFinite", 7, marks=pytest.mark.middle),
        pytest.param("sr7:SatFinite", "sr7b:SatFinite", 7, marks=pytest.mark.middle),
    ],
)
def test_plans_are_compared_for_every_value_of_the_random_bits(one, other, bits):
    """Every number of FP8 and every value of the random bits, projected by the reference; the witness is replayed."""
    plans = [f"{FP8} | out={SMALL.name}:{x}" for x in (one, other)]
    numbers = [decode_number(x, "e4m3") for x in range(256)]
    values = {-x.magnitude if x.sign else x.magnitude for x in numbers if x.kind != "nan"}
    differ = any(projected(one, v, r) != projected(other, v, r) for v in values for r in range(1 << bits))
    found = compare_plans(*plans, k=1)
    assert found.verdict == ("different" if differ else "equivalent")
    witness = found.answer.witness
    assert (witness is not None) is differ
    if witness is not None:
        (r,) = witness.random
        ran = [run_gemm(x, witness, random=r if read_plan(x).random_bits else None).d for x in plans]
        assert ran == [d for _, d in found.outputs]
        assert ran[0] != ran[1]


def test_equal_for_some_random_bits_is_not_equal():
    """Of 2^8 values one alone makes StochasticA round as to nearest, ties away: no other one is overlooked."""
    found = compare_plans(f"{UNIT} | out=e4m3:sr8", f"{UNIT} | out=e4m3:rna", where=["c=0x3f880000"], k=1, budget=None)
    assert found.verdict == "different"
    assert found.answer.witness is not None
    assert found.answer.witness.random[0] != 0x80


@pytest.mark.middle
def test_sums_outside_the_unit_with_random_bits():
    """Parts whose order does not matter, and the same random bits for both."""
    parts = f"{UNIT} | split-k=2:{{}} | out=e4m3:sr4"
    assert compare_plans(parts.format("ascending"), parts.format("1.0"), k=2).verdict == "different"
    # onto +0 instead of c, two parts in either order are one computation
    alone = f"{UNIT} | split-k=2:{{}} | c=none | out=e4m3:sr4"
    assert compare_plans(alone.format("1.0"), alone.format("ascending"), k=2).verdict == "equivalent"
