"""How the accuracy of an impairment is judged."""

from __future__ import annotations

from compare.studies.network_accuracy import Row, packets_to_tell


def test_a_row_is_wrong_when_it_is_more_than_a_hundredth_off() -> None:
    assert Row("router", "x", "ms", 20.0, 20.19, 0.0).right
    assert not Row("router", "x", "ms", 20.0, 20.21, 0.0).right
    assert Row("router", "x", "ms", 20.0, 20.21, 0.001).right


def test_three_standard_deviations_of_so_many_packets_are_a_hundredth_of_the_share() -> None:
    assert [packets_to_tell(pct) for pct in (50, 10, 1)] == [90_000, 810_000, 8_910_000]
