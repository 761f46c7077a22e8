"""A checkpoint is whole or not there at all; a bad one says what is wrong with it."""

from __future__ import annotations

import io
import resource
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch

from env import schema
from env.errors import UserError
from export import checkpoint
from training.policy import Policy


def content(seed: int = 0) -> dict[str, Any]:
    torch.manual_seed(seed)
    policy = Policy()
    return {
        "policy": policy.state_dict(),
        "learner": {
            "log_std": torch.zeros(2),
            "optimizer": torch.optim.Adam(policy.parameters()).state_dict(),
            "random_states": {"numpy": {"state": 2**127}},
        },
        "sampler": {"next": 1, "under_way": [{"number": 0, "policy": policy.state_dict()}]},
        "card": {"commands": ["python train.py"], "wall_s": 1.5},
        "config": {"seed": seed, "profile": {"name": "bottleneck"}},
        "decisions": 1000,
    }


def test_round_trip(tmp_path: Path) -> None:
    saved = content()
    assert checkpoint.save(tmp_path, saved) == tmp_path / "checkpoint.pt"
    loaded = checkpoint.load(tmp_path)
    assert set(loaded) == checkpoint.KEYS
    assert loaded["config"] == saved["config"]
    assert loaded["learner"]["random_states"] == saved["learner"]["random_states"]
    for name, tensor in saved["policy"].items():
        assert torch.equal(loaded["policy"][name], tensor)
    assert loaded["sha256"] == checkpoint.policy_sha256(saved["policy"])
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint.pt"]


def test_hash_follows_every_weight() -> None:
    policy = content()["policy"]
    before = checkpoint.policy_sha256(policy)
    for name in checkpoint.POLICY_TENSORS:
        changed = {key: value.clone() for key, value in policy.items()}
        changed[name].view(-1)[-1] += 1e-3
        assert checkpoint.policy_sha256(changed) != before
    with pytest.raises(UserError, match=r"readout\.bias"):
        checkpoint.policy_sha256({name: policy[name] for name in checkpoint.POLICY_TENSORS[:-1]})


def test_missing_run_names_the_others(tmp_path: Path) -> None:
    (tmp_path / "good").mkdir()
    checkpoint.save(tmp_path / "good", content())
    with pytest.raises(UserError, match=r"no run .*bad.* are: good"):
        checkpoint.load(tmp_path / "bad")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match=r"has no checkpoint\.pt"):
        checkpoint.load(tmp_path / "empty")


@pytest.mark.parametrize("keep", [0, 10, 1000, -1])
def test_truncated(tmp_path: Path, keep: int) -> None:
    path = checkpoint.save(tmp_path, content())
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(UserError, match="corrupt, truncated"):
        checkpoint.load(tmp_path)


def test_changed_weights_are_noticed(tmp_path: Path) -> None:
    path = checkpoint.save(tmp_path, content())
    whole = torch.load(path, weights_only=True)
    whole["policy"]["readout.bias"][0] = 1.0
    torch.save(whole, path)
    with pytest.raises(UserError, match="SHA-256"):
        checkpoint.load(tmp_path)


def test_other_format(tmp_path: Path) -> None:
    path = checkpoint.save(tmp_path, content())
    whole = torch.load(path, weights_only=True)
    torch.save({**whole, "format": 99}, path)
    with pytest.raises(UserError, match="format 99"):
        checkpoint.load(tmp_path)
    torch.save([1, 2], path)
    with pytest.raises(UserError, match="format 'list'"):
        checkpoint.load(tmp_path)
    del whole["learner"]
    torch.save(whole, path)
    with pytest.raises(UserError, match="lacks learner"):
        checkpoint.load(tmp_path)


def test_other_schema(tmp_path: Path) -> None:
    path = checkpoint.save(tmp_path, content())
    whole = torch.load(path, weights_only=True)
    del whole["schema"]
    torch.save(whole, path)
    with pytest.raises(UserError, match=r"was trained with schema 2.*train again"):
        checkpoint.load(tmp_path)
    torch.save({**whole, "schema": 99}, path)
    with pytest.raises(UserError, match=r"was trained with schema 99.*train again"):
        checkpoint.load(tmp_path)


