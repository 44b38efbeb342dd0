"""The errors a user of the project can cause; each is also the built-in error a Python caller would expect."""


class MmaproofError(Exception):
    """Base of every error of the project; its text is one line meant for a person."""


class InputError(MmaproofError, ValueError):
    """A value from outside is not acceptable: the text says what it was, what is allowed and what to do."""


class DesignError(InputError):
    """A design name, or a parameter of a design, is unknown, ambiguous or out of range."""


class CatalogueError(InputError):
    """A row of a catalogue file is wrong; the text names the file, the row and the field."""


class OperandError(InputError):
    """A bit pattern or a number of operands does not fit the design."""
