"""One more input, appended to a copy of the sources: the models that ship go on and decide as before."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from env.checkout import DATASETS, ROOT
from env.errors import UserError
from env.network.path import Path as NetworkPath
from export.formats.blob import read_blob
from export.integer import reference
from export.integer.model import INPUTS
from tests.support.kernel.native import Native
from tests.support.labs import checked_lab

FIELD = 'Field("appended", 0.0, FEATURE_LIMIT, "mean RTT of the interval over the minimum RTT, minus 1"),'
FORMULA = "\tx[NDM_IN_APPENDED] = ndm_ratio(rtt_us - min_t(u32, rtt_us, m->min_rtt_us), m->min_rtt_us, S16_MAX);\n\n"
DECIDE = """
from env.checkout import DATASETS
from export.formats import golden
from export.formats.blob import read_blob
from export.integer import reference
from tests.support.kernel.native import Native, model_bytes
from export.pipeline import build_model

native = Native()
core = golden.parse(golden.FILE.read_text(), "core.json")
assert golden.mismatches(core, native.rollout) == golden.mismatches(core, reference.rollout) == []
for folder in (DATASETS / "models").iterdir():
    vectors = golden.parse((folder / "golden.json").read_text(), folder.name)
    for vector in vectors:
        vector.x[:, -1] = 32767  # has weight 0
    assert golden.mismatches(vectors, native.rollout) == golden.mismatches(vectors, reference.rollout) == []
    content = (folder / "policy.bin").read_bytes()
    for model, _ in (read_blob(content, folder.name), native.parse_blob(content)):
        assert model_bytes(model) == model_bytes(vectors[0].model)
    if folder.name == "mixed":
        for same in (native.shipped()[0], build_model(folder).model):
            assert model_bytes(same) == model_bytes(model)
"""
WRITE = """
from pathlib import Path

from export.formats.blob import read_blob, write_blob
from export.formats.header import render_header

model, provenance = read_blob(Path("datasets/models/mixed/policy.bin").read_bytes(), "mixed")
Path("more.bin").write_bytes(write_blob(model, provenance))
Path("more.h").write_text(render_header(model, provenance))
"""


def insert(file: Path, before: str, line: str) -> None:
    text = file.read_text()
    assert text.count(before) == 1, f"{file} has changed: choose another place for the line"
    file.write_text(text.replace(before, line + before))


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder with the sources, one input more, and what `make generate` and `make module` write for it."""
    folder = tmp_path_factory.mktemp("appended")
    for name in ("env", "export", "kernel", "datasets/golden", "datasets/models", "tests/support/kernel"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    insert(folder / "env" / "schema.py", ")\nACTIONS = (", f"    {FIELD}\n")
    insert(folder / "kernel" / "ndm" / "ndm_features.h", "\tinterval->length_us = length_us;", FORMULA)
    for module in ("env.schema", "export.formats.golden"):
        run(folder, sys.executable, "-m", module)
    run(folder, "make", "-s", "-f", str(ROOT / "Makefile"), "build/libndm.so", "NDM_MODEL_BUILD=build")
    return folder


def run(folder: Path, *command: str) -> None:
    environment = os.environ | {"PYTHONPATH": str(folder), "NDM_MODEL_BUILD": "build"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def compiled(sources: Path, header: Path) -> str:
    """Compile a model's header with the sources of a kernel folder, and return what the compiler says."""
    command = ["cc", "-fsyntax-only", "-x", "c", f"-I{sources}/user/include", f"-I{sources}", str(header)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr


def test_shipped_models_decide_as_before(copy: Path) -> None:
    run(copy, sys.executable, "-c", DECIDE)


def test_the_module_decides_as_before(copy: Path) -> None:
    tree = str(ROOT / "build" / "lab-kernel" / "tree")
    run(copy, str(copy / "kernel" / "build.sh"), str(copy / "built"), tree)
    with checked_lab(copy / "built" / "tcp_ndm.ko") as lab:
        flow = {"scheme": "ndm", "start_s": 0, "duration_s": 10.0}
        trace = lab.run(NetworkPath(rate_mbps=20, rtt_ms=20), [flow], 10.0, trace=True).trace
    facts = [dict(word.split("=") for word in line.split() if "=" in word) for line in trace]
    x = np.array([fact["x"].split(",") for fact in facts], np.int16)  # [T, I + 1] Q12
    actions = np.array([fact["action"].split(",") for fact in facts], np.int16)  # [T, O] Q14
    assert len(x) > 100
    assert x.shape[1] == INPUTS + 1
    assert len(np.unique(x[:, -1])) > 10, "the appended input is measured"
    assert (x[:, -1] >= 0).all()
    model, _ = read_blob((DATASETS / "models" / "mixed" / "policy.bin").read_bytes(), "mixed")
    np.testing.assert_array_equal(actions, reference.rollout(model, np.ascontiguousarray(x[:, :-1]))[0])


def test_model_with_the_input_is_refused_without_it(copy: Path) -> None:
    run(copy, sys.executable, "-c", WRITE)
    content = (copy / "more.bin").read_bytes()
    with pytest.raises(UserError, match=f"has {INPUTS + 1} inputs; this version has {INPUTS}"):
        read_blob(content, "more.bin")
    with pytest.raises(UserError, match="another number of inputs"):
        Native().parse_blob(content)
    assert compiled(copy / "kernel", copy / "more.h") == ""
    assert "model mixed has too many inputs" in compiled(ROOT / "kernel", copy / "more.h")
