"""Names that people have for the units of the catalogue: those of products, and of compiler targets."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence

_LOG = logging.getLogger("mmaproof")

PRODUCTS: Mapping[str, tuple[str, ...]] = {
    "volta": ("v100", "v100s", "titan-v", "gv100"),
    "turing": ("t4", "rtx-2060", "rtx-2070", "rtx-2080", "rtx-2080-ti", "titan-rtx"),
    "ampere": ("a100", "a800", "a30"),
    "ada": ("l4", "l20", "l40", "l40s", "rtx-4060", "rtx-4070", "rtx-4080", "rtx-4090", "rtx-6000-ada"),
    "hopper": ("h100", "h200", "h800", "h20", "gh200"),
    "blackwell": ("b100", "b200", "gb200"),
    "blackwell-ultra": ("b300", "gb300"),
    "rtx-blackwell": ("rtx-5060", "rtx-5070", "rtx-5080", "rtx-5090", "rtx-pro-6000"),
    "gb10": ("dgx-spark",),
    "cdna1": ("mi100",),
    "cdna2": ("mi210", "mi250", "mi250x"),
    "cdna3": ("mi300a", "mi300x", "mi325x"),
    "cdna4": ("mi350x", "mi355x"),
    "rdna3": ("rx-7600", "rx-7700-xt", "rx-7800-xt", "rx-7900-xt", "rx-7900-xtx"),
    "rdna4": ("rx-9060-xt", "rx-9070", "rx-9070-xt"),
}
"""The architecture of each product. NVIDIA's compute capability 8.6 (RTX 30, A10, A40) is not in the catalogue."""

_MAKERS = re.compile(r"^(?:(?:nvidia|amd|instinct|geforce|tesla|radeon|quadro)-)+")


def architecture_of(name: str, architectures: Mapping[str, Sequence[str]]) -> str | None:
    """Return the architecture that a product or compiler target has; None if nobody calls one so. It is logged.

    ``architectures`` are those of the catalogue, with their compiler targets.
    """
    wanted = _MAKERS.sub("", re.sub(r"[\s_]+", "-", name.strip().lower()))
    wanted = re.sub(r"^(rtx|rx)(?=\d)", r"\1-", wanted)
    for architecture, named in architectures.items():
        targets = (x.replace("_", "-") for x in named)
        if wanted == architecture or wanted in PRODUCTS.get(architecture, ()) or wanted in targets:
            _LOG.warning("note: %s is read as %s", name, architecture)
            return architecture
    return None
