"""Slices and concatenations of ports, as Verilog writes them: ``a``, ``a[3]``, ``a[15:0]``, ``{b_sign[3], b[7:1]}``.

``reg:acc`` is what a register holds, and ``next:acc`` what it will hold; its name is that after elaboration, such as
``reg:rows[0].pe.acc[31:0]``.

Of a result there are constants and repetitions, too, which make a narrow port as wide as a format: ``{{8{d[23]}}, d}``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from mmaproof.designs.circuit import Bit, Bits
from mmaproof.designs.errors import InputError, did_you_mean
from mmaproof.rtl.netlist import Port
from mmaproof.rtl.unit_file import UnitFile


def unpacked_dimensions(folder: Path, sources: Sequence[str], top: str, port: str) -> list[str]:
    """Return the unpacked dimensions of a port, as the header of its module writes them, without brackets."""
    for source in sources:
        text = (folder / source).read_text(encoding="utf-8", errors="replace")
        text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL)
        header = re.search(rf"\bmodule\s+{re.escape(top)}\b(.*?);", text, re.DOTALL)
        if header is not None:
            found = re.search(rf"\b{re.escape(port)}\s*((?:\[[^\]]*\]\s*)*)(?=[,)=;]|$)", header[1])
            return [] if found is None else re.findall(r"\[([^\]]*)\]", found[1])
    return []


def is_descending(dimension: str) -> bool | None:
    """Return whether the first bound is the larger one; None if that is not plain from the text."""
    first, colon, last = (x.strip() for x in dimension.partition(":"))
    if not colon or first == "0":
        return False
    if last == "0":
        return True
    return int(first) > int(last) if first.isdigit() and last.isdigit() else None


def ascending_ports(file: UnitFile) -> Iterator[tuple[str, str]]:
    """Yield the columns of operands that are mapped to a whole unpacked port that ascends, with its range.

    Such a port is declared as ``a [4]`` or as ``a [0:3]``: as one word, its first element is the highest.
    """
    for operand, stated in file.ports.items():
        if operand in ("c", "d") or not isinstance(stated, str) or not stated.strip().isidentifier():
            continue
        dimensions = unpacked_dimensions(file.folder, file.sources, file.top, stated.strip())
        if len(dimensions) == 1 and is_descending(dimensions[0]) is False:
            yield operand, f"[{dimensions[0].strip()}]"


_SLICE = re.compile(
    r"\s*(?P<name>(?:reg|next):[^\s,{}]+?|\\\S+ |[A-Za-z_][\w$.]*(?:\[\d+\]\.[\w$.]+)*)\s*"
    r"(?:\[\s*(?P<left>\d+)\s*(?::\s*(?P<right>\d+)\s*)?\])?\s*"
)
_CONSTANT = re.compile(r"\s*(?P<width>\d+)'(?P<base>[bodhBODH])(?P<digits>[0-9a-fA-F_]+)\s*")
_REPEATED = re.compile(r"\{\s*(?P<count>[1-9]\d{0,3})\s*(?P<of>\{[^{}]*\})\s*\}")
MOST_NAMES = 40
"""Names that a message lists."""
_BASES = {"b": 2, "o": 8, "d": 10, "h": 16}


def bits_of(expression: str, ports: Mapping[str, Port], where: str, *, result: bool = False) -> Bits:
    """Return the bits of an expression, the lowest first. Raises InputError, which begins with ``where``.

    Only a ``result`` may have constants and repetitions.
    """
    text = expression.strip()
    if text.startswith("{") and text.endswith("}"):
        repeated = _REPEATED.fullmatch(text)
        if result and repeated is not None:
            return bits_of(repeated["of"], ports, where, result=True) * int(repeated["count"])
        parts = [bits_of(part, ports, where, result=result) for part in _parts(text[1:-1])]
        return tuple(bit for part in reversed(parts) for bit in part)
    constant = _CONSTANT.fullmatch(text)
    if result and constant is not None:
        width = int(constant["width"])
        number = constant_of(text, width, where)
        return tuple("1" if number >> i & 1 else "0" for i in range(width))
    found = _SLICE.fullmatch(text)
    if found is None:
        raise InputError(
            f"{where}: {expression!r} is not a port, slice or concatenation, such as a[15:0] or {{x[3], y}}"
        )
    name = found["name"].strip()
    if text in ports:  # an element of an array of registers is a register with brackets in its name
        return ports[text].bits
    if name not in ports:
        kind = name.partition(":")[0] + ":" if ":" in name else ""
        known = [x for x in ports if x.startswith(kind) and (kind or ":" not in x)]
        hint = did_you_mean(name, known) or f"; there are {', '.join(known[:MOST_NAMES]) or 'none'}"
        more = f" and {len(known) - MOST_NAMES} more; `mmaproof show` lists registers" * (len(known) > MOST_NAMES)
        kept = "; registers that no output depends on are removed" if kind else ""
        raise InputError(f"{where}: there is no {'register' if kind else 'port'} {name}{hint}{more}{kept}")
    port = ports[name]
    if found["left"] is None:
        return port.bits
    left = port.position(int(found["left"]))
    right = port.position(int(found["right"])) if found["right"] is not None else left
    if not 0 <= right <= left < len(port.bits):
        raise InputError(
            f"{where}: {text} is not within port {name} of {len(port.bits)} bits, which are {port.declared}"
        )
    return port.bits[right : left + 1]


def _parts(text: str) -> list[str]:
    """Return what commas separate, those within braces aside."""
    parts, depth = [""], 0
    for character in text:
        depth += (character == "{") - (character == "}")
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def one_bit(expression: str, ports: Mapping[str, Port], where: str) -> Bit:
    """Return the bit of an expression that has one. Raises InputError, also for one that has several."""
    bits = bits_of(expression, ports, where)
    if len(bits) != 1:
        raise InputError(f"{where}: {expression} has {len(bits)} bits, and one is expected")
    return bits[0]


def constant_of(value: int | str, width: int, where: str) -> int:
    """Return the value to which N bits are tied. Raises InputError for a text or a width that does not fit."""
    if isinstance(value, int):
        if value >> width:
            raise InputError(f"{where}: {value} does not fit {width} bits")
        return value
    found = _CONSTANT.fullmatch(value)
    if found is None:
        raise InputError(f"{where}: {value!r} is not a constant such as 3'b001 or 8'h1f")
    try:
        number = int(found["digits"].replace("_", ""), _BASES[found["base"].lower()])
    except ValueError as problem:
        raise InputError(f"{where}: {value!r} has digits that its base does not have") from problem
    if int(found["width"]) != width or number >> width:
        raise InputError(f"{where}: {value!r} does not have the {width} bits of the port")
    return number
