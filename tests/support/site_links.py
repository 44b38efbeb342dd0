"""Checks the links of the built site: ``python tests/support/site_links.py build/site`` (a part of ``make site``).

Every link of a page to a file of the site, and to a place in it, must lead somewhere. Links to other sites are counted
by host and not fetched; ``--list`` prints them. A page must not load anything from another site.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADING = {("script", "src"), ("img", "src"), ("source", "src"), ("iframe", "src"), ("link", "href")}
"""Attributes of elements that a browser fetches by itself."""
NOT_FETCHED = {"canonical", "alternate", "next", "prev", "author", "license"}
"""Kinds of links in the head that a browser does not follow."""


@dataclass
class Read(HTMLParser):
    """A page: its anchors, what it links to, and what it loads."""

    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    has_scripts: bool = False

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    @property
    def states(self) -> set[str]:
        """Names and values in the page's links to itself, which its script reads."""
        own = (unquote(x[1:]) for x in self.links if x.startswith("#") and "=" in x)
        return set(own) if self.has_scripts else set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take down an element."""
        held = {name: value for name, value in attrs if value is not None}
        self.has_scripts |= tag == "script"
        self.anchors.update(held[n] for n in ("id", "name") if n in held)
        if tag == "a" and "href" in held:
            self.links.append(held["href"])
        for name in ("src", "href"):
            fetched = (tag, name) in LOADING and not NOT_FETCHED & set(held.get("rel", "").split())
            if fetched and name in held:
                self.loads.append(held[name])


@dataclass
class Checked:
    """What was found: problems, and links to other sites, each with how often."""

    pages: int
    internal: int
    problems: list[str]
    external: Counter[str]


def read(path: Path) -> Read:
    """Return what stands in a page."""
    found = Read()
    found.feed(path.read_text(encoding="utf-8"))
    return found


def check(folder: Path) -> Checked:
    """Check all pages of a built site."""
    pages = {path.resolve(): read(path) for path in sorted(folder.rglob("*.html"))}
    done = Checked(len(pages), 0, [], Counter())
    for path, page in pages.items():
        name = str(path.relative_to(folder.resolve()))
        for link in [*page.links, *page.loads]:
            parts = urlsplit(link)
            if parts.scheme in ("data", "javascript", "blob"):
                continue
            if parts.scheme or parts.netloc:
                done.external[link] += 1
                if link in page.loads:
                    done.problems.append(f"{name}: loads {link}")
                continue
            done.internal += 1
            why = _why_dead(path, parts.path, parts.fragment, folder, pages)
            done.problems += [f"{name}: {link}: {x}" for x in why]
    return done


def _why_dead(path: Path, target: str, fragment: str, folder: Path, pages: dict[Path, Read]) -> Iterator[str]:
    where = path if not target else (folder / target[1:] if target.startswith("/") else path.parent / unquote(target))
    where = where.resolve()
    if where.is_dir():
        where /= "index.html"
    if not where.is_relative_to(folder.resolve()):
        yield "leads out of the site"
    elif not where.exists():
        yield "there is no such file"
    elif fragment and where in pages and unquote(fragment) not in pages[where].anchors | pages[where].states:
        yield "there is no such place"


def main(arguments: list[str]) -> int:
    """Print what is wrong; return 1 if anything is."""
    folder = Path(arguments[0])
    done = check(folder)
    for problem in done.problems:
        print(problem, file=sys.stderr)
    hosts = Counter(urlsplit(x).netloc for x in done.external)
    print(
        f"{done.pages} pages, {done.internal} links within the site, {len(done.problems)} of them dead;"
        f" {len(done.external)} other links, not fetched, to {len(hosts)} hosts"
    )
    if "--list" in arguments:
        print("\n".join(sorted(done.external)))
    return 1 if done.problems or not done.pages else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
