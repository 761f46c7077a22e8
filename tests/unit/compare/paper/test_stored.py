"""Numbers of the paper by name: what is found, and that whatever is missing or ambiguous is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from compare.paper import __main__ as paper
from compare.paper.stored import Numbers, PaperError, find_table, find_text, load, part_of, value_of
from env import schema
from env.checkout import DOCS

PAGE = """# Results

Goodput:

| Scenario | | NDM | [Cubic](cubic.md) |
| --- | --- | ---: | ---: |
| `fiber` | Mbit/s | **864** (858 to 872) | 728 (689 to 762) |
| stress | Mbit/s | 16.6 (16.3 to 17) | 16.9 (15.9 to 17.8) |
| stress | 1/MB | 1.5 | 1.2 |

The model meets **18** of the
31 requirements.
"""
NAMES = {
    "tables": {"goodput": {"page": "page.md", "after": ["# Results", "Goodput:"]}},
    "texts": {"met": {"page": "page.md", "pattern": r"meets (\d+) of the 31"}},
    "code": {"inputs": "env.schema:len(FEATURES)"},
    "literals": {"95": "an interval"},
}


@pytest.fixture
def numbers(tmp_path: Path) -> Numbers:
    (tmp_path / "page.md").write_text(PAGE)
    return Numbers(tmp_path, NAMES)


def test_cell_by_table_row_and_column(numbers: Numbers) -> None:
    assert numbers.cell("goodput", "fiber", "NDM") == "864"
    assert numbers.cell("goodput", "stress / Mbit/s", "Cubic", "interval") == "15.9 to 17.8"
    assert numbers.cell("goodput", "fiber", "Cubic", "both") == "728 (689 to 762)"
    assert [source.text for source in numbers.used] == ["864", "15.9 to 17.8", "728 (689 to 762)"]


def test_rows_of_a_table(numbers: Numbers) -> None:
    rows = numbers.rows("goodput")
    assert [row["NDM"] for row in rows] == ["864 (858 to 872)", "16.6 (16.3 to 17)", "1.5"]
    assert [source.name for source in numbers.used] == [
        *("goodput / fiber / Mbit/s", "goodput / stress / Mbit/s", "goodput / stress / 1/MB")
    ]


def test_number_of_a_text_and_of_the_code(numbers: Numbers) -> None:
    assert numbers.number("met") == "18"
    assert numbers.number("inputs") == str(len(schema.FEATURES))


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("godput", "fiber", "NDM"), "table 'godput' is unknown: did you mean goodput"),
        (("goodput", "fibre", "NDM"), "no row 'fibre': did you mean fiber"),
        (("goodput", "fiber", "BBR"), "no column 'BBR'"),
        (("goodput", "stress", "NDM"), "2 rows 'stress'"),
        (("goodput", "stress / 1/MB", "NDM", "interval"), "'1.5' has no interval"),
        (("goodput", "fiber", "NDM", "median"), "part 'median' of a cell is unknown"),
    ],
)
def test_unknown_cell_is_refused(numbers: Numbers, arguments: tuple[str, ...], error: str) -> None:
    with pytest.raises(PaperError, match=error):
        numbers.cell(*arguments)
    assert not numbers.used


def test_unknown_number_is_refused(numbers: Numbers) -> None:
    with pytest.raises(PaperError, match="number 'meet' is unknown: did you mean met"):
        numbers.number("meet")


@pytest.mark.parametrize("pattern", [r"meets (\d+) of 30", r"(\d)", r"meets \d+ (of) the (31)"])
def test_text_that_fits_no_or_several_places_is_refused(pattern: str) -> None:
    with pytest.raises(PaperError, match="one must"):
        find_text(PAGE, pattern, "page")


@pytest.mark.parametrize("after", [["## Results"], ["|"], ["# Results", "Delay:"], ["The model"]])
def test_table_that_is_not_there_is_refused(after: list[str]) -> None:
    with pytest.raises(PaperError):
        find_table(PAGE, after, "page")


@pytest.mark.parametrize("path", ["env.schema:NOTHING", "env.nowhere:FEATURES"])
def test_unknown_code_is_refused(path: str) -> None:
    with pytest.raises(PaperError, match="the code has no"):
        value_of(path)


def test_first_number_of_a_cell() -> None:
    assert part_of("65.5 instructions, 0.184 of BBR's 356", "number") == "65.5"


@pytest.mark.parametrize(
    ("template", "error"),
    [
        ("It wins 81.5 %.", "without a source: 81.5"),
        ("{{ number('won') }}", "number 'won' is unknown"),
        ("{{ cell('goodput', 'fiber', 'Vegas') }}", "no column 'Vegas'"),
        ("{{ figure(3) }}", "'figure' is undefined"),
    ],
)
def test_text_without_a_source_is_refused(numbers: Numbers, template: str, error: str) -> None:
    with pytest.raises(PaperError, match=error):
        paper.render(numbers, template)


def test_names_code_and_citations_may_have_digits(numbers: Numbers) -> None:
    text = "int16 in `seeds=3`, Figure 2 [@bbr2016], at 95 %: {{ number('met') }}\n\n    make -j 8\n"
    assert paper.render(numbers, text).endswith("at 95 %: 18\n\n    make -j 8\n")


def test_every_name_of_the_paper_is_found() -> None:
    numbers = load(DOCS, paper.NUMBERS)
    text = paper.render(numbers, paper.TEMPLATE.read_text())
    assert "{{" not in text
    tables = {source.name.split(" / ")[0] for source in numbers.used if " / " in source.name}
    names = {source.name for source in numbers.used}
    assert {*numbers.names["texts"], *numbers.names["code"]} == names - {name for name in names if " / " in name}
    assert set(numbers.names["tables"]) == tables
