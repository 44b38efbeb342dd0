"""Text files of Khattak and Mikaitis: what they hold is read, what is malformed is refused with file and line."""

import hashlib
import re

import numpy as np
import pytest
from text_recordings import find_text_files, provenance_of_text_files, read_text_files

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.errors import InputError
from mmaproof.designs.formats import find_format
from mmaproof.designs.operands import array_of
from mmaproof.hardware_replay.recordings import read_index, read_recording
from mmaproof.hardware_replay.replay import replay
from mmaproof.hardware_replay.targets import ModelTarget


def words_of(patterns, fmt):
    return array_of(patterns, fmt).astype(np.float32).view(np.uint32)


def write_texts(folder, gpu, answers, c=None):
    """Write rows as the authors do; ``c`` is the fp32 words of c, where they are not those of the rows."""
    a, b, c_format, d = answers.formats
    folder.mkdir(parents=True, exist_ok=True)
    spelled = {"e5m2": "E5M2", "e4m3": "E4M3"}
    for x, patterns, fmt in (("a", answers.batch.a, a), ("b", answers.batch.b, b)):
        lines = [" ".join(f"{w:08x}" for w in row) for row in words_of(patterns, fmt).tolist()]
        (folder / f"{x}_{gpu}_{spelled.get(fmt.name, fmt.name)}.txt").write_text("\n".join(lines) + "\n")
    c = words_of(answers.batch.c, c_format) if c is None else c
    for name, words in ((f"c_{gpu}_fp32", c), (f"d_{gpu}_{d.name}", words_of(answers.d, d))):
        (folder / f"{name}.txt").write_text("".join(f"{w:032b}\n" for w in words.tolist()))


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "name", ["v100-fp16-fp32", "a100-bf16-fp32", "a100-tf32-fp32", "ada-e4m3-fp16", "ada-e5m2-fp32", "h100-fp16-fp16"]
)
def test_recordings_written_as_text_are_read_back(recordings, tmp_path, name):
    held = read_recording(recordings / f"{name}.npz")
    write_texts(tmp_path, "GPU", held)
    found = read_text_files(find_text_files([tmp_path]))
    assert found.formats == held.formats
    for x in ("a", "b", "c"):
        np.testing.assert_array_equal(getattr(found.batch, x), getattr(held.batch, x))
    np.testing.assert_array_equal(found.d, held.d)


def test_c_is_rounded_to_fp16_as_the_authors_do(recordings, tmp_path):
    """The folder Ada/fp16 has one c in fp32 and a d in each format."""
    wide, narrow = (read_recording(recordings / f"ada-fp16-{x}.npz") for x in ("fp32", "fp16"))
    np.testing.assert_array_equal(wide.batch.a, narrow.batch.a)
    for held in (wide, narrow):
        write_texts(tmp_path, "Ada", held, wide.batch.c)
    found = read_text_files(find_text_files([tmp_path], "fp16"))
    np.testing.assert_array_equal(found.batch.c, narrow.batch.c)
    design = find_design("ada/m16n8k16.f16.f16.f16.f16")
    assert replay([found], ModelTarget(design)).mismatches == 0


def test_the_shared_fp8_of_hopper_has_no_c(recordings, tmp_path):
    info = read_index(recordings)["h100-e4m3-fp32.npz"]
    held = read_recording(info.path)
    write_texts(tmp_path, "H100", held, np.full(info.rows, 0x3F800000, np.uint32))
    files = find_text_files([tmp_path])
    with pytest.raises(InputError, match=r"c_H100_fp32\.txt: .*--zero-c; or --read-c"):
        read_text_files(files)
    design = find_design(held.design)
    zero, as_read = (read_text_files(files, zero_c=x, design=design) for x in (True, False))
    assert replay([zero], ModelTarget(design)).mismatches == 0
    assert replay([as_read], ModelTarget(design)).mismatches > 0


A, B = "3f800000 40000000\n3fc00000 3f000000\n", "3F800000  3f800000 \r\n00000000\t80000000"
C = "00111111100000000000000000000000\n00000000000000000000000000000000\n"
D = "01000000100000000000000000000000\n10000000000000000000000000000000\n"


@pytest.fixture
def folder(tmp_path):
    """Two rows of k = 2: 1*1 + 2*1 + 1 = 4, and 1.5*0 + 0.5*-0 + 0."""
    names = {"a_X1_fp16": A, "b_X1_fp16": B, "c_X1_fp32": C, "d_X1_fp32": D}
    for name, text in names.items():
        (tmp_path / f"{name}.txt").write_bytes(text.encode())
    return tmp_path


def test_the_layout(folder):
    files = find_text_files([folder])
    found = read_text_files(files)
    assert found.batch.a.tolist() == [[0x3C00, 0x4000], [0x3E00, 0x3800]]
    assert found.batch.b.tolist() == [[0x3C00, 0x3C00], [0, 0x8000]]
    assert found.batch.c.tolist() == [0x3F800000, 0]
    assert found.d.tolist() == [0x40800000, 0x80000000]
    about = provenance_of_text_files(files, found)
    assert (about.device, about.design, about.rows, about.k) == ("X1", None, 2, 2)
    assert about.operands["source"] == "a_X1_fp16.txt, b_X1_fp16.txt, c_X1_fp32.txt, d_X1_fp32.txt"
    assert about.further["imported"]["sha256"]["d_X1_fp32.txt"] == hashlib.sha256(D.encode()).hexdigest()
    assert find_text_files(sorted(folder.iterdir(), reverse=True)) == files


