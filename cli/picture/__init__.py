"""The picture of a dot product: what a unit does to each bit of it, drawn for a terminal.

Every bit is placed by its weight: the column of weight w holds the bits worth 2**w, in every row and for every
design. ``values`` writes numbers, ``steps`` reads the signals, ``blocks`` says what there is to draw of a step and
``layout`` in which columns, all without any styling; ``text`` draws. Values are exact everywhere: sign, odd
significand and power of two, or a bit pattern in hexadecimal.
"""

from mmaproof.cli.picture.text import Picture, explain

__all__ = ["Picture", "explain"]
