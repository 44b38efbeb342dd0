"""The names of signals: what a stage hands to the next, and of which part of the datapath it is."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class SignalKind(Enum):
    """What a signal is. The value is its name, in which {} stands for the part that it belongs to."""

    OPERAND_SIGN = "{}: sign"
    OPERAND_EXPONENT = "{}: exponent"
    OPERAND_SIGNIFICAND = "{}: significand"
    SIGN = "sign of {}"
    EXPONENT = "exponent of {}"
    SIGNIFICAND = "significand of {}"
    PRESENCE = "presence of {}"
    PRODUCT = "product"
    GROUP_SUM = "sum of a group"
    E_MAX = "e_max"
    ALIGNED = "aligned {}"
    SUM = "sum"
    CONVERTED = "converted"
    OVERFLOW = "overflow"
    INFINITY = "infinity"
    NAN = "NaN"
    INFINITY_SIGN = "sign of infinity"
    D = "d"
    PARTIAL_SUM = "partial sum"
    MAXIMUM = "maximum"
    MAGNITUDE = "magnitude"
    RESULT = "result"


class Signal(NamedTuple):
    """A signal by its kind, and the label of the part ``of`` the datapath that it belongs to, where there are several.

    Two runs name corresponding signals alike.
    """

    kind: SignalKind
    of: object = None

    def __str__(self) -> str:
        return self.kind.value.format(self.of)
