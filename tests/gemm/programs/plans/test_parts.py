"""How rules divide k, and how sums of parts are ordered."""

from collections.abc import Sequence

import pytest

from mmaproof.designs.errors import DesignError
from mmaproof.gemm.programs import Blocks, EqualParts, HalvedBlocks, Interleaved, Kind, Order, Parts, StatedParts


def lengths(rule: Parts, length: int, tile: int = 1) -> list[int]:
    return [len(x) for x in rule.divide(range(length), tile)]


@pytest.mark.parametrize(
    ("rule", "length", "tile", "expected"),
    [
        (EqualParts(4), 64, 4, [16, 16, 16, 16]),
        (EqualParts(3), 40, 8, [16, 16, 8]),
        (EqualParts(1), 40, 8, [40]),
        (Blocks(16), 40, 4, [16, 16, 8]),
        (Blocks(64), 40, 4, [40]),
        (StatedParts((8, 32)), 40, 4, [8, 32]),
        (Interleaved(2, 8), 40, 4, [24, 16]),
        (Interleaved(3, 4), 12, 4, [4, 4, 4]),
        # OpenBLAS: whole blocks while there are two of them, then two of about half
        (HalvedBlocks(16, 4), 40, 1, [16, 12, 12]),
        (HalvedBlocks(16, 4), 18, 1, [12, 6]),
        (HalvedBlocks(16, 4), 16, 1, [16]),
        (HalvedBlocks(16, 4), 33, 1, [16, 8, 9]),
    ],
)
def test_rule_divides_k(rule: Parts, length: int, tile: int, expected: Sequence[int]) -> None:
    assert lengths(rule, length, tile) == expected
    parts = rule.divide(range(100, 100 + length), tile)
    assert sorted(k for part in parts for k in part) == list(range(100, 100 + length))


def test_turns_are_taken_along_k() -> None:
    assert Interleaved(2, 2).divide(range(7), 1) == [(0, 1, 4, 5), (2, 3, 6)]


@pytest.mark.parametrize(
    ("rule", "length", "what"),
    [
        (EqualParts(5), 16, "too many"),
        (EqualParts(4), 24, "would be empty"),
        (StatedParts((8, 8)), 24, "16 in all, and there are 24"),
        (Interleaved(3, 8), 16, "too many"),
    ],
)
def test_parts_that_do_not_fit_are_refused(rule: Parts, length: int, what: str) -> None:
    with pytest.raises(DesignError, match=what):
        rule.divide(range(length), 4)


@pytest.mark.parametrize(
    ("rule", "text"),
    [(EqualParts, "0"), (Blocks, "-4"), (StatedParts, "4..4"), (Interleaved, "4"), (HalvedBlocks, "x")],
)
def test_text_that_spells_no_rule_is_refused(rule: type[Parts], text: str) -> None:
    with pytest.raises(ValueError, match=r"^"):
        rule.parse(text)


def test_orders() -> None:
    assert list(Order.parse("ascending").of(3)) == [0, 1, 2]
    assert list(Order.parse("descending").of(3)) == [2, 1, 0]
    assert list(Order.parse("2.0.1").of(3)) == [2, 0, 1]
    assert Order.parse("any").is_open
    assert Order.parse("tree").kind is Kind.TREE
    with pytest.raises(DesignError, match="3 parts, and there are 4"):
        Order.parse("2.0.1").of(4)
    for text in ("2.0", "0.0", "stated", "up"):
        with pytest.raises(ValueError, match="."):
            Order.parse(text)
