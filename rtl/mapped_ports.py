"""Ports of a module as operands: their formats, their elements, what is tied, and that each bit has one role."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from mmaproof.designs.circuit import Bit, Bits
from mmaproof.designs.errors import InputError
from mmaproof.designs.formats import Format, find_format
from mmaproof.designs.signature import Signature
from mmaproof.rtl.netlist import Module, Port, with_constants
from mmaproof.rtl.slices import bits_of, constant_of
from mmaproof.rtl.unit_file import NEXT, REG, STEERING, UnitFile
from mmaproof.rtl.views import View

_SHORT = {"scale_a": "sa", "scale_b": "sb"}


def fixed_operands(file: UnitFile, signature: Signature) -> dict[str, int]:
    """Return the pattern of each element of operands that the unit does not have.

    Raises InputError for a constant that is not one of the operand's format.
    """
    found = {} if file.adds_c or "c" in file.fixed else {"c": 0}
    for name, text in file.fixed.items():
        found[name] = constant_of(text, getattr(signature, name).bits, f"{file.path}: [ports] {name}")
    return found


def latency_of(file: UnitFile, inputs: Mapping[str, Bits]) -> dict[str, int]:
    """Return how many registers each input is to have on its paths to d; none for those that are held.

    An operand that is a register has none. Raises InputError where a table of the file leaves an operand out.
    """
    clock = file.clock
    stated = 0 if clock is None or clock.latency is None else clock.latency
    found: dict[str, int] = {}
    for operand in file.ports:
        if operand == "d" or (clock is not None and operand in clock.held):
            continue
        names, where = elements_among(inputs, operand), f"{file.path}: [clock] latency: {operand}"
        if not isinstance(stated, int) and operand in stated:
            each = stated[operand]
        elif file.is_register(operand):
            each = 0
        elif isinstance(stated, int):
            each = stated
        else:
            raise InputError(f"{where}: how many registers its paths to d have is not stated, and it is not held")
        if isinstance(each, tuple) and len(each) != len(names):
            raise InputError(f"{where}: {len(each)} numbers, and it has {len(names)} elements")
        found |= dict.fromkeys(names, each) if isinstance(each, int) else dict(zip(names, each, strict=True))
    return found


def signature_of(file: UnitFile, given: Signature | None) -> Signature:
    """Return the formats of the file, and those of ``given`` where it has none."""
    found: dict[str, Format] = {}
    for name in "abcd":
        if name in file.formats:
            found[name] = _format(file, name)
        elif name == "d" and "c" in file.formats and file.accumulates:
            found[name] = found["c"]
        elif given is not None:
            found[name] = getattr(given, name)
        elif name == "c" and not file.adds_c and "d" in file.formats:
            found[name] = _format(file, "d")
        else:
            raise InputError(f"{file.path}: [formats] {name}: its format is not stated, and no design is given")
    has_scales = "scale_a" in file.ports
    scale = _format(file, "scale") if "scale" in file.formats else (given.scale if given else None)
    block = file.block or (given.block if given else None)
    if has_scales and (scale is None or block is None):
        raise InputError(f"{file.path}: scales need a format ([formats] scale) and a block length (block)")
    if not has_scales and scale is not None:
        raise InputError(f"{file.path}: [ports]: there are scales: state scale_a and scale_b")
    block = block if has_scales else None
    signature = Signature(found["a"], found["b"], found["c"], found["d"], scale, block)
    for key, misfit in signature.misfits():
        raise InputError(f"{file.path}: [formats] {key}: {misfit}")
    return signature


def _format(file: UnitFile, name: str) -> Format:
    try:
        return find_format(file.formats[name])
    except InputError as problem:
        raise InputError(f"{file.path}: [formats] {name}: {problem}") from problem


def check_control(file: UnitFile, signature: Signature) -> None:
    """Raise InputError where registers are operands of a unit of several passes, or nothing is there to be steered."""
    texts = [text for key in file.ports for text in file.texts(key)]
    uses = any(REG in x or NEXT in x for x in texts)
    if uses and (file.clock is None or file.clock.cycles is not None):
        raise InputError(f"{file.path}: [clock]: the clock of a register that is c or d, and no cycles, is expected")
    if (file.control.signals or file.control.drain_to) and not file.accumulates:
        raise InputError(
            f'{file.path}: [control]: is of a register that is both c and d: c = "{REG}NAME" and d = "{NEXT}NAME"'
        )
    if file.accumulates and file.view and (set(file.view) & set("cd") != set("cd") or file.control.load):
        raise InputError(
            f"{file.path}: [view]: of a register that is c and d both c and d need one, and it has no load"
        )
    for role in STEERING:
        if file.later(role) and role not in file.control.signals:
            raise InputError(f"{file.path}: [clock] latency: {role}: [control] has no {role}")
    if file.accumulates and signature.c != signature.d:
        raise InputError(
            f"{file.path}: [formats] d: {signature.d.name}, and c, which is the same register, {signature.c.name}"
        )


def with_tied(file: UnitFile, module: Module) -> tuple[Module, list[str]]:
    """Return the module with the tied ports as constants, and what was tied."""
    ports = module.facing("input")
    constants: dict[Bit, Bit] = {}
    said = []
    for expression, value in file.tied.items():
        where = f"{file.path}: [tied] {expression}"
        bits = bits_of(expression, ports, where)
        number = constant_of(value, len(bits), where)
        for position, bit in enumerate(bits):
            if bit in constants or isinstance(bit, str):
                raise InputError(f"{where}: these bits are tied twice, or steer a register and are tied")
            constants[bit] = "1" if number >> position & 1 else "0"
        said.append(f"{expression} = {value}")
    return with_constants(module, constants), said


def elements_of(file: UnitFile, key: str, fmt: Format, ports: Mapping[str, Port], count: int | None) -> list[Bits]:
    """Return the bits of each element of an operand, the lowest first."""
    stated, is_d = file.ports[key], key == "d"
    where = f"{file.path}: [ports] {key}"
    if isinstance(stated, str):
        bits = bits_of(stated, ports, where, result=is_d)
        if len(bits) % fmt.bits or not bits:
            raise InputError(f"{where}: {stated} has {len(bits)} bits, and {fmt.name} has {fmt.bits}")
        found = [bits[i : i + fmt.bits] for i in range(0, len(bits), fmt.bits)]
    else:
        found = [bits_of(x, ports, f"{where}[{i}]", result=is_d) for i, x in enumerate(stated)]
        for i, bits in enumerate(found):
            if len(bits) not in (fmt.bits, fmt.bits - fmt.ignored_bits):
                others = f" ({fmt.bits - fmt.ignored_bits} without those ignored)" if fmt.ignored_bits else ""
                raise InputError(
                    f"{where}[{i}]: {stated[i]} has {len(bits)} bits, and {fmt.name} has {fmt.bits}{others}"
                )
    if count is not None and len(found) != count:
        raise InputError(f"{where}: {len(found)} elements of {fmt.name}, and {count} are expected")
    return found


def nets_of_operands(
    file: UnitFile,
    signature: Signature,
    module: Module,
    ports: Mapping[str, Port],
    loads: bool,
    unread: Iterator[int],
) -> tuple[dict[str, Bits], int, Bits]:
    """Return the nets of every operand by its name, how many products there are, and the bits of registers.

    Where c ``loads``, it is what is loaded. ``unread`` are nets that nothing reads. Of a c that is a sum of words there
    is the first one.
    """
    if {"a", "b"} <= file.fixed.keys():
        raise InputError(f"{file.path}: [ports] a: a and b cannot both be constants")
    of = {"a": signature.a, "b": signature.b}
    columns: dict[str, list[Bits]] = {}
    for key in sorted(of, key=lambda x: x in file.fixed):
        expected = len(next(iter(columns.values()))) if columns else None
        columns[key] = (
            [tuple(islice(unread, of[key].bits)) for _ in range(expected or 0)]
            if key in file.fixed
            else elements_of(file, key, of[key], ports, expected)
        )
    # ignored bits that the unit has no ports for are nets that nothing reads
    found = {
        f"{key}{i}": (*islice(unread, of[key].bits - len(bits)), *bits)
        for key in of
        for i, bits in enumerate(columns[key])
    }
    count = len(columns["a"])
    terms = [x for _, x in words_of(file, "c", signature.c, ports)] if file.adds_c and "c" not in file.view else []
    terms = [joined_words(file, "c", ports, signature.c.bits)] if "c" in file.view else terms
    found["c"] = terms[0] if terms else tuple(islice(unread, signature.c.bits))
    if signature.scale is not None and signature.block is not None:
        if count % signature.block:
            raise InputError(f"{file.path}: block: {signature.block} does not divide the {count} products")
        for key, short in (("scale_a", "sa"), ("scale_b", "sb")):
            scales = elements_of(file, key, signature.scale, ports, count // signature.block)
            found |= {f"{short}{i}": bits for i, bits in enumerate(scales)}
    registers = {bit for x in module.registers.values() for bit in x.bits}
    fixed_operands(file, signature)
    stored = tuple(bit for bits in (*found.values(), *terms[1:]) for bit in bits if bit in registers)
    if loads and file.control.load_from is not None:
        where = f"{file.path}: [control] load_from"
        found["c"] = bits_of(file.control.load_from, ports, where)
        if len(found["c"]) != signature.c.bits:
            raise InputError(f"{where}: {len(found['c'])} bits, and {signature.c.name} has {signature.c.bits}")
    return found, count, stored


def words_of(file: UnitFile, key: str, fmt: Format, ports: Mapping[str, Port]) -> list[tuple[str, Bits]]:
    """Return the words of which c or d is the sum, by what they are called; that is itself if it is one word.

    Of c the first has no constants: what the others may hold is free, and it is what is left of c then.
    """
    texts = file.texts(key)
    if len(texts) == 1:
        return [(texts[0], elements_of(file, key, fmt, ports, 1)[0])]
    where = f"{file.path}: [ports] {key}"
    if not fmt.is_integer:
        raise InputError(f"{where}: {len(texts)} words, whose sum is an integer, and {fmt.name} is none: one is needed")
    found = [(x, bits_of(x, ports, f"{where}[{i}]", result=True)) for i, x in enumerate(texts)]
    for i, (text, bits) in enumerate(found):
        if len(bits) != fmt.bits:
            raise InputError(f"{where}[{i}]: {text} has {len(bits)} bits, and {fmt.name} has {fmt.bits}")
        if key == "c" and not i and any(isinstance(bit, str) for bit in bits):
            raise InputError(f"{where}[0]: {text}: the first word of a sum has no constants: put it after another")
    return found


def format_of_words(file: UnitFile, operand: str, view: View) -> Format:
    """Return the format of the words that stand for an operand."""
    words = view.given if operand == "d" else view.result
    if not 2 <= len(words) <= 64:
        raise InputError(f"{file.path}: [view] {operand}: words of {len(words)} bits, and from 2 to 64 are covered")
    return find_format(f"uint{len(words)}")


def joined_words(file: UnitFile, key: str, ports: Mapping[str, Port], width: int) -> Bits:
    """Return the bits of the words of an operand, of which the first is the highest. Raises InputError."""
    where = f"{file.path}: [ports] {key}"
    parts = [bits_of(x, ports, where, result=key == "d") for x in file.texts(key)]
    found: Bits = tuple(bit for bits in reversed(parts) for bit in bits)
    if len(found) != width:
        raise InputError(f"{where}: {len(found)} bits, and module {file.view[key]} of [view] has {width}")
    return found


def check_complete(file: UnitFile, module: Module, inputs: Mapping[str, Bits], free: Mapping[str, Bits]) -> None:
    """Raise InputError where a bit has two roles, or an input none."""
    roles: dict[Bit, str] = {}
    for name, bits in (*inputs.items(), *free.items()):
        for bit in bits:
            if isinstance(bit, str):
                raise InputError(f"{file.path}: {name}: one of its bits is tied")
            if bit in roles:
                raise InputError(f"{file.path}: a bit of a port is both {roles[bit]} and {name}")
            roles[bit] = name
    clock = () if file.clock is None else (file.clock.port, file.clock.reset)
    for port in module.ports.values():
        missing = [i for i, bit in enumerate(port.bits) if isinstance(bit, int) and bit not in roles]
        if port.direction == "input" and port.name not in clock and missing:
            what = port.name if len(missing) == len(port.bits) else f"{port.name}[{port.index(missing[0])}]"
            raise InputError(
                f"{file.path}: input {what} ({len(port.bits)} bit{'s' * (len(port.bits) != 1)}) is not an operand: "
                "map it under [ports], tie it under [tied], or list it as free, if it must not matter"
            )


def elements_among(inputs: Mapping[str, Bits], operand: str) -> dict[str, Bits]:
    """Return the elements of an operand among the inputs, in order."""
    name = re.compile(rf"{_SHORT.get(operand, operand)}\d*")
    return {n: bits for n, bits in inputs.items() if name.fullmatch(n)}


def all_bits(inputs: Mapping[str, Bits]) -> set[Bit]:
    """Return the bits of all inputs."""
    return {bit for bits in inputs.values() for bit in bits}


def mapped(file: UnitFile, tied: Sequence[str]) -> dict[str, str]:
    """Return what the file says about ports, as a text for each."""
    found = {x: ", ".join(file.texts(x)) for x in file.ports}
    return found | ({"tied": ", ".join(tied)} if tied else {}) | ({"free": ", ".join(file.free)} if file.free else {})
