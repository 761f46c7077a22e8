"""The virtual lab: one user-mode Linux kernel in virtual time, and the channel to the agent in it."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import signal
import socket
import struct
import time
import weakref
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from env import schema
from env.checkout import BUILD
from env.lab.core import Core
from env.lab.errors import GuestDied, GuestFailed, GuestHung, LabError, LabMissing

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from env.network.path import Path
    from env.network.rack import Rack

GUEST = FilePath(__file__).resolve().parent / "guest"
KERNEL = BUILD / "lab-kernel" / "linux"
MODULES = BUILD / "modules" / "lab"
PROGRAM = BUILD / "flow"
PROBE = BUILD / "probe"
# What makes a variant's kernel and its modules.
VARIANTS = {"lab": ("lab-kernel", "module"), "sanitizer": ("sanitizer", "sanitizer")}

CHANNEL_FD = 3  # lab_gate.ko looks for the channel there
CONSOLE_LINES = 50  # a panic of 6.1 takes 35, and why it panicked stands above them
PATIENCE_S = 1.0  # how often a silent guest is looked at
# Virtual time begins here, so that certificates, file times and TCP time stamps are the same in every run.
EPOCH_S = 1_700_000_000

# A guest leads a group of its own and does not hear of Ctrl-C; who owns the lab ends it.
SPAWN_OPTIONS: dict[str, Any] = {
    "setpgroup": 0,
    "setsigmask": [],
    "setsigdef": [signal.SIGINT, signal.SIGPIPE],
}

_ACTION_SCALE = 1 << schema.ACTION_FRAC
_ACTION_HEADER = schema.FRAME_HEADER.pack(schema.ACTION.size, schema.FRAME_ACTION, 0)
STEP = np.dtype(schema.STEP_DTYPE)
_N_OBSERVATION_HEAD = len(schema.OBSERVATION_FIELDS) - 1  # all fields in front of the features


class Observation(NamedTuple):
    """One decision's frame: fields and units as in schema.OBSERVATION_FIELDS, then the features (Q12)."""

    now_us: int
    bytes_acked: int
    pacing_rate: int
    flow: int
    decision: int
    interval_us: int
    rtt_us: int
    srtt_us: int
    min_rtt_us: int
    cwnd: int
    inflight: int
    delivered: int
    lost: int
    retransmitted: int
    mss: int
    features: tuple[int, ...]
    ca_state: int


class Reply(NamedTuple):
    """What the agent answered to a command."""

    result: Any


class Record(NamedTuple):
    """What the learning flows of a run did: one row of schema.STEP_DTYPE for each decision, in order of time."""

    steps: npt.NDArray[np.void]


class Play(NamedTuple):
    """What the learning flows of a run do, without asking: `begin_run(play=...)`.

    model: a model file (export.blob). noise: int16 [flow, decision, action], ACTION_FRAC fraction bits, added to what
    the model says; silence beyond its end. snapshot: a model file for the flows of ndm_snapshot, which have no noise
    and are not recorded; without it they hold their windows. The run ends `duration_s` after the first observation, or
    with so many steps (observations of all flows together), or with a window beyond `most_cwnd` packets. started: the
    flows, counted from 0 as they open, that have their start (kernel/ndm_start.h) behind them with the first decision.
    """

    model: bytes
    noise: npt.NDArray[np.int16]
    steps: int
    duration_s: float
    most_cwnd: int = (1 << 32) - 1
    snapshot: bytes = b""
    started: tuple[int, ...] = ()

    def payload(self) -> bytes:
        """Return the payload of a PLAY frame."""
        flows, decisions, _ = self.noise.shape
        duration_us = round(self.duration_s * 1e6)
        sizes = (len(self.model), self.most_cwnd, len(self.snapshot))
        started = sum(1 << flow for flow in self.started)
        head = schema.PLAY.pack(duration_us, started, self.steps, flows, decisions, *sizes)
        return head + self.model + self.snapshot + self.noise.astype("<i2").tobytes()


