"""`mmaproof explore`: a page in the browser that shows what units do to each bit of operands that one types."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from mmaproof.cli import lib
from mmaproof.cli import options as opt
from mmaproof.cli.output import note, progress, say
from mmaproof.designs.errors import InputError

if TYPE_CHECKING:
    from http.server import ThreadingHTTPServer


KINDS = {".mjs": "text/javascript", ".js": "text/javascript", ".wasm": "application/wasm"}


def explore(
    folder: Annotated[
        Path | None, opt.option("--folder DIR", "The folder of the page; default one among the user's caches.")
    ] = None,
    only_build: Annotated[bool, opt.option("--build", "Write the folder and end: any server can offer it.")] = False,
    port: Annotated[
        int, opt.option("--port N", "The port on this machine; 0 for any free one.", min=0, max=65535)
    ] = 8731,
    browser: Annotated[bool, opt.option("--browser/--no-browser", "Open the page in the browser.")] = True,
    pyodide: Annotated[
        Path | None, opt.option("--pyodide FILE", "The npm archive of Pyodide, if npm is not to fetch it.")
    ] = None,
) -> None:
    """Offer the explorer on this machine: type operands, see aligned terms, what is cut, and the result.

    The page computes with Python in the browser. At first use npm fetches that (pyodide, 13 MB); afterwards no network
    is needed. The command ends with Ctrl-C.
    """
    import webbrowser

    place = lib.files.cache_folder() / f"explorer-{lib.explorer.PYODIDE}" if folder is None else folder
    if only_build or not lib.explorer.is_built(place):
        with progress("building the explorer"):
            lib.explorer.build(place, pyodide)
    if only_build:
        say(str(place))
        return
    with server_of(place, port) as server:
        address = f"http://127.0.0.1:{server.server_port}/"
        say(address)
        note("Ctrl-C ends it")
        if browser:
            webbrowser.open(address)
        server.serve_forever()


def server_of(folder: Path, port: int) -> ThreadingHTTPServer:
    """Return a server of the files of a folder, for this machine only. Raises InputError if the port is taken."""
    from functools import partial
    from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

    class Quiet(SimpleHTTPRequestHandler):
        """Files, without a line for each."""

        def guess_type(self, path: str | os.PathLike[str]) -> str:
            """Return the kind of a file; not every system knows modules of JavaScript and WebAssembly."""
            return KINDS.get(Path(path).suffix) or super().guess_type(path)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

        def end_headers(self) -> None:
            """Have a browser ask whether a file is new."""
            self.send_header("Cache-Control", "no-cache")
            super().end_headers()

    try:
        return ThreadingHTTPServer(("127.0.0.1", port), partial(Quiet, directory=str(folder)))
    except OSError as error:
        raise InputError(
            f"port {port} of this machine: {error.strerror}; choose another with --port N, or 0"
        ) from error
