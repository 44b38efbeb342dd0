"""Every notebook of the project: executed from top to bottom, and kept without outputs."""

import ast
import sys
from pathlib import Path
from typing import Any

import pytest
from support.extras import PYTORCH

EXTRA = "the extra [notebooks] is not installed: pip install 'mmaproof[notebooks]'"

nbformat = pytest.importorskip("nbformat", reason=EXTRA)
nbclient = pytest.importorskip("nbclient", reason=EXTRA)
pytest.importorskip("ipykernel", reason=EXTRA)
pytest.importorskip("matplotlib", reason=EXTRA)

from jupyter_client.kernelspec import KernelSpec, KernelSpecManager  # noqa: E402
from jupyter_client.manager import AsyncKernelManager  # noqa: E402
from traitlets import default  # noqa: E402

FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
SECONDS_PER_CELL = 600

NEEDS = {
    "05-training-without-the-hardware": ("torch", PYTORCH),
    "06-is-my-rtl-right": ("pyosys", "Yosys is not installed: pip install 'mmaproof[rtl]'"),
    "08-accumulators-and-arrays": ("pyosys", "Yosys is not installed: pip install 'mmaproof[rtl]'"),
}
"""What a notebook needs beyond the extra [notebooks], and why it is skipped without."""


class OneKernel(KernelSpecManager):
    """Every kernel is the running interpreter, whatever kernels are registered on the machine, if any."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        return KernelSpec(argv=command, display_name=kernel_name, language="python")


class ThisPython(AsyncKernelManager):
    @default("kernel_spec_manager")
    def _only_this_python(self) -> KernelSpecManager:
        return OneKernel(parent=self)


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=nbformat.NO_CONVERT)


def code_cells(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_there_are_notebooks() -> None:
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_is_kept_without_outputs(path: Path) -> None:
    notebook = read(path)
    nbformat.validate(notebook)
    saved = [cell.id for cell in code_cells(notebook) if cell.outputs or cell.execution_count is not None]
    assert not saved, "clear the outputs of these cells before committing"


def test_the_unit_of_a_notebook_is_the_one_of_the_tests() -> None:
    (cell,) = (x.source for x in code_cells(read(FOLDER / "06-is-my-rtl-right.ipynb")) if x.source.startswith("FILES"))
    held: dict[str, str] = ast.literal_eval(cell.partition("FILES = ")[2].partition("\nwork = ")[0])
    units = FOLDER.parent / "tests" / "rtl" / "units" / "tree"
    assert held == {name: (units / name).read_text(encoding="utf-8") for name in held}
    assert len(held) == 6


@pytest.mark.slow_values(
    "01-what-differs-between-generations",
    "02-paranoia-for-matrix-units",
    "03-what-unit-is-this",
    "04-markidis-against-ootomo-yokota",
    "06-is-my-rtl-right",
    "07-tolerances-that-are-proved",
)
@pytest.mark.middle
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_runs_without_error_or_warning(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if path.stem in NEEDS:
        module, reason = NEEDS[path.stem]
        pytest.importorskip(module, reason=reason)
    # Neither the settings of the person who runs the tests nor a read-only home folder may matter.
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.delenv("MPLBACKEND", raising=False)
    notebook = read(path)
    client = nbclient.NotebookClient(
        notebook,
        kernel_manager_class=ThisPython,
        timeout=SECONDS_PER_CELL,
        resources={"metadata": {"path": str(tmp_path)}},  # no notebook needs a checkout
    )
    client.execute()
    outputs = [output for cell in code_cells(notebook) for output in cell.outputs]
    assert outputs
    assert not [output for output in outputs if output.output_type == "error"]
    assert not [output.text for output in outputs if output.get("name") == "stderr" and "Warning" in output.text]
