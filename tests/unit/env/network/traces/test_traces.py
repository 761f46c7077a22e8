"""Link traces: what is refused, what the project's own ones are like, and which may be trained on."""

from __future__ import annotations

import contextlib
import gzip
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from env.errors import UserError
from env.network.traces import format, manifest
from env.network.traces.delay import load_delay_trace
from env.network.traces.format import FOLDER, MAX_DURATION_MS, load_trace, parse_trace, trace_names
from env.network.traces.generate import differences, generate, stated_outages
from env.network.traces.models import CATALOGUE, KINDS, Model
from env.network.traces.statistics import correlation_time_s, statistics, window_rates_mbps
from env.profile import load_profile, profile_names
from tests.support.commands import run_python


def trace(text: str):  # type: ignore[no-untyped-def]
    return parse_trace("mine", text, "mine.trace")


# -- reading -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "mine.trace: the trace is empty"),
        ("\n", "mine.trace: the trace is empty"),
        ("1\n2\n\n3\n", "mine.trace:3: '' is no time"),
        ("1\n5\n4\n", "mine.trace:3: 4 comes after 5; times must not fall"),
        ("1\n2.5\n", "mine.trace:2: '2.5' is no time"),
        ("-1\n", "mine.trace:1: '-1' is no time"),
        ("+1\n", "mine.trace:1: '\\+1' is no time"),
        (" 1\n", "mine.trace:1: ' 1' is no time"),
        ("١\n", "mine.trace:1: '١' is no time"),
        ("# LTE\n1\n", "mine.trace:1: '# LTE' is no time"),
        ("1\n1e3\n", "mine.trace:2: '1e3' is no time"),
        (f"1\n{MAX_DURATION_MS + 1}\n", f"mine.trace:2: {MAX_DURATION_MS + 1} ms is too late"),
        ("9" * 5000 + "\n", "mine.trace:1: 9{40} ms is too late"),
        ("0\n0\n", "mine.trace:2: the trace ends at 0"),
    ],
)
def test_malformed_trace_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        trace(text)


def test_a_trace_is_read_as_mahimahi_reads_it() -> None:
    parsed = trace("0\n3\n3\n10")
    assert list(parsed.times_ms) == [0, 3, 3, 10]
    assert parsed.duration_ms == 10
    # 4 packets of 1500 bytes in 10 ms
    assert parsed.mean_mbps == pytest.approx(4.8)
    assert trace(parsed.text()) == parsed
    # "just 1": one packet a millisecond, as Mahimahi's own documentation has it
    assert trace("1\n").mean_mbps == pytest.approx(12)


def test_traces_are_found_by_name_or_path(tmp_path: Path) -> None:
    (tmp_path / "a.trace").write_text("1\n2\n")
    (tmp_path / "b.trace.gz").write_bytes(gzip.compress(b"1\n2\n"))
    assert load_trace(str(tmp_path / "a.trace")).times_ms == load_trace(str(tmp_path / "b.trace.gz")).times_ms
    (tmp_path / "a.trace").write_text("1\n2\n300\n")
    assert load_trace(str(tmp_path / "a.trace")).duration_ms == 300, "a changed file is read again"
    (tmp_path / "c.trace.gz").write_bytes(gzip.compress(b"1\n2\n" * 100)[:-9])
    with pytest.raises(UserError, match=r"c\.trace\.gz cannot be read"):
        load_trace(str(tmp_path / "c.trace.gz"))
    (tmp_path / "d.trace").write_bytes(b"1\n\xff\n")
    with pytest.raises(UserError, match=r"d\.trace cannot be read"):
        load_trace(str(tmp_path / "d.trace"))
    with pytest.raises(UserError, match="does not exist"):
        load_trace(str(tmp_path / "e.trace"))
    with pytest.raises(UserError, match="'held_out/lte-waling' is unknown: did you mean held_out/lte-walking"):
        load_trace("held_out/lte-waling")


def test_any_damage_of_a_compressed_trace_is_named(tmp_path: Path) -> None:
    data = gzip.compress("".join(f"{ms}\n" for ms in range(1, 999)).encode(), mtime=0)
    for place in range(len(data)):
        (tmp_path / "a.trace.gz").write_bytes(data[:place] + bytes([data[place] ^ 0x10]) + data[place + 1 :])
        with contextlib.suppress(UserError):  # a changed time or name in the header is no damage
            assert load_trace(str(tmp_path / "a.trace.gz")).duration_ms == 998


