"""The picture of one or two designs on operands: steps as blocks, with corresponding steps of two designs in pairs."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.steps import FusedStep, IntegerStep, InterleavedStep, LanesStep, PairwiseStep, SequentialStep
from mmaproof.explain.blocks import Block, Picture
from mmaproof.explain.differences import first_difference, paired
from mmaproof.explain.fused_blocks import fused_parts, late_block
from mmaproof.explain.list_blocks import integer_block, interleaved_block, plain_block, sequential_block, tree_block
from mmaproof.explain.steps import Step
from mmaproof.smt.trace import trace


def picture(designs: Design | str | Sequence[Design | str], operands: Operands) -> Picture:
    """Return the picture of what a design, or each of several, does with the bits of ``operands``.

    Designs may be given by name. Of two designs the picture says where they first differ. A notebook draws it. Raises
    DesignError for an unknown name, and OperandError where the operands do not fit a design.

    >>> import mmaproof
    >>> ones = mmaproof.Operands(a=(0x3C00,) * 4, b=(0x3C00,) * 4, c=0)
    >>> type(mmaproof.picture("volta/f32.f16.f16.f32", ones)).__name__
    'Picture'
    """
    given = [designs] if isinstance(designs, Design | str) else designs
    return explain([find_design(x) for x in given], operands)


def explain(designs: Sequence[Design], operands: Operands) -> Picture:
    """Return the picture of what each design does with the operands, and of two designs where they first differ.

    Neighbouring steps that return their c unchanged make one block. Steps of two designs that add the same
    products share a section. Raises OperandError where the operands do not fit a design.
    """
    walks: list[list[Step]] = []
    for number, design in enumerate(designs):
        steps = trace(design, operands).steps
        title = f"{chr(ord('A') + number)}  {design.name}" if len(designs) > 1 else design.name
        walks.append([Step(title, design, operands, steps, i) for i in range(len(steps))])
    pairs = paired(*walks) if len(walks) == 2 else None
    groups = [(step,) for walk in walks for step in walk] if pairs is None else pairs
    sections: list[tuple[Block, ...]] = []
    for (_, idle), run in itertools.groupby(groups, key=_kind):
        found = list(run)
        if idle:
            sections.append(tuple(idle_block(x, y) for x, y in zip(found[0], found[-1], strict=True)))
        else:
            sections += [tuple(step_block(step) for step in group) for group in found]
    if len(walks) == 1:
        sections[1:] = [(replace(block, title=""),) for (block,) in sections[1:]]
    closing: tuple[str, ...] = ()
    if len(walks) == 2:
        results = (f"{letter}: d = {walk[-1].result}" for letter, walk in zip("AB", walks, strict=True))
        closing = (*results, first_difference(*walks))
    return Picture(tuple(sections), closing)


def _kind(group: tuple[Step, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the designs of a section, and why all its steps return their c; empty unless all do."""
    reasons = tuple(step.idle() for step in group)
    return tuple(step.title for step in group), reasons if all(reasons) else ()


def idle_block(first: Step, last: Step) -> Block:
    """Return the block of neighbouring steps that return their c."""
    steps = f"steps {first.index + 1}..{last.index + 1}" if last is not first else f"step {first.index + 1}"
    number = f"{steps} of {first.count}: " if first.count > 1 else ""
    unchanged = "acc unchanged" if last.result_name == "acc" else "d = c unchanged"
    return Block(first.title, f"{number}{first.idle()}, {unchanged}", after=(f"{last.result_name} = {last.result}",))


def step_block(step: Step) -> Block:
    """Return the block of one step, with the blocks of its later sums below."""
    first, *below = _parts(step)
    number = f"step {step.index + 1} of {step.count}: " if step.count > 1 else ""
    return replace(first, title=step.title, heading=number + first.heading, below=tuple(below))


def _parts(step: Step) -> list[Block]:
    parts = _parts_of_sum(step)
    return [*(replace(part, inner=True) for part in parts), late_block(step)] if step.late else parts


def _parts_of_sum(step: Step) -> list[Block]:
    """Return the blocks of a step but for a c that is added late; a kind of step is drawn where it is known here."""
    match step.design.step:
        case LanesStep():
            return fused_parts(step)
        case FusedStep() if all(s.is_cut_in_one_way for s in step.sums):
            return fused_parts(step)
        case PairwiseStep() as tree:
            block = tree_block(step, tree)
        case SequentialStep() as sequential:
            block = sequential_block(step, sequential)
        case InterleavedStep(chain_terms=1) as interleaved:
            block = interleaved_block(step, interleaved)
        case IntegerStep() as integer:
            block = integer_block(step, integer)
        case _:
            block = plain_block(step)
    return [block]
