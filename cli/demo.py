"""`mmaproof demo`: a difference between two generations, where it comes from, and a proof."""

from __future__ import annotations

import os
from pathlib import Path

from mmaproof.cli import lib
from mmaproof.cli.compare import compared, print_comparison
from mmaproof.cli.doctor import RECORDINGS_VARIABLE
from mmaproof.cli.output import Exit, say
from mmaproof.cli.showing import ShowingOptions


def _ask(first: str, second: str) -> lib.compare.Comparison:
    return lib.compare.compare(lib.catalogue.find_design(first), lib.catalogue.find_design(second))


def show_difference() -> bool:
    """Print a vector on which Volta and Turing differ, with the picture, and replay it on both interpretations."""
    answer = _ask("volta/f32.f16.f16.f32", "turing/f32.f16.f16.f32")
    print_comparison(answer, compared(answer, lib.answer.ABSENT))
    if answer.witness is None:
        return False
    say("\nThe same vector, replayed:")
    good = True
    for design in answer.question.designs:
        integers = lib.trace.evaluate(design, answer.witness)
        arrays = int(
            lib.evaluate.evaluate_batch(design, lib.operands.OperandBatch.of_rows(design.formats, [answer.witness]))[0]
        )
        fmt = design.d_format
        good = good and integers == arrays == answer.outputs[design.name]
        say(f"  {design.name}: integers {fmt.hex(integers)}, arrays {fmt.hex(arrays)}")
    return good and answer.status is lib.verdict.Status.REFUTED


def show_proof() -> bool:
    """Print the proof that Hopper's and Blackwell's fp16 units are the same function."""
    answer = _ask("hopper/wgmma.f32.f16.f16", "blackwell/tcgen05.mma.f32.f16.f16")
    print_comparison(answer, compared(answer, lib.answer.ABSENT), ShowingOptions(picture=False))
    return answer.status is lib.verdict.Status.PROVED


def show_recordings(folder: Path) -> bool:
    """Replay the recordings of Volta and Ampere in ``folder`` on the catalogue's designs."""
    good = True
    for info in lib.recordings.read_index(folder).values():
        if info.architecture in ("Volta", "Ampere"):
            design = lib.recordings.design_of_recording(lib.catalogue.load_catalogue(), info)
            report = lib.replay.replay(
                [lib.recordings.read_recording(info.path)], lib.targets.ModelTarget(design), nan_codes=True
            )
            say(f"  {info.path.name} ({info.gpu}) on {design.name}: {report.rows} rows, {report.mismatches} differ")
            good = good and report.rows > 0 and not report.mismatches
    return good


def demo() -> int:
    """Show a difference of two GPUs, a proof about two others, and the models against recordings, if there are any.

    Exit status 0 if everything came out as it must, else 1.
    """
    say("1. Do Volta and Turing tensor cores return the same for fp16 products added to fp32?\n")
    good = show_difference()
    say("\n2. Do Hopper and Blackwell?\n")
    good = show_proof() and good
    folder = os.environ.get(RECORDINGS_VARIABLE)
    say("\n3. Do the models return what real GPUs returned?\n")
    if folder:
        good = show_recordings(Path(folder)) and good
    else:
        say(f"  not checked: the environment variable {RECORDINGS_VARIABLE} names no folder of recordings")
    say("\nEverything came out as it must." if good else "\nSomething did not come out as it must.")
    return Exit.HOLDS if good else Exit.REFUTED
