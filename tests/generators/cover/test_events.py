"""Bins of events: the same on arrays and integers, as a reference has them, and mutants that it refutes."""

from fractions import Fraction

import numpy as np
import pytest
from reference import exact
from reference.families import truncated_sum
from reference.formats import CONVERSIONS, FORMATS, decode, floor_log2
from support.event_tags import tags_on_integers
from support.sampling import distinct_designs

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.designs.operands import OperandBatch
from mmaproof.designs.parameters import complete_settings
from mmaproof.generators.cover import bins
from mmaproof.generators.cover.coverage import hits_of, unasked
from mmaproof.smt.semantics.align import Cut
from mmaproof.smt.trace import trace
from mmaproof.verification.distributions import DISTRIBUTIONS, draw

FAMILIES = {design.family: design for design in reversed(distinct_designs())}
CHAIN = "ampere/m16n8k16.f32.f16.f16.f32"
FUSED = (CHAIN, "volta/f32.f16.f16.f32@rho=rne-fp32", "hopper/wgmma.f16.e5m2.e5m2", "volta/f16.f16.f16.f16")
ABSENT = {"zero_c": "B", "zero_product": "B"}
CHECKED = ("shift of", "last kept bit of", "cancellation in", "rounding of", "e_max of", "rounding of subnormal")


def rows_of(design, each, seed=0):
    rng = np.random.default_rng(seed)
    return OperandBatch.concatenate([draw(name, design, each, design.k, rng) for name in DISTRIBUTIONS])


VARIANTS = {
    "rounded down twice": find_design("cdna3/v_mfma_f32_32x32x8_f16@late_rounding=twice"),
    "a register that wraps": find_design(f"{CHAIN}@carry_bits=0"),
    "partial sums cut": find_design("paper/sequential.f32.f16.f16.f32@truncates=partial-sum"),
}


@pytest.mark.few(2)
@pytest.mark.parametrize("design", [*FAMILIES.values(), *VARIANTS.values()], ids=[*FAMILIES, *VARIANTS])
def test_arrays_and_integers_agree_in_every_family(design):
    batch = rows_of(design, 1)
    bins, found = hits_of(design, batch)
    assert len({str(x) for x in bins}) == len(bins)
    for i, row in enumerate(found):
        assert tuple(str(bins[j]) for j in np.flatnonzero(row)) == tags_on_integers(design, batch.row(i))


def moved(kind, term, e_max, bits, low, top):
    """The events of a nonzero term moved to ``bits`` below e_max; its bits are 2^top to 2^-low of its exponent."""
    shift = e_max - term.exponent
    lost = (abs(term.integer) * Fraction(2) ** (term.scale - e_max + bits)).denominator > 1
    kept = f"2^{shift - bits}, {'bits' if lost else 'nothing'} lost"
    if shift - bits <= -low:
        kept = "the lowest"
    elif shift - bits > top:
        kept = "none"
    power = 1 << shift.bit_length() - 1 if shift else 0
    wraps = {f"shift of {kind}: {power} to {power + 7}"} if power > bits + 1 and shift <= power + 7 else set()
    return wraps | {
        f"shift of {kind}: {shift if shift <= bits + 1 else f'beyond {bits + 1}'}",
        f"last kept bit of {kind}: {kept}",
    }


def events_of_step(design, pairs, accumulator, ask):
    """The checked events of a T-FDPA step, from its exact terms; ``ask`` are the parameters of the reference."""
    if exact.special_value(pairs, accumulator, FORMATS[design.d_format.name], ask.nan_code) is not None:
        return set()
    products = [exact.product_term(x, y, ask) for x, y in pairs]
    bits, a, b, c, _ = ask.fraction_bits, *design.formats
    low = {"product": a.fraction_bits + b.fraction_bits, "c": c.fraction_bits}
    terms = [("product", x) for x in products] + [("c", exact.c_term(accumulator, ask))]
    e_max = max(t.exponent for _, t in terms if t.exponent is not None)
    unit, found = e_max - bits, set()
    for kind, term in terms:
        if term.integer:
            found |= moved(kind, term, e_max, bits, low[kind], kind == "product")
    leaders = {kind for kind, term in terms if term.integer and term.exponent == e_max}
    leader = {1: f"of {''.join(leaders)} alone", 2: "of each", 0: "of no nonzero term"}[len(leaders)]
    found.add(f"e_max of product + c: {leader}")
    aligned = [exact.align(t, unit, ask.alignment) for _, t in terms]
    total, largest = sum(aligned), max(map(abs, aligned))
    if largest and not total:
        found.add("cancellation in product + c: to zero")
    if not total:
        return found
    depth = largest.bit_length() - abs(total).bit_length()
    found.add(f"cancellation in product + c: {depth if depth > 0 else 'none'}")
    events = roundings(abs(total), unit, ask.rho)
    if floor_log2(abs(total), unit) < E_MIN[CONVERSIONS[ask.rho].format] and not ask.rho.startswith(("rz", "rto")):
        found |= {f"rounding of subnormal d: {x}" for x in events if x in OF_SUBNORMALS}
    return found | {f"rounding of d: {x}" for x in events if x in EVERYWHERE}


