"""The picture of a dot product: what a unit does to each bit of it, drawn for a terminal.

Every bit is placed by its weight: the column of weight w holds the bits worth 2**w, in every row and for every
design. ``values`` writes numbers; ``sums`` and ``steps`` read the signals; ``fused_blocks`` and ``list_blocks`` say
what there is to draw of a step, ``words`` what there is to say; ``differences`` compares steps of two designs and
``sections`` puts everything together; ``layout`` says in which columns, all without any styling; ``text`` draws.
Values are exact everywhere: sign, odd significand and power of two, or a bit pattern in hexadecimal; integers are
decimal.
"""

from mmaproof.cli.picture.sections import explain
from mmaproof.cli.picture.text import Picture

__all__ = ["Picture", "explain"]
