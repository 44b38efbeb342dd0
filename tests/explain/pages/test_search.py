"""The check of the search says which page a reader does not find; it runs the script of the site itself."""

import json
import shutil

import pytest
from support.site_search import FIRST, WANTED, SearchError, find, main, problems

WORKER = """
let index;
addEventListener("message", async ({data: {type, data}}) => {
  if (type === 0) { index = data; postMessage({type: 1}); return; }
  const items = index.docs.filter((x) => `${x.title} ${x.text}`.includes(data)).map((x) => [x]);
  postMessage({type: 3, data: {items}});
});
"""
"""Answers as the search of Material for MkDocs does: a set-up first, then for each question groups of sections."""

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")


@pytest.fixture
def site(tmp_path):
    folder = tmp_path / "assets" / "javascripts" / "workers"
    folder.mkdir(parents=True)
    (folder / "search.1a2b.min.js").write_text(WORKER)
    (tmp_path / "search").mkdir()
    docs = [{"location": f"{page}#{i}", "title": word, "text": ""} for i, (word, page) in enumerate(WANTED.items())]
    write(tmp_path, docs)
    return tmp_path


def write(site, docs):
    held = {"config": {"separator": "x", "lang": ["en"]}, "docs": docs}
    (site / "search" / "search_index.json").write_text(json.dumps(held))
    return docs


def read(site):
    return json.loads((site / "search" / "search_index.json").read_text())["docs"]


@needs_node
def test_a_search_that_finds_all(site, capsys):
    assert find(site, ["CSV", "nothing"]) == {"CSV": ["data.html"], "nothing": []}
    assert main([str(site)]) == 0
    assert capsys.readouterr().out.endswith(
        f"{len(WANTED)} questions to the search of the site, 0 without the wanted page\n"
    )


@needs_node
def test_a_page_that_is_not_in_the_index_is_missed(site, capsys):
    write(site, [x for x in read(site) if not x["location"].startswith("plans.html")])
    assert main([str(site)]) == 1
    out, err = capsys.readouterr()
    assert out.endswith("2 without the wanted page\n")
    assert [x.partition(":")[0] for x in err.splitlines()] == ["'split-K'", "'batch invariant'"]


@needs_node
def test_a_page_behind_many_others_is_missed(site, capsys):
    others = [{"location": f"{i}.html", "title": "CSV", "text": ""} for i in range(FIRST)]
    write(site, [*others, *read(site)])
    assert main([str(site)]) == 1
    assert "'CSV': data.html is not among the first" in capsys.readouterr().err


@needs_node
@pytest.mark.parametrize("lacking", ["assets/javascripts/workers/search.1a2b.min.js", "search/search_index.json"])
def test_a_site_without_a_search(site, lacking, capsys):
    (site / lacking).unlink()
    with pytest.raises(SearchError, match="has no search"):
        find(site, ["CSV"])
    assert main([str(site)]) == 1


@needs_node
def test_a_script_that_fails_is_no_answer(site):
    next(site.glob("assets/javascripts/workers/*.js")).write_text("throw new Error('broken')")
    with pytest.raises(SearchError, match="broken"):
        find(site, ["CSV"])


def test_what_is_not_found_is_told_with_what_is():
    assert problems({"a": ["x.html", "y.html"]}, {"a": "y.html"}) == []
    assert problems({"a": ["x.html"]}, {"a": "y.html", "b": "z.html"}) == [
        f"'a': y.html is not among the first {FIRST} pages: x.html",
        f"'b': z.html is not among the first {FIRST} pages: ",
    ]


def test_without_node_nothing_is_said_to_be_found(site, monkeypatch, capsys):
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert main([str(site)]) == 0
    out, err = capsys.readouterr()
    assert out == "" and "not checked" in err
