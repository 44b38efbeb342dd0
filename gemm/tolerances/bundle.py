"""The bound of all operands of a range as a bundle: lemmas with refutations, and what is derived from them.

docs/bundle.md specifies the files.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from mmaproof.designs.files import require_new_folder, write_folder
from mmaproof.gemm.tolerances.derivation import Derivation, NotDerivedError, name_of
from mmaproof.gemm.tolerances.tolerance import Tolerance
from mmaproof.smt.bundles.writing import Refutations, bound_files, lemma_files
from mmaproof.smt.solving.limits import Limits, worked
from mmaproof.smt.solving.refuting import NotRefutedError, Refuter
from mmaproof.verification.bundle import BundleReport, NoBundleError


def write_bound(tolerance: Tolerance, folder: Path, limits: Limits) -> tuple[BundleReport, Derivation]:
    """Write the bound of all operands of the tolerance's conditions as a bundle.

    Raises NoBundleError where there is no derivation, or a lemma has no refutation within the limits, and InputError
    for conditions that give no largest number, and for a folder that is not empty. Nothing is written then.
    """
    require_new_folder(folder)
    about = {
        "claim": f"errors of {tolerance.plan.name} are at most those of bound.json",
        "k": tolerance.k,
        "where": [str(x) for x in tolerance.where],
        "designs": [{**tolerance.unit.record(), "evidence": str(tolerance.unit.evidence.row)}],
        "made_by": f"mmaproof {version('mmaproof')}",
    }
    started = worked()
    try:
        found = tolerance.derivation()
        files = files_of_derivation(found, about, limits)
    except (NotDerivedError, NotRefutedError) as problem:
        raise NoBundleError(str(problem)) from None
    write_folder(folder, files)
    size = sum(map(len, files.values()))
    return BundleReport((folder,), len(found.lemmas), len(found.numbers), size, worked() - started), found


def files_of_derivation(found: Derivation, about: Mapping[str, Any], limits: Limits) -> dict[str, bytes]:
    """Return the files of a bundle; ``about`` is what its manifest says. Raises NotRefutedError."""
    lemmas: dict[str, str] = {}
    with Refuter(limits.memory_bytes) as refuter:
        refutations = Refutations(refuter, limits)
        for number, lemma in enumerate(found.lemmas):
            lemmas |= lemma_files(name_of(number), lemma.why, lemma.script, lemma.query, refutations)
    return bound_files(found.claim, found.record, lemmas, about)
