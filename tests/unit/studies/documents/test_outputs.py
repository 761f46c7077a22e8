"""The outputs in documents: their numbers are those of today, and a line that is not printed is an error."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from env.checkout import ROOT
from env.errors import UserError
from studies.documents.outputs import PAGES, refreshed, refreshed_page

PRINTED = """\
2 runs into results/first
 ───────────────────
  cubic      *18.95   40.1
  bbr         18.80   11.9
20 virtual seconds in 3 s of wall time (6.1 times real time)
"""


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        ("...\n  cubic       18.9   40.1\n...\n", "...\n  cubic      *18.95   40.1\n...\n"),
        ("  bbr  1,234  0\n", "  bbr         18.80   11.9\n"),
        (" ───\n", " ───────────────────\n"),
        ("20 virtual seconds in 1 s of wall time (20 times real time)\n",) * 2,
        ("21 virtual seconds in 1 s of wall time (20 times real time)\n", f"{PRINTED.splitlines()[-1]}\n"),
    ],
)
def test_numbers_are_todays_but_for_the_machines_speed(shown: str, expected: str) -> None:
    assert refreshed(shown, PRINTED, "compare") == expected


@pytest.mark.parametrize("shown", ["  reno  18.9  40.1\n", "  bbr  1  1\n  cubic  1  1\n"])
def test_line_that_is_not_printed_is_named(shown: str) -> None:
    with pytest.raises(UserError, match=r"compare: no line such as '  (reno|cubic)"):
        refreshed(shown, PRINTED, "compare")


def test_each_output_is_of_the_command_above_it(tmp_path: Path) -> None:
    ran: list[list[str]] = []

    def run(program: list[str]) -> str:
        ran.append(program)
        return f"took {len(ran)}\n"

    page = """\
```python
# net.py
pass
```

    $ python net.py
    took 0

Text:

    unchanged 0

```console
$ first
took 0
$ second
took 0
```

```python
print(3)
```

```text
took 0
```

```sh
make setup
```
"""
    new = refreshed_page(page, run, tmp_path)
    assert re.findall(r"took (\d)", new) == ["1", "2", "3", "4"]
    assert re.sub(r"took \d", "took 0", new) == page
    assert [program[-1] for program in ran] == ["python net.py", "first", "second", "print(3)\n"]
    assert (tmp_path / "net.py").read_text() == "# net.py\npass\n"


def test_every_page_with_outputs_is_written() -> None:
    with_outputs = [
        page
        for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
        if re.search(r"^(?: {4})?\$ ", page.read_text(), re.MULTILINE)
    ]
    assert {str(page.relative_to(ROOT)) for page in with_outputs} == set(PAGES)
