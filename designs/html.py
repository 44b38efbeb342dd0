"""A design as HTML: what it is, and its parameters as a table. Notebooks show it."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from mmaproof.designs.parameters import DEFINITIONS, format_settings

if TYPE_CHECKING:
    from mmaproof.designs.design import Design


def design_html(design: Design) -> str:
    """Return a design as a fragment of HTML without any style of its own."""
    formats = ", ".join(f"{x} {f.name}" for x, f in zip("abcd", design.formats, strict=True))
    scales = (
        "" if design.scale_format is None else f"; scales {design.scale_format.name}, one for {design.block} elements"
    )
    settings = format_settings(design.settings) if design.step.is_parametric else {}
    rows = "".join(
        f'<tr><th scope="row" style="text-align:left">{escape(name)}{"*" * (name in design.changed)}</th>'
        f'<td style="text-align:left">{escape(value)}</td>'
        f'<td style="text-align:left">{escape(DEFINITIONS[name].meaning)}</td></tr>'
        for name, value in settings.items()
    )
    heads = "".join(f'<th scope="col" style="text-align:left">{x}</th>' for x in ("parameter", "value", "meaning"))
    assumed = "; assumed, no source describes this unit" if design.is_assumed else ""
    table = f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>" if rows else ""
    return (
        f"<div><p><b>{escape(design.name)}</b><br>{escape(formats + scales)}; K = {design.k}, L = {design.step.L}<br>"
        f"source: {escape(design.source)}{assumed}{'; * changed' * bool(design.changed)}</p>{table}</div>"
    )
