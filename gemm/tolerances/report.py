"""The HTML report of assertions: a page that needs nothing else, with errors drawn against bounds (SVG)."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from math import ceil, floor, log10

import numpy as np

from mmaproof.gemm.tolerances.assertion import Outcome, Strength
from mmaproof.gemm.tolerances.given import Floats

WIDTH, HEIGHT, MARGIN = 460, 300, 48
_LEAST = 1e-300

_STYLE = """
:root { color-scheme: light dark; --line: #888; --dot: #2563a8; --bad: #c03028; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 62rem; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.05rem; margin: 0 0 .3rem; overflow-wrap: anywhere; }
section { border-top: 1px solid var(--line); padding: 1rem 0; }
pre { white-space: pre-wrap; margin: .5rem 0; } .bad { color: var(--bad); }
svg { max-width: 100%; height: auto; } svg text { font-size: 11px; fill: currentColor; }
""".strip()


def page(found: Sequence[tuple[str, Outcome]]) -> str:
    """Return the page of outcomes, each with the name of its test."""
    failed = sum(1 for _, x in found if x.count)
    head = f"{len(found)} matrix products, {failed} of them not as asserted"
    sections = "\n".join(_section(test, x) for test, x in found)
    return (
        "<!DOCTYPE html>\n"
        '<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>mmaproof: {escape(head)}</title><style>{_STYLE}</style></head>\n"
        f"<body><h1>{escape(head)}</h1>\n{sections}\n</body></html>\n"
    )


def _section(test: str, x: Outcome) -> str:
    rows, columns = x.shape
    passed = f"{rows * columns - x.unchecked} elements pass" if x.unchecked else "all elements pass"
    verdict = f'<span class="bad">{x.count} elements fail</span>' if x.count else passed
    verdict += f", {x.unchecked} have no bound and were not checked" if x.unchecked else ""
    what = f"{x.plan}, {rows} x {columns} x {x.k}, strength {x.strength}: "
    if x.judged:
        verdict = f'<span class="bad">{escape(x.judged)}</span>' if x.count else escape(x.judged)
    text = f'<pre class="bad">{escape(x.text)}</pre>' if x.text else ""
    picture = "" if x.judged else _picture(x)
    return f"<section><h2>{escape(test)}</h2><p>{escape(what)}{verdict}</p>{picture}{text}</section>"


def _picture(x: Outcome) -> str:
    """Return errors against bounds, both logarithmic; without bounds, against the place of the element."""
    errors = np.minimum(np.nan_to_num(x.errors, nan=np.inf, posinf=1e300), 1e300)
    bounded = x.strength is not Strength.BITS
    against = x.bounds if bounded else np.arange(1, len(errors) + 1, dtype=np.float64)
    drawn = np.isfinite(against) & (against > 0)
    errors, against, failing = errors[drawn], against[drawn], x.failing[drawn]
    if not len(errors):
        return "<p>No element has a bound that could be drawn.</p>"
    positive = errors[errors > _LEAST]
    low = positive.min() if len(positive) else against.min() * 1e-3
    y_range = _decades(np.concatenate([[low], positive, against if bounded else []]))
    x_range = _decades(against)
    kind = "bound" if bounded else "element"
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="errors against {kind}s">',
        _axes(x_range, y_range, kind),
    ]
    if bounded:
        ends = [max(x_range[0], y_range[0]), min(x_range[1], y_range[1])]
        if ends[0] < ends[1]:
            (x1, y1), (x2, y2) = ((_across(e, x_range), _down(e, y_range)) for e in ends)
            parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="var(--bad)"/>')
    for error, at, bad in zip(errors, against, failing, strict=True):
        across, down = _across(log10(at), x_range), _down(log10(max(error, low)), y_range)
        colour = "var(--bad)" if bad else "var(--dot)"
        parts.append(f'<circle cx="{across:.1f}" cy="{down:.1f}" r="2" fill="{colour}" fill-opacity=".6"/>')
    return "".join([*parts, "</svg>"])


def _decades(values: Floats) -> tuple[int, int]:
    """Return the powers of ten around values."""
    low, high = floor(log10(float(values.min()))), ceil(log10(float(values.max())))
    return low, max(high, low + 1)


def _across(x: float, limits: tuple[int, int]) -> float:
    return MARGIN + (x - limits[0]) / (limits[1] - limits[0]) * (WIDTH - 2 * MARGIN)


def _down(y: float, limits: tuple[int, int]) -> float:
    return HEIGHT - MARGIN - (y - limits[0]) / (limits[1] - limits[0]) * (HEIGHT - 2 * MARGIN)


def _axes(x_range: tuple[int, int], y_range: tuple[int, int], kind: str) -> str:
    left, right, top, bottom = MARGIN, WIDTH - MARGIN, MARGIN, HEIGHT - MARGIN
    parts = [f'<path d="M{left} {top}V{bottom}H{right}" fill="none" stroke="var(--line)"/>']
    for exponent in _ticks(x_range):
        at = _across(exponent, x_range)
        parts.append(f'<text x="{at:.1f}" y="{bottom + 16}" text-anchor="middle">1e{exponent}</text>')
    for exponent in _ticks(y_range):
        at = _down(exponent, y_range)
        parts.append(f'<text x="{left - 6}" y="{at + 4:.1f}" text-anchor="end">1e{exponent}</text>')
    parts.append(f'<text x="{(left + right) / 2}" y="{HEIGHT - 8}" text-anchor="middle">{kind}</text>')
    parts.append(f'<text x="{left}" y="{top - 10}">|actual - exact|</text>')
    return "".join(parts)


def _ticks(limits: tuple[int, int]) -> range:
    return range(limits[0], limits[1] + 1, max((limits[1] - limits[0]) // 5, 1))