E_MIN = {"fp32": -126, "fp16": -14}
TIES = {f"tie, last kept bit {bit}" for bit in (0, 1)}
OF_SUBNORMALS = {"below half", *TIES, "above half, last kept bit 0"}
NEAR = {f"just {side} half" for side in ("below", "above")}
EVERYWHERE = {"exact", "below half", "above half", *TIES, *NEAR, "just above half, last kept bit 0"}


def roundings(magnitude, unit, rho):
    conversion = CONVERSIONS[rho]
    top = floor_log2(magnitude, unit)
    last = max(top, E_MIN[conversion.format]) - conversion.fraction_bits
    kept, lost = divmod(magnitude * Fraction(2) ** unit, Fraction(2) ** last)
    half, one = Fraction(2) ** (last - 1), Fraction(2) ** unit
    if lost == half:
        return [f"tie, last kept bit {kept % 2}"]
    side = "below" if lost < half else "above"
    said = [f"{side} half" if lost else "exact", *([f"just {side} half"] if abs(lost - half) == one and lost else [])]
    return [*said, *(f"{x}, last kept bit 0" for x in said if side == "above" and not kept % 2)]


def expected_tags(design, operands):
    p = complete_settings(design.chain, design.step)
    names = ("rho", "fraction_bits", "alignment", "product_exponent", "subnormals")
    readings = {n: p[n] for n in names}
    for n in ("zero_c", "zero_product", "c_subnormal"):
        readings[n] = "ABCD"[list(type(p[n])).index(p[n])]
    a, b, c, d = (f.name for f in design.formats)
    code = p["nan_code"].pattern(design.d_format)
    ask = exact.Design(a_format=a, b_format=b, nan_code=code, e_zero=p["e_zero"], **readings)
    found = set()

    def step(_, pairs, accumulator):
        found.update(events_of_step(design, pairs, accumulator, ask))
        return exact.t_fdpa(pairs, accumulator, ask)

    pairs = exact.decode_pairs(operands.a, operands.b, a, b, p["L"], p["subnormals"])
    exact.chain(pairs, operands.c, step, c_format=c, d_format=d, length=p["L"], subnormals=p["subnormals"])
    return found


def disagreements(name, each=60):
    """Checked events on which arrays and the reference do not agree."""
    design = find_design(name)
    batch, wrong, seen = rows_of(design, each), set(), set()
    bins, found = hits_of(design, batch)
    for i, row in enumerate(found):
        mine = {str(bins[j]) for j in np.flatnonzero(row) if bins[j].event.startswith(CHECKED)}
        expected = expected_tags(design, batch.row(i))
        seen |= expected
        wrong |= {tag.partition(" of ")[0] for tag in mine ^ expected}
    return wrong, seen


@pytest.mark.few(2)
@pytest.mark.parametrize("name", FUSED)
def test_the_reference_has_the_same_events(name):
    wrong, seen = disagreements(name)
    assert not wrong
    for part in ("bits lost", "product: beyond", "cancellation in product + c: 5", "tie, last kept bit", "of each"):
        assert any(part in x for x in seen), part