def console_actions(console: int) -> list[tuple[Any, ...]]:
    """Return what a guest's process finds in place of the terminal: nothing to read, and the console's file."""
    return [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_DUP2, console, 1),
        (os.POSIX_SPAWN_DUP2, console, 2),
    ]


class VirtualLab:
    """A lab kernel with a seed; the n-th run of a seed gives the same bytes, whatever the lab did before it.

    seed: of all randomness in the guest. modules: kernel modules to load, names of build/modules/lab or paths of .ko
    files; tcp_ndm_gym, the gate and sch_linktrace are always there. memory_mb: of the guest, taken as it is touched.
    timeout_s: wall seconds without any answer after which the guest counts as hung. variant: "lab", or "sanitizer" for
    the kernel that `make sanitizer` builds, with modules of its own. kernel: another image for the variant's modules.

    The process, its memory and its channel end with close(), with the `with` block, or with the last reference.
    """

    def __init__(
        self,
        *,
        seed: int,
        modules: Sequence[str | FilePath] = (),
        memory_mb: int = 512,
        timeout_s: float = 120.0,
        variant: str = "lab",
        kernel: FilePath | None = None,
    ) -> None:
        if not 0 <= seed < 2**63:
            raise LabError(f"seed is {seed}; it must lie between 0 and 2**63 - 1")
        self.seed = seed
        self.memory_mb = memory_mb
        self.timeout_s = timeout_s
        if variant not in VARIANTS:
            raise LabError(f"lab variant {variant!r} is unknown; it is one of {', '.join(VARIANTS)}")
        self.variant = variant
        self.kernel = kernel or KERNEL.parents[1] / f"{variant}-kernel" / KERNEL.name
        self._modules_folder = MODULES.with_name(variant)
        self.modules = [self._module_file(module) for module in modules]
        self._channel: socket.socket | None = None
        self._console = -1
        self._pid = 0
        self._buffer = bytearray()
        self._runs = 0
        self._unloaded: list[FilePath] = []
        self._finalizer: weakref.finalize[..., VirtualLab] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- life ----------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Boot. Returns at once: several labs boot side by side; the first command waits for the guest.

        Raises LabMissing when the kernel, the modules or the traffic program are not there.
        """
        if self._channel is not None:
            return
        self._check_files()
        ours, theirs = socket.socketpair()
        console = os.memfd_create("ndm-lab-console")
        core = Core()
        try:
            self._pid = self._spawn(theirs, console, core)
        except BaseException:
            ours.close()
            os.close(console)
            core.close()
            raise
        finally:
            theirs.close()
        self._channel, self._console = ours, console
        seconds, fraction = divmod(PATIENCE_S, 1)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", int(seconds), int(fraction * 1e6)))
        self._finalizer = weakref.finalize(self, _end, os.getpid(), self._pid, ours, console, core)
        self._buffer.clear()
        self._runs = 0
        self._unloaded = list(self.modules)

    def _check_files(self) -> None:
        """Raise LabMissing for what the guest needs and is not there."""
        kernel_target, module_target = VARIANTS[self.variant]
        for file, target in (
            (self.kernel, kernel_target),
            (self._modules_folder / "tcp_ndm_gym.ko", module_target),
            (self._modules_folder / "lab_gate.ko", module_target),
            (self._modules_folder / "sch_linktrace.ko", module_target),
            (PROGRAM, "module"),
            (PROBE, "module"),
        ):
            if not file.is_file():
                raise LabMissing(f"{file} does not exist: run `make {target}`")
        if not os.access(self.kernel, os.X_OK):
            raise LabMissing(f"{self.kernel} cannot be executed: run `chmod +x {self.kernel}`")

    def _spawn(self, channel: socket.socket, console: int, core: Core) -> int:
        """Start the guest's process with the channel and the console; returns its id, that of a new group."""
        # the guest finds init.sh and, through it, everything else by the working directory of its host process
        return os.posix_spawn(
            "/usr/bin/env",
            [
                *("env", "-C", str(GUEST), "taskset", "--cpu-list", str(core.number), "setarch", "-R"),
                *(str(self.kernel), *self._arguments()),
            ],
            {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "TMPDIR": _memory_folder()},
            file_actions=[*console_actions(console), (os.POSIX_SPAWN_DUP2, channel.fileno(), CHANNEL_FD)],
            **SPAWN_OPTIONS,
        )

    def _module_file(self, module: str | FilePath) -> FilePath:
        file = FilePath(module)
        if file.suffix != ".ko":
            file = self._modules_folder / f"{module}.ko"
        if not file.is_file():
            raise LabMissing(f"kernel module {file} does not exist: run `make {self._modules_target()}`")
        return file.resolve()

    def _modules_target(self) -> str:
        return VARIANTS[self.variant][1]

    def _arguments(self) -> list[str]:
        """Return the kernel's command line. It feeds the random pool: nothing here may differ between machines."""
        return [
            f"mem={self.memory_mb}M",
            "rootfstype=hostfs",
            "rootflags=/",
            "ro",
            "init=/proc/self/cwd/init.sh",
            "time-travel=inf-cpu",
            f"time-travel-start={EPOCH_S}",
            "random.trust_bootloader=on",
            f"lab_seed={self.seed}",
            "norandmaps",
            # no folder for the management console: it is not used, and nothing is left behind when the lab is killed
            "uml_dir=/proc/self",
            "con=null",
            "con0=null,fd:2",
            "con1=null",
            # a guest that panics or reboots ends
            "panic=-1",
            "noreboot",
            "quiet",
            # init.sh takes the modules of this variant
            *([] if self.variant == "lab" else [f"lab_variant={self.variant}"]),
        ]

    def close(self) -> None:
        """End the guest. Safe to call twice."""
        if self._finalizer is not None:
            self._finalizer()
            self._finalizer = None
        self._channel = None

    @property
    def pid(self) -> int:
        """The kernel's process, which leads a group of all processes of the lab; 0 before start()."""
        return self._pid

    def fileno(self) -> int:
        """Return the channel's descriptor, for select; see has_frame() for what is already here."""
        return self._open_channel().fileno()

    def console(self) -> str:
        """Return the guest's last console lines."""
        if self._console < 0 or self._channel is None:
            return ""
        size = os.fstat(self._console).st_size
        text = os.pread(self._console, 16384, max(0, size - 16384)).decode(errors="replace")
        return "\n".join(text.splitlines()[-CONSOLE_LINES:])

    # -- commands ------------------------------------------------------------------------------------------------

    def call(self, command: str, /, **args: Any) -> Any:
        """Have the agent carry out a command and return its result.

        Raises GuestFailed with the guest's traceback, GuestDied, GuestHung.
        """
        self.begin(command, **args)
        frame = self.receive()
        if not isinstance(frame, Reply):
            raise LabError(f"{command}: a learning flow asked for a decision; use begin(), receive() and act()")
        return frame.result

    def begin(self, command: str, /, **args: Any) -> None:
        """Send a command; receive() gives the observations of learning flows and at last the Reply."""
        self._load_modules()
        self._send_frame(schema.FRAME_COMMAND, json.dumps({"call": command, "args": args}).encode())

    def load(self, module: str | FilePath) -> None:
        """Load a kernel module, unless it has been loaded; as in the constructor's modules.

        Raises LabError when another file of that name has been loaded: the kernel takes each name once.
        """
        file = self._module_file(module)
        there = next((loaded for loaded in self.modules if loaded.stem == file.stem), None)
        if there is None:
            self._load(file)
            self.modules.append(file)
        elif there != file:
            raise LabError(f"{file} cannot be loaded: {there} has been, and the kernel takes each name once")

    def _load_modules(self) -> None:
        unloaded, self._unloaded = self._unloaded, []
        for module in unloaded:
            self._load(module)

    def _load(self, module: FilePath) -> None:
        self.call("load", name=module.stem, data=base64.b64encode(module.read_bytes()).decode())

    def begin_run(
        self,
        path: Path | Rack,
        flows: Sequence[dict[str, Any]],
        duration_s: float,
        *,
        seed: int | None = None,
        play: Play | None = None,
        **options: Any,
    ) -> None:
        """Send a `run` command; options: sample_ms, trace, describe, until (a file in the guest: ends when it changes).

        seed: this run is the first one of a lab with this seed, whatever the lab did before. play: the learning flows
        do this; receive() gives a Record of it, then the Reply.
        """
        if play is not None:
            self._load_modules()  # each a command, and the play belongs to the next one
            self._send_frame(schema.FRAME_PLAY, play.payload())
        self.begin(
            "run",
            program=str(PROGRAM),
            path=path.as_dict(),
            flows=list(flows),
            duration_s=duration_s,
            seed=self._seed_of_run(seed),
            **options,
        )

    def probe(self, path: Path, **pattern: int) -> dict[str, Any]:
        """Send packets without TCP over the path; the pattern and what is returned: env/network/topology/packets.py."""
        result: dict[str, Any] = self.call(
            "probe", program=str(PROBE), path=path.as_dict(), seed=self._seed_of_run(None), **pattern
        )
        return result

    def _seed_of_run(self, seed: int | None) -> int | None:
        """Return what the guest's randomness of a run begins with: of the seed, and of nothing else.

        seed: None stands for the lab's, with how many runs it has made.
        """
        if seed is not None:
            return _run_seed(seed, 1)
        self._runs += 1
        return _run_seed(self.seed, self._runs)

    def run(
        self, path: Path | Rack, flows: Sequence[dict[str, Any]], duration_s: float, **options: Any
    ) -> dict[str, Any]:
        """Run flows to their end and return the result as docs/architecture.md describes it.

        Samples are arrays (rows, columns) float64. A learning flow (ndm_gym) cannot run here: nobody would decide.
        """
        self.begin_run(path, flows, duration_s, **options)
        frame = self.receive()
        if not isinstance(frame, Reply):
            raise LabError("run: a learning flow asked for a decision; use begin_run(), receive() and act()")
        return decode_run(frame.result)

    def act(self, cwnd_log2: float, pacing: float, *, stop: bool = False) -> None:
        """Answer the last observation. Actions in [-1, 1]; values outside are clipped."""
        a = round(min(max(cwnd_log2, -1.0), 1.0) * _ACTION_SCALE)
        b = round(min(max(pacing, -1.0), 1.0) * _ACTION_SCALE)
        self._send(_ACTION_HEADER + schema.ACTION.pack(a, b, stop, False))

    def receive(self) -> Observation | Record | Reply:
        """Wait for the next frame. Raises GuestFailed, GuestDied, GuestHung."""
        while True:
            frame = self._next_frame()
            if frame is not None:
                return frame
            self._fill()

    def has_frame(self) -> bool:
        """True when receive() would not read from the channel."""
        if len(self._buffer) < schema.FRAME_HEADER.size:
            return False
        length: int = schema.FRAME_HEADER.unpack_from(self._buffer)[0]
        return len(self._buffer) >= schema.FRAME_HEADER.size + length

    # -- frames --------------------------------------------------------------------------------------------------

    def _open_channel(self) -> socket.socket:
        if self._channel is None:
            raise LabError("the lab is not running: call start() or use it as a context manager")
        return self._channel

    def _send_frame(self, kind: int, payload: bytes) -> None:
        self._send(schema.FRAME_HEADER.pack(len(payload), kind, 0) + payload)

    def _send(self, frame: bytes) -> None:
        try:
            self._open_channel().sendall(frame)
        except (BrokenPipeError, ConnectionResetError):
            raise self._died() from None

    def _fill(self) -> None:
        """Read what is there into the buffer, waiting for at least a byte."""
        channel = self._open_channel()
        deadline = time.monotonic() + self.timeout_s
        while True:
            try:
                data = channel.recv(1 << 18)
            except BlockingIOError:
                if _has_ended(self._pid):
                    raise self._died() from None
                if time.monotonic() > deadline:
                    raise self._failed(GuestHung, f"the guest gave no answer within {self.timeout_s:g} s") from None
                continue
            except ConnectionResetError:
                raise self._died() from None
            if not data:
                raise self._died()
            self._buffer += data
            return

    def _next_frame(self) -> Observation | Record | Reply | None:
        buffer = self._buffer
        head = schema.FRAME_HEADER.size
        if len(buffer) < head:
            return None
        length, kind, _ = schema.FRAME_HEADER.unpack_from(buffer)
        if length > schema.FRAME_MAX:
            raise self._failed(LabError, f"broken frame from the guest: kind {kind}, {length} bytes")
        if len(buffer) < head + length:
            return None
        if kind == schema.FRAME_OBSERVATION and length == schema.OBSERVATION.size:
            fields = schema.OBSERVATION.unpack_from(buffer, head)
            del buffer[: head + length]
            n = _N_OBSERVATION_HEAD
            features = fields[n : n + len(schema.FEATURES)]
            return Observation._make((*fields[:n], features, fields[n + len(schema.FEATURES)]))
        if kind == schema.FRAME_RECORD and length % STEP.itemsize == 0:
            steps = np.frombuffer(bytes(buffer[head : head + length]), STEP)
            del buffer[: head + length]
            return Record(steps)
        if kind != schema.FRAME_REPLY:
            raise self._failed(LabError, f"broken frame from the guest: kind {kind}, {length} bytes")
        reply = json.loads(bytes(buffer[head : head + length]))
        del buffer[: head + length]
        if not reply["ok"]:
            trace = f"\n--- in the guest ---\n{reply['traceback']}" if "traceback" in reply else ""
            raise GuestFailed(f"{reply['error']}{trace}")
        return Reply(reply["result"])

    def _died(self) -> LabError:
        deadline = time.monotonic() + 5
        while not _has_ended(self._pid) and time.monotonic() < deadline:
            time.sleep(0.01)
        return self._failed(GuestDied, "the lab kernel ended")

    def _failed(self, kind: type[LabError], what: str) -> LabError:
        console = self.console()
        self.close()
        return kind(f"{what}. Its last console lines:\n{console or '(none)'}")


