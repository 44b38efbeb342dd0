"""The query as an SMT-LIB 2 script, for people and for solvers outside this project."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from mmaproof.smt.solving.operators import TRUTH
from mmaproof.smt.solving.query import CONST, SYMBOL, Node, Query, to_hexadecimal

# A term that is used once is written where it is used, as long as it stays readable. Every other term gets a name, so
# that neither people nor parsers meet deep nesting.
_INLINE_CHARACTERS: Final = 80
_SIMPLE = re.compile(r"[A-Za-z~!$%^&*_+=<>?/-][A-Za-z0-9~!@$%^&*_+=<>.?/-]*", re.ASCII)
_INDEXED: Final = frozenset({"extract", "rotate_left", "rotate_right", "zero_extend", "sign_extend"})
# Words that a script may not use as plain symbols.
_RESERVED: Final = frozenset(
    {"!", "_", "as", "BINARY", "DECIMAL", "exists", "HEXADECIMAL", "forall", "let", "match", "NUMERAL", "par"}
    | {"STRING", "true", "false", "assert", "check-sat", "declare-const", "define-fun", "set-logic", "and", "or"}
    | {"not", "ite", "xor", "distinct", "concat", "extract", "Bool", "BitVec", "=>", "="}
)


def to_smtlib(query: Query, *, comments: Sequence[str] = ()) -> str:
    """Return a script that declares the symbols, asserts the query, and asks for satisfiability and a model.

    The script is printable ASCII. ``comments`` become comment lines at the top, other characters in them escapes. In
    names of symbols, characters that SMT-LIB cannot write (``|``, the backslash, all but printable ASCII) or reserves
    for solvers (``@`` or ``.`` at the beginning) are percent-encoded. So is the percent sign.
    """
    lines = [f"; {plain(line)}" for comment in comments for line in comment.splitlines()]
    lines += ["(set-logic QF_BV)", *asserted(query), "(check-sat)"]
    if query.symbols:
        # a name in bars at the beginning of a list reads as an operator in bundles
        names = sorted(map(quoted, query.symbols), key=lambda name: name.startswith("|"))
        lines.append(f"(get-value ({' '.join(names)}))")
    return "\n".join(lines) + "\n"


def asserted(query: Query) -> list[str]:
    """Return the commands that declare the symbols and assert the query, one for each line of a script."""
    uses = Counter(position for node in query.nodes for position in node.operands)
    prefix = _unused_prefix(query)
    lines = [f"(declare-const {quoted(name)} {sort_text(width)})" for name, width in query.symbols.items()]
    terms: list[str] = []
    for position, node in enumerate(query.nodes):
        term = term_text(node, terms)
        leaf = node.operator in (SYMBOL, CONST)
        if not leaf and (uses[position] > 1 or len(term) > _INLINE_CHARACTERS):
            lines.append(f"(define-fun {prefix}{position} () {sort_text(node.width)} {term})")
            term = f"{prefix}{position}"
        terms.append(term)
    return [*lines, f"(assert {terms[-1]})"]


def term_text(node: Node, terms: Sequence[str]) -> str:
    """Return a node as a term of SMT-LIB. ``terms`` are the texts of the nodes before it."""
    if node.operator == SYMBOL:
        return quoted(node.name)
    if node.operator == CONST:
        return _constant(node.value, node.width)
    operator = "=" if node.operator == "iff" else node.operator
    if operator in _INDEXED:
        operator = f"(_ {operator} {' '.join(map(str, node.indices))})"
    return f"({operator} {' '.join(terms[position] for position in node.operands)})"


def _constant(value: int, width: int) -> str:
    if width == TRUTH:
        return "true" if value else "false"
    # A hexadecimal digit has four bits. Other widths can only be written in binary.
    return f"#{to_hexadecimal(value, width)[1:]}" if width % 4 == 0 else f"#b{value:0{width}b}"


def sort_text(width: int) -> str:
    """Return the sort of words of N bits; 0 for truth values."""
    return "Bool" if width == TRUTH else f"(_ BitVec {width})"


def quoted(name: str) -> str:
    """Return the name of a symbol as scripts have it."""
    name = "".join(_encoded(character, first=position == 0) for position, character in enumerate(name))
    plain = _SIMPLE.fullmatch(name) and name not in _RESERVED and not name.startswith("bv")
    return name if plain else f"|{name}|"


def _encoded(character: str, *, first: bool) -> str:
    if " " <= character <= "~" and character not in "|\\%" and not (first and character in "@."):
        return character
    return "".join(f"%{byte:02X}" for byte in character.encode(errors="surrogatepass"))


def plain(text: str) -> str:
    """Return a line of a comment with escapes in the place of all but printable ASCII."""
    return "".join(x if " " <= x <= "~" else ascii(x)[1:-1] for x in text)


def _unused_prefix(query: Query) -> str:
    """Return a prefix for the names of terms that no symbol of the query has."""
    prefix = "t"
    while any(name.startswith(prefix) for name in query.symbols):
        prefix += "_"
    return prefix
