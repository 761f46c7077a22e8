"""From a checkpoint to its files: what is written, what is refused, and that a refusal changes nothing."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch

from env import schema
from env.errors import UserError
from export import checkpoint, pipeline, zoo
from export.__main__ import main
from export.checks import agreement as verify
from export.formats import blob, golden
from export.formats.header import render_header, write_header
from export.formats.integer_onnx import IntegerSession
from export.formats.manifest import compiled_in
from export.formats.onnx_model import check_onnx
from export.integer import reference
from export.integer.model import INPUTS, IntegerModel, Provenance
from export.integer.quantize import FloatPolicy, quantize
from export.selection import manifest_of, select, selected
from tests.support.kernel.native import model_bytes
from tests.support.runs import CARD, write_run
from training.policy import Policy


@pytest.fixture
def headers(tmp_path: Path) -> Path:
    """A folder with a model in it, which is selected."""
    folder = tmp_path / "exported"
    (folder / "models").mkdir(parents=True)
    (folder / "models" / "old.h").write_text("the old header\n")
    select("old", folder)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_export_writes_everything_and_passes_the_gate(
    tmp_path: Path, headers: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write_run(tmp_path / "run")
    assert main(["--run", str(run), "--headers", str(headers)]) == 0
    printed = capsys.readouterr().out
    assert "float against int16" in printed
    sha256 = checkpoint.load(run)["sha256"]
    manifest = manifest_of("run", headers)
    assert (manifest["name"], manifest["policy_sha256"], manifest["hidden"]) == ("run", sha256, 8)
    for key, file in (("header", headers / "models" / "run.h"), ("model_file", run / "export" / "policy.bin")):
        assert manifest[f"{key}_sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
    assert selected(headers) == "run"
    assert (headers / "models" / "old.h").is_file()
    report = json.loads((run / "export" / "report.json").read_text())
    assert sum(row["decisions"] for row in report["agreement"]) >= 100_000
    assert all(row["mean_error_pct"] <= 0.1 and row["max_error_pct"] <= 0.5 for row in report["agreement"])
    metadata = {p.key: p.value for p in onnx.load(run / "export" / "policy.onnx").metadata_props}
    assert sha256 in metadata.values()
    training = json.loads(metadata["ndm.training"])
    assert training["commands"] == CARD["commands"]
    assert (training["seed"], training["resumed"], training["lab"]) == (5, 1, CARD["lab"])
    header = (headers / "models" / "run.h").read_text()
    for expected in ("python train.py profile=bottleneck", "seed 5, 7 decisions in 61.2 s", "ab" * 32, "cd" * 32):
        assert expected in header
    assert header.isascii()
    assert header.count("/*") == header.count("*/"), "a command ends no comment"
    vectors = golden.parse((run / "export" / "golden.json").read_text(), "golden.json")
    assert golden.mismatches(vectors, reference.rollout) == []


def test_the_same_checkpoint_gives_the_same_bytes(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run")
    texts = []
    for name in ("a", "b"):
        assert main(["--run", str(run), "--headers", str(tmp_path / name)]) == 0
        texts.append(contents(tmp_path / name))
    assert texts[0] == texts[1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"readout.bias": torch.tensor([float("nan"), 0.0])}, "NaN|nan|finite"),
        ({"rnn.bias_ih_l0": torch.full((8,), float("inf"))}, "inf|finite"),
        ({"readout.weight": torch.zeros(3, 8)}, "shape"),
        ({"rnn.weight_ih_l0": torch.zeros(8, schema.INPUTS_MIN - 1)}, "requires the first"),
        ({"rnn.weight_ih_l0": torch.full((8, INPUTS), 40_000.0)}, "large|32767"),
    ],
)
def test_unfit_model_is_refused_old_one_stays(
    tmp_path: Path, headers: Path, capsys: pytest.CaptureFixture[str], changes: dict[str, Any], message: str
) -> None:
    before = contents(headers)
    run = write_run(tmp_path / "run", **changes)
    assert main(["--run", str(run), "--headers", str(headers)]) == 1
    with pytest.raises(UserError, match=message):
        pipeline.build_model(run)
    assert "export:" in capsys.readouterr().err
    assert contents(headers) == before
    assert not (run / "export").exists()


def test_a_model_past_the_gate_is_refused(tmp_path: Path, headers: Path) -> None:
    before = contents(headers)
    run = write_run(tmp_path / "run", scale=60.0)  # a recurrence that amplifies: chaotic rollouts
    agreement = pipeline.measure(run).agreement
    assert any(row.failures() for row in agreement)
    assert main(["--run", str(run), "--headers", str(headers)]) == 1
    assert contents(headers) == before


@pytest.mark.parametrize("damage", ["truncate", "corrupt", "empty"])
def test_damaged_checkpoints_are_one_paragraph(
    tmp_path: Path, headers: Path, capsys: pytest.CaptureFixture[str], damage: str
) -> None:
    before = contents(headers)
    run = write_run(tmp_path / "run")
    file = run / "checkpoint.pt"
    data = bytearray(file.read_bytes())
    if damage == "truncate":
        data = data[: len(data) // 2]
    elif damage == "corrupt":
        for at in range(200, len(data), 97):
            data[at] ^= 0x5A
    else:
        data = bytearray()
    file.write_bytes(data)
    assert main(["--run", str(run), "--headers", str(headers)]) == 1
    error = capsys.readouterr().err
    assert error.startswith("export: ")
    assert len(error.strip().splitlines()) == 1
    assert contents(headers) == before


def test_unknown_run_names_the_nearest_ones(tmp_path: Path) -> None:
    write_run(tmp_path / "mixed")
    with pytest.raises(UserError, match="did you mean mixed"):
        zoo.find_run("mixde", tmp_path)
    with pytest.raises(UserError, match="no checkpoint yet"):
        zoo.find_run("mine", tmp_path / "nothing")


def test_model_replaces_the_one_of_its_name(tmp_path: Path, headers: Path) -> None:
    assert main(["--run", str(write_run(tmp_path / "a")), "--headers", str(headers), "--name", "Mine 2"]) == 0
    assert selected(headers) == "mine_2"
    first = manifest_of("mine_2", headers)
    other = write_run(tmp_path / "c", **{"readout.bias": torch.tensor([-0.4, 0.5])})
    assert main(["--run", str(other), "--headers", str(headers), "--name", "Mine 2"]) == 0
    assert manifest_of("mine_2", headers)["policy_sha256"] != first["policy_sha256"]


@pytest.mark.parametrize(
    ("name", "message"),
    [("odl", "did you mean old"), ("unheard_of", "there are .*mixed, old.*; `make export-weights` adds one")],
)
def test_a_selection_that_cannot_be_is_refused(headers: Path, name: str, message: str) -> None:
    before = contents(headers)
    with pytest.raises(UserError, match=message):
        select(name, headers)
    assert contents(headers) == before


def test_a_header_without_a_manifest_is_named(headers: Path) -> None:
    with pytest.raises(UserError, match=r"old\.json does not describe the model old: run `make export-weights`"):
        manifest_of("old", headers)


@pytest.mark.parametrize("name", ["", "Ω", "x" * 64, "a\tb"])
def test_name_the_kernel_cannot_show_is_refused(tmp_path: Path, headers: Path, name: str) -> None:
    exported = pipeline.build_model(write_run(tmp_path / "run"))
    before = contents(headers)
    provenance = replace(exported.provenance, name=name)
    with pytest.raises(UserError):
        render_header(exported.model, provenance)
    with pytest.raises(UserError):
        blob.write_blob(exported.model, provenance)
    assert contents(headers) == before


def test_the_command_line_fails_with_a_status(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--run", "no-such-run"]) == 1
    assert "no-such-run" in capsys.readouterr().err


def exported_model(tmp_path: Path) -> tuple[FloatPolicy, IntegerModel, Provenance]:
    exported = pipeline.build_model(write_run(tmp_path / "run"))
    return exported.policy, exported.model, exported.provenance


def test_blob_reads_back_and_detects_changed_bits(tmp_path: Path) -> None:
    _, model, provenance = exported_model(tmp_path)
    content = blob.write_blob(model, provenance)
    again, provenance_read = blob.read_blob(content, "policy.bin")
    assert model_bytes(model) == model_bytes(again)
    assert provenance_read == replace(provenance, training="")  # the run's card has no place in it
    rng = np.random.default_rng(1)
    for bit in rng.choice(len(content) * 8, 300, replace=False):
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << (bit % 8)
        with pytest.raises(UserError):
            blob.read_blob(bytes(damaged), "policy.bin")
    for length in (0, 7, 40, len(content) - 1):
        with pytest.raises(UserError):
            blob.read_blob(content[:length], "policy.bin")
    with pytest.raises(UserError):
        blob.read_blob(content + b"\0", "policy.bin")


def test_the_model_in_the_module_is_its_headers(tmp_path: Path, headers: Path) -> None:
    _, model, provenance = exported_model(tmp_path)
    write_header(model, provenance, headers)
    again, provenance_read = compiled_in(headers)
    assert model_bytes(again) == model_bytes(model)
    assert provenance_read == replace(provenance, training="")
    for suffix in (".h", ".bin"):
        file = (headers / "models" / provenance.name).with_suffix(suffix)
        before = file.read_bytes()
        file.write_bytes(before + b"\n")
        with pytest.raises(UserError, match=f"{file} is not that of .*json: run `make export-weights`"):
            compiled_in(headers)
        file.write_bytes(before)


def test_onnxruntime_computes_the_policy(tmp_path: Path) -> None:
    policy, _, _ = exported_model(tmp_path)
    file = tmp_path / "run" / "export" / "policy.onnx"
    assert main(["--run", str(tmp_path / "run"), "--headers", str(tmp_path / "exported")]) == 0
    assert check_onnx(file.read_bytes(), policy) < 1e-4


def test_exported_graph_computes_the_exported_golden_vectors(tmp_path: Path) -> None:
    exported_model(tmp_path)
    folder = tmp_path / "run" / "export"
    assert main(["--run", str(tmp_path / "run"), "--headers", str(tmp_path / "exported")]) == 0
    session = IntegerSession((folder / "policy_int16.onnx").read_bytes())
    vectors = golden.parse((folder / "golden.json").read_text(), "golden.json")
    assert golden.mismatches(vectors, lambda _, x, h: session.rollout(x, h)) == []
    assert "policy_int16.onnx" in json.loads((folder / "report.json").read_text())["files_sha256"]


@pytest.mark.parametrize("hidden", [1, 8, 16])
def test_quantization_keeps_torchs_answers(hidden: int) -> None:
    torch.manual_seed(5)
    policy = Policy(hidden)
    with torch.no_grad():
        policy.readout.weight.normal_(std=0.3)
    model = quantize(FloatPolicy.from_state_dict(policy.state_dict()))
    rng = np.random.default_rng(2)
    x = rng.integers(-4096, 4096, (300, INPUTS)).astype(np.int16)
    observations = torch.tensor(x / 4096, dtype=torch.float32)[:, None]
    with torch.inference_mode():
        states, _ = policy.rnn(observations, torch.zeros(1, 1, hidden))
        expected = policy.readout(states)[:, 0].clamp(-1, 1).numpy()
    outputs, _ = reference.rollout(model, x)
    assert np.abs(outputs / 2**14 - expected).max() < 0.01


def test_the_gate_counts_nan_as_past_it() -> None:
    row = verify.Agreement("x", 1, float("nan"), 0.0, 100.0)
    assert row.failures()
