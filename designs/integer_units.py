"""Integer units of any width, by name: ``integer/dot4.int20.int8.int8.int20`` adds four products to an accumulator.

The formats are those of d, a, b and c, as in names of instructions: intN and uintN (or sN and uN), N from 2 to 64. A
number with a binary point is an integer with a scale, which no operation here reads: a fixed-point Qm.n is intN of
N = m + n bits, where c and d have as many fraction bits as a and b together.
"""

from __future__ import annotations

import re

from mmaproof.designs.chain import Chain
from mmaproof.designs.design import Design
from mmaproof.designs.errors import DesignError, InputError
from mmaproof.designs.formats import find_format
from mmaproof.designs.signature import Signature
from mmaproof.designs.steps import IntegerStep

INTEGER = "integer"
"""What stands for the architecture in the names of these units."""

_NAME = re.compile(r"dot(?P<products>[1-9]\d{0,3})((?:\.u?(?:int|s)?\d+){4})")


def integer_unit(instruction: str) -> Design:
    """Return the unit of this name, without its architecture. Raises DesignError for a name that says nothing."""
    found = _NAME.fullmatch(instruction.strip().lower())
    if found is None:
        raise DesignError(
            f"{INTEGER}/{instruction}: dotL.D.A.B.C is expected, as {INTEGER}/dot4.int20.int8.int8.int20: the number "
            "of products, and the formats of d, a, b and c, which are intN or uintN with N from 2 to 64"
        )
    products = int(found["products"])
    try:
        d, a, b, c = (find_format(x) for x in found[2].split(".")[1:])
        signature = Signature(a, b, c, d)
        step = IntegerStep(L=products, rho=d.name)
    except InputError as problem:
        raise DesignError(f"{INTEGER}/{instruction}: {problem}") from problem
    name = f"dot{products}." + ".".join(x.name for x in (d, a, b, c))
    return Design(INTEGER, name, "integers", signature, 1, 1, products, Chain(), step, "its name")
