"""Questions about designs: the claim, its operands, and what a witness means."""

import sys

# pySMT loads Z3 for algebraic numbers, which no formula here has. Whoever asks Z3 loads it then.
sys.modules.setdefault("z3.z3num", None)  # type: ignore[arg-type]
import pysmt.constants  # noqa: E402, F401

if sys.modules["z3.z3num"] is None:
    del sys.modules["z3.z3num"]
