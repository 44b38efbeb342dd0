"""Targets of matrix products: what is called with which arrays, and what is said where something else comes back."""

import sys
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.matrix_functions import product

from mmaproof.designs.errors import InputError, TargetUnavailable
from mmaproof.designs.formats import FORMATS
from mmaproof.hardware_replay.matrix_targets import (
    FunctionTarget,
    MatrixTarget,
    Product,
    RecordedProduct,
    find_matrix_target,
)

OF = product(2, 3, 4)
A, B = (np.arange(n, dtype=np.float32).reshape(shape) for n, shape in ((8, (2, 4)), (12, (4, 3))))


def run(target: MatrixTarget | RecordedProduct, of: Product = OF, a: Any = A, b: Any = B) -> Any:
    if isinstance(target, RecordedProduct):
        raise TypeError("a recording is not run")
    return target.multiply(of, a.view(np.uint32), b.view(np.uint32))


def test_a_function_of_a_library() -> None:
    target = find_matrix_target("python:numpy:matmul")
    assert (run(target).view(np.float32) == A @ B).all()
    assert target.name == "python:numpy:matmul"


def test_a_function_is_called_with_arrays_of_the_formats_that_it_may_change() -> None:
    seen = []

    def function(a: Any, b: Any) -> Any:
        seen.append((a.dtype, b.dtype))
        d = (a.astype(np.float32) @ b.astype(np.float32)).astype(np.float32)
        a[:] = 0
        return d

    of = Product(2, 3, 4, FORMATS["bf16"], FORMATS["e4m3"], FORMATS["fp32"])
    a = A.astype(ml_dtypes.bfloat16).view(np.uint16)
    before = a.copy()
    FunctionTarget("f", function).multiply(of, a, B.astype(ml_dtypes.float8_e4m3fn).view(np.uint8))
    assert seen == [(ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn)]
    assert (a == before).all()


