"""The catalogue of published units: it is read from data files, and designs are found in it by name.

Integer units of any width, by name: ``integer/dot4.int20.int8.int8.int20`` adds four products to an accumulator.

The formats are those of d, a, b and c, as in names of instructions: intN and uintN (or sN and uN), N from 2 to 64. A
number with a binary point is an integer with a scale, which no operation here reads: a fixed-point Qm.n is intN of
N = m + n bits, where c and d have as many fraction bits as a and b together.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from mmaproof.designs.design import ACCUMULATOR, DISCLOSED, UNSTATED, Design, Evidence, Level, RowEvidence
from mmaproof.designs.errors import CatalogueError, DesignError, InputError, did_you_mean, shortened
from mmaproof.designs.files import Fields, read_toml
from mmaproof.designs.formats import Format, find_format
from mmaproof.designs.names import architecture_of, fitting, libraries_run_on, told_apart, turned, words_of
from mmaproof.designs.parameters import (
    DEFINITIONS,
    Chain,
    complete_settings,
    compose,
    definition,
    format_parameter,
    parse_parameter,
)
from mmaproof.designs.profiles import load_disputes
from mmaproof.designs.signature import Signature
from mmaproof.designs.steps import IntegerStep, Step

_NUMBER = r"([0-9]{1,9})"
_SHAPE = re.compile(f"m{_NUMBER}n{_NUMBER}k{_NUMBER}(?![0-9])|(?<![0-9]){_NUMBER}x{_NUMBER}x{_NUMBER}(?![0-9])")
_BLOCKS = re.compile(r"_\d+b(?=_)")
_ROW_FIELDS = ("architecture", "family", "a", "b", "c", "d", "instructions", "source")
_FAMILY_FIELDS = ("L_max", "evidence", "evidence_of", *(n for n in DEFINITIONS if n != "L"))
_ROW_OPTIONAL = ("scale", "block", "k_multiple", "takes_c", "hands_on", "selects_half", *_FAMILY_FIELDS)
_TABLES = ("architectures", "families", "unit")
_NAME = re.compile(r"[A-Za-z0-9_.-]+")


@dataclass(frozen=True, slots=True)
class Architecture:
    """A generation of units: its short name, its published title, and its compilation targets.

    ``assumed_like`` is the architecture whose rows are taken over because no source describes this one, but for those
    of instructions that begin with a text of ``lacks``, which this one does not have.
    """

    name: str
    title: str
    targets: tuple[str, ...]
    assumed_like: str | None = None
    lacks: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Family:
    """What rows share: parameters and L_max, and what these rest on."""

    settings: dict[str, Any]
    evidence: RowEvidence
    folder: Path
    """that of its file: rows of a catalogue elsewhere take over its parameters, and not what these rest on"""


class _Designs(Mapping[str, Design]):
    """Designs by full name, in the order of their rows. A design is made when it is first asked for."""

    def __init__(self) -> None:
        self._held: dict[str, Design | Callable[[], Design]] = {}

    def add(self, name: str, held: Design | Callable[[], Design]) -> None:
        """Add the design of a name, or what makes it."""
        self._held[name] = held

    def __getitem__(self, name: str) -> Design:
        held = self._held[name]
        if not isinstance(held, Design):
            held = self._held[name] = held()
        return held

    def __contains__(self, name: object) -> bool:
        return name in self._held

    def __iter__(self) -> Iterator[str]:
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)


@dataclass(frozen=True)
class Catalogue:
    """The designs of catalogue files by full name, and their architectures."""

    designs: Mapping[str, Design]
    architectures: dict[str, Architecture]

    def find(self, text: str) -> Design:
        """Return the design that ``text`` names: ``ARCHITECTURE/INSTRUCTION[@parameter=value,...]``.

        ``disclosure:FILE`` is the design that a file discloses, whose parameters may be changed likewise.
        The setting ``as=PROFILE`` sets every open point as a source has it, and ``accumulator=FORMAT`` the format of c
        and d, to which rho rounds as before. The other settings come after them.
        The instruction may be shortened: any of its dot- or underscore-separated parts may be left out.
        If the designs that fit differ in shape only, the one with the largest K is taken, then the one with the
        smallest M and N. Raises DesignError for a name that is unknown or ambiguous, and for bad parameters.
        """
        name, at, settings = text.strip().partition("@")
        architecture, _, instruction = name.strip().partition("/")
        try:
            is_integer = architecture.lower() == INTEGER
            design = integer_unit(instruction) if is_integer else self._find_base(name.strip())
        except DesignError as problem:
            if is_integer:
                raise
            design = self._meant(name, problem)
        if not at:
            return design
        parsed = _parse_settings(settings)
        profile = parsed.pop("as", None)
        if profile is not None:
            if design.architecture == DISCLOSED:
                raise DesignError(f"{design.base_name} states every parameter: no profile says anything about it")
            design = load_disputes().apply(design, profile)
        accumulator = parsed.pop(ACCUMULATOR, None)
        if accumulator is not None:
            design = design.accumulating_in(_format_of(accumulator, design.base_name))
        return design.change(**{n: parse_parameter(n, value) for n, value in parsed.items()}) if parsed else design

    def architecture(self, name: str) -> str:
        """Return the architecture of this name, or of the product or compiler target called so (which is logged).

        Raises DesignError if there is none.
        """
        if name in self.architectures:
            return name
        known = list(self.architectures)
        meant = architecture_of(name, {n: x.targets for n, x in self.architectures.items()})
        if meant is None:
            hint = did_you_mean(name, known)
            raise DesignError(f"unknown architecture {shortened(name)!r}: one of {', '.join(known)}{hint}")
        return meant

    def place(self, text: str) -> str | None:
        """Return the architecture that a text alone names, or the product of one; None if there is none."""
        named = text.strip().lower()
        if named in self.architectures or not named:
            return named or None
        return architecture_of(text, {n: x.targets for n, x in self.architectures.items()})

    def _meant(self, name: str, problem: DesignError) -> Design:
        """Return the design that a person means by a product, a format or a mnemonic; ``problem`` if there is none.

        Raises DesignError with a list where several are meant.
        """
        place, rest = turned(name)
        start = name.lower().find(place)
        architecture = self.place(name[start : start + len(place)])  # as it was written: it is noted so once
        if place and architecture is None:
            raise problem
        here = [x for x in self.designs.values() if architecture in (None, x.architecture)]
        if not place and (alone := self.place(rest)):
            formats = dict.fromkeys(x.a_format.isa_name for x in self.designs.values() if x.architecture == alone)
            raise DesignError(
                f"{shortened(name)!r} has units for {', '.join(formats)}: write one of them, such as "
                f"{rest}/{next(iter(formats))}",
                advice=f"list them with: mmaproof list {alone}",
            )
        words = words_of(rest)
        places = {n for n, x in self.architectures.items() if libraries_run_on(rest, x.targets)}
        found = fitting([x for x in here if x.architecture in places], words) if words else []
        groups: dict[tuple[str, str], Design] = {}
        for x in sorted(found, key=lambda d: (-d.k, d.m, d.n)):
            groups.setdefault((x.architecture, _without_shape(x.instruction)), x)
        if not groups:
            raise problem
        if len(groups) > 1:
            raise DesignError(f"{shortened(name)!r} is ambiguous", choices=told_apart(list(groups.values())))
        return next(iter(groups.values()))

    def _find_base(self, name: str) -> Design:
        if name in self.designs:
            return self.designs[name]
        if name.startswith(f"{DISCLOSED}:"):
            from mmaproof.designs.disclosure import read_disclosure  # noqa: PLC0415  (which asks the catalogue)

            file = name.removeprefix(f"{DISCLOSED}:")
            if not file:
                raise DesignError(f"{name!r} names no file: write {DISCLOSED}:FILE")
            return read_disclosure(Path(file))
        if name.startswith("rtl:"):
            raise DesignError(
                f"{name!r} is the netlist of a unit, and a design of the catalogue is needed here",
                advice="for units there are the commands of: mmaproof rtl",
            )
        architecture, slash, wanted = name.partition("/")
        if not slash or not wanted or not architecture:
            raise DesignError(
                f"{shortened(name)!r} is not a design name: write ARCHITECTURE/INSTRUCTION",
                advice="list them with: mmaproof list designs",
            )
        if architecture not in self.architectures:
            return self._find_base(f"{self.architecture(architecture)}/{wanted}")
        here = [x.partition("/")[2] for x in self.designs if x.startswith(f"{architecture}/")]
        parts = _parts(wanted)
        matches = [self.designs[f"{architecture}/{x}"] for x in here if _is_shortening(parts, _parts(x))]
        if not matches:
            raise DesignError(
                f"{architecture} has no instruction {shortened(wanted)!r}" + did_you_mean(wanted, here),
                advice=f"list them with: mmaproof list {architecture}",
            )
        if len({_without_shape(d.instruction) for d in matches}) > 1:
            candidates = ", ".join(sorted(d.base_name for d in matches))
            raise DesignError(f"{name!r} is ambiguous: {candidates}")
        return min(matches, key=lambda d: (-d.k, d.m, d.n))


def _parse_settings(text: str) -> dict[str, str]:
    """Return the settings of ``parameter=value,...`` as texts by name. Raises DesignError for any other form."""
    parsed: dict[str, str] = {}
    for setting in text.split(","):
        name, equals, value = (x.strip() for x in setting.partition("="))
        if not equals:
            raise DesignError(f"{shortened(setting)!r} is not a parameter setting: write NAME@parameter=value,...")
        if name in parsed:
            raise DesignError(f"parameter {name} is set twice in {text!r}")
        parsed[name] = value
    return parsed


def _format_of(text: str, name: str) -> Format:
    try:
        return find_format(text)
    except InputError as problem:
        raise DesignError(f"{name}: {ACCUMULATOR}: {problem}") from problem


def _parts(instruction: str) -> list[str]:
    return re.split(r"[._]", instruction)


def _is_shortening(wanted: list[str], parts: list[str]) -> bool:
    remaining = iter(parts)
    return all(w in remaining for w in wanted)


def _without_shape(instruction: str) -> str:
    return _BLOCKS.sub("", _SHAPE.sub("", instruction))


CATALOGUE_VARIABLE = "MMAPROOF_CATALOGUE"
"""The environment variable that names the user's own catalogue files, separated as in PATH."""

