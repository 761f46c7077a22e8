"""The table of schemes and what derives from it."""

import pytest

from env.errors import UserError
from env.network.schemes import ALL_SCHEMES, DEFAULT_SCHEMES, SCHEMES, find_schemes


def test_all_stands_for_schemes_without_requirements() -> None:
    assert set(SCHEMES) - set(ALL_SCHEMES) == {"dctcp", "oracle"}
    assert [scheme.name for scheme in find_schemes(["all", "oracle"])] == [*ALL_SCHEMES, "oracle"]
    assert set(DEFAULT_SCHEMES) <= set(ALL_SCHEMES)
    with pytest.raises(UserError, match="'ndm' is given twice"):
        find_schemes(["all", "ndm"])


def test_a_path_without_a_name_is_explained() -> None:
    with pytest.raises(UserError, match=r"'x/tcp_mine\.c' has no name: write mine@x/tcp_mine\.c, or another"):
        find_schemes(["x/tcp_mine.c"])
