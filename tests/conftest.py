"""For all tests. A test's tier is its folder: unit, lab, kernel, slow or release."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]
# The tests have modules of their own, with the shipped model: what the user exports is none of theirs.
os.environ["NDM_MODEL_BUILD"] = str(ROOT / "build" / "test")
TESTS = ROOT / "tests"
CORES = os.sched_getaffinity(0)
TIERS = ("unit", "lab", "kernel", "slow", "release")
# The longest files begin first, so that no worker has one left when the other has nothing to do.
LONGEST = (
    "slow/kernel/test_bpf.py",
    "slow/env/lab/stock/test_host.py",
    "slow/training/test_sweep_ray.py",
    "slow/kernel/test_bpf_hostile.py",
    "slow/training/test_train_ray.py",
    "slow/packaging/test_wheel.py",
    "slow/docs/test_outputs.py",
    "slow/kernel/ndm/test_harm.py",
    "slow/training/test_sweep.py",
    "lab/training/test_train.py",
    "kernel/test_fuzz.py",
    "kernel/ndm/test_slots.py",
    "lab/compare/test_repeatable.py",
    "lab/compare/test_command.py",
    "slow/studies/learning/test_ablation.py",
    "lab/env/gym/test_ndm_env.py",
    "lab/env/test_stable_baselines.py",
    "lab/compare/experiment/test_schemes.py",
    "lab/compare/experiment/test_own_scheme.py",
    "lab/env/test_own_rivals.py",
    "slow/studies/learning/test_score_search.py",
)

# A shell ignores SIGINT in what it runs in the background, and programs inherit that. The tests interrupt some.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Other work on the machine must not fail a test.
settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")


def pytest_configure(config: pytest.Config) -> None:
    """Bring the tests' modules up to date, unless only unit tests run; the other processes of -n wait for it."""
    if config.args and all(Path(argument).resolve().is_relative_to(TESTS / "unit") for argument in config.args):
        return
    manifest = Path("build", "lab-kernel", "manifest.json")
    if config.option.collectonly or hasattr(config, "workerinput") or not (ROOT / manifest).is_file():
        return
    build = Path(os.environ["NDM_MODEL_BUILD"])
    built, library = build / "modules" / "lab" / "built", str(build / "libndm.so")
    make = ["make", "-s", "-o", str(manifest), "module", library, "KDIR=", "MODEL="]
    with (ROOT / "build" / "test.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if built.is_file() and built.stat().st_mtime < (ROOT / manifest).stat().st_mtime:
            built.unlink()  # of another lab kernel, which -o hides from make
        done = subprocess.run(make, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.exit(f"the modules for the tests cannot be built:\n{done.stdout}{done.stderr}", returncode=1)


def _keep_to_one_core(worker: str) -> None:
    """Give this process of -n a core, which its labs then share with it.

    Otherwise a lab chooses the core with the fewest labs (env/lab/core.py). The tests keep many labs that wait, so the
    labs at work would often sit on the same core, and another would have nothing to do.
    """
    os.sched_setaffinity(0, {sorted(CORES)[int(worker.removeprefix("gw")) % len(CORES)]})


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--sanitizer", action="store_true", help="run the tests of the modules in the sanitizer kernel too"
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    own = [mark.args[0] for mark in metafunc.definition.iter_markers("parametrize")]
    if "variant" in metafunc.fixturenames and "variant" not in own:
        variants = ["lab", "sanitizer"] if metafunc.config.getoption("--sanitizer") else ["lab"]
        metafunc.parametrize("variant", variants, scope="module")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        tier = item.path.relative_to(TESTS).parts[0]
        assert tier in TIERS, f"{item.path} is in no tier: move it to one of {', '.join(TIERS)}"
        item.add_marker(tier)
    order = {TESTS / name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.path, len(order)))  # stable: within a file nothing changes
    # QEMU runs with real-time priority: on its core nothing else would
    if hasattr(config, "workerinput") and not any(item.path.is_relative_to(TESTS / "slow") for item in items):
        _keep_to_one_core(config.workerinput["workerid"])


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Compute with one thread, as training/loop.py does: the networks are too small to gain from more."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def cluster(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Any]:
    """A Ray cluster of this machine: a head of one core (or of as many as the test's parameter says), to which nodes
    can be added; one pytest worker has it. This process gives its token to the clients and nodes that it starts, and
    none of Ray's settings that an earlier test's Ray without a cluster left in its environment."""
    for name in [name for name in os.environ if name.startswith("RAY_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_AUTH_TOKEN", "0" * 64)
    from ray.cluster_utils import Cluster

    with (tmp_path_factory.getbasetemp().parent / "ray.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        cores = getattr(request, "param", 1)
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": cores, "include_dashboard": False})
        try:
            yield cluster
        finally:
            cluster.shutdown()