FILES = (
    *("shared", "nvidia", "amd", "x86", "arm", "riscv", "gaudi"),
    *("paper", "vortex", "tenstorrent", "psp", "sparse", "hexagon", "ascend", "xdna", "ane"),
)
"""The project's own catalogue files, ``designs/data/catalogue/NAME.toml``, in the order in which designs are listed."""


@cache
def load_catalogue() -> Catalogue:
    """Return the project's catalogue together with the files that MMAPROOF_CATALOGUE names.

    Raises CatalogueError if one of the files is wrong.
    """
    named = os.environ.get(CATALOGUE_VARIABLE, "")
    return read_catalogue(*(_folder() / f"{x}.toml" for x in FILES), *(Path(p) for p in named.split(os.pathsep) if p))


def _folder() -> Path:
    """Return the folder of the project's own catalogue files."""
    return Path(str(files("mmaproof.designs") / "data" / "catalogue"))


def find_design(name: str | Design) -> Design:
    """Return the design of the project's catalogue that ``name`` means; see ``Catalogue.find``.

    A design stands for itself, so that a function may take either.

    >>> import mmaproof
    >>> mmaproof.find_design("b200/nvfp4").name
    'blackwell/tcgen05.mma.m128n8k64.block16.f32.e2m1.e2m1.ue4m3'
    """
    return name if isinstance(name, Design) else load_catalogue().find(name)


