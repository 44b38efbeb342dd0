"""Intel AMX as LLVM IR: tiles of A, B and D, the permission to use them, and one instruction after the other.

A row of A has at most 64 bytes, and so has a column of B: all elements of k of one dot product. Tiles are configured to
what it has. B lies in a tile as the Intel SDM describes it
(volume 1, chapter 18): the elements that one 32-bit word of A meets are one word of B. So a column of one word a row is
just the elements of k in their order, and a tile of D of one element is a dot product: nothing has to be moved.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache

from mmaproof.designs.errors import TargetUnavailable

WORDS = 16
"""Words of 32 bits in a row of a tile, and rows of a tile."""

# Linux, arch/x86/include/uapi/asm/prctl.h and arch/x86/include/asm/fpu/types.h
_SYS_ARCH_PRCTL, _ARCH_REQ_XCOMP_PERM, _XFEATURE_XTILE_DATA = 158, 0x1023, 18

# a, b, d and the number of tiles; d holds c before. Tiles 0 to 2 are D, A and B
_RUN = """
@config = private constant [64 x i8] [{config}], align 64

define void @run(ptr %a, ptr %b, ptr %d, i64 %tiles) {{
entry:
  call void asm sideeffect "ldtilecfg $0", "*m"(ptr elementtype([64 x i8]) @config)
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  %at_a = getelementptr [{a_bytes} x i8], ptr %a, i64 %i
  %at_b = getelementptr [{b_bytes} x i8], ptr %b, i64 %i
  %at_d = getelementptr [{d_bytes} x i8], ptr %d, i64 %i
  call void asm sideeffect "{text}", "r,r,r,r,r,~{{tmm0}},~{{tmm1}},~{{tmm2}},~{{memory}}"
    (ptr %at_a, ptr %at_b, ptr %at_d, i64 {row}, i64 {row_of_columns})
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %tiles
  br i1 %more, label %loop, label %exit
exit:
  call void asm sideeffect "tilerelease", ""()
  ret void
}}
"""


def tile_source(mnemonic: str, rows: int = 1, columns: int = 1, words: int = WORDS) -> str:
    """Return LLVM IR of ``run``, which multiplies tiles of ``rows`` of A and ``columns`` of B, and adds to those of D.

    A row of A and a column of B have N ``words`` of 32 bits: the tiles are configured to that K.

    Each tile of A and of B has all elements of k. The tiles of A, of B (a row of words for each word of A), and of D
    follow each other.
    """
    row, row_of_columns = 4 * words, 4 * columns
    text = (
        "tileloadd ($2,$4), %tmm0",
        "tileloadd ($0,$3), %tmm1",
        "tileloadd ($1,$4), %tmm2",
        f"{mnemonic} %tmm2, %tmm1, %tmm0",
        "tilestored %tmm0, ($2,$4)",
    )
    return _RUN.format(
        config=", ".join(f"i8 {x}" for x in _config(rows, columns, words)),
        a_bytes=rows * row,
        b_bytes=words * row_of_columns,
        d_bytes=rows * row_of_columns,
        row=row,
        row_of_columns=row_of_columns,
        text="\\0A\\09".join(text),
    )


def _config(rows: int, columns: int, words: int) -> bytes:
    """Return the configuration of tiles 0 to 2: palette 1, then bytes of a row (16 bits each), and numbers of rows."""
    shapes = ((4 * columns, rows), (4 * words, rows), (4 * columns, words))
    found = bytearray(64)
    found[0] = 1
    for tile, (row_bytes, tile_rows) in enumerate(shapes):
        found[16 + 2 * tile : 18 + 2 * tile] = row_bytes.to_bytes(2, "little")
        found[48 + tile] = tile_rows
    return bytes(found)


@cache
def permit_tiles() -> None:
    """Ask Linux, once for this process, for the registers of tiles. Raises TargetUnavailable where it refuses."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(_SYS_ARCH_PRCTL, _ARCH_REQ_XCOMP_PERM, _XFEATURE_XTILE_DATA):
        reason = os.strerror(ctypes.get_errno())
        raise TargetUnavailable(f"cpu: Linux refuses this process the tiles of AMX ({reason}): Linux 5.16 grants them")
