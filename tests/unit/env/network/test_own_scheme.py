"""Names of congestion controls that a user brings."""

import pytest

from env.errors import UserError
from env.network.own_scheme import OwnScheme, parse_own_scheme, require_trust
from env.network.schemes import find_schemes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mine@tcp_mine.c", OwnScheme("mine", "tcp_mine.c", "")),
        ("mine@../a@b/c++/tcp_mine.ko", OwnScheme("mine", "../a@b/c++/tcp_mine.ko", "")),
        ("mine-2@folder+beta:717+name:a:b", OwnScheme("mine-2", "folder", "beta=717 name=a:b")),
    ],
)
def test_names_have_parts(text: str, expected: OwnScheme) -> None:
    assert parse_own_scheme(text) == expected


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("@tcp_mine.c", "the name '' must be a letter"),
        ("2mine@tcp_mine.c", "the name '2mine' must be a letter"),
        (f"{'m' * 32}@tcp_mine.c", "at most 30 more"),
        ("mine@", "it has no path"),
        ("mine@tcp_mine.c+beta:", "the parameter 'beta:' must be NAME:VALUE, as in mine@tcp_mine.c[+]beta:717"),
        ("mine@tcp_mine.c+:5", "the parameter ':5' must be NAME:VALUE"),
    ],
)
def test_bad_names_are_refused(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        parse_own_scheme(text)
    with pytest.raises(UserError, match=problem):
        find_schemes([text])


def test_schemes_look_different_and_are_known_by_their_settings() -> None:
    schemes = find_schemes(["a@x.c+beta:1", "cubic", "b@x.c", "ndm@runs/first"])
    assert [scheme.label for scheme in schemes] == ["a beta=1", "Cubic", "b", "NDM first"]
    assert [scheme.short_name for scheme in schemes] == ["a beta=1", "cubic", "b", "ndm@runs/first"]
    assert len({scheme.colour for scheme in schemes}) == len({scheme.marker for scheme in schemes}) == 4


@pytest.mark.parametrize("name", ["nmd@runs/first", "windw@16"])
def test_misspelt_schemes_are_not_taken_for_own_ones(name: str) -> None:
    with pytest.raises(UserError, match="did you mean"):
        find_schemes([name])


def test_own_schemes_cannot_have_the_name_of_another() -> None:
    with pytest.raises(UserError, match="A congestion control of your own needs another name"):
        find_schemes(["cubic@tcp_cubic.c"])


def test_what_only_a_file_names_needs_trust() -> None:
    require_trust(["mine@a.c"], ["schemes=[cubic,mine@a.c]"], trust=False)
    require_trust(["mine@a.c"], ["profile.rivals=['mine@a.c']"], trust=False)
    require_trust(["mine@a.c"], [], trust=True)
    for longer in ("schemes=[cubic,mine@a.cc]", "notmine@a.c", "scheme=x@mine@a.c", "mine@a.c+beta:1"):
        with pytest.raises(UserError, match=r"a file names the congestion control mine@a\.c"):
            require_trust(["mine@a.c"], [longer], trust=False)
    with pytest.raises(UserError, match=r"a file names the congestion control theirs@b, .*add trust=true"):
        require_trust(["mine@a.c", "theirs@b"], ["mine@a.c"], trust=False)
