"""Verdicts on results that were corrupted: each gets the verdict that it must get, and none another one."""

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import mmaproof
from mmaproof.designs.errors import InputError, OperandError
from mmaproof.gemm.tolerances.assertion import observers
from mmaproof.gemm.tolerances.judge import judge
from mmaproof.gemm.tolerances.report import page
from mmaproof.gemm.tolerances.tolerance import tolerance

PLAN = "hopper/wgmma.f32.bf16.bf16"
SPLIT = f"{PLAN} | split-k=2"
LIST = [PLAN, SPLIT]
M, K, N = 32, 64, 32
RNG = np.random.default_rng(5)
A, B = (RNG.standard_normal(x).astype(ml_dtypes.bfloat16) for x in ((M, K), (K, N)))
C = RNG.standard_normal((M, N)).astype(np.float32)
D = mmaproof.matmul(PLAN, A, B, C)
E = mmaproof.matmul(mmaproof.read_plan(SPLIT), A, B, C)


def product(a=A, b=B, c=C, plan=PLAN):
    return mmaproof.matmul(mmaproof.read_plan(plan) if "|" in plan else plan, np.ascontiguousarray(a), b, c)


def put(value, at=(3, 4), held=D):
    """Return a result with other elements."""
    found = held.copy()
    found[at] = value
    return found


def bits(pattern, at=(3, 4)):
    found = D.copy()
    found.view(np.uint32)[at] = pattern
    return found


def without(ks):
    a = A.copy()
    a[:, ks] = 0
    return product(a)


def beside(x, times):
    """Return the numbers that are a number of steps further from zero."""
    return (x.view(np.uint32) + np.uint32(times)).view(np.float32)


def where_different():
    """Return a place at which the two plans differ."""
    return tuple(int(x) for x in np.argwhere(D != E)[0])


def farther(times):
    """Return a result with an element that is off by a multiple of its bound."""
    asked = tolerance(PLAN, K)
    exact = asked.exact_of(asked.given(A, B, C))[0]
    return put(np.float32(exact[3, 4] + times * asked.bound(A, B, C)[3, 4]))


CORRUPTED = {
    "nothing": (D, "exact"),
    "the other plan": (E, "exact"),
    "rows of the other plan": (put(E[16:], np.s_[16:]), "mixed"),
    "every second row": (put(E[::2], np.s_[::2]), "mixed"),
    "columns of the other plan": (put(E[:, 5:9], np.s_[:, 5:9]), "mixed"),
    "a tile of the other plan": (put(E[:16, 16:], np.s_[:16, 16:]), "mixed"),
    "a small tile of the other plan": (put(E[8:16, 8:16], np.s_[8:16, 8:16]), "mixed"),
    "single elements of the other plan": (np.where(np.indices(D.shape).sum(axis=0) % 2, D, E), "within"),
    "one element of the other plan": (lambda: put(E[where_different()], where_different()), "within"),
    "an element one step off": (put(beside(D, 1)[3, 4]), "within"),
    "all elements one step off": (beside(D, 1), "within"),
    "an element three quarters of its bound off": (lambda: farther(0.75), "within"),
    "reversed order of k": (product(A[:, ::-1], np.ascontiguousarray(B[::-1])), "within"),
    "sums in fp64, rounded once": ((A.astype(float) @ B.astype(float) + C).astype(np.float32), "within"),
    "an element twice its bound off": (lambda: farther(2.5), "outside"),
    "zeros": (np.zeros_like(D), "outside"),
    "a row of zeros": (put(0, np.s_[7]), "outside"),
    "minus zero": (bits(0x80000000), "outside"),
    "the smallest subnormal": (bits(1), "outside"),
    "infinity": (put(np.inf), "outside"),
    "minus infinity": (put(-np.inf), "outside"),
    "a NaN": (put(np.nan), "outside"),
    "a NaN with a payload": (bits(0x7FC0BEEF), "outside"),
    "the sign of an element": (put(-D[3, 4]), "outside"),
    "an exponent one larger": (put(2 * D[3, 4]), "outside"),
    "a lost k-block": (without(np.s_[16:32]), "outside"),
    "a lost product": (without(np.s_[5:6]), "outside"),
    "another scale": (2 * D, "outside"),
    "a transposed result": (np.ascontiguousarray(D.T), "outside"),
    "a transposed operand": (product(B.T, np.ascontiguousarray(A.T)), "outside"),
    "a row of its neighbour": (put(D[8], np.s_[9]), "outside"),
    "a stale tile": (put(D[:8, :8], np.s_[8:16, 8:16]), "outside"),
    "c left out": (product(c=np.zeros_like(C)), "outside"),
    "c twice": (product() + C, "outside"),
    "results in bf16": (D.astype(ml_dtypes.bfloat16).astype(np.float32), "outside"),
    "garbage": (RNG.standard_normal(D.shape).astype(np.float32), "outside"),
}


