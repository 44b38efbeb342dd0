"""Identification: units of the catalogue and of the space are found, and other units are never matched by force."""

import dataclasses
import random
import time
from types import SimpleNamespace

import numpy as np
import pytest
from support.deciding import proof_if

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import InputError
from mmaproof.generators.identify import evidence as evidence_module
from mmaproof.generators.identify import identify
from mmaproof.generators.identify.evidence import Evidence, Oracle
from mmaproof.generators.identify.fit import Fit
from mmaproof.generators.identify.identification import identify as identify_target
from mmaproof.generators.identify.identify import MOST_BATCHES, Identifier
from mmaproof.generators.identify.space import Axes, Behaviour, Interface, default_axes, read_axes, size, variants
from mmaproof.hardware_replay.target import Ran, Unit
from mmaproof.hardware_replay.targets import ModelTarget
from mmaproof.properties.equivalence import Equivalence
from mmaproof.smt.evaluate import equal_patterns, evaluate_batch
from mmaproof.smt.solving import limits
from mmaproof.smt.solving.verdict import Status
from mmaproof.verification.compare import Comparison
from mmaproof.verification.distributions import draw

TURING = "turing/mma.m16n8k8.f32.f16.f16.f32"


def test_a_proof_is_not_ended_by_the_clock_before_the_whole_is():
    """Beside other programs a proof of ten seconds of computing takes a minute."""
    held = SimpleNamespace(until=limits.Until(limits.worked() + 600, time.monotonic() + 600), reserved=1.5)
    found = Identifier._proof_limits(held)
    assert found.seconds == 10
    assert 590 < found.wall <= 598.5
    held.until = limits.Until(limits.worked() + 600, time.monotonic() + 4)
    found = Identifier._proof_limits(held)
    assert max(found.seconds, found.wall) <= 2.5


def identified(target, interface, *, seconds=120, proofs=False, axes=None):
    oracle, axes = Oracle(target, interface), axes or default_axes(interface)
    return Identifier(oracle, axes, solver="bitwuzla", seconds=seconds, seed=0, proofs=proofs).identify()


def few_axes(interface):
    """A space that is searched in a second: all parameters but a few have the values that the design has."""
    default, known = default_axes(interface), Behaviour.of(find_design(TURING), 8)
    varied = ("L", "fraction_bits", "rho", "alignment")
    return Axes({n: x if n in varied else (known[n],) for n, x in default.items()}, {})


@dataclasses.dataclass(frozen=True)
class FunctionUnit:
    """A unit that is a function of operands and of no design."""

    compute: object
    name = "a unit"
    unit = Unit("a unit")
    designs = ()

    def design_of(self, rows):
        return None

    def run(self, rows):
        return Ran.all(self.compute(rows.batch))


