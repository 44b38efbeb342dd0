"""The asking side of the process protocol: whatever a process does, the rows it answered before are kept."""

import json
import shlex
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.commands import children_of
from support.fake_solvers import runs
from support.waiting import LONG, wait_until

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.errors import InputError, TargetUnavailable
from mmaproof.hardware_replay.process import DEADLINE, ProcessTarget
from mmaproof.hardware_replay.replay import replay
from mmaproof.hardware_replay.target import Answers, Rows
from mmaproof.hardware_replay.targets import find_target
from mmaproof.smt.evaluate import equal_patterns, evaluate_batch
from mmaproof.verification.distributions import draw

VOLTA = find_design("volta/f32.f16.f16.f32")
GST = find_design("rtx-blackwell/mma.m16n8k64.block16.f32.e2m1.e2m1.f32.ue4m3")
EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
STALLED = 3.0
"""Seconds of silence that the tests wait for: far more than a small script takes to start."""

PRELUDE = """
import json, os, signal, subprocess, sys, time
def say(text):
    print(text, flush=True)
def answer(n):
    say('{"d": "0x%08x"}' % n)
"""
AT_ROW_4 = """
header = sys.stdin.readline()
for n, line in enumerate(sys.stdin, 1):
    if n == 4:
        FAULT
    answer(n)
"""
ALL_10 = AT_ROW_4.replace("FAULT", "pass")


@pytest.fixture
def simulator(tmp_path):
    """Makes a target of a Python script."""

    def make(script, timeout=DEADLINE):
        path = tmp_path / "simulator.py"
        path.write_text(PRELUDE + script)
        return ProcessTarget(shlex.join([sys.executable, "-S", str(path)]), timeout)

    yield make
    assert children_of_this_process() == []


def children_of_this_process():
    listed = [x for x in children_of(Path("/proc/self").resolve().name) if runs(x)]
    return [x for x in listed if b"simulator" in Path(f"/proc/{x}/cmdline").read_bytes()]


def rows_of(design, count, distribution="normal", k=None):
    batch = draw(distribution, design, count, k or design.k, np.random.default_rng(0))
    labels = tuple(f"vector {i}" for i in range(101, 101 + count))
    return Rows(
        batch=batch,
        formats=design.formats,
        labels=labels,
        whence="a test",
        scale_format=design.scale_format,
        design=design.name,
    )


TEN = rows_of(VOLTA, 10)


def check_kept(ran, count):
    """The first ``count`` rows are answered by their numbers, as ``answer`` does, and no others."""
    assert ran.answered.tolist() == [i < count for i in range(len(ran.d))]
    assert ran.d[:count].tolist() == list(range(1, count + 1))


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        ("os.kill(os.getpid(), signal.SIGSEGV)", "was ended by SIGSEGV after 3 of 10 answers, vector 104 is due"),
        ("sys.exit(3)", "ended with exit status 3 after 3 of 10 answers, vector 104 is due"),
        ("sys.exit('no licence')", 'ended with exit status 1 after 3 .*; its stderr ends with "no licence"$'),
        ("sys.exit()", "ended with exit status 0 after 3 of 10 answers, vector 104 is due$"),
        ("say('# cycle 4')", r'line 4 of its answers \(vector 104\): not JSON: .*: "# cycle 4"$'),
        ("os.write(1, b'\\xff\\n')", r"line 4 .*: not JSON: "),
        ("say('[' * 50_000)", r'line 4 .*: not JSON: .*: "\[{56}\.\.\.$'),
        ("say('[]')", r'line 4 .*: not a JSON object: "\[\]"$'),
        ("""say('{"e": "0x0"}')""", r"line 4 .*: 'd' is missing or no text"),
        ("""say('{"d": 4}')""", r"line 4 .*: 'd' is missing or no text"),
        (
            """say('{"d": "4"}')""",
            r"line 4 .*: 'd' is not a bit pattern of fp32 \(0x and up to 8 .* at most 0xffffffff\)",
        ),
        ("""say('{"d": "0x100000000"}')""", r"line 4 .*: 'd' is not a bit pattern of fp32"),
        ("""say('{"d": "0x0", "row": 5}')""", r"line 4 .*: answered out of order: row 4 is due: .*row"),
        ("""say('\\n{"d": "0x0", "row": null}')""", r"line 5 of its answers \(vector 104\): answered out of order"),
        ("""sys.stdout.write('{"d": "0x0"}'); sys.exit()""", "after 3 of 10 .* vector 104 is due within line 4: .*d"),
        ("os.write(1, b'x' * 70_000); time.sleep(600)", r"line 4 .*: no end within 65536 bytes: \"x{56}\.\.\."),
        ("os.close(0); os.close(1); os.close(2); sys.exit()", "after 3 of 10 answers, vector 104 is due"),
    ],
)
def test_a_failure_names_the_row_and_keeps_the_earlier_ones(simulator, fault, problem):
    target = simulator(AT_ROW_4.replace("FAULT", fault))
    ran = target.run(TEN)
    check_kept(ran, 3)
    assert ran.problem.startswith(f"{target.name}: ")
    assert "\n" not in ran.problem
    assert len(ran.problem) < len(target.name) + 500
    with pytest.raises(AssertionError, match=problem):
        raise AssertionError(ran.problem)


