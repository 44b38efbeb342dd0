"""`mmaproof matrix`: every comparable pair of many designs decided, and the classes that follow."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mmaproof.cli import lib
from mmaproof.cli import options as opt
from mmaproof.cli.compare import differing_fields, witness_vector
from mmaproof.cli.output import Exit, assumed_names, complain, counted
from mmaproof.cli.showing import SHOWING, ShowingOptions, moved
from mmaproof.cli.verdicts import conditional, conditions_of, decided
from mmaproof.designs.errors import InputError

if TYPE_CHECKING:
    from mmaproof.cli.matrix_text import Matrix


@opt.with_backend
@opt.with_options(without="search jobs picture explain svg figure junit bundle", timeout_of=opt.PER_QUESTION)
def matrix(
    names: opt.DesignNames = None,
    everything: opt.Everything = False,
    architectures: opt.Architectures = None,
    options: opt.SolvingOptions = opt.SOLVING,
    jobs: opt.Processes = None,
    dask: opt.Dask = None,
    figure: Annotated[Path | None, opt.option("--figure FILE", "Draw the classes: a .svg, .pdf or .png file.")] = None,
    picture: Annotated[bool, opt.option("--picture", hidden=True, callback=moved("--picture", "--figure"))] = False,
    showing: ShowingOptions = SHOWING,
) -> int:
    """Decide every comparable pair of designs: equivalent, different (with a vector), or unknown.

    Designs are comparable if their formats and scales are the same; they are compared at the least common multiple of
    their K. Designs that are all proved equivalent to each other form a class. A question that several pairs share is
    asked once. Answers are kept as they come: the same command after an interruption goes on where it was.

    Exit status 0: every pair is decided, also where designs differ; 3: some are unknown.
    """
    from mmaproof.cli.matrix_text import Matrix, print_matrix, require_pictures, write_picture

    started = time.monotonic()
    designs = chosen(names or [], everything, architectures or [])
    if figure is not None:
        require_pictures(figure)
    showing.ready(figure)
    lib.files.make_way(figure)
    pairs = lib.matrix.pairs_of(designs)
    with opt.executors(dask, jobs, options.solving) as (pool, at_once):
        found = verdicts(designs, pool, at_once, options, replays=dask is not None)
    place = {(x.name, y.name): i for i, (x, y) in enumerate(pairs)}
    found.sort(key=lambda a: place[a.names])
    done = Matrix(
        designs,
        found,
        lib.matrix.groups_of(designs, found),
        lib.matrix.not_comparable(designs),
        time.monotonic() - started,
    )
    showing.show(lambda: matrix_of(done), lambda: print_matrix(done), vectors=lambda: vectors_of(done), about=designs)
    several = [g for g in done.groups if len(g.classes) > 1]
    if figure is not None and several:
        write_picture(figure, several)
    elif figure is not None:
        complain(f"note: {figure} is not drawn: no two comparable designs are in different classes")
    return Exit.UNKNOWN if done.counts["unknown"] else Exit.HOLDS


def verdicts(
    designs: Sequence[lib.design.Design],
    pool: lib.executors.Pool,
    at_once: int,
    options: opt.SolvingOptions,
    *,
    replays: bool,
) -> list[lib.matrix.PairVerdict]:
    """Return the verdict on every comparable pair, in the order in which verdicts come, and say how many there are."""
    answers = lib.matrix.compare_all(
        designs,
        pool=pool,
        at_once=at_once,
        solving=options.solving,
        limits=options.limits_of_each,
        seed=options.seed,
        replays=replays,
    )
    with closing(answers):
        return list(counted(answers, "pairs", len(lib.matrix.pairs_of(designs))))


def chosen(names: Sequence[str], everything: bool, architectures: Sequence[str]) -> list[lib.design.Design]:
    """Return the designs that are meant, each once. Raises InputError for fewer than two, DesignError."""
    catalogue = lib.catalogue.load_catalogue()
    architectures = [catalogue.architecture(x) for x in architectures]
    found = [d for d in catalogue.designs.values() if everything or d.architecture in architectures]
    unique = list({d.name: d for d in [*found, *map(opt.named_design, names)]}.values())
    if len(unique) < 2:
        named = f"only {unique[0].name}" if unique else "no design"
        raise InputError(f"{named} is named: name two or more designs, or choose --architecture NAME or --all")
    return unique


def vectors_of(done: Matrix) -> list[lib.vectors.Vector]:
    """Return a vector for each question that found one, with the outputs of all designs that it is about."""
    found: dict[int | None, lib.vectors.Vector] = {}
    for a in done.answers:
        if a.comparison.witness is not None:
            vector = witness_vector(a.comparison)
            before = found.setdefault(a.number, vector)
            found[a.number] = replace(before, outputs={**before.outputs, **vector.outputs})
    return list(found.values())


def matrix_of(done: Matrix) -> lib.surveys.MatrixAnswer:
    """Return the matrix as an answer."""
    questions = {x.number: decided(x.comparison) for x in {x.number: x for x in done.answers}.values()}
    return lib.surveys.MatrixAnswer.taken(
        done,
        designs=[d.name for d in done.designs],
        classes=[
            lib.surveys.Group(
                formats=str(g.signature),
                classes=[[d.name for d in c] for c in g.classes],
                transitive=not any(g.not_transitive()),
            )
            for g in done.groups
        ],
        pairs=[pair_of(x, questions[x.number]) for x in done.answers],
        assumed=assumed_names(done.designs),
    )


def pair_of(answer: lib.matrix.PairVerdict, known: dict[str, Any]) -> lib.surveys.Pair:
    """Return the answer of a pair: that of `compare`, with its question, and what is ``known`` of that."""
    done = answer.comparison
    first, second = done.question.designs
    return lib.surveys.Pair(
        first=first.name,
        second=second.name,
        question=answer.number,
        # pairs are counted by verdict, so conditions stand beside it
        **{**conditional(done.verdict, conditions_of([first, second])), "verdict": done.verdict},
        k=done.question.k,
        **known,
        witness=lib.answer.ABSENT if done.witness is None else lib.answer.DifferingWitness(**differing_fields(done)),
    )
