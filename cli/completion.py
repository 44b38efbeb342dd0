"""What shells complete, beside commands and options: names of designs, properties, architectures and plans.

`mmaproof --install-completion` installs the completion of typer, which asks these functions at each press of the key.
"""

from __future__ import annotations


def designs(incomplete: str) -> list[str]:
    """Return the names of designs that begin with a text."""
    from mmaproof.designs.catalogue import load_catalogue

    return [x for x in load_catalogue().designs if x.startswith(incomplete)]


def architectures(incomplete: str) -> list[str]:
    """Return the architectures that begin with a text."""
    from mmaproof.designs.catalogue import load_catalogue

    return [x for x in load_catalogue().architectures if x.startswith(incomplete)]


def properties(incomplete: str) -> list[str]:
    """Return the properties that begin with a text."""
    from mmaproof.properties.library import PROPERTIES

    return [x for x in PROPERTIES if x.startswith(incomplete)]


def programs(incomplete: str) -> list[str]:
    """Return the algorithms, presets of plans and designs that begin with a text."""
    from mmaproof.gemm.programs.algorithms import ALGORITHMS
    from mmaproof.gemm.programs.presets import load_presets

    return [x for x in (*ALGORITHMS, *load_presets()) if x.startswith(incomplete)] + designs(incomplete)


def everything(incomplete: str) -> list[str]:
    """Return all names that begin with a text, of properties, algorithms, presets and designs."""
    return properties(incomplete) + programs(incomplete)


def kinds(incomplete: str) -> list[str]:
    """Return what is listed that begins with a text: kinds of things, and architectures."""
    from mmaproof.cli.listing import DESIGNS, KINDS

    return [x for x in (DESIGNS, *KINDS) if x.startswith(incomplete)] + architectures(incomplete)