def corrupted(kind):
    """Return a result. Those that need a bound, which is proved, are made by the tests that ask for them."""
    d, _ = CORRUPTED[kind]
    return d() if callable(d) else d


@pytest.mark.parametrize("kind", CORRUPTED)
def test_a_corrupted_result_gets_its_verdict(kind: str) -> None:
    d, verdict = corrupted(kind), CORRUPTED[kind][1]
    found = judge(d, A, B, C, plans=LIST, explain=False)
    assert found.verdict == verdict, found
    assert found.rests_on
    assert bool(found.exact) == (verdict == "exact") and bool(found.parts) == (verdict == "mixed")
    assert (found.element is not None) == (verdict == "outside")


@pytest.mark.parametrize("kind", [x for x, (_, verdict) in CORRUPTED.items() if verdict == "outside"])
def test_what_is_outside_is_so_on_rational_numbers(kind: str) -> None:
    d = corrupted(kind)
    element = judge(d, A, B, C, plans=LIST, explain=False).element
    assert element is not None
    i, j = element.row, element.column
    exact = sum(Fraction(float(A[i, k])) * Fraction(float(B[k, j])) for k in range(K)) + Fraction(float(C[i, j]))
    widest = max(tolerance(x, K).bound(A[[i]], B[:, [j]], C[[i]][:, [j]])[0, 0] for x in LIST)
    value = float(d[i, j])
    assert not np.isfinite(value) or abs(Fraction(value) - exact) > Fraction(float(widest))
    assert int(element.pattern, 16) == int(d.view(np.uint32)[i, j])


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("zeros", "zeros"),
        ("a lost k-block", "k-block 1 missing"),
        ("a lost product", "the product at k = 5 missing"),
        ("another scale", "twice the result"),
        ("a transposed result", "transpose of the result"),
        ("a row of its neighbour", "row 9"),
        ("c left out", "c were not added"),
        ("a stale tile", "rows 8..15, columns 8..15 are rows 0..7, columns 0..7 of the right result"),
        ("results in bf16", "the result rounded to bf16 on its way"),
    ],
)
def test_what_would_fit_is_named(kind: str, text: str) -> None:
    found = judge(corrupted(kind), A, B, C, plans=PLAN)
    assert text in " ".join(found.fits)


def test_the_parts_of_a_mixed_result_say_whose_they_are() -> None:
    names = [mmaproof.read_plan(x).name if "|" in x else mmaproof.find_design(x).name for x in LIST]
    rows = judge(corrupted("rows of the other plan"), A, B, C, plans=LIST).parts
    assert [(x.where, x.plan) for x in rows] == [("rows 0..15", names[0]), ("rows 16..31", names[1])]
    columns = judge(corrupted("columns of the other plan"), A, B, C, plans=LIST).parts
    assert ("columns 5..8", names[1]) in [(x.where, x.plan) for x in columns]
    tiles = judge(corrupted("a tile of the other plan"), A, B, C, plans=LIST).parts
    assert [(x.where, x.plan) for x in tiles] == [
        ("rows 0..15, columns 0..15", names[0]),
        ("rows 0..15, columns 16..31", names[1]),
        ("rows 16..31", names[0]),
    ]


