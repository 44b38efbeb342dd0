"""Which rows a file gets, and which d: that of the source, or else that of the model."""

import pytest

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.errors import InputError
from mmaproof.generators.formats.selection import select
from mmaproof.generators.vectors import Vector, write_vectors
from mmaproof.hardware_replay.recordings import Provenance, write_recording
from mmaproof.smt.trace import evaluate

VOLTA = find_design("volta/f32.f16.f16.f32")
TURING = find_design("turing/f32.f16.f16.f32")
HALF = find_design("turing/f16.f16.f16.f16")


def chosen(source, *designs, k=None, rows=None):
    return select(str(source), designs, k=k, rows=rows, seed=1, version="0")


def drawn(design, rows, k=None, outputs=None):
    """Random vectors of a design with ``outputs`` instead of its own."""
    vectors = chosen("uniform-bits", design, k=k, rows=rows).vectors
    return [Vector(v.operands, v.formats, v.outputs if outputs is None else outputs, tags=("x",)) for v in vectors]


@pytest.fixture
def mixed(tmp_path):
    """Two vectors with a forged d of Volta, one with another simulator's only, one of another length, one of fp16."""
    path = tmp_path / "v.jsonl"
    vectors = drawn(VOLTA, 2, k=8, outputs={VOLTA.name: 0x12345678, "simulator": 1})
    vectors += drawn(VOLTA, 1, k=8, outputs={"simulator": 2}) + drawn(TURING, 1, k=16) + drawn(HALF, 1, k=16)
    write_vectors(path, vectors)
    return path


def test_random_operands_have_the_d_of_the_model():
    found = chosen("edges", VOLTA, TURING, k=8, rows=20)
    assert found.computed == {VOLTA.name: 20, TURING.name: 20}
    for v in found.vectors:
        assert v.outputs == {x.name: evaluate(x, v.operands) for x in (VOLTA, TURING)}
        assert (v.seed, v.version) == (1, "0")


def test_what_the_source_holds_is_not_computed(mixed):
    found = chosen(mixed, VOLTA, k=8)
    third = evaluate(VOLTA, found.vectors[2].operands)
    assert [v.outputs for v in found.vectors] == [{VOLTA.name: d} for d in (0x12345678, 0x12345678, third)]
    assert (found.computed, found.left_out) == ({VOLTA.name: 1}, 2)
    assert [v.origin for v in found.vectors] == ["", "", f"d of {VOLTA.name} by the model"]
    assert {v.tags for v in found.vectors} == {("x",)}
    assert found.about()[-1] == f"expected d of {VOLTA.name}: 1 computed by the model, 2 from {mixed}"


def test_without_a_design_every_vector_keeps_what_it_has(mixed):
    found = chosen(mixed)
    assert (len(found.vectors), found.computed, found.left_out) == (5, {}, 0)
    assert found.vectors[0].outputs == {VOLTA.name: 0x12345678, "simulator": 1}


def test_a_recording_holds_the_d_of_its_design(tmp_path):
    answers = chosen("normal", VOLTA, rows=3).answers()
    answers.d[:] = 7
    path = tmp_path / "r.npz"
    write_recording(path, answers, Provenance.of(answers, target="", device="a GPU", instruction="", operands={}))
    assert [v.outputs for v in chosen(path).vectors] == [{VOLTA.name: 7}] * 3
    found = chosen(path, VOLTA, TURING)
    assert found.computed == {VOLTA.name: 0, TURING.name: 3}
    assert found.whence == "r.npz (a GPU)"


def test_a_file_of_one_kind_needs_one_length_and_one_design(mixed):
    with pytest.raises(InputError, match=r"3 combinations of formats and length \(k = 8, 16\): .* --design and --k"):
        chosen(mixed).answers()
    with pytest.raises(InputError, match=f"there are {VOLTA.name}, simulator: choose one with --design"):
        chosen(mixed, k=8).answers()


def test_what_leaves_nothing_is_refused(mixed):
    for settings, message in [
        ({"k": 4}, "operands of k = 8, and --k is 4"),
        ({"rows": 5}, "--rows is of random operands"),
    ]:
        with pytest.raises(InputError, match=message):
            chosen(mixed, VOLTA, **settings)
    with pytest.raises(InputError, match="format mismatch: a is fp16"):
        chosen(mixed, find_design("hopper/wgmma.f32.e4m3.e4m3"))
    with pytest.raises(InputError, match="choose one instruction with --design"):
        chosen("normal")
    mixed.write_text("{}\n")
    with pytest.raises(InputError, match="v.jsonl:1: "):
        chosen(mixed, VOLTA)