def test_roundings_of_fused_multiply_adds_are_those_of_exact_sums():
    """What a jammed sum says of ties is so of the exact one; its near-ties are those of its own last bit."""
    design = find_design("cdna3/v_mfma_f32_32x32x2_f32")
    batch, seen = rows_of(design, 40), set()
    bins, found = hits_of(design, batch)
    for i, row in enumerate(found):
        operands, expected = batch.row(i), set()
        accumulators = [operands.c, *(step.d.data for step in trace(design, operands).steps)]
        for a, b, c in zip(operands.a, operands.b, accumulators[:-1], strict=True):
            x, y, z = (decode(pattern, "fp32") for pattern in (a, b, c))
            if {"nan", "inf"} & {x.kind, y.kind, z.kind}:
                continue
            total, scale = exact.exact_sum([(x.signed * y.signed, x.scale + y.scale), (z.signed, z.scale)])
            if total:
                expected |= (EVERYWHERE - NEAR) & set(roundings(abs(total), scale, "rne-fp32"))
        mine = {bins[j].value for j in np.flatnonzero(row) if bins[j].event == "rounding of d"}
        assert {r for r in mine if "just" not in r} == {r for r in expected if "just" not in r}
        seen |= expected
    assert len(seen) == 5


def test_a_late_sum_of_products_keeps_more_bits_than_c():
    """TR-FDPA with reading B of both zeros; the sum of eight products below 4 is below 2^5."""
    design = find_design("cdna3/v_mfma_f32_32x32x8_f16@zero_c=absent,zero_product=absent")
    p, batch, checked = design.step, rows_of(design, 40), 0
    ask = exact.Design("fp16", "fp16", p.fraction_bits, p.rho, p.nan_code.pattern(design.d_format), **ABSENT)
    bins, found = hits_of(design, batch)
    for i, row in enumerate(found):
        operands = batch.row(i)
        pairs, c = exact.decode_pairs(operands.a, operands.b, "fp16", "fp16", p.L), decode(operands.c, "fp32")
        if {"nan", "inf"} & {x.kind for x in (*(y for pair in pairs for y in pair), c)}:
            continue
        products = truncated_sum([exact.product_term(x, y, ask) for x, y in pairs], p.fraction_bits)
        late, expected = {"sum of products": products, "c": exact.c_term(c, ask)}, set()
        e_max = max((t.exponent for t in late.values() if t.exponent is not None), default=0)
        for kind, bits, low, top in (
            ("sum of products", p.join.late_bits, p.fraction_bits, 4),
            ("c", p.fraction_bits, 23, 0),
        ):
            if late[kind].integer:
                expected |= moved(kind, late[kind], e_max, bits, low, top)
        events = tuple(f"{event} {kind}" for event in ("shift of", "last kept bit of") for kind in late)
        assert {str(bins[j]) for j in np.flatnonzero(row) if bins[j].event in events} == expected
        checked += len(expected) == 4
    assert checked > 100


@pytest.mark.middle
def test_a_kind_of_step_that_is_not_known_is_not_asked():
    design = find_design("cpu/tdpbf16ps.m16n16k32.f32.bf16.bf16.f32")
    batch = rows_of(design, 1)
    events = {x.event for x in hits_of(design, batch)[0]}
    operands, chain = {f"class of {x}" for x in "abcd"}, {f"{x} in step" for x in ("first change", "first overflow")}
    causes = {"NaN because of", "infinite because of", "zero result"}
    assert events == operands | chain | causes | {"special result", "nonzero product in step"}
    assert unasked(design, batch) == "what happens inside a step of this kind"
    unknown = {x.family for x in FAMILIES.values() if unasked(x, rows_of(x, 1))}
    assert unknown == {design.family, "tensix", "vfpu", "vortex-tfr"}


def by_hand(design, pairs, c=0):
    a, b = zip(*pairs, *[(0, 0)] * (design.k - len(pairs)), strict=True)
    return set(tags_on_integers(design, Operands(a, b, c)))


