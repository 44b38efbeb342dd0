"""Names of a module that are imported when they are first used: type checkers and we read one list of imports."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from typing import Any


def late(module: str) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a module: its names are what its source imports of mmaproof.

    These imports stand under ``if TYPE_CHECKING``, so that nothing is loaded with the module itself.
    """

    @cache
    def homes() -> dict[str, tuple[str, str]]:
        import ast  # noqa: PLC0415  (what asks for no name loads nothing)

        loader: Any = getattr(sys.modules[module].__spec__, "loader", None)
        imports = (x for x in ast.walk(ast.parse(loader.get_source(module))) if isinstance(x, ast.ImportFrom))
        return {y.asname or y.name: (str(x.module), y.name) for x in imports for y in x.names}

    def imported(name: str) -> Any:
        place, own = homes().get(name, ("", ""))
        if not place.startswith("mmaproof"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        value = getattr(__import__(place, fromlist=[own]), own)
        setattr(sys.modules[module], name, value)
        return value

    return imported