def read_catalogue(*paths: Path) -> Catalogue:
    """Read catalogue files. A later file may use the architectures and families of the files before it.

    Raises CatalogueError, which names the file, the row and the field that is wrong. What the parameters of a row make
    together is found out here for all files but the project's own: of these a design is made when it is asked for.
    """
    architectures: dict[str, Architecture] = {}
    families: dict[str, _Family] = {}
    designs, own = _Designs(), _folder()

    def add(path: Path, name: str, make: Callable[[], Design]) -> None:
        designs.add(name, make if path.parent == own else make())

    for path in paths:
        data = read_toml(path, CatalogueError)
        for name in data:
            if name not in _TABLES:
                raise CatalogueError(f"{path}: {name}: unknown table: one of {', '.join(_TABLES)}")
        stated = {x.name: x for x in _tables(path, data, "architectures")}
        architectures |= {name: x.architecture() for name, x in stated.items()}
        families |= {x.name: x.family() for x in _tables(path, data, "families")}
        for row in _units(path, data):
            for name, make in row.designs(architectures, families):
                if name in designs:
                    first = designs[name].source
                    raise row.wrong("instructions", f"{name} is listed twice (first as {first!r})")
                add(path, name, make)
        for architecture, table in stated.items():
            for name, make in table.assumed_designs(architectures, designs):
                if name in designs:
                    problem = f"{name} is listed too: {architecture} has rows of its own"
                    raise table.wrong("assumed_like", problem)
                add(path, name, make)
    return Catalogue(designs, architectures)


