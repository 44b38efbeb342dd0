"""`mmaproof gemm plans`: presets of plans, the keys that plans have, and the operations of one plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from mmaproof.cli.options import Json, Length
from mmaproof.cli.output import assumed_names, print_json, say, say_table, say_wrapped

if TYPE_CHECKING:
    from mmaproof.gemm.programs import Plan


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("plans")(plans)


def plans(
    plan: Annotated[
        str | None,
        typer.Argument(
            metavar="[PLAN]",
            help="Show the operations of a plan: UNIT | key=value | ..., a preset, or a TOML file.",
            show_default=False,
        ),
    ] = None,
    k: Length = None,
    json: Json = False,
) -> None:
    """List the presets and the keys of plans, or show one plan and its operations."""
    from mmaproof.cli.gemm.options import find_plan

    if plan is None:
        _print_presets(json)
        return
    _print_plan(find_plan(plan, None), k, json)


def _print_presets(json: bool) -> None:
    from rich.table import Table
    from rich.text import Text

    from mmaproof.explain.answers.listings import Key, Preset, Presets
    from mmaproof.gemm.programs import KEYS, read_plan
    from mmaproof.gemm.programs.presets import load_presets

    presets = load_presets()
    if json:
        print_json(
            Presets(
                presets=[
                    Preset.taken(x, version=x.version or None, file=x.file or None, plan=read_plan(x.name).name)
                    for x in presets.values()
                ],
                keys={name: Key.taken(x) for name, x in KEYS.items()},
            )
        )
        return
    table = Table(box=None, pad_edge=False)
    for column in ("preset", "what it is", "source"):
        table.add_column(column, no_wrap=column == "preset")
    for x in presets.values():
        table.add_row(*map(Text, (x.name, x.what, x.rests_on)))
    say_table(table)
    say("")
    say("Keys of a plan, in the order of the data: UNIT | key=value | key=value")
    for name, key in KEYS.items():
        say_wrapped(f"{key.meaning}: {key.values} (without it: {key.default})", f"  {name:<10} ")


def _print_plan(plan: Plan, k: int | None, json: bool) -> None:
    from mmaproof.explain.answers.listings import PlanAnswer
    from mmaproof.gemm.programs.lengths import shortest_k
    from mmaproof.gemm.programs.orders import ASCENDING
    from mmaproof.gemm.programs.schedule import described

    length = shortest_k((plan,)) if k is None else k
    schedule = plan.with_open_orders(ASCENDING).schedule(length)
    formats: dict[str, Any] = {n: f.name for n, f in zip("abcd", plan.formats, strict=True)}
    if json:
        operations = [described(x) for x in schedule.operations]
        assumed = assumed_names([plan.unit])
        print_json(PlanAnswer(plan=plan.name, formats=formats, k=length, operations=operations, assumed=assumed))
        return
    say(plan.name)
    say("  " + ", ".join(f"{n} {f}" for n, f in formats.items()))
    if plan.has_open_order:
        say("  the order of some additions is not determined: they are shown in ascending order")
    say(f"  operations for K = {length}:")
    for i, x in enumerate(schedule.operations):
        say(f"  v{i} = {described(x)}")