def test_a_trace_that_unpacks_to_more_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(format, "MAX_BYTES", 20 << 20)
    for name, load in (("a.trace.gz", load_trace), ("a.delay.gz", load_delay_trace)):
        (tmp_path / name).write_bytes(gzip.compress(b"1" * (1 << 20)) * 400)
        with pytest.raises(UserError, match=f"{re.escape(name)} has more than 20 MiB: it is refused"):
            load(str(tmp_path / name))


def test_a_trace_of_too_many_packets_is_refused() -> None:
    with pytest.raises(UserError, match="the trace has more than 50000000 lines"):
        parse_trace("a", "1\n" * 50_000_001, "a")


# -- statistics --------------------------------------------------------------------------------------------------------


def test_statistics_of_small_traces() -> None:
    # 10 packets in each odd window of 100 ms, 30 in each even one: 1.2 and 3.6 Mbit/s
    times = [
        window * 100 + 1 + i * (9 if window % 2 else 3)
        for window in range(20)
        for i in range(10 + 20 * (window % 2 == 0))
    ]
    measured = statistics(trace("".join(f"{ms}\n" for ms in [*sorted(times), 2000])))
    assert measured.mean_mbps == pytest.approx((200 + 200 + 1 + 0) * 0.012 / 2, rel=1e-9)
    assert measured.deviation_mbps == pytest.approx(1.2, rel=0.05)
    gaps = statistics(trace("50\n149\n250\n1000\n"))
    # 101 and 750 ms count; from the last to the first it is 50
    assert (gaps.outages, gaps.longest_gap_ms) == (2, 750)
    assert gaps.mean_outage_ms == (101 + 750) / 2
    assert gaps.gaps_per_s == 4, "those of 99 and 50 ms, too"
    assert statistics(trace("1\n2\n")).mean_outage_ms == 0


def test_last_delivery_counts_in_its_window() -> None:
    rates = window_rates_mbps(np.array([1, 100, 101, 200]), 200)
    assert rates == pytest.approx([0.24, 0.24])


def test_the_correlation_time_of_a_known_process() -> None:
    rng = np.random.default_rng(1)
    keep = np.exp(-0.1 / 1.5)
    wave = np.zeros(200_000)
    for i in range(1, wave.size):
        wave[i] = keep * wave[i - 1] + rng.normal()
    assert correlation_time_s(wave) == pytest.approx(1.5, rel=0.05)


# -- what is generated -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_generated_trace_has_what_its_model_states(kind: str) -> None:
    model = KINDS[kind]
    generated = generate("made", model, 60, seed=11)
    assert generated.duration_ms == 60_000
    measured = statistics(generated)
    assert measured.mean_mbps == pytest.approx(model.mean_mbps, rel=0.01)
    assert measured.deviation_mbps == pytest.approx(model.deviation_mbps, rel=0.02)
    assert measured.correlation_s == pytest.approx(model.correlation_s, rel=0.1)
    assert measured.outages == stated_outages(model, 60)
    first, again, other = (generate("made", model, 30, seed=seed) for seed in (11, 11, 12))
    assert first == again != other


def test_starlink_is_interrupted_every_15_s() -> None:
    times = np.array(load_trace("held_out/starlink").times_ms, dtype=np.int64)
    begins = times[:-1][np.diff(times) >= 100]
    # the one at 0 lies before the first delivery
    assert times[0] >= 100
    assert begins == pytest.approx([15_000, 30_000, 45_000], abs=2)


def test_wifi_delivers_aggregates() -> None:
    times = np.array(load_trace("held_out/wifi").times_ms, dtype=np.int64)
    _, sizes = np.unique(times, return_counts=True)
    assert sizes.mean() > 5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mean_mbps": 0.0}, "mean_mbps is 0; it must lie between 0.5 and 2000"),
        ({"deviation_mbps": 100.0}, "deviation_mbps is 100; it must not exceed twice mean_mbps, 12"),
        ({"outage_s": 0.05}, "outage_s is 0.05; an outage lasts 0.1 s at least"),
        ({"handover_s": 15.0}, "outages_per_min is for links without handover_s"),
        ({"level_share": 0.5}, "level_share is for links with handover_s"),
    ],
)
def test_a_model_that_cannot_be_is_refused(change: dict[str, float], message: str) -> None:
    with pytest.raises(UserError, match=message):
        replace(KINDS["lte"], **change)


