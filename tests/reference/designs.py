"""The reference asked about a design of the project: names of readings become the letters of the open points."""

from mmaproof.designs.design import Design
from mmaproof.designs.operands import Operands
from reference.exact import dot, fma_chain


def _letter(reading):
    return "ABC"[list(type(reading)).index(reading)]


def reference_result(design: Design, operands: Operands) -> int:
    """What the exact-rational reference returns for a design of the T-FDPA or FMA-chain family."""
    p = design.parameters
    padding = [0] * (design.padded_length(len(operands)) - len(operands))
    a, b = [*operands.a, *padding], [*operands.b, *padding]
    nan_code = p.nan_code.pattern(design.d_format)
    if design.family == "fma-chain":
        return fma_chain(a, b, operands.c, design.d_format.name, nan_code)
    return dot(
        a,
        b,
        operands.c,
        **{f"{x}_format": f.name for x, f in zip("abcd", design.formats, strict=True)},
        L=p.L,
        fraction_bits=p.fraction_bits,
        rho=p.rho,
        alignment=p.alignment.value,
        product_exponent=p.product_exponent.value,
        carry_bits=p.carry_bits,
        zero_c=_letter(p.zero_c),
        e_zero=p.e_zero,
        zero_product=_letter(p.zero_product),
        floor=p.floor,
        c_subnormal=_letter(p.c_subnormal),
        overflow=_letter(p.overflow),
        negative_zero=_letter(p.negative_zero),
        chain_infinity=_letter(p.chain_infinity),
        nan_code=nan_code,
    )
