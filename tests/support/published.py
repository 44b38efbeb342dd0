"""Tables of Xie et al. 2026, each typed once; tests compare the catalogue and the reference with them.

The catalogue's data state table 4 too: it is typed a second time here on purpose.
"""

from mmaproof.designs.design import Design

_NARROW = ("e4m3", "e5m2", "e3m2", "e2m3", "e2m1")
_BLACKWELL = ("blackwell", "rtx-blackwell")

TABLE_4: dict[tuple[str, str, str], tuple[int, int, str]] = {
    ("volta", "fp16", "fp32"): (4, 23, "rz-fp32"),
    ("volta", "fp16", "fp16"): (4, 23, "rne-fp16"),
    ("turing", "fp16", "fp32"): (8, 24, "rz-fp32"),
    ("turing", "fp16", "fp16"): (8, 24, "rne-fp16"),
    **{(x, "tf32", "fp32"): (4, 24, "rz-fp32") for x in ("ampere", "ada")},
    **{(x, "bf16", "fp32"): (8, 24, "rz-fp32") for x in ("ampere", "ada")},
    **{(x, "fp16", "fp32"): (8, 24, "rz-fp32") for x in ("ampere", "ada")},
    **{(x, "fp16", "fp16"): (8, 24, "rne-fp16") for x in ("ampere", "ada")},
    **{("ada", x, "fp32"): (16, 13, "rz-e8m13") for x in ("e4m3", "e5m2")},
    **{("ada", x, "fp16"): (16, 13, "rne-fp16") for x in ("e4m3", "e5m2")},
    **{(x, "tf32", "fp32"): (8, 25, "rz-fp32") for x in ("hopper", *_BLACKWELL)},
    **{(x, "bf16", "fp32"): (16, 25, "rz-fp32") for x in ("hopper", *_BLACKWELL)},
    **{(x, "fp16", "fp32"): (16, 25, "rz-fp32") for x in ("hopper", *_BLACKWELL)},
    **{(x, "fp16", "fp16"): (16, 25, "rne-fp16") for x in ("hopper", *_BLACKWELL)},
    **{("hopper", x, "fp32"): (32, 13, "rz-e8m13") for x in ("e4m3", "e5m2")},
    **{("hopper", x, "fp16"): (32, 13, "rne-fp16") for x in ("e4m3", "e5m2")},
    **{(y, x, "fp32"): (32, 25, "rz-fp32") for x in _NARROW for y in _BLACKWELL},
    **{(y, x, "fp16"): (32, 25, "rne-fp16") for x in _NARROW for y in _BLACKWELL},
}
"""(architecture, format of a and b, format of d) -> (L_max, F, rho)."""

EQUATION_10 = ((-(2.0**13), -0.5, -0.25, -0.125), (2.0**10, 1.0, 1.0, 1.0), 2.0**23)
"""a, b and c of equation (10), whose exact result is -0.875."""

TABLE_8 = {
    "volta": {"fp16": 0.0},
    "turing": {"fp16": -0.5},
    "ampere": {"tf32": -0.5, "bf16": -0.5, "fp16": -0.5},
    "ada": {"tf32": -0.5, "bf16": -0.5, "fp16": -0.5, "fp8": 0.0},
    "hopper": {"tf32": -0.75, "bf16": -0.75, "fp16": -0.75, "fp8": 0.0},
    "blackwell": {"tf32": -0.75, "bf16": -0.75, "fp16": -0.75, "fp8": -0.75},
    "rtx-blackwell": {"tf32": -0.75, "bf16": -0.75, "fp16": -0.75, "fp8": -0.75},
    "cdna1": {"bf16": -0.875, "fp16": -0.875},
    "cdna2": {"bf16": -0.375, "bf16_1k": 0.0, "fp16": 0.0},
    "cdna3": {"tf32": -0.5, "bf16": -0.5, "fp16": -0.5, "fp8": -1.0},
}
"""What equation (10) gives, by architecture and kind of operands; FMA chains (fp32 and fp64) give -0.875."""

_FP8 = ("e4m3", "e5m2", "e4m3fnuz", "e5m2fnuz")


def kind_of_operands(design: Design) -> str:
    """The column of table 8 that a design belongs to."""
    if design.instruction.endswith("_1k"):
        return f"{design.a_format.name}_1k"
    return "fp8" if design.a_format.name in _FP8 else design.a_format.name
