"""The identification of a target by name: what can be asked of it, in which space, and what it is."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import numpy.typing as npt

from mmaproof.designs.design import check_askable
from mmaproof.designs.errors import InputError
from mmaproof.designs.signature import Signature
from mmaproof.generators.identify.evidence import Evidence, Oracle
from mmaproof.generators.identify.identify import Identifier
from mmaproof.generators.identify.outcome import Identification
from mmaproof.generators.identify.space import Axes, Interface, default_axes, read_axes, restricted
from mmaproof.hardware_replay.rtl_simulator import SimulatorTarget
from mmaproof.hardware_replay.tables.reading import Wanted
from mmaproof.hardware_replay.target import Target
from mmaproof.hardware_replay.targets import FunctionTarget, ModelTarget, RecordingTarget, RtlTarget, find_target
from mmaproof.smt.solving.backends import DEFAULT_SOLVER
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving
from mmaproof.verification.executors import Runner, here

SECONDS = 60.0


def identify(
    target: Target | Callable[..., npt.ArrayLike] | str,
    interface: str | None = None,
    k: int | None = None,
    *,
    space: Path | str | Mapping[str, Sequence[Any]] | None = None,
    seconds: float = SECONDS,
    proofs: bool = True,
    validation: int | None = None,
    solver: str | Solving = DEFAULT_SOLVER,
    seed: int = 0,
    propose: bool = False,
    told: Callable[[str], None] | None = None,
    run: Runner = here,
) -> Identification:
    """Find out what a unit is: ask it batches of operands, and keep the designs that agree with every answer.

    ``target`` is a target, the text that spells one (``process:./simulator``, ``recording:FILE``, ``rtl:UNIT.toml``),
    or a function: it is called with arrays a and b of shape (rows, k) and c of shape (rows,), and two of scales of
    shape (rows, blocks) where the interface has them, and returns d of shape (rows,). ``interface`` has the formats
    as in names of instructions, D.A.B.C, and ``k`` is the length of its dot products; both may be left out if the
    target says them. ``space`` restricts parameters: a TOML file, or names with lists of values. ``seconds`` are for
    everything, the final validation too. It takes ``validation`` operand sets, by default 100000 and of a slow unit
    fewer. Without ``proofs`` what cannot be told apart stays undecided.

    A recording answers nothing new: its rows narrow the space. To ``propose`` is to return operands as well that its
    unit is to be run on next. ``told`` is told each stage, and ``run`` runs the proofs, by default in this process. The
    name of a file of operands and results is a recording, too.

    Raises InputError for a text, an interface or a space that is not known, TargetUnavailable for a target that is not
    here or answers nothing, and LimitError for a time limit out of range.

    >>> import mmaproof
    >>> model = "model:volta/f32.f16.f16.f32"
    >>> found = mmaproof.identify(model, "f32.f16.f16.f32", 4, seconds=300, validation=1000, proofs=False)
    >>> found.matches[0].name
    'volta/mma.m8n8k4.f32.f16.f16.f32'
    """
    limits, began = Limits.of(seconds), time.monotonic()
    runner = _target(target, Wanted.of(interface, k))
    asked = _interface(runner, interface, k)
    axes = _axes(space, asked)
    identifier = Identifier(
        Oracle(runner, asked, runner.read.fixed if isinstance(runner, RtlTarget) else {}),
        axes,
        solver=solver,
        seconds=limits.after(time.monotonic() - began, "the space").seconds,
        seed=seed,
        proofs=proofs,
        validation=validation,
        propose=propose,
        told=told,
        run=run,
    )
    return identifier.identify(_recorded(runner, asked))


def _target(target: Target | Callable[..., npt.ArrayLike] | str, wanted: Wanted) -> Target:
    if isinstance(target, str):
        return find_target(target, wanted=wanted)
    if hasattr(type(target), "design_of"):
        return cast("Target", target)
    if callable(target):
        return FunctionTarget(target)
    raise InputError(f"target {target!r}: a target, the text that spells one, or a function is needed")


def _axes(space: Path | str | Mapping[str, Sequence[Any]] | None, interface: Interface) -> Axes:
    if space is None:
        return default_axes(interface)
    if isinstance(space, Mapping):
        return restricted(interface, space, "space")
    return read_axes(Path(space), interface)


def _interface(target: Target, text: str | None, k: int | None) -> Interface:
    """Return the interface that is asked: the given one, or that of a recording or of the target's one design."""
    if isinstance(target, RecordingTarget):
        held = target.answers
        block = None if held.batch.scale_a is None else held.batch.k // held.batch.scale_a.shape[1]
        found = Interface(Signature(*held.formats, held.scale_format, block), held.batch.k)
        if (text is not None and Interface.parse(text, found.k) != found) or k not in (None, found.k):
            raise InputError(f"{target.name} holds {found} at k = {found.k}: leave --interface and --k out")
        return found
    known = target.designs[0] if isinstance(target, ModelTarget | RtlTarget | SimulatorTarget) else None
    if known is not None and text is None:
        return Interface(known.signature, known.k if k is None else k)
    if known is not None and k is None:
        k = known.k
    if text is None or k is None:
        raise InputError("--interface D.A.B.C and --k N are required for this target")
    check_askable(k)
    return Interface.parse(text, k)


def _recorded(target: Target, interface: Interface) -> Evidence | None:
    """Return the rows of a recording as evidence; None for a target that can be asked."""
    if not isinstance(target, RecordingTarget):
        return None
    held = target.answers
    return Evidence(interface, held.batch, held.d, ("recorded",) * len(held.batch))
