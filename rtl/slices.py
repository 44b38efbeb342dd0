"""Slices and concatenations of ports, as Verilog writes them: ``a``, ``a[3]``, ``a[15:0]``, ``{b_sign[3], b[7:1]}``."""

from __future__ import annotations

import re
from collections.abc import Mapping

from mmaproof.designs.circuit import Bits
from mmaproof.designs.errors import InputError, did_you_mean
from mmaproof.rtl.netlist import Port

_SLICE = re.compile(r"\s*(?P<name>\\\S+ |[A-Za-z_][\w$.]*)\s*(?:\[\s*(?P<left>\d+)\s*(?::\s*(?P<right>\d+)\s*)?\])?\s*")
_CONSTANT = re.compile(r"\s*(?P<width>\d+)'(?P<base>[bodhBODH])(?P<digits>[0-9a-fA-F_]+)\s*")
_BASES = {"b": 2, "o": 8, "d": 10, "h": 16}


def bits_of(expression: str, ports: Mapping[str, Port], where: str) -> Bits:
    """Return the bits of an expression, the lowest first. Raises InputError, which begins with ``where``."""
    text = expression.strip()
    if text.startswith("{") and text.endswith("}"):
        parts = [bits_of(part, ports, where) for part in text[1:-1].split(",")]
        return tuple(bit for part in reversed(parts) for bit in part)
    found = _SLICE.fullmatch(text)
    if found is None:
        raise InputError(f"{where}: {expression!r} is no port, slice or concatenation, such as a[15:0] or {{x[3], y}}")
    name = found["name"].strip()
    if name not in ports:
        hint = did_you_mean(name, list(ports)) or f"; there are {', '.join(ports) or 'none'}"
        raise InputError(f"{where}: there is no port {name}{hint}")
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


def constant_of(value: int | str, width: int, where: str) -> int:
    """Return the value to which so many bits are tied. Raises InputError for a text or a width that does not fit."""
    if isinstance(value, int):
        if value >> width:
            raise InputError(f"{where}: {value} does not fit {width} bits")
        return value
    found = _CONSTANT.fullmatch(value)
    if found is None:
        raise InputError(f"{where}: {value!r} is no constant such as 3'b001 or 8'h1f")
    try:
        number = int(found["digits"].replace("_", ""), _BASES[found["base"].lower()])
    except ValueError as problem:
        raise InputError(f"{where}: {value!r} has digits that its base does not have") from problem
    if int(found["width"]) != width or number >> width:
        raise InputError(f"{where}: {value!r} does not have the {width} bits of the port")
    return number
