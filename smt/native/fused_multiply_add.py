"""Chains of IEEE 754 fused multiply-adds, which the CPU computes in one instruction each.

A design that is lowered so is compared with the record of the instruction in the catalogue: the signature, and every
parameter but two. The order of k is followed. The code of NaN is put in the place of every NaN at the end of the chain.
"""

from __future__ import annotations

from typing import Any

from mmaproof.designs.catalogue import load_catalogue
from mmaproof.designs.design import Design
from mmaproof.designs.parameters import complete_settings
from mmaproof.smt.algebra.nodes import Graph, Node, Op, mask
from mmaproof.smt.semantics.datapath import datapath

_INSTRUCTIONS = ("cpu/vfmadd231ps.m1n1k1.f32.f32.f32.f32", "cpu/vfmadd231pd.m1n1k1.f64.f64.f64.f64")
_FOLLOWED = ("k_order", "nan_code")


def is_chain_of_instructions(design: Design) -> bool:
    """Return whether each step of ``design`` is one of this kind of CPU's instructions, up to the code of NaN."""
    if not design.step.is_parametric:
        return False
    if design.d_format.infinity is None or not design.d_format.is_nan(_nan(design)):
        return False
    known = (load_catalogue().designs[name] for name in _INSTRUCTIONS)
    return any(design.signature == x.signature and _compared(design) == _compared(x) for x in known)


def _compared(design: Design) -> dict[str, Any]:
    """Return every parameter that has to be that of the instruction."""
    settings = complete_settings(design.chain, design.step)
    return {name: value for name, value in settings.items() if name not in _FOLLOWED}


def _nan(design: Design) -> int:
    """Return the pattern of a NaN result."""
    pattern: int = complete_settings(design.chain, design.step)["nan_code"].pattern(design.d_format)
    return pattern


def instructions(design: Design, length: int, graph: Graph) -> Node:
    """Return d of a dot product as a chain of fused multiply-adds."""
    bits = design.d_format.bits
    total = graph.input("c", bits, bits)
    for path in datapath(design, length):
        for k in path.ks:
            a, b = (graph.input(f"{x}{k}", bits, bits) if k < length else graph.constant(0, bits) for x in "ab")
            total = graph.node(Op.FUSED_MULTIPLY_ADD, (a, b, total), bits)
    infinity = design.d_format.infinity
    if infinity is None:
        raise TypeError(f"{design.name} is not a chain of fused multiply-adds")
    magnitude = graph.node(Op.AND, (total, graph.constant(mask(bits - 1), bits)), bits)
    is_nan = graph.node(Op.LESS, (graph.constant(infinity, bits), magnitude), 1)
    return graph.node(Op.SELECT, (is_nan, graph.constant(_nan(design), bits), total), bits)