def test_edges_of_tiles_are_parts_where_other_plans_have_other_bits() -> None:
    """Libraries multiply the last rows and columns with another kernel; columns of some rows are parts, too."""
    edges = E.copy()
    edges[:27, :29] = D[:27, :29]
    names = [mmaproof.find_design(PLAN).name, mmaproof.read_plan(SPLIT).name]
    found = judge(edges, A, B, C, plans=LIST, explain=False)
    assert found.verdict == "mixed"
    assert [(x.where, x.plan, x.elements) for x in found.parts] == [
        ("rows 0..26, columns 0..28", names[0], 27 * 29),
        ("rows 0..26, columns 29..31", names[1], 27 * 3),
        ("rows 27..31", names[1], 5 * 32),
    ]
    sampled = judge(edges, A, B, C, plans=LIST, rows=24, seed=2, explain=False)
    assert sampled.verdict == "mixed" and sum(x.elements for x in sampled.parts) == 24 * N


def test_a_few_elements_of_another_plan_are_no_parts() -> None:
    """Between two of them the plans agree by chance, so a part would rest on a single element."""
    d = D.copy()
    for at in np.argwhere(D != E)[[5, 200, -7]]:
        d[tuple(at)] = E[tuple(at)]
    found = judge(d, A, B, C, plans=LIST, explain=False)
    assert found.verdict == "within", found


def test_a_result_of_one_plan_alone_is_within_the_bound_of_another_alone() -> None:
    assert judge(E, A, B, C, plans=PLAN, explain=False).verdict == "within"
    i, j = where_different()
    assert judge(put(E[i, j], (i, j)), A, B, C, plans=PLAN, explain=False).verdict == "within"


def test_what_is_not_known_is_indeterminate() -> None:
    # an infinity among the operands: nothing is proved of its row
    a = A.copy()
    a[0, 0] = np.inf
    d = product(a)
    assert judge(d, a, B, C, plans=PLAN).verdict == "exact"
    found = judge(put(np.float32(1), (0, 0), d), a, B, C, plans=PLAN, explain=False)
    assert found.verdict == "indeterminate" and "infinities or NaNs" in found.rests_on
    # a NaN of another code where the plan returns one
    nan = product(np.full_like(A, np.nan))
    other = (nan.view(np.uint32) ^ 1).view(np.float32)
    found = judge(other, np.full_like(A, np.nan), B, C, plans=PLAN, explain=False)
    assert found.verdict == "indeterminate"
    # an order of additions that is not determined
    atomic = f"{PLAN} | split-k=2:any"
    found = judge(E, A, B, C, plans=[PLAN, atomic], explain=False)
    assert found.verdict == "indeterminate" and "not determined" in found.rests_on
    assert judge(np.zeros_like(D), A, B, C, plans=[PLAN, atomic], explain=False).verdict == "outside"


@pytest.mark.middle
def test_beyond_the_bound_of_one_plan_alone_is_indeterminate() -> None:
    fp8 = [x.astype(ml_dtypes.float8_e4m3fn) for x in (A, B)]
    narrow, wide = "hopper/wgmma.f32.e4m3.e4m3", "blackwell/tcgen05.mma.m64n8k32.f32.e4m3.e4m3"
    d = mmaproof.matmul(narrow, *fp8, C)
    d[3, 4] = beside(d, 40)[3, 4]
    assert judge(d, *fp8, C, plans=narrow, explain=False).verdict == "within"
    assert judge(d, *fp8, C, plans=wide, explain=False).verdict == "outside"
    found = judge(d, *fp8, C, plans=[narrow, wide], explain=False)
    assert found.verdict == "indeterminate" and "beyond those of others" in found.rests_on


def test_an_architecture_and_a_library_are_lists_of_plans() -> None:
    found = judge(D, A, B, C, plans=["h100", "ampere"])
    assert found.verdict == "exact" and "hopper/wgmma.m64n8k16.f32.bf16.bf16" in found.exact
    assert {x.partition("/")[0] for x in found.plans} == {"hopper", "ampere"}
    with pytest.raises(InputError, match="none of these takes arrays of"):
        judge(D.astype(float), A, B, C, plans="volta")


