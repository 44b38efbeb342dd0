"""Bundles of small questions, and the checker of bundles, which is no part of the package."""

import contextlib
import hashlib
import importlib.util
import io
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from mmaproof.designs.design import Design
from mmaproof.designs.parameters import compose
from mmaproof.designs.signature import Signature
from mmaproof.properties.question import Question
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.solving import Solving
from mmaproof.verification.bundle import BundleReport, write_bundles
from support.small_designs import CONVERSIONS, ELEMENTS

CHECKER = Path(__file__).resolve().parents[2] / "checker" / "mmaproof_check.py"
LIMITS = Limits(100, 2 << 30)


def load_checker() -> ModuleType:
    """The checker as a module."""
    specification = importlib.util.spec_from_file_location("mmaproof_check", CHECKER)
    if specification is None or specification.loader is None:
        raise ImportError(f"{CHECKER} is no module")
    module = importlib.util.module_from_spec(specification)
    sys.modules["mmaproof_check"] = module
    specification.loader.exec_module(module)
    return module


def checked(folder: Path, *options: str, checker: ModuleType | None = None) -> tuple[int, str]:
    """The exit status of the checker on a bundle, and what it printed."""
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
        status = (checker or load_checker()).main([str(folder), *options])
    return status, out.getvalue()


def small_design(length: int, **settings: Any) -> Design:
    """A fused unit of so many products of words of three bits, where ``use_small_formats`` holds."""
    rho = "rne-fp16"
    chain, step = compose({"L": length, "rho": rho, "fraction_bits": 3})
    element = next(f for f in ELEMENTS if f.name == "small-e1m1")
    target = CONVERSIONS[rho].target
    signature = Signature(element, element, target, target)
    design = Design("small", f"m1n1k{length}", "any", signature, 1, 1, length, chain, step, "made up")
    return design.change(**settings) if settings else design


def written(question: Question, design: Design, folder: Path, about: Mapping[str, Any] | None = None) -> BundleReport:
    """Write the bundle of a question."""
    return write_bundles([(question, about or {"claim": "a claim"})], design, folder, Solving(), LIMITS, 0)


def without_proof(folder: Path, lemma: str, variables: Mapping[str, int], claim: str = "true") -> Path:
    """A bundle with one lemma and no proof of it, which says that nothing satisfies what it says."""
    declared = "".join(f"(declare-const {x} (_ BitVec {w}))\n" for x, w in variables.items())
    files = {
        "claim.smt2": f"(set-logic QF_BV)\n{declared}(assert {claim})\n(check-sat)\n",
        "definitions.smt2": f"(set-logic QF_BV)\n{declared}",
        "composition.json": json.dumps({"steps": [{"lemma": "0001", "with": {x: x for x in variables}, "why": ""}]}),
        "lemmas/0001.smt2": f"(set-logic QF_BV)\n{declared}(assert {lemma})\n(check-sat)\n",
    }
    return of_files(folder, files)


def of_files(folder: Path, files: Mapping[str, str]) -> Path:
    """A bundle of these files, with their hashes."""
    (folder / "lemmas").mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    hashes = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in files.items()}
    (folder / "manifest.json").write_text(json.dumps({"form": "mmaproof-bundle-1", "files": hashes}))
    return folder
