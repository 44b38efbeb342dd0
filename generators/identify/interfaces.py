"""Other formats for the same patterns: what a unit may be whose interface was given wrong."""

from __future__ import annotations

from collections.abc import Iterator

from mmaproof.designs.catalogue import load_catalogue
from mmaproof.designs.design import Design
from mmaproof.designs.signature import Signature
from mmaproof.generators.identify.behaviour import Behaviour
from mmaproof.generators.identify.evidence import Evidence
from mmaproof.generators.identify.space import Interface


def fitting_interfaces(evidence: Evidence) -> dict[str, tuple[Design, ...]]:
    """Return other interfaces, as text, under which designs of the catalogue return what the unit did in every row.

    Their formats have as many bits as those of the evidence, so that a unit that is told no formats takes the same
    operands.
    """
    found = {}
    for interface in _others(evidence.interface):
        rows = Evidence(interface, evidence.batch, evidence.d, evidence.kinds)
        designs = [x for x in load_catalogue().designs.values() if interface.takes(x)]
        fitting = tuple(x for x in designs if rows.fits(Behaviour.of(x, interface.k)))
        if fitting:
            found[str(interface)] = fitting
    return found


def _others(interface: Interface) -> Iterator[Interface]:
    ours = interface.signature
    for signature in dict.fromkeys(x.signature for x in load_catalogue().designs.values()):
        if signature != ours and _widths(signature) == _widths(ours):
            yield Interface(signature, interface.k)


def _widths(signature: Signature) -> tuple[int | None, ...]:
    """Return the bits of each format, and the size of blocks."""
    scale = None if signature.scale is None else signature.scale.bits
    return (*(f.bits for f in signature.formats), scale, signature.block)
