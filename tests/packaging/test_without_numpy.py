"""One dot product is computed and drawn without NumPy, pySMT or a solver, so that a browser can do it."""

import subprocess
import sys

from support.waiting import LONG

SCRIPT = """
import sys

for name in ("bitwuzla", "cvc5", "llvmlite", "ml_dtypes", "numpy", "pysmt", "rich", "typer", "z3"):
    sys.modules[name] = None  # an import of it fails

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.explain import explain
from mmaproof.explain.figure import picture_html
from mmaproof.explain.lines import picture_lines
from mmaproof.explain.figure import picture_svg
from mmaproof.smt.trace import evaluate

design = find_design("turing/f32.f16.f16.f32")
operands = Operands((0xF000, 0xB800, 0xB400, 0xB000), (0x6400, 0x3C00, 0x3C00, 0x3C00), 0x4B000000)
picture = explain([design], operands)
drawn = [*picture_lines(picture, 80), picture_html(picture), picture_svg(picture)]
print(design.d_format.hex(evaluate(design, operands)), len(drawn) > 3)
"""


def test_integers_and_pictures_need_neither_numpy_nor_pysmt() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        text=True,
        timeout=LONG,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.split() == ["0xbf000000", "True"]
