"""Scripts of completion for bash, zsh and fish. They hold all words themselves, so a key press starts no Python."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mmaproof.cli.command_tree import FILES, Command, Words

_SHARED = """\
_mmaproof_here() {
    local kind
    _mmaproof_places "$1"
    for kind in $(_mmaproof_kinds "$1"); do _mmaproof_words "$kind"; done
}
"""
_BASH = """\
_mmaproof() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command="" found i
    for ((i = 1; i < COMP_CWORD; i++)); do
        found=$(_mmaproof_command "$command ${COMP_WORDS[i]}") && command=$found
    done
    if found=$(_mmaproof_value "$command $previous"); then found=$(_mmaproof_words "$found")
    elif [[ $current == -* ]]; then found=$(_mmaproof_options "$command")
    else found=$(_mmaproof_here "$command")
    fi
    COMPREPLY=($(compgen -W "$found" -- "$current"))
}
complete -o bashdefault -o default -F _mmaproof mmaproof
"""
_ZSH = """\
_mmaproof() {
    local command="" found word
    for word in ${words[2,CURRENT-1]}; do
        found=$(_mmaproof_command "$command $word") && command=$found
    done
    if found=$(_mmaproof_value "$command ${words[CURRENT-1]}"); then found=$(_mmaproof_words "$found")
    elif [[ ${words[CURRENT]} == -* ]]; then found=$(_mmaproof_options "$command")
    else found=$(_mmaproof_here "$command")
    fi
    [[ -z $found ]] || compadd -- ${=found}
    [[ ${words[CURRENT]} == -* ]] || _files
}
compdef _mmaproof mmaproof
"""
_FISH = """\
function __mmaproof_at
    set -l command ''
    for word in (commandline -opc)[2..-1]
        set -l found (__mmaproof_command "$command $word")
        and set command $found
    end
    test "$command" = "$argv[1]"
end
"""


def bash_script(tree: Command, words: Words) -> str:
    """Return the script for bash."""
    return _functions(tree, words) + _BASH


def zsh_script(tree: Command, words: Words) -> str:
    """Return the script for zsh."""
    return "#compdef mmaproof\n" + _functions(tree, words) + _ZSH


def _functions(tree: Command, words: Words) -> str:
    """Return the functions that bash and zsh share: each prints the words of its case, or fails."""
    options = {
        " ".join(command.path): " ".join(name for x in command.options for name in x.names) for command in tree.walk()
    }
    places = {" ".join(command.path): " ".join(_at_places(command)) for command in tree.walk()}
    kinds = {" ".join(command.path): " ".join(_kinds(command, words)) for command in tree.walk()}
    lists = {kind: " ".join(known) for kind, known in _lists(tree, words).items()}
    return "".join(
        (
            _function("_mmaproof_command", _next(tree)),
            _function("_mmaproof_value", _values(tree, words)),
            _function("_mmaproof_options", options),
            _function("_mmaproof_places", places),
            _function("_mmaproof_kinds", kinds),
            _function("_mmaproof_words", lists),
            _SHARED,
        )
    )


def _function(name: str, cases: Mapping[str, str]) -> str:
    """Return a function of a shell that prints what belongs to its argument."""
    lines = [f"    {_quoted(case)}) echo {_quoted(text)} ;;" for case, text in cases.items()]
    return "\n".join([f"{name}() {{", '    case "$1" in', *lines, "    *) return 1 ;;", "    esac", "}"]) + "\n"


def _next(tree: Command) -> dict[str, str]:
    """Return the path of each command, by the path before it and its own word."""
    return {f"{' '.join(x.path[:-1])} {x.path[-1]}": " ".join(x.path) for x in tree.walk() if x.path}


def _values(tree: Command, words: Words) -> dict[str, str]:
    """Return the list of words for each option that takes a value, by the command's path and the option."""
    return {
        f"{' '.join(command.path)} {name}": kind
        for command in tree.walk()
        for option in command.options
        if option.metavar is not None
        for name in option.names
        for kind in [_list_of(option.choices, words.kind(option))]
    }


def _list_of(choices: Sequence[str], kind: str | None) -> str:
    """Return the name of a list of words: the choices themselves, or the kind; files where nothing is known."""
    return "|".join(choices) if choices else kind or FILES


def _lists(tree: Command, words: Words) -> dict[str, Sequence[str]]:
    """Return every list of words that a value may be, by its name."""
    found: dict[str, Sequence[str]] = {**words.of_kinds, FILES: ()}
    for command in tree.walk():
        for option in command.options:
            if option.choices:
                found["|".join(option.choices)] = option.choices
    return found


def _at_places(command: Command) -> Iterator[str]:
    """Give the words that stand in a command where no option is: the commands below it, and choices of arguments."""
    yield from (x.path[-1] for x in command.commands)
    for argument in command.arguments:
        yield from argument.choices


def _kinds(command: Command, words: Words) -> list[str]:
    """Return the lists of words that the arguments of a command may be."""
    found = (words.kind(x) for x in command.arguments)
    return list(dict.fromkeys(x for x in found if x is not None and x in words.of_kinds))


def fish_script(tree: Command, words: Words) -> str:
    """Return the script for fish, which shows what options mean."""
    lines = ["function __mmaproof_command", "    switch $argv[1]"]
    lines += [f"        case {_quoted(key)}\n            echo {_quoted(path)}" for key, path in _next(tree).items()]
    lines += ["        case '*'", "            return 1", "    end", "end", "function __mmaproof_words"]
    lines += ["    switch $argv[1]"]
    for name, known in _lists(tree, words).items():
        if known:
            lines += [f"        case {_quoted(name)}", f"            printf '%s\\n' {' '.join(map(_quoted, known))}"]
    lines += ["    end", "end"]
    for command in tree.walk():
        path = " ".join(command.path)
        at = f"complete -c mmaproof -n {_quoted(f'__mmaproof_at {_quoted(path)}')}"
        lines += [f"{at} -f -a {_quoted(x.path[-1])} -d {_quoted(x.summary)}" for x in command.commands]
        lines += [f"{at} -f -a {_quoted(' '.join(x.choices))}" for x in command.arguments if x.choices]
        lines += [f"{at} -a {_quoted(f'(__mmaproof_words {_quoted(x)})')}" for x in _kinds(command, words)]
        for option in command.options:
            names = " ".join(f"-l {x[2:]}" if x.startswith("--") else f"-s {x[1:]}" for x in option.names)
            value = ""
            if option.metavar is not None:
                held = _list_of(option.choices, words.kind(option))
                value = " -r" if held == FILES else f" -x -a {_quoted(f'(__mmaproof_words {_quoted(held)})')}"
            lines.append(f"{at} {names}{value} -d {_quoted(option.help)}")
    return _FISH + "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    """Return a text as one word of any of the shells. Raises ValueError for a backslash, which fish reads in quotes."""
    if "\\" in text:
        raise ValueError(f"{text!r} has a backslash: shells read it differently")
    return "'" + text.replace("'", "'\\''") + "'"
