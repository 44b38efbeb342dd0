"""Which schedules are one computation, and which only look like it."""

from dataclasses import replace

import numpy as np
import pytest
from support.plan_operands import element, matrices

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.conversions import Rounding
from mmaproof.designs.formats import FORMATS
from mmaproof.gemm.programs import Plan, read_plan
from mmaproof.gemm.programs.arithmetic import Arithmetic, Number, Span
from mmaproof.gemm.programs.evaluate import trace
from mmaproof.gemm.programs.normal_form import same_computation
from mmaproof.smt.evaluate import ARRAYS

V, H = "volta/f32.f16.f16.f32", "hopper/mma.m16n8k16.f32.f16.f16.f32"
A8, A16 = "ampere/mma.m16n8k8.f32.f16.f16.f32", "ampere/mma.m16n8k16.f32.f16.f16.f32"
I8, SATURATING = "turing/mma.m8n8k16.s32.s8.s8.s32", "turing/mma.m8n8k16.satfinite.s32.s8.s8.s32"
SAME = [
    (f"{H} | tile=32", f"{H} | tile=64", 128),
    (A8, A16, 64),
    (f"{A8} | promote=32 | out=fp16", f"{A16} | split-k=2 | out=fp16", 64),
    (f"{V} | split-k=2:tree | c=none", f"{V} | split-k=2:tree | c=none", 16),
    # the parts of an addition onto +0, or onto a sum of two, may change places
    (f"{V} | split-k=2 | c=none", f"{V} | split-k=2:descending | c=none", 16),
    (f"{V} | split-k=2:tree:fp16 | c=none", f"{V} | stream-k=8.8:tree:fp16 | c=none", 16),
    (f"{V} | split-k=2:ascending:fp32:rtn | c=none", f"{V} | split-k=2:descending:fp32:rtn | c=none", 16),
    (f"{V} | rescale=8:1 | c=none", f"{V} | c=none", 16),
    (I8, f"{I8} | split-k=4:tree", 128),
    (I8, f"{I8} | order=reversed | tile=64", 128),
    (f"{I8} | split-k=4:2.0.3.1", f"{I8} | sliced-k=2x16:descending", 64),
]
OTHER = [
    (f"{H}", f"{H} | order=reversed", 16),
    (f"{H}", f"{H} | split-k=2", 32),
    (f"{V} | split-k=2", f"{V} | split-k=2:descending", 16),
    (f"{V} | split-k=3 | c=none", f"{V} | split-k=3:descending | c=none", 12),
    (f"{V} | split-k=4:tree | c=none", f"{V} | split-k=4 | c=none", 16),
    (f"{V} | c=first", f"{V} | c=last", 16),
    (f"{V} | split-k=2:ascending:fp32", f"{V} | split-k=2:ascending:fp32:rz", 16),
    (f"{V} | split-k=2 | out=fp16", f"{V} | split-k=2:ascending:fp16>fp32 | out=fp16", 16),
    (f"{V} | out=fp16", f"{V} | out=fp16:rz", 16),
    (f"{V} | rescale=8:0.5 | c=none", f"{V} | rescale=8:0.75 | c=none", 16),
    (f"{V} | c=last | alpha=2", f"{V} | c=last | beta=2", 16),
    (f"{V}@chain_infinity=finite | stream-k=8.8:tree | c=none", f"{V} | stream-k=8.8:tree | c=none", 16),
    (f"{V}@fraction_bits=22", V, 16),
    (f"{A8}@k_order=reversed", f"{A16}@k_order=reversed", 16),
    # a register that saturates depends on the order
    (SATURATING, f"{SATURATING} | split-k=2", 32),
    (f"{V} | algorithm=markidis", f"{V} | algorithm=plain", 16),
]


def same(first: Plan, second: Plan, k: int) -> bool:
    return same_computation(first.schedule(k), second.schedule(k))


@pytest.mark.few(6)
@pytest.mark.parametrize(("first", "second", "k"), SAME)
def test_same_computations_return_the_same_bits(first: str, second: str, k: int) -> None:
    plans = read_plan(first), read_plan(second)
    assert same(*plans, k)
    a, b, c = matrices(plans[0], k, (8, 1), seed=3)
    for i in range(8):
        operands = element(a, b, c, i, 0)
        assert trace(plans[0], operands).d == trace(plans[1], operands).d


