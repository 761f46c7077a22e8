"""Rules: their weights by name, their errors, their export."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from env.errors import UserError
from env.schema import ACTIONS, FEATURES
from export import pipeline
from export.rule import find_rule, read_rule, rule_names
from studies.learning.rule_text import rule_text
from training.policy import initial_policy

INPUTS = [feature.name for feature in FEATURES]


def write(folder: Path, text: str) -> Path:
    file = folder / "rule.yaml"
    file.write_text(text)
    return file


def test_weights_are_where_their_names_say(tmp_path: Path) -> None:
    text = """
about: two units
bias: {pacing: 0.25}
units:
  - {bias: 1, inputs: {rtt_ratio: -2, inflight_ratio: 3}, states: [0, 0.5], outputs: {growth: 0.75}}
  - {outputs: {pacing: -1}}
"""
    weights = {name: tensor.numpy() for name, tensor in read_rule(write(tmp_path, text)).items()}
    expected = np.zeros((2, len(INPUTS)))
    expected[0, INPUTS.index("rtt_ratio")], expected[0, INPUTS.index("inflight_ratio")] = -2, 3
    np.testing.assert_array_equal(weights["rnn.weight_ih_l0"], expected)
    np.testing.assert_array_equal(weights["rnn.weight_hh_l0"], [[0, 0.5], [0, 0]])
    np.testing.assert_array_equal(weights["rnn.bias_ih_l0"] + weights["rnn.bias_hh_l0"], [1, 0])
    assert [action.name for action in ACTIONS] == ["growth", "pacing"]
    np.testing.assert_array_equal(weights["readout.weight"], [[0.75, 0], [0, -1]])
    np.testing.assert_array_equal(weights["readout.bias"], [0, 0.25])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("units: []\nabout: none", "has 0 units; a rule has 1 to 32"),
        ("about: x\nunits: [{inputs: {rtt_ratoi: 1}}]", r"units\[0\].inputs has 'rtt_ratoi': did you mean rtt_ratio\?"),
        ("about: x\nunits: [{outputs: {window: 1}}]", r"outputs has 'window'.*It is one of growth, pacing"),
        ("about: x\nunits: [{}]\nbias: {queue: 1}", "bias has 'queue'"),
        ("about: x\nunits: [{states: [1, 2]}]", r"units\[0\].states has 2 numbers; it needs one per unit, 1"),
        ("about: x\nunits: [{bias: big}]", "bias is 'big'; it must be a number"),
        ("about: x\nunits: [{bias: .inf}]", "a weight is infinite or no number"),
        ("about: x\nunit: [{}]", "unit is unknown: did you mean units"),
        ("units: [{}]", "about is missing"),
        ("about: [", "while parsing"),
        ("- a list", "must be a mapping of keys"),
    ],
)
def test_a_wrong_file_is_refused_with_the_right_values(tmp_path: Path, text: str, message: str) -> None:
    file = write(tmp_path, text)
    with pytest.raises(UserError, match=message) as refused:
        read_rule(file)
    assert str(file) in str(refused.value)


def test_an_unknown_rule_names_a_similar_one() -> None:
    with pytest.raises(UserError, match=r"did you mean rules/one_neuron.yaml\?"):
        find_rule("rules/one_nueron.yaml")


@pytest.mark.parametrize("name", rule_names())
def test_shipped_rules_pass_the_gate(name: str) -> None:
    exported = pipeline.build_model(pipeline.find_policy(name))
    assert exported.provenance.name == Path(name).stem
    assert exported.provenance.decisions == 0


def test_one_neuron_computes_its_formula() -> None:
    """growth = 0.8 tanh(2.4 - 2.0 inflight_ratio - 7.9 loss_rate), pacing neutral."""
    model = pipeline.build_model(find_rule("rules/one_neuron.yaml")).policy
    x = np.zeros((3, len(INPUTS)))
    x[:, INPUTS.index("inflight_ratio")] = [0.5, 1.2, 3.0]
    x[:, INPUTS.index("loss_rate")] = [0.0, 0.1, 0.5]
    _, outputs = model.step(np.zeros((3, 1)), x)
    expected = 0.8 * np.tanh(2.4 - 2.0 * x[:, INPUTS.index("inflight_ratio")] - 7.9 * x[:, INPUTS.index("loss_rate")])
    np.testing.assert_allclose(outputs[:, 0], expected, atol=1e-6)
    np.testing.assert_array_equal(outputs[:, 1], 0)


def test_the_files_of_a_rule_stay_out_of_configs(tmp_path: Path) -> None:
    file = find_rule("rules/one_neuron.yaml")
    assert pipeline.default_output(file, tmp_path) == tmp_path / "rules" / "one_neuron"
    assert pipeline.default_output(tmp_path / "run" / "checkpoint.pt", tmp_path) == tmp_path / "run" / "export"


def test_a_written_rule_has_the_same_weights(tmp_path: Path) -> None:
    weights = initial_policy(16, seed=1).state_dict()
    file = tmp_path / "written.yaml"
    file.write_text(rule_text(weights, "The network that a training begins with: all weights"))
    read = read_rule(file)
    both = ("rnn.bias_ih_l0", "rnn.bias_hh_l0")
    for name, weight in weights.items():
        if name not in both:
            assert np.array_equal(read[name], weight), name
    # of the two biases, only the sum matters
    assert np.allclose(sum(read[name] for name in both), sum(weights[name] for name in both), rtol=0, atol=1e-7)
