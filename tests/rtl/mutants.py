"""Mutants of the project's own RTL: textual changes, each of which makes a unit differ from its design.

Every row has operands on which the mutated RTL gives another d than the design, so each is a real difference. ``rare``
says that random operands of all distributions (16,000 rows) miss it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Evidence:
    """Operands, the design's d for them and the mutant's; patterns in hexadecimal, k = 0 first."""

    a: str
    b: str
    c: str
    d: str
    mutant: str
    scale_a: str = ""
    scale_b: str = ""


@dataclass(frozen=True, slots=True)
class Mutant:
    """In ``file`` (beside the UNIT.toml at ``unit``) the text ``old``, which occurs once, becomes ``new``."""

    name: str
    unit: str
    file: str
    old: str
    new: str
    why: str
    evidence: Evidence
    rare: bool = False


MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "carry-bit",
        "tree/fp16_l4.toml",
        "dot_tree.sv",
        old="1 + F + $clog2(4 * L + 2)",
        new="F + $clog2(4 * L + 2)",
        why="The sum has one carry bit too few, and wraps from 16 * 2**e_max on.",
        evidence=Evidence(
            a="7bff 7bff 7bff 7bff",
            b="7bff 7bff 7bff 7bff",
            c="4e800000",
            d="5087e002",
            mutant="d0703ffc",
        ),
        rare=True,
    ),
    Mutant(
        "sticky-kept",
        "tree/fp16_l4.toml",
        "dot_tree.sv",
        old="kept = whole >> distance;",
        new="kept = whole >> distance | MW'((whole >> distance << distance) != whole);",
        why="Bits that alignment drops set the last kept one.",
        evidence=Evidence(
            a="b746 bbef 2bb3 3d5c",
            b="b924 bd4a 3ead c010",
            c="bf50245d",
            d="bfea5882",
            mutant="bfea5880",
        ),
    ),
    Mutant(
        "subnormal-exponent",
        "tree/fp16_l4.toml",
        "unpack.sv",
        old="XW'(field | EXP'(low))",
        new="XW'(field)",
        why="The exponent of a subnormal is one too low.",
        evidence=Evidence(
            a="87b7 4f25 b516 03cf",
            b="cef4 05bd 688c d900",
            c="91316607",
            d="c439007b",
            mutant="c439002f",
        ),
    ),
    Mutant(
        "zero-times-infinity",
        "tree/fp16_l8.toml",
        "dot_tree.sv",
        old="(ia && zb) || (za && ib)",
        new="(ia && zb)",
        why="Zero times infinity is an infinity, where the zero is an element of a.",
        evidence=Evidence(
            a="3c00 c000 bbff 8000 3c00 7bfe bbff 7bff",
            b="3bff 4000 bbff fc00 7bff 3bff fbff 7bff",
            c="807fffff",
            d="7fffffff",
            mutant="7f800000",
        ),
    ),
    Mutant(
        "rounded-alignment",
        "tree/fp16_l8.toml",
        "dot_tree.sv",
        old="kept = whole >> distance;",
        new="kept = MW'(({whole, 1'b0} >> distance) + 1'b1 >> 1);",
        why="An aligned term is rounded to nearest, not truncated.",
        evidence=Evidence(
            a="ac42 3957 3dc1 b968 3280 b76a 3013 bcc0",
            b="a373 bf84 3b13 bd7b 3d33 3361 b49a 3382",
            c="3aa79b86",
            d="3f49b868",
            mutant="3f49b869",
        ),
    ),
    Mutant(
        "one-more-fraction-bit",
        "tree/fp16_l4.toml",
        "fp16_l4.toml",
        old="F = 23",
        new="F = 24",
        why="One fraction bit too many is kept.",
        evidence=Evidence(
            a="b746 bbef 2bb3 3d5c",
            b="b924 bd4a 3ead c010",
            c="bf50245d",
            d="bfea5882",
            mutant="bfea5881",
        ),
    ),
    Mutant(
        "no-clamp",
        "carry_save/fp16_l4.toml",
        "shifter.sv",
        old="far ? '0 : stage[STAGES]",
        new="stage[STAGES]",
        why="A shift by 64 places and more wraps.",
        evidence=Evidence(
            a="5002 8b8b 0f6c 58e2",
            b="2920 f2f4 3a8e 0549",
            c="fc638381",
            d="fc638381",
            mutant="fa6fb340",
        ),
    ),
    Mutant(
        "swapped-lanes",
        "carry_save/fp16_l4.toml",
        "dot_csa.sv",
        old="y = b[W*k+:W]",
        new="y = b[W*(k<2?1-k:k)+:W]",
        why="Elements 0 and 1 of b are exchanged, those of a are not.",
        evidence=Evidence(
            a="150a 34c8 b463 bb20",
            b="ba1c 3d53 bc74 a8d2",
            c="3f2de7e5",
            d="3fb51b99",
            mutant="3f4aa0f5",
        ),
    ),
    Mutant(
        "ties-of-largest",
        "carry_save/fp16_l4.toml",
        "one_hot.sv",
        old="if (first[k]) largest |=",
        new="if (left[0][k]) largest ^=",
        why="Two terms with the largest exponent cancel in e_max.",
        evidence=Evidence(
            a="b7e0 b8f7 37d6 35b6",
            b="3dda bd68 2fea 4084",
            c="3ee32197",
            d="3fb6e419",
            mutant="00000000",
        ),
    ),
    Mutant(
        "one-fraction-bit-fewer",
        "carry_save/fp16_l8.toml",
        "dot_csa.sv",
        old="{{(SW - MW) {1'b0}}, kept}",
        new="{{(SW - MW) {1'b0}}, kept[MW-1:1], 1'b0}",
        why="One fraction bit fewer is kept.",
        evidence=Evidence(
            a="3104 b1fb c109 b84f aa35 2f40 be1f b7a5",
            b="3420 b8ba b25f c0c7 3a47 b502 bc45 3e3e",
            c="bf455dfb",
            d="3ffdad8d",
            mutant="3ffdad8e",
        ),
    ),
    Mutant(
        "negative-sum",
        "carry_save/fp16_l4.toml",
        "dot_csa.sv",
        old="SW'(below), absolute",
        new="SW'(0), absolute",
        why="A negative sum is inverted, without the one that is missing.",
        evidence=Evidence(
            a="b746 bbef 2bb3 3d5c",
            b="b924 bd4a 3ead c010",
            c="bf50245d",
            d="bfea5882",
            mutant="bfea5880",
        ),
    ),
)
