"""The vectors that decide what no recording does: they separate what they say, and a recording of them decides it."""

from dataclasses import replace

import numpy as np
import pytest

from mmaproof.designs.arithmetic import differing_parameters
from mmaproof.designs.catalogue import find_design, load_catalogue
from mmaproof.designs.design import Level
from mmaproof.designs.open_points import RecordedRow, load_recorded
from mmaproof.designs.operands import OperandBatch
from mmaproof.generators import open_values
from mmaproof.generators.open_values import open_row, tasks
from mmaproof.generators.vectors import answers_of, read_vectors, write_vectors
from mmaproof.hardware_replay.decided import decide
from mmaproof.hardware_replay.recordings import Provenance, write_recording
from mmaproof.hardware_replay.targets import find_target
from mmaproof.properties.equivalence import Equivalence
from mmaproof.properties.property import Joined
from mmaproof.smt.evaluate import equal_patterns, evaluate_batch
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving
from mmaproof.smt.solving.verdict import Status
from mmaproof.smt.trace import evaluate
from mmaproof.verification.compare import Comparison

ROW = "volta/mma.m8n8k4.f16.f16.f16.f16"
MEANS = {"solving": Solving(), "limits": Limits(20, 4 << 30), "version": "test"}


def task_of(row, recorded=None, **options):
    (found,) = [x for x in tasks(row.partition("/")[0], recorded or {}, **MEANS, **options) if x.names[0] == row]
    return found


@pytest.fixture
def no_questions(monkeypatch):
    """Values that no random operands separate stay unknown."""

    def compare(first, second, **_):
        return Comparison(Status.UNKNOWN, 0.0, "not asked", question=Equivalence(first, second))

    monkeypatch.setattr(open_values, "compare", compare)


@pytest.fixture
def proved(monkeypatch):
    """Return the pairs of designs that are asked about. All are proved equal."""
    asked = []

    def compare(first, second, **_):
        asked.append((first, second))
        return Comparison(Status.PROVED, 0.0, question=Equivalence(first, second), proof=Joined())

    monkeypatch.setattr(open_values, "compare", compare)
    return asked


@pytest.fixture
def volta(no_questions):
    return open_row(task_of(ROW))


def test_each_row_of_the_catalogue_has_one_task():
    found = tasks(None, {}, **MEANS)
    assert {x.design.evidence.row for x in found} == {d.evidence.row for d in load_catalogue().designs.values()}
    assert [n for x in found for n in x.names] == list(dict.fromkeys(n for x in found for n in x.names))
    assert sum(len(x.names) for x in found) == len(load_catalogue().designs)


def separated(row):
    """Yield what a row's vectors are said to separate: names, the designs by name, and the numbers of the vectors."""
    name = row.task.design.name
    for parameter in row.parameters:
        for value in parameter.values:
            under = value.under.replace(" ", "")
            first, other = (",".join(x for x in (under, y) if x) for y in ("", f"{parameter.name}={value.text}"))
            yield {parameter.name}, f"{name}@{first}" if first else name, f"{name}@{other}", value.vectors
    for reading, value in row.readings:
        settings = ",".join(f"{n}={x}" for n, x in reading.texts.items())
        yield set(reading.texts), name, f"{name}@{settings}", value.vectors


def hold_to_what_they_say(row, most=None):
    """Run the vectors of a row on integers, of each thing that is to be separated at most N."""
    held = 0
    for names, first, other, numbers in separated(row):
        for number in numbers[:most]:
            vector, designs = row.vectors[number], [find_design(x) for x in (first, other)]
            d = [evaluate(x, vector.operands) for x in designs]
            assert [vector.outputs[x.name] for x in designs] == d
            codes = names == {"nan_code"}
            assert not equal_patterns(vector.formats[3], *(np.array([x]) for x in d), nan_codes=codes).any(), vector.why
            assert vector.outputs[row.task.design.name] == evaluate(row.task.design, vector.operands)
            assert names <= set(vector.tags)
            held += 1
    return held


