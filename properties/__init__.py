"""Questions about designs: the claim, its operands, and what a witness means."""

import sys

# pySMT loads Z3 for algebraic numbers, which no formula here has. Whoever asks Z3 loads it then.
if "pysmt.constants" not in sys.modules and "z3" not in sys.modules:
    sys.modules["z3.z3num"] = None  # type: ignore[assignment]
    try:
        import pysmt.constants  # noqa: F401
    finally:
        del sys.modules["z3.z3num"]