@pytest.mark.slow_values("cdna2/v_mfma_f32_32x32x8f16-found2")
@pytest.mark.parametrize(
    ("name", "found"),
    [
        pytest.param(TURING, {"L": 8, "fraction_bits": 24, "rho": "rz-fp32"}, marks=pytest.mark.middle),
        pytest.param(
            "cdna3/v_mfma_f32_32x32x8_f16",
            {"join": "round-down", "late_bits": 31, "product_limit": 128},
            marks=pytest.mark.middle,
        ),
        pytest.param("cdna2/v_mfma_f32_32x32x8f16", {"summation": "pairwise", "L": 4}, marks=pytest.mark.middle),
        ("turing/mma.m8n8k16.satfinite.s32.s8.u8.s32", {"integer_overflow": "saturate"}),
        ("cpu/vpmaddubsw-vpmaddwd-vpaddd", {"intermediate_bits": 16, "integer_overflow": "wrap"}),
        ("cpu/vpmaddwd-vpaddd", {"intermediate_bits": None, "integer_overflow": "wrap"}),
        ("cpu/vpmaddubsw-vpaddsw", {"intermediate_bits": 16, "integer_overflow": "saturate"}),
        ("riscv/vqwdotas.vv.m1n1k8.s64.s16.s16.s64", {"rho": "int64", "integer_overflow": "wrap"}),
        ("cdna1/v_mfma_i32_32x32x8i8", {"integer_overflow": "wrap", "L": 8}),
        ("hopper/wgmma.m64n8k32.satfinite.s32.u8.s8", {"integer_overflow": "saturate", "L": 32}),
        pytest.param(
            "psp/vdot", {"product_bits": 25, "fraction_bits": 25, "dropped_bits": 2}, marks=pytest.mark.middle
        ),
        pytest.param("hexagon/hmx", {"fraction_bits": 76, "floor": 30, "carry_bits": -15}, marks=pytest.mark.slow),
        pytest.param("paper/fma-fp8", {"rho": "rne-e4m3", "out_of_range": "nan"}, marks=pytest.mark.middle),
        pytest.param("paper/fma-fp8-satfinite", {"out_of_range": "saturate"}, marks=pytest.mark.middle),
        pytest.param("paper/fma-p3109", {"rho": "rne-binary8p4se"}, marks=pytest.mark.middle),
        pytest.param("cpu/tcmmrlfp16ps", {"complex_part": "real", "L": 32}, marks=pytest.mark.middle),
        pytest.param("cpu/tcmmimfp16ps", {"complex_part": "imaginary", "L": 32}, marks=pytest.mark.slow),
        pytest.param("cpu/tdpbf8ps", {"summation": "interleaved", "chain_terms": 2, "L": 64}, marks=pytest.mark.slow),
        pytest.param(
            "cpu/tdphbf8ps", {"chain_terms": 2, "subnormals": "accumulator-and-results"}, marks=pytest.mark.slow
        ),
        pytest.param("cpu/vfmadd231bf16", {"rho": "rne-bf16", "L": 1}, marks=pytest.mark.middle),
        pytest.param("cpu/vfmadd231ph", {"rho": "rne-fp16", "L": 1}, marks=pytest.mark.middle),
        pytest.param("arm/fmmla.m2n2k4.f32.f16.f16.f32", {"summation": "pairwise", "L": 4}, marks=pytest.mark.middle),
        pytest.param("cdna2/v_dot2_f32_f16", {"subnormals": "flushed", "L": 1}, marks=pytest.mark.middle),
        pytest.param("cdna4/v_dot2_f32_f16", {"subnormals": "kept", "L": 1}, marks=pytest.mark.middle),
        pytest.param("riscv/vfbdota.vv.m1n8k4.f32.f32.f32.f32", {"summation": "pairwise"}, marks=pytest.mark.middle),
        pytest.param("gaudi2/mme.m1n1k2.f32.f32.f32.f32", {"low_bits": 12, "L": 2}, marks=pytest.mark.middle),
        pytest.param("gaudi3/mme.m1n1k1.f32.f32.f32.f32", {"low_bits": 8, "middle_bits": 8}, marks=pytest.mark.middle),
        pytest.param("gaudi3/f32.e4m3f.e4m3f", {"L": 8, "floor": -132, "rho": "rz-fp32"}, marks=pytest.mark.middle),
        pytest.param("gaudi3/f32.e5m2fn.e5m2fn.f32", {"L": 8, "floor": -132}, marks=pytest.mark.middle),
        pytest.param("gaudi3/f32.e4m3b7.e5m2.f32", {"L": 8, "floor": -132}, marks=pytest.mark.middle),
        pytest.param("gaudi2/f32.e4m3b7.e4m3b7.f32", {"L": 16, "join": "exact"}, marks=pytest.mark.middle),
        pytest.param("sparse/ampere.mma.sp.m16n8k16.f32.f16.f16.f32", {"L": 8}, marks=pytest.mark.middle),
        pytest.param("sparse/cdna3.v_smfmac_f32_16x16x32_f16", {"join": "round-down"}, marks=pytest.mark.middle),
        pytest.param("xdna2/vmac", {"group_size": 8, "join": "exact", "rho": "rne-fp32"}, marks=pytest.mark.slow),
        pytest.param("ane/tile", {"fraction_bits": 11, "L": 1}, marks=pytest.mark.slow),
        pytest.param("ascend/tmatmul_acc.m16n16k16.f32.bf16.bf16.f32", {"L": 1}, marks=pytest.mark.slow),
        pytest.param("wormhole/phase1.m8n16k16.f32.e8m7.e8m7.f32", {"fidelity_phase": 1}, marks=pytest.mark.slow),
        pytest.param("turing/mma.m8n8k128.s32.b1.b1.s32.xor.popc", {"element_product": "xor"}, marks=pytest.mark.slow),
        pytest.param("hopper/mma.m8n8k4.f64.f64.f64.f64", {"L": 1, "alignment": "jam"}, marks=pytest.mark.slow),
    ],
)
def test_units_of_the_catalogue(name, found):
    """The limit is beyond what any of them takes on a busy machine: time decides nothing here."""
    design = find_design(name)
    outcome = identified(ModelTarget(design), Interface.of(design), seconds=1800)
    assert outcome.behaviour is not None
    assert design in outcome.matches  # by its parameters: nothing is proved here
    assert outcome.validated >= 10_000
    assert outcome.oracle.batches <= MOST_BATCHES
    assert {n: str(outcome.behaviour[n]) for n in found} == {n: str(x) for n, x in found.items()}
    # what is said of a parameter is true of the unit: its value was not excluded
    for parameter, finding in outcome.findings.items():
        assert Behaviour.of(design, design.k)[parameter] not in finding.excluded


