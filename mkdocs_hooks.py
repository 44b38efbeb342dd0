"""What the site has besides docs/: generated pages, the notebooks, the explorer.

``make site`` writes the pages (``mmaproof.pages``) before it calls MkDocs, so MkDocs needs nothing of the project.
Notebooks are those that ``make site-notebooks`` executed, where it did.
"""

import re
import shutil
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent
PAGES = ROOT / "build" / "pages"
EXPLORER = ROOT / "build" / "explorer"
"""What ``make explorer`` wrote. The site has it if it is there."""


def on_config(config: Any) -> Any:
    """Put the pages of a folder in the place of its name in the navigation, where that ends with a slash."""
    config.nav = [_expanded(x) for x in config.nav]
    return config


def _expanded(item: Any) -> Any:
    if isinstance(item, list):
        return [_expanded(x) for x in item]
    if isinstance(item, dict):
        return {title: _expanded(x) for title, x in item.items()}
    if isinstance(item, str) and item.endswith("/"):
        found = sorted(str(x.relative_to(PAGES)) for x in (PAGES / item).glob("*.md"))
        return [f"{item}index.md", *(x for x in found if x != f"{item}index.md")]
    return item


def on_files(files: Files, config: Any) -> Files:
    """Add the generated pages and the notebooks."""
    for path in sorted(x for x in PAGES.rglob("*") if x.is_file()):
        files.append(File(str(path.relative_to(PAGES)), str(PAGES), config.site_dir, use_directory_urls=False))
    for notebook in sorted((ROOT / "notebooks").glob("*.ipynb")):
        executed = ROOT / "build" / "notebooks" / notebook.name
        source = executed if executed.exists() else notebook
        folder = str(source.parents[1])
        files.append(File(f"notebooks/{notebook.name}", folder, config.site_dir, use_directory_urls=False))
    return files


def on_post_build(config: Any) -> None:
    """Add the explorer: its files are not pages."""
    if EXPLORER.is_dir():
        shutil.copytree(EXPLORER, Path(config.site_dir) / "explorer", dirs_exist_ok=True)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Let links to the notebooks of the repository lead to those of the site, and its page to the explorer."""
    if page.file.src_uri == "explorer.md" and EXPLORER.is_dir():
        heading = "## The explorer\n"
        markdown = markdown.replace(heading, f'{heading}\n<p><a href="explorer/index.html">Open the explorer</a></p>\n')
    return re.sub(r"\]\(((?:\.\./)+)notebooks/", lambda m: f"]({m[1].removeprefix('../')}notebooks/", markdown)
