"""File lists of simulators name the sources of a unit."""

from pathlib import Path

import pytest
from support.rtl_units import COMBINATIONAL, LANES, write_unit

from mmaproof.designs.errors import InputError
from mmaproof.rtl import read_unit
from mmaproof.rtl.unit_file import FileList, read_file_list, read_unit_file


def listed(folder: Path, text: str) -> FileList:
    (folder / "files.f").write_text(text, encoding="utf-8")
    found = FileList()
    read_file_list(folder / "files.f", folder, found)
    return found


def test_a_list_names_sources_folders_and_macros(tmp_path):
    (tmp_path / "ip" / "more").mkdir(parents=True)
    (tmp_path / "ip" / "ip.f").write_text("../top.sv lane.sv // one\n-f more/more.f\n", encoding="utf-8")
    (tmp_path / "ip" / "more" / "more.f").write_text("+define+LAST # end\nlast.v\n", encoding="utf-8")
    text = '// all\n+incdir+inc+ip/inc\n+define+W=8+FAST\n/* no.sv\n*/ -f ip/ip.f\n-I extra -DX=1 "two words.sv" -sv\n'
    found = listed(tmp_path, text)
    assert found.sources == ["top.sv", "ip/lane.sv", "ip/more/last.v", "two words.sv"]
    assert found.include == ["inc", "ip/inc", "extra"]
    assert found.defines == {"W": "8", "FAST": "", "LAST": "", "X": "1"}


def test_variables_of_the_environment_are_replaced(tmp_path, monkeypatch):
    monkeypatch.setenv("PLACE", "rtl")
    assert listed(tmp_path, "$PLACE/a.sv ${PLACE}/b.sv $(PLACE)/c.sv").sources == ["rtl/a.sv", "rtl/b.sv", "rtl/c.sv"]


def test_lists_of_bender_and_of_fusesoc_are_read(tmp_path):
    bender = (
        f"+define+TARGET_RTL\n+define+TARGET_SIM=1\n+incdir+{tmp_path}/inc\n{tmp_path}/src/a.sv\n{tmp_path}/src/b.sv\n"
    )
    found = listed(tmp_path, bender)
    assert found.sources == [f"{tmp_path}/src/a.sv", f"{tmp_path}/src/b.sv"]
    assert (found.include, found.defines) == ([f"{tmp_path}/inc"], {"TARGET_RTL": "", "TARGET_SIM": "1"})
    options = "--Mdir . --cc --exe -Wno-fatal -CFLAGS -O2 +incdir+../src/inc --top-module unit"
    found = listed(tmp_path, f"{options} lint.vlt ../src/a.v -v lib.v tb.cpp\n".replace(" ", "\n"))
    assert (found.sources, found.include) == (["../src/a.v", "lib.v"], ["../src/inc"])


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("-GW=8", "-GW=8 is not covered"),
        ("--top-module", "something is expected after --top-module"),
        ("-y lib", "-y is not covered"),
        ("+libext+.v", r"\+libext\+\.v is not covered"),
        ("-f", "something is expected after -f"),
        ("-f files.f", "this file list names itself"),
        ("-f none.f", "none.f"),
        ("$NOT_SET_ANYWHERE/a.sv", "NOT_SET_ANYWHERE is not set"),
    ],
)
def test_what_is_not_covered_is_refused(tmp_path, text, wrong):
    with pytest.raises(InputError, match=wrong):
        listed(tmp_path, text)


def test_a_unit_may_name_a_list(tmp_path):
    pytest.importorskip("pyosys")
    path = write_unit(tmp_path, COMBINATIONAL, ports=LANES)
    (tmp_path / "lists").mkdir()
    (tmp_path / "lists" / "all.f").write_text("../unit.sv\n", encoding="utf-8")
    text = path.read_text(encoding="utf-8").replace('sources = ["unit.sv"]', 'filelists = ["lists/all.f"]')
    path.write_text(text, encoding="utf-8")
    assert read_unit_file(path).sources == ("unit.sv",)
    assert read_unit(path).design.k == 2
