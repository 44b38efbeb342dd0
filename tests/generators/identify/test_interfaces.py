"""A wrong interface: the formats of the same widths under which a design of the catalogue agrees are named."""

import dataclasses

import numpy as np
import pytest

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.conversions import RHO, conversions_to
from mmaproof.designs.errors import InputError
from mmaproof.designs.formats import FORMATS
from mmaproof.designs.signature import Signature
from mmaproof.generators.identify.evidence import Evidence, Oracle
from mmaproof.generators.identify.fit import known_behaviours
from mmaproof.generators.identify.identify import Identifier, fitting_interfaces
from mmaproof.generators.identify.probes import first_probes
from mmaproof.generators.identify.space import Interface, default_axes
from mmaproof.hardware_replay.target import Ran
from mmaproof.hardware_replay.targets import ModelTarget
from mmaproof.smt.evaluate import evaluate_batch


@pytest.mark.middle
@pytest.mark.parametrize(
    ("unit", "given"),
    [
        ("ampere/mma.m16n8k8.f32.bf16.bf16.f32", "turing/mma.m16n8k8.f32.f16.f16.f32"),
        ("ada/mma.m16n8k16.f32.e4m3.e5m2.f32", "ada/mma.m16n8k16.f32.e5m2.e4m3.f32"),
    ],
)
def test_other_formats_of_the_same_widths_are_tried(unit, given):
    unit, given = find_design(unit), find_design(given)
    probes = first_probes(given, 0)
    some = slice(None, None, 3)
    batch, kinds = probes.batch.select(some), probes.kinds[some]
    found = fitting_interfaces(Evidence(Interface.of(given), batch, evaluate_batch(unit, batch), kinds))
    assert unit in found.pop(str(Interface.of(unit)))
    assert not found
    nothing = np.zeros(len(batch), dtype=np.uint32)
    assert fitting_interfaces(Evidence(Interface.of(given), batch, nothing, kinds)) == {}


@pytest.mark.middle
def test_an_identification_with_a_wrong_interface_says_what_fits():
    unit = find_design("ampere/mma.m16n8k8.f32.bf16.bf16.f32")
    interface = Interface.parse("f32.f16.f16.f32", 8)

    class AnyFormats(ModelTarget):
        def design_of(self, rows):
            return None

        def run(self, rows):
            return Ran.all(evaluate_batch(unit, rows.batch))

    oracle, axes = Oracle(AnyFormats(unit), interface), default_axes(interface)
    axes = dataclasses.replace(axes, values_of={n: x[:2] for n, x in axes.items()})
    outcome = Identifier(oracle, axes, solver="bitwuzla", seconds=60, seed=0, proofs=False).identify()
    assert outcome.behaviour is None
    assert not outcome.late
    assert unit in outcome.other_interfaces["f32.bf16.bf16.f32"]


@pytest.mark.parametrize("d", FORMATS)
def test_every_result_is_searched_or_refused_with_what_is_possible(d):
    fmt = FORMATS[d]
    other = FORMATS["uint8" if not fmt.signed else "int8"] if fmt.is_integer else fmt
    interface = Interface(Signature(other, other, fmt, fmt), 4)
    if conversions_to(fmt):
        found = next(known_behaviours(interface))
        assert interface.design(found).d_format is fmt
        assert all(RHO[x].target is fmt for x in default_axes(interface)["rho"])
    else:
        with pytest.raises(InputError, match=f"d is {d}, to which no design rounds"):
            next(known_behaviours(interface))
