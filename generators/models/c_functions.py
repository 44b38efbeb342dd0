"""The functions of a model in C: their declarations, and the bodies that hold the statements."""

from __future__ import annotations

from dataclasses import dataclass

from mmaproof.designs.formats import Format
from mmaproof.generators.models.c_statements import statements
from mmaproof.generators.models.model import WORDS, Model, storage_bits
from mmaproof.smt.native.lowering import Lowered


@dataclass(frozen=True)
class Pointer:
    """An operand of a function in C: its name, the type of an element, and how many a dot product takes of it."""

    name: str
    type: str
    count: int


def c_type(fmt: Format) -> str:
    """Return the type of C that holds a pattern."""
    return f"uint{storage_bits(fmt)}_t"


def pointers(lowered: Lowered) -> list[Pointer]:
    """Return the operands in the order of the functions: a, b, c, and the scales where there are any."""
    return [Pointer(WORDS.get(x.name, x.name), c_type(x.format), len(x.inputs)) for x in lowered.columns]


def dot_parameters(lowered: Lowered) -> str:
    """Return the parameters of a function for one dot product: elements that lie one after another, and the word c."""
    return ", ".join(f"{p.type} c" if p.name == "c" else f"const {p.type} *{p.name}" for p in pointers(lowered))


def array_parameters(lowered: Lowered) -> str:
    """Return the parameters of a function for many dot products: arrays of operands, then the array d."""
    d = c_type(lowered.design.d_format)
    given = [f"const {p.type} *{p.name}" for p in pointers(lowered)]
    return ", ".join([*given, f"{d} *d"])


def core(lowered: Lowered, name: str, inline: str) -> str:
    """Return the function that all others call: elements of b, and scales of b, are ``stride`` apart."""
    d = c_type(lowered.design.d_format)
    inputs = {
        name: _read(WORDS.get(column.name, column.name), i, column.format)
        for column in lowered.columns
        for i, name in enumerate(column.inputs)
    }
    lines, result = statements(lowered.d, inputs)
    body = "\n".join(f"    {line}" for line in lines)
    return (
        f"{inline} {d} {name}({dot_parameters(lowered)}, size_t stride)\n"
        f"{{\n{body}\n    return {result if d == 'uint32_t' else f'({d}){result}'};\n}}\n"
    )


def _read(column: str, i: int, fmt: Format) -> str:
    """Return the word of an element: bits above the format's are not read."""
    element = {"c": "c", "b": f"b[{i} * stride]", "scale_b": f"scale_b[{i} * stride]"}.get(column, f"{column}[{i}]")
    word = f"(uint{max(storage_bits(fmt), 32)}_t){element}"
    return word if fmt.bits == storage_bits(fmt) else f"{word} & {(1 << fmt.bits) - 1:#x}u"


def core_call(lowered: Lowered, name: str, at: dict[str, str], stride: str) -> str:
    """Return a call of the core, with the expression of each operand."""
    return f"{name}({', '.join(at[p.name] for p in pointers(lowered))}, {stride})"


def cores(model: Model, inline: str) -> str:
    """Return the functions ``NAME_first`` and, where c and d have different formats, ``NAME_later``."""
    parts = [core(model.first, f"{model.name}_first", inline)]
    if model.later is not model.first:
        parts.append(core(model.later, f"{model.name}_later", inline))
    return "\n".join(parts)


def later_name(model: Model) -> str:
    """Return the name of the core of the instructions that follow the first one."""
    return f"{model.name}_{'first' if model.later is model.first else 'later'}"