@pytest.mark.slow
def test_an_exact_sum_may_be_one_of_lanes():
    """Sums that lose nothing are alike, and no row tells what a flushed number keeps of its sign: two values fit."""
    design = find_design("xdna1/f32.bf16.bf16")
    outcome = identified(ModelTarget(design), Interface.of(design), seconds=1800)
    assert outcome.fitting == (design,)
    assert outcome.validated >= 10_000
    known = Behaviour.of(design, design.k)
    others = {n: x for n, x in outcome.findings.items() if outcome.behaviour[n] != known[n]}
    assert set(others) <= {"summation", "flushed_sign"}
    assert all(known[n] in x.undecided for n, x in others.items())


@pytest.mark.slow
def test_the_emulated_fp8_of_hopper():
    design = find_design("hopper/mma.m16n8k32.f32.e4m3.e4m3.f32")
    outcome = identified(ModelTarget(design), Interface.of(design))
    assert design in outcome.matches
    found = outcome.behaviour
    assert (found["L"], found["join"], found["fraction_bits"]) == (16, "ieee-once", 25)
    order = found["k_order"].permutation(32)
    assert {k % 4 for k in order[:16]} == {0, 1}


def test_what_cannot_be_told_apart_is_proved():
    design = find_design("turing/mma.m8n8k16.satfinite.s32.s8.u8.s32")
    outcome = identified(ModelTarget(design), Interface.of(design), proofs=True)
    found = {n: (x.unobservable, x.undecided) for n, x in outcome.findings.items()}
    assert outcome.findings["integer_overflow"].status == "determined"
    # one saturation at the end of a step of all products, or in every step of fewer: told apart
    assert not any(undecided for _, undecided in found.values())


def random_design(interface, axes, seed):
    """A design that the catalogue does not have: a known one with some parameters changed at random."""
    rng = random.Random(seed)
    design = find_design(rng.choice([TURING, "volta/f32.f16.f16.f32", "cdna3/v_mfma_f32_32x32x8_f16"]))
    behaviour = Behaviour.of(design).change(L=min(design.step.L, interface.k)).at_length(interface.k)
    for names in rng.sample(
        [("fraction_bits", "alignment"), ("rho",), ("L", "k_order"), ("zero_c",), ("overflow",)], 3
    ):
        behaviour = rng.choice([behaviour, *variants(behaviour, names, axes, interface)])
    return interface.design(behaviour)