def test_modules_of_the_working_directory_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kernel_of_a_user.py").write_text("class Gemm:\n    run = staticmethod(lambda a, b: a @ b)\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [x for x in sys.path if x])
    assert (run(find_matrix_target("python:kernel_of_a_user:Gemm.run")).view(np.float32) == A @ B).all()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("numpy.matmul", "unknown target 'numpy.matmul': one of python:MODULE:FUNCTION"),
        ("python:numpy", "python:package.module:function is needed"),
        ("python:numpy:nothing", "numpy has no nothing"),
        ("python:nowhere.at.all:f", "nowhere.at.all cannot be imported: ModuleNotFoundError"),
        ("python:numpy:pi", "pi of numpy is not a function"),
        ("files:a.npy,b.npy", "files:A.npy,B.npy,D.npy is needed"),
        ("files:a.npy,b.npy,d.npy", "a.npy: No such file"),
    ],
)
def test_targets_that_are_none(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        find_matrix_target(text)


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ((A @ B).astype(np.float64), "what f returned: an array of float64 is not of the format fp32"),
        ((A @ B).T, r"f returned an array of shape \(3, 2\): \(2, 3\) is needed"),
        ((A @ B).tolist(), "f returned builtins.list: an array of float32 is needed"),
        (None, "f returned builtins.NoneType"),
    ],
)
def test_a_function_that_returns_something_else(returned: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        run(FunctionTarget("f", lambda a, b: returned))


def test_a_function_that_raises() -> None:
    def function(a: Any, b: Any) -> Any:
        raise KeyError("no kernel\nfor this")

    with pytest.raises(TargetUnavailable, match=r"f raised KeyError: .*: it is called with a of shape \(2, 4\) and"):
        run(FunctionTarget("f", function))


def program(tmp_path: Path, body: str) -> str:
    file = tmp_path / "multiply.py"
    file.write_text(f"import sys\nimport numpy as np\na, b, d = sys.argv[-3:]\n{body}\n")
    return f"process:{sys.executable} {file} --option"


def test_a_process(tmp_path: Path) -> None:
    target = find_matrix_target(program(tmp_path, "np.save(d, np.load(a) @ np.load(b))"))
    assert (run(target).view(np.float32) == A @ B).all()


def test_a_process_reads_formats_that_numpy_lacks_as_patterns(tmp_path: Path) -> None:
    target = find_matrix_target(program(tmp_path, "np.save(d, np.load(a)[:, :3] + np.uint16(0))"))
    of = product(2, 3, 4, "bf16", "bf16")
    a = A.astype(ml_dtypes.bfloat16).view(np.uint16)
    assert not isinstance(target, RecordedProduct)
    assert (target.multiply(of, a, np.zeros((4, 3), np.uint16)) == a[:, :3]).all()


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("body", "error", "message"),
    [
        (
            "sys.exit('no such shape')",
            TargetUnavailable,
            "exit status 1; its stderr ends with no such shape",
        ),
        ("pass", TargetUnavailable, "wrote no d"),
        ("open(d, 'w').write('text')", InputError, "d.npy: holds a header and no rows"),
        ("np.save(d, np.zeros((2, 2), np.float32))", InputError, "returned an array of shape"),
        ("import time; time.sleep(60)", TargetUnavailable, "has not ended after 1 s: give it more time"),
    ],
)
def test_a_process_that_fails(tmp_path: Path, body: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        run(find_matrix_target(program(tmp_path, body), 1.0 if "sleep" in body else 60.0))


def test_a_process_that_is_not_there() -> None:
    with pytest.raises(TargetUnavailable, match="cannot be started: No such file"):
        run(find_matrix_target("process:/nowhere/at/all"))


def recorded(tmp_path: Path, a: Any = A, b: Any = B, d: Any = A @ B) -> RecordedProduct:
    for name, x in zip("abd", (a, b, d), strict=True):
        np.save(tmp_path / f"{name}.npy", x)
    target = find_matrix_target("files:" + ",".join(str(tmp_path / f"{x}.npy") for x in "abd"))
    if not isinstance(target, RecordedProduct):
        raise TypeError(target)
    return target


def test_files(tmp_path: Path) -> None:
    of = recorded(tmp_path).product(*(FORMATS["fp32"],) * 3)
    assert of == OF
    patterns = recorded(tmp_path).patterns(of)
    assert (patterns[2].view(np.float32) == A @ B).all()


def test_files_of_other_shapes_and_types(tmp_path: Path) -> None:
    fp32 = (FORMATS["fp32"],) * 3
    with pytest.raises(InputError, match=r"shapes a \(2, 4\), b \(4, 3\), d \(3, 2\): \(M, K\), .* needed"):
        recorded(tmp_path, d=(A @ B).T).product(*fp32)
    wide = recorded(tmp_path, b=B.astype(np.float64))
    assert (wide.patterns(OF)[1].view(np.float32) == B).all(), "float64 that holds numbers of fp32"
    with pytest.raises(InputError, match="b of files:.*is not representable in fp32"):
        recorded(tmp_path, b=B.astype(np.float64) + 2**-40).patterns(OF)
    with pytest.raises(InputError, match="other objects are never loaded"):
        recorded(tmp_path, a=np.array([None]))


def test_a_file_with_the_matrices_of_a_product(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", A=A, B=B, out=A @ B)
    found = find_matrix_target(str(tmp_path / "x.npz"))
    assert isinstance(found, RecordedProduct)
    assert (found.patterns(OF)[2].view(np.float32) == A @ B).all()
    np.savez(tmp_path / "x.npz", a=A, b=B, c=A, d=A @ B)
    with pytest.raises(InputError, match="has a c"):
        find_matrix_target(f"files:{tmp_path / 'x.npz'}")


def test_products_that_are_none() -> None:
    with pytest.raises(InputError, match=r"k = 0 is out of range: 1\.\.16384"):
        product(2, 3, 0)
    with pytest.raises(InputError, match="integers and floating-point numbers do not mix"):
        product(2, 3, 4, "int8", "fp32")
