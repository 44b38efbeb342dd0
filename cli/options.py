"""Options that several commands share, each defined once."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from dataclasses import MISSING, dataclass, fields, replace
from functools import partial
from inspect import Parameter, Signature, signature
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, get_type_hints

import typer

from mmaproof.cli import lib
from mmaproof.cli.output import Exit, complain, note
from mmaproof.designs.errors import InputError, TargetUnavailable


def complete_designs(incomplete: str) -> list[str]:
    """Return the names of designs that begin with a text."""
    return [x for x in lib.catalogue.load_catalogue().designs if x.startswith(incomplete)]


def complete_architectures(incomplete: str) -> list[str]:
    """Return the architectures that begin with a text."""
    return [x for x in lib.catalogue.load_catalogue().architectures if x.startswith(incomplete)]


def complete_properties(incomplete: str) -> list[str]:
    """Return the properties that begin with a text."""
    return [x for x in lib.library.PROPERTIES if x.startswith(incomplete)]


def complete_programs(incomplete: str) -> list[str]:
    """Return the algorithms, presets of plans and designs that begin with a text."""
    return [
        x for x in (*lib.algorithms.ALGORITHMS, *lib.spelling.load_presets()) if x.startswith(incomplete)
    ] + complete_designs(incomplete)


def complete_everything(incomplete: str) -> list[str]:
    """Return all names that begin with a text, of properties, algorithms, presets and designs."""
    return complete_properties(incomplete) + complete_programs(incomplete)


def complete_kinds(incomplete: str) -> list[str]:
    """Return what is listed that begins with a text: kinds of things, and architectures."""
    from mmaproof.cli.listing import DESIGNS, KINDS

    return [x for x in (DESIGNS, *KINDS) if x.startswith(incomplete)] + complete_architectures(incomplete)


_ENDS: ContextVar[float | None] = ContextVar("_ENDS", default=None)
"""When the limit of the command that runs passes, by ``time.monotonic``; None where it has no limit for all of it."""
BY_THE_CLOCK = 30
"""A question of a survey may take N times as long by the clock as it may compute, on a machine that is busy."""
_GRACE = 1.0
"""Seconds above the limit that remain for an answer of what was found by then."""


class OutOfTime(KeyboardInterrupt):
    """The limit has passed. What handles a Ctrl-C ends what it started, and handles this alike."""


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raise OutOfTime in the main thread where the clock shows more than N seconds, whatever was waited for."""
    if not hasattr(signal, "SIGALRM") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def passed(_number: int, _frame: FrameType | None) -> None:
        raise OutOfTime

    before = signal.signal(signal.SIGALRM, passed)
    signal.setitimer(signal.ITIMER_REAL, seconds + _GRACE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


STORE_VARIABLE = "MMAPROOF_STORE"


def option(spelled: str, text: str | None = None, **more: Any) -> Any:
    """Return an option of typer: ``spelled`` has its names and what stands for its value, "-o --output FILE"."""
    *names, last = spelled.split(" ")
    if last.startswith("-"):
        return typer.Option(*names, last, help=text, **more)
    return typer.Option(*names, metavar=last, help=text, **more)


def argument(metavar: str | None, text: str | None = None, **more: Any) -> Any:
    """Return an argument of typer with a help and what stands for it."""
    return typer.Argument(metavar=metavar, help=text, **more)


def askable(k: int | None) -> int | None:
    """Return a length as it was given; DesignError where it is too long for any question."""
    if k is not None:
        lib.design.check_askable(k)
    return k


DesignName = Annotated[
    str,
    argument(
        "DESIGN",
        "ARCHITECTURE/INSTRUCTION, may be shortened to whole parts, with @parameter=value,... "
        "to change it; or rtl:UNIT.toml, disclosure:FILE.json.",
        autocompletion=complete_designs,
    ),
]
Architecture = Annotated[
    str | None, argument("[ARCHITECTURE]", "One architecture only.", autocompletion=complete_architectures)
]
DesignNames = Annotated[
    list[str] | None,
    argument(
        "[DESIGN]...",
        "ARCHITECTURE/INSTRUCTION, may be shortened, with @parameter=value,... to change it.",
        autocompletion=complete_designs,
    ),
]
Everything = Annotated[bool, option("--all", "All designs of the catalogue.")]
Architectures = Annotated[
    list[str] | None,
    option("--architecture NAME", "All designs of an architecture. Repeatable.", autocompletion=complete_architectures),
]
DistributionName = Annotated[
    str,
    option(
        "--distribution NAME",
        "uniform (-1..1), uniform-16, positive (0..1), normal, ootomo-yokota-1, exponents=LO..HI[,LO..HI].",
    ),
]
PER_QUESTION = "Limit for each question that is asked, in CPU seconds: 30s, 2m."
"""The help of a limit that each question has."""
Json = Annotated[bool, option("--json", "Print exactly one JSON object.")]
Decimal = Annotated[bool, option("--decimal", "Write results as decimal numbers.")]
Length = Annotated[
    int | None, option("--k N", "Length of the dot product; default the instruction's K.", min=1, callback=askable)
]
Where = Annotated[
    list[str] | None,
    option(
        "--where PRECONDITION",
        "Restrict a, b and c: finite, positive, normal, exponents=LO..HI, c=0, a!=subnormal, c!=0x1. Repeatable.",
    ),
]
Solver = Annotated[str, option("--solver NAME", "bitwuzla, cvc5 or z3.")]
Jobs = Annotated[
    int, option("--jobs N", "Number of solvers to run in parallel on each query, --solver included.", min=1)
]
Certificate = Annotated[
    str | None,
    option(
        "--certify [=proof]", "Have a second solver confirm what is proved; with --certify=proof a checker of proofs."
    ),
]
StoreFile = Annotated[
    Path | None,
    option(
        "--store FILE",
        "Look answers up in this file, and keep them there; default $MMAPROOF_STORE, else "
        "mmaproof/answers.sqlite in the user's folder of caches.",
    ),
]
NoStore = Annotated[bool, option("--no-store", "Neither look answers up nor keep them.")]
KeptLemmas = Annotated[
    Path | None,
    option(
        "--keep-lemmas DIR", "Write each lemma that a solver is asked into this new folder, as SMT-LIB with the reply."
    ),
]
Timeout = Annotated[str, option("--timeout TIME", "Limit for the whole answer by the clock: 30s, 2m, 1h.")]
Work = Annotated[
    str | None, option("--work TIME", "CPU seconds that may be used, apart from --timeout; default: as many.")
]
Memory = Annotated[str, option("--memory SIZE", "What a solver process may take beyond its libraries: 512M, 4G.")]
Seed = Annotated[int, option("--seed N", "Seed of the search.", min=0)]
Search = Annotated[bool, option("--search/--no-search", "Look for a witness among random operands before solving.")]
Simplify = Annotated[str, option("--simplify TIME", "How long the operands that were found are simplified at most.")]
NanCodes = Annotated[bool, option("--nan-codes", "Two NaNs are equal only if their bits are.")]
ZeroSigns = Annotated[bool, option("--ignore-zero-signs", "+0 and -0 are equal results.")]
Explained = Annotated[
    bool, option("--explain", "Show the lemmas behind the answer as a tree: status, seconds, solver.")
]
BackendName = Annotated[
    str | None,
    option(
        "--backend NAME",
        "What computes many rows: integers, arrays or native; default $MMAPROOF_BACKEND, else the fastest.",
    ),
]
Output = Annotated[Path | None, option("-o --output FILE", "Write what was found as a vector file.")]

TargetName = Annotated[
    str,
    argument(
        "TARGET",
        "model:DESIGN, recording:FILE, process:COMMAND, cpu:INSTRUCTION, cuda[:N], "
        "rtl:UNIT.toml or rtl-simulator:UNIT.toml.",
    ),
]
InterfaceOfFile = Annotated[
    str | None,
    option(
        "--interface D.A.B.C",
        "Formats, as in names of instructions: f32.f16.f16.f32, block32.f32.e4m3.e4m3.f32.ue8m0.",
    ),
]
_LENGTH = option("--k N", "Length of the dot products.", min=1)
LengthOfFile = Annotated[int | None, _LENGTH]
LengthOfProduct = Annotated[int, _LENGTH]
ROWS, COLUMNS = option("--m N", "Rows of a and d.", min=1), option("--n N", "Columns of b and d.", min=1)
ReadAs = Annotated[
    list[str] | None,
    option(
        "--read-as WORD",
        "How a file is read where that is not clear: numbers, patterns, hexadecimal, nearest, b=KxN, b=NxK, with-c, "
        "without-c, testfloat. Repeatable.",
    ),
]
Instruction = Annotated[
    str | None, option("--design DESIGN", "Which instruction of a CPU or GPU to run, where several take the operands.")
]
Silence = Annotated[str, option("--timeout TIME", "Timeout for the next answer of a process.")]
SilenceOfProduct = Annotated[str, option("--silence TIME", "How long a process may take for one product.")]


@dataclass(frozen=True)
class QuestionOptions:
    """What is asked: the options that ``with_options`` gives a command, as they were typed."""

    k: Length = None
    where: Where = None
    nan_codes: NanCodes = False
    ignore_zero_signs: ZeroSigns = False
    simplify: Simplify = "5s"

    def preconditions(self, others: Sequence[str] = ()) -> list[lib.preconditions.Precondition]:
        """Return ``others``, such as those of a unit, and the preconditions. Raises InputError for what is none."""
        return [lib.preconditions.parse_precondition(x) for x in (*others, *(self.where or ()))]

    def of_comparison(self) -> dict[str, Any]:
        """Return the arguments that functions which compare take; see ``preconditions``."""
        signs = {"nan_codes": self.nan_codes, "zero_signs": not self.ignore_zero_signs}
        return {"k": self.k, "where": self.preconditions(), **signs, "simplifying": self.simplifying}

    @property
    def simplifying(self) -> float:
        """The seconds for which a witness is simplified at most. Raises LimitError for what cannot be read."""
        return lib.limits.parse_seconds(self.simplify)


@dataclass(frozen=True)
class SolvingOptions:
    """How a command has its questions answered: the options that ``with_options`` gives it, as they were typed."""

    search: Search = True
    solver: Solver = "bitwuzla"
    jobs: Jobs = 1
    certify: Certificate = None
    store: StoreFile = None
    no_store: NoStore = False
    timeout: Timeout = "60s"
    work: Work = None
    memory: Memory = "4G"
    seed: Seed = 0
    keep_lemmas: KeptLemmas = None

    @property
    def solving(self) -> lib.solving.Solving:
        """How queries are answered; see ``solving_of``, which says what it raises."""
        return solving_of(self.solver, self.jobs, self.certify, self.store, self.no_store)

    @property
    def limits(self) -> lib.limits.Limits:
        """The limits. Raises LimitError for what cannot be read."""
        seconds = lib.limits.parse_seconds(self.timeout)
        work = seconds if self.work is None else lib.limits.parse_seconds(self.work)
        return lib.limits.Limits(work, lib.limits.parse_memory(self.memory), wall=seconds, ends=_ENDS.get())

    @property
    def limits_of_each(self) -> lib.limits.Limits:
        """The limits of each of many questions: work ends one, and not the load of the machine. See ``limits``.

        Where ``--work`` says how much work, ``--timeout`` is the time by the clock.
        """
        limits = self.limits
        if self.work is not None:
            return limits
        return replace(limits, wall=min(BY_THE_CLOCK * limits.seconds, lib.limits.MAX_SECONDS))

    @property
    def budget(self) -> lib.search.Budget | None:
        """The budget of the search, None for no search."""
        return lib.compare.DEFAULT_BUDGET if self.search else None

    @property
    def means(self) -> dict[str, Any]:
        """The arguments that functions which decide take: solver, limits, budget, seed. Raises as these do."""
        return {"solver": self.solving, "limits": self.limits, "budget": self.budget, "seed": self.seed}


NO_LEMMAS = "lemmas: no solver was asked; --no-store and --no-search leave a question to solvers"

QUESTION = QuestionOptions()
SOLVING = SolvingOptions()
"""What a command has without options."""


def with_options(
    *,
    without: str = "",
    keeps: bool = False,
    timeout_of: str | None = None,
    helps: Mapping[str, str] | None = None,
    **defaults: Any,
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Give a command the fields of records of options, at the place of its parameters of these types, as options.

    It has no option for the fields that ``without`` names, with blanks between. ``helps`` has other words for some, and
    ``defaults`` other values; ``timeout_of`` is the help of a limit that is not for the whole answer. A
    command that itself computes beyond its limit is ended. One that ``keeps`` has an option that writes lemmas; its
    questions are asked in this process.
    """
    left_out, texts = [*without.split(), *["keep_lemmas"][keeps:]], dict(helps or {})
    if "timeout" in left_out:
        left_out.append("work")
    if timeout_of is not None:
        texts["timeout"] = timeout_of

    def decorate(command: Callable[..., int]) -> Callable[..., int]:
        parameters: list[Parameter] = []
        records: dict[str, tuple[Any, dict[str, str]]] = {}
        for given in signature(command, eval_str=True).parameters.values():
            kind = given.annotation
            if not hasattr(kind, "__dataclass_fields__"):
                parameters.append(given)
                continue
            hints = get_type_hints(kind, include_extras=True)
            shown = {
                x.name: Parameter.empty if x.default is MISSING else x.default
                for x in fields(kind)
                if x.name not in left_out
            }
            shown |= {name: x for name, x in defaults.items() if name in shown}
            records[given.name] = kind, dict.fromkeys(shown, "")
            parameters += [
                Parameter(n, given.kind, default=default, annotation=_said(hints[n], texts.get(n)))
                for n, default in shown.items()
            ]

        def called(**given: Any) -> int:
            held = {}
            for record, (kind, names) in records.items():
                held[record] = kind(**{name: given.pop(name) for name in names if name in given})
            options = next((x for x in held.values() if isinstance(x, SolvingOptions)), None)
            if options is None or timeout_of is not None or "timeout" in left_out:
                return command(**given, **held)
            return _limited(options, partial(command, **given, **held))

        return _in_place_of(command, called, parameters)

    return decorate


def _limited(options: SolvingOptions, command: Callable[[], int]) -> int:
    """Run a command. Its status is 3 where the limit for the whole answer passes first."""
    began, seconds = lib.limits.worked(), lib.limits.parse_seconds(options.timeout)
    # what is loaded before the first question takes time, too
    token = _ENDS.set(time.monotonic() + seconds)
    try:
        with kept_in(options.keep_lemmas), within(seconds):
            return command()
    except OutOfTime:
        used = f"{lib.limits.worked() - began:.1f} CPU seconds were used"
        complain(f"unknown: not answered within {options.timeout}, and there is no part of an answer; {used}")
        return Exit.UNKNOWN
    finally:
        _ENDS.reset(token)


def _said(hint: Any, text: str | None) -> Any:
    """Return the annotation of an option with another help."""
    if text is None:
        return hint
    option = copy(hint.__metadata__[0])
    option.help = text
    return Annotated[hint.__origin__, option]


@contextmanager
def kept_in(folder: Path | None) -> Iterator[None]:
    """Write the lemmas that are asked meanwhile into a new folder, if one is named, and say how many."""
    if folder is None:
        yield
        return

    with lib.lemma.keeping(folder):
        try:
            yield
        finally:
            count = sum(1 for _ in folder.iterdir()) if folder.is_dir() else 0
            note(f"lemmas: {folder}, {count} files" if count else NO_LEMMAS)


def _in_place_of(
    command: Callable[..., int], called: Callable[..., int], parameters: Sequence[Parameter]
) -> Callable[..., int]:
    """Return ``called`` as the command that typer sees: with the name and text of ``command``, and these parameters."""
    called.__name__, called.__doc__, called.__module__ = command.__name__, command.__doc__, command.__module__
    called.__annotations__ = {x.name: x.annotation for x in parameters} | {"return": int}
    vars(called)["__signature__"] = Signature(parameters, return_annotation=int)
    return called


def with_backend(command: Callable[..., int]) -> Callable[..., int]:
    """Give a command the option ``--backend``, before ``--json``; it holds for the processes that it starts, too."""
    parameters = list(signature(command, eval_str=True).parameters.values())
    place = next((i for i, x in enumerate(parameters) if x.name == "json"), len(parameters))
    parameters.insert(place, Parameter("backend", parameters[0].kind, default=None, annotation=BackendName))

    def called(backend: str | None, **given: Any) -> int:
        with lib.backends.wanting(backend):
            problem = lib.compiler.missing() if lib.backends.wanted_backend() is lib.backends.Backend.NATIVE else None
            if problem is not None:
                raise TargetUnavailable(problem)
            return command(**given)

    return _in_place_of(command, called, parameters)


def target_of(
    text: str,
    timeout: str,
    design: str | None,
    wanted: lib.reading.Wanted | None = None,
    more: Sequence[str] = (),
) -> lib.target.Target:
    """Return the target that the options spell. Raises as ``find_target``; LimitError for a bad time."""
    return lib.targets.find_target(
        text, lib.limits.parse_seconds(timeout), design, wanted or lib.reading.Wanted(), more
    )


RTL = "rtl:"
"""What the name of a netlist begins with."""


def named_design(name: str) -> lib.design.Design:
    """Return the design that ``name`` spells: ``rtl:UNIT.toml`` is the netlist of a unit, anything else a design.

    Raises as ``find_design`` and ``read_rtl``.
    """
    path = name.removeprefix(RTL)
    if path == name:
        return lib.catalogue.find_design(name)

    return lib.meant.read_whole(path)[0].design


def solving_of(
    solver: str, jobs: int, certificate: str | None, store: Path | None, no_store: bool
) -> lib.solving.Solving:
    """Return how queries are answered, as the options say.

    Raises InputError if the options contradict each other, and whatever ``Solving.of`` raises. If the default store
    cannot be used, a note says so and there is no store.
    """
    import mmaproof.properties  # noqa: F401  (it loads pySMT without Z3, and so it is first)

    if certificate not in (None, *(x.value for x in lib.solving.Certify)):
        raise InputError(f"--certify={certificate}: --certify (a second solver) and --certify=proof are allowed")
    if store is not None and no_store:
        raise InputError(f"--no-store leaves nothing to look up in {store}: leave one of them out")
    file = store if store is not None or no_store else _usable_default()
    return lib.solving.Solving.of(
        lib.solving.Solving(solver, jobs, None if certificate is None else lib.solving.Certify(certificate), file)
    )


def default_store() -> Path | None:
    """Return the file of answers if none is named; None if the variable for it is empty.

    Raises InputError if the user has no home.
    """
    named = os.environ.get(STORE_VARIABLE)
    if named is not None:
        return Path(named) if named else None
    try:
        return lib.files.cache_folder() / "answers.sqlite"
    except InputError as problem:
        raise InputError(f"{problem}; let {STORE_VARIABLE} name a file") from problem


def _usable_default() -> Path | None:
    try:
        file = default_store()
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            lib.store.Store(file).check()
    except (InputError, lib.verdict.StoreError, OSError) as problem:
        complain(f"note: answers are neither looked up nor kept: {problem}")
        return None
    return file


UnitPath = Annotated[
    Path,
    argument(
        "UNIT.toml",
        "The map of a unit: sources, top module, and which ports are operands. `mmaproof rtl init` writes one.",
    ),
]


Dask = Annotated[str | None, option("--dask ADDRESS", "Ask on the workers of a dask cluster: tcp://HOST:8786.")]

Processes = Annotated[
    int | None, option("--jobs N", "Questions at a time, in processes of this machine; default its CPUs.", min=1)
]


@contextmanager
def executors(
    dask: str | None, jobs: int | None, solving: lib.solving.Solving | None = None
) -> Iterator[tuple[lib.executors.Pool, int]]:
    """Yield what makes executors, and how many questions to hand to one at a time.

    Without a cluster they are ``jobs`` processes of this machine, by default as many as it has CPUs. Raises InputError
    for both, ClusterNotReachable: also where a worker lacks what ``solving`` needs.
    """
    if dask is None:
        jobs = jobs or os.cpu_count() or 1
        # the next question is there when a process has answered one
        yield partial(lib.executors.local_pool, jobs), 2 * jobs
    elif jobs is not None:
        raise InputError("--jobs is of processes on this machine: leave it out with --dask")
    else:
        with lib.cluster.cluster(dask, solving) as (pool, workers):
            yield pool, 2 * workers


@contextmanager
def runner(
    dask: str | None, solving: lib.solving.Solving | None = None, jobs: int = 1
) -> Iterator[lib.executors.Runner]:
    """Yield what does tasks: in this process, in ``jobs`` of them, or on a cluster.

    Raises InputError for both, ClusterNotReachable.
    """
    if dask is None and jobs == 1:
        yield lib.executors.here
    else:
        with executors(dask, None if jobs == 1 else jobs, solving) as (pool, at_once):
            yield lib.executors.in_order(pool, at_once)
