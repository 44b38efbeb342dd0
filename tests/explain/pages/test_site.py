"""Pages and navigation are plain files before anything is built, so that any generator can read them."""

import shutil
from pathlib import Path

import pytest

from mmaproof.explain.pages import site
from mmaproof.explain.pages.markdown import Page

ROOT = Path(__file__).parents[3]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of a page, a notebook and an explorer."""
    files = {
        "docs/explorer.md": "# Pictures\n\n## The explorer\n\ntext [n](../notebooks/one.ipynb)\n",
        "docs/tutorials/first.md": "[n](../../notebooks/one.ipynb)",
        "notebooks/one.ipynb": '{"cells": ["[page](../docs/rtl.md#x)"]}',
        "notebooks/two.ipynb": "{}",
        "build/notebooks/two.ipynb": '{"executed": 1}',
        "build/explorer/index.html": "<p>",
        "build/docs/left.md": "of an earlier run",
        "mkdocs.yml": "nav:\n  - Reference:\n      - Commands: reference/commands/\n      - b.md\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)

    def write(folder: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        for page in (Page("reference/commands/index.md", "i", ""), Page("reference/commands/a.md", "a", "")):
            path = folder / page.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(page.markdown())

    monkeypatch.setattr(site, "write", write)
    return tmp_path


def test_links_lead_to_the_pages_of_the_site(project: Path) -> None:
    site.write_site(project)
    docs = project / "build" / "docs"
    assert "[Open the explorer](explorer/index.html)" in (docs / "explorer.md").read_text()
    assert "](notebooks/one.ipynb)" in (docs / "explorer.md").read_text()
    assert (docs / "tutorials/first.md").read_text() == "[n](../notebooks/one.ipynb)"
    assert "](../rtl.html#x)" in (docs / "notebooks/one.ipynb").read_text()
    assert "executed" in (docs / "notebooks/two.ipynb").read_text()
    assert (docs / "explorer/index.html").exists() and not (docs / "left.md").exists()


def test_the_navigation_names_every_page(project: Path) -> None:
    site.write_site(project, "https://example.org/x")
    text = (project / "build" / "mkdocs.yml").read_text()
    listed = "".join(f"\n          - reference/commands/{x}.md" for x in ("index", "a"))
    assert text.endswith(f"      - Commands:{listed}\n      - b.md\nrepo_url: https://example.org/x\n")
    site.write_site(project)
    assert "repo_url" not in (project / "build" / "mkdocs.yml").read_text()


@pytest.mark.parametrize(
    "page", [ROOT / "docs/index.md", *(ROOT / "docs/tutorials").glob("*.md")], ids=lambda x: x.stem
)
def test_a_first_page_begins_with_the_install_line(page: Path) -> None:
    text = page.read_text()
    commands = [x for x in text.splitlines() if x.startswith("$ ")]
    assert commands[0].startswith(("$ pip install .", "$ pip install '.["))


@pytest.mark.parametrize(
    ("text", "broken"),
    [
        ("of `a/b.c32.d` and", "of <code>a/<wbr>b.<wbr>c32.<wbr>d</code> and"),
        ("| [`a/b.c`](x.md) |", "| [<code>a/<wbr>b.<wbr>c</code>](x.md) |"),
        ("`x.y`, `a b/c.d`, ``a/b.c``, `UNIT | a/b.c`", None),
        ("```console\n$ show `a/b.c`\n```\n", None),
        ("- item\n\n  ```\n  `a/b.c`\n  ```\n", None),
    ],
)
def test_names_break_behind_slashes_and_dots(text: str, broken: str | None) -> None:
    assert site.breakable(text) == (text if broken is None else broken)


def test_names_on_the_pages_of_the_site_may_break(project: Path) -> None:
    (project / "docs" / "units.md").write_text("`volta/mma.m8n8k4.f32`")
    site.write_site(project)
    assert (project / "build/docs/units.md").read_text() == "<code>volta/<wbr>mma.<wbr>m8n8k4.<wbr>f32</code>"
