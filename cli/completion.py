"""`mmaproof completion SHELL` and `mmaproof manual`: what a system installs beside a program."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated

import typer


class Shell(StrEnum):
    """The shells that there are scripts for."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def register(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    app.command("completion")(completion)
    app.command("manual")(manual)


def completion(
    shell: Annotated[Shell, typer.Argument(help="The shell that reads the script.", show_default=False)],
) -> None:
    """Print a script with which a shell completes commands, options and names of designs.

    bash and zsh read it by: eval "$(mmaproof completion bash)" (zsh: after compinit); fish from a file:
    mmaproof completion fish > ~/.config/fish/completions/mmaproof.fish. After an upgrade it is to be printed anew.
    """
    from mmaproof.cli.command_tree import command_tree, known_words
    from mmaproof.cli.completion_scripts import bash_script, fish_script, zsh_script

    write = {Shell.BASH: bash_script, Shell.ZSH: zsh_script, Shell.FISH: fish_script}[shell]
    sys.stdout.write(write(command_tree(), known_words()))


def manual() -> None:
    """Print the manual page, for man: mmaproof manual > mmaproof.1."""
    from mmaproof.cli.command_tree import command_tree
    from mmaproof.cli.manual import manual_page
    from mmaproof.cli.version import tool_version

    sys.stdout.write(manual_page(command_tree(), tool_version()))
