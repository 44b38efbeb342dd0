"""The page in a real browser: it computes without a network, with the keyboard alone, and in 360 columns of pixels."""

import json
import shlex
import shutil
import threading
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from support.browser import address_of, browser, complaints, resize
from support.published import EQUATION_10, TABLE_8, kind_of_operands
from support.waiting import wait_until

from mmaproof.cli.explore import server_of
from mmaproof.cli.main import main
from mmaproof.designs.catalogue import load_catalogue
from mmaproof.designs.design import Design
from mmaproof.designs.errors import InputError
from mmaproof.explain.explorer.build import archive_of_npm, build

pytestmark = pytest.mark.middle


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the explorer is offered."""
    if shutil.which("chromium") is None:
        pytest.skip("Chromium is not installed: apt install chromium chromium-driver")
    folder = tmp_path_factory.mktemp("explorer")
    try:
        archive = folder / "pyodide.tgz"
        archive.write_bytes(archive_of_npm())
    except InputError as problem:
        pytest.skip(f"Pyodide cannot be had: {problem}")
    build(folder / "site", archive)
    with server_of(folder / "site", 0) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="module")
def page(address: str) -> Iterator[Any]:
    """A browser in which the explorer has started."""
    with browser() as driver:
        driver.get(address)
        wait_until(lambda: data(driver, "seconds"))
        yield driver


def data(driver: Any, name: str) -> Any:
    return driver.execute_script(f"return document.body.dataset.{name}")


def shown_text(driver: Any) -> str:
    text: str = driver.execute_script("return document.getElementById('results').innerText")
    return text


def answered(driver: Any, edit: Callable[[], Any]) -> list[str]:
    """Do something, wait for an answer, and return the results of the units."""
    before = int(data(driver, "answers"))
    edit()
    wait_until(lambda: int(data(driver, "answers")) > before)
    return result(driver)


def went(driver: Any, fragment: str) -> list[str]:
    return answered(driver, lambda: driver.execute_script("location.hash = arguments[0]", fragment))


def typed_for(design: Design) -> str | None:
    """Equation (10) as numbers that the formats of a design have; None where there are none."""
    a, b, c = EQUATION_10
    for first in (13, 12, 11, 10, 9, 8):
        formats = (design.a_format, first), (design.b_format, 23 - first)
        if design.c_format.name == "fp32" and all(f.e_min <= x <= f.e_max for f, x in formats):
            columns = [f"-2^{first}", *map(str, a[1:])], [f"2^{23 - first}", *map(str, b[1:])]
            return "&".join(f"{n}={','.join(x)}" for n, x in zip("xy", columns, strict=True)) + f"&c={c:.0f}"
    return None


def rows_of_table_8() -> dict[tuple[str, str], tuple[Design, str]]:
    found: dict[tuple[str, str], tuple[Design, str]] = {}
    for design in load_catalogue().designs.values():
        row = design.architecture, kind_of_operands(design)
        text = typed_for(design)
        # Turing's m8n8k4 is Volta's step
        if row[1] in TABLE_8.get(row[0], {}) and text and not design.instruction.startswith("mma.m8n8k4.f32.f16"):
            found.setdefault(row, (design, text))
        if row == ("volta", "fp16") and text:
            found.setdefault(row, (design, text))
    return found


@pytest.mark.slow
def test_equation_10_on_ten_architectures_is_table_8(page: Any) -> None:
    rows = rows_of_table_8()
    assert rows.keys() == {(architecture, kind) for architecture, kinds in TABLE_8.items() for kind in kinds}
    for (architecture, kind), (design, text) in rows.items():
        (d,) = went(page, f"a={design.name}&{text}")
        value = d.split(" = ")[1]
        number, _, power = value.partition(" * 2^")
        assert float(number) * 2.0 ** int(power or 0) == TABLE_8[architecture][kind], (design.name, d)
    assert complaints(page) == []


def test_it_measures_its_start_and_its_answers(page: Any) -> None:
    assert float(data(page, "seconds")) > 0
    went(page, "a=volta/f32.f16.f16.f32&b=turing/f32.f16.f16.f32&x=1,2&y=3,4&c=5")
    assert float(data(page, "milliseconds")) > 0


def test_nothing_is_fetched_from_elsewhere(page: Any, address: str) -> None:
    fetched = page.execute_script("return performance.getEntriesByType('resource').map((x) => x.name)")
    assert len(fetched) > 5
    assert all(x.startswith((address, "data:")) for x in fetched)


def test_the_address_holds_the_state(page: Any, address: str) -> None:
    page.execute_script("location.hash = ''")
    fields = {"unit0": "hopper/wgmma.f32.f16.f16", "unit1": "", "a": "-2^13 -.5", "b": "2^10 1", "c": "2^23"}

    def type_all() -> None:
        for name, text in fields.items():
            field = page.find_element("id", name)
            field.clear()
            field.send_keys(text)

    expected = ["0xbf000000 = -1 * 2^-1"]
    answered(page, type_all)
    # the page answers while one types, so answers to what was typed first may come before
    wait_until(lambda: "wgmma" in shown_text(page) and result(page) == expected)
    shared = page.current_url
    page.get("about:blank")
    page.get(shared)
    wait_until(lambda: data(page, "seconds"))
    assert result(page) == expected
    assert [page.find_element("id", name).get_property("value") for name in fields] == list(fields.values())


def result(driver: Any) -> list[str]:
    """The results that the page shows, read at once: an answer replaces their elements."""
    script = "return [...document.querySelectorAll('#results .d')].map(x => x.innerText.trim())"
    found: list[str] = driver.execute_script(script)
    return found


def test_keyboard_alone_changes_a_parameter_and_bits_move(page: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    went(page, "a=volta/f32.f16.f16.f32&x=-2^13,-0.5,-0.25,-0.125&y=2^10,1,1,1&c=2^23")
    page.execute_script("document.activeElement.blur()")

    def tab_to(selector: str) -> Any:
        for _ in range(60):
            page.switch_to.active_element.send_keys(Keys.TAB)
            if page.execute_script("return document.activeElement.matches(arguments[0])", selector):
                return page.switch_to.active_element
        raise AssertionError(f"{selector} is not reached by the key Tab")

    tab_to("#parameters summary").send_keys(Keys.ENTER)
    field = tab_to("#p-0-fraction_bits")
    field.send_keys(Keys.CONTROL, "a")
    assert answered(page, lambda: field.send_keys("25", Keys.TAB)) == ["0xbf400000 = -3 * 2^-2"]
    assert page.find_elements("css selector", "#results .moved")
    assert "fraction_bits=25" in page.current_url
    # what is open and has the focus stays so
    assert page.execute_script("return document.activeElement.id.startsWith('p-0-')")


def seen(driver: Any, name: str) -> bool:
    """Whether anything of a section is to be seen."""
    found: bool = driver.execute_script("return document.getElementById(arguments[0]).offsetHeight > 0", name)
    return found


BAD = {
    "no number": ("a=volta/f32.f16.f16.f32&x=1,zz&y=1&c=0", "a", "'zz' is not a number"),
    "too large for all": ("a=hopper/wgmma.f32.e4m3.e4m3&x=1e999&y=1", "a", "is too large for e4m3"),
    "too large": ("a=hopper/wgmma.f32.e4m3.e4m3&x=2^10&y=1", "a", "1024 is too large for e4m3: at most 448"),
    "no infinity": ("a=hopper/wgmma.f32.e4m3.e4m3&x=inf&y=1", "a", "e4m3 has no infinity"),
    "too wide": ("a=volta/f32.f16.f16.f32&x=0x12345&y=1", "a", "too wide for fp16"),
    "two numbers c": ("a=volta/f32.f16.f16.f32&x=1&y=1&c=1,2", "c", "one number, not 2"),
    "too long": (f"a=volta/f32.f16.f16.f32&x={','.join(['1'] * 1025)}&y=1", "a", "too many for this page"),
    "divides by zero": ("a=volta/f32.f16.f16.f32&x=1&y=1/0", "b", "divides by zero"),
    "no instruction": ("a=volta/nothing&x=1&y=1", "unit0", "volta has no instruction 'nothing'"),
    "no unit": ("a=nothing&x=1&y=1", "unit0", "is not a design name"),
    "second unit": ("a=volta/f32.f16.f16.f32&b=nothing&x=1", "unit1", "is not a design name"),
    "no parameter": ("a=volta/f32.f16.f16.f32@nothing=1&x=1&y=1", "unit0", "unknown parameter 'nothing'"),
    "parameter out of range": ("a=volta/f32.f16.f16.f32@fraction_bits=9999&x=1", "unit0", "allowed is an integer"),
    "a file": ("a=rtl:unit/UNIT.toml&x=1&y=1", "unit0", "is a file"),
    "no unit is named": ("x=1&y=1&c=0", "unit0", "Name a unit"),
    "nothing that can be read": ("nothing", None, "The address has a part that cannot be read: nothing"),
    "a broken escape": ("a=volta/f32.f16.f16.f32&x=%E0%A4%A", None, "cannot be read: x=%E0%A4%A"),
}


@pytest.mark.parametrize("bad", BAD)
def test_after_a_problem_no_old_result_is_shown(page: Any, bad: str) -> None:
    fragment, field, text = BAD[bad]
    went(page, "a=volta/f32.f16.f16.f32&x=1&y=1&c=2")
    assert all(seen(page, x) for x in ("results", "picture", "parameters", "read-c"))
    went(page, fragment)
    said = page.find_element("id", "problem").text
    assert text in said
    assert "mmaproof" not in said
    assert not any(seen(page, x) for x in ("results", "picture", "read-a", "read-b", "read-c", "bits-a", "bits-c"))
    # parameters stay to be mended where they are those of the unit that is named
    assert seen(page, "parameters") == fragment.startswith("a=volta/f32.f16.f16.f32") * ("&b=" not in fragment)
    assert page.find_element("id", "status").text == "No result: see the message."
    invalid = page.execute_script("return [...document.querySelectorAll('[aria-invalid=true]')].map((x) => x.id)")
    assert invalid == ([] if field is None else [field])
    went(page, "a=volta/f32.f16.f16.f32&x=1&y=1&c=3")
    assert all(seen(page, x) for x in ("results", "picture", "parameters", "read-c"))
    assert complaints(page) == []


@pytest.mark.slow
def test_a_bad_address_is_said_at_the_start(page: Any, address: str) -> None:
    page.get("about:blank")
    page.get(f"{address}#nothing")
    wait_until(lambda: data(page, "seconds"))
    assert "cannot be read: nothing" in page.find_element("id", "problem").text
    assert page.find_element("id", "status").text == "No result: see the message."
    went(page, "a=volta/f32.f16.f16.f32&x=1&y=1&c=3")


def test_a_fault_of_the_session_is_said(page: Any) -> None:
    went(page, "a=volta/f32.f16.f16.f32&x=1&y=1&c=4")
    page.execute_script("const parse = JSON.parse; JSON.parse = () => { JSON.parse = parse; throw Error('broken'); }")
    went(page, "a=volta/f32.f16.f16.f32&x=2&y=1&c=2")
    assert "a fault of the explorer, not of what you typed: broken" in page.find_element("id", "problem").text
    assert not seen(page, "results")


def test_problems_are_said_at_their_field(page: Any) -> None:
    went(page, "a=volta/f32.f16.f16.f32&x=1&y=1&c=0")
    went(page, "a=volta/f32.f16.f16.f32&x=1,zz&y=1&c=0")
    assert "'zz' is not a number" in page.find_element("id", "problem").text
    assert page.find_element("id", "a").get_attribute("aria-invalid") == "true"
    went(page, "b=volta/nothing&x=1&y=1&c=0")
    assert "no instruction" in page.find_element("id", "problem").text
    assert page.find_element("id", "unit1").get_attribute("aria-invalid") == "true"
    went(page, "a=volta/f32.f16.f16.f32&x=1&y=1&c=0")
    assert page.find_element("id", "problem").text == ""
    assert page.find_element("id", "a").get_attribute("aria-invalid") is None


def test_examples_are_found_and_tell_units_apart(page: Any) -> None:
    page.find_element("id", "find").send_keys("volta")
    wait_until(lambda: page.find_elements("css selector", "#list a"))
    first, second = answered(page, lambda: page.find_element("css selector", "#list a").click())
    assert first != second
    assert page.find_elements("css selector", "#results mark")


def bit(driver: Any, name: str) -> Any:
    return driver.find_element("id", f"bit-{name}")


def test_a_click_changes_a_bit_and_is_undone(page: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    assert went(page, "a=volta/f32.f16.f16.f32&x=1,2&y=1,1&c=0") == ["0x40400000 = +3 * 2^0"]
    assert answered(page, bit(page, "a-1-0").click) == ["0xbf800000 = -1 * 2^0"]
    assert page.find_element("id", "a").get_property("value") == "1, 0xc000"
    assert "x=1" in page.current_url and "0xc000" in page.current_url
    # the focus stays on the bit, and arrow keys move it
    page.switch_to.active_element.send_keys(Keys.ARROW_UP, Keys.ARROW_RIGHT)
    assert page.execute_script("return document.activeElement.id") == "bit-a-0-1"
    assert answered(page, lambda: page.switch_to.active_element.send_keys(Keys.ENTER)) != ["0xbf800000 = -1 * 2^0"]
    undo, redo = (page.find_element("id", x) for x in ("undo", "redo"))
    assert answered(page, undo.click) == ["0xbf800000 = -1 * 2^0"]
    assert answered(page, undo.click) == ["0x40400000 = +3 * 2^0"]
    assert answered(page, redo.click) == ["0xbf800000 = -1 * 2^0"]
    assert not redo.get_property("disabled")


def test_a_bit_of_units_of_other_formats_is_a_number(page: Any) -> None:
    went(page, "a=volta/f32.f16.f16.f32&b=hopper/wgmma.f32.e4m3.e4m3&x=1.5&y=1&c=0")
    first, second = answered(page, bit(page, "a-0-6").click)
    assert first == second == "0x3f800000 = +1 * 2^0"
    assert page.find_element("id", "a").get_property("value") == "+1*2^0"


def test_up_to_four_units_stand_beside_each_other(page: Any) -> None:
    units = "a=volta/f32.f16.f16.f32&b=turing/f32.f16.f16.f32&u=hopper/wgmma.f32.f16.f16"
    found = went(page, f"{units}&x=-2^13,-0.5,-0.25,-0.125&y=2^10,1,1,1&c=2^23")
    assert [x.split(" = ")[0] for x in found] == ["0x00000000", "0xbf000000", "0xbf400000"]
    assert len(page.find_elements("css selector", "#picture figure")) == 3
    assert page.find_elements("css selector", "#results mark")
    assert not seen_field(page, "unit3")
    page.find_element("id", "add").click()
    answered(page, lambda: page.switch_to.active_element.send_keys("ada/f32.f16.f16.f32"))
    wait_until(lambda: len(result(page)) == 4)
    assert "v=ada" in page.current_url
    went(page, "a=volta/f32.f16.f16.f32&x=1&y=1&c=2")
    assert not seen_field(page, "unit2")


def seen_field(driver: Any, name: str) -> bool:
    return bool(driver.find_element("id", name).is_displayed())


def test_a_chip_and_a_format_name_units_to_choose_from(page: Any) -> None:
    went(page, "a=h100 fp8&x=1&y=1&c=0")
    offered = page.find_elements("css selector", "#meant button")
    assert "hopper/wgmma.m64n8k32.f32.e4m3.e4m3" in [x.text for x in offered]
    (wanted,) = (x for x in offered if x.text == "hopper/wgmma.m64n8k32.f32.e4m3.e4m3")
    assert answered(page, wanted.click) == ["0x3f800000 = +1 * 2^0"]
    assert not page.find_elements("css selector", "#meant button")
    find = page.find_element("id", "find")
    find.clear()
    find.send_keys("h100 e5m2")
    wait_until(lambda: "hopper" in page.find_element("id", "list").text)
    assert all("hopper" in x.text for x in page.find_elements("css selector", "#list li"))
    find.clear()
    find.send_keys("v")


def test_a_state_is_copied_as_a_command(page: Any, capsys: pytest.CaptureFixture[str]) -> None:
    went(page, "a=volta/f32.f16.f16.f32&x=1.5&y=2^-3&c=0x1")
    page.execute_script("navigator.clipboard.writeText = (text) => { window.copied = text; return Promise.resolve(); }")
    texts = {}
    for button in page.find_elements("css selector", ".copy"):
        page.execute_script("window.copied = null")
        button.click()
        wait_until(lambda: page.execute_script("return window.copied"))
        texts[button.text] = page.execute_script("return window.copied")
    assert texts["address"] == page.current_url
    assert main([*shlex.split(texts["command"])[1:], "--json"]) == 0
    (d,) = result(page)
    record = json.loads(capsys.readouterr().out)
    assert record["d"] == d.split(" = ")[0]
    assert json.loads(texts["JSON"])["outputs"] == {record["design"]: record["d"]}
    found: dict[str, Any] = {}
    exec(texts["Python"], found)
    assert found["d"] == int(record["d"], 16)


def test_published_vectors_and_the_story_of_a_bug_are_states(page: Any) -> None:
    links = page.execute_script(
        "return [...document.querySelectorAll('#examples > :is(ul, ol) a')].filter((x) => !x.closest('#list'))"
        ".map((x) => [x.textContent, x.hash])"
    )
    shown = {text: [x.split(" = ")[0] for x in went(page, fragment)] for text, fragment in links}
    assert len(shown) == 11 and all(shown.values())
    found = {text.split(":")[0].split(",")[0]: x for text, x in shown.items()}
    assert found["A row that an H100 returned"] == ["0x0000000b"]
    assert found["A dot product of e5m2 that cancels"] == ["0x00000000", "0x3e800000"]
    assert found["Subnormal fp16 on CDNA1"] == ["0x33800000", "0x00000000", "0x33800000"]
    story = [x for text, x in shown.items() if "return" in text or "c = 2" in text or "right again" in text][-3:]
    assert [len({*x}) for x in story] == [1, 2, 1]


def test_every_control_has_a_name(page: Any) -> None:
    unnamed = page.execute_script(
        "return [...document.querySelectorAll('input, textarea, select')]"
        ".filter((x) => !x.labels.length).map((x) => x.id)"
    )
    assert unnamed == []
    levels = page.execute_script(
        "return [...document.querySelectorAll('h1,h2,h3,h4')].map((x) => Number(x.tagName[1]))"
    )
    assert levels[0] == 1 and levels.count(1) == 1
    assert len([*pairwise(levels)]) > 2


def test_it_fits_in_360_pixels(page: Any) -> None:
    went(page, "a=volta/f32.f16.f16.f32&b=turing/f32.f16.f16.f32&x=-2^13,-0.5,2^-9&y=2^10,1,1&c=2^23")
    answered(page, lambda: resize(page, 360, 800))
    assert page.execute_script("return document.documentElement.scrollWidth") <= 360
    tables = page.execute_script(
        "return [...document.querySelectorAll('.mp-scroll')].map((x) => x.scrollWidth - x.clientWidth)"
    )
    assert tables and max(tables) <= 0
    answered(page, lambda: resize(page, 1000, 900))


def test_a_page_of_an_answer_fits_in_390_pixels(tmp_path: Path) -> None:
    units = ["volta/f32.f16.f16.f32", "turing/f32.f16.f16.f32"]
    assert main(["compare", *units, "--html", str(tmp_path / "c.html"), "--no-store"]) == 1
    with browser() as driver:
        driver.get(address_of(tmp_path / "c.html"))
        resize(driver, 390, 900)
        assert driver.execute_script("return document.documentElement.scrollWidth") <= 390
        assert complaints(driver) == []


def test_a_report_opens_from_a_file_and_is_sorted(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    names = ["volta/f32.f16.f16.f32", "turing/f32.f16.f16.f32"]
    assert main(["matrix", *names, "--json", "--jobs", "1"]) == 0
    (tmp_path / "m.json").write_text(capsys.readouterr().out, encoding="utf-8")
    assert main(["report", str(tmp_path / "m.json"), "--html", str(tmp_path / "m.html")]) == 0
    with browser() as driver:
        driver.get(address_of(tmp_path / "m.html"))
        assert complaints(driver) == []
        table = driver.find_elements("css selector", "table.mp-sorted")[0]
        heads = table.find_elements("css selector", "thead button")

        def names_shown() -> list[str]:
            return [x.text for x in table.find_elements("css selector", "tbody td")]

        heads[1].click()
        assert names_shown() == sorted(names_shown())
        heads[1].click()
        assert names_shown() == sorted(names_shown(), reverse=True)
        fold = driver.find_element("css selector", "details")
        assert not fold.find_element("css selector", "figure").is_displayed()
        fold.find_element("css selector", "summary").click()
        assert fold.find_element("css selector", "figure").is_displayed()
