"""The examples of docs/pytorch.md run."""

import re
from pathlib import Path

import pytest
from support.extras import PYTORCH

torch = pytest.importorskip("torch", reason=PYTORCH)

TEXT = (Path(__file__).parents[2] / "docs" / "pytorch.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == 4


@pytest.mark.parametrize("example", EXAMPLES)
def test_example_runs(example: str) -> None:
    torch.manual_seed(0)
    exec(compile(example, "docs/pytorch.md", "exec"), {})


def test_named_operators_are_those_that_are_emulated() -> None:
    from mmaproof.torch.aten import EMULATED, base_name

    paragraph = TEXT.partition("Inside `emulating`")[2].partition("what PyTorch makes")[0]
    named = set(re.findall(r"`(\w+)`", paragraph))
    assert named == {base_name(x) for x in EMULATED}