def test_lengths_and_statistics_that_cannot_be_are_refused() -> None:
    with pytest.raises(UserError, match="seconds is 5; it must lie between 10 and 3600"):
        generate("made", KINDS["lte"], 5, 1)
    with pytest.raises(UserError, match="it must be a multiple of handover_s"):
        generate("made", KINDS["starlink"], 50, 1)
    # a correlation time of half the trace
    with pytest.raises(UserError, match="none of 400 draws"):
        generate("made", Model(5, 2, 40.0), 10, 1)


# -- the project's own -------------------------------------------------------------------------------------------------


def test_the_projects_traces_are_those_of_the_manifest() -> None:
    assert manifest.check() == []
    assert [name for name in trace_names() if not name.startswith("recorded/")] == sorted(CATALOGUE)


def test_another_machine_writes_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name, entry = next(iter(CATALOGUE.items()))
    file = tmp_path / "a.trace.gz"
    shutil.copy(manifest.trace_file(name), file)
    before = file.read_bytes()
    other_digits = {"deviation_mbps": statistics(load_trace(name)).deviation_mbps * (1 + 1e-15)}
    monkeypatch.setattr(manifest, "CATALOGUE", {name: entry})
    monkeypatch.setattr(manifest, "MANIFEST", tmp_path / "manifest.json")
    monkeypatch.setattr(manifest, "trace_file", lambda _: file)
    monkeypatch.setattr(manifest, "statistics", lambda trace: replace(statistics(trace), **other_digits))
    monkeypatch.setattr(gzip, "compress", lambda *_, **__: b"of another zlib")
    manifest.write()
    assert (
        json.loads((tmp_path / "manifest.json").read_text())[name]
        == json.loads((FOLDER / "manifest.json").read_text())[name]
    )
    assert file.read_bytes() == before


def test_a_changed_trace_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = tmp_path / "changed.trace.gz"
    changed.write_bytes(gzip.compress(b"1\n"))
    file = manifest.trace_file
    monkeypatch.setattr(manifest, "trace_file", lambda name: changed if name == "train/wifi" else file(name))
    assert manifest.check() == [f"{changed} is not the file of the manifest: its SHA-256 differs"]


@pytest.mark.parametrize("name", CATALOGUE)
def test_project_traces_have_the_stated_statistics(name: str) -> None:
    entry = CATALOGUE[name]
    assert differences(statistics(load_trace(name)), entry.model, entry.seconds) == []
    # held out: other numbers than anything that may be learned on, and another seed
    others = [other for key, other in CATALOGUE.items() if key.split("/")[0] != name.split("/")[0]]
    assert all((other.model, other.seed) != (entry.model, entry.seed) for other in others)
    assert entry.seed not in [other.seed for other in others]


def test_no_profile_trains_on_a_held_out_trace() -> None:
    for profile in profile_names():
        text = repr(load_profile(profile))
        assert "held_out/" not in text, profile


# -- the command line --------------------------------------------------------------------------------------------------


TRACES = ("-m", "env.network.traces")


def test_command_generates_a_trace_with_statistics(tmp_path: Path) -> None:
    file = str(tmp_path / "new.trace")
    options = ("--seconds", "30", "--seed", "5", "--mean-mbps", "15", "--output", file)
    generated, _ = run_python(*TRACES, "generate", "lte", *options)
    mean = float(re.search(r"mean ([\d.]+) Mbit/s", generated)[1])  # type: ignore[index]
    assert mean == pytest.approx(15, rel=0.01)
    shown, _ = run_python(*TRACES, "show", file)
    assert shown.split(";", 1)[1] == generated.split(";", 1)[1]


def test_the_command_refuses_in_one_paragraph(tmp_path: Path) -> None:
    for arguments, message in (
        (("show", "nosuch"), "trace 'nosuch' is unknown"),
        (("generate", "lte", "--output", str(tmp_path / "x.csv")), "its name must end in .trace"),
        (("generate", "lte", "--mean-mbps", "-3", "--output", str(tmp_path / "x.trace")), "mean_mbps is -3"),
    ):
        assert message in run_python(*TRACES, *arguments, status=1)[1]
    assert "generate a trace" in run_python(*TRACES, "--help")[0]
