"""Errors of OmegaConf and Hydra name the bad key or value and the right ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hydra.errors import MissingConfigException
from omegaconf import MISSING, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from env.config_errors import explain_config_error, read_config
from env.errors import UserError


@dataclass
class Flow:
    scheme: str = MISSING
    packets: int = 10


@dataclass
class Network:
    rate_mbps: float = MISSING
    ecn: bool = False
    flows: list[Flow] = field(default_factory=list)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"rate_mbps": "fast"}, "rate_mbps is 'fast'; it must be a number"),
        ({"rate_mbps": None}, "rate_mbps is 'None'; it must be a number"),
        ({"rate_mbps": 1, "ecn": "maybe"}, "ecn is 'maybe'; it must be true or false"),
        ({"rate_mbps": 1, "flows": [{"packets": 1.5, "scheme": "bbr"}]}, "packets is '1.5'; it must be a whole number"),
        ({"ecn": True}, "rate_mbps is missing"),
        ({"rate_mbps": 1, "flows": [{}]}, "flows[0].scheme is missing"),
        ({"rate": 1}, "rate is unknown: did you mean rate_mbps? The keys here are rate_mbps, ecn, flows."),
        ({"zzz": 1}, "zzz is unknown. The keys here are rate_mbps, ecn, flows."),
        ({"rate_mbps": 1, "flows": [{"scheme": {"a": 1}}]}, "scheme has no keys of its own; it must be a single value"),
        ({"rate_mbps": 1, "flows": 3}, "flows: Invalid value assigned: AnyNode is not a ListConfig, list or tuple."),
    ],
)
def test_the_key_and_the_right_values_are_named(values: dict[str, Any], text: str) -> None:
    with pytest.raises(OmegaConfBaseException) as caught:
        OmegaConf.to_object(OmegaConf.merge(OmegaConf.structured(Network), values))
    assert explain_config_error(caught.value) == text


def test_the_cause_of_an_error_is_explained() -> None:
    error = ValueError("in the middle of something")
    error.__cause__ = _caught({"ecn": "x"})
    assert explain_config_error(error) == "ecn is 'x'; it must be true or false"


def test_a_missing_file_of_a_group_is_named() -> None:
    error = MissingConfigException("long\nConfig search path: ...", missing_cfg_file="profile/botleneck")
    text = explain_config_error(error)
    assert text.startswith("profile 'botleneck' is unknown: did you mean bottleneck? The choices of profile= are bott")
    assert explain_config_error(ValueError("no\n  way")) == "no way"


def _caught(values: dict[str, Any]) -> Exception:
    try:
        OmegaConf.merge(OmegaConf.structured(Network), values)
    except OmegaConfBaseException as error:
        return error
    raise AssertionError(values)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rate_mbps: 1\nflows: [{scheme: '${oc.env:HOME}'}]", r"it has '\$\{oc.env:HOME\}', but takes no variables"),
        ('rate_mbps: 1\nflows: [{scheme: "\\x24{oc.env:HOME}"}]', "takes no variables"),
        ("a0: &a0 [1]\n" + "".join(f"a{i + 1}: &a{i + 1} [{f'*a{i},' * 10}]\n" for i in range(9)), "repeats"),
        ("a0: &a0 {k: 1}\n" + "".join(f"a{i + 1}: &a{i + 1} {{<<: [{f'*a{i},' * 10}]}}\n" for i in range(9)), "repea"),
        ("flows: &a [*a]", "repeats values"),
        (f"flows: {'[' * 5000}", "recursion"),
        ("rate_mbps: 010", r"YAML takes 010 as 8: write 8, or '010' for a text$"),
        ("rtt_ms: 1:30", r"YAML takes 1:30 as 90: write 90, or '1:30' for a text$"),
        ("- 1", "must be a mapping"),
        ("", "must be a mapping"),
    ],
)
def test_a_file_stays_small_and_has_no_variables(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "mine.yaml").write_text(text)
    with pytest.raises(UserError, match=message):
        read_config(Network, tmp_path / "mine.yaml")


def test_aliases_and_merges_are_read(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(
        "rate_mbps: 1\nflows: [&a {scheme: bbr, packets: 3}, *a, {<<: *a, packets: 4}]\n"
    )
    flows = read_config(Network, tmp_path / "mine.yaml").flows
    assert [(flow.scheme, flow.packets) for flow in flows] == [("bbr", 3), ("bbr", 3), ("bbr", 4)]
