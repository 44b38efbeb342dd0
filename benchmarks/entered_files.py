"""Count the files of the project whose functions a command enters the second time that it runs in one process.

A reader who follows the command has to open these files. Imports are not counted: the first run does them.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from mmaproof.cli.main import main as run

ROOT = Path(__file__).resolve().parents[1]
UNIT = "tests/rtl/units/tree/fp16_l4.toml"
PLAN = "hopper/wgmma.f32.bf16.bf16"
COMMANDS = {
    "compare": ["compare", "volta/f32.f16.f16.f32", "turing/f32.f16.f16.f32"],
    "rtl prove": ["rtl", "prove", str(ROOT / UNIT)],
    "gemm compare": ["gemm", "compare", PLAN, f"{PLAN} | split-k=2", "--k", "64"],
}
"""What each command is run with: ``compare`` finds a witness, ``rtl prove`` a proof."""


def entered(arguments: list[str]) -> Counter[str]:
    """Return the files below the repository whose functions are entered, and how many functions of each."""
    codes: dict[int, CodeType] = {}

    def seen(frame: FrameType, _event: str, _argument: Any) -> None:
        """Note a call; as nothing is returned, what happens within it is not told."""
        codes[id(frame.f_code)] = frame.f_code

    with contextlib.redirect_stdout(io.StringIO()):
        run(arguments)
        sys.settrace(seen)
        try:
            run(arguments)
        finally:
            sys.settrace(None)
    functions = {(x.co_filename, x.co_firstlineno) for x in codes.values() if x.co_name != "<module>"}
    files = ((Path(x).resolve(), line) for x, line in functions if not x.startswith("<"))
    return Counter(str(x.relative_to(ROOT)) for x, _ in files if x.is_relative_to(ROOT) and ".venv" not in x.parts)


# Whether machine code pays is a matter of time, and so of what else runs: the same files on every machine.
os.environ["MMAPROOF_BACKEND"] = "arrays"


def main() -> None:
    """Print the number of files for each command; with --files their names and the numbers of functions."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", action="store_true", help="name the files")
    given = parser.parse_args()
    for name, arguments in COMMANDS.items():
        found = entered([*arguments, "--no-store"])
        print(f"{name:<14}{len(found):>4} files {found.total():>6} functions")
        if given.files:
            for file, functions in sorted(found.items()):
                print(f"  {functions:>4} {file}")


if __name__ == "__main__":
    main()
