"""Alarms begin after ten updates in a row, are printed once, and begin anew after an end."""

from __future__ import annotations

from training.run_folder.alarms import AFTER, Alarms

HEALTHY = {
    "charts/std_growth": 0.1,
    "charts/std_pacing": 0.1,
    "charts/at_bound_growth": 0.1,
    "charts/at_bound_pacing": 0.49,
}
NO_EXPLORATION = HEALTHY | {"charts/std_pacing": 0.02}
STUCK = HEALTHY | {"charts/at_bound_growth": 0.93}


def test_a_healthy_training_has_none() -> None:
    alarms = Alarms(minimum_std=0.02)
    for _ in range(3 * AFTER):
        assert not any(alarms.update(HEALTHY).values())
        assert alarms.warnings == []


def test_alarm_names_metric_value_and_remedy() -> None:
    alarms = Alarms(minimum_std=0.02)
    for update in range(1, AFTER + 3):
        assert alarms.update(NO_EXPLORATION)["alarms/minimum_pacing"] == update
        assert len(alarms.warnings) == (update == AFTER), "printed once"
        if update == AFTER:
            (text,) = alarms.warnings
            assert text.startswith("charts/std_pacing has been 0.02,")
            assert "algo.entropy=" in text
            assert "\n" not in text
    for update in range(1, AFTER + 1):
        charts = alarms.update(STUCK)
        assert charts == {
            "alarms/minimum_growth": 0,
            "alarms/minimum_pacing": 0,
            "alarms/bound_growth": update,
            "alarms/bound_pacing": 0,
        }
    assert "charts/at_bound_growth" in alarms.warnings[0]
    assert "now 0.93" in alarms.warnings[0]


def test_it_begins_anew() -> None:
    alarms = Alarms(minimum_std=0.02)
    for _ in range(AFTER - 1):
        alarms.update(STUCK)
    alarms.update(HEALTHY)
    for _ in range(AFTER - 1):
        alarms.update(STUCK)
    assert alarms.warnings == []
    alarms.update(STUCK)
    assert len(alarms.warnings) == 1