def _run_seed(lab_seed: int, run: int) -> int:
    return int.from_bytes(hashlib.sha256(f"{lab_seed} {run}".encode()).digest()[:8])


def decode_run(result: dict[str, Any]) -> dict[str, Any]:
    """Return a `run` result with each flow's samples as an array (rows, columns), the flow's index dropped.

    The queue's samples are one array.
    """
    for side in ("sender", "receiver"):
        packed = result.pop(side, None)
        if packed is None:
            continue
        columns = packed["columns"]
        table = np.frombuffer(base64.b64decode(packed["data"])).reshape(-1, len(columns))
        for i, flow in enumerate(result["flows"]):
            flow[side] = {"columns": columns[1:], "rows": table[table[:, 0] == i, 1:]}
    if "queue" in result:
        columns = result["queue"]["columns"]
        rows = np.frombuffer(base64.b64decode(result["queue"]["data"])).reshape(-1, len(columns))
        result["queue"] = {"columns": columns, "rows": rows}
    return result


def _memory_folder() -> str:
    """Return where the guest's memory lies: a file without a name, in memory where there is room for it."""
    shared = "/dev/shm"
    return shared if os.access(shared, os.W_OK) else "/tmp"


def _has_ended(pid: int) -> bool:
    """True when the process is a zombie or gone; it stays to be reaped by _end()."""
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


def _end(owner: int, pid: int, channel: socket.socket, console: int, core: Core) -> None:
    """Kill the guest with all its processes, reap it, close what belongs to it. A forked child only closes."""
    channel.close()
    core.close()
    if os.getpid() != owner:
        os.close(console)
        return
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    try:
        os.waitpid(pid, 0)
    except ChildProcessError:
        pass
    os.close(console)
