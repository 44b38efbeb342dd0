"""``when others`` of GHDL's netlists, restored in their Verilog.

GHDL before version 3 writes a ``case`` of a netlist as Verilog without its default (GHDL's issue 2041). Read as it is,
such a ``case`` is a latch, and what the VHDL says about other values is lost. GHDL writes the same netlist as VHDL
with its ``when others``, and names every net of a module alike in both. So the default of a net is taken from there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from mmaproof.designs.errors import InputError

Defaults = Mapping[tuple[str, str], str]
"""(module, net) -> the VHDL expression after which stands ``when others``. Names are in lower case."""

_ARCHITECTURE = re.compile(r"^architecture\s+\S+\s+of\s+(?P<name>\S+)\s+is\b", re.IGNORECASE)
_CHOICE = re.compile(r"^\s*with\s+(?P<select>\S+)\s+select\s+(?P<net>\S+)\s*<=", re.IGNORECASE)
_OTHERS = re.compile(r"^\s*(?P<value>.+?)\s+when\s+others\s*;", re.IGNORECASE)

_MODULE = re.compile(r"^module\s+(?P<name>[^\s(]+)")
_CASE = re.compile(r"^\s*case\s*\(")
_DEFAULT = re.compile(r"^\s*default\s*:")
_ITEM = re.compile(r":\s*(?P<net>\S+)\s*<?=")
_END = re.compile(r"^(?P<indent>\s*)endcase\b")

_LITERAL = re.compile(r"(?P<quote>[\"'])(?P<bits>[01XZUWLH-]+)(?P=quote)", re.IGNORECASE)
_NAME = re.compile(r"[a-z]\w*", re.IGNORECASE)
_OF_VERILOG = str.maketrans("LHUWXZ-lhuwxz", "01xxxzx01xxxz")


def lacks_default(verilog: str) -> bool:
    """Return whether a ``case`` of a netlist that GHDL wrote has no default."""
    lines = verilog.splitlines()
    return sum(map(bool, map(_CASE.match, lines))) > sum(map(bool, map(_DEFAULT.match, lines)))


def with_others(verilog: str, vhdl: str) -> str:
    """Return the Verilog of a netlist with a default in every ``case`` that lacks one.

    ``vhdl`` is the same netlist, as the same GHDL writes it with ``--out=vhdl``. Raises InputError where it does not
    say what the default is.
    """
    return "".join(_restored(verilog, dict(_defaults(vhdl))))


def _defaults(vhdl: str) -> Iterator[tuple[tuple[str, str], str]]:
    module, net = "", ""
    for line in vhdl.splitlines():
        if match := _ARCHITECTURE.match(line):
            module = match["name"].lower()
        elif match := _CHOICE.match(line):
            net = match["net"].lower()
        elif net and (match := _OTHERS.match(line)):
            yield (module, net), match["value"]
            net = ""


def _restored(verilog: str, defaults: Defaults) -> Iterator[str]:
    module, net, inside, has_default = "", "", False, False
    for line in verilog.splitlines(keepends=True):
        if match := _MODULE.match(line):
            module = match["name"].lower()
        elif _CASE.match(line):
            inside, net, has_default = True, "", False
        elif inside and _DEFAULT.match(line):
            has_default = True
        elif inside and (match := _END.match(line)):
            if not has_default:
                yield f"{match['indent']}  default: {net} <= {_of_verilog(module, net, defaults)};\n"
            inside = False
        elif inside and (match := _ITEM.search(line)):
            net = match["net"]
        yield line


def _of_verilog(module: str, net: str, defaults: Defaults) -> str:
    """Return the default of a net as Verilog: a constant or a net."""
    value = defaults.get((module, net.lower()))
    if value is None:
        raise _unreadable(module, net, "does not say")
    literal = _LITERAL.fullmatch(value)
    if literal:
        return f"{len(literal['bits'])}'b{literal['bits'].translate(_OF_VERILOG)}"
    if _NAME.fullmatch(value):
        return value
    raise _unreadable(module, net, f"says in a form that is not read ({value})")


def _unreadable(module: str, net: str, problem: str) -> InputError:
    return InputError(
        f"GHDL writes a case of {module} without its default, and its netlist {problem} what {net} is then: "
        "use GHDL 3 or later, which writes the default"
    )
