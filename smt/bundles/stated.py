"""Lemmas that bounds of products are derived from, as scripts that end with a statement about numbers.

A script names what a unit computes: what is ``kept`` of a term, the result ``d`` of a conversion, or the largest
exponent ``e_max`` of a step. Its last lines say of that name what a derivation uses, and follow from a few numbers
alone (docs/bundle.md). Whoever knows these numbers can write the lines again and compare them.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from pysmt.environment import Environment
from pysmt.fnode import FNode
from pysmt.smtlib.parser import SmtLibParser

from mmaproof.designs.conversions import Rounding
from mmaproof.designs.design import Design
from mmaproof.designs.formats import FORMATS, Format
from mmaproof.smt.algebra.protocol import Word
from mmaproof.smt.algebra.terms import TermAlgebra
from mmaproof.smt.bundles.writing import Script
from mmaproof.smt.proving.cuts import TermShape
from mmaproof.smt.semantics import OperandWords, dot_product_accumulate
from mmaproof.smt.semantics.align import Cut, align
from mmaproof.smt.semantics.convert import Rules, convert
from mmaproof.smt.semantics.fused_sum import FusedSum
from mmaproof.smt.semantics.terms import Term
from mmaproof.smt.solving.query import Query

Record = Mapping[str, Any]
_WHY = {
    "cut": "what is kept of a term is less than a unit from it",
    "rho": "a converted sum is less than a unit in the last place from it",
    "top": "the largest exponent of a step",
}
NAMED = ("fp32", "tf32", "bf16", "fp16", "e5m2", "e4m3")
"""Formats that a statement may be about."""


@dataclass(frozen=True)
class StatedLemma:
    """A lemma: the lines that name what a unit computes, and the kind and the numbers of what is said of it."""

    says: str
    of: Record
    named: tuple[str, ...] = field(repr=False)
    """lines of the script before the statement"""

    @cached_property
    def script(self) -> str:
        """The script: nothing satisfies all that it asserts."""
        return "\n".join((*self.named, *_SAYS[self.says](self.of), "(check-sat)", ""))

    @cached_property
    def asserted(self) -> tuple[FNode, ...]:
        """What the script asserts, as terms of an environment of its own."""
        commands = SmtLibParser(Environment()).get_script(io.StringIO(self.script)).commands
        return tuple(x.args[0] for x in commands if x.name == "assert")

    @cached_property
    def query(self) -> Query:
        """The same as a query."""
        return Query.all_of(self.asserted)

    @property
    def why(self) -> str:
        """What it says, in words."""
        return _WHY[self.says]


class _Naming:
    """The beginning of a script: symbols, and one word of them that has a name."""

    def __init__(self) -> None:
        self.algebra = TermAlgebra(Environment())
        self._script = Script()

    def symbol(self, name: str, width: int) -> Word[FNode]:
        """Declare a symbol."""
        self._script.declare(name, width)
        return self.algebra.symbol(name, width)

    def lines(self, name: str, word: Word[FNode]) -> tuple[str, ...]:
        """Return the lines that declare the symbols and name a word of them."""
        text = self._script.text(word.data)
        return (*self._script.lines, _definition(name, word.width, text))


def cut_lemma(shape: TermShape, cut: Cut) -> StatedLemma:
    """Return that what a cut keeps of a term is less than a unit from it (or at most half), and within a bound."""
    naming = _Naming()
    algebra = naming.algebra
    significand = naming.symbol("significand", shape.significand_width)
    exponent = algebra.twos_complement(naming.symbol("exponent", shape.exponent_width))
    e_max = algebra.twos_complement(naming.symbol("e_max", shape.e_max_width))
    negative, present = (naming.symbol(name, 1).is_value(1) for name in ("negative", "present"))
    term = Term(shape.fraction_bits, negative, exponent, significand, present, shape.largest)
    kept = align(algebra, term, e_max, cut)
    numbers = {
        "significand": shape.significand_width,
        "exponent": shape.exponent_width,
        "e_max": shape.e_max_width,
        "fraction_bits": shape.fraction_bits,
        "cut": cut.fraction_bits,
        "kept": kept.width,
        "largest": shape.largest,
        "bound": cut.bound(shape.largest, shape.fraction_bits),
        "half": cut.rounds_to_nearest,
    }
    return StatedLemma("cut", numbers, naming.lines("kept", kept))


def rho_lemma(rules: Rules, total_width: int, e_max_width: int, fraction_bits: int, largest: int) -> StatedLemma:
    """Return that the conversion of a sum is less than a unit in its last place from it, or at most half of one.

    Nothing is said of a sum above the largest number that the conversion returns.
    """
    naming, rho = _Naming(), rules.rho
    algebra = naming.algebra
    total, e_max = (
        algebra.twos_complement(naming.symbol(name, width))
        for name, width in (("total", total_width), ("e_max", e_max_width))
    )
    zero_negative = naming.symbol("zero_negative", 1).is_value(1)
    d, _ = convert(algebra, rules, total, e_max, fraction_bits, zero_negative)
    numbers = {
        "total": total_width,
        "e_max": e_max_width,
        "cut": fraction_bits,
        "format": rho.target.name,
        "fraction_bits": rho.fraction_bits,
        "largest": largest,
        "half": rho.rounding in (Rounding.RNE, Rounding.RNA),
    }
    return StatedLemma("rho", numbers, naming.lines("d", d))


def top_lemma(design: Design, a: int, b: int, most: int) -> StatedLemma:
    """Return that e_max of one step is at most a number, or the exponent of c, for a and b up to two patterns."""
    naming, length = _Naming(), design.step.L
    (a_format, b_format, c_format, _) = design.formats
    limited = [
        (f"{name}{i}", fmt, pattern)
        for name, fmt, pattern in (("a", a_format, a), ("b", b_format, b))
        for i in range(length)
    ]
    words = [naming.symbol(name, fmt.bits) for name, fmt, _ in limited]
    c = naming.symbol("c", c_format.bits)
    operands = OperandWords(words[:length], words[length:], c, [], [])
    (step,) = dot_product_accumulate(design.one_step(), naming.algebra, operands).steps
    return _top(naming, step.sums[-1], limited, [("c", c_format)], most)


def top_of_sum_lemma(total_of: Callable[..., FusedSum[Any, Any]], fmt: Format) -> StatedLemma:
    """Return that e_max of a sum of two numbers is at most the exponent of one of them, where not both are zero."""
    naming = _Naming()
    x, y = (naming.symbol(name, fmt.bits) for name in "xy")
    total = total_of(naming.algebra, x, y)
    least = -(1 << (total.e_max.width - 1))
    return _top(naming, total, [], [("x", fmt), ("y", fmt)], least)


def _top(
    naming: _Naming,
    total: FusedSum[FNode, FNode],
    limited: Sequence[tuple[str, Format, int]],
    free: Sequence[tuple[str, Format]],
    most: int,
) -> StatedLemma:
    numbers = {
        "e_max": total.e_max.width,
        "most": most,
        "limited": [[name, fmt.name, pattern] for name, fmt, pattern in limited],
        "free": [[name, fmt.name] for name, fmt in free],
    }
    return StatedLemma("top", numbers, naming.lines("e_max", total.e_max))


def _sizes(name: str) -> tuple[int, int, int, int, int]:
    """Return bits of exponent and fraction, lower bits that are not read, bias, and the largest finite magnitude."""
    fmt = FORMATS[name]
    return fmt.exponent_bits, fmt.fraction_bits, fmt.ignored_bits, fmt.bias, fmt.max_finite


def _bits_of(value: int, width: int) -> str:
    """Return a constant of a script."""
    return f"#b{value % (1 << width):0{width}b}"


def _wider(kind: str, bits: int, x: str) -> str:
    """Return a word with more bits."""
    return f"((_ {kind}_extend {bits}) {x})" if bits else x


def _with_zeros(x: str, bits: int) -> str:
    """Return a word with zeros below it."""
    return f"(concat {x} {_bits_of(0, bits)})" if bits else x


def _definition(name: str, width: int, text: str) -> str:
    """Return a line that names a word, or a truth value of width 0."""
    return f"(define-fun {name} () {f'(_ BitVec {width})' if width else 'Bool'} {text})"


def _shift_up_to(name: str, most: int, distance: str, wide: int, width: int) -> list[str]:
    """Return lines that name a shift: a distance of ``wide`` bits, at least 0 and at most ``most``, in ``width``."""
    far, none, own = _bits_of(most, wide), _bits_of(0, wide), most.bit_length()
    near = f"(ite (bvslt {far} {distance}) {far} (ite (bvslt {distance} {none}) {none} {distance}))"
    small = f"((_ extract {own - 1} 0) {name}_near)"
    return [_definition(f"{name}_near", wide, near), _definition(name, width, _wider("zero", width - own, small))]


def _near_by(error: str, unit: str, half: bool) -> str:
    """Return that an error is less than a unit, or at most half of one."""
    if half:
        return f"(and (bvsle (bvadd {error} {error}) {unit}) (bvsle (bvneg {unit}) (bvadd {error} {error})))"
    return f"(and (bvslt {error} {unit}) (bvslt (bvneg {unit}) {error}))"


def _parts_of(name: str, number: str, wide: int) -> list[str]:
    """Return lines that name the biased exponent and the significand of a pattern, and the width of the latter."""
    exponent_bits, fraction_bits, ignored, _, _ = _sizes(number)
    top = ignored + fraction_bits + exponent_bits
    field = f"((_ extract {top - 1} {top - exponent_bits}) {name})"
    subnormal = f"(= {field} {_bits_of(0, exponent_bits)})"
    one = f"(ite {subnormal} {_bits_of(1, exponent_bits)} {field})"
    fraction = f"((_ extract {top - exponent_bits - 1} {ignored}) {name})"
    return [
        _definition(f"{name}_exponent", wide, _wider("zero", wide - exponent_bits, one)),
        _definition(f"{name}_significand", fraction_bits + 1, f"(concat (ite {subnormal} #b0 #b1) {fraction})"),
    ]


def _magnitude_up_to(name: str, number: str, most: int) -> str:
    """Return that the magnitude of a pattern is at most that of another one."""
    exponent_bits, fraction_bits, ignored, _, _ = _sizes(number)
    bits = exponent_bits + fraction_bits
    return f"(bvule ((_ extract {bits + ignored - 1} {ignored}) {name}) {_bits_of(most >> ignored, bits)})"


def _says_cut(p: Record) -> list[str]:
    """Return that what is `kept` of a term is less than a unit from it, and within a bound."""
    w, f, cut, kept = p["significand"], p["fraction_bits"], p["cut"], p["kept"]
    far = w + cut + 1
    wide, width = max(p["exponent"], p["e_max"], far.bit_length()) + 1, kept + f + far + 2
    e_max, exponent = (_wider("sign", wide - p[x], x) for x in ("e_max", "exponent"))
    bound = _bits_of(p["bound"], kept)
    exact = _wider("zero", width - w - cut, _with_zeros("significand", cut))
    value = _wider("sign", width - kept - f, _with_zeros("kept", f))
    zero, none, near = _bits_of(0, w), _bits_of(0, wide), _near_by("error", "unit", p["half"])
    return [
        _definition("distance", wide, f"(ite (= present #b1) (bvsub {e_max} {exponent}) {none})"),
        *_shift_up_to("shift", far, "distance", wide, width),
        _definition("unit", width, f"(bvshl {_bits_of(1 << f, width)} shift)"),
        _definition("exact", width, f"(ite (= negative #b1) (bvneg {exact}) {exact})"),
        _definition("error", width, f"(bvsub (bvshl {value} shift) exact)"),
        f"(assert (bvule significand {_bits_of(p['largest'], w)}))",
        f"(assert (or (not (= present #b1)) (bvsle {exponent} {e_max})))",
        f"(assert (or (= present #b1) (= significand {zero})))",
        f"(assert (not (and {near} (bvsle kept {bound}) (bvsle (bvneg {bound}) kept))))",
    ]


def _says_rho(p: Record) -> list[str]:
    """Return that `d` is less than a unit in its last place from the sum, or that is too large."""
    total, cut = p["total"], p["cut"]
    exponent_bits, f, _, bias, finite = _sizes(p["format"])
    unused, up, down = f - p["fraction_bits"], total + 1, f + 2
    wide = max(p["e_max"], exponent_bits, (bias + f + cut).bit_length(), up.bit_length(), down.bit_length()) + 3
    width = max(total + down, f + 1 + up) + 3
    e_max = _wider("sign", wide - p["e_max"], "e_max")
    above = f"(bvsub d_exponent (bvadd {e_max} {_bits_of(bias + f - cut, wide)}))"
    beside = f"(bvsub {e_max} {_bits_of((finite >> f) - bias - f + cut, wide)})"
    top = (finite & (1 << f) - 1 | 1 << f) >> unused << unused
    largest = _bits_of(p["largest"], total)
    size = f"(ite (bvslt total {_bits_of(0, total)}) (bvneg total) total)"
    number = _wider("zero", width - f - 1, "d_significand")
    sign = f"((_ extract {exponent_bits + f} {exponent_bits + f}) d)"
    alike = f"(or (= d_significand {_bits_of(0, f + 1)}) (= {sign} (ite (bvslt total {_bits_of(0, total)}) #b1 #b0)))"
    kept = [alike, f"(= ((_ extract {unused - 1} 0) d) {_bits_of(0, unused)})"] if unused else [alike]
    near = _near_by("error", "unit", p["half"])
    return [
        *_parts_of("d", p["format"], wide),
        _definition("above", wide, above),
        *_shift_up_to("up", up, "above", wide, width),
        *_shift_up_to("down", down, "(bvneg above)", wide, width),
        _definition("size", width, _wider("zero", width - total, size)),
        _definition("unit", width, f"(bvshl {_bits_of(1 << unused, width)} up)"),
        _definition("error", width, f"(bvsub (bvshl {number} up) (bvshl size down))"),
        _definition("beside", wide, beside),
        *_shift_up_to("beyond", down, "beside", wide, width),
        *_shift_up_to("within", up, "(bvneg beside)", wide, width),
        _definition("large", 0, f"(bvult (bvshl {_bits_of(top, width)} within) (bvshl size beyond))"),
        f"(assert (and (bvsle total {largest}) (bvsle (bvneg {largest}) total)))",
        f"(assert (not (or large (and {' '.join([_magnitude_up_to('d', p['format'], finite), near, *kept])}))))",
    ]


def _says_top(p: Record) -> list[str]:
    """Return that `e_max` is a constant or the exponent of a free number at most."""
    widths = [p["e_max"], *(_sizes(number)[0] for _, number in p["free"]), int(p["most"]).bit_length()]
    wide = max(widths) + 2
    e_max = _wider("sign", wide - p["e_max"], "e_max")
    lines = [line for name, number in p["free"] for line in _parts_of(name, number, wide)]
    lines += [f"(assert {_magnitude_up_to(*x)})" for x in p["limited"]]
    lines += [f"(assert {_magnitude_up_to(name, number, _sizes(number)[4])})" for name, number in p["free"]]
    own = [f"(bvsub {name}_exponent {_bits_of(_sizes(number)[3], wide)})" for name, number in p["free"]]
    reached = " ".join(f"(bvsle {e_max} {x})" for x in [_bits_of(p["most"], wide), *own])
    lines.append(f"(assert (not (or {reached})))")
    return lines


_SAYS: Mapping[str, Callable[[Record], list[str]]] = {"cut": _says_cut, "rho": _says_rho, "top": _says_top}
