"""The sources of the patch series for the kernel's own tree."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

import pytest

from kernel.series import mainline
from kernel.series.patches import PATCHES

FILES = mainline.files()


def test_each_file_is_in_one_patch() -> None:
    assert sorted(name for patch in PATCHES for name in patch.adds) == sorted(FILES)


@pytest.mark.parametrize("name", FILES)
def test_includes_are_of_the_series_or_the_kernel(name: str) -> None:
    folder = PurePosixPath(name).parent
    for included in re.findall(r'^#include "([^"]+)"', FILES[name], re.MULTILINE):
        target = PurePosixPath(folder)
        for part in PurePosixPath(included).parts:
            target = target.parent if part == ".." else target / part
        assert str(target) in FILES, included


@pytest.mark.parametrize("name", FILES)
def test_nothing_is_left_of_other_versions_and_variants(name: str) -> None:
    for word in (
        "LINUX_VERSION_CODE",
        "NDM_COMPAT",
        "NDM_CONG_CONTROL",
        "NDM_TX_START",
        "NDM_VERSION",
        "NDM_VARIANT",
        "NDM_FRAME",
    ):
        assert word not in FILES[name]


@pytest.mark.parametrize("name", FILES)
def test_comments_name_nothing_outside_of_the_tree(name: str) -> None:
    comments = "\n".join(re.findall(r"/\*.*?\*/", FILES[name], re.DOTALL))
    for word in ("`", "make module", "env/", "export/", "kernel/", "tests/kernel", "user space", "_gym", ".ko", "BPF"):
        assert word not in comments


def test_a_patch_has_what_its_files_include() -> None:
    known: set[str] = set()
    for patch in PATCHES:
        known |= {PurePosixPath(name).name for name in patch.adds}
        for name in patch.adds:
            included = re.findall(r'^#include "(?:\.\./|models/)?([^"]+)"', FILES[name], re.MULTILINE)
            assert set(included) <= known, name


def test_control_code_is_in_the_module() -> None:
    text = FILES[f"{mainline.FOLDER}/ndm_main.c"]
    for function in ("ndm_apply_cwnd", "ndm_set_cwnd", "ndm_guard_judge", "ndm_reno_control", "ndm_op_get_info"):
        assert re.search(rf"^static [\w ]+{function}\(", text, re.MULTILINE)
    assert "inline" not in re.sub(r"/\*.*?\*/", "", text.replace("noinline", ""), flags=re.DOTALL)


def test_arguments_stay_below_each_other() -> None:
    head = "static inline void ndm_a(struct sock *sk, int one,\n\t\t\t\t int two)\n"
    assert mainline._INLINE.sub(mainline._without_inline, head) == (
        "static void ndm_a(struct sock *sk, int one,\n\t\t  int two)\n"
    )
