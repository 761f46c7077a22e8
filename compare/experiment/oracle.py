"""The oracle's windows: the lab searches the best constant window of each scenario before it runs the matrix.

compare/experiment/window_search.py defines the best window. ``oracle.json`` stores the goodput of every run, so that an
interrupted search continues and has the same result.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import compress

from compare.experiment.experiment import Experiment, Run, flows_under_test
from compare.experiment.matrix import Labs, Progress, make_job
from compare.experiment.run_files import unpack
from compare.experiment.run_job import RunJob, outcomes
from compare.experiment.store import Store
from compare.experiment.window_search import WindowSearch, largest_window, settings
from env.errors import UserError
from env.lab import RunResult
from env.network.schemes import ORACLE, SCHEMES
from env.pool import Pool

FILE = "oracle.json"
FORMAT = 1

Figures = dict[str, dict[int, dict[int, float]]]  # scenario -> packets -> seed -> goodput, Mbit/s


@dataclass
class OracleSearch:
    """The result of the search and its cost.

    windows: scenario to packets. tried: number of windows with runs. virtual_s: of this call's runs. failed: failed
    runs with their errors.
    """

    windows: dict[str, int]
    tried: int = 0
    virtual_s: float = 0.0
    wall_s: float = 0.0
    failed: list[str] = field(default_factory=list)


def find_windows(
    experiment: Experiment,
    store: Store,
    labs: Labs,
    report: Callable[[Progress], None],
) -> OracleSearch:
    """Search the best window of all scenarios at the same time. Stored runs are not repeated.

    Raises UserError when a scenario has no window without a failed run, or oracle.json is damaged.
    """
    began = time.monotonic()
    figures = _read(store)
    searches = {s.name: WindowSearch(largest_window(s.network)) for s in experiment.scenarios}
    result = OracleSearch({})
    progress = Progress(total=0)
    try:
        while wanted := [(name, *run) for name, search in searches.items() for run in search.next_runs()]:
            missing = [(name, n, seed) for name, n, seed in wanted if seed not in figures.get(name, {}).get(n, {})]
            progress.total += len(wanted)
            progress.done += len(wanted) - len(missing)
            report(progress)
            _run([_job(*one, experiment, labs) for one in missing], labs.pool, figures, result, progress, report)
            for name, packets, seed in wanted:
                mbps = figures.get(name, {}).get(packets, {}).get(seed)
                searches[name].tried.setdefault(packets, {})[seed] = mbps
            store.write(FILE, _text(searches, figures))
    except BaseException:
        store.write(FILE, _text(searches, figures))
        raise
    for name, search in searches.items():
        best = search.best()
        if best is None:
            raise UserError(
                f"scenario {name}: the oracle has no window, because every window had a failed run; the first error "
                f"was: {result.failed[0]}"
            )
        result.windows[name] = best
    result.tried = sum(len(search.tried) for search in searches.values())
    result.wall_s = time.monotonic() - began
    return result


def first_cost(experiment: Experiment) -> tuple[int, float]:
    """Return the number of runs and of virtual seconds of the search's first round."""
    rounds = [(len(WindowSearch(largest_window(s.network)).next_runs()), s.duration_s) for s in experiment.scenarios]
    return sum(runs for runs, _ in rounds), sum(runs * duration_s for runs, duration_s in rounds)


def _job(name: str, packets: int, seed: int, experiment: Experiment, labs: Labs) -> RunJob:
    """Return the oracle's run with this window, without samples: only its goodput counts."""
    scenario = next(scenario for scenario in experiment.scenarios if scenario.name == name)
    search = replace(experiment, windows={name: packets}, sample_ms=0)
    return make_job(Run(scenario, SCHEMES[ORACLE], seed), search, labs.modules, labs.models)


def _run(
    jobs: list[RunJob],
    pool: Pool,
    figures: Figures,
    result: OracleSearch,
    progress: Progress,
    report: Callable[[Progress], None],
) -> None:
    for job, outcome in outcomes(pool, jobs):
        run, packets = job.run, job.schemes[ORACLE].packets
        progress.done += 1
        if isinstance(outcome, str):
            progress.failed += 1
            result.failed.append(f"{run.scenario.name}, window of {packets}, seed {run.seed}: {outcome}")
        else:
            of_window = figures.setdefault(run.scenario.name, {}).setdefault(packets, {})
            of_window[run.seed] = _goodput_mbps(run, unpack(outcome))
            result.virtual_s += run.scenario.duration_s
        report(progress)


def _goodput_mbps(run: Run, result: RunResult) -> float:
    """Return the total goodput of the flows under test over the whole run, Mbit/s."""
    received = sum(flow.received_bytes for flow in compress(result.flows, flows_under_test(run.scenario)))
    return received * 8 / 1e6 / run.scenario.duration_s


def _text(searches: Mapping[str, WindowSearch], figures: Figures) -> bytes:
    scenarios = {
        name: {
            "packets": search.best(),
            "largest_tried": search.largest,
            "goodput_mbps": {
                str(packets): {str(seed): mbps for seed, mbps in sorted(of_window.items())}
                for packets, of_window in sorted(figures.get(name, {}).items())
            },
        }
        for name, search in searches.items()
    }
    return json.dumps({"format": FORMAT, **settings(), "scenarios": scenarios}, indent=1).encode() + b"\n"


def _read(store: Store) -> Figures:
    """Return the stored goodputs of a search; empty without any. Raises UserError."""
    file = store.folder / FILE
    if not file.is_file():
        return {}
    try:
        content = json.loads(file.read_text())
        if content["format"] != FORMAT:
            raise UserError(f"{file} has format {content['format']!r}; this version reads {FORMAT}")
        return {
            name: {
                int(packets): {int(seed): float(mbps) for seed, mbps in of_window.items()}
                for packets, of_window in entry["goodput_mbps"].items()
            }
            for name, entry in content["scenarios"].items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{file} is damaged ({error}); delete it, and the same command searches again") from error
