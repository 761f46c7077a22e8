"""How the accuracy of an impairment is judged."""

from __future__ import annotations

from studies.lab.network_accuracy import Row, sample_size


def test_row_may_differ_by_one_per_cent() -> None:
    assert Row("router", "x", "ms", 20.0, 20.19, 0.0).accurate
    assert not Row("router", "x", "ms", 20.0, 20.21, 0.0).accurate
    assert Row("router", "x", "ms", 20.0, 20.21, 0.001).accurate


def test_number_of_packets_gives_one_per_cent_resolution() -> None:
    assert [sample_size(pct) for pct in (50, 10, 1)] == [90_000, 810_000, 8_910_000]
