"""The lemmas behind a verdict as a tree: stage by stage, each with its status, seconds and solver."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mmaproof.cli.output import results, say, solver_record

if TYPE_CHECKING:
    from rich.tree import Tree

    from mmaproof.properties.property import LemmaVerdict

GROUPS = (
    ("operands taken apart", (": sign", ": exponent", ": significand")),
    ("terms", ("sign of p", "sign of c", "sign of x", "sign of y", "exponent of", "significand of", "presence of")),
    ("largest exponent", ("maximum", "e_max")),
    ("aligned terms", ("aligned", "moved")),
    ("sum", ("factor", "product", "partial sum", "sum")),
    ("conversion", ("magnitude", "normalised", "places", "converted", "overflow")),
    ("special values", ("NaN", "infinity")),
    ("results of steps", ("d",)),
    ("laws of the operations", ("laws",)),
)
"""Which signals belong to which stage of a unit, by parts of their names. The first match counts."""

CLAIM = "the claim, from the last cuts"
OTHERS = "lemmas"
WIDTH = 240


def lemma_record(lemma: LemmaVerdict) -> dict[str, Any]:
    """Return a lemma as JSON data."""
    return {
        "name": lemma.name,
        "stage": lemma.stage or None,
        "status": lemma.status.value,
        "seconds": round(lemma.seconds, 3),
        "solver": solver_record(lemma.solver),
        "certified_by": solver_record(lemma.certified_by),
    }


def group_of(lemma: LemmaVerdict) -> str:
    """Return the stage of a unit that a lemma is about."""
    if not lemma.stage:
        return OTHERS
    if lemma.stage == "result":
        return CLAIM
    return next((group for group, parts in GROUPS if any(p in lemma.stage for p in parts)), OTHERS)


def summary(lemmas: Sequence[LemmaVerdict]) -> str:
    """Return how many lemmas have each status, in one line."""
    counts = {status: sum(x.status.value == status for x in lemmas) for status in ("proved", "refuted", "unknown")}
    words = ", ".join(f"{n} {status}" for status, n in counts.items() if n)
    return f"{len(lemmas)} lemmas ({words}), {sum(x.seconds for x in lemmas):.2f} s; --explain lists them"


def print_lemmas(lemmas: Sequence[LemmaVerdict], claim: str, *, whole: bool, indent: str = "  ") -> None:
    """Print the lemmas tried for ``claim``: in one line, or as a ``whole`` tree."""
    if not lemmas:
        return
    if not whole:
        say(f"{indent}{summary(lemmas)}")
        return
    # a lemma stays on its line, however narrow the terminal
    results(WIDTH).print(tree(lemmas, claim))


def tree(lemmas: Sequence[LemmaVerdict], claim: str) -> Tree:
    """Return the lemmas as a tree of stages under ``claim``."""
    from rich.text import Text
    from rich.tree import Tree

    root = Tree(Text(claim))
    groups = {lemma_group: [x for x in lemmas if group_of(x) == lemma_group] for lemma_group in map(group_of, lemmas)}
    order = [OTHERS, *(group for group, _ in GROUPS), CLAIM]
    for group in sorted(groups, key=order.index):
        branch = root.add(Text(group))
        for x in groups[group]:
            by = str(x.solver) + (f", certified by {x.certified_by}" if x.certified_by is not None else "")
            what = f"{x.stage}: {x.name}" if x.stage and x.stage not in ("laws", "result") else x.name
            reason = "" if x.reason is None else f" ({x.reason})"
            branch.add(Text(f"{x.status.value:8} {x.seconds:6.2f} s  {what}  [{by}]{reason}"))
    return root