@pytest.mark.middle
def test_a_vector_separates_what_it_says(volta):
    assert hold_to_what_they_say(volta) > 100


@pytest.mark.few(2)
@pytest.mark.parametrize("architecture", sorted({x.architecture for x in load_catalogue().designs.values()}))
def test_a_vector_of_each_architecture_separates_what_it_says(no_questions, architecture):
    """The row whose instruction has the fewest products."""
    rows = (x for x in tasks(architecture, {}, **MEANS) if not x.design.d_format.is_integer)
    task = min(rows, key=lambda x: x.design.k)
    assert hold_to_what_they_say(open_row(task), most=1)


@pytest.mark.slow
@pytest.mark.parametrize("architecture", sorted({x.architecture for x in load_catalogue().designs.values()}))
def test_a_vector_of_each_row_separates_what_it_says(no_questions, architecture):
    # of some integer units nothing is open that random operands show
    assert sum(hold_to_what_they_say(open_row(task), most=1) for task in tasks(architecture, {}, **MEANS))


def test_a_parameter_without_a_vector_says_why(volta):
    unknown = [v for p in volta.parameters for v in p.values if not v.vectors]
    unknown += [v for _, v in volta.readings if not v.vectors]
    assert unknown
    assert all(not v.same and v.reason == "not asked" for v in unknown)


def test_what_recordings_decide_is_not_asked(no_questions):
    recorded = RecordedRow(ROW, ("one",), 10, {"fraction_bits": 3}, {"rho": ("rna-fp16",)})
    found = open_row(task_of(ROW, {ROW: recorded}))
    assert set(found.recorded) == {"fraction_bits"}
    (rho,) = [p for p in found.parameters if p.name == "rho"]
    assert [v.text for v in rho.values] == ["rna-fp16"]
    assert "fraction_bits" not in {p.name for p in found.parameters}
    assert all(p.evidence.level is not Level.RECORDED for p in found.parameters)


@pytest.mark.few(1)
@pytest.mark.parametrize("returned_by", [ROW, f"{ROW}@fraction_bits=24"])
def test_a_recording_of_the_vectors_decides_them(volta, tmp_path, returned_by):
    """Run on a unit that is the row every separated value is excluded; on another unit the row itself is."""
    write_vectors(tmp_path / "vectors.jsonl", list(volta.vectors))
    (answers,) = answers_of(read_vectors(tmp_path / "vectors.jsonl"), [ROW]).answers
    ran = find_target(f"model:{returned_by}", 30.0).run(answers)
    about = Provenance.of(answers, target="", device="", instruction="", operands={"source": "test"})
    write_recording(tmp_path / "recorded.npz", replace(answers, d=ran.d), about)
    (decision,) = decide([tmp_path / "recorded.npz"]).values()
    if returned_by != ROW:
        assert decision.wrong
        return
    assert decision.wrong == 0
    for parameter in volta.parameters:
        for value in parameter.values:
            if value.vectors and not value.under:
                assert decision.refuting[parameter.name][value.text], (parameter.name, value.text)
    assert {"fraction_bits", "alignment", "nan_code"} <= set(decision.decided)


@pytest.mark.slow
def test_an_assumed_row_has_the_vectors_of_the_row_that_it_is_like(no_questions):
    rows = ["blackwell/mma.m16n8k8.f32.bf16.bf16.f32", "rubin/mma.m16n8k8.f32.bf16.bf16.f32"]
    first, second = (open_row(task_of(row)) for row in rows)
    assert [x.operands for x in first.vectors] == [x.operands for x in second.vectors]
    assert {p.evidence.level for p in second.parameters} == {Level.ASSUMED}
    assert not load_recorded().get(rows[1])


def test_without_vectors_nothing_is_computed(monkeypatch):
    monkeypatch.setattr(open_values, "evaluate_on_arrays", None)
    monkeypatch.setattr(open_values, "compare", None)
    found = open_row(task_of(ROW, vectors=False))
    assert found.vectors == ()
    assert all(not (v.vectors or v.same) for p in found.parameters for v in p.values)


