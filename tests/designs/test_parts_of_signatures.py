"""Each operand and each scale of a design changes some result, and so does each format: what a step does not read, it
refuses.
"""

import itertools
import re
from collections.abc import Iterator
from dataclasses import fields, replace
from enum import StrEnum
from pathlib import Path

import numpy as np
import pytest
from support.sampling import covering, distinct_designs, first_of_each_family

from mmaproof.designs.catalogue import find_design, load_catalogue, read_catalogue
from mmaproof.designs.conversions import RHO
from mmaproof.designs.design import Design
from mmaproof.designs.errors import CatalogueError, DesignError
from mmaproof.designs.formats import FORMATS
from mmaproof.designs.operands import OperandBatch
from mmaproof.designs.parameters import DEFINITIONS
from mmaproof.designs.readings import Summation
from mmaproof.designs.signature import Signature
from mmaproof.designs.steps import STEPS, Guarantee, NetlistStep, RoundedStep
from mmaproof.designs.steps.step import FORMATS_ALONE, SCALES, IntegerRange
from mmaproof.smt.evaluate import evaluate_batch
from mmaproof.verification.distributions import draw

ROWS = 48
DRAWN = ("aligned", "normal", "subnormal", "uniform-bits", "ties", "with-zeros")
BLOCKED = "blackwell/tcgen05.mma.m128n8k32.block32.f32.e4m3.e4m3.ue8m0"
GROUPED = "blackwell/tcgen05.mma.m128n8k64.block16.f32.e2m1.e2m1.ue4m3"
CHOOSING = {
    "summation": [*Summation],
    "group_size": [None, 16],
    "low_bits": [None, 1],
    "fidelity_phase": [None, 0],
    "join": [*DEFINITIONS["join"].values],
}
"""Parameters that choose the kind of a step, or of its terms."""


def columns(batch: OperandBatch) -> Iterator[tuple[str, int]]:
    """The operands at both ends of each column."""
    for name in ("a", "b", "scale_a", "scale_b"):
        held = getattr(batch, name)
        if held is not None:
            yield from ((name, at) for at in sorted({0, held.shape[1] - 1}))
    yield "c", 0


def with_other(batch: OperandBatch, name: str, at: int) -> OperandBatch:
    """The rows with one operand of each exchanged for that of another row."""
    held = getattr(batch, name).copy()
    if name == "c":
        return replace(batch, c=np.roll(held, 1))
    held[:, at] = np.roll(held[:, at], 1)
    return replace(batch, **{name: held})


def beside_ones(design: Design, name: str, rng: np.random.Generator) -> OperandBatch:
    """Patterns of one operand, those with every exponent bit set among them, beside ones and zeros."""
    batch = draw("uniform-bits", design, 1024, design.k, rng)
    fmt, scale = getattr(design.signature, name), design.scale_format
    patterns = np.arange(1024, dtype=np.uint64) << np.uint64(max(fmt.bits - 10, 0)) & np.uint64((1 << fmt.bits) - 1)
    a, b, c = (np.zeros_like(getattr(batch, x)) for x in "abc")
    a[:, 0], b[:, 0] = design.a_format.one, design.b_format.one
    if name == "c":
        a[:] = b[:] = 0
        c[:] = patterns
    else:
        (a if name == "a" else b)[:, 0] = patterns
    scales = [None if x is None else np.full_like(x, scale.encode(1)) for x in (batch.scale_a, batch.scale_b)]
    return OperandBatch(a, b, c, *scales)


def without_effect(design: Design, rows: int = ROWS) -> set[tuple[str, int]]:
    """The operands that change no result."""
    found, rng = None, np.random.default_rng(0)
    for distribution in DRAWN:
        batch = draw(distribution, design, rows, design.k, rng)
        d = evaluate_batch(design, batch)
        asked = [*columns(batch)] if found is None else found
        found = {x for x in asked if (evaluate_batch(design, with_other(batch, *x)) == d).all()}
        if not found:
            break
    return found


def changed(design: Design) -> Iterator[Design]:
    """The design with each value of each parameter, and with those together that choose the kind of a step."""
    alone = [{name: value} for name in DEFINITIONS for value in values(name)]
    names, chosen = zip(*CHOOSING.items(), strict=True)
    together = [dict(zip(names, x, strict=True)) for x in itertools.product(*chosen)]
    for settings in (*alone, *together):
        try:
            yield design.change(**settings)
        except DesignError:
            effective = {n: x for n, x in settings.items() if n == "summation" or x is not None}
            try:
                yield design.change(**effective)
            except DesignError:
                continue


