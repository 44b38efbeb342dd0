"""The check of links finds what is dead, and what a page would load from elsewhere."""

import pytest
from support.site_links import check, main

GOOD = '<h1 id="top">x</h1><a href="other.html#here">y</a><a href="#top">z</a><a href="https://example.org/">e</a>'


@pytest.fixture
def site(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "index.html").write_text(GOOD)
    (tmp_path / "other.html").write_text('<p id="here"></p><a href="folder/">f</a><a href="/index.html">i</a>')
    (tmp_path / "folder" / "index.html").write_text('<a href="../other.html">o</a><img src="../a%20b.png">')
    (tmp_path / "a b.png").write_text("")
    return tmp_path


def test_a_site_without_dead_links(site, capsys):
    done = check(site)
    assert (done.pages, done.internal, done.problems) == (3, 6, [])
    assert list(done.external) == ["https://example.org/"]
    assert main([str(site), "--list"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "https://example.org/"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('<a href="nowhere.html">x</a>', "there is no such file"),
        ('<a href="other.html#nowhere">x</a>', "there is no such place"),
        ('<a href="#nowhere">x</a>', "there is no such place"),
        ('<a href="#a=1">x</a>', "there is no such place"),
        ('<a href="other.html#a=1">x</a><script></script>', "there is no such place"),
        ('<a href="../../outside.html">x</a>', "leads out of the site"),
        ('<img src="nowhere.png">', "there is no such file"),
        ('<script src="https://example.org/x.js"></script>', "loads https://example.org/x.js"),
        ('<link rel="stylesheet" href="//example.org/x.css">', "loads //example.org/x.css"),
    ],
)
def test_what_is_wrong_is_found(site, text, why, capsys):
    (site / "bad.html").write_text(text)
    (problem,) = check(site).problems
    assert problem.startswith("bad.html: ") and problem.endswith(why)
    assert main([str(site)]) == 1
    assert problem in capsys.readouterr().err


def test_a_state_of_a_page_is_read_by_its_script(site):
    (site / "explorer.html").write_text('<a href="#a=1&amp;b=2">x</a><script></script>')
    assert check(site).problems == []


def test_an_empty_folder_is_no_site(tmp_path):
    assert main([str(tmp_path)]) == 1
