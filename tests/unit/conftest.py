"""A unit test starts no lab and no compiler, and loads nothing that `make module` builds."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from env.checkout import BUILD

PROGRAMS = {"cc", "gcc", "clang", "make", "chromium"}
in_unit_test = False


def refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if not in_unit_test:
        return
    if event in ("subprocess.Popen", "os.posix_spawn"):
        words = [str(word) for word in ([arguments[1]] if isinstance(arguments[1], str) else arguments[1])]
        assert Path(words[0]).name not in PROGRAMS, f"a unit test starts {words[0]}"
        assert not any(word.startswith(str(BUILD)) for word in words), f"a unit test starts {' '.join(words)}"
    elif event == "ctypes.dlopen":
        assert not str(arguments[0]).startswith(str(BUILD)), f"a unit test loads {arguments[0]}"


sys.addaudithook(refuse)  # for the life of the process: no hook can be removed


@pytest.fixture(autouse=True)
def nothing_built() -> Iterator[None]:
    global in_unit_test
    in_unit_test = True
    yield
    in_unit_test = False
