"""The guest's agent: carries out the host's commands, one at a time, until the host closes the channel.

    agent.py virtual /dev/lab_gate   in the virtual lab, started by init.c. Virtual time stops while the agent waits
                                     for a command, so the host may take as long as it likes
    agent.py real DEVICE             in a kernel under QEMU with the machine's clock, started by init-vm.sh. The device
                                     is a virtio-serial port
    agent.py counted DEVICE          the same with a clock that counts instructions
    agent.py host DESCRIPTOR         in namespaces of the running kernel, started by init-host.sh. The descriptor is the
                                     channel's socket

It needs only Python's standard library and Debian's Mininet.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import importlib.machinery
import json
import os
import signal
import subprocess
import sys
import time
import traceback
import types
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

ROOT = FilePath(__file__).resolve().parents[3]
sys.path += [str(ROOT), "/usr/lib/python3/dist-packages", str(FilePath(__file__).resolve().parent)]
# An import of the package `env` would register the Gymnasium environment; the guest has no Gymnasium.
_package = types.ModuleType("env")
_package.__path__ = [str(ROOT / "env")]
_package.__spec__ = importlib.machinery.ModuleSpec("env", None, is_package=True)
sys.modules["env"] = _package

import script  # noqa: E402  (needs the package above)
from channel import Gate, Port, Socket  # noqa: E402
from first_draws import draw_secrets  # noqa: E402
from kernel_log import KernelLog  # noqa: E402
from watch import Watch  # noqa: E402

from env import schema  # noqa: E402
from env.network.clock import COUNTED, REAL, VIRTUAL, Clock  # noqa: E402
from env.network.networks import network_from_dict, topology_name  # noqa: E402
from env.network.topology.chain_topology import ChainTopology  # noqa: E402
from env.network.topology.links import LinkError, in_node  # noqa: E402
from env.network.topology.path_topology import Topology  # noqa: E402
from env.network.topology.rack_topology import RackTopology  # noqa: E402
from env.network.topology.timeline import Timeline  # noqa: E402
from env.network.traces.handed_over import hand_over, unpacked  # noqa: E402
from env.network.traffic import run as traffic  # noqa: E402
from env.network.traffic.program import Program  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

KINDS = {"virtual": (Gate, VIRTUAL), "real": (Port, REAL), "counted": (Port, COUNTED), "host": (Socket, REAL)}
# by the first word of their names; a path's have others
TOPOLOGIES: dict[str, type[RackTopology | ChainTopology]] = {"rack": RackTopology, "chain": ChainTopology}
TRACING = FilePath("/sys/kernel/tracing")
SETTLE_S = 0.25  # virtual time; twice a run, of the second that Clock.preparation_s has
SEED_LEAD_NS = 1_000_000  # before the origin: when the preparation, and the deferred work after it, have ended
RT_RUNTIME = FilePath("/proc/sys/kernel/sched_rt_runtime_us")
LAB_SEED = FilePath("/sys/module/random/parameters/lab_seed")
SLOTS = FilePath("/sys/module/tcp_ndm/parameters/slots")
FIRMWARE = FilePath("/sys/module/firmware_class/parameters/path")  # the folder in which the kernel looks first
TRACE_BUFFER_KB = 65536


class Agent:
    """The commands: one method for each. Their arguments come from the host's COMMAND frame."""

    def __init__(self, channel: Port | Gate, clock: Clock) -> None:
        self.channel = channel
        self.clock = clock
        self.topology: Topology | RackTopology | ChainTopology | None = None
        self.topologies: dict[str, Topology | RackTopology | ChainTopology] = {}
        self.modules: dict[str, str] = {}
        self._program: Program | None = None

    def load(self, name: str, data: str, parameters: str = "") -> None:
        """Load a kernel module. data: its file, base64, because the guest may not see the host's path."""
        self._give_to_kernel(f"{name}.ko", data, ["insmod"], parameters.split())

    def register(self, name: str, data: str) -> None:
        """Register the congestion controls of a BPF object. data: as in load()."""
        self._give_to_kernel(f"{name}.o", data, ["bpftool", "struct_ops", "register"])

    def _give_to_kernel(self, file_name: str, data: str, command: list[str], arguments: Sequence[str] = ()) -> None:
        content = base64.b64decode(data)
        file = FilePath("/run", file_name)
        file.write_bytes(content)
        try:
            subprocess.run([*command, str(file), *arguments], check=True, capture_output=True, text=True)
        finally:
            file.unlink()
        self.modules[file.stem] = hashlib.sha256(content).hexdigest()

    def set_slot(self, name: str, data: str) -> None:
        """Give a slot of tcp_ndm a model. data: the model file, base64."""
        file = FilePath("/run", f"{name}.bin")
        before = FIRMWARE.read_text().strip()
        file.write_bytes(base64.b64decode(data))
        FIRMWARE.write_text(str(file.parent))
        try:
            SLOTS.write_text(f"+{name} {file.name}")
        finally:
            FIRMWARE.write_text(before or "\0")  # the kernel takes no write without a character
            file.unlink()

    @staticmethod
    def hand_over_trace(name: str, data: str) -> None:
        """Take the text of a trace file that the guest may not see: env/network/traces/handed_over.py."""
        hand_over(name, unpacked(data))

    def build(self, topology: str) -> dict[str, str]:
        """Start Mininet with a topology, or select one that runs. Each topology keeps running, with hosts of its
        own."""
        if topology not in self.topologies:
            make = TOPOLOGIES.get(topology.partition("-")[0])
            self.topologies[topology] = make(topology) if make else Topology(topology, self.clock.burst_us)
        self.topology = self.topologies[topology]
        return {"topology": topology}

    def run(
        self,
        program: str,
        path: dict[str, Any],
        flows: list[dict[str, Any]],
        duration_s: float,
        sample_ms: int = 0,
        trace: bool = False,
        describe: bool = False,
        seed: int | None = None,
        pulse: str | None = None,
    ) -> dict[str, Any]:
        """Apply a path, a rack or a chain, send the flows over it and return the measurements of both ends.

        seed: restarts all randomness of the lab kernel; other kernels have no such seed. pulse: the program that
        measures whether the guest keeps up; its output is `pulse` of the result.
        """
        network = network_from_dict(path)
        self.build(topology_name(network))
        assert self.topology is not None
        if self._program is None:
            self._program = Program(program)
        self.topology.renew(network)
        origin_ns = self.clock.next_origin_ns()
        if seed is not None:
            begin_randomness(seed)
        steps: AbstractContextManager[object] = nullcontext()
        if isinstance(self.topology, Topology):
            self.topology.apply(network, origin_ns)
            steps = Timeline(self.topology, network, origin_ns, duration_s)
        else:
            self.topology.apply(network)
        if seed is not None:
            begin_randomness(seed ^ 1)  # the number of programs that have run so far depends on the previous path
        if trace:
            self._trace(True)
        watch = nullcontext() if pulse is None else Watch(pulse, origin_ns, duration_s)
        with steps, watch:
            result = traffic.run(
                self.topology,
                self._program,
                flows,
                duration_s,
                sample_ms,
                self.channel.fd,
                origin_ns,
                same_instant=self.clock.virtual,
                ready=None if seed is None else functools.partial(begin_randomness, seed ^ 2, origin_ns - SEED_LEAD_NS),
            )
        if isinstance(watch, Watch):
            result["pulse"] = watch.pulse
        if trace:
            self._trace(False)
            lines = (TRACING / "trace").read_text().splitlines()
            result["trace"] = [line for line in lines if "ndm_decision:" in line]
        if describe:
            result["environment"] = self.topology.describe() | {
                "kernel": " ".join(os.uname()[i] for i in (2, 3)),
                "modules": self.modules,
            }
        return result

    def execute(self, node: str, argv: list[str]) -> str:
        """Run a command in a Mininet node and return what it printed."""
        if self.topology is None:
            raise RuntimeError("no network is built: send the command build or run first")
        return in_node(self.topology.net[node], argv)

    def shell(self, command: str) -> dict[str, Any]:
        """Run a shell command in the guest's root namespaces."""
        argv = ["/bin/sh", "-c", command]
        shell = subprocess.run(argv, capture_output=True, text=True, errors="replace", check=False)
        return {"status": shell.returncode, "stdout": shell.stdout, "stderr": shell.stderr}

    def script(self, seed: int | None, date_s: int | None, **program: Any) -> dict[str, Any]:
        """Run a user's program to its end, as script.run() does. seed: of the lab kernel's randomness. date_s: when it
        begins, in seconds since 1970; None: now.

        The host answers each message of script.Exchange; the program begins at a time that does not depend on what the
        guest did before.
        """

        def begin() -> None:
            if seed is not None:
                time.sleep(max(0, self.clock.next_origin_ns() - time.monotonic_ns()) / 1e9)
                begin_randomness(seed)
            if date_s is not None:
                time.clock_settime(time.CLOCK_REALTIME, date_s)

        return script.run(script.Exchange(self.channel), begin=begin, locked=self.clock.virtual, **program)

    def changes(self, folder: str) -> dict[str, None]:
        """Send what the script has changed below a folder, as script.send_changes() does."""
        script.send_changes(script.Exchange(self.channel), folder)
        return {"tar": None}

    @staticmethod
    def _trace(on: bool) -> None:
        if on:
            (TRACING / "buffer_size_kb").write_text(str(TRACE_BUFFER_KB))
            (TRACING / "trace").write_text("")
        enable = TRACING / "events/ndm/ndm_decision/enable"
        if enable.exists():
            enable.write_text("1" if on else "0")


