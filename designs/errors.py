"""The errors that a user can cause. Each is also the built-in error that a Python caller would expect."""

import difflib
from collections.abc import Sequence


class MmaproofError(Exception):
    """The base of all errors that a user can cause. Its text is one line for a person."""


class InputError(MmaproofError, ValueError):
    """A value from outside is not acceptable. The text gives the value, what is allowed and what to do."""


class DesignError(InputError):
    """The name or a parameter of a design is unknown, ambiguous or out of range.

    ``field`` is the field of a catalogue row that is wrong; None if that is not known. ``problem`` is the text without
    the ``advice`` for whoever has a command line. ``choices`` are names that an ambiguous one may mean, with what
    each of them is; a command prints a line for each.
    """

    def __init__(self, text: str, field: str | None = None, advice: str = "", choices: Sequence[str] = ()) -> None:
        super().__init__(f"{text}: {'; '.join(choices)}" if choices else f"{text}; {advice}" if advice else text)
        self.problem, self.field, self.choices = text, field, tuple(choices)


class CatalogueError(InputError):
    """A row of a catalogue file is wrong. The text names the file, the row and the field."""


class OperandError(InputError):
    """A bit pattern or a number of operands does not fit the design."""


class TargetUnavailable(MmaproofError):  # noqa: N818 - named for what happened
    """A target or service is not available. The text says what is missing and what to do. The exit status is 3."""


class EmulationError(InputError, NotImplementedError):
    """A product of another library cannot be computed on the design. The text says which, why, and what to do."""


LONGEST_NAME = 100
"""Characters of a name that an error repeats."""


def shortened(name: str) -> str:
    """Return a name as an error repeats it: what is longer than any name is cut."""
    return name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}..."


def did_you_mean(text: str, known: Sequence[str]) -> str:
    """Return a hint at the ``known`` names that ``text`` is close to or a part of.

    The hint begins with a space. It is empty if there is no such name.
    """
    whole = [name for name in known if len(text) > 2 and text in name]
    close = whole[:3] or difflib.get_close_matches(text, known, n=3, cutoff=0.65)
    return f" (did you mean {' or '.join(close)}?)" if close else ""
