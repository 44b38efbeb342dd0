"""Completions as shells give them, and the manual page as groff reads it."""

import shutil
import subprocess

import pytest

from mmaproof.cli.command_tree import command_tree, known_words
from mmaproof.cli.completion_scripts import bash_script, fish_script, zsh_script
from mmaproof.cli.manual import manual_page
from mmaproof.designs.catalogue import load_catalogue
from mmaproof.properties.library import PROPERTIES

VOLTA = [x for x in load_catalogue().designs if x.startswith("volta/")]
WANTED = [
    (["com"], {"compare", "completion"}),
    (["gemm", "ch"], {"check"}),
    (["compare", "--no-se"], {"--no-search"}),
    (["compare", "volta/"], set(VOLTA)),
    (["compare", VOLTA[0], "--solver", "b"], {"bitwuzla"}),
    (["compare", VOLTA[0], "volta/"], set(VOLTA)),
    (["check", "monotone"], {x for x in PROPERTIES if x.startswith("monotone")}),
    (["export", "x.jsonl", "--format", "c"], {"c", "c-model", "cuda", "cuda-model"}),
    (["rtl", "prove", "--timeo"], {"--timeout"}),
    (["designs", "vol"], {"volta"}),
    (["completion", "z"], {"zsh"}),
]


@pytest.fixture(scope="module")
def line():
    return command_tree(), known_words()


def needed(tool):
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")


def ran(command, text):
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout.split("\n")


@pytest.mark.middle
def test_the_tree_has_every_command_and_option(line, run):
    tree, _ = line
    for command in tree.walk():
        status, out, err = run(*command.path, "--help")
        assert status == 0
        for name in (*(x.path[-1] for x in command.commands), *(n for x in command.options for n in x.names)):
            assert name in out + err


def test_bash_completes(line):
    needed("bash")
    asked = [
        f"COMP_WORDS=(mmaproof {' '.join(repr(x) for x in words)}); COMP_CWORD={len(words)}; COMPREPLY=(); _mmaproof; "
        'echo "${COMPREPLY[*]}"'
        for words, _ in WANTED
    ]
    found = ran(["bash", "--noprofile", "--norc"], bash_script(*line) + "\n".join(asked) + "\n")
    assert [set(x.split()) for x in found[: len(WANTED)]] == [wanted for _, wanted in WANTED]
    assert "complete -o bashdefault -o default -F _mmaproof mmaproof" in bash_script(*line)


def test_zsh_completes(line):
    needed("zsh")
    # completion functions run in the line editor alone, so what they add is printed instead
    stand_ins = 'compdef() { }\n_files() { }\ncompadd() { shift; print -r -- "${(M)@:#${words[CURRENT]}*}" }\n'
    asked = [
        f"words=(mmaproof {' '.join(repr(x) for x in words)}); CURRENT={len(words) + 1}; _mmaproof"
        for words, _ in WANTED
    ]
    found = ran(["zsh", "-f"], stand_ins + zsh_script(*line) + "\n".join(asked) + "\n")
    assert [set(x.split()) for x in found[: len(WANTED)]] == [wanted for _, wanted in WANTED]


def test_fish_completes(line, tmp_path, monkeypatch):
    needed("fish")
    monkeypatch.setenv("HOME", str(tmp_path))
    script = tmp_path / "mmaproof.fish"
    script.write_text(fish_script(*line), encoding="utf-8")
    for words, wanted in WANTED:
        asked = f"source {script}; complete -C 'mmaproof {' '.join(words)}'"
        found = ran(["fish", "--no-config", "-c", asked], "")
        assert {x.split("\t")[0] for x in found if x} == wanted


def test_the_manual_page_is_read_without_warnings(line, run):
    tree, _ = line
    status, out, _ = run("manual")
    assert status == 0
    assert out.startswith(".TH MMAPROOF 1")
    assert out == manual_page(tree, out.partition('"mmaproof ')[2].partition('"')[0])
    for command in tree.walk():
        if command.path and not command.commands:
            assert f'.SS "{" ".join(command.path)}"' in out
    needed("groff")
    done = subprocess.run(
        ["groff", "-man", "-ww", "-z", "-Tutf8"], input=out, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""


def test_the_commands_print_the_scripts(line, run):
    for shell, script in (("bash", bash_script), ("zsh", zsh_script), ("fish", fish_script)):
        assert run("completion", shell)[:2] == (0, script(*line))
    status, _, err = run("completion", "tcsh")
    assert (status, len(err.splitlines())) == (2, 1)