@pytest.mark.parametrize(
    ("pairs", "c", "tag"),
    [
        ([(0x7C00, 0)], 0, "NaN because of: infinity * 0 alone"),
        ([(0, 0xFC00)], 0, "NaN because of: 0 * infinity alone"),
        ([(0x7C00, 0x3C00), (0xFC00, 0x3C00)], 0, "NaN because of: infinite products of both signs alone"),
        ([(0x7C00, 0x3C00)], 0xFC00, "NaN because of: an infinite product and c alone"),
        ([(0x3C00, 0x7E00)], 0, "NaN because of: b alone"),
        ([(0x3C00, 0x3C00)], 0x7E00, "NaN because of: c alone"),
        ([(0x3C00, 0xFC00)], 0, "infinite because of: b alone"),
        ([(1, 0x7C00)], 0, "infinite because of: infinity * subnormal"),
        ([(0x8000, 0x3C00)] * 4, 0x8000, "zero result: of -0 and -0 in c"),
        ([(0x8000, 0x3C00)], 0x8000, "zero result: of zeros of both signs and -0 in c"),
        ([(0x3C00, 0x3C00)], 0xBC00, "zero result: cancels, c is -"),
        ([(0, 0x7BFF), (0x0400, 0x3C00)], 0, "exponents of a zero product: above e_max"),
        # 1 + 1023/1024 + 2^-11 is half way to 2, above an odd significand
        ([(0x1000, 0x3C00)], 0x3FFF, "result of d: rounding carries into the next binade"),
        ([(0x0800, 0x0C00)], 0x03FF, "result of d: rounds up to the smallest normal number"),
        ([(0x4C00, 0x3C00)], 0x7BFF, "result of d: rounds up to infinity"),
        ([(0x0800, 0x0C00)], 0x03FF, "rounding of subnormal d: tie, last kept bit 1"),
    ],
)
def test_an_event_by_hand_and_beside_it(pairs, c, tag):
    """Operands that hit an event, and the same with one more NaN or another c, which do not."""
    design = find_design("volta/f16.f16.f16.f16")
    assert tag in by_hand(design, pairs, c)
    more_nan = [*pairs[:3], (0x7E00, 0x3C00)]
    assert tag not in by_hand(design, more_nan, 0x3C00)


def test_the_largest_sum_of_integer_products_by_hand():
    design = find_design("turing/mma.m8n8k16.s32.s8.s8.s32")
    assert "sum of products: largest" in by_hand(design, [(0x80, 0x80)] * 16)
    assert "sum of products: least" in by_hand(design, [(0x7F, 0x80)] * 16)
    assert not any(x.startswith("sum of products") for x in by_hand(design, [(0x80, 0x80)] * 15))


def test_only_a_register_of_stated_width_wraps():
    design = find_design("cdna3/v_mfma_f32_16x16x32_fp8_fp8@carry_bits=0")
    bins, _ = hits_of(design, rows_of(design, 1))
    assert [x.event for x in bins if x.value == "wraps"] == ["register of product"]


@pytest.mark.parametrize(
    ("module", "function", "mutant", "event"),
    [
        (bins, "is_number", lambda f: lambda algebra, x, n: f(algebra, x, n + 1), "shift"),
        (
            bins,
            "loses_bits",
            lambda f: lambda al, t, e, cut: f(al, t, e, Cut(cut.fraction_bits + 1)),
            "last kept bit",
        ),
        (bins, "_ties", lambda f: lambda algebra, x, m, rho: f(algebra, x, x.magnitude, rho), "rounding"),
        (bins, "is_nonzero", lambda f: lambda algebra, x: algebra.truth(True), "last kept bit"),
    ],
)
def test_a_mutant_bin_is_refuted(module, function, mutant, event, monkeypatch):
    monkeypatch.setattr(module, function, mutant(getattr(module, function)))
    wrong, _ = disagreements("volta/f32.f16.f16.f32@rho=rne-fp32", each=20)
    assert event in wrong


@pytest.mark.parametrize(("a", "kept", "shift"), [("0x3c00", 0, 24), ("0x4200", 1, 23)])
def test_a_tie_by_hand(a, kept, shift):
    """2^24 + 1 lies half way between two numbers of fp32, and so does 2^24 + 3, above an odd significand."""
    design = find_design("volta/f32.f16.f16.f32@rho=rne-fp32,fraction_bits=24")
    tags = tags_on_integers(design, Operands((int(a, 16), 0, 0, 0), (0x3C00, 0, 0, 0), 0x4B800000))
    for tag in (f"rounding of d: tie, last kept bit {kept}", f"shift of product: {shift}", "shift of c: 0"):
        assert tag in tags
