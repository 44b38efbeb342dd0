"""Pictures as SVG and HTML: what a terminal shows is there, well-formed, named for screen readers, and escaped."""

import re
from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from support.pictures import CATALOGUE, EQUATION_10, SAMPLE, TURING, VOLTA, blocks, row_value, text

from mmaproof.designs.catalogue import find_design
from mmaproof.designs.element import Operands
from mmaproof.designs.errors import InputError
from mmaproof.explain import explain, joined
from mmaproof.explain.blocks import Picture
from mmaproof.explain.figure import COLOURS, STYLE, description, picture_html, picture_svg, write_figure
from mmaproof.explain.lines import picture_lines, plain

PAIR = explain([VOLTA, TURING], EQUATION_10)
SVG = "{http://www.w3.org/2000/svg}"
VOID = {"col", "meta", "br"}


class Tree(HTMLParser):
    """The rows of tables as lists of texts, the texts of other elements, and whether every element is closed."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.rows: list[list[str]] = []
        self.heads: list[str] = []
        self.attributes: list[tuple[str, dict[str, str | None]]] = []
        self.feed(source)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in {"td", "th"}:
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if {"td", "th"} & {*self.open}:
            self.rows[-1][-1] += data


def test_lines_are_those_of_a_terminal() -> None:
    assert "\n".join(plain(line).rstrip() for line in picture_lines(PAIR, 80)) == text(PAIR)


@pytest.mark.parametrize("index", range(0, 300, 37))
def test_svg_has_every_character_in_its_place(index: int) -> None:
    picture = explain([SAMPLE[index][0]], SAMPLE[index][1])
    root = ElementTree.fromstring(picture_svg(picture))
    drawn = []
    for line in root.iter(f"{SVG}text"):
        characters: dict[int, str] = {}
        for piece in line:
            assert piece.text
            place = round((float(piece.attrib["x"]) - 12) / 7.826)
            characters |= {place + i: x for i, x in enumerate(piece.text)}
            assert float(piece.attrib["textLength"]) == pytest.approx(7.826 * len(piece.text), abs=0.06)
        drawn.append("".join(characters.get(i, " ") for i in range(max(characters) + 1)))
    assert drawn == [plain(line).rstrip() for line in picture_lines(picture, 100) if plain(line).strip()]


def test_svg_is_an_image_with_title_and_description() -> None:
    root = ElementTree.fromstring(picture_svg(PAIR, "A & <B>"))
    title, told = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert root.attrib["role"] == "img"
    assert title is not None and told is not None and told.text is not None
    assert title.text == "A & <B>"
    assert root.attrib["aria-labelledby"].split() == [title.attrib["id"], told.attrib["id"]]
    assert "p1 = 0xb800 * 0x3c00 = -1 * 2^-1" in told.text
    assert "first difference: step 1, p1 keeps bit 2^-1 in B and loses it in A" in told.text


def test_two_graphics_in_one_page_have_identifiers_of_their_own() -> None:
    other = explain([TURING], EQUATION_10)
    assert len({*re.findall(r'id="([^"]+)"', picture_svg(PAIR) + picture_svg(other))}) == 4


def luminance(colour: str) -> float:
    parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    red, green, blue = (x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize(("index", "face"), [(0, "#ffffff"), (1, "#0d1117")])
def test_colours_can_be_read(index: int, face: str) -> None:
    for pair in COLOURS.values():
        light, dark = sorted((luminance(pair[index]), luminance(face)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5


@pytest.mark.parametrize("width", [42, 110])
def test_html_rows_hold_the_bits_of_their_terms(width: int) -> None:
    for design, operands in [*SAMPLE[::41], *CATALOGUE[::61]]:
        picture = explain([design], operands)
        tree = Tree(picture_html(picture, width))
        labels = {row[0].strip() for row in tree.rows}
        for block in (part for first in blocks(picture) for part in first.parts):
            assert {row.label for row in block.rows} | {entry.label for entry in block.entries} <= labels


def test_html_bits_add_up_to_the_value_of_the_row() -> None:
    tree = Tree(picture_html(PAIR))
    rows = [row for row in tree.rows if row[0].strip() in {"p0", "p1", "p2", "p3", "c", "sum", "d"}]
    drawn = [row for block in blocks(PAIR) for row in block.rows]
    assert len(rows) == len(drawn)
    for found, row in zip(rows, drawn, strict=True):
        bits = re.sub("[ .┆]", "", "".join(found[2:6]).rstrip())
        # the lowest column of equation (10) is 2^-3 in each row that has a lost part
        low = -3 if found[5].strip("┆ ") else row.cut
        assert low is not None
        whole = sum((Fraction(2) ** (low + i) for i, x in enumerate(reversed(bits)) if x == "1"), Fraction(0))
        assert (-whole if found[1].strip() == "-" else whole) == row_value(row)


def test_html_tables_are_named_and_bits_outside_are_not_read_aloud() -> None:
    tree = Tree(picture_html(PAIR))
    tags = [tag for tag, _ in tree.attributes]
    assert tags.count("table") == tags.count("caption") == 2
    assert {"scope": "row"} in [attributes for tag, attributes in tree.attributes if tag == "th"]
    heads = [row for row in tree.rows if row[0] == "term"]
    assert heads[0] == [
        *("term", "sign", "carry bits, from 2^27", "integer bits, from 2^24", "fraction bits, from 2^22"),
        *("lost, from 2^-1", "value", "operands"),
    ]
    for tag, attributes in tree.attributes:
        if tag == "span" and attributes.get("class") == "mp-faint":
            assert attributes["aria-hidden"] == "true"


def test_numbers_that_are_not_drawn_are_a_table() -> None:
    tree_unit = find_design("cdna2/v_mfma_f32_16x16x16f16")
    tree = Tree(picture_html(explain([tree_unit], Operands((0x3C00,) * 16, (0x3C00,) * 16, 0))))
    assert ["name", "bit pattern", "value", "remark"] in tree.rows


def test_nothing_is_markup_and_nothing_is_fetched() -> None:
    evil = Picture(((replace(PAIR.sections[0][0], title="<script>&"),),), ("<b>",))
    for drawn in (picture_html(evil), picture_svg(evil)):
        assert "<script" not in drawn and "<b>" not in drawn
        assert "&lt;script&gt;&amp;" in drawn
    assert not re.search(r"url\(|@import|https?://", STYLE)


def test_description_names_every_value() -> None:
    for design, operands in SAMPLE[::41]:
        picture = explain([design], operands)
        told = description(picture)
        assert all(row.value in told for block in blocks(picture) for row in block.rows)


def test_joined_pictures_keep_their_names_and_their_ends() -> None:
    whole = joined([("run 1", PAIR), ("run 2", PAIR)])
    lines = [plain(line) for line in picture_lines(whole, 100)]
    assert [x for x in lines if x.startswith("run")] == ["run 1", "run 2"]
    assert sum(x.startswith("first difference") for x in lines) == 2
    assert joined([("", PAIR)]) == PAIR


@pytest.mark.middle
@pytest.mark.parametrize(("suffix", "start"), [(".svg", b"<svg"), (".pdf", b"%PDF"), (".PNG", b"\x89PNG")])
def test_a_figure_is_what_its_name_says(tmp_path: Path, suffix: str, start: bytes) -> None:
    path = tmp_path / f"figure{suffix}"
    write_figure(path, PAIR, "equation (10)")
    assert path.read_bytes().startswith(start)


def test_a_figure_of_an_unknown_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a figure ends in one of \.svg, \.pdf, \.png"):
        write_figure(tmp_path / "figure.jpg", PAIR)
