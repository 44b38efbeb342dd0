"""Pictures that tests share: designs and operands, and how to draw, read and take apart what is drawn."""

import io
import itertools
import random
import re
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from rich.console import Console

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.design import Design
from mmaproof.designs.element import Operands
from mmaproof.explain import Picture
from mmaproof.explain.blocks import Block, Row
from mmaproof.explain.steps import Step
from mmaproof.explain.text import Drawing
from mmaproof.explain.values import scaled
from mmaproof.smt.trace import trace
from mmaproof.verification.distributions import DISTRIBUTIONS
from mmaproof.verification.distributions import draw as draw_operands
from support import published
from support.sampling import distinct_designs

VOLTA = find_design("volta/f32.f16.f16.f32")
TURING = find_design("turing/f32.f16.f16.f32")
HOPPER8 = find_design("hopper/wgmma.f32.e4m3.e4m3")
FP64 = find_design("ampere/mma.m8n8k4.f64.f64.f64.f64")
AMPERE = find_design("ampere/mma.m16n8k16.f32.bf16.bf16.f32")
VOLTA16 = find_design("volta/mma.m8n8k4.f16.f16.f16.f16")

A, B, C = published.EQUATION_10
EQUATION_10 = Operands(
    tuple(map(VOLTA.a_format.encode, A)), tuple(map(VOLTA.b_format.encode, B)), VOLTA.c_format.encode(C)
)


def draw(picture: Picture, width: int = 80, encoding: str = "utf-8", color: bool = False) -> list[str]:
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding, newline="")
    console = Console(file=file, width=width, force_terminal=color, no_color=not color)
    console.print(Drawing(picture))
    file.seek(0)
    return file.read().splitlines()


def text(picture: Picture, width: int = 80) -> str:
    return "\n".join(line.rstrip() for line in draw(picture, width))


def value(words: str) -> Fraction:
    """Read an exact value."""
    if words in {"+0", "-0"}:
        return Fraction(0)
    found = re.fullmatch(r"([+-])(\d*[13579]) \* 2\^(-?\d+)", words)
    assert found, f"{words!r} is not a sign, odd significand and power of two"
    return Fraction(int(found[1] + found[2])) * Fraction(Fraction(2) ** int(found[3]))


def blocks(picture: Picture) -> list[Block]:
    return [block for section in picture.sections for block in section]


def steps(design: Design, operands: Operands) -> list[Step]:
    found = trace(design, operands).steps
    return [Step("", design, operands, found, i) for i in range(len(found))]


def row_value(row: Row) -> Fraction:
    return scaled(-row.integer if row.sign == "-" else row.integer, row.scale)


def sample() -> Iterator[tuple[Design, Operands]]:
    """300 operands: any patterns, close exponents, many zeros, and the specials among them."""
    rng = random.Random(20260)
    designs = [VOLTA, TURING, HOPPER8, FP64, VOLTA16]
    designs += map(
        find_design,
        (
            "ada/mma.m16n8k16.f16.e5m2.e4m3.f16",
            "ampere/mma.m16n8k8.f32.tf32.tf32.f32",
            "hopper/mma.m16n8k16.f32.bf16.bf16.f32",
            "hopper/mma.m16n8k16.f32.f16.f16.f32@alignment=floor,carry_bits=0",
            "turing/f32.f16.f16.f32@zero_c=absent,zero_product=absent,floor=-20,overflow=largest-finite",
        ),
    )
    for design, mode in itertools.islice(itertools.cycle(itertools.product(designs, range(4))), 300):
        k = rng.choice([1, design.k, 2 * design.k])

        def pick(fmt_index: int, design: Design = design, mode: int = mode) -> int:
            fmt = design.formats[fmt_index]
            pattern = rng.getrandbits(fmt.bits)
            if mode == 1 or (mode == 2 and rng.random() < 0.6):
                near = rng.randint(fmt.bias - 3, fmt.bias + 1) << (fmt.fraction_bits + fmt.ignored_bits)
                pattern = pattern & (1 << fmt.sign_position | (1 << fmt.fraction_bits + fmt.ignored_bits) - 1) | near
            elif mode == 2:
                pattern = rng.choice([0, 1 << fmt.sign_position, 1, fmt.max_finite])
            elif mode == 3 and rng.random() < 0.02:
                pattern = rng.choice([x for x in (fmt.quiet_nan, fmt.infinity) if x is not None])
            return pattern

        yield design, Operands(tuple(pick(0) for _ in range(k)), tuple(pick(1) for _ in range(k)), pick(2))


SAMPLE = list(sample())


def catalogue() -> Iterator[tuple[Design, Operands]]:
    """One design for each set of formats, scales, K and parameters, with operands of each distribution in turn."""
    rng = np.random.default_rng(20261)
    for design, distribution in zip(distinct_designs(), itertools.cycle(DISTRIBUTIONS), strict=False):
        yield design, draw_operands(distribution, design, 1, design.k, rng).row(0)


CATALOGUE = list(catalogue())