def test_a_sample_of_rows_says_what_it_misses() -> None:
    d = put(0, np.s_[7])
    seeds = range(40)
    found = [judge(d, A, B, C, plans=PLAN, rows=8, seed=x, explain=False) for x in seeds]
    caught = [x.verdict == "outside" for x in found]
    assert caught == [7 in x.rows for x in found] and 0 < sum(caught) < len(caught)
    assert found[0].missed(1 / M) == pytest.approx(1 - 8 / M)
    assert found[0].missed(0) == 1 and found[0].missed(1) == 0
    # of 16 faulty rows of 32 a sample of 8 misses all in C(16, 8) of C(32, 8) draws
    assert found[0].missed(0.5) == pytest.approx(12870 / 10518300)
    assert judge(d, A, B, C, plans=PLAN, rows=8, seed=3, explain=False) == found[3]


@pytest.mark.parametrize(
    ("changed", "error", "text"),
    [
        ({"d": D[:5]}, OperandError, "actual has the shape"),
        ({"a": A[0]}, OperandError, "a has the shape"),
        ({"plans": []}, InputError, "one at least"),
        ({"plans": "nothing"}, InputError, "nothing"),
        ({"rows": 0}, InputError, "at least 1"),
        ({"d": D.astype(np.float64)}, OperandError, "actual"),
    ],
)
def test_what_does_not_fit_is_refused(changed, error, text) -> None:
    given = {"d": D, "a": A, "b": B, "c": C, "plans": PLAN} | changed
    with pytest.raises(error, match=text):
        judge(given["d"], given["a"], given["b"], given["c"], plans=given["plans"], rows=given.get("rows"))


@pytest.mark.parametrize(
    "plan", [PLAN, SPLIT, f"{PLAN} | out=bf16", "cdna3/v_mfma_f32_32x32x8_bf16", "ampere/f32.bf16.bf16"]
)
def test_honest_results_are_exact(plan: str) -> None:
    rng = np.random.default_rng(9)
    for size in (1.0, 1e-20, 1e15):
        a, b = (rng.standard_normal(x) * size for x in ((64, K), (K, 64)))
        a, b = a.astype(ml_dtypes.bfloat16), b.astype(ml_dtypes.bfloat16)
        d = product(a, b, None, plan)
        assert judge(d, a, b, plans=[plan, "h100"]).verdict == "exact"


DOTS = RNG.standard_normal((2, 40, K)).astype(ml_dtypes.bfloat16)
START = RNG.standard_normal(40).astype(np.float32)
OF_DOTS = mmaproof.dot(PLAN, *DOTS, START)


def test_dot_products_without_a_matrix_are_judged_row_by_row() -> None:
    def asked(d, **more):
        return judge(d, *DOTS, START, plans=LIST, **{"explain": False} | more)

    assert asked(OF_DOTS).verdict == "exact"
    near, far = OF_DOTS.copy(), OF_DOTS.copy()
    near[17] = beside(near, 1)[17]
    far[17:19] = 0, far[18] * 1.001
    assert asked(near).verdict == "within"
    found = asked(far, explain=True)
    assert found.verdict == "outside" and found.element is not None and found.element.row == 17
    assert found.fits == ("row 17: zeros; all 1 elements that were looked at have these bits",)
    exact = sum(Fraction(float(x)) * Fraction(float(y)) for x, y in zip(*DOTS[:, 17], strict=True))
    exact += Fraction(float(START[17]))
    assert found.element.exact == pytest.approx(float(exact), rel=1e-15)
    widest = max(tolerance(x, K).bound(DOTS[0, [17]], DOTS[1, [17]].T, START[[17], None])[0, 0] for x in LIST)
    assert found.element.bound == widest
    # c belongs to its row
    turned = mmaproof.dot(PLAN, *DOTS, np.roll(START, 1))
    assert asked(turned).verdict == "outside"