@pytest.mark.parametrize(
    ("after", "problem"),
    [
        ("answer(11)", r"line 11 of its answers \(all 10 rows are answered\): one answer too many: "),
        ("sys.exit(5)", "ended with exit status 5 after 10 of 10 answers$"),
        ("os.abort()", "was ended by SIGABRT after 10 of 10 answers$"),
        ("sys.stdout.write('bye')", 'ended with exit status 0 after 10 of 10 answers within line 11: "bye"$'),
    ],
)
def test_a_failure_after_the_last_row(simulator, after, problem):
    ran = simulator(ALL_10 + after).run(TEN)
    check_kept(ran, 10)
    with pytest.raises(AssertionError, match=problem):
        raise AssertionError(ran.problem)


@pytest.mark.slow_values("closes its output", "does not end", "empty lines", "leaves a process", "sleeps")
@pytest.mark.middle
@pytest.mark.parametrize(
    ("script", "kept", "problem"),
    [
        (AT_ROW_4.replace("FAULT", "time.sleep(600)"), 3, "silent for 3 s after 3 of 10 answers, vector 104 is due"),
        pytest.param(
            AT_ROW_4.replace("FAULT", "sys.stderr.write('waits\\n'); [say('') for _ in iter(int, 1)]"),
            3,
            'silent for 3 s after 3 of 10 .*; its stderr ends with "waits"$',
            marks=pytest.mark.middle,
        ),
        (ALL_10 + "time.sleep(600)", 10, "has not ended 3 s after 10 of 10 answers"),
        (ALL_10 + "os.close(1); os.close(2); time.sleep(600)", 10, "has not ended 3 s .*; it has closed its output"),
        ("subprocess.Popen(['sleep', '600'])" + ALL_10, 10, "has not ended 3 s after 10 of 10 answers"),
    ],
    ids=["sleeps", "empty lines", "does not end", "closes its output", "leaves a process"],
)
def test_silence(simulator, script, kept, problem):
    ran = simulator(script, STALLED).run(TEN)
    check_kept(ran, kept)
    with pytest.raises(AssertionError, match=problem):
        raise AssertionError(ran.problem)


def test_a_flood_is_stopped_where_it_overtakes_the_rows(simulator):
    """The process reads nothing: it can be sent what a pipe holds, and is found out behind that."""
    ran = simulator('while True: print(\'{"d": "0x0"}\')').run(rows_of(VOLTA, 100_000))
    assert ran.answered.sum() < 10_000
    assert "answered before it was asked: " in ran.problem


def test_any_order_of_reading_and_writing(simulator):
    """Everything is read before anything is answered, and far more than a pipe holds is written to stderr meanwhile."""
    rows = rows_of(VOLTA, 20_000)
    script = "sys.stderr.write('x' * 10**6)\ncount = len(sys.stdin.readlines()) - 1\n"
    ran = simulator(script + "print(*('{\"d\": \"0x%x\"}' % n for n in range(1, count + 1)), sep='\\n')").run(rows)
    check_kept(ran, 20_000)
    assert ran.problem is None


def test_what_an_answer_may_look_like(simulator):
    lines = ['{"d": "0x1"}\r', "", ' {"row": 2, "d": "0X00000002", "cycles": 7}', " ", '{"d":"0x3"}']
    ran = simulator(f"sys.stdin.read()\nprint(*{lines!r}, sep='\\n')").run(
        replace(TEN, batch=TEN.batch.select(slice(3)))
    )
    check_kept(ran, 3)
    assert ran.problem is None


@pytest.mark.parametrize("design", [VOLTA, GST], ids=lambda d: d.family)
@pytest.mark.parametrize("name", [None, "mine/unit"])
def test_what_is_written(simulator, tmp_path, design, name):
    rows = replace(rows_of(design, 2), design=name)
    ran = simulator(f"open({str(tmp_path / 'got')!r}, 'w').write(sys.stdin.read())").run(rows)
    assert "ended with exit status 0 after 0 of 2 answers, vector 101 is due" in ran.problem
    assert "the first line that it reads names the formats" in ran.problem
    header, *lines = (tmp_path / "got").read_text().splitlines()
    formats = {f"{x}_format": f.name for x, f in zip("abcd", design.formats, strict=True)}
    assert json.loads(header) == {"design": name, **formats, "k": design.k}
    expected = []
    for i, operands in enumerate(rows.batch.row(j) for j in range(2)):
        a, b, c, _ = design.formats
        record = {"a": [a.hex(x) for x in operands.a], "b": [b.hex(x) for x in operands.b], "c": c.hex(operands.c)}
        if design.scale_format is not None:
            record["scale_a"] = [design.scale_format.hex(x) for x in operands.scale_a]
            record["scale_b"] = [design.scale_format.hex(x) for x in operands.scale_b]
        expected.append(json.dumps(record | {"row": i + 1}))
    assert lines == expected


