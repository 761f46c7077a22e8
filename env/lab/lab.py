"""What every lab can do: boot a guest, run commands in it, send flows over a network, control learning flows."""

from __future__ import annotations

import base64
from abc import ABC, abstractmethod
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, Self

from env.checkout import BUILD
from env.lab.errors import BrokenFrame, GuestDied, GuestFailed, GuestHung, LabError, LabMissing, ModuleInTheWay
from env.lab.module_files import content_of, is_handed_over
from env.lab.process import GuestProcess
from env.lab.protocol import Frame, FrameReader, Reply, RolloutPlan, action_frame, command_frame, plan_frame
from env.lab.result import RunResult
from env.network.traces.format import file_text
from env.network.traces.handed_over import packed

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterable, Sequence
    from types import TracebackType

    from env.network.networks import Network

GUEST = FilePath(__file__).resolve().parent / "guest"
PROGRAM = BUILD / "flow"


def require_files(files: Iterable[FilePath], target: str) -> None:
    """Raise LabMissing for the first file that does not exist. target: the make target that builds them."""
    for file in files:
        if not file.is_file():
            raise LabMissing(f"{file} does not exist: run `make {target}`")


class Lab(ABC):
    """A guest with a network of its own, and the agent in it (env/lab/guest/agent.py).

    modules: kernel modules to load before the first command, as names in modules_folder or paths of .ko files.
    modules_target: the make target that builds them. timeout_s: wall seconds without an answer after which the guest
    counts as hung; a run gives no answer before its end.

    The guest ends with close(), with the `with` block, or with the last reference to the lab. Raises LabMissing when a
    module does not exist.
    """

    builtin: FilePath | None = None  # the kernel's modules.builtin; None where the guest knows what modprobe needs

    def __init__(
        self, *, modules: Sequence[str | FilePath], modules_folder: FilePath, modules_target: str, timeout_s: float
    ) -> None:
        self.timeout_s = timeout_s
        self._modules_folder = modules_folder
        self._modules_target = modules_target
        self._boot_modules = [self._module_file(module) for module in modules]
        self.modules = list(self._boot_modules)
        self._parameters: dict[FilePath, str] = {}  # of modules that have some
        self._pending_modules: list[FilePath] = []
        self._handed_over: dict[str, str] = {}  # texts of trace files that the guest has
        self._slots: dict[str, bytes] = {}  # models of tcp_ndm's slots that were set
        self._process: GuestProcess | None = None
        self._frames = FrameReader()

    @abstractmethod
    def _check_files(self) -> None:
        """Raise LabMissing when a file that the guest needs does not exist."""

    @abstractmethod
    def _spawn(self, channel: socket.socket, console: int, core: int) -> int:
        """Start the guest's process: the argument of env.lab.process.GuestProcess."""

    def _seed_of_run(self, seed: int | None) -> int | None:  # noqa: ARG002 (the virtual lab's)
        """Return the seed of the guest's randomness in the next run; None for a kernel that has no such seed."""
        return None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- the guest -----------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Boot the guest if it is not running. Returns at once, so that labs boot side by side; the first command
        waits.

        Raises LabMissing when the kernel, the modules or the traffic program do not exist.
        """
        if self._process is not None:
            return
        self._check_files()
        self._process = GuestProcess(self._spawn)
        self._frames = FrameReader()
        self._pending_modules = list(self.modules)
        self._handed_over, self._slots = {}, {}

    def close(self) -> None:
        """End the guest. Safe to call twice."""
        if self._process is not None:
            self._process.close()
            self._process = None

    def restart(self) -> None:
        """Boot a fresh guest, with the modules of the constructor alone."""
        self.close()
        self.modules, self._parameters = list(self._boot_modules), {}
        self.start()

    @property
    def pid(self) -> int:
        """The guest's host process, which leads a group of all processes of the lab; 0 when it does not run."""
        return 0 if self._process is None else self._process.pid

    def end_programs(self) -> None:  # noqa: B027 (only the virtual lab can)
        """Kill all programs of a guest that gives no sign of life, but the agent."""

    def console(self) -> str:
        """Return the guest's last console lines."""
        return "" if self._process is None else self._process.console()

    # -- commands ------------------------------------------------------------------------------------------------

    def call(self, command: str, /, **args: Any) -> Any:
        """Have the agent carry out a command, and return its result.

        Raises GuestFailed with the guest's traceback, GuestDied, GuestHung.
        """
        self.begin(command, **args)
        return self._receive_reply(command)

    def begin(self, command: str, /, **args: Any) -> None:
        """Send a command. receive() then returns the observations of learning flows and, at the end, the Reply."""
        self._load_modules()
        self._send(command_frame(command, args))

    def load(self, module: str | FilePath, parameters: str = "") -> None:
        """Load a kernel module, given as in the constructor's modules, or a BPF object (.o), if it is not loaded.

        parameters: as insmod takes them, such as "beta=717 fast=1". Raises ModuleInTheWay when another file of the same
        name, or the same with other parameters, is loaded, and when the kernel has what the module registers.
        """
        file = self._module_file(module)
        loaded = next((loaded for loaded in self.modules if loaded.stem == file.stem), None)
        if loaded is None:
            self._load(file, parameters)
            self.modules.append(file)
            self._parameters[file] = parameters
        elif loaded != file:
            raise ModuleInTheWay(f"{file} cannot be loaded beside {loaded}: the kernel takes each module name once")
        elif self._parameters.get(file, "") != parameters:
            raise ModuleInTheWay(f"{file} is loaded with other parameters: the kernel takes each module name once")

    def set_slot(self, name: str, model: bytes) -> None:
        """Give a slot of tcp_ndm, which is loaded, a model, if it has another one. A new slot is a congestion control.

        name: ndm, or another of at most 15 characters that begins with ndm_. model: the content of a model file. Raises
        ModuleInTheWay when tcp_ndm has no room for another slot.
        """
        if self._slots.get(name) == model:
            return
        try:
            self.call("set_slot", name=name, data=base64.b64encode(model).decode())
        except GuestFailed as error:
            if "No space left" in str(error):
                raise ModuleInTheWay(f"tcp_ndm has no room for the slot {name}") from error
            raise
        self._slots[name] = model

    def _module_file(self, module: str | FilePath) -> FilePath:
        file = FilePath(module)
        if file.suffix not in (".ko", ".o"):
            file = self._modules_folder / f"{module}.ko"
        if is_handed_over(file):
            return file
        require_files([file], self._modules_target)
        return file.resolve()

    def _load_modules(self) -> None:
        pending, self._pending_modules = self._pending_modules, []
        for module in pending:
            self._load(module)

    def _load(self, module: FilePath, parameters: str = "") -> None:
        options = {"parameters": parameters} if parameters else {}
        data = base64.b64encode(content_of(module)).decode()
        try:
            self.call("load" if module.suffix == ".ko" else "register", name=module.stem, data=data, **options)
        except GuestFailed as error:
            if "File exists" in str(error):
                raise ModuleInTheWay(f"{module} registers what the kernel has already") from error
            raise

    # -- runs ----------------------------------------------------------------------------------------------------

    def run(self, path: Network, flows: Sequence[dict[str, Any]], duration_s: float, **options: Any) -> RunResult:
        """Run flows to their end; options: of begin_run().

        Raises LabError for a learning flow (ndm_gym), whose decisions need begin_run(), receive() and act().
        """
        self.begin_run(path, flows, duration_s, **options)
        return RunResult.from_reply(self._receive_reply("run"))

    def begin_run(
        self,
        path: Network,
        flows: Sequence[dict[str, Any]],
        duration_s: float,
        *,
        seed: int | None = None,
        plan: RolloutPlan | None = None,
        **options: Any,
    ) -> None:
        """Send a `run` command.

        seed: the run gives the same result as the first run of a lab with this seed; only the virtual lab uses it.
        plan: the guest decides for the learning flows; receive() returns a Record of their decisions, then the Reply,
        from which RunResult.from_reply() makes the result. options: sample_ms, trace, describe.
        """
        self._hand_over_traces(path)
        if plan is not None:
            self._load_modules()  # the PLAN frame belongs to the next command, which must not be a `load`
            self._send(plan_frame(plan))
        self.begin(
            "run",
            program=str(PROGRAM),
            path=path.as_dict(),
            flows=list(flows),
            duration_s=duration_s,
            seed=self._seed_of_run(seed),
            **options,
        )

    def begin_script(self, **program: Any) -> None:
        """Send a `script` command; env/lab/script.py takes turns with the guest until the script ends.

        The first script of a booted virtual lab gives the same output for the same seed. program: of run() in
        env/lab/guest/script.py.
        """
        self.begin("script", seed=self._seed_of_run(None), **program)

    def _hand_over_traces(self, path: Network) -> None:
        """Give the guest the path's trace files, which it may not see."""
        for name in path.trace_files:
            text = file_text(name)
            if self._handed_over.get(name) != text:
                self.call("hand_over_trace", name=name, data=packed(text))
                self._handed_over[name] = text

    # -- frames --------------------------------------------------------------------------------------------------

    def receive(self) -> Frame:
        """Wait for the next frame. Raises GuestFailed, GuestDied, GuestHung."""
        process = self._running()
        try:
            while (frame := self._frames.next_frame()) is None:
                self._frames.feed(process.read(self.timeout_s))
        except (GuestDied, GuestHung, BrokenFrame) as error:
            raise self._ended_with(error) from None
        return frame

    def act(self, growth: float, pacing: float, *, stop: bool = False) -> None:
        """Answer the last observation. Actions in [-1, 1]; values outside are clipped."""
        self._send(action_frame(growth, pacing, stop))

    def fileno(self) -> int:
        """Return the channel's descriptor, for select."""
        return self._running().fileno()

    def _receive_reply(self, command: str) -> Any:
        frame = self.receive()
        if not isinstance(frame, Reply):
            raise LabError(
                f"{command}: a learning flow asked for a decision; use begin() or begin_run(), receive() and act()"
            )
        return frame.result

    def _send(self, frame: bytes) -> None:
        try:
            self._running().write(frame)
        except GuestDied as error:
            raise self._ended_with(error) from None

    def _running(self) -> GuestProcess:
        if self._process is None:
            raise LabError("the lab is not running: call start() or use it as a context manager")
        return self._process

    def _ended_with(self, error: LabError) -> LabError:
        """End the guest and return its error with the last console lines."""
        console = self.console()
        self.close()
        kind = LabError if isinstance(error, BrokenFrame) else type(error)
        return kind(f"{error}. Its last console lines:\n{console or '(none)'}")