def begin_randomness(seed: int, at_ns: int | None = None) -> None:
    """Seed all randomness of the lab kernel, so that a run does not depend on earlier draws.

    Work that the kernel has deferred, such as the end of an earlier network, draws random numbers, too. Its worker
    threads have a lower priority than the agent, and do it while the agent sleeps: for SETTLE_S, or until at_ns of
    CLOCK_MONOTONIC.
    """
    time.sleep(SETTLE_S if at_ns is None else max(0, at_ns - time.monotonic_ns()) / 1e9)
    os.write(_seed_descriptor(), str(seed).encode())


@functools.cache
def _seed_descriptor() -> int:
    """Return LAB_SEED, opened once."""
    try:
        return os.open(LAB_SEED, os.O_WRONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        variant = os.environ.get("lab_variant")  # noqa: SIM112  (from the kernel's command line)
        target = "sanitizer" if variant == "sanitizer" else "lab-kernel"
        message = f"this lab kernel is too old, it has no {LAB_SEED.name}: rebuild it with `make {target}`"
        raise RuntimeError(message) from None


def answer(commands: dict[str, Callable[..., Any]], request: dict[str, Any], log: KernelLog) -> dict[str, Any]:
    """Carry out one command, and return the payload of the REPLY."""
    log.begin()
    try:
        return {"ok": True, "result": commands[request["call"]](**request["args"])}
    except subprocess.CalledProcessError as error:
        return {"ok": False, "error": f"{' '.join(error.cmd)}: {error.stderr.strip()}{log.said()}"}
    except (LinkError, traffic.TrafficError) as error:  # their messages need no traceback
        return {"ok": False, "error": f"{type(error).__name__}: {error}{log.said()}"}
    except Exception as error:  # the host raises every error of the guest
        message = f"{type(error).__name__}: {error}{log.said()}"
        return {"ok": False, "error": message, "traceback": traceback.format_exc()}


def encode(reply: dict[str, Any]) -> bytes:
    """Return the reply as a REPLY's payload: an error instead of a reply that is too long for one."""
    payload = json.dumps(reply).encode()
    if len(payload) <= schema.FRAME_MAX:
        return payload
    sizes = f"{len(payload) / 2**20:.0f} MiB of results, and the lab returns {schema.FRAME_MAX / 2**20:.0f} at most"
    error = f"the run has {sizes}: take fewer samples (a larger sample_ms), fewer flows or a shorter run"
    return json.dumps({"ok": False, "error": error}).encode()


def main(kind: str, device: str, burst_us: str = "") -> None:
    """Serve until the host closes the channel. burst_us: of bottlenecks, instead of the clock's."""
    make_channel, clock = KINDS[kind]
    if burst_us:
        clock = replace(clock, burst_us=float(burst_us))
    if clock.virtual:
        signal.signal(signal.SIGINT, lambda *_: None)  # of a script, which is root; programs get the usual action
        # With SCHED_FIFO, programs that wake in the same nanosecond run in the order in which they wake, not by the CPU
        # time they have used since the boot. The agent's children inherit it.
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        # else the kernel keeps such programs from running at times: before 6.12 for 50 ms of each second
        RT_RUNTIME.write_text("-1")
        draw_secrets()
    channel = make_channel(device)
    agent, log = Agent(channel, clock), KernelLog()
    time.sleep(max(0.0, clock.uptime_s - time.monotonic()))
    names = "load register set_slot hand_over_trace build run execute shell script changes"
    commands = {name: getattr(agent, name) for name in names.split()}
    while True:
        try:
            request = json.loads(channel.read_command())
        except EOFError:
            return
        channel.write_reply(encode(answer(commands, request, log)))


if __name__ == "__main__":
    main(*sys.argv[1:])
