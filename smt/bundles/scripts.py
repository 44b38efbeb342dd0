"""SMT-LIB scripts of a bundle, written term by term."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pysmt.fnode import FNode

from mmaproof.smt.solving.query import CONST, SYMBOL, Node, node_of
from mmaproof.smt.solving.smtlib import quoted, sort_text, term_text

_INLINE_CHARACTERS: Final = 60


class Script:
    """The lines of a script. Longer terms have names that begin with $, and are written once."""

    def __init__(self) -> None:
        self.lines = ["(set-logic QF_BV)"]
        self._nodes: list[Node] = []
        self._texts: list[str] = []
        self._positions: dict[FNode, int] = {}

    def declare(self, name: str, width: int) -> None:
        """Declare a symbol."""
        self.lines.append(f"(declare-const {quoted(name)} {sort_text(width)})")

    def define(self, variable: FNode, definition: FNode) -> None:
        """Define a variable as a term of symbols that were declared or defined before."""
        text = self.text(definition)
        node = node_of(variable, self._nodes, self._positions)
        self.lines.append(f"(define-fun {quoted(node.name)} () {sort_text(node.width)} {text})")

    def claim(self, truth: FNode) -> None:
        """Assert a truth value."""
        text = self.text(truth)
        self.lines.append(f"(assert {text})")

    def name(self, term: FNode) -> str:
        """Return the name of a term, which gets one if it has none."""
        text = self.text(term)
        position = self._positions[term]
        if text.startswith(("(", "#")) or text in ("true", "false"):
            text = self._texts[position] = self._named(position, text)
        return text.strip("|")

    def text(self, term: FNode) -> str:
        """Return a term as text. What it needs is written before."""
        pending = [term]
        while pending:
            node = pending[-1]
            missing = [x for x in node.args() if x not in self._positions]
            if missing:
                pending += reversed(missing)
                continue
            pending.pop()
            if node not in self._positions:
                self._take(node)
        return self._texts[self._positions[term]]

    def _take(self, term: FNode) -> None:
        node = node_of(term, self._nodes, self._positions)
        text = term_text(node, self._texts)
        position = self._positions[term] = len(self._nodes)
        self._nodes.append(node)
        if node.operator not in (SYMBOL, CONST) and len(text) > _INLINE_CHARACTERS:
            text = self._named(position, text)
        self._texts.append(text)

    def _named(self, position: int, text: str) -> str:
        self.lines.append(f"(define-fun ${position} () {sort_text(self._nodes[position].width)} {text})")
        return f"${position}"

    def written(self) -> str:
        """Return the script."""
        return "\n".join((*self.lines, ""))


def lemma_script(symbols: Mapping[str, int], asserted: tuple[FNode, ...]) -> str:
    """Return the script that asserts truth values over symbols (name -> width) and asks whether they can hold."""
    script = Script()
    for name, width in symbols.items():
        script.declare(name, width)
    for x in asserted:
        script.claim(x)
    script.lines.append("(check-sat)")
    return script.written()


def definitions_script(symbols: Mapping[str, int], comment: str) -> Script:
    """Return a script that declares operands, to which definitions are added."""
    script = Script()
    script.lines.insert(0, f"; {comment}")
    for name, width in symbols.items():
        script.declare(name, width)
    return script