def values(name: str) -> list[object]:
    match DEFINITIONS[name].values:
        case IntegerRange():
            return {"L": [1, 2, 4], "group_size": [None, 16], "low_bits": [None, 1], "fidelity_phase": [None, 0]}.get(
                name, []
            )
        case kind if isinstance(kind, type) and issubclass(kind, StrEnum):
            return [*kind]
        case _:
            return []


def examine(design: Design) -> int:
    """How many designs were made of one; every operand of each must matter."""
    seen = set()
    for other in changed(design):
        key = other.chain, other.step
        if key not in seen:
            seen.add(key)
            assert not without_effect(other), other.name
    return len(seen)


REFUSED = ["summation=pairwise", "summation=interleaved", "summation=lanes", "low_bits=1", "fidelity_phase=0"]


@pytest.mark.parametrize(("name", "settings"), [*((BLOCKED, x) for x in REFUSED), *((GROUPED, x) for x in REFUSED[:3])])
def test_scales_that_a_step_does_not_read_are_refused(name, settings):
    with pytest.raises(DesignError, match=f"{settings.replace('=', ' = ')} reads no ") as refused:
        find_design(f"{name}@{settings}")
    assert refused.value.field == "scale"


@pytest.mark.slow
@pytest.mark.parametrize("name", [BLOCKED, GROUPED])
def test_every_operand_of_a_unit_with_scales_matters_whatever_its_step_is(name):
    assert examine(find_design(name)) > 20


@pytest.mark.middle
@pytest.mark.slow_values("hopper/mma.m16n8k32.f32.e4m3.e4m3.f32", "riscv/bulk.m1n1k4.f32.f16.f16.f32")
@pytest.mark.parametrize("design", covering(distinct_designs()), ids=lambda x: x.name)
def test_every_operand_matters_under_every_parameter(design):
    assert examine(design)


@pytest.mark.parametrize("design", first_of_each_family([*load_catalogue().designs.values()]), ids=lambda x: x.name)
def test_every_operand_and_format_matters(design):
    assert not without_effect(design)
    rng = np.random.default_rng(0)
    for name in "abc":
        fmt = getattr(design.signature, name)
        for other in FORMATS.values():
            if other is fmt or other.bits != fmt.bits:
                continue
            try:
                read = replace(design, signature=replace(design.signature, **{name: other}))
            except DesignError:
                continue
            if other.is_integer and name == "c" and design.guarantees(Guarantee.WRAPS_MODULO):
                continue  # the sum is the same modulo a power of two
            batches = [beside_ones(design, name, rng), *(draw(x, design, ROWS, design.k, rng) for x in DRAWN)]
            assert any((evaluate_batch(design, x) != evaluate_batch(read, x)).any() for x in batches), (name, other)


def test_a_step_reads_what_it_states_and_nothing_by_default():
    class Silent(RoundedStep):
        pass

    assert {f.name for f in fields(Signature)} == FORMATS_ALONE | SCALES
    assert Silent().reads == FORMATS_ALONE
    signature = find_design(BLOCKED).signature
    assert {field for field, _ in Silent(L=32).misfits(signature, 32)} == {"scale", "block"}
    read = {kind.__name__ for kind in STEPS if kind is not NetlistStep and kind().reads >= SCALES}
    assert read == {"FusedStep", "SequentialStep"}


FILE = """
[architectures]
mine = {{ title = "mine", targets = [] }}
[families.any]
[[unit]]
architecture = "mine"
family = "any"
instructions = ["dot.m1n1k{k}"]
source = "drawn"
{fields}
"""
SCALE_FORMATS = (None, "e8m0", "ue4m3", "e4m3", "fp32", "int8")
STEP_SETTINGS = {
    "summation": [*Summation],
    "group_size": [1, 2, 4],
    "low_bits": [1, 2],
    "fidelity_phase": [0, 1],
    "pair_bits": [4, 30],
    "join": [*DEFINITIONS["join"].values],
    "grouping": [*DEFINITIONS["grouping"].values],
    "widening": [*DEFINITIONS["widening"].values],
    "carry_bits": [0, 3],
    "c_extra_bits": [1],
}


