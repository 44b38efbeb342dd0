"""The page about what silicon decides has each parameter of each row once, under what it rests on."""

from mmaproof.designs.catalogue import find_design, load_catalogue
from mmaproof.designs.open_points import Level, levels_of
from mmaproof.explain.pages.units import COLUMNS, decided_pages, parameters, rows_of_the_catalogue


def test_every_row_of_the_catalogue_is_there_once():
    rows = [str(x.evidence.row) for designs in rows_of_the_catalogue().values() for x in designs]
    assert len(rows) == len(set(rows))
    assert set(rows) == {str(x.evidence.row) for x in load_catalogue().designs.values()}


def test_every_level_has_a_column():
    assert sorted(level for levels in COLUMNS.values() for level in levels) == sorted(Level)


def test_every_parameter_stands_in_one_column():
    for designs in rows_of_the_catalogue().values():
        for design in designs:
            listed = [x for heading in COLUMNS for x in parameters(design, heading)]
            assert sorted(listed) == sorted(levels_of(design)), design.name


def test_a_recorded_unit_is_decided_by_silicon_and_another_is_not():
    decided = parameters(find_design("volta/mma.m8n8k4.f32.f16.f16.f16"), "silicon")
    assert {"fraction_bits", "nan_code", "zero_sum", "subnormals"} <= set(decided)
    assert "carry_bits" not in decided
    assert parameters(find_design("turing/mma.m8n8k4.f32.f16.f16.f16"), "silicon") == []


def test_the_page_counts_them():
    (page,) = decided_pages()
    volta = rows_of_the_catalogue()["volta"]
    counted = [sum(len(parameters(x, heading)) for x in volta) for heading in COLUMNS]
    assert f"| [volta](#volta) | 2 | 2 | {' | '.join(map(str, counted))} |" in page.markdown()
