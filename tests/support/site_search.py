"""Checks the search of the built site: ``python tests/support/site_search.py build/site``, a part of ``make site``.

The script that searches in a reader's browser runs in Node.js, on the index of the site. What a reader types must lead
to the page on which it is explained: that page must be one of the first few. Without Node.js nothing is checked, which
is said.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

FIRST = 5
"""Pages among which the wanted one must be: as many as a reader sees without scrolling."""

WANTED: Mapping[str, str] = {
    "split-K": "plans.html",
    "batch invariant": "plans.html",
    "CSV": "data.html",
    "npy": "data.html",
    "safetensors": "data.html",
    "h100": "units/index.html",
    "mi300x": "units/index.html",
    "e4m3": "units/by-formats.html",
    "TOSA": "conformance.html",
    "tolerance": "tolerances.html",
    "assert_gemm": "reference/python.html",
    "identify": "identification.html",
    "compare": "reference/commands/compare.html",
    "rtl prove": "rtl.html",
    "exit status": "reference/exit-statuses.html",
    "fraction_bits": "reference/parameters.html",
    "stochastic rounding": "reference/parameters.html",
    "triton": "triton.html",
}
"""What a reader types, and the page that should be found."""

_SEARCH = """
const fs = require("fs");
const [worker, index, questions] = process.argv.slice(1);
const waiting = [];
globalThis.self = globalThis;
globalThis.addEventListener = (_, handle) => { globalThis.handle = handle; };
globalThis.postMessage = (message) => waiting.shift()(message);
(0, eval)(fs.readFileSync(worker, "utf8"));
const ask = (type, data) => new Promise((done) => { waiting.push(done); globalThis.handle({data: {type, data}}); });
(async () => {
  const {config, docs} = JSON.parse(fs.readFileSync(index, "utf8"));
  await ask(0, {config, docs, options: {suggest: false}});
  const found = {};
  for (const question of JSON.parse(questions)) {
    const {data} = await ask(2, question);
    found[question] = data.items.map(([first]) => first.location.split("#")[0]);
  }
  console.log(JSON.stringify(found));
})();
"""
"""Sends a set-up and questions to the script, as the page does, and prints the pages that it finds, the best first."""


class SearchError(Exception):
    """The search of a site cannot be run."""


def find(site: Path, questions: Sequence[str], node: str = "node") -> dict[str, list[str]]:
    """Return for each question the pages that the search of a site finds, the best first.

    Raises SearchError where the site has no search, or its script fails.
    """
    workers = sorted(site.glob("assets/javascripts/workers/search.*.js"))
    index = site / "search" / "search_index.json"
    if not (workers and index.is_file()):
        raise SearchError(f"{site} has no search: neither its script nor its index may be missing")
    ran = subprocess.run(
        [node, "-e", _SEARCH, str(workers[0]), str(index), json.dumps(list(questions))],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    try:
        found: dict[str, list[str]] = json.loads(ran.stdout)
    except ValueError:
        raise SearchError(f"the search of {site} failed: {ran.stderr.strip()[-500:] or ran.returncode}") from None
    return found


def problems(found: Mapping[str, Sequence[str]], wanted: Mapping[str, str] = WANTED) -> list[str]:
    """Return what a reader does not find, with what is found in its place."""
    return [
        f"{question!r}: {page} is not among the first {FIRST} pages: {', '.join(found.get(question, [])[:FIRST])}"
        for question, page in wanted.items()
        if page not in found.get(question, [])[:FIRST]
    ]


def main(arguments: list[str]) -> int:
    """Print what is not found; return 1 if anything is not."""
    if shutil.which("node") is None:
        print("the search of the site is not checked: there is no Node.js", file=sys.stderr)
        return 0
    try:
        missed = problems(find(Path(arguments[0]), list(WANTED)))
    except SearchError as problem:
        missed = [str(problem)]
    for text in missed:
        print(text, file=sys.stderr)
    print(f"{len(WANTED)} questions to the search of the site, {len(missed)} without the wanted page")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