def _tables(path: Path, data: dict[str, Any], name: str) -> Iterator[_Table]:
    held = data.get(name, {})
    if not isinstance(held, dict):
        raise CatalogueError(f"{path}: {name}: tables are needed, [{name}.NAME]")
    for key, fields in held.items():
        yield _Table(f"{path}: {name}.{key}: ", fields, path, key)


def _units(path: Path, data: dict[str, Any]) -> Iterator[_Table]:
    rows = data.get("unit", [])
    if not isinstance(rows, list):
        raise CatalogueError(f"{path}: unit: written [[unit]], with two brackets, because there may be several")
    if not any(data.values()):
        raise CatalogueError(f"{path}: the file is empty: a catalogue has one [[unit]] at least, or what others share")
    for number, row in enumerate(rows, start=1):
        yield _Table(f"{path}: unit {number}: ", row, path)


class _Table(Fields):
    """A table of a catalogue file. ``name`` is the NAME of [architectures.NAME] or [families.NAME]."""

    ERROR = CatalogueError

    def __init__(self, where: str, held: Any, path: Path, name: str = "") -> None:
        super().__init__(where, held)
        self.path, self.name = path, name

    def architecture(self) -> Architecture:
        """Return the architecture that this table describes."""
        self.only(("title", "targets", "assumed_like", "lacks"), ("title", "targets"))
        if not _NAME.fullmatch(self.name):
            raise CatalogueError(f"{self.where}a name is of letters, digits, '_', '.' and '-'")
        like, lacks = self.text_or_none("assumed_like"), self.texts("lacks")
        return Architecture(self.name, self.text("title"), self.texts("targets"), like, lacks)

    def assumed_designs(
        self, architectures: dict[str, Architecture], designs: Mapping[str, Design]
    ) -> Iterator[tuple[str, Callable[[], Design]]]:
        """Yield the names that this architecture takes over from the one it is like, and what makes the designs."""
        like = architectures[self.name].assumed_like
        if like is None:
            return
        described = [x.name for x in architectures.values() if x.assumed_like is None]
        if like not in described:
            raise self.wrong("assumed_like", f"{like!r} has no rows: one of {', '.join(described)}")
        lacks = architectures[self.name].lacks
        taken = [x.removeprefix(f"{like}/") for x in designs if x.startswith(f"{like}/")]
        if unknown := [x for x in lacks if not any(y.startswith(x) for y in taken)]:
            raise self.wrong("lacks", f"{like} has no instruction {unknown[0]}...")
        for instruction in (x for x in taken if not x.startswith(lacks)):
            yield f"{self.name}/{instruction}", partial(self._assumed, designs, f"{like}/{instruction}")

    def _assumed(self, designs: Mapping[str, Design], name: str) -> Design:
        """Return the design of this name as one of this architecture."""
        design = designs[name]
        row = f"{self.name}/{design.evidence.row.partition('/')[2]}"
        evidence = RowEvidence(row, Evidence(Level.ASSUMED, ""), like=design.architecture)
        source = f"assumed, described by no source: as {name} ({design.source})"
        return replace(design, architecture=self.name, source=source, evidence=evidence)

    def family(self) -> _Family:
        """Return the family that this table describes."""
        self.only(_FAMILY_FIELDS)
        return _Family(self.settings(), self.evidence(), self.path.parent)

    def evidence(self) -> RowEvidence:
        """Return what the parameters of this table rest on, as far as it says."""
        try:
            whole = Evidence.parse(self.text("evidence")) if "evidence" in self.held else None
        except DesignError as error:
            raise self.wrong("evidence", str(error)) from error
        held = self.held.get("evidence_of", {})
        if not isinstance(held, dict) or not all(isinstance(x, str) for x in held.values()):
            raise self.wrong("evidence_of", f'{held!r} is not a table of texts: write {{ nan_code = "assumed: why" }}')
        parameters = {}
        for name, text in held.items():
            try:
                definition(name)
                parameters[name] = Evidence.parse(text)
            except DesignError as error:
                raise self.wrong("evidence_of", f"{name}: {error}") from error
        return RowEvidence(whole=whole, parameters=parameters)

    def settings(self) -> dict[str, Any]:
        """Return the parameters that this table sets, and L_max."""
        found: dict[str, Any] = {"L_max": self.number("L_max")} if "L_max" in self.held else {}
        for name in DEFINITIONS:
            if name in self.held and name != "L":
                try:
                    found[name] = parse_parameter(name, str(self.held[name]))
                except DesignError as error:
                    raise self.wrong(name, str(error)) from error
        return found

    def designs(
        self, architectures: dict[str, Architecture], families: dict[str, _Family]
    ) -> Iterator[tuple[str, Callable[[], Design]]]:
        """Yield the names of a [[unit]] table, one for each instruction and formats, and what makes the designs."""
        self.only((*_ROW_FIELDS, *_ROW_OPTIONAL), _ROW_FIELDS)
        for name, known in (("architecture", architectures), ("family", families)):
            if self.text(name) not in known:
                raise self.wrong(name, f"unknown {self.text(name)!r}: one of {', '.join(known)}")
        family = families[self.text("family")]
        stated = self.settings()
        settings = family.settings | stated
        if "L_max" not in settings:
            raise self.wrong("L_max", "is missing, here and in the family")
        scale = self.format("scale") if "scale" in self.held else None
        block = self.number_or_none("block")
        columns = [self.formats(x) for x in ("a", "b", "c")]
        d = self.format("d")
        if not self.texts("instructions"):
            raise self.wrong("instructions", "no instruction is given: one at least")
        named = [
            (self.instruction(template, signature), signature)
            for template in self.texts("instructions")
            for signature in (Signature(a, b, c, d, scale, block) for a, b, c in itertools.product(*columns))
        ]
        resting = family.evidence if family.folder == self.path.parent else UNSTATED
        evidence = resting.refined(f"{self.text('architecture')}/{named[0][0]}", self.evidence())
        composed = cache(partial(_composed, {x: value for x, value in settings.items() if x != "L_max"}, stated))
        for instruction, signature in named:
            name = f"{self.text('architecture')}/{instruction}"
            yield name, partial(self.design, instruction, signature, settings["L_max"], composed, evidence)

    def instruction(self, template: str, signature: Signature) -> str:
        """Return the instruction that a template spells for the formats of ``signature``."""
        spelled = {f"{{{x}}}": f.isa_name for x, f in zip("abcd", signature.formats, strict=True)}
        if signature.scale is not None:
            spelled["{scale}"] = signature.scale.isa_name
        instruction = re.sub(r"\{[^{}]*\}", lambda found: spelled.get(found[0], found[0]), template)
        if not _NAME.fullmatch(instruction):
            raise self.wrong(
                "instructions",
                f"{template!r}: an instruction is of letters, digits, '_', '.' and '-'; only {{a}} {{b}} {{c}} {{d}} "
                f"and, with scales, {{scale}} are replaced",
            )
        return instruction

    def design(
        self,
        instruction: str,
        signature: Signature,
        most: int,
        composed: Callable[[int], tuple[Chain, Step, dict[str, Any]]],
        evidence: RowEvidence,
    ) -> Design:
        """Return the design of one instruction; ``composed`` returns its step of L products, at most ``most``."""
        shape = _SHAPE.search(instruction)
        if shape is None:
            raise self.wrong("instructions", f"{instruction!r} states no shape such as m16n8k16 or 32x32x8")
        m, n, k = (int(x) for x in shape.groups() if x is not None)
        if selects_half := self.truth("selects_half", default=False):  # the shape counts all elements of b
            k //= 2
        try:
            chain, step, idle = composed(max(min(k, most), 1))
            design = Design(
                self.text("architecture"),
                instruction,
                self.text("family"),
                signature,
                m,
                n,
                k,
                chain,
                step,
                self.text("source"),
                evidence=evidence,
                k_multiple=self.number_or_none("k_multiple"),
                takes_c=self.truth("takes_c", default=True),
                hands_on=self.truth("hands_on", default=True),
                selects_half=selects_half,
            )
        except DesignError as error:
            name = {None: "instructions", "L": "L_max"}.get(error.field, error.field)
            raise self.wrong(str(name), str(error)) from error
        for name, value in idle.items():
            stated = format_parameter(name, value)
            raise self.wrong(name, f"{name} = {stated} has no effect in {instruction} with its other parameters")
        return design


