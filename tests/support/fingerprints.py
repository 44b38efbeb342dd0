"""Results of GPUs that others published: those that are part of the project, and those without a licence.

The latter are fingerprints, kept as numbers. They are facts of tests and no part of the project.
``python tests/support/fingerprints.py FOLDER`` writes them as files that ``mmaproof evidence --decided`` reads.
"""

import sys
from pathlib import Path

import numpy as np

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.operands import OperandBatch
from mmaproof.hardware_replay.decided import recordings_of_the_project
from mmaproof.hardware_replay.recordings import Provenance, read_recording, write_recording
from mmaproof.hardware_replay.target import Answers, Numbered

TABLE = Path(__file__).parent.parent / "hardware_replay" / "mmascope.txt"

DESIGNS = {
    ("volta", "fp16"): "volta/mma.m8n8k4.f32.f16.f16.f32",
    ("ampere", "fp16"): "ampere/mma.m16n8k16.f32.f16.f16.f32",
    ("hopper", "fp16"): "hopper/mma.m16n8k16.f32.f16.f16.f32",
    ("ampere", "bf16"): "ampere/mma.m16n8k16.f32.bf16.bf16.f32",
    ("hopper", "bf16"): "hopper/mma.m16n8k16.f32.bf16.bf16.f32",
}
"""What a WMMA of 16x16x16 is made of, by architecture and format of a and b."""


def published(stem: str) -> Answers:
    """Return the rows of a recording that is part of the project."""
    (path,) = (x for x in recordings_of_the_project() if x.stem == stem)
    return read_recording(path)


def canonical(d: int) -> int:
    """Return an fp32 result as AMD's designs return it, which tell no NaN from another."""
    return 0x7FC00000 if d & 0x7FFFFFFF > 0x7F800000 else d


def elements(text: str) -> list[int]:
    """Return the patterns of ``7c01 0000*15``."""
    found: list[int] = []
    for word in text.split():
        pattern, _, times = word.partition("*")
        found += [int(pattern, 16)] * int(times or 1)
    return found


def read() -> dict[tuple[str, str], list[tuple[list[int], list[int], int, int]]]:
    """Return the rows (a, b, c, d) by architecture and format."""
    found: dict[tuple[str, str], list[tuple[list[int], list[int], int, int]]] = {}
    for line in TABLE.read_text().splitlines():
        if line.startswith("["):
            fmt, _, architectures = line.strip("[]").partition(": ")
        elif line and not line.startswith("#"):
            a, b, c, d = line.split("|")
            for architecture, result in zip(architectures.split(), d.split(), strict=True):
                row = (elements(a), elements(b), int(c, 16), int(result, 16))
                found.setdefault((architecture, fmt), []).append(row)
    return found


def write_fingerprints(folder: Path) -> list[Path]:
    """Write the fingerprints into ``folder`` as recordings, and return the files."""
    paths = []
    for (architecture, fmt), rows in read().items():
        a, b, c, d = (np.array(x) for x in zip(*rows, strict=True))
        design = find_design(DESIGNS[architecture, fmt])
        answers = Answers(
            batch=OperandBatch(a.astype(np.uint16), b.astype(np.uint16), c.astype(np.uint32)),
            d=d.astype(np.uint32),
            formats=design.formats,
            labels=Numbered("row", 1, len(rows)),
            whence="",
            design=design.name,
        )
        about = Provenance.of(
            answers,
            target="published",
            device=f"NVIDIA {architecture.capitalize()}",
            instruction="wmma.m16n16k16",
            operands={"source": "yuxuelei1998/mmascope, commit dd8e129: dp16a inputs and numeric_fingerprints"},
            further={"not_known": "which GPU of the architecture, its driver and the compiler"},
        )
        paths.append(folder / f"mmascope-{architecture}-{fmt}.npz")
        write_recording(paths[-1], answers, about)
    return paths


if __name__ == "__main__":
    write_fingerprints(Path(sys.argv[1]))