@pytest.mark.middle
def test_scales_of_rows_belong_to_their_rows() -> None:
    plan = "blackwell/tcgen05.mma.m128n8k32.block32.f32.e4m3.e4m3.ue8m0"
    a, b = (x.astype(ml_dtypes.float8_e4m3fn) for x in DOTS)
    scales = RNG.integers(120, 134, (2, 40, K // 32)).astype(np.uint8)
    d = mmaproof.dot(plan, a, b, START, *scales)
    given = {"plans": plan, "explain": False}
    assert judge(d, a, b, START, scale_a=scales[0], scale_b=scales[1], **given).verdict == "exact"
    d = beside(d, 1)
    assert judge(d, a, b, START, scale_a=scales[0], scale_b=scales[1], **given).verdict == "within"
    other = np.roll(scales[1], 1, axis=0)
    assert judge(d, a, b, START, scale_a=scales[0], scale_b=other, **given).verdict == "outside"


def test_a_bound_that_is_given_takes_the_place_of_the_proved_ones() -> None:
    proved = tolerance(PLAN, K)
    exact, bound = proved.exact_of(proved.given(A, B, C))[0], proved.bound(A, B, C)
    d = put(np.float32(exact[3, 4] + 2.5 * bound[3, 4]))
    off = abs(float(d[3, 4]) - exact[3, 4])
    asked = {"plans": PLAN, "explain": False}
    assert judge(d, A, B, C, **asked).verdict == "outside"
    assert judge(d, A, B, C, bound=off * 1.01, **asked).verdict == "within"
    assert judge(d, A, B, C, bound=off * 0.99, **asked).verdict == "outside"
    each = bound.copy()
    each[3, 4] = 3 * bound[3, 4]
    assert judge(d, A, B, C, bound=each, **asked).verdict == "within"
    # the exact bits need no bound, and no bound is inside an infinity
    assert judge(D, A, B, C, bound=0, **asked).verdict == "exact"
    assert judge(put(np.inf), A, B, C, bound=1e300, **asked).verdict == "outside"
    a = A.copy()
    a[0, 0] = np.inf
    assert judge(put(np.float32(1), (0, 0), product(a)), a, B, C, bound=1e300, **asked).verdict == "indeterminate"
    # plans of which nothing is proved have a verdict, too
    fp64 = [np.asarray(x, np.float64) for x in (A, B, C)]
    held = mmaproof.matmul("ampere/f64.f64.f64.f64", *fp64)
    held[2, 2] += 1e-9
    found = judge(held, *fp64, plans="ampere/f64.f64.f64.f64", bound=1e-8, explain=False)
    assert found.verdict == "within" and "bound that was given" in found.rests_on
    for wrong in (-1, np.nan, np.inf, np.ones(3)):
        with pytest.raises(InputError, match="bound"):
            judge(D, A, B, C, bound=wrong, **asked)


@pytest.mark.middle
def test_an_assertion_takes_several_plans() -> None:
    seen = []
    observers.append(seen.append)
    try:
        for d, strength in ((D, "bits"), (E, "bits"), (beside(D, 1), "proved"), (put(E[16:], np.s_[16:]), "proved")):
            mmaproof.assert_gemm(d, A, B, C, plans=LIST, strength=strength)
        for d, strength, text in (
            (beside(D, 1), "bits", "^within: "),
            (put(E[16:], np.s_[16:]), "bits", "rows 16..31: "),
            (put(0, np.s_[7]), "proved", "what fits: row 7: zeros"),
        ):
            with pytest.raises(AssertionError, match=text):
                mmaproof.assert_gemm(d, A, B, C, plans=LIST, strength=strength)
    finally:
        observers.remove(seen.append)
    names = [mmaproof.read_plan(x).name if "|" in x else mmaproof.find_design(x).name for x in LIST]
    assert [x.judged for x in seen[:2]] == [f"exact: {x}" for x in names]
    assert [bool(x.count) for x in seen] == [False] * 4 + [True] * 3
    shown = page([("test_it", x) for x in seen])
    assert f"exact: {names[1]}" in shown and f"rows 0..15: {names[0]}" in shown and "<svg" not in shown
    a = np.full_like(A, np.inf)
    with pytest.raises(AssertionError, match="^indeterminate"):
        mmaproof.assert_gemm(D, a, B, C, plans=LIST)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"plan": PLAN, "plans": LIST},
        {"plans": LIST, "strength": "statistical"},
        {"plans": LIST, "unchecked": "allow"},
    ],
)
def test_what_an_assertion_of_several_plans_cannot_say_is_refused(given) -> None:
    with pytest.raises(InputError, match="plans"):
        mmaproof.assert_gemm(D, A, B, C, **given)


