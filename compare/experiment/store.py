"""The files of a comparison::

    DIR/experiment.json                            the experiment; a folder holds only one
    DIR/runs/SCENARIO/SCHEME/seed-001/             a finished run: compare/experiment/run_files.py
    DIR/runs/SCENARIO/SCHEME/seed-001.error.txt    the error of a failed run
    DIR/traces/SHA256.trace                     each trace file of the user
    DIR/summary.csv, environment.json, report.html

Files and folders of runs are written under a temporary name and then renamed, so they are always complete. The hashes
in run.json detect later damage.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from compare.experiment.experiment import Experiment, Run, from_identity
from compare.experiment.run_files import check, unpack
from compare.experiment.trace_files import ending, user_files
from env.errors import UserError, in_context
from env.files import FolderInUse, locked, regular, write_atomically
from env.lab import RunResult
from env.network.traces.format import read_text
from env.network.traces.handed_over import hand_over

EXPERIMENT = "experiment.json"


class DamagedRun(UserError):
    """The files of a run have changed since they were written; the command that made the run makes it again."""


class Store:
    """The folder of one comparison."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextlib.contextmanager
    def claim(self, experiment: Experiment) -> Iterator[None]:
        """Lock the folder for this experiment while its runs are made.

        Raises UserError when the folder holds anything else, or another process works in it.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"output_dir {self.folder} cannot be used: {error.strerror}") from error
        try:
            with locked(self.folder):
                self._check_same(experiment)
                self.write(EXPERIMENT, json.dumps(experiment.identity(), indent=1).encode() + b"\n")
                yield
        except FolderInUse:
            raise UserError(
                f"another compare.py is at work in {self.folder}; wait for it, or give another output_dir"
            ) from None

    def _check_same(self, experiment: Experiment) -> None:
        file = self.folder / EXPERIMENT
        if not file.exists():
            names = sorted(path.name for path in self.folder.iterdir())
            if names:
                raise UserError(
                    f"output_dir {self.folder} holds {', '.join(names[:5])} and no {EXPERIMENT}: it is not the folder "
                    f"of a comparison; give an empty or new one"
                )
            return
        stored, wanted = self._identity(), json.loads(json.dumps(experiment.identity()))
        differing = [key for key in wanted if stored.get(key) != wanted[key]]
        if differing:
            details = "; ".join(f"{key}: {_difference(stored.get(key), wanted[key])}" for key in differing)
            raise UserError(
                f"output_dir {self.folder} holds another experiment ({details}). Nothing was changed: give another "
                f"output_dir, or the same settings to go on with that one"
            )

    def _identity(self) -> dict[str, Any]:
        file = regular(self.folder / EXPERIMENT)
        try:
            identity = json.loads(file.read_text())
        except OSError as error:
            raise UserError(
                f"{self.folder} is not the folder of a comparison: {file}: {error.strerror}; give the output_dir of one"
            ) from error
        except ValueError as error:
            raise UserError(
                f"{file} is damaged ({error}), so the runs cannot be identified: delete the folder and compare again"
            ) from error
        if not isinstance(identity, dict):
            raise UserError(f"{file} is damaged: it holds no experiment; delete the folder and compare again")
        return identity

    def experiment(self) -> Experiment:
        """Return the stored experiment; raises UserError."""
        return from_identity(self._identity())

    def environment(self) -> dict[str, Any]:
        """Return the content of environment.json; empty when the comparison was interrupted before its end."""
        file = self.folder / "environment.json"
        if not file.is_file():
            return {}
        try:
            environment = json.loads(file.read_text())
        except (OSError, ValueError) as error:
            raise UserError(f"{file} is damaged: {error}; delete it and call the same command again") from error
        return environment if isinstance(environment, dict) else {}

    def write(self, name: str, data: bytes) -> Path:
        """Write DIR/name atomically. Raises UserError (full disk, no permission); the old file then stays."""
        path = self.folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, data)
        except (UserError, OSError) as error:
            reason = f"cannot write {path}: {error.strerror}" if isinstance(error, OSError) else error
            raise UserError(f"{reason}; everything written before is kept") from error
        return path

    # -- trace files ---------------------------------------------------------------------------------------------

    def keep_traces(self, experiment: Experiment) -> None:
        """Store the user's trace files, so that the report can be written again without them. Raises UserError."""
        for name, sha256 in user_files(experiment.binaries).items():
            if not (self.folder / _trace_copy(name, sha256)).is_file():
                self.write(_trace_copy(name, sha256), Path(name).read_bytes())

    def restore_traces(self, experiment: Experiment) -> None:
        """Use the stored trace files in place of the user's, which may be gone or changed. Raises UserError."""
        for name, sha256 in user_files(experiment.binaries).items():
            with in_context(f"the comparison's copy of trace {name}"):
                hand_over(name, read_text(self.folder / _trace_copy(name, sha256)))

    # -- runs ----------------------------------------------------------------------------------------------------

    def run_name(self, run: Run) -> str:
        """Return the run's path within the folder, without its ending."""
        return f"runs/{run.scenario.name}/{_folder_name(run.scheme.name)}/seed-{run.seed:03d}"

    def is_done(self, run: Run) -> bool:
        """True when the run's result is stored and undamaged."""
        return self._undamaged(run) is not None

    def save(self, run: Run, files: Mapping[str, bytes]) -> None:
        """Store a run's files, the result of run_files.pack(), in place of damaged ones; raises UserError."""
        folder = self.folder / self.run_name(run)
        temporary = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}.tmp")
        try:
            temporary.mkdir(parents=True)
            for name, content in files.items():
                (temporary / name).write_bytes(content)
            shutil.rmtree(folder, ignore_errors=True)
            temporary.rename(folder)
        except OSError as error:
            raise UserError(f"cannot write {folder}: {error.strerror}; everything written before is kept") from error
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        folder.with_name(f"{folder.name}.error.txt").unlink(missing_ok=True)

    def copy(self, run: Run, other: Store) -> bool:
        """Store a run of another comparison; False if that has none, or a damaged one. Raises UserError."""
        files = other._undamaged(run)
        if files is not None:
            self.save(run, files)
        return files is not None

    def save_error(self, run: Run, error: str) -> None:
        """Store the error of a failed run; raises UserError."""
        self.write(f"{self.run_name(run)}.error.txt", error.encode())

    def load(self, run: Run) -> RunResult | None:
        """Return a run's result; None when it is not stored. Raises DamagedRun."""
        try:
            files = self._read(run)
            return None if files is None else unpack(files)
        except (OSError, UserError) as error:
            raise DamagedRun(f"{self.folder / self.run_name(run)}: {error}") from error

    def _undamaged(self, run: Run) -> dict[str, bytes] | None:
        """Return the files of a run by name; None when it is not stored, or damaged."""
        try:
            files = self._read(run)
            if files is not None:
                check(files)
        except (OSError, UserError):
            return None
        return files

    def _read(self, run: Run) -> dict[str, bytes] | None:
        """Return the files of a run by name; None when it is not stored. Raises OSError, UserError."""
        folder = self.folder / self.run_name(run)
        return {file.name: regular(file).read_bytes() for file in folder.iterdir()} if folder.is_dir() else None

    def load_error(self, run: Run) -> str | None:
        """Return the error of a failed run; None when it did not fail."""
        path = self.folder / f"{self.run_name(run)}.error.txt"
        return path.read_text(errors="replace") if path.is_file() else None


def _trace_copy(name: str, sha256: str) -> str:
    """Return where a comparison keeps a trace file, within its folder."""
    return f"traces/{sha256}{ending(name)}"


def _folder_name(scheme: str) -> str:
    """Return a scheme's name as a folder name, with a hash if characters had to be replaced."""
    plain = re.sub(r"[^A-Za-z0-9_.-]", "-", scheme)
    return plain if plain == scheme else f"{plain[-60:]}-{hashlib.sha256(scheme.encode()).hexdigest()[:6]}"


def _difference(stored: Any, wanted: Any) -> str:
    """Describe the difference of two values of an identity."""
    if isinstance(stored, dict) and isinstance(wanted, dict):
        names = sorted(name for name in {*stored, *wanted} if stored.get(name) != wanted.get(name))
        return f"{', '.join(names)} not the same"
    if isinstance(stored, list) and isinstance(wanted, list):
        return f"stored {', '.join(map(str, stored))}, wanted {', '.join(map(str, wanted))}"
    return f"stored {stored}, wanted {wanted}"