@pytest.mark.parametrize(("first", "second", "k"), OTHER)
def test_other_computations_are_not_merged(first: str, second: str, k: int) -> None:
    assert not same(read_plan(first), read_plan(second), k)


def test_chain_that_reads_its_own_infinity_as_a_number_is_not_cut() -> None:
    # rescaling by 2**0 leaves two calls, the second of which is handed an infinity
    unit = find_design(V).change(chain_infinity="finite")
    whole = Plan(unit).schedule(8)
    first, last = whole.operations
    (call,) = whole.calls
    cut = replace(whole, operations=(first, replace(call, ks=call.ks[:4]), replace(call, ks=call.ks[4:], c=1)))
    assert last is call
    assert not same_computation(whole, cut)
    kept = replace(whole, operations=tuple(replace(x, unit=find_design(V)) if x is call else x for x in (first, last)))
    joined = replace(cut, operations=(first, *(replace(x, unit=find_design(V)) for x in cut.calls)))
    assert same_computation(kept, joined)


def test_part_of_an_instruction_is_no_part_of_a_chain() -> None:
    whole = read_plan(H).schedule(16)
    (call,) = whole.calls
    cut = replace(
        whole, operations=(whole.operations[0], replace(call, ks=call.ks[:8]), replace(call, ks=call.ks[8:], c=1))
    )
    assert not same_computation(whole, cut)


def test_order_in_steps_is_left_to_who_proves_it() -> None:
    pair = [read_plan(x).schedule(32) for x in (H, f"{H} | order=reversed")]
    assert not same_computation(*pair)
    assert same_computation(*pair, any_order_in_steps=True)
    across = [read_plan(x).schedule(32) for x in (H, f"{H} | tile=32 | order=reversed")]
    assert not same_computation(*across, any_order_in_steps=True)


@pytest.mark.parametrize("name", ["e5m2", "fp32"])
@pytest.mark.parametrize("rounding", [Rounding.RNE, Rounding.RZ, Rounding.RTP])
def test_onto_zero_in_either_order_is_the_same_for_every_pair_of_numbers(name: str, rounding: Rounding) -> None:
    """The rule of the normal form, on all pairs of e5m2, and on the special numbers of fp32."""
    fmt, minus_zero = FORMATS[name], 1 << FORMATS[name].sign_position
    held = np.arange(256) if name == "e5m2" else np.array(SPECIAL)
    first, second = (p.ravel().astype(np.uint32) for p in np.meshgrid(held, held))
    arithmetic = Arithmetic(ARRAYS)
    x, y = (Number(fmt, ARRAYS.from_patterns(p, fmt.bits), Span.of_format(fmt)) for p in (first, second))
    from_x, from_y = (arithmetic.add("", arithmetic.zero(fmt), n, rounding) for n in (x, y))
    started = arithmetic.add("", from_x, y, rounding).word.data
    for other in (arithmetic.add("", from_y, x, rounding), arithmetic.add("", from_x, from_y, rounding)):
        assert np.array_equal(started, other.word.data)
    plain = arithmetic.add("", x, y, rounding).word.data
    assert np.array_equal(started != plain, (first == minus_zero) & (second == minus_zero))


SPECIAL = [0, 1 << 31, 1, 0x80000001, 0x3F800000, 0xBF800000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F7FFFFF]


def test_rounded_down_adding_plus_zero_changes_nothing() -> None:
    """Of every number of fp16; to nearest, -0 becomes +0."""
    fmt, patterns = FORMATS["fp16"], np.arange(1 << 16, dtype=np.uint16)
    word = ARRAYS.from_patterns(patterns, 16)
    x, zero = (Number(fmt, w, Span.of_format(fmt)) for w in (word, ARRAYS.from_patterns(patterns * 0, 16)))
    number = (patterns & 0x7FFF) <= 0x7C00
    for rounding, changed in ((Rounding.RTN, 0), (Rounding.RNE, 1), (Rounding.RTP, 1)):
        total = np.asarray(Arithmetic(ARRAYS).add("", zero, x, rounding).word.data)
        assert int((total != patterns)[number].sum()) == changed
