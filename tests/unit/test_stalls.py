"""Repeated tests: only a failure beside a stall is repeated."""

from __future__ import annotations

import time

import pytest

from tests.support.stalls import repeated_after_a_stall


class Attempts:
    """A test that fails at first, and takes long enough to see a stall."""

    def __init__(self, failures: int) -> None:
        self.made, self._failures = 0, failures

    def __call__(self) -> None:
        self.made += 1
        time.sleep(0.1)
        assert self.made > self._failures


def test_failure_without_a_stall_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.support.stalls.STALL_S", 60.0)
    attempts = Attempts(1)
    with pytest.raises(AssertionError) as raised:
        repeated_after_a_stall(attempts)()
    assert attempts.made == 1
    assert "attempt 1; the machine stood still for" in raised.value.__notes__[0]


def test_failure_beside_a_stall_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.support.stalls.STALL_S", 0.0)  # each thread wakes up a little late
    attempts = Attempts(2)
    repeated_after_a_stall(attempts)()
    assert attempts.made == 3


def test_third_failure_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.support.stalls.STALL_S", 0.0)
    attempts = Attempts(3)
    with pytest.raises(AssertionError):
        repeated_after_a_stall(attempts)()
    assert attempts.made == 3