def test_a_reading_of_two_points_is_asked_about_one_at_a_time(proved):
    """What is proved equal to the row takes its place, so that every question is about one parameter more."""
    found = open_row(task_of("volta/mma.m8n8k4.f32.f16.f16.f16"))
    joint = {reading.design for reading, value in found.readings if len(reading.points) == 2 and value.same}
    # a design has e_zero as long as a zero reads it
    changes = [len(differing_parameters(x, y) - {"e_zero"}) for x, y in proved if y in joint]
    assert len(changes) > 10
    assert max(changes) == 1


@pytest.mark.middle
def test_a_reading_of_four_points_is_asked_about_one_at_a_time(proved):
    """No reading of three of them is listed, so the designs between are nobody's reading."""
    found = open_row(task_of("hopper/wgmma.m64n8k32.f16.e4m3.e4m3"))
    joint = {reading.design for reading, value in found.readings if len(reading.points) == 4 and value.same}
    changes = [differing_parameters(x, y) - {"e_zero"} for x, y in proved if y in joint]
    assert changes
    assert all(len(x) == 1 for x in changes)


@pytest.mark.middle
def test_what_is_not_proved_equal_takes_no_place(monkeypatch):
    """A reading whose first half separates is asked as a whole."""
    asked = []

    def compare(first, second, **_):
        asked.append((first, second))
        return Comparison(Status.UNKNOWN, 0.0, "not decided", question=Equivalence(first, second))

    monkeypatch.setattr(open_values, "compare", compare)
    task = task_of("hopper/wgmma.m64n8k32.f16.e4m3.e4m3")
    found = open_row(task)
    joint = {reading.design for reading, _ in found.readings if len(reading.points) == 4}
    assert joint
    assert all((task.design, x) in asked for x in joint)
    assert not any(value.same for _, value in found.readings)


@pytest.mark.slow
def test_what_random_operands_do_not_show_is_asked():
    """A register that is one bit short, and an order that no step of the instruction can show."""
    found = open_row(task_of(ROW))
    values = {(p.name, v.text): v for p in found.parameters for v in p.values}
    assert values["carry_bits", "2"].vectors
    assert values["k_order", "reversed"].same
    narrow = find_design(f"{ROW}@carry_bits=2")
    wrapping = found.vectors[values["carry_bits", "2"].vectors[0]].operands
    assert evaluate(narrow, wrapping) != evaluate(find_design(ROW), wrapping)


@pytest.mark.middle
def test_a_witness_for_one_step_is_filled_up_to_the_chain(monkeypatch):
    """Ampere's m16n8k16 is two steps of m16n8k8: its questions are about one, and its vectors have its length."""
    row = "ampere/mma.m16n8k8.f32.bf16.bf16.f32"
    short, asked = find_design(row), []

    def none(task, pairs):
        return [], list(range(len(pairs)))

    def compare(first, second, **_):
        asked.append((first.k, second.k))
        question = Equivalence(first, second)
        rng = np.random.default_rng(0)
        batch = open_values.draw("normal", short, 64, first.k, rng)
        apart = np.flatnonzero(evaluate_batch(first, batch) != evaluate_batch(second, batch))
        if not len(apart):
            return Comparison(Status.UNKNOWN, 0.0, "no row of a few", question=question)
        return Comparison(Status.REFUTED, 0.0, None, batch.row(apart[0]), question=question)

    monkeypatch.setattr(open_values, "_among_random_operands", none)
    monkeypatch.setattr(open_values, "compare", compare)
    found = open_row(task_of(row))
    assert {len(x.operands) for x in found.vectors} == {16}
    assert (8, 8) in asked
    filled = OperandBatch.of_rows(short.formats, [x.operands for x in found.vectors])
    assert (filled.a[:, 8:] == 0).all(axis=1).any()