@pytest.mark.parametrize(
    ("command", "error", "problem"),
    [
        ("/nonexistent/simulator -v", TargetUnavailable, "/nonexistent/simulator cannot be started: No such file"),
        (str(EXAMPLES / "simulator.c"), TargetUnavailable, "cannot be started: Permission denied"),
        (" ", TargetUnavailable, "without a command: write process:COMMAND"),
        ("sim 'x", InputError, "process:sim 'x: No closing quotation: quote the command"),
    ],
)
def test_a_command_that_cannot_be_started(command, error, problem):
    with pytest.raises(error, match=problem):
        ProcessTarget(command, DEADLINE).run(TEN)


def test_replay_counts_the_rows_before_the_failure(simulator):
    answers = Answers(**vars(TEN), d=np.arange(1, 11, dtype=np.uint32) * np.uint32(2))
    target = simulator(AT_ROW_4.replace("FAULT", "sys.exit(3)"))
    report = replay([answers], target)
    assert (report.rows, report.unanswered, report.mismatches) == (3, 7, 3)
    assert sorted(x.returned for x in report.examples) == [1, 2, 3]
    assert len(report.problems) == 1


RUNNER = """
import signal, sys
import numpy as np
from mmaproof.designs.catalogue import find_design
from mmaproof.designs.operands import OperandBatch
from mmaproof.hardware_replay.target import Rows
from mmaproof.hardware_replay.process import ProcessTarget
signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever the shell that runs the tests has set
zeros = np.zeros((1, 4), np.uint16)
batch = OperandBatch(zeros, zeros, np.zeros(1, np.uint32))
formats = find_design("volta/f32.f16.f16.f32").formats
ProcessTarget(sys.argv[1], 600.0).run(Rows(batch=batch, formats=formats, labels=("",), whence=""))
"""


def test_ctrl_c_ends_the_process_and_what_it_started(simulator, tmp_path):
    started = tmp_path / "started"
    target = simulator(
        "child = subprocess.Popen(['sleep', '600'])\n"
        f"os.symlink(f'{{os.getpid()}} {{child.pid}}', {str(started)!r})\ntime.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", RUNNER, target.command], stderr=subprocess.PIPE) as runner:
        wait_until(started.is_symlink)
        pids = [int(x) for x in started.readlink().name.split()]
        assert all(runs(x) for x in pids)
        runner.send_signal(signal.SIGINT)
        _, err = runner.communicate(timeout=LONG)
    assert err.endswith(b"KeyboardInterrupt\n")
    wait_until(lambda: not any(runs(x) for x in pids))


def check_equal(target, design, rows):
    ran = target.run(rows)
    assert ran.problem is None
    assert ran.answered.all()
    assert equal_patterns(design.formats[3], ran.d, evaluate_batch(design, rows.batch)).all()


@pytest.mark.middle
@pytest.mark.parametrize(
    "design",
    [
        GST,
        find_design("ampere/mma.m16n8k8.f32.tf32.tf32.f32"),
        find_design("blackwell/tcgen05.mma.m64n8k32.f16.e2m1.e2m1"),
        find_design("cdna2/v_mfma_f64_4x4x4f64"),
    ],
    ids=lambda d: d.name,
)
def test_a_served_design_is_the_design(design):
    command = shlex.join([sys.executable, "-m", "mmaproof.cli.main", "serve", design.name])
    check_equal(find_target(f"process:{command}"), design, rows_of(design, 300, "edges"))


@pytest.mark.parametrize("distribution", ["normal", "edges", "cancelling"])
@pytest.mark.parametrize("name", ["cdna1/v_mfma_f32_16x16x4f16", "cdna1/v_mfma_f32_32x32x8f16"])
def test_the_example_in_python(name, distribution):
    design = find_design(name)
    target = ProcessTarget(shlex.join([sys.executable, str(EXAMPLES / "simulator.py")]), DEADLINE)
    check_equal(target, design, rows_of(design, 300, distribution))


def test_an_example_says_what_it_is_not():
    ran = ProcessTarget(shlex.join([sys.executable, str(EXAMPLES / "simulator.py")]), DEADLINE).run(rows_of(GST, 3))
    assert "ended with exit status 1 after 0 of 3 answers" in ran.problem
    assert "this simulator has {" in ran.problem


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler 'cc' here")
    program = tmp_path_factory.mktemp("c") / "simulator"
    flags = ["-std=c99", "-O2", "-Wall", "-Wextra", "-pedantic", "-Werror"]
    subprocess.run([compiler, *flags, "-o", str(program), str(EXAMPLES / "simulator.c"), "-lm"], check=True)
    return program


@pytest.mark.middle
@pytest.mark.parametrize(
    ("name", "distribution", "count"),
    [
        ("cdna1/v_mfma_f32_16x16x4f32", "edges", 100_000),
        ("cdna3/v_mfma_f32_32x32x2_f32", "cancelling", 1000),
    ],
)
def test_the_example_in_c(compiled, name, distribution, count):
    design = find_design(name)
    check_equal(ProcessTarget(shlex.quote(str(compiled)), DEADLINE), design, rows_of(design, count, distribution))