def test_nans_and_infinities(folder):
    """An fp32 word cannot hold the code of a narrower NaN; infinities it can."""
    (folder / "a_X1_fp16.txt").write_text("7fffffff ffc00001\n7f800000 ff800000\n")
    assert read_text_files(find_text_files([folder])).batch.a.tolist() == [[0x7E00, 0x7E00], [0x7C00, 0xFC00]]


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("a_X1_fp16", "3f800000 4000000\n", "1: '4000000' is not an fp32 word: 8 hexadecimal digits"),
        ("a_X1_fp16", A.replace("3fc0", "0x3f"), "2: '0x3f0000' is not an fp32 word"),
        ("a_X1_fp16", A.replace("c", "é"), r"2: '3f\\ufffd"),
        ("a_X1_fp16", "3f800000 3f800000\n3f800000\n", "2: 1 words, and 2 in line 1"),
        ("a_X1_fp16", "3f800000 3f800000\n\n3f800000 3f800000\n", "2: '' is not an fp32 word"),
        ("a_X1_fp16", A[:-3], "2: '3f0000' is not an fp32 word"),
        ("a_X1_fp16", "3f800000 3f800001\n" * 2, r"1: 0x3f800001 \(word 2\) is not representable in fp16"),
        ("a_X1_fp16", "3f800000 3f800000\n47800000 33000000\n", r"2: 0x47800000 \(word 1\) is not representable"),
        ("b_X1_fp16", "3f800000\n" * 2, "1: 1 words, and 2 in a_X1_fp16.txt"),
        ("b_X1_fp16", "3f800000 3f800000\n" * 3, "3: the last line, and a_X1_fp16.txt has 2 lines"),
        ("c_X1_fp32", C[:33], "1: the last line, and a_X1_fp16.txt has 2 lines"),
        ("c_X1_fp32", C.replace("0\n", "2\n"), "1: '0011.*2' is not an fp32 word: 32 binary digits"),
        ("d_X1_fp32", D[:-2], "2: '1000.*0' is not an fp32 word"),
        ("d_X1_fp32", "40800000\n80000000\n", "1: '40800000' is not an fp32 word"),
        ("d_X1_fp32", "", "is empty"),
    ],
)
def test_malformed_lines(folder, name, text, problem):
    path = folder / f"{name}.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=rf"^{re.escape(str(path))}:.?(?:{problem})"):
        read_text_files(find_text_files([folder]))


@pytest.mark.parametrize(
    ("fmt", "kept", "dropped"), [("tf32", "3f802000", "3f801000"), ("E4M3", "43e00000", "7f800000")]
)
def test_what_a_format_holds(folder, fmt, kept, dropped):
    for x in "ab":
        (folder / f"{x}_X1_fp16.txt").rename(folder / f"{x}_X1_{fmt}.txt")
    path = folder / f"a_X1_{fmt}.txt"
    path.write_text(f"{kept} 3f800000\n" * 2)
    (folder / f"b_X1_{fmt}.txt").write_text("3f800000 3f800000\n" * 2)
    found = read_text_files(find_text_files([folder]))
    assert words_of(found.batch.a[:1], find_format(fmt.lower())).tolist() == [[int(kept, 16), 0x3F800000]]
    path.write_text(f"3f800000 {dropped}\n" * 2)
    with pytest.raises(
        InputError, match=rf"{path.name}:1: 0x{dropped} \(word 2\) is not representable in {fmt.lower()}"
    ):
        read_text_files(find_text_files([folder]))


def test_files_that_are_missing_or_too_many(folder):
    (folder / "d_X1_fp16.txt").write_text(D)
    with pytest.raises(
        InputError, match=r"one file d_GPU_FORMAT\.txt is needed, and there are several: .* --output-format"
    ):
        find_text_files([folder])
    assert find_text_files([folder], "fp16").d.name == "d_X1_fp16.txt"
    with pytest.raises(InputError, match=r"one file d_GPU_bf16\.txt is needed, and there are none"):
        find_text_files([folder], "bf16")
    (folder / "b_X1_fp16.txt").rename(folder / "b_X2_fp16.txt")
    with pytest.raises(InputError, match=r"b_X2_fp16\.txt: is of X2, and a_X1_fp16.txt of X1"):
        find_text_files([folder], "fp32")
    (folder / "b_X2_fp16.txt").rename(folder / "b_X1_fp17.txt")
    with pytest.raises(InputError, match=r"b_X1_fp17\.txt: its name is not x_GPU_FORMAT\.txt"):
        find_text_files([folder], "fp32")
    with pytest.raises(InputError, match=r"one file b_GPU_FORMAT\.txt is needed, and there are none"):
        find_text_files([folder / "a_X1_fp16.txt", folder / "c_X1_fp32.txt", folder / "d_X1_fp32.txt"])
    (folder / "b_X1_fp17.txt").rename(folder / "b_X1_fp16.txt")
    (folder / "c_X1_fp32.txt").rename(folder / "c_X1_fp16.txt")
    with pytest.raises(InputError, match=r"c is in fp32 in these files"):
        find_text_files([folder], "fp32")


def test_a_design_must_take_the_rows(folder):
    files = find_text_files([folder])
    assert (
        read_text_files(files, design=find_design("volta/f32.f16.f16.f32")).design == "volta/mma.m8n8k4.f32.f16.f16.f32"
    )
    with pytest.raises(InputError, match="format mismatch: a is fp16 in .*txt and bf16"):
        read_text_files(files, design=find_design("ampere/m16n8k8.f32.bf16.bf16.f32"))