@pytest.mark.middle
def test_a_run_of_k_that_is_missing_is_named_wherever_it_begins() -> None:
    """Of a unit with K = 1 a lost block is a run of products."""
    plan = "cpu/vfmadd231ps"
    a, b = (x.astype(np.float32) for x in (A, B))
    lost = a.copy()
    lost[:, 10:30] = 0
    found = judge(product(lost, b, C, plan), a, b, C, plans=plan)
    assert found.verdict == "outside"
    assert found.fits == ("all elements: k = 10..29 missing; all 1024 elements that were looked at have these bits",)
    # in another order of additions it is not these bits, and as near as the bound says
    turned = product(lost[:, ::-1], np.ascontiguousarray(b[::-1]), C, plan)
    found = judge(turned, a, b, C, plans=plan)
    assert found.fits == ("all elements: within the bound as if k = 10..29 were missing",)


def cancelling():
    """Return operands whose sums are small, so that plans differ in many bits, and both results."""
    rng = np.random.default_rng(5)
    half, other = (rng.standard_normal(x).astype(ml_dtypes.bfloat16) for x in ((32, 32), (32, 48)))
    a, b = np.concatenate([half, -half], axis=1), np.concatenate([other, other])
    a[:, 5] *= ml_dtypes.bfloat16(2**-14)
    a[:, 37] = 0
    return a, b, [mmaproof.matmul(mmaproof.read_plan(x), a, b) for x in LIST]


def test_a_mixed_result_in_a_narrower_format_is_named():
    """No plan has all elements: the tile of the other plan is rounded to bf16 as the rest is."""
    a, b, (first, second) = cancelling()
    mixed = first.copy()
    mixed[8:24, 16:40] = second[8:24, 16:40]
    narrow = mixed.astype(ml_dtypes.bfloat16).astype(np.float32)
    by_one = [x.astype(ml_dtypes.bfloat16).astype(np.float32) for x in (first, second)]
    assert all((narrow != x).any() for x in by_one)
    found = judge(narrow, a, b, plans=LIST)
    assert found.verdict == "outside"
    assert any("rounded to bf16" in x and "have these bits" in x for x in found.fits)


def test_a_mixed_result_that_no_plan_rounds_to_is_not_named():
    a, b, (first, second) = cancelling()
    narrow = first.astype(ml_dtypes.bfloat16)
    narrow.view(np.uint16)[:, 5] += 1
    narrow[8:24, 16:40] = second.astype(ml_dtypes.bfloat16)[8:24, 16:40]
    found = judge(narrow.astype(np.float32), a, b, plans=LIST)
    assert found.verdict == "outside"
    assert not any("rounded to bf16" in x for x in found.fits)


def test_tiles_of_several_plans_that_were_exchanged_are_named():
    a, b, (first, second) = cancelling()
    mixed = first.copy()
    mixed[8:24, 16:40] = second[8:24, 16:40]
    assert (mixed[:8, :8] != second[:8, :8]).any() and (mixed[16:24, 24:32] != first[16:24, 24:32]).any()
    swapped = mixed.copy()
    swapped[:8, :8], swapped[16:24, 24:32] = mixed[16:24, 24:32], mixed[:8, :8]
    found = judge(swapped, a, b, plans=LIST)
    assert found.verdict == "outside"
    assert any("tiles at another place" in x for x in found.fits), found.fits


def test_a_judgement_is_printed_in_a_line() -> None:
    assert repr(judge(D, A, B, C, plans=LIST)) == (
        f"<exact: {mmaproof.read_plan(PLAN).name}, k = 64, 32 of 32 rows of 32 elements>"
    )