def drawn_file(rng: np.random.Generator) -> str:
    """A catalogue file of one unit with formats, scales and parameters drawn at random."""
    k, rho = int(rng.choice([1, 2, 4, 6, 8])), str(rng.choice([*RHO]))
    integers, floats = ([f.name for f in FORMATS.values() if f.is_integer is x] for x in (True, False))
    of = integers if RHO[rho].target.is_integer and rng.random() < 0.9 else floats
    d = RHO[rho].target.name if rng.random() < 0.95 else str(rng.choice(floats))
    held = {x: str(rng.choice(of)) for x in "abc"} | {"d": d, "rho": rho}
    if rng.random() < 0.6:
        held["c"] = d
    rows: dict[str, object] = {"L_max": int(rng.choice([1, 2, 4, 8]))}
    scale = SCALE_FORMATS[rng.integers(len(SCALE_FORMATS))]
    if scale is not None:
        held["scale"] = scale
    if (scale is None) == (rng.random() < 0.1):
        rows["block"] = int(rng.choice([1, 2, 3, 4, 8]))
    for name, of_it in STEP_SETTINGS.items():
        if rng.random() < 0.15:
            value = of_it[rng.integers(len(of_it))]
            rows[name] = value if isinstance(value, int) else f'"{value}"'
    fields_ = [*(f'{n} = "{x}"' for n, x in held.items()), *(f"{n} = {x}" for n, x in rows.items())]
    return FILE.format(k=k, fields="\n".join(fields_))


def read_units(tmp_path: Path, seeds: range) -> tuple[list[Design], list[str]]:
    """The units of drawn files that are read, and what is said of the others."""
    found, refused = [], []
    for seed in seeds:
        file = tmp_path / f"{seed}.toml"
        file.write_text(drawn_file(np.random.default_rng(seed)))
        try:
            found += read_catalogue(file).designs.values()
        except CatalogueError as error:
            refused.append(str(error))
    return found, refused


def check_units(tmp_path: Path, seeds: range) -> None:
    found, refused = read_units(tmp_path, seeds)
    for design in found:
        assert not without_effect(design), (design.signature, design.settings)
    for text in refused:
        assert re.match(r".*\.toml: unit 1: \w+: .{10,}", text), text
    assert len(found) > len(seeds) / 20
    assert any(x.scale_format for x in found)


@pytest.mark.middle
def test_a_unit_that_somebody_states_is_read_in_full_or_refused(tmp_path):
    check_units(tmp_path, range(150))


@pytest.mark.middle
@pytest.mark.parametrize("first", range(1000, 5000, 500))
def test_units_that_somebody_states_are_read_in_full_or_refused(tmp_path, first):
    check_units(tmp_path, range(first, first + 500))


@pytest.mark.parametrize(
    ("lines", "wrong"),
    [
        ('summation = "pairwise"\nscale = "e8m0"\nblock = 2', "scale: .* summation = pairwise reads no scale"),
        ('summation = "pairwise"\nfraction_bits = 12', "fraction_bits: fraction_bits = 12 has no effect in dot"),
        ('summation = "sequential"\ngroup_size = 2', "group_size: group_size = 2 has no effect"),
        ('scale = "e4m3"\nblock = 2', "scale: .*e4m3 cannot scale products"),
        ('scale = "e8m0"', "block: .*both a format and a block length"),
        ("block = 2", "block: .*both a format and a block length"),
        ('scale = "e8m0"\nblock = 3', "block: .*blocks of 3 do not divide K = 2"),
        ('scale_a = "e8m0"\nblock = 2', "scale_a: unknown field"),
        ("k_multiple = 3", "k_multiple: .*k_multiple = 3 does not divide K = 2"),
        ("k_multiple = 0", "k_multiple: an integer from 1 on is expected, not 0"),
    ],
)
def test_what_is_said_of_a_unit_that_does_not_fit(tmp_path, lines, wrong):
    formats = 'a = "e4m3"\nb = "e5m2"\nc = "fp32"\nd = "fp32"\nL_max = 2\n'
    (tmp_path / "x.toml").write_text(FILE.format(k=2, fields=formats + lines))
    with pytest.raises(CatalogueError, match=rf"x\.toml: unit 1: {wrong}"):
        read_catalogue(tmp_path / "x.toml")


@pytest.mark.parametrize("place", ["a", "b", "c"])
@pytest.mark.parametrize("name", ["ue4m3", "e8m0"])
def test_elements_of_formats_of_scales_are_refused(tmp_path, place, name):
    formats = {"a": "e4m3", "b": "e5m2", "c": "fp32", "d": "fp32"} | {place: name}
    lines = "\n".join(f'{x} = "{fmt}"' for x, fmt in formats.items())
    (tmp_path / "x.toml").write_text(FILE.format(k=2, fields=f"L_max = 2\n{lines}"))
    with pytest.raises(CatalogueError, match=f"unit 1: {place}: .*{name}, a format of scales"):
        read_catalogue(tmp_path / "x.toml")
