"""The scripts: what ndm does on the wire, segment by segment, each in a new network."""

from __future__ import annotations

from pathlib import Path

import pytest

from env.lab import Lab
from tests.support.behaviour.models import MODELS
from tests.support.behaviour.script import parse_script
from tests.support.behaviour.stage import play
from tests.support.behaviour.verdict import find_difference
from tests.support.labs import shared_lab
from tests.support.models import put_models

SCRIPTS = sorted((Path(__file__).parent / "scripts").rglob("*.script"))
BY_NAME = {script.stem: script for script in SCRIPTS}


lab = shared_lab("tcp_ndm", both_kernels=True, setup=lambda lab: put_models(lab, MODELS))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda file: file.stem)
def test_script(lab: Lab, script: Path) -> None:
    text = script.read_text()
    difference = find_difference(parse_script(text), play(lab, text))
    assert not difference, f"{script.name}, {difference}"


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        (
            "start",
            "+0       > . 56473:57921(1448) ack 1\n",
            "+0       > . 57921:59369(1448) ack 1\n",
            [
                "expected at 0.082000 s: > . 57921:59369(1448) ack 1   (differs in: sequence numbers)",
                "  -> 0.082001 s  > . 56473:57921(1448) ack 1",
            ],
        ),
        (
            "start",
            "34753:56473(21720)",
            "34753:55025(20272)",
            ["expected at 0.082", "  -> 0.0765", "> . 55025:56473"],
        ),
        ("start", "34753:56473(21720)", "34753:57921(23168)", ["expected at 0.077", "differs in: "]),
        ("loss", "> . 1449:2897(1448) ack 1\n", "> . 2897:4345(1448) ack 1\n", ["-> 0.042728 s  > . 1449:2897(1448)"]),
        ("loss", "+.000727 > . 1449", "+.000827 > . 1449", ["expected at 0.042827 s", "(differs in: time)"]),
        ("loss", "info cwnd=13 ssthresh=11 ca_state=Open", "info cwnd=7 ca_state=CWR", ["seen: cwnd=13 ca_state=Open"]),
        ("loss", "number=1 loss_rate=0.1", "number=1 loss_rate=0.2", ["seen: loss_rate=0.099"]),
        ("zero_window", "+0       > . 28961:30409(1448) ack 1\n", "", ["expected: nothing more", "> . 28961:30409"]),
        (
            "ecn",
            "+0       > [ect0] W. 14481:15929(1448) ack 1\n",
            "+0       > [ect0] . 14481:15929(1448) ack 1\n",
            ["(differs in: flags)", "> [ect0] W. 14481:15929(1448)"],
        ),
    ],
    ids=["sequence", "one less", "one more", "retransmission", "time", "window", "input", "not expected", "flags"],
)
def test_broken_script_is_explained(lab: Lab, name: str, old: str, new: str, message: list[str]) -> None:
    text = BY_NAME[name].read_text()
    assert text.count(old) == 1
    text = text.replace(old, new)
    difference = find_difference(parse_script(text), play(lab, text))
    for part in message:
        assert part in difference, difference


def test_missing_segment_is_reported(lab: Lab) -> None:
    text = BY_NAME["undo_dsack"].read_text() + "+.001    > . 28961:30409(1448) ack 1\n"
    difference = find_difference(parse_script(text), play(lab, text))
    assert ": > . 28961:30409(1448) ack 1" in difference
    assert "-> (nothing more)" in difference


def test_script_repeats_exactly(lab: Lab) -> None:
    text = BY_NAME["timeout"].read_text()
    assert play(lab, text)["seen"] == play(lab, text)["seen"]
