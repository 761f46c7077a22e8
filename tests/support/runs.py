"""Run folders without a training."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from torch.utils.tensorboard import SummaryWriter

from export import checkpoint
from training.policy import Policy

CARD = {
    "commands": ["python train.py profile=bottleneck", "python train.py resume=runs/x 'a=*/ \u00b5'"],
    "status": "finished",
    "wall_s": 61.25,
    "virtual_s": 3600.0,
    "lab": {"release": "6.12.117", "manifest_sha256": "ab" * 32, "modules": {"tcp_ndm_gym": "cd" * 32}},
}


def write_run(folder: Path, scale: float = 1.0, hidden: int = 8, **changes: Any) -> Path:
    """Write a checkpoint of a policy with a read-out that says something, and return the run folder."""
    torch.manual_seed(3)
    policy = Policy(hidden)
    with torch.no_grad():
        policy.readout.weight.normal_(std=0.5)
        policy.rnn.weight_hh_l0.mul_(scale)
    state = policy.state_dict()
    for name, value in changes.items():
        state[name] = value
    folder.mkdir(parents=True, exist_ok=True)
    content: dict[str, Any] = {
        "learner": {},
        "sampler": {},
        "policy": state,
        "config": {"profile": {"name": "bottleneck"}, "algo": {"kind": "ppo"}, "seed": 5},
        "decisions": 7,
        "card": CARD,
    }
    checkpoint.save(folder, content)
    return folder


def made_up(run: Path, seed: int, rewards: list[float], status: str = "finished") -> Path:
    """A run's folder as the recorder leaves it: card and metrics."""
    run.mkdir(parents=True)
    card = {"config": {"seed": seed}, "status": status, "decisions": 100 * len(rewards), "wall_s": 90.0}
    (run / "card.json").write_text(json.dumps(card))
    with SummaryWriter(str(run)) as writer:
        for i, reward in enumerate(rewards):
            for tag in ("charts/reward", "charts/goodput_share"):
                writer.add_scalar(tag, reward, 100 * (i + 1))
    return run


def rows(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
