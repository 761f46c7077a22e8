"""Link traces on the command line: ``python -m env.network.traces --help``."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from env.command import command
from env.errors import UserError
from env.network.traces import convert, delay, manifest, recorded
from env.network.traces.delay import load_delay_trace
from env.network.traces.format import load_trace, trace_names
from env.network.traces.generate import generate
from env.network.traces.models import CATALOGUE, KINDS, MODEL_FIELDS
from env.network.traces.statistics import statistics

EPILOG = """
python -m env.network.traces list
python -m env.network.traces show held_out/lte-walking
python -m env.network.traces generate lte --seconds 60 --seed 7 --mean-mbps 15 --output mine.trace
python -m env.network.traces convert measured.csv mine.trace
python -m env.network.traces convert mine.trace rates.csv --interval-ms 1000
python -m env.network.traces convert mine.trace later.trace --start-s 30
python -m env.network.traces catalogue --check
"""


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    top = argparse.ArgumentParser(
        prog="python -m env.network.traces",
        description="Link traces in Mahimahi's format and delay traces: read, check, generate and convert them.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = top.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="the traces that come with the project")
    show = commands.add_parser("show", help="check traces and print their statistics")
    show.add_argument(
        "traces",
        nargs="+",
        metavar="trace",
        help="a name of `list`, or the path of a .trace, .delay, .trace.gz or .delay.gz file",
    )
    make = commands.add_parser(
        "generate",
        help="generate a trace with stated statistics",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    make.add_argument("kind", choices=KINDS, help="model that gives the values of the options left out")
    make.add_argument("--output", type=Path, required=True, help="file to write, ending in .trace")
    make.add_argument("--seconds", type=int, default=60, help="length, s")
    make.add_argument("--seed", type=int, default=1, help="seed of all random numbers")
    for name in MODEL_FIELDS:
        option = f"--{name.replace('_', '-')}"
        make.add_argument(option, type=float, default=argparse.SUPPRESS, help="see env/network/traces/models.py")
    change = commands.add_parser(
        "convert",
        help="convert a trace from CSV, to CSV, or from a file with another ending",
        description=convert.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    change.add_argument("input", type=Path, help="a .csv, .trace, .delay or other file")
    change.add_argument("output", type=Path, help="file to write; its ending says the format: .trace, .delay or .csv")
    change.add_argument("--interval-ms", type=int, default=100, help="between the rows of a CSV of rates (100)")
    change.add_argument(
        "--start-s", type=float, default=0.0, help="where a link trace begins; what comes before follows at the end (0)"
    )
    catalogue = commands.add_parser("catalogue", help="generate the project's traces and their manifest again")
    catalogue.add_argument("--check", action="store_true", help="only check files, SHA-256 sums and statistics")
    return top


@command("env.network.traces")
def main() -> None:
    """Run the command."""
    options = parser().parse_args()
    if options.command == "list":
        print("\n".join(_listed()))
    elif options.command == "show":
        for name in options.traces:
            print(f"{name}: {_shown(name)}" if len(options.traces) > 1 else _shown(name))
    elif options.command == "generate":
        _generate(options)
    elif options.command == "convert":
        print(convert.convert(options.input, options.output, options.interval_ms, options.start_s))
    elif options.check:
        problems = [*manifest.check(), *recorded.check()]
        if problems:
            sys.exit("\n".join([*problems, "run: python -m env.network.traces catalogue"]))
    else:
        manifest.write()


def _listed() -> list[str]:
    """Return a line for each trace of the project."""
    what = {name: entry.what for name, entry in CATALOGUE.items()}
    what |= {f"recorded/{name}": facts["what"] for name, facts in recorded.recordings().items()}
    links = [f"{name:22}  {what.get(name, '')}".rstrip() for name in trace_names()]
    return [*links, *(f"{name:22}  delay trace" for name in trace_names(delay.SUFFIXES))]


def _shown(name: str) -> str:
    if name.endswith(delay.SUFFIXES):
        delays = load_delay_trace(name)
        low, high = min(delays.delays_ms), max(delays.delays_ms)
        seconds = len(delays.delays_ms) * delay.INTERVAL_MS / 1e3
        return f"{seconds:g} s; one-way delay {low:g} to {high:g} ms, mean {delays.mean_ms:.2f} ms"
    trace = load_trace(name)
    return f"{trace.duration_ms / 1e3:g} s, {len(trace.times_ms)} opportunities; {statistics(trace).text()}"


def _generate(options: argparse.Namespace) -> None:
    if options.output.suffix != ".trace":
        raise UserError(f"output is {options.output}; its name must end in .trace")
    given = {name: getattr(options, name) for name in MODEL_FIELDS if name in options}
    trace = generate(str(options.output), replace(KINDS[options.kind], **given), options.seconds, options.seed)
    options.output.write_text(trace.text())
    print(f"{options.output}: {trace.duration_ms / 1e3:g} s; {statistics(trace).text()}")


if __name__ == "__main__":
    sys.exit(main())
