"""Native code in tests: compared with arrays, and skipped with the reason where nothing can be compiled."""

import numpy as np
import pytest

from mmaproof.designs.design import Design
from mmaproof.designs.operands import OperandBatch
from mmaproof.smt.algebra.code import TooWideError
from mmaproof.smt.backends import Backend
from mmaproof.smt.evaluate import evaluate_batch
from mmaproof.smt.native.compiler import missing
from mmaproof.smt.native.lowering import lower

needs_native = pytest.mark.skipif(missing() is not None, reason=missing() or "")


def native_disagreements(design: Design, batch: OperandBatch) -> list[str]:
    """Rows on which native code and arrays are not the same; none where the design's numbers are too wide for it."""
    try:
        lower(design)
    except TooWideError:
        return []
    native, arrays = (evaluate_batch(design, batch, backend=x) for x in (Backend.NATIVE, Backend.ARRAYS))
    return [
        f"row {i}: {native[i]:#x}, not {arrays[i]:#x}: {batch.row(i)} {design.chain} {design.step}"
        for i in np.flatnonzero(native != arrays).tolist()
    ]
