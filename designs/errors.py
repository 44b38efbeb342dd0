"""The errors a user of the project can cause; each is also the built-in error a Python caller would expect."""

import difflib
from collections.abc import Sequence


class MmaproofError(Exception):
    """Base of every error of the project; its text is one line meant for a person."""


class InputError(MmaproofError, ValueError):
    """A value from outside is not acceptable: the text says what it was, what is allowed and what to do."""


class DesignError(InputError):
    """A design name, or a parameter of a design, is unknown, ambiguous or out of range.

    ``field`` is what is wrong in the record of a design, as a catalogue file calls it; None where that is not known.
    """

    def __init__(self, text: str, field: str | None = None) -> None:
        super().__init__(text)
        self.field = field


class CatalogueError(InputError):
    """A row of a catalogue file is wrong; the text names the file, the row and the field."""


class OperandError(InputError):
    """A bit pattern or a number of operands does not fit the design."""


class TargetUnavailable(MmaproofError):  # noqa: N818 - named for what happened
    """What should run operands is not here: the text says what is missing and what to install; exit status 3."""


def did_you_mean(text: str, known: Sequence[str]) -> str:
    """Return a hint at the ``known`` names that ``text`` is close to or a part of, after a space; empty without any."""
    whole = [name for name in known if len(text) > 2 and text in name]
    close = whole[:3] or difflib.get_close_matches(text, known, n=3, cutoff=0.5)
    return f" (did you mean {' or '.join(close)}?)" if close else ""
