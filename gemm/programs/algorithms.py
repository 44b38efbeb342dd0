"""The algorithms by name.

* ``plain``: operands are rounded to the unit's format, and nothing else is done (Markidis et al. 2018, section V,
  "Limited range").
* ``markidis-a``: only A is refined (Markidis et al. 2018, equation 2).
* ``markidis``: both are refined (equation 3), in the order of its terms, which is that of the pipelined multiplications
  of figure 5. There the paper keeps what one multiplication hands to the next in half precision
  (``intermediate=fp16``). It rounds to nearest, as CUDA's conversion does, and leaves open where c is added.
* ``ootomo-yokota``: residuals are scaled by 2**11, words are rounded to nearest, and the product of the two residuals
  is dropped. The product of the first words is added outside the unit for each instruction, and the other two are added
  inside it in an accumulator of their own (Ootomo and Yokota, IJHPCA 36(4), 2022, equation 24). c starts the
  accumulation outside, as in the authors' WMMAe-TCEC. Valpey et al. 2025, section 6, print it with the fourth product,
  ``products=00.10.01.11``, and with c added last, ``c=last``.
* ``ootomo-yokota-tf32``: the same in tf32, whose residuals need no scaling. Words are rounded to nearest, ties away
  from zero (``cvt.rna.tf32``).
* ``ootomo-yokota-bf16``: the same in bf16, for units without tf32. bf16 too has the exponents of fp32, and CPUs convert
  to it by rounding to nearest even (``vcvtneps2bf16``).
* ``3xtf32``: Triton's ``input_precision="tf32x3"`` before pull request 4934 (``F32DotTC.cpp``). The first word is
  rounded to nearest with ties away (``cvt.rna.tf32``). The second is handed over in fp32, and the unit reads its first
  19 bits. The products small*big, big*small, big*big of each instruction's k go to one accumulator inside the unit.
  Four products are ``products=10.01.00.11``.
* ``3xtf32-staged``: CUTLASS (``OpMultiplyAddFastF32`` with ``kStagedAccumulation``): the first word is truncated, the
  second is rounded to nearest with ties away, and the sum of every tile of k is added outside the unit; ``interval`` is
  the K of the tile. Both are checked against the mean squared errors that triton-lang/triton#4603 and pull request 4934
  publish. Triton since pull request 4934 is ``3xtf32@outside=joint,interval=32``: the three products of a tile have one
  accumulator from +0, whose sum is added.
* ``bf16x3``, ``bf16x6``, ``bf16x9``: an operand is three words of bf16. The 3, 6 or 9 largest products of words are
  summed, the smallest first. The 3 largest need only two words (Henry, Tang and Heinecke, ARITH 2019). The source
  leaves the rounding and the order open. Triton's are the presets ``triton/bf16x3`` and ``triton/bf16x6``.
* ``promoted``: operands are rounded once, and the sum of every ``interval`` elements of k is added to fp32 outside the
  unit (DeepSeek-V3 technical report, section 3.3.2: 128; DeepGEMM; CUTLASS's promotion interval of 4 instructions).
  Scales of blocks are not part of this: operands are as they are after scaling.
* ``residues``: products modulo small numbers on an integer unit, see ``slice_gemm``. The source makes fp64 of it
  (``operands=fp64``) and leaves the conversion of operands open; here they are cut.
* ``slices-fp8``: the same on an FP8 unit: e4m3 holds integers of four bits and a sign. Both sources assume that a unit
  adds as fp32 does, to 24 bits. Hopper keeps 13 fraction bits, so that sums are exact up to K = 72 there
  (``gemm check slices``), and ``interval=64`` is needed.
* ``slices``: fixed-point slices on an integer unit, see ``slice_gemm`` (Ootomo, Ozaki and Yokota, IJHPCA 2024, who make
  fp64 of it, ``operands=fp64``). ozIMMU uses one bit less of the first slice and adds the largest weights first
  (``headroom=1,order=descending``).
"""

from __future__ import annotations

from mmaproof.designs.conversions import Rounding
from mmaproof.designs.errors import DesignError, InputError, did_you_mean
from mmaproof.gemm.programs.algorithm import Algorithm
from mmaproof.gemm.programs.slice_gemm import ModularGemm, SliceGemm
from mmaproof.gemm.programs.split_gemm import Accumulators, Outside, Products, Schedule, SplitGemm

_MARKIDIS = "Markidis et al. 2018"
_OOTOMO = "Ootomo and Yokota, IJHPCA 36(4), 2022"
_HENRY = "Henry, Tang and Heinecke, ARITH 2019"


def _bf16(count: int, products: str) -> SplitGemm:
    return SplitGemm(
        base_name=f"bf16x{count}",
        what=f"{max(Products.parse(products).words)} words of bf16, {count} products",
        source=_HENRY,
        products=Products.parse(products),
        formats=("bf16",),
    )


