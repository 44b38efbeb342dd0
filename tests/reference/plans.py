"""Plans computed step by step, as their descriptions say, on the exact-rational references.

Each plan is a function written by hand from the text of the plan; nothing here reads a schedule. An instruction is the
reference of the unit, one instruction at a time; an addition outside is the exact sum, rounded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from reference.algorithms import NAN, add, convert, floor_log2, infinity_of, is_nan, rounded, value
from reference.designs import reference_result
from reference.formats import decode

Elements = Sequence[int]


def chain(unit: Design, a: Elements, b: Elements, ks: Sequence[int], c: int) -> int:
    """Instructions over some k, each of which takes the d of the one before it."""
    for at in range(0, len(ks), unit.k):
        part = ks[at : at + unit.k]
        c = reference_result(unit, Operands(tuple(a[k] for k in part), tuple(b[k] for k in part), c))
    return c


def fused(x: int, factor: Fraction, y: int) -> int:
    """``x * factor + y`` in fp32, rounded once; the factor is not zero."""
    p, q = decode(x, "fp32"), decode(y, "fp32")
    negative = bool(p.sign) != (factor < 0)
    if "nan" in (p.kind, q.kind):
        return NAN
    if p.kind == "inf":
        return NAN if q.kind == "inf" and bool(q.sign) != negative else infinity_of(negative, "fp32")
    if q.kind == "inf":
        return y
    exact = value(x, "fp32") * factor + value(y, "fp32")
    return rounded(exact, negative and bool(q.sign), "fp32", "rne")


def times(x: int, factor: Fraction) -> int:
    """``x * factor`` in fp32; the factor is not zero."""
    p = decode(x, "fp32")
    negative = bool(p.sign) != (factor < 0)
    if p.kind == "nan":
        return NAN
    if p.kind == "inf":
        return infinity_of(negative, "fp32")
    return rounded(value(x, "fp32") * factor, negative, "fp32", "rne")


def added_in(rounding: str, x: int, y: int) -> int:
    """``x + y`` in fp32 in another direction, for finite numbers whose sum is not zero."""
    exact = value(x, "fp32") + value(y, "fp32")
    assert exact and floor_log2(abs(exact)) < 127
    return rounded(exact, exact < 0, "fp32", rounding)


WGMMA = find_design("hopper/wgmma.f32.e4m3.e4m3")
AMPERE = find_design("ampere/mma.m16n8k8.f32.bf16.bf16.f32")
VOLTA = find_design("volta/f32.f16.f16.f32")
VOLTA_MIXED = find_design("volta/f32.f16.f16.f16")
FMA = find_design("cpu/vfmadd231ps")
PHASES = [find_design(f"wormhole/mvmul.phase{i}.m8n16k16.f32.e8m7.e8m7.f32") for i in range(4)]
INTEGERS = find_design("turing/mma.m8n8k16.s32.s8.s8.s32")


def promoted_and_split(a: Elements, b: Elements, c: int) -> int:
    first = add(c, chain(WGMMA, a, b, range(64), 0))
    first = add(first, chain(WGMMA, a, b, range(64, 128), 0))
    second = add(0, chain(WGMMA, a, b, range(128, 192), 0))
    second = add(second, chain(WGMMA, a, b, range(192, 256), 0))
    return convert(add(first, second), "fp32", "bf16")


def split_with_c_last(a: Elements, b: Elements, c: int) -> int:
    total = 0
    for ks in (range(16), range(16, 32), range(32, 40)):
        total = add(total, chain(AMPERE, a, b, ks, 0))
    return convert(add(total, convert(c, "bf16", "fp32")), "fp32", "bf16")


def serial(a: Elements, b: Elements, c: int) -> int:
    for ks in (range(8), range(8, 16)):
        c = convert(add(convert(c, "fp16", "fp32"), chain(VOLTA, a, b, ks, 0)), "fp32", "fp16")
    return c


def stored_in_fp16(a: Elements, b: Elements, c: int) -> int:
    parts = [
        convert(convert(chain(VOLTA, a, b, range(i, i + 4), 0), "fp32", "fp16"), "fp16", "fp32")
        for i in range(0, 16, 4)
    ]
    for i in (2, 0, 3, 1):
        c = add(c, parts[i])
    return c


def taking_turns(a: Elements, b: Elements, c: int) -> int:
    first = chain(VOLTA, a, b, [*range(8), *range(16, 24), *range(32, 40)], c)
    return add(first, chain(VOLTA, a, b, [*range(8, 16), *range(24, 32)], 0))


def onto_the_first(a: Elements, b: Elements, c: int) -> int:
    total = chain(VOLTA, a, b, range(8), c)
    for ks in (range(8, 16), range(16, 20)):
        total = add(total, chain(VOLTA, a, b, ks, 0))
    return total


def tree_of_five(a: Elements, b: Elements, c: int) -> int:
    parts = [chain(VOLTA, a, b, range(i, i + 4), 0 if i else c) for i in range(0, 20, 4)]
    return add(add(add(parts[0], parts[1]), add(parts[2], parts[3])), parts[4])


def rescaled(a: Elements, b: Elements, c: int) -> int:
    total = chain(AMPERE, a, b, range(8), 0)
    total = chain(AMPERE, a, b, range(8, 16), times(total, Fraction(3, 4)))
    total = chain(AMPERE, a, b, range(16, 24), times(total, Fraction(1, 2)))
    total = chain(AMPERE, a, b, range(24, 32), times(total, Fraction(1, 2)))
    return convert(total, "fp32", "bf16")


def with_alpha_and_beta(a: Elements, b: Elements, c: int) -> int:
    return fused(chain(AMPERE, a, b, range(16), 0), Fraction(3, 2), times(c, Fraction(-1, 2)))


def permuted(a: Elements, b: Elements, c: int) -> int:
    ks = [at + k for at in (0, 16) for k in (0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15)]
    return chain(VOLTA, a, b, ks, c)


def narrow_c(a: Elements, b: Elements, c: int) -> int:
    """The second instruction takes c in fp32, as the first one returned it."""
    return chain(VOLTA, a, b, range(4, 8), chain(VOLTA_MIXED, a, b, range(4), c))


def narrow_c_held(a: Elements, b: Elements, c: int) -> int:
    first = chain(VOLTA_MIXED, a, b, range(4), c)
    second = chain(VOLTA_MIXED, a, b, range(4, 8), convert(first, "fp32", "fp16"))
    return convert(convert(second, "fp32", "fp16"), "fp16", "fp32")


def integers(a: Elements, b: Elements, c: int) -> int:
    total = c
    for ks in (range(16, 32), range(16)):
        total = (total + chain(INTEGERS, a, b, ks, 0)) % 2**32
    return total


def streamed(a: Elements, b: Elements, c: int) -> int:
    last = add(c, chain(VOLTA, a, b, range(8, 32), 0))
    return add(last, chain(VOLTA, a, b, range(8), 0))


def in_blocks(a: Elements, b: Elements, c: int) -> int:
    for ks in (range(16), range(16, 28), range(28, 40)):
        c = add(c, chain(FMA, a, b, ks, 0))
    return c


def single(a: Elements, b: Elements, c: int) -> int:
    return convert(add(chain(VOLTA, a, b, range(12), 0), convert(c, "fp16", "fp32")), "fp32", "fp16")


def flushing(a: Elements, b: Elements, c: int) -> int:
    total = chain(AMPERE, a, b, range(16), c)
    negative, magnitude = total >> 31, total & 0x7FFF_FFFF
    return negative << 15 if magnitude < 0x0080_0000 else convert(total, "fp32", "bf16")


def flushed(x: int) -> int:
    return x & 0x8000_0000 if x & 0x7FFF_FFFF < 0x0080_0000 else x


def flushed_parts(a: Elements, b: Elements, c: int) -> int:
    for ks in (range(8), range(8, 16), range(16, 24)):
        c = add(c, flushed(chain(AMPERE, a, b, ks, 0)))
    return c


def high_fidelity(a: Elements, b: Elements, c: int) -> int:
    for at in (0, 32):
        for phase in PHASES:
            c = chain(phase, a, b, range(at, at + 32), c)
    return convert(c, "fp32", "bf16")


def narrow_destination(a: Elements, b: Elements, c: int) -> int:
    for phase in PHASES[:2]:
        for at in (0, 16):
            c = chain(phase, a, b, range(at, at + 16), c)
            c = convert(convert(c, "fp32", "tf32", "rna"), "tf32", "bf16", "rna")
            c = convert(c, "bf16", "fp32")
    return c


def register_of_bf16(a: Elements, b: Elements, c: int) -> int:
    for at in (0, 8):
        c = convert(convert(chain(AMPERE, a, b, range(at, at + 8), c), "fp32", "bf16"), "bf16", "fp32")
    return c


PLANS: dict[str, tuple[int, Callable[[Elements, Elements, int], int]]] = {
    "hopper/wgmma.f32.e4m3.e4m3 | promote=64 | split-k=2:tree:fp32 | out=bf16": (256, promoted_and_split),
    "ampere/mma.m16n8k8.f32.bf16.bf16.f32 | split-k=3 | c=last:bf16 | out=bf16": (40, split_with_c_last),
    "volta/f32.f16.f16.f32 | split-k=2:ascending:fp32/fp16": (16, serial),
    "volta/f32.f16.f16.f32 | split-k=4:2.0.3.1:fp16>fp32": (16, stored_in_fp16),
    "volta/f32.f16.f16.f32 | sliced-k=2x8:tree": (40, taking_turns),
    "volta/f32.f16.f16.f32 | split-k=5:tree": (20, tree_of_five),
    "volta/f32.f16.f16.f32 | stream-k=8.8.4:onward": (20, onto_the_first),
    "ampere/mma.m16n8k8.f32.bf16.bf16.f32 | rescale=8:0.75,0.5 | c=none | out=bf16": (32, rescaled),
    "ampere/mma.m16n8k8.f32.bf16.bf16.f32 | c=last | alpha=3/2 | beta=-0.5": (16, with_alpha_and_beta),
    "volta/f32.f16.f16.f32 | tile=16 | order=mod4:01/23": (32, permuted),
    "volta/f32.f16.f16.f16": (8, narrow_c),
    "volta/f32.f16.f16.f16 | held=fp16": (8, narrow_c_held),
    "turing/mma.m8n8k16.s32.s8.s8.s32 | split-k=2:descending": (32, integers),
    "volta/f32.f16.f16.f32 | stream-k=8.24:descending": (32, streamed),
    "cpu/vfmadd231ps | blocks=16x4": (40, in_blocks),
    "volta/f32.f16.f16.f32 | c=last:fp16 | out=fp16": (12, single),
    "ampere/mma.m16n8k8.f32.bf16.bf16.f32 | out=bf16:rne:flush": (16, flushing),
    "ampere/mma.m16n8k8.f32.bf16.bf16.f32 | promote=8:fp32:rne:flush": (24, flushed_parts),
    f"{PHASES[0].name} | tile=32 | then=phase1+phase2+phase3 | out=bf16": (64, high_fidelity),
    f"{PHASES[0].name} | tile=32 | then=phase1 | held=tf32>bf16:rna": (32, narrow_destination),
    "ampere/mma.m16n8k8.f32.bf16.bf16.f32 | held=bf16": (16, register_of_bf16),
}
"""Plans by their text: K, and what they compute."""


def same(fmt: str, x: int, y: int) -> bool:
    """Whether two results are equal: the same bits, or two NaNs."""
    return x == y or (not fmt.startswith("int") and is_nan(x, fmt) and is_nan(y, fmt))
