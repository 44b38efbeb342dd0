"""Selected rows as a recording."""

from __future__ import annotations

from pathlib import Path

from mmaproof.designs.catalogue import find_design
from mmaproof.generators.formats.selection import Selection, plain
from mmaproof.hardware_replay.provenance import Provenance
from mmaproof.hardware_replay.recorder import provenance
from mmaproof.hardware_replay.recordings import write_recording
from mmaproof.hardware_replay.targets import ModelTarget


def write_npz(selection: Selection, path: Path) -> None:
    """Write the rows of one design as a recording; of the model where it computed every d, else of nothing named.

    Raises InputError where they are not rows of one design and length, or the file cannot be written.
    """
    answers = selection.answers()
    (name,) = selection.designs
    seed = selection.vectors[0].seed
    operands: dict[str, str | int] = {"source": plain(selection.whence), "expected": selection.about()[-1]}
    operands |= {} if seed is None else {"seed": seed}
    if selection.computed.get(name) == len(selection.vectors):
        about = provenance(ModelTarget(find_design(name)), answers, operands)
    else:
        about = Provenance.of(answers, target="", device="", instruction=plain(name), operands=operands)
    write_recording(path, answers, about)