def same_on_random_operands(first, second, rows=20_000):
    rng = np.random.default_rng(99)
    for name in ("aligned", "cancelling", "ties", "edges", "subnormal", "uniform-bits"):
        batch = draw(name, first, rows // 6, first.k, rng)
        if not equal_patterns(first.d_format, evaluate_batch(first, batch), evaluate_batch(second, batch)).all():
            return False
    return True


@pytest.mark.slow_values("0")
@pytest.mark.middle
@pytest.mark.parametrize("seed", [0, *(pytest.param(x, marks=pytest.mark.slow) for x in range(1, 10))])
def test_units_inside_the_space_and_outside_the_catalogue(seed):
    interface = Interface.parse("f32.f16.f16.f32", 8)
    axes = default_axes(interface)
    design = random_design(interface, axes, seed)
    outcome = identified(ModelTarget(design), interface)
    assert outcome.behaviour is not None, design.settings
    assert same_on_random_operands(design, outcome.design)


def in_three_groups(design):
    """Products in three groups, each summed and converted by itself, one after the other."""

    def compute(batch):
        d = batch.c
        for part in (slice(0, 3), slice(3, 6), slice(6, 8)):
            a, b = np.zeros_like(batch.a), np.zeros_like(batch.b)
            a[:, part], b[:, part] = batch.a[:, part], batch.b[:, part]
            d = evaluate_batch(design, dataclasses.replace(batch, a=a, b=b, c=d))
        return d

    return compute


def with_low_bits_dropped(design, bits):
    return lambda batch: evaluate_batch(design, batch) & np.uint32(~((1 << bits) - 1) & 0xFFFFFFFF)


def with_rounded_products(design):
    """Products rounded to fp16 before they are added."""

    def compute(batch):
        with np.errstate(over="ignore", invalid="ignore"):
            products = batch.a.view(np.float16) * batch.b.view(np.float16)
        ones = np.full_like(batch.b, 0x3C00)
        return evaluate_batch(design, dataclasses.replace(batch, a=products.view(np.uint16), b=ones))

    return compute


def with_c_twice(design):
    def compute(batch):
        d = evaluate_batch(design, batch).view(np.float32)
        with np.errstate(over="ignore", invalid="ignore"):
            return (d + batch.c.view(np.float32)).view(np.uint32)

    return compute


def with_exchanged_halves(design):
    """Right but for operands whose first product is negative, where c is not added."""

    def compute(batch):
        negative = ((batch.a[:, 0] ^ batch.b[:, 0]) >> 15).astype(bool)
        return evaluate_batch(design, dataclasses.replace(batch, c=np.where(negative, np.uint32(0), batch.c)))

    return compute


@pytest.mark.slow_values("in_three_groups")
@pytest.mark.parametrize(
    "outside",
    [
        pytest.param(in_three_groups, marks=pytest.mark.middle),
        pytest.param(with_exchanged_halves, marks=pytest.mark.slow),
        pytest.param(with_rounded_products, marks=pytest.mark.slow),
        pytest.param(with_c_twice, marks=pytest.mark.slow),
        pytest.param(lambda design: with_low_bits_dropped(design, 5), id="low-bits-dropped", marks=pytest.mark.slow),
    ],
)
def test_units_outside_the_space_are_said_to_be_none(outside):
    interface = Interface.parse("f32.f16.f16.f32", 8)
    compute = outside(find_design(TURING))
    outcome = identified(FunctionUnit(compute), interface)
    assert outcome.behaviour is None
    assert (outcome.matches, outcome.fitting) == ((), ())
    # the evidence against the nearest design is real
    operands, d = outcome.evidence.row(outcome.contradiction)
    assert interface.design(outcome.nearest) is not None
    row = outcome.evidence.batch.select(np.array([outcome.contradiction]))
    assert int(compute(row)[0]) == d
    assert not outcome.evidence.same(interface.design(outcome.nearest), row, np.array([d], np.uint32))[0]
    assert len(operands) == 8


@pytest.mark.slow
def test_a_unit_that_differs_rarely_is_caught_by_the_validation():
    design = find_design(TURING)

    def compute(batch):
        d = evaluate_batch(design, batch)
        rare = (batch.a[:, 0] & 0xFFF) == 0x25A
        return np.where(rare & (d < 0x7F000000), d ^ np.uint32(1), d)

    interface = Interface.of(design)
    outcome = identified(FunctionUnit(compute), interface, axes=few_axes(interface))
    assert outcome.behaviour is None
    assert "validation" in outcome.evidence.kinds


@pytest.mark.slow
def test_a_recording_narrows_the_space_and_says_what_it_leaves_open():
    design = find_design(TURING)
    interface = Interface.of(design)
    batch = draw("normal", design, 500, 8, np.random.default_rng(0))
    evidence = Evidence(interface, batch, evaluate_batch(design, batch), ("recorded",) * 500)
    oracle = Oracle(ModelTarget(design), interface)
    axes = default_axes(interface)
    outcome = Identifier(oracle, axes, solver="bitwuzla", seconds=3, seed=0).identify(evidence)
    assert (oracle.batches, outcome.validated) == (0, 0)
    assert outcome.findings["fraction_bits"].value == 24
    assert set(outcome.findings["overflow"].undecided) | set(outcome.findings["overflow"].unobservable)


@pytest.mark.middle
def test_rows_of_a_recording_match_nothing_that_was_not_validated():
    design = find_design(TURING)
    interface = Interface.of(design)
    batch = draw("normal", design, 5, 8, np.random.default_rng(0))
    evidence = Evidence(interface, batch, evaluate_batch(design, batch), ("recorded",) * 5)
    identifier = Identifier(
        Oracle(ModelTarget(design), interface),
        default_axes(interface),
        solver="bitwuzla",
        seconds=10,
        seed=0,
        proofs=False,
    )
    outcome = identifier.identify(evidence)
    assert outcome.matches == ()
    assert design in outcome.fitting
    # whichever is shown, the value of the unit is not excluded: other parameters make up for it
    for name in ("fraction_bits", "L"):
        finding = outcome.findings[name]
        assert design.settings[name] in (finding.value, *finding.undecided)


@pytest.mark.middle
def test_a_unit_that_contradicts_itself_is_said_to():
    design = find_design(TURING)
    rng = np.random.default_rng(0)

    def compute(batch):
        d = evaluate_batch(design, batch)
        return d ^ rng.integers(0, 2, d.shape, dtype=d.dtype)

    interface = Interface.of(design)
    outcome = identified(FunctionUnit(compute), interface, axes=few_axes(interface))
    assert outcome.matches == ()
    assert "answers the same operands differently" in outcome.oracle.problem


@pytest.mark.slow
def test_rows_of_the_validation_without_an_answer_are_a_problem():
    design = find_design(TURING)

    @dataclasses.dataclass(frozen=True)
    class Dying(FunctionUnit):
        def run(self, rows):
            d, count = self.compute(rows.batch), len(rows.batch)
            answered = np.arange(count) < 2000
            return Ran(d, answered, None if count <= 2000 else "it died")

    outcome = identified(Dying(lambda batch: evaluate_batch(design, batch)), Interface.of(design))
    assert design in outcome.matches
    assert outcome.oracle.problem == "it died"
    assert outcome.oracle.unanswered > 0


@pytest.mark.slow
def test_a_space_away_from_every_known_unit_is_searched(tmp_path):
    path = tmp_path / "space.toml"
    path.write_text("fraction_bits = [10, 11]\n")
    design = find_design(f"{TURING}@fraction_bits=11")
    interface = Interface.of(design)
    identifier = Identifier(
        Oracle(ModelTarget(design), interface),
        read_axes(path, interface),
        solver="bitwuzla",
        seconds=60,
        seed=0,
        proofs=False,
    )
    assert identifier.identify().behaviour["fraction_bits"] == 11
    path.write_text("L = [3]\n")
    axes = read_axes(path, interface)
    with pytest.raises(InputError, match="no valid design"):
        Identifier(Oracle(ModelTarget(design), interface), axes, solver="bitwuzla", seconds=60, seed=0).identify()


def test_the_solver_tells_apart_what_random_rows_do_not():
    design = find_design("ampere/mma.m16n8k8.f32.bf16.bf16.f32")
    interface = Interface.of(design)
    oracle = Oracle(ModelTarget(design), interface)
    identifier = Identifier(oracle, default_axes(interface), solver="bitwuzla", seconds=60, seed=0)
    batch = draw("normal", design, 200, 8, np.random.default_rng(0))
    evidence = Evidence(interface, batch, evaluate_batch(design, batch), ("normal",) * 200)
    # sums of these operands overflow nowhere
    rival = Behaviour.of(design.change(overflow="largest-finite"), 8)
    fit = Fit(evidence, identifier.axes, identifier.until)
    assert fit.score(Behaviour.of(design, 8)) == fit.score(rival)
    assert evidence.fits(rival)
    assert identifier._is_split(fit, rival)
    assert "solver" in evidence.kinds
    assert not evidence.fits(rival)


def test_interfaces_are_spelled_as_instructions_are():
    for name in (TURING, "blackwell/tcgen05.mma.m128n8k64.block16.f32.e2m1.e2m1.ue4m3", "hopper/wgmma.f32.e4m3.e5m2"):
        design = find_design(name)
        interface = Interface.of(design)
        assert Interface.parse(str(interface), design.k) == interface
    assert Interface.parse("f32.f16.f16", 16) == Interface.parse("f32.f16.f16.f32", 16)
    for wrong in ("f32.f16", "f32.f16.f16.f32.f16", "f32.f17.f16.f32", "blockx.f32.e4m3.e4m3.f32.ue8m0", ""):
        with pytest.raises(InputError, match="interface"):
            Interface.parse(wrong, 8)


def test_the_space_is_large_and_can_be_restricted(tmp_path):
    interface = Interface.parse("f32.f16.f16.f32", 16)
    axes = default_axes(interface)
    assert size(axes, Behaviour.of(find_design(TURING))) > 100_000
    assert all(axes.allows("fraction_bits", x) for x in range(1, 100))
    path = tmp_path / "space.toml"
    path.write_text('fraction_bits = [23, 24]\nalignment = ["truncate"]\n')
    restricted = read_axes(path, interface)
    assert (restricted["fraction_bits"], len(restricted["alignment"])) == ((23, 24), 1)
    assert restricted["L"] == axes["L"]
    for text, wrong in (("x = [1]", "unknown parameter"), ("L = 4", "a list"), ("L = [0]", "allowed"), ("=", "TOML")):
        path.write_text(text)
        with pytest.raises(InputError, match=wrong):
            read_axes(path, interface)


@pytest.mark.parametrize("status", Status)
def test_only_what_is_proved_equal_is_taken_for_the_same(monkeypatch, status):
    design = find_design(TURING)
    interface = Interface.of(design)
    identifier = Identifier(
        Oracle(ModelTarget(design), interface), default_axes(interface), solver="bitwuzla", seconds=60, seed=0
    )
    reason = "timeout: made up" if status is Status.UNKNOWN else None
    witness = Operands((0,) * 8, (0,) * 8, 0) if status is Status.REFUTED else None

    def compare(first, second, **_):
        return Comparison(status, 0.0, reason, witness, question=Equivalence(first, second), proof=proof_if(status))

    monkeypatch.setattr(identify, "compare", compare)
    pair = Behaviour.of(design, 8), Behaviour.of(design.change(zero_c="B"), 8)
    assert identifier._relate(pair[0], [pair[1]]) == ([] if witness is None else [witness])
    assert identifier._is_proved_equal(*pair) is (status is Status.PROVED)


def small(validation, told=lambda rows: None):
    """An identification of a unit with two parameters that are not known, and its target."""
    design = find_design("turing/mma.m8n8k16.s32.s8.s8.s32")
    interface = Interface.of(design)
    target = ModelTarget(design)
    asked = []

    def compute(batch):
        asked.append(len(batch))
        told(len(batch))
        return evaluate_batch(target.model, batch)

    unit = FunctionUnit(compute)
    oracle = Oracle(unit, interface)
    identifier = Identifier(
        oracle, default_axes(interface), solver="bitwuzla", seconds=60, seed=0, proofs=False, validation=validation
    )
    return identifier, asked


def test_as_many_rows_are_validated_as_asked_for():
    identifier, asked = small(150_000)
    outcome = identifier.identify()
    assert (outcome.validated, sum(asked)) == (150_000, 150_000 + outcome.oracle.operands)
    # a part at a time, so that memory does not grow with the number
    assert max(asked) <= 150_000 // 8
    assert len(asked) > 8


def test_a_slow_unit_is_validated_on_as_many_rows_as_were_asked_for(monkeypatch):
    monkeypatch.setattr(identify, "SLOW", 0.0)
    identifier, _ = small(1234)
    assert identifier.identify().validated == 1234


@pytest.mark.parametrize(("validation", "late"), [(1_000_000, True), (None, False)])
def test_the_validation_ends_with_the_time_limit(monkeypatch, validation, late):
    """The clock is that of a unit that answers a hundred rows a second, in 60 seconds."""
    seconds = [0.0]

    def told(rows):
        seconds[0] += rows / 100

    clocks = SimpleNamespace(monotonic=lambda: seconds[0], process_time=lambda: seconds[0])
    for module in (identify, evidence_module, limits):
        monkeypatch.setattr(module, "time", clocks)
    identifier, _ = small(validation, told)
    outcome = identifier.identify()
    assert 1000 < outcome.validated < 6000
    assert outcome.late is late
    assert seconds[0] < 61


def test_a_slow_unit_is_validated_on_fewer_rows(monkeypatch):
    monkeypatch.setattr(identify, "SLOW", 0.0)
    identifier, _ = small(None)
    assert identifier.identify().validated == 0


def test_a_behaviour_that_was_wrong_is_not_computed_again(monkeypatch):
    design = find_design(TURING)
    interface = Interface.of(design)
    rows = draw("aligned", design, 50, design.k, np.random.default_rng(1))
    right = Behaviour.of(design)
    wrong = right.change(fraction_bits=12)
    evidence = Evidence(interface, rows, evaluate_batch(design, rows), ("first",) * 50)
    assert (evidence.fits(right), evidence.fits(wrong)) == (True, False)
    more = draw("ties", design, 20, design.k, np.random.default_rng(1))
    evidence.add(more, evaluate_batch(interface.design(wrong), more), "second")
    computed = []
    monkeypatch.setattr(Evidence, "same", lambda self, *x, before=Evidence.same: computed.append(x) or before(self, *x))
    assert not evidence.fits(wrong)
    assert not computed
    # one that was right is, and what is known of a row counts in every other question
    assert not evidence.fits(right)
    assert len(computed) == 1
    assert evidence.agrees(wrong)[50:].all()
    assert not evidence.agrees(right)[50:].all()
    assert len(evidence.agrees(wrong)) == 70
    # another one is held against all rows, those that were added too
    assert not evidence.agrees(right.change(fraction_bits=12, rho="rne-fp32")).all()
    assert len(evidence.agrees(right.change(fraction_bits=13))) == 70


def test_each_stage_is_told() -> None:
    stages: list[str] = []
    identify_target("model:volta/f32.f16.f16.f32", "f32.f16.f16.f32", 4, seconds=20, proofs=False, told=stages.append)
    assert stages[0] == "asking the first operands" and stages[-1] == "reporting what is decided"
    assert any("telling apart" in x for x in stages)
