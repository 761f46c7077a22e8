"""How `make kunit` reads the results of the kernel's test suites."""

from __future__ import annotations

import pytest

from env import schema
from env.checkout import KERNEL
from kernel.kunit.run import read_ktap

PASSED = """
KTAP version 1
1..1
    KTAP version 1
    # Subtest: nv
    1..2
    ok 1 defaults_test
        KTAP version 1
        # Subtest: average_test
        ok 1 first sample as it is
        ok 2 rounds down
    # average_test: pass:2 fail:0 skip:0 total:2
    ok 2 average_test
# nv: pass:2 fail:0 skip:0 total:2
# Totals: pass:3 fail:0 skip:0 total:3
ok 1 nv
""".strip().splitlines()


def test_a_suite_that_passed() -> None:
    outcome = read_ktap(PASSED)
    assert (outcome.passed, outcome.total, outcome.problems) == (3, 3, [])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("\n".join(PASSED[:-3]), "0 of 1 suites reached their end"),
        ("\n".join(PASSED).replace("1..1", "1..2", 1), "1 of 2 suites reached their end"),
        ("kunit: disabled", "no test was run"),
        ("\n".join(PASSED).replace("        ok 2 rounds", "        not ok 2 rounds"), "not ok 2 rounds down"),
        ("\n".join(PASSED).replace("pass:3 fail:0 skip:0", "pass:2 fail:0 skip:1"), "1 of 3 tests did not pass"),
        ("\n".join(PASSED).replace("\nok 1 nv", "\nnot ok 1 nv"), "not ok 1 nv"),
    ],
    ids=["cut off", "one suite is missing", "disabled", "a row failed", "a test was skipped", "the suite failed"],
)
def test_a_suite_that_did_not_pass(text: str, problem: str) -> None:
    assert problem in read_ktap(text.splitlines()).problems


@pytest.mark.parametrize("name", [feature.name for feature in schema.FEATURES])
def test_every_input_has_a_suite(name: str) -> None:
    text = (KERNEL / "kunit" / "features_kunit.c").read_text()
    assert f"INPUT_SUITE({name}, NDM_IN_{name.upper()}" in text
    assert f"&{name}_suite" in text, "the suite is not listed in kunit_test_suites()"
