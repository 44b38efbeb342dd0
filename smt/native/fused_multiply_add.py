"""Chains of IEEE 754 fused multiply-adds, which the CPU computes in one instruction each.

A step that is lowered so is compared with the record below, all of it. What the record says is what IEEE 754 requires
of binary32 and binary64, and the instructions of x86-64 are recorded as designs of the catalogue with the same record.
NaN alone may have another code: it is put in the place of every NaN at the end of the chain.
"""

from __future__ import annotations

from dataclasses import replace

from mmaproof.designs.catalogue import load_catalogue
from mmaproof.designs.design import Design
from mmaproof.designs.readings import NanCode
from mmaproof.designs.steps import RoundedStep
from mmaproof.smt.algebra.nodes import Graph, Node, Op, mask
from mmaproof.smt.semantics.datapath import datapath

_INSTRUCTIONS = ("cpu/vfmadd231ps.m1n1k1.f32.f32.f32.f32", "cpu/vfmadd231pd.m1n1k1.f64.f64.f64.f64")


def is_chain_of_instructions(design: Design) -> bool:
    """Return whether each step of ``design`` is one of this kind of CPU's instructions, up to the code of NaN."""
    step, chain = design.step, design.chain
    if not isinstance(step, RoundedStep) or step.nan_code not in (NanCode.QUIET, NanCode.ALL_ONES):
        return False
    for known in (load_catalogue().designs[name] for name in _INSTRUCTIONS):
        wanted = known.step
        if (
            isinstance(wanted, RoundedStep)
            and replace(step, nan_code=wanted.nan_code) == wanted
            and replace(chain, k_order=known.chain.k_order) == known.chain
            and design.signature == known.signature
        ):
            return True
    return False


def instructions(design: Design, length: int, graph: Graph) -> Node:
    """Return d of a dot product as a chain of fused multiply-adds."""
    fmt = design.d_format
    bits = fmt.bits
    total = graph.input("c", bits, bits)
    for path in datapath(design, length):
        for k in path.ks:
            a, b = (graph.input(f"{x}{k}", bits, bits) if k < length else graph.constant(0, bits) for x in "ab")
            total = graph.node(Op.FUSED_MULTIPLY_ADD, (a, b, total), bits)
    return _with_nan_code(design, graph, total)


def _with_nan_code(design: Design, graph: Graph, d: Node) -> Node:
    fmt, step = design.d_format, design.step
    if not isinstance(step, RoundedStep) or fmt.infinity is None:
        raise TypeError(f"{design.name} is no chain of fused multiply-adds")
    magnitude = graph.node(Op.AND, (d, graph.constant(mask(fmt.bits - 1), fmt.bits)), fmt.bits)
    is_nan = graph.node(Op.LESS, (graph.constant(fmt.infinity, fmt.bits), magnitude), 1)
    code = graph.constant(step.nan_code.pattern(fmt), fmt.bits)
    return graph.node(Op.SELECT, (is_nan, code, d), fmt.bits)
