"""The edits that switch parts of the control law off."""

from __future__ import annotations

import pytest

from env.checkout import ROOT
from env.errors import UserError
from studies.learning.attribution import KINDS
from studies.learning.changed_law import PARTS, Edit, apply_edit


@pytest.mark.parametrize("part", PARTS)
def test_each_edit_finds_its_line(part: str) -> None:
    for edit in PARTS[part]:
        text = (ROOT / edit.file).read_text()
        changed = apply_edit(text, edit)
        assert changed != text
        assert edit.new in changed


def test_an_edit_without_its_line_is_an_error_that_names_the_file() -> None:
    with pytest.raises(UserError, match=r"kernel/x\.h has 'b' 0 times"):
        apply_edit("a", Edit("kernel/x.h", "b", "c"))
    with pytest.raises(UserError, match="2 times"):
        apply_edit("b b", Edit("kernel/x.h", "b", "c"))


def test_kinds_name_parts_of_the_law() -> None:
    assert {part for kind in KINDS.values() for part in kind.without} == set(PARTS)
