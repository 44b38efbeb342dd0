import math

import pytest

from mmaproof.smt.solving.limits import LEAST_SECONDS, MAX_SECONDS, Limits, parse_memory, parse_seconds
from mmaproof.smt.solving.verdict import LimitError, SolvingError


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30s", 30.0),
        ("2m", 120.0),
        ("1.5h", 5400.0),
        ("0.01s", 0.01),
        (".5", 0.5),
        ("45", 45.0),
        (" 3 s ", 3.0),
        ("336h", MAX_SECONDS),
    ],
)
def test_times_are_read(text: str, seconds: float) -> None:
    assert parse_seconds(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "s", "-1", "0", "0s", "nan", "inf", "1e3", "30 seconds", "1d", "2M", "1h30m", "337h", "9" * 400, "٣"]
)
def test_other_times_are_refused_with_the_value_and_an_example(text: str) -> None:
    with pytest.raises(LimitError, match=r"for example 30s") as caught:
        parse_seconds(text)
    assert "time limit" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "memory"),
    [
        ("4G", 4 << 30),
        ("512M", 512 << 20),
        ("1.5GiB", 3 << 29),
        ("64KB", 64 << 10),
        ("1t", 1 << 40),
        (" 2 g ", 2 << 30),
    ],
)
def test_memory_sizes_are_read(text: str, memory: int) -> None:
    assert parse_memory(text) == memory


@pytest.mark.parametrize(
    "text", ["", "4", "512", "-4G", "0G", "4X", "4P", "G", "1e3M", "nan", "2000T", "9" * 400 + "G"]
)
def test_other_memory_sizes_are_refused_with_the_value_and_an_example(text: str) -> None:
    with pytest.raises(LimitError, match=r"for example 4G") as caught:
        parse_memory(text)
    assert "memory limit" in str(caught.value)


@pytest.mark.parametrize("seconds", [0.0, -1.0, math.inf, math.nan, MAX_SECONDS * 1.01])
def test_times_out_of_range_are_refused(seconds: float) -> None:
    with pytest.raises(LimitError, match="time limit"):
        Limits(seconds, 1 << 30)


@pytest.mark.parametrize("memory", [0, -1, 1 << 60, 1e9])
def test_memory_out_of_range_is_refused(memory: int) -> None:
    with pytest.raises(LimitError, match="memory limit"):
        Limits(1.0, memory)


def test_limit_errors_are_value_errors_of_this_package() -> None:
    assert issubclass(LimitError, ValueError)
    assert issubclass(LimitError, SolvingError)


def test_what_is_left_after_something_else() -> None:
    left = Limits(5.0, 1 << 30).after(4.0, "the search").after(0.5, "lemmas").after(0.25, "lemmas").after(0.001, "luck")
    assert left.seconds == pytest.approx(0.249)
    assert left.memory_bytes == 1 << 30
    assert str(left) == "5 s, of which 4.00 s went into the search and 0.75 s went into lemmas"
    assert str(Limits(0.5, 1 << 30)) == "0.5 s"


def test_something_is_left_of_a_limit_that_has_passed() -> None:
    left = Limits(2.0, 1 << 30).after(7.0, "the search").after(1.0, "lemmas")
    assert left.seconds == pytest.approx(LEAST_SECONDS)
    assert str(left) == "2 s, of which 2.00 s went into the search"
    assert Limits(1e-9, 1 << 30).after(1.0, "the search").seconds == 1e-9
