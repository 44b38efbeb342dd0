"""Tiles configured to a K below the instruction's: nothing is multiplied beyond the elements that are given."""

import json
from dataclasses import replace

import numpy as np
import pytest
from reference.designs import reference_result

from mmaproof.designs.arithmetic import same_chain
from mmaproof.designs.catalogue import find_design, load_catalogue
from mmaproof.designs.disclosure import disclose, read_disclosure
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import DesignError
from mmaproof.designs.operands import OperandBatch, array_of
from mmaproof.gemm.programs import read_plan
from mmaproof.gemm.programs.normal_form import same_computation
from mmaproof.gemm.tolerances.tolerance import tolerance
from mmaproof.generators.models.model import make_model
from mmaproof.hardware_replay.cpu import tile_source
from mmaproof.hardware_replay.emulation import dot, matmul
from mmaproof.properties.library import find_property
from mmaproof.properties.question import Scope
from mmaproof.smt.algebra.integers import IntegerAlgebra
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.backends import Backend
from mmaproof.smt.evaluate import evaluate_batch
from mmaproof.smt.semantics import OperandWords, dot_product_accumulate
from mmaproof.smt.semantics.datapath import datapath
from mmaproof.smt.trace import evaluate
from mmaproof.verification.compare import compare
from mmaproof.verification.distributions import DISTRIBUTIONS, draw

TILES = [
    "cpu/tdpbf16ps",
    "cpu/tdpfp16ps",
    "cpu/tmmultf32ps",
    "cpu/tcmmrlfp16ps",
    "cpu/tcmmimfp16ps",
    "cpu/tdpbf8ps",
    "cpu/tdphf8ps",
]
SHORT = Operands((0x094A, 0x16C5), (0x98E2, 0x905F), 0x806F89D4)
"""What an Intel Xeon (Granite Rapids) returns -0 for where tiles have two elements of k, and +0 where they have 32."""


def test_signs_of_zeros_show_that_nothing_is_filled_up():
    design = find_design("cpu/tdpbf16ps")
    batch = OperandBatch.of_rows(design.formats, [SHORT])
    assert evaluate(design, SHORT) == 0x80000000
    assert [evaluate_batch(design, batch, backend=x)[0] for x in Backend] == [0x80000000] * len(Backend)
    assert reference_result(design, SHORT) == 0x80000000
    filled = Operands((*SHORT.a, *[0] * 30), (*SHORT.b, *[0] * 30), SHORT.c)
    assert evaluate(design, filled) == 0


def test_as_a_formula_and_as_matrices_and_plans():
    design, algebra = find_design("cpu/tdpbf16ps"), TermAlgebra()
    a, b = ([algebra.unsigned(x, 16) for x in column] for column in (SHORT.a, SHORT.b))
    words = OperandWords(a, b, algebra.unsigned(SHORT.c, 32))
    assert dot_product_accumulate(design, algebra, words).d.data.simplify().constant_value() == 0x80000000
    x, y, c = (
        array_of(np.array(p, dtype=np.uint64), f)
        for p, f in zip(([SHORT.a], [[v] for v in SHORT.b], [[SHORT.c]]), design.formats[:3], strict=True)
    )
    for of in (design, read_plan("cpu/tdpbf16ps")):
        for backend in (Backend.INTEGERS, Backend.ARRAYS, Backend.NATIVE):
            d = matmul(of, x, y, c, backend=backend)
            assert d.view(np.uint32).tolist() == [[0x80000000]], (of, backend)
    assert dot(design, x[0], y[:, 0], c[0, 0]).view(np.uint32) == 0x80000000


@pytest.mark.few(1)
@pytest.mark.parametrize("name", TILES)
@pytest.mark.parametrize("k", [1, 2, 3, 6, 15])
def test_every_interpretation_agrees_with_the_reference_at_a_short_k(name, k):
    design, rng = find_design(name), np.random.default_rng(k)
    for distribution in DISTRIBUTIONS:
        batch = draw(distribution, design, 12, k, rng)
        expected = [reference_result(design, batch.row(i)) for i in range(len(batch))]
        for backend in Backend:
            assert evaluate_batch(design, batch, backend=backend).tolist() == expected, (distribution, backend)


def test_a_tile_has_whole_words():
    design = find_design("cpu/tdpbf16ps")
    assert [design.padded_length(k) for k in (1, 2, 3, 30, 31, 32, 64)] == [2, 2, 4, 30, 32, 32, 64]
    short = design.configured(3)
    assert (short.k, short.step.L, short.k_multiple, short.name) == (4, 4, None, design.name)
    assert design.configured(31) == design.configured(32) == design == design.configured(64)
    assert find_design("cpu/tmmultf32ps").padded_length(5) == 5
    (path,) = datapath(design, 3)
    assert path.ks == (0, 1, 2, 3)
    (path,) = datapath(replace(design, k_multiple=None), 3)
    assert len(path.ks) == 32


