"""`mmaproof matrix`: every comparable pair of many designs decided, and the classes that follow."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mmaproof.cli.compare import differing_fields, witness_vector
from mmaproof.cli.options import (
    PER_QUESTION,
    SOLVING,
    Architectures,
    Dask,
    DesignNames,
    Everything,
    Processes,
    SolvingOptions,
    executors,
    named_design,
    option,
    with_backend,
    with_options,
)
from mmaproof.cli.output import Exit, assumed_names, complain, counted
from mmaproof.cli.showing import SHOWING, ShowingOptions, moved
from mmaproof.cli.verdicts import conditional, conditions_of, decided

if TYPE_CHECKING:
    from mmaproof.cli.matrix_text import Matrix
    from mmaproof.designs.design import Design
    from mmaproof.explain.answers.surveys import MatrixAnswer, Pair
    from mmaproof.generators.vectors import Vector
    from mmaproof.verification.executors import Pool
    from mmaproof.verification.matrix import PairVerdict


@with_backend
@with_options(without="search jobs picture explain svg figure junit bundle", timeout_of=PER_QUESTION)
def matrix(
    names: DesignNames = None,
    everything: Everything = False,
    architectures: Architectures = None,
    options: SolvingOptions = SOLVING,
    jobs: Processes = None,
    dask: Dask = None,
    figure: Annotated[Path | None, option("--figure FILE", "Draw the classes: a .svg, .pdf or .png file.")] = None,
    picture: Annotated[bool, option("--picture", hidden=True, callback=moved("--picture", "--figure"))] = False,
    showing: ShowingOptions = SHOWING,
) -> int:
    """Decide every comparable pair of designs: equivalent, different (with a vector), or unknown.

    Designs are comparable if their formats and scales are the same; they are compared at the least common multiple of
    their K. Designs that are all proved equivalent to each other form a class. A question that several pairs share is
    asked once. Answers are kept as they come: the same command after an interruption goes on where it was.

    Exit status 0: every pair is decided, also where designs differ; 3: some are unknown.
    """
    from mmaproof.cli.matrix_text import Matrix, print_matrix, require_pictures, write_picture
    from mmaproof.designs.files import make_way
    from mmaproof.verification.matrix import groups_of, not_comparable, pairs_of

    started = time.monotonic()
    designs = chosen(names or [], everything, architectures or [])
    if figure is not None:
        require_pictures(figure)
    showing.ready(figure)
    make_way(figure)
    pairs = pairs_of(designs)
    with executors(dask, jobs, options.solving) as (pool, at_once):
        found = verdicts(designs, pool, at_once, options, replays=dask is not None)
    place = {(x.name, y.name): i for i, (x, y) in enumerate(pairs)}
    found.sort(key=lambda a: place[a.names])
    done = Matrix(designs, found, groups_of(designs, found), not_comparable(designs), time.monotonic() - started)
    showing.show(lambda: matrix_of(done), lambda: print_matrix(done), vectors=lambda: vectors_of(done), about=designs)
    several = [g for g in done.groups if len(g.classes) > 1]
    if figure is not None and several:
        write_picture(figure, several)
    elif figure is not None:
        complain(f"note: {figure} is not drawn: no two comparable designs are in different classes")
    return Exit.UNKNOWN if done.counts["unknown"] else Exit.HOLDS


def verdicts(
    designs: Sequence[Design], pool: Pool, at_once: int, options: SolvingOptions, *, replays: bool
) -> list[PairVerdict]:
    """Return the verdict on every comparable pair, in the order in which verdicts come, and say how many there are."""
    from mmaproof.verification.matrix import compare_all, pairs_of

    answers = compare_all(
        designs,
        pool=pool,
        at_once=at_once,
        solving=options.solving,
        limits=options.limits_of_each,
        seed=options.seed,
        replays=replays,
    )
    with closing(answers):
        return list(counted(answers, "pairs", len(pairs_of(designs))))


def chosen(names: Sequence[str], everything: bool, architectures: Sequence[str]) -> list[Design]:
    """Return the designs that are meant, each once. Raises InputError for fewer than two, DesignError."""
    from mmaproof.designs.catalogue import load_catalogue
    from mmaproof.designs.errors import InputError

    catalogue = load_catalogue()
    architectures = [catalogue.architecture(x) for x in architectures]
    found = [d for d in catalogue.designs.values() if everything or d.architecture in architectures]
    unique = list({d.name: d for d in [*found, *map(named_design, names)]}.values())
    if len(unique) < 2:
        named = f"only {unique[0].name}" if unique else "no design"
        raise InputError(f"{named} is named: name two or more designs, or choose --architecture NAME or --all")
    return unique


def vectors_of(done: Matrix) -> list[Vector]:
    """Return a vector for each question that found one, with the outputs of all designs that it is about."""
    found: dict[int | None, Vector] = {}
    for a in done.answers:
        if a.comparison.witness is not None:
            vector = witness_vector(a.comparison)
            before = found.setdefault(a.number, vector)
            found[a.number] = replace(before, outputs={**before.outputs, **vector.outputs})
    return list(found.values())


def matrix_of(done: Matrix) -> MatrixAnswer:
    """Return the matrix as an answer."""
    from mmaproof.explain.answers.surveys import Group, MatrixAnswer

    questions = {x.number: decided(x.comparison) for x in {x.number: x for x in done.answers}.values()}
    return MatrixAnswer.taken(
        done,
        designs=[d.name for d in done.designs],
        classes=[
            Group(
                formats=str(g.signature),
                classes=[[d.name for d in c] for c in g.classes],
                transitive=not any(g.not_transitive()),
            )
            for g in done.groups
        ],
        pairs=[pair_of(x, questions[x.number]) for x in done.answers],
        assumed=assumed_names(done.designs),
    )


def pair_of(answer: PairVerdict, known: dict[str, Any]) -> Pair:
    """Return the answer of a pair: that of `compare`, with its question, and what is ``known`` of that."""
    from mmaproof.explain.answers.answer import ABSENT, DifferingWitness
    from mmaproof.explain.answers.surveys import Pair

    done = answer.comparison
    first, second = done.question.designs
    return Pair(
        first=first.name,
        second=second.name,
        question=answer.number,
        # pairs are counted by verdict, so conditions stand beside it
        **{**conditional(done.verdict, conditions_of([first, second])), "verdict": done.verdict},
        k=done.question.k,
        **known,
        witness=ABSENT if done.witness is None else DifferingWitness(**differing_fields(done)),
    )