def _composed(parameters: dict[str, Any], stated: dict[str, Any], products: int) -> tuple[Chain, Step, dict[str, Any]]:
    """Return the step of a number of products, and what of ``stated`` has no effect in it."""
    chain, step = compose(parameters | {"L": products})
    held = complete_settings(chain, step)
    return chain, step, {x: value for x, value in stated.items() if x in held and held[x] != value}


INTEGER = "integer"
"""What stands for the architecture in the names of these units."""

_DOT = re.compile(r"dot(?P<products>[1-9]\d{0,3})((?:\.u?(?:int|s)?\d+){4})")


def integer_unit(instruction: str) -> Design:
    """Return the unit of this name, without its architecture. Raises DesignError for a name that says nothing."""
    found = _DOT.fullmatch(instruction.strip().lower())
    if found is None:
        raise DesignError(
            f"{INTEGER}/{instruction}: dotL.D.A.B.C is expected, as {INTEGER}/dot4.int20.int8.int8.int20: the number "
            "of products, and the formats of d, a, b and c, which are intN or uintN with N from 2 to 64"
        )
    products = int(found["products"])
    try:
        d, a, b, c = (find_format(x) for x in found[2].split(".")[1:])
        signature = Signature(a, b, c, d)
        step = IntegerStep(L=products, rho=d.name)
    except InputError as problem:
        raise DesignError(f"{INTEGER}/{instruction}: {problem}") from problem
    name = f"dot{products}." + ".".join(x.name for x in (d, a, b, c))
    return Design(INTEGER, name, "integers", signature, 1, 1, products, Chain(), step, "its name")