def _ootomo(name: str, fmt: str, rounding: Rounding, scale: int) -> SplitGemm:
    return SplitGemm(
        base_name=name,
        what=f"two words of {fmt}, residuals{' scaled' if scale else ''}, the main sum outside the unit",
        source=f"{_OOTOMO}, equation 24",
        products=Products.parse("00.10.01"),
        rounding=rounding,
        residual_rounding=rounding,
        scale=scale,
        schedule=Schedule.BLOCK,
        accumulators=Accumulators.SEPARATE,
        outside=Outside.MAIN,
        formats=(fmt,),
    )


ALGORITHMS: dict[str, Algorithm] = {
    x.base_name: x
    for x in (
        SplitGemm(
            base_name="plain",
            what="operands rounded to the unit's format",
            source=f"{_MARKIDIS}, section V",
        ),
        SplitGemm(
            base_name="markidis-a",
            what="the residual of A added",
            source=f"{_MARKIDIS}, equation 2",
            products=Products.parse("10.00"),
        ),
        SplitGemm(
            base_name="markidis",
            what="the residuals of A and B added, inside the unit",
            source=f"{_MARKIDIS}, equation 3",
            products=Products.parse("11.01.10.00"),
        ),
        _ootomo("ootomo-yokota", "fp16", Rounding.RNE, 11),
        _ootomo("ootomo-yokota-tf32", "tf32", Rounding.RNA, 0),
        _ootomo("ootomo-yokota-bf16", "bf16", Rounding.RNE, 0),
        SplitGemm(
            base_name="3xtf32",
            what="two words of tf32, three products in one accumulator",
            source="Triton before pull request 4934, lib/Dialect/TritonGPU/Transforms/F32DotTC.cpp",
            products=Products.parse("10.01.00"),
            rounding=Rounding.RNA,
            residual_rounding=Rounding.RZ,
            schedule=Schedule.BLOCK,
            formats=("tf32",),
        ),
        SplitGemm(
            base_name="3xtf32-staged",
            what="two words of tf32, three products, the sum of every tile added outside the unit",
            source="CUTLASS, include/cutlass/gemm/warp/mma_tensor_op_fast_f32.h, and kStagedAccumulation in "
            "include/cutlass/gemm/threadblock/mma_multistage.h",
            products=Products.parse("10.01.00"),
            rounding=Rounding.RZ,
            residual_rounding=Rounding.RNA,
            schedule=Schedule.BLOCK,
            outside=Outside.ALL,
            interval=16,
            formats=("tf32",),
        ),
        _bf16(3, "10.01.00"),
        _bf16(6, "20.11.02.10.01.00"),
        _bf16(9, "22.21.12.20.11.02.10.01.00"),
        SplitGemm(
            base_name="promoted",
            what="operands rounded, the sum of every interval added outside the unit",
            source="DeepSeek-V3 technical report, section 3.3.2; "
            "CUTLASS, include/cutlass/gemm/collective/fp8_accumulation.hpp",
            schedule=Schedule.BLOCK,
            outside=Outside.ALL,
            interval=128,
        ),
        SliceGemm(
            base_name="slices",
            what="fixed-point slices on an integer unit",
            source="Ootomo, Ozaki and Yokota, IJHPCA 2024",
        ),
        ModularGemm(
            base_name="residues",
            what="products modulo small numbers on an integer unit (Ozaki's scheme II)",
            source="Ozaki, Uchino and Imamura, arXiv 2504.08009",
        ),
        SliceGemm(
            base_name="slices-fp8",
            what="fixed-point slices on an FP8 unit (e4m3)",
            source="arXiv 2508.00441; arXiv 2603.10634",
            slices=6,
            bits=4,
        ),
    )
}


def find_algorithm(text: str) -> Algorithm:
    """Return the algorithm that ``NAME`` or ``NAME@parameter=value,...`` spells.

    InputError lists the names; DesignError what its parameters may be.

    >>> import mmaproof
    >>> mmaproof.find_algorithm("bf16x3").name
    'bf16x3'
    """
    name, at, settings = text.strip().partition("@")
    if name not in ALGORITHMS:
        known = list(ALGORITHMS)
        raise InputError(f"unknown algorithm {name!r}: one of {', '.join(known)}{did_you_mean(name, known)}")
    algorithm = ALGORITHMS[name]
    if not at:
        return algorithm
    changes = {}
    for setting in settings.split(","):
        parameter, equals, value = setting.strip().partition("=")
        if not equals:
            raise DesignError(f"{setting!r} is not a setting: write {name}@parameter=value,...")
        if parameter.strip() in changes:
            raise DesignError(f"{text.strip()!r} sets {parameter.strip()} twice")
        changes[parameter.strip()] = value.strip()
    return algorithm.change(changes)
