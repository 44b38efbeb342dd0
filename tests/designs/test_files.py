"""Files are written atomically; links are followed, and pipes and devices are never replaced."""

import os
import stat
import threading
from pathlib import Path

import pytest
from support.waiting import LONG

from mmaproof.designs.errors import InputError
from mmaproof.designs.files import read_file, why_unreadable, write_atomically, write_folder

TEXT = "one\ntwo: 2⁻¹⁴\n"


def test_a_file_is_made_and_replaced(tmp_path):
    path = tmp_path / "v.jsonl"
    for content in ("first\n", TEXT, b"\0\xff\r\n"):
        write_atomically(path, content)
        assert path.read_bytes() == (content if isinstance(content, bytes) else content.encode())
    assert [p.name for p in tmp_path.iterdir()] == ["v.jsonl"]


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_new_file_has_the_permissions_that_the_umask_leaves(tmp_path, umask, mode):
    before = os.umask(umask)
    try:
        write_atomically(tmp_path / "v.jsonl", TEXT)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "v.jsonl").stat().st_mode) == mode


def test_a_file_that_is_replaced_keeps_its_permissions(tmp_path):
    path = tmp_path / "v.jsonl"
    path.write_text("first\n")
    for mode in (0o600, 0o640, 0o666):
        path.chmod(mode)
        write_atomically(path, TEXT)
        assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_link_is_followed(tmp_path):
    (tmp_path / "data").mkdir()
    target, link, chained = tmp_path / "data" / "v.jsonl", tmp_path / "link", tmp_path / "chained"
    link.symlink_to(Path("data") / "v.jsonl")
    chained.symlink_to(link)
    # the first time the file that the links name does not exist yet
    for text in ("first\n", TEXT):
        write_atomically(chained, text)
        assert link.is_symlink() and chained.is_symlink()
        assert not target.is_symlink()
        assert target.read_text(encoding="utf-8") == text
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["chained", "data", "link", "v.jsonl"]


def test_links_that_lead_nowhere_are_refused(tmp_path):
    circle, lost = tmp_path / "circle", tmp_path / "lost"
    circle.symlink_to(circle)
    lost.symlink_to(tmp_path / "no" / "v.jsonl")
    for path in (circle, lost):
        with pytest.raises(InputError, match=f"{path}: cannot be written"):
            write_atomically(path, TEXT)
        assert path.is_symlink()


@pytest.mark.parametrize("through_link", [False, True])
def test_a_pipe_is_written_to(tmp_path, through_link):
    pipe = path = tmp_path / "pipe"
    os.mkfifo(pipe)
    if through_link:
        path = tmp_path / "link"
        path.symlink_to(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text(encoding="utf-8")), daemon=True)
    reader.start()
    write_atomically(path, TEXT)
    reader.join(timeout=LONG)
    assert read == [TEXT]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert path.is_symlink() is through_link


def test_a_device_stays_one(tmp_path):
    link = tmp_path / "link"
    link.symlink_to("/dev/null")
    for path in (link, Path("/dev/null")):
        write_atomically(path, TEXT)
    assert link.is_symlink()
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_a_directory_is_refused(tmp_path):
    folder, link = tmp_path / "folder", tmp_path / "link"
    folder.mkdir()
    link.symlink_to(folder)
    for path in (folder, link):
        with pytest.raises(InputError, match=f"{path}: cannot be written: it is a directory"):
            write_atomically(path, TEXT)
    assert list(folder.iterdir()) == []


def test_a_folder_that_was_filled_in_between_stays_as_it_is(tmp_path):
    folder = tmp_path / "folder"
    write_folder(folder, {"a/b": b"first", "c": b"first"})
    with pytest.raises(InputError, match="cannot be written"):
        write_folder(folder, {"a/d": b"second", "e": b"second"})
    found = {x.relative_to(folder).as_posix(): x.read_bytes() for x in folder.rglob("*") if x.is_file()}
    assert found == {"a/b": b"first", "c": b"first"}
    assert list(tmp_path.iterdir()) == [folder]


def test_what_may_never_end_is_not_read(tmp_path):
    """A named pipe that nobody writes to would block for ever, and a device of zeros would fill the memory."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path, kind in ((pipe, "named pipe"), (Path("/dev/zero"), "device")):
        with pytest.raises(OSError, match=f"it is a {kind}") as raised:
            read_file(path)
        assert why_unreadable(raised.value) == f"it is a {kind}, which may never end; name a file"


def test_a_pipe_that_is_open_already_is_read():
    """Such as ``<(...)`` of a shell."""
    reader, writer = os.pipe()
    os.write(writer, b"text")
    os.close(writer)
    try:
        assert read_file(Path(f"/dev/fd/{reader}")) == b"text"
    finally:
        os.close(reader)


def test_a_file_is_read_up_to_a_size(tmp_path):
    (tmp_path / "file").write_bytes(b"text")
    assert read_file(tmp_path / "file", 4) == b"text"
    with pytest.raises(OSError, match="takes more than 3 bytes"):
        read_file(tmp_path / "file", 3)
    with pytest.raises(IsADirectoryError):
        read_file(tmp_path)
