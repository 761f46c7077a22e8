"""The tables of metrics; tests/lab/training/test_learners.py compares them with what a training writes."""

from training.metrics import Metric


def test_a_word_in_capitals_stands_for_any_name() -> None:
    metric = Metric("components/NAME/reward", "", "")
    assert metric.covers("components/clean/reward")
    assert not metric.covers("components/clean/goodput")
    assert not metric.covers("components/reward")
