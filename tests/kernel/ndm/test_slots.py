"""Slots of tcp_ndm: congestion controls that are added from model files, replaced and removed while connections run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from env.lab import Lab, ModuleInTheWay
from env.lab.virtual import MODULES
from env.network.path import Path
from export.formats.blob import write_blob
from kernel.kunit.reports import kernel_log
from tests.support.guest import algorithms, run_program, shell
from tests.support.labs import checked_lab, shared_lab
from tests.support.models import BAD_MODELS, SLOTS, put_firmware, put_models
from training.untrained import build_untrained

pytestmark = pytest.mark.timeout(600)
FOLDER = "/sys/module/tcp_ndm"
PATH = Path(rate_mbps=20, rtt_ms=20, buffer_bdp=2)
NAMES = ["ndm", "ndm_1", "ndm_23456789ab"]  # the last has 15 characters, the most
MOST = 64  # NDM_SLOTS


def prepare(lab: Lab) -> None:
    put_models(lab, {"shrink": BAD_MODELS["shrink"]})
    exported = {f"seed-{seed}.bin": build_untrained(seed) for seed in (1, 2)}
    put_firmware(lab, {name: write_blob(one.model, one.provenance) for name, one in exported.items()})
    for seed, name in enumerate(NAMES[1:], 1):
        shell(lab, f"echo +{name} seed-{seed}.bin >{SLOTS}")


lab = shared_lab("tcp_ndm", seed=2, both_kernels=True, setup=prepare)


@pytest.fixture(autouse=True)
def same_slots(lab: Lab) -> Iterator[None]:
    """Each test leaves the slots as they were."""
    yield
    assert listed(lab) == {"ndm": "builtin", "ndm_1": "seed-1.bin", "ndm_23456789ab": "seed-2.bin"}


def listed(lab: Lab) -> dict[str, str]:
    """Return the model file of each slot."""
    lines = shell(lab, f"cd {FOLDER} && grep . ndm*/model /dev/null").splitlines()
    return dict(line.split("/model:") for line in lines)


def facts(lab: Lab, name: str) -> list[str]:
    return [shell(lab, f"cat {FOLDER}/{slot}/{name}") for slot in NAMES]


def refusal(lab: Lab, command: str) -> str:
    """Write what must be refused; return the one line that the module logs."""
    before = len(kernel_log(lab).splitlines())
    assert lab.call("shell", command=f"echo '{command}' >{SLOTS}")["status"] != 0
    (line,) = (line for line in kernel_log(lab).splitlines()[before:] if "] tcp_ndm: " in line)
    return line.partition("tcp_ndm: ")[2]


def test_each_slot_is_a_congestion_control(lab: Lab) -> None:
    assert set(NAMES) <= set(algorithms(lab))
    untrained = [build_untrained(seed).provenance.sha256 for seed in (1, 2)]
    assert facts(lab, "sha256")[1:] == untrained
    assert facts(lab, "model") == ["builtin", "seed-1.bin", "seed-2.bin"]


def test_models_meet_on_one_bottleneck(lab: Lab) -> None:
    flows = [{"scheme": name, "start_s": 0, "duration_s": 10.0} for name in NAMES]
    before = facts(lab, "counters/decisions")
    result = lab.run(PATH, flows, 10.0, sample_ms=0, trace=True)
    after = facts(lab, "counters/decisions")
    traced = [sum(line.endswith(f"ca={name}") for line in result.trace) for name in NAMES]
    assert traced == [int(b) - int(a) for a, b in zip(before, after, strict=True)]
    assert min(traced) > 100
    assert all(flow.received_bytes > 100_000 for flow in result.flows)
    assert all(" model=0 " in line for line in result.trace if "ca=ndm_" in line), "a new slot has its first model"


def test_exchanging_one_model_leaves_the_others(lab: Lab) -> None:
    swaps = facts(lab, "counters/model_swaps")
    shell(lab, f"echo +ndm_1 shrink.bin >{SLOTS}")
    models = facts(lab, "model")
    shell(lab, f"echo +ndm_1 seed-1.bin >{SLOTS}")
    assert models == ["builtin", "shrink.bin", "seed-2.bin"]
    swaps[1] = str(int(swaps[1]) + 2)
    assert facts(lab, "counters/model_swaps") == swaps


def test_sockets_keep_a_removed_slot(lab: Lab) -> None:
    """One that is open, one that listens, and a namespace whose default it is."""
    code = f"""
        sysctl = "/proc/sys/net/ipv4/tcp_congestion_control"
        def write(text, file="{SLOTS}"):
            with open(file, "w") as stream:
                stream.write(text)
        write("+ndm_gone seed-1.bin")
        before = open(sysctl).read()
        write("ndm_gone", sysctl)
        sender, receiver = connect("ndm_gone")
        listener = socket.create_server(("127.0.0.1", 0))
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"ndm_gone")
        write("-ndm_gone")
        send(sender, receiver, 1 << 20)
        try:
            choose(sender, "ndm_gone")
            print("chosen")
        except FileNotFoundError:
            print("no new socket has it")
        client = socket.create_connection(listener.getsockname())
        accepted, _ = listener.accept()
        for one in (sender, accepted, client):
            print(one.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\\0").decode())
        send(accepted, client, 1 << 20)
        send(client, accepted, 1 << 20)
        write("+ndm_gone seed-2.bin")
        send(accepted, client, 1 << 20)
        choose(client, "ndm_gone")
        write("-ndm_gone")
        write(before, sysctl)
        for one in (sender, receiver, accepted, client, listener):
            one.close()
    """
    shown = run_program(lab, code).splitlines()
    assert shown == ["no new socket has it", "ndm_gone", "ndm_gone", "ndm_gone"]
    assert "ndm_gone" not in algorithms(lab)
    assert "ndm_gone" not in shell(lab, f"ls {FOLDER}")


def test_slots_come_and_go_while_connections_use_them(lab: Lab) -> None:
    """Two writers remove, add and replace slots, which new connections choose when they are there."""
    code = f"""
        begun = threading.Event()
        found = []

        def write(*lines):
            begun.wait()
            for line in lines:
                with open("{SLOTS}", "w") as stream:
                    stream.write(line)
                time.sleep(0.01)

        def use(name):
            begun.wait()
            while any(writer.is_alive() for writer in writers):
                time.sleep(0.002)  # otherwise no virtual time passes
                try:
                    sender, receiver = connect(name)
                except FileNotFoundError:  # it is away
                    continue
                send(sender, receiver, 1 << 18)
                found.append(name)
                sender.close()
                receiver.close()

        changes = {{name: [f"-{{name}}", f"+{{name}} shrink.bin", f"+{{name}} {{model}}"] for name, model in (
            ("ndm_1", "seed-1.bin"), ("ndm_23456789ab", "seed-2.bin"))}}
        writers = [threading.Thread(target=write, args=20 * lines) for lines in changes.values()]
        users = [threading.Thread(target=use, args=(name,)) for name in (*changes, "ndm") for _ in range(2)]
        for thread in (*writers, *users):
            thread.start()
        begun.set()
        for thread in (*writers, *users):
            thread.join()
        print(*(found.count(name) for name in (*changes, "ndm")))
    """
    counts = run_program(lab, code).split()
    assert min(map(int, counts)) > 5, counts


def test_two_writers_of_one_slot_leave_one(lab: Lab) -> None:
    loop = f"for i in $(seq 100); do echo +ndm_both {{}} >{SLOTS}; sleep .01; done"
    shell(lab, " & ".join(f"({loop.format(model)})" for model in ("seed-1.bin", "seed-2.bin")) + " & wait")
    assert algorithms(lab).count("ndm_both") == 1
    assert shell(lab, f"cat {FOLDER}/ndm_both/counters/model_swaps") == "199"
    shell(lab, f"echo -ndm_both >{SLOTS}")


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("ndm_1 seed-1.bin", "slots takes +NAME FILE or -NAME"),
        ("+ndm_3", "slots takes +NAME FILE or -NAME"),
        ("-ndm_1 seed-1.bin", "slots takes +NAME FILE or -NAME"),
        ("+mine seed-1.bin", "slot mine is refused: it must be ndm or begin with ndm_"),
        ("+ndm_ seed-1.bin", "slot ndm_ is refused: it must be ndm or begin with ndm_"),
        ("+ndm_a/b seed-1.bin", "slot ndm_a/b is refused: it has other characters than lower-case letters, digits and"),
        ("+ndm_123456789abc builtin", "slot ndm_123456789abc is refused: a congestion control's name has at most 15"),
        ("+ndm_3 missing.bin", "model missing.bin was not found (error -2): put it into /lib/firmware"),
        ("+ndm_gym builtin", "ndm_gym cannot be registered (error -17)"),  # the lab's module for training has the name
        ("-ndm", "slot ndm stays as long as the module"),
        ("-ndm_3", "there is no slot ndm_3"),
        ("-ndm_gym", "there is no slot ndm_gym"),
    ],
)
def test_what_cannot_be_is_refused_with_the_reason(lab: Lab, command: str, line: str) -> None:
    before = shell(lab, f"ls {FOLDER}")
    assert refusal(lab, command).startswith(line)
    assert shell(lab, f"ls {FOLDER}") == before


def test_no_slot_beyond_the_most(variant: str) -> None:
    """Removed ones count: a socket may still have them. Lab.set_slot() then asks for a fresh lab."""
    content = write_blob(build_untrained(1).model, build_untrained(1).provenance)
    with checked_lab("tcp_ndm", seed=2, variant=variant, leaks=True) as lab:
        for number in range(1, MOST):
            lab.set_slot(f"ndm_{number}", content)
        shell(lab, f"echo -ndm_1 >{SLOTS}")
        with pytest.raises(ModuleInTheWay, match="no room for the slot ndm_more"):
            lab.set_slot("ndm_more", content)
        assert f"ndm_more is refused: there have been {MOST} slots" in kernel_log(lab)
        shell(lab, f"echo +ndm_1 builtin >{SLOTS}")
        files = {f"ndm_{number}": f"ndm_{number}.bin" for number in range(2, MOST)}
        assert listed(lab) == {"ndm": "builtin", "ndm_1": "builtin", **files}
        flow = {"scheme": f"ndm_{MOST - 1}", "start_s": 0, "duration_s": 3.0}
        assert lab.run(PATH, [flow], 3.0, sample_ms=0).flows[0].received_bytes > 10_000
        assert run_program(lab, "time.sleep(300); print(rmmod('tcp_ndm'))") == "0"


def test_module_stays_while_a_removed_slot_is_in_use() -> None:
    """The lab kernel only: in user-mode Linux, KASAN reports an overflow when a module is loaded again."""
    with checked_lab("tcp_ndm", seed=2) as lab:
        code = f"""
            def write(text):
                with open("{SLOTS}", "w") as stream:
                    stream.write(text)
            write("+ndm_gone builtin")
            sender, receiver = connect("ndm_gone")
            write("-ndm_gone")
            send(sender, receiver, 1 << 20)
            print(rmmod("tcp_ndm"))
            send(sender, receiver, 1 << 20)
            sender.close()
            receiver.close()
            time.sleep(1)
            print(rmmod("tcp_ndm"))
        """
        assert run_program(lab, code).split() == ["1", "0"]
        assert lab.call("shell", command=f"insmod {MODULES}/tcp_ndm.ko 'slots=\"+ndm_1 builtin\"'")["status"] != 0
        assert "slots is written after the module was loaded, not while it is" in kernel_log(lab)
        shell(lab, f"insmod {MODULES}/tcp_ndm.ko")
        assert listed(lab) == {"ndm": "builtin"}
