"""Bundles of small questions, and the checker of bundles, which is not part of the package."""

import contextlib
import hashlib
import importlib.util
import io
import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from mmaproof.designs.design import Design
from mmaproof.designs.parameters import compose
from mmaproof.designs.signature import Signature
from mmaproof.properties.question import Question
from mmaproof.smt.bundles.writing import Refutations
from mmaproof.smt.proving.kernel import Kernel, Theorem
from mmaproof.smt.solving.limits import Limits
from mmaproof.smt.solving.refuting import Refuter
from mmaproof.smt.solving.solving import Solving
from mmaproof.verification.bundle import BundleReport, write_bundles
from support.small_designs import CONVERSIONS, ELEMENTS

CHECKER = Path(__file__).resolve().parents[2] / "checker" / "mmaproof_check.py"
LIMITS = Limits(100, 2 << 30)
SCRIPT = "(set-logic QF_BV)\n(declare-const p Bool)\n(declare-const q Bool)\n"
LEMMA = f"{SCRIPT}(assert p)\n(assert (not p))\n(check-sat)\n"
PROVED: Mapping[str, str] = {
    "claim.smt2": f"{SCRIPT}(assert (and q (not q)))\n(check-sat)\n",
    "definitions.smt2": f"{SCRIPT}(define-fun cut0 () Bool q)\n(define-fun cut1 () Bool (not cut0))\n",
    "composition.json": json.dumps(
        {"met": {"p": 0, "q": 1}, "steps": [{"lemma": "0001", "with": {"p": "cut0", "q": "p"}}]}
    ),
    "lemmas/0001.smt2": LEMMA,
    "lemmas/0001.cnf": "p cnf 2 2\n2 0\n-2 0\n",
    "lemmas/0001.map.json": json.dumps({"p": [2]}),
    "lemmas/0001.lrat": "3 0 1 2 0\n",
}
FALSE = f"{SCRIPT}(assert (and q p))\n(check-sat)\n"
"""A claim that is false: both operands true are a counterexample."""
WITHOUT_PROOF: Mapping[str, None] = {f"lemmas/0001.{kind}": None for kind in ("cnf", "map.json", "lrat")}


def load_checker() -> ModuleType:
    """The checker as a module."""
    specification = importlib.util.spec_from_file_location("mmaproof_check", CHECKER)
    if specification is None or specification.loader is None:
        raise ImportError(f"{CHECKER} is not a module")
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
    """A fused unit of N products of words of three bits, where ``use_small_formats`` holds."""
    rho = "rne-fp16"
    chain, step = compose({"L": length, "rho": rho, "fraction_bits": 3})
    element = next(f for f in ELEMENTS if f.name == "small-e1m1")
    target = CONVERSIONS[rho].target
    signature = Signature(element, element, target, target)
    design = Design("small", f"m1n1k{length}", "any", signature, 1, 1, length, chain, step, "made up")
    return design.change(**settings) if settings else design


def written(question: Question, design: Design, folder: Path, about: Mapping[str, Any] | None = None) -> BundleReport:
    """Write the bundle of a question."""
    return write_bundles([(question, about or {"claim": "a claim"}, None)], design, folder, Solving(), LIMITS, 0)


def theorem_of(question: Question) -> Theorem:
    """The theorem that the argument of a question makes, with clausal proofs of its leaves."""
    whole, argument = question.formula, question.argument()
    if argument is None:
        raise ValueError("the question has no argument")
    with Refuter(LIMITS.memory_bytes) as refuter:
        kernel = Kernel(whole.environment, whole.violation, Refutations(refuter, LIMITS).refute)
        argument(kernel)
        return kernel.theorem()


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


def outcome(
    folder: Path, changes: Iterable[tuple[str, str | None]] = (), options: Iterable[str] = ()
) -> tuple[int, str]:
    """The status of a bundle of a few lines with other texts of some files, and what is said."""
    files = {name: text for name, text in {**PROVED, **dict(changes)}.items() if text is not None}
    return checked(of_files(folder, files), *options)


def steps(*found: tuple[str, Mapping[str, Any]]) -> str:
    """A composition of lemmas, each with what it is used with."""
    return json.dumps({"met": {"p": 1, "q": 1}, "steps": [{"lemma": x, "with": w} for x, w in found]})
