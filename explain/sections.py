"""The picture of one or two designs on operands: steps as blocks, with corresponding steps of two designs in pairs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.steps import FusedStep, IntegerStep, InterleavedStep, LanesStep, PairwiseStep, SequentialStep
from mmaproof.explain import fused_blocks
from mmaproof.explain.blocks import Block, Picture
from mmaproof.explain.steps import Name, Step, Sum
from mmaproof.explain.values import exact, names, pattern_value, units
from mmaproof.smt.semantics.datapath import Partial
from mmaproof.smt.trace import trace


def paired(a: Sequence[Step], b: Sequence[Step]) -> list[tuple[Step, ...]] | None:
    """Return the steps of two designs in order and in pairs that add the same products.

    A step that adds none may stand alone. None is returned where the designs group products in different ways.
    """
    result: list[tuple[Step, ...]] = []
    left, right = list(a), list(b)
    while left or right:
        if left and right and left[0].added() == right[0].added():
            result.append((left.pop(0), right.pop(0)))
        elif left and not left[0].added() and (left[0].idle() or not right):
            result.append((left.pop(0),))
        elif right and not right[0].added() and (right[0].idle() or not left):
            result.append((right.pop(0),))
        else:
            return None
    return result


def first_difference(a: Sequence[Step], b: Sequence[Step]) -> str:
    """Say in which step, and by which signal, the results of two designs A and B come to differ.

    Signals that differ in a step with the same d have no effect, for the next step reads the same c.
    """
    if a[-1].result == b[-1].result:
        return f"no difference: A and B return {a[-1].result}"
    groups = paired(a, b)
    for x, y in zip(a, b, strict=False) if groups is None else (g for g in groups if len(g) == 2):
        if x.added() != y.added():
            words = [names(step.added()) or "no product" for step in (x, y)]
            return f"first difference: step {x.index + 1}, A adds {words[0]} and B adds {words[1]}"
        if x.result != y.result:
            where = f"step {x.index + 1}" if x.index == y.index else f"step {x.index + 1} of A, {y.index + 1} of B"
            return f"first difference: {where}, {_differing_signal(x, y)}"
    return f"first difference: the last step of {'A' if len(a) > len(b) else 'B'}, which the other does not take"


def _differing_signal(a: Step, b: Step) -> str:
    """Say which stage of a step is the first to differ: terms, e_max, aligned terms, a sum, conversion or d."""
    returned = f"A returns {a.result}, B returns {b.result}"
    if a.decided or b.decided:
        return f"special values: {returned}"
    stages = itertools.chain(_differing_sums(a, b), _differing_results(a, b))
    if words := next(stages, ""):
        return words
    if a.kind != b.kind:
        return f"A is {a.kind} and B is {b.kind}: {returned}"
    return f"conversion of {exact(a.total)}: {returned}" if a.sums and a.output != b.output else returned


def _differing_sums(a: Step, b: Step) -> Iterator[str]:
    """Say how fused sums differ, the first difference first."""
    a_late, b_late = (step.late or step.once for step in (a, b))
    for x, y in _comparable(a, b):
        if words := _differing_terms(x, y):
            yield words
        if x.label is y.label and x.total != y.total and a_late == b_late:
            yield f"the sum{_OF.get(x.label, '')} is {exact(x.total)} in A and {exact(y.total)} in B"
    if a.sums and b.sums and a_late != b_late:
        late, early = "AB" if a_late else "BA"
        yield f"c is added to the converted sum in {late} and is a term of the sum in {early}"


def _differing_results(a: Step, b: Step) -> Iterator[str]:
    """Say which rounded results of adder trees differ."""
    for name in a.results:
        values = [pattern_value(s.design.d_format, s.results[name]) for s in (a, b) if name in s.results]
        if len({*values}) > 1:
            yield f"{name} is {values[0]} in A and {values[1]} in B"


_OF = {
    Partial.EVEN: " of the even products",
    Partial.ODD: " of the odd products",
    Partial.FIRST: " of the first half",
    Partial.SECOND: " of the second half",
    Partial.PRODUCTS: " of the products",
}


def _comparable(a: Step, b: Step) -> Iterator[tuple[Sum, Sum]]:
    """Give the sums of two steps that belong together, or else all that may share terms."""
    if [s.label for s in a.sums] == [s.label for s in b.sums]:
        yield from zip(a.sums, b.sums, strict=True)
    else:
        yield from itertools.product(a.sums, b.sums)


def _differing_terms(a: Sum, b: Sum) -> str:
    """Say which term or alignment is the first to differ between two sums; nothing where none does."""
    shared = [label for label in a.labels if label in b.labels]
    held = [label for label in shared if a.aligned[label] != b.aligned[label]]
    for label in shared:
        if a.terms[label] != b.terms[label]:
            return f"{label} is {exact(a.terms[label])} in A and {exact(b.terms[label])} in B"
    if held and a.e_max != b.e_max:
        return f"e_max is {a.e_max} in A and {b.e_max} in B"
    if held:
        also = f" ({names(held[1:])} differ{'s' * (len(held) == 2)} too)" if held[1:] else ""
        return _differing_alignment(held[0], a, b) + also
    return ""


def _differing_alignment(label: Name, a: Sum, b: Sum) -> str:
    low = min(a.cut, b.cut)
    x, y = (units(s.aligned[label], low) for s in (a, b))
    truncated = all(s.path_cuts[label].truncates for s in (a, b))
    if not truncated or x & y != min(x, y):
        return f"{label} is aligned to {exact(a.aligned[label])} in A and to {exact(b.aligned[label])} in B"
    keeps, loses = ("A", "B") if x > y else ("B", "A")
    changed = x ^ y
    high, last = low + changed.bit_length() - 1, low + (changed & -changed).bit_length() - 1
    bits = f"bit 2^{high}" if high == last else f"bits 2^{high} to 2^{last}"
    return f"{label} keeps {bits} in {keeps} and loses {'it' if high == last else 'them'} in {loses}"


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
    return [*(replace(part, inner=True) for part in parts), fused_blocks.late_block(step)] if step.late else parts


def _parts_of_sum(step: Step) -> list[Block]:
    """Return the blocks of a step but for a c that is added late; a kind of step is drawn where it is known here."""
    match step.design.step:
        case LanesStep():
            return fused_blocks.fused_parts(step)
        case FusedStep() if all(s.is_cut_in_one_way for s in step.sums):
            return fused_blocks.fused_parts(step)
        case PairwiseStep() as tree:
            block = fused_blocks.tree_block(step, tree)
        case SequentialStep() as sequential:
            block = fused_blocks.sequential_block(step, sequential)
        case InterleavedStep(chain_terms=1) as interleaved:
            block = fused_blocks.interleaved_block(step, interleaved)
        case IntegerStep() as integer:
            block = fused_blocks.integer_block(step, integer)
        case _:
            block = fused_blocks.plain_block(step)
    return [block]