def test_appended_inputs_get_weight_0(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved = content()
    full = saved["policy"]["rnn.weight_ih_l0"]
    saved["policy"]["rnn.weight_ih_l0"] = full[:, :-1].clone()
    checkpoint.save(tmp_path, saved)
    monkeypatch.setattr(schema, "INPUTS_MIN", full.shape[1])
    with pytest.raises(UserError, match=f"with {full.shape[1] - 1} inputs.*requires the first {full.shape[1]}"):
        checkpoint.load(tmp_path)
    monkeypatch.setattr(schema, "INPUTS_MIN", full.shape[1] - 1)
    loaded = checkpoint.load(tmp_path)
    assert torch.equal(loaded["policy"]["rnn.weight_ih_l0"][:, :-1], full[:, :-1])
    assert not loaded["policy"]["rnn.weight_ih_l0"][:, -1].any()
    assert not checkpoint.has_all_inputs(loaded)
    checkpoint.save(tmp_path, content())
    assert checkpoint.has_all_inputs(checkpoint.load(tmp_path))


@pytest.mark.parametrize("older", [1, 2, 3])
def test_older_formats_are_refused(tmp_path: Path, older: int) -> None:
    torch.save({"format": older}, tmp_path / "checkpoint.pt")
    with pytest.raises(UserError, match=rf"has checkpoint format {older}, .*train again, .*commit 7e8d117"):
        checkpoint.load(tmp_path)


@contextmanager
def small_file_limit() -> Iterator[None]:
    """The kernel refuses to write past 1,000 bytes of a file, as a full disk refuses.

    No fixture: pytest writes its own output before a fixture is taken down, and that may be a file too.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_failed_write_keeps_the_old_checkpoint(tmp_path: Path) -> None:
    checkpoint.save(tmp_path, content(seed=1))
    with small_file_limit(), pytest.raises(UserError, match=r"File too large; the previous one is unharmed"):
        checkpoint.save(tmp_path, content(seed=2))
    assert checkpoint.load(tmp_path)["config"]["seed"] == 1
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint.pt"]


def test_a_changed_bit_is_noticed_wherever_it_is(tmp_path: Path) -> None:
    path = checkpoint.save(tmp_path, content())
    data = path.read_bytes()
    places = range(0, len(data), len(data) // 100)
    for place in places:
        changed = bytearray(data)
        changed[place] ^= 1 << place % 8
        path.write_bytes(changed)
        with pytest.raises(UserError, match="corrupt, truncated"):
            checkpoint.load(tmp_path)


def test_changed_content_of_a_file_without_digest_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.pt"
    data = checkpoint.save(tmp_path, content()).read_bytes()
    old = data[: -checkpoint.DIGEST_BYTES - 2] + b"\0\0"
    path.write_bytes(old)
    assert checkpoint.load(tmp_path)["decisions"] == 1000
    with zipfile.ZipFile(path) as archive:
        places = [entry.header_offset + 300 for entry in archive.infolist() if entry.file_size > 500]
    for place in places:
        path.write_bytes(old[:place] + bytes([old[place] ^ 1]) + old[place + 1 :])
        with pytest.raises(UserError, match="corrupt, truncated"):
            checkpoint.load(tmp_path)


def repeated(levels: int) -> list[Any]:
    values: list[Any] = [0]
    for _ in range(levels):
        values = [values] * 10
    return values


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("policy", torch.zeros(1).expand(200_000, 200_000), "a Tensor without its content"),
        ("learner", torch.zeros(4, device="meta"), "a Tensor without its content"),
        ("sampler", torch.zeros(1 << 20, 1 << 20, layout=torch.sparse_coo), "a Tensor without its content"),
        ("sampler", bytearray(10), "a bytearray without its content"),
        ("card", repeated(20), "repeats values until there are more than"),
    ],
)
def test_content_that_asks_for_memory_is_refused(tmp_path: Path, key: str, value: Any, message: str) -> None:
    path = checkpoint.save(tmp_path, content())
    whole = torch.load(path, weights_only=True)
    torch.save({**whole, key: {"x": value}}, path)
    with pytest.raises(UserError, match=message):
        checkpoint.load(tmp_path)


def test_compressed_entries_are_refused(tmp_path: Path) -> None:
    path = checkpoint.save(tmp_path, {**content(), "sampler": {"x": torch.zeros(1 << 20)}})
    with zipfile.ZipFile(io.BytesIO(path.read_bytes())) as plain, zipfile.ZipFile(path, "w") as packed:
        for entry in plain.infolist():
            packed.writestr(entry.filename, plain.read(entry), zipfile.ZIP_DEFLATED)
    with pytest.raises(UserError, match="corrupt, truncated"):
        checkpoint.load(tmp_path)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("card", [1], "its card is of the type list"),
        ("config", "all", "its config is of the type str"),
        ("decisions", "many", "its decisions is of the type str"),
        ("decisions", -5, "it has made -5 decisions"),
        ("sampler", None, "its sampler is of the type NoneType"),
    ],
)
def test_content_of_another_type_is_refused(tmp_path: Path, key: str, value: object, message: str) -> None:
    checkpoint.save(tmp_path, content() | {key: value})
    with pytest.raises(UserError, match=f"checkpoint.pt is damaged: {message}"):
        checkpoint.load(tmp_path)


def test_milestones_are_no_run(tmp_path: Path) -> None:
    folder = tmp_path / "run" / checkpoint.MILESTONES
    (folder / "000000500").mkdir(parents=True)
    checkpoint.save(tmp_path / "run", content())
    checkpoint.save(folder / "000000500", content())
    with pytest.raises(UserError, match=f"have no learner: resume {tmp_path / 'run'}, or name one"):
        checkpoint.load(folder)
