"""The models of the zoo, datasets/models/NAME, and the one way to find a trained model by name.

A model is named by ``mixed`` or ``ndm@mixed`` (the zoo), by ``NAME`` of a run in runs/, or by a path. export.pipeline
adds rules and single checkpoint files.
"""

from __future__ import annotations

from pathlib import Path

from env.checkout import DATASETS, RUNS
from env.errors import UserError, did_you_mean, suggest
from export.checkpoint import FILE_NAME, all_runs

ZOO = DATASETS / "models"
PREFIX = "ndm@"  # of a model where schemes stand beside it


def zoo_names(zoo: Path = ZOO) -> list[str]:
    """Return the sorted names of the models of the zoo."""
    return sorted(file.parent.name for file in zoo.glob(f"*/{FILE_NAME}"))


def plain_name(name: str) -> str:
    """Return the name of a model without the scheme before it: ``mixed`` for ``ndm@mixed``."""
    return name.removeprefix(PREFIX)


def find_run(name: str, runs: Path = RUNS, zoo: Path = ZOO) -> Path:
    """Return the folder of a model of the zoo or of a run, given its name or path.

    Raises UserError, which names similar ones, also for a name that the zoo and runs/ both have.
    """
    name = plain_name(name)
    folders = [folder for folder in (Path(name), runs / name) if folder.is_dir()]
    if name in zoo_names(zoo):
        own = [folder for folder in folders if (folder / FILE_NAME).is_file()]
        if own:
            raise UserError(
                f"{name!r} is a model of the zoo and a run: give the path, {_short(zoo / name)} or "
                f"{_short(own[0].absolute())}"
            )
        return zoo / name
    if folders:
        return folders[0]
    shipped = f"the models of the zoo are {', '.join(zoo_names(zoo))}"
    known = [run.name for run in all_runs(runs)]
    if not known:
        similar = suggest(Path(name).name, zoo_names(zoo))
        raise UserError(
            f"there is no run {name!r}{similar}{runs} holds no checkpoint yet (train one with "
            f"`python train.py`), and {shipped}"
        )
    hint = did_you_mean(Path(name).name, [*known, *zoo_names(zoo)]) or f"the latest are {', '.join(known[:5])}"
    raise UserError(f"there is no run {name!r} in {runs}; {hint.strip()}; {shipped}")


def find_checkpoint(name: str) -> Path:
    """Return what checkpoint.load() takes: a checkpoint file, or the folder of find_run(). Raises UserError."""
    file = Path(plain_name(name))
    return file if file.is_file() else find_run(name)


def _short(path: Path) -> str:
    return str(path.relative_to(DATASETS.parent)) if path.is_relative_to(DATASETS.parent) else str(path)
