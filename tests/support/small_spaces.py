"""A space of `identify` in which all but a few parameters are known, so that a search and its proofs take seconds."""

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.parameters import complete_settings, format_settings
from mmaproof.generators.identify.space import Interface, default_axes


def small_space(name: str, **unknown: list[object] | None) -> str:
    """Return a file for `--space` with the parameters of a unit, and the values of those that are not known.

    None stands for all values of a parameter.
    """
    unit = find_design(name)
    held = format_settings(complete_settings(unit.chain, unit.step), default_axes(Interface.of(unit)))
    lines = [f'{n} = ["{value}"]' for n, value in held.items() if n not in unknown]
    return "\n".join([*lines, *(f"{n} = {values}" for n, values in unknown.items() if values is not None)])
