"""`mmaproof serve` as the process that it is: stdout holds answers only, and it ends as it should."""

import json
import signal
import subprocess
import sys

import pytest
from support.waiting import LONG

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.smt.trace import evaluate

NAME = "volta/f32.f16.f16.f32"
DESIGN = find_design(NAME)
HEADER = json.dumps(
    {"design": None, "a_format": "fp16", "b_format": "fp16", "c_format": "fp32", "d_format": "fp32", "k": 4}
)
ROW = json.dumps({"a": ["0x3c00"] * 4, "b": ["0x4000"] * 4, "c": "0x3f800000"})
ANSWER = {"d": DESIGN.d_format.hex(evaluate(DESIGN, Operands((0x3C00,) * 4, (0x4000,) * 4, 0x3F800000)))}


def start(*arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "mmaproof.cli.main", "serve", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def served():
    with start(NAME) as process:
        process.stdin.write(f"{HEADER}\n{ROW}\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline()) == ANSWER
        yield process
        process.kill()


@pytest.mark.middle
def test_rows_until_the_input_ends(served):
    out, err = served.communicate(f"{ROW}\n\n{ROW}", timeout=LONG)
    assert [json.loads(x) for x in out.splitlines()] == [ANSWER, ANSWER]
    assert (served.returncode, err) == (0, "")


def test_a_malformed_line_ends_it_with_status_2(served):
    out, err = served.communicate(f"{ROW}\nnonsense\n{ROW}\n", timeout=LONG)
    assert [json.loads(x) for x in out.splitlines()] == [ANSWER]
    assert served.returncode == 2
    assert err.startswith("error: line 4: not JSON")
    assert err.count("\n") == 1


def test_ctrl_c(served):
    served.send_signal(signal.SIGINT)
    out, err = served.communicate(timeout=LONG)
    assert (served.returncode, out, err) == (130, "", "interrupted\n")


def test_a_closed_stdout_is_a_quiet_end(served):
    served.stdout.close()
    served.stdin.write(f"{ROW}\n")
    served.stdin.flush()
    assert served.wait(timeout=LONG) == 141
    assert served.stderr.read() == ""


def test_a_header_for_another_design():
    with start(NAME) as process:
        out, err = process.communicate(
            f"{HEADER.replace('null', json.dumps('turing/f32.f16.f16.f32'))}\n", timeout=LONG
        )
    assert (process.returncode, out) == (2, "")
    assert err.startswith("error: line 1: the header asks for turing/")


def test_an_unknown_design():
    with start("volta/nothing") as process:
        out, err = process.communicate("", timeout=LONG)
    assert (process.returncode, out) == (2, "")
    assert err.startswith("error: volta has no instruction")


def test_no_stdin_at_all():
    command = f"exec {sys.executable} -m mmaproof.cli.main serve {NAME} <&-"
    ended = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=LONG, check=False)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == "error: serve reads stdin, which is closed\n"


def test_a_stdin_that_cannot_be_read():
    command = f"exec {sys.executable} -m mmaproof.cli.main serve {NAME} 0>/dev/null"
    ended = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=LONG, check=False)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == "error: the input cannot be read: Bad file descriptor\n"
