"""`mmaproof rtl identify`: what design is this RTL? The same as `mmaproof identify rtl:UNIT.toml`."""

from __future__ import annotations

from typing import Annotated

import typer

from mmaproof.cli.identify import identify as decide
from mmaproof.cli.options import SOLVING, Json, Seed, SolvingOptions, with_backend, with_options
from mmaproof.cli.rtl.options import UnitPath


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("identify")(with_backend(identify))


@with_options(without="search jobs certify timeout memory seed")
def identify(
    path: UnitPath,
    options: SolvingOptions = SOLVING,
    seed: Seed = 0,
    timeout: Annotated[
        str, typer.Option("--timeout", metavar="TIME", help="For everything but the proof: 60s, 5m.")
    ] = "60s",
    proof_timeout: Annotated[
        str, typer.Option("--proof-timeout", metavar="TIME", help="For the proof that the unit equals what was found.")
    ] = "10m",
    proofs: Annotated[
        bool, typer.Option("--proofs/--no-proofs", help="Prove what cannot be told apart, and the design found.")
    ] = True,
    json: Json = False,
) -> int:
    """Find out what a unit is: its parameters from what it returns, and then a proof that it is the design found.

    Exit status 0: found and proved equal; 1: no design was found, or the proof refutes it; 3: time ran out.
    """
    from mmaproof.rtl.meant import RTL

    return decide(
        target=f"{RTL}{path}",
        seed=seed,
        timeout=timeout,
        proof_timeout=proof_timeout,
        proofs=proofs,
        json=json,
        solver=options.solver,
        store=options.store,
        no_store=options.no_store,
    )
