"""What the site has besides docs/: the notebooks, executed where ``make site-notebooks`` did so, and the explorer."""

import re
import shutil
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent
EXPLORER = ROOT / "build" / "explorer"
"""What ``make explorer`` wrote. The site has it if it is there."""


def on_files(files: Files, config: Any) -> Files:
    """Add the notebooks."""
    for notebook in sorted((ROOT / "notebooks").glob("*.ipynb")):
        executed = ROOT / "build" / "notebooks" / notebook.name
        source = executed if executed.exists() else notebook
        folder = str(source.parents[1])
        files.append(File(f"notebooks/{notebook.name}", folder, config.site_dir, use_directory_urls=False))
    return files


def on_post_build(config: Any) -> None:
    """Add the explorer: its files are no pages."""
    if EXPLORER.is_dir():
        shutil.copytree(EXPLORER, Path(config.site_dir) / "explorer", dirs_exist_ok=True)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Let links to the notebooks of the repository lead to those of the site, and its page to the explorer."""
    if page.file.src_uri == "explorer.md" and EXPLORER.is_dir():
        heading = "## The explorer\n"
        markdown = markdown.replace(heading, f'{heading}\n<p><a href="explorer/index.html">Open the explorer</a></p>\n')
    return re.sub(r"\]\(\.\./notebooks/", "](notebooks/", markdown)
