"""A stock kernel that is locked down, as with Secure Boot: which models the module takes; the BPF program loads."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from env.checkout import BUILD, MODEL_BUILD
from env.lab.stock.vm import VmLab
from tests.support.guest import shell
from tests.support.models import SLOTS, model_file

pytestmark = pytest.mark.timeout(600)

MODELS = MODEL_BUILD / "models"  # the guest sees none of the host's temporary folders
SLOT = "/sys/module/tcp_ndm/ndm"
CTL = BUILD / "ndmctl"


@pytest.fixture
def lab() -> Iterator[VmLab]:
    MODELS.mkdir(parents=True, exist_ok=True)
    for name in ("first", "second"):
        (MODELS / f"{name}.bin").write_bytes(model_file(name))
    with VmLab(kernel="6.12", clock="counted", timeout_s=300) as vm:
        shell(vm, "mount -t securityfs none /sys/kernel/security; mount -t bpf none /sys/fs/bpf")
        shell(vm, f"printf {MODELS} >/sys/module/firmware_class/parameters/path")
        yield vm


def lock(lab: VmLab) -> None:
    shell(lab, "echo integrity >/sys/kernel/security/lockdown")


def refusal(lab: VmLab, name: str) -> str:
    """Return what the kernel's log says of a model that is refused."""
    shell(lab, f"! echo +ndm {name}.bin >{SLOTS}")
    return shell(lab, "dmesg | grep 'is refused' | tail -n 1")


def test_models_are_refused_without_a_pin(lab: VmLab) -> None:
    shell(lab, f"insmod {lab.stock.modules}/tcp_ndm.ko")
    shell(lab, f"echo +ndm first.bin >{SLOTS}")
    lock(lab)
    assert "second.bin is refused: this kernel is locked down: pin its SHA-256" in refusal(lab, "second")
    assert shell(lab, f"cat {SLOT}/model") == "first.bin"
    shell(lab, f"echo +ndm builtin >{SLOTS}")


def test_the_pinned_model_is_taken(lab: VmLab) -> None:
    digest = model_file("first")[-32:].hex()
    shell(lab, f"insmod {lab.stock.modules}/tcp_ndm.ko pin={digest}")
    lock(lab)
    shell(lab, f"echo +ndm first.bin >{SLOTS}")
    assert shell(lab, f"cat {SLOT}/name") == "first"
    assert "is not one of the parameter pin" in refusal(lab, "second")


def test_the_bpf_program_loads_where_an_unsigned_module_does_not(lab: VmLab) -> None:
    lock(lab)
    assert "not permitted" in shell(lab, f"insmod {lab.stock.modules}/tcp_ndm.ko 2>&1 || true")
    assert "locked down: is the module signed? The BPF program needs no signature" in shell(
        lab, f"{CTL} load --module 2>&1 || true"
    )
    shell(lab, f"{CTL} load {BUILD}/bpf/ndm.bpf.o")
    shell(lab, f"{CTL} use {MODELS}/first.bin")
    assert "a BPF program" in shell(lab, f"{CTL} status")
