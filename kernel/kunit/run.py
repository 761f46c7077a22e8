# SPDX-License-Identifier: GPL-2.0
"""`make kunit`: run every KUnit module in the sanitizer kernel and print its KTAP.

It fails on a failed test or a sanitizer's report.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

from env.checkout import BUILD
from env.lab import Lab, LabError, VirtualLab
from kernel.kunit.reports import LeakWatch, find_reports, kernel_log

MODULES = BUILD / "modules" / "sanitizer"
MEMORY_MB = 1024

_STAMP = re.compile(r"^\[ *\d+\.\d+\] ?")
_TOTALS = re.compile(r"^# Totals: pass:(\d+) fail:(\d+) skip:(\d+) total:(\d+)$")
_PLAN = re.compile(r"^1\.\.(\d+)$")
_SUITE = re.compile(r"^(not )?ok \d+ (\S+)$")
_FAILED = re.compile(r"^\s*not ok ")


@dataclass(frozen=True)
class Outcome:
    """The outcome of a module. passed, total: numbers of tests; each row of a table is one. problems: of any kind."""

    passed: int
    total: int
    problems: list[str]


def read_ktap(lines: list[str]) -> Outcome:
    """Return the outcome of a module's KTAP: all suites must end, and all tests, at least one, must pass."""
    problems = [line.strip() for line in lines if _FAILED.match(line)]
    passed = total = 0
    for line in lines:
        if totals := _TOTALS.match(line):
            passed, total = passed + int(totals[1]), total + int(totals[4])
    planned = sum(int(plan[1]) for line in lines if (plan := _PLAN.match(line)))
    ended = sum(bool(_SUITE.match(line)) for line in lines)
    if not ended or ended != planned:
        problems.append(f"{ended} of {planned} suites reached their end")
    if not total:
        problems.append("no test was run")
    elif passed != total and not problems:
        problems.append(f"{total - passed} of {total} tests did not pass")
    return Outcome(passed, total, problems)


def run_module(lab: Lab, module: Path) -> tuple[list[str], Outcome]:
    """Load a module, which runs its suites, and return its KTAP with the outcome."""
    before = len(kernel_log(lab).splitlines())
    done = lab.call("shell", command=f"insmod {module}")
    lines = [_STAMP.sub("", line) for line in kernel_log(lab).splitlines()[before:]]
    outcome = read_ktap(lines)
    if done["status"]:
        outcome.problems.append(done["stderr"].strip())
    return lines, outcome


def main() -> int:
    """Run all modules; return the exit status."""
    modules = sorted(MODULES.glob("*_kunit.ko"))
    if not modules:
        print(f"kunit: {MODULES} holds no test module: run `make sanitizer`", file=sys.stderr)
        return 1
    passed = total = 0
    problems: list[str] = []
    try:
        with VirtualLab(seed=1, variant="sanitizer", memory_mb=MEMORY_MB) as lab:
            watch = LeakWatch(lab)
            for module in modules:
                lines, outcome = run_module(lab, module)
                print("\n".join(lines))
                passed, total = passed + outcome.passed, total + outcome.total
                problems += [f"{module.stem}: {problem}" for problem in outcome.problems]
            problems += [f"sanitizer: {report}" for report in find_reports(kernel_log(lab)) + watch.leaks()]
    except LabError as error:
        print(f"kunit: {error}", file=sys.stderr)
        return 1
    for problem in problems:
        print(f"kunit: {problem}", file=sys.stderr)
    verdict = "FAILED" if problems else "no sanitizer reported anything"
    print(f"kunit: {passed} of {total} tests in {len(modules)} module{'s' * (len(modules) > 1)} passed; {verdict}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
