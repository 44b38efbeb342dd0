"""The examples of the explorer: for each two kinds of units that differ, operands that tell them apart.

``python -m mmaproof.generators.examples FILE`` writes them (``make explorer-data``), in minutes. They are found by
search alone: a pair for which none is found has no example, and nothing is said about it.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from mmaproof.designs.arithmetic import Arithmetic
from mmaproof.designs.catalogue import load_catalogue
from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.designs.files import write_atomically
from mmaproof.properties.equivalence import Equivalence
from mmaproof.smt.solving.limits import worked
from mmaproof.verification.distributions import kept_bits
from mmaproof.verification.matrix import comparable_groups
from mmaproof.verification.search import Budget, search, simplest

ROWS = 2_000
"""Operand sets that are tried for a pair. A limit of rows gives the same examples on every machine."""
LONGEST = 64
"""Products of an example: longer ones do not help a reader."""
SIMPLIFYING = 1.0
"""Seconds for which a witness is simplified."""


def kinds(designs: Sequence[Design]) -> list[Design]:
    """Return one design of each arithmetic, that with the smallest K."""
    found: dict[Arithmetic, Design] = {}
    for design in sorted(designs, key=lambda d: d.k):
        found.setdefault(Arithmetic.of(design), design)
    return list(found.values())


def examples(designs: Sequence[Design]) -> Iterator[dict[str, Any]]:
    """Give an example for each pair of kinds for which the search finds one."""
    for group in comparable_groups(designs).values():
        for first, second in itertools.combinations(kinds(group), 2):
            question = Equivalence(first, second)
            if question.k > LONGEST:
                continue
            finer = max(first, second, key=kept_bits)
            found = search(question, finer, seed=0, budget=Budget(ROWS, float("inf"))).witnesses
            if found:
                witness = simplest(question, found[:2], worked() + SIMPLIFYING)
                yield example(first, second, witness)


def example(first: Design, second: Design, operands: Operands) -> dict[str, Any]:
    """Return an example as the explorer reads it: products that are not all zero by their k, as patterns."""
    a, b, c, _ = first.formats
    record: dict[str, Any] = {
        "units": [first.name, second.name],
        "k": len(operands),
        "p": {k: [a.hex(x), b.hex(y)] for k, (x, y) in enumerate(zip(operands.a, operands.b, strict=True)) if x or y},
        "c": c.hex(operands.c),
    }
    if first.scale_format is not None:
        for name, scales in (("scale_a", operands.scale_a), ("scale_b", operands.scale_b)):
            record[name] = ",".join(map(first.scale_format.hex, scales))
    return record


def main(path: Path) -> None:
    """Write the examples, one on a line."""
    lines = [json.dumps(x, separators=(",", ":")) for x in examples(list(load_catalogue().designs.values()))]
    write_atomically(path, "[\n" + ",\n".join(lines) + "\n]\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