def test_units_of_one_k_are_filled_up_as_before():
    assert {d.instruction.partition(".")[0] for d in load_catalogue().designs.values() if d.k_multiple} == {
        *(
            "tdpbf16ps",
            "tdpfp16ps",
            "tcmmrlfp16ps",
            "tcmmimfp16ps",
            "tmmultf32ps",
            "tdpbf8ps",
            "tdpbhf8ps",
            "tdphbf8ps",
            "tdphf8ps",
            "tdpbssd",
            "tdpbsud",
            "tdpbusd",
            "tdpbuud",
        )
    }
    assert find_design("arm/bfmmla").configured(1).k == 4


def test_parameters_that_do_not_allow_a_short_k():
    design = find_design("cpu/tdpbf16ps@summation=pairwise")
    assert design.padded_length(4) == 4
    with pytest.raises(DesignError, match="power of two"):
        design.padded_length(6)
    with pytest.raises(DesignError, match="choose that k"):
        find_design("cpu/tmmultf32ps@k_order=reversed").padded_length(6)
    with pytest.raises(DesignError, match="k_multiple = 3 does not divide"):
        replace(design, k_multiple=3)


def test_a_disclosure_states_it(tmp_path):
    stated = disclose(find_design("cpu/tdpbf16ps"))
    assert stated["k_multiple"] == 2
    assert "k_multiple" not in disclose(find_design("cpu/vdpbf16ps"))
    for held, k in ((stated, 2), (stated | {"k_multiple": 4}, 4), (stated | {"name": "x"}, 2)):
        (tmp_path / "x.json").write_text(json.dumps(held))
        assert read_disclosure(tmp_path / "x.json").k_multiple == k
    del stated["k_multiple"]
    (tmp_path / "x.json").write_text(json.dumps(stated))
    assert read_disclosure(tmp_path / "x.json").k_multiple is None


@pytest.mark.middle
def test_a_comparison_below_k_is_of_what_is_there():
    design = find_design("cpu/tdpbf16ps")
    padded = replace(design, k_multiple=None, architecture="padded")
    assert same_chain(design, padded, 32)
    assert not same_chain(design, padded, 2)
    found = compare(design, padded, k=2, limits=60)
    assert found.verdict == "different"
    assert evaluate(design, found.witness) != evaluate(padded, found.witness)
    assert compare(design, replace(design, architecture="other"), k=2, limits=60).verdict == "equivalent"


def test_a_property_below_k_is_of_what_is_there():
    design = find_design("cpu/tdpbf16ps")
    question = find_property("padded-k").question(design, Scope(k=2))
    (run, _), (further, words) = question.runs(IntegerAlgebra(), question.integer_words(SHORT))
    assert (run.k, further.k, len(words.a)) == (2, 2, 4)
    assert [x.d for x in question.witness_runs(SHORT)] == [0x80000000, 0]


def test_a_printed_model_says_so():
    design = find_design("cpu/tdpbf16ps")
    assert any("configured to K = 2" in x for x in make_model(design, 2, "1").about())
    assert any("missing are +0" in x for x in make_model(design, 3, "1").about())
    assert any("missing are +0" in x for x in make_model(replace(design, k_multiple=None), 2, "1").about())


@pytest.mark.middle
def test_a_tolerance_below_k_counts_the_products_that_are_there():
    rng = np.random.default_rng(0)
    design = find_design("cpu/tdpbf16ps")
    for k in (2, 5):
        batch = draw("normal", design, 1, k, rng)
        a, b = (array_of(x, f) for x, f in zip((batch.a, batch.b.T), design.formats, strict=False))
        short, long = (tolerance(x, k).bound(a, b) for x in (design, replace(design, k_multiple=None)))
        assert 0 < short < long


def test_the_code_for_tiles_configures_them():
    assert tile_source("tdpbf16ps", words=1) != tile_source("tdpbf16ps")
    assert "[4 x i8], ptr %a" in tile_source("tdpbf16ps", words=1)
    assert "[64 x i8], ptr %a" in tile_source("tdpbf16ps")


def test_plans_on_tiles_and_on_a_unit_that_fills_up_are_not_the_same():
    tiles = read_plan("cpu/tdpbf16ps")
    filled = replace(tiles, unit=replace(tiles.unit, k_multiple=None))
    assert same_computation(tiles.schedule(32), filled.schedule(32))
    assert not same_computation(tiles.schedule(2), filled.schedule(2))
