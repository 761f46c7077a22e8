"""Recordings of experts on the command line: ``python -m training.experts --help``."""

from __future__ import annotations

import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

from tqdm import tqdm

from env.lab import LabError
from env.options import option_lines
from env.profile import ProfileError, load_profile
from training.experts.options import RecordOptions, read_options
from training.experts.recorder import draw, find_experts, make_labs, provenance_of, record
from training.experts.recording import Recording, RecordingError, read, write
from training.experts.summary import table

HELP = """Record what the kernel's congestion controls observe and do; a training can start by imitating them.

  python -m training.experts record profile=mixed schemes=[bbr,cubic,illinois] episodes=64
  python -m training.experts record schemes=[bbr,window@16,ndm] output=build/experts/mine.parquet
  python -m training.experts show build/experts/mixed.parquet
  python train.py profile=mixed algo.imitate=build/experts/mixed.parquet

The options of record, KEY=VALUE; the schemes are those of compare.py:
"""


def main() -> None:
    """Run the command. Exits with status 1 and one paragraph on an error, with 130 when interrupted."""
    arguments = sys.argv[1:]
    if not arguments or {"-h", "--help"} & set(arguments):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        print("\n".join([HELP, *option_lines(RecordOptions)]))
        return
    try:
        if arguments[0] == "record":
            make_recording(read_options(arguments[1:]))
        elif arguments[0] == "show" and len(arguments) == 2:
            show(read(Path(arguments[1])))
        else:
            raise RecordingError(
                f"{' '.join(arguments)!r} is not a command; the commands are record KEY=VALUE... and show FILE"
            )
    except (RecordingError, ProfileError, LabError) as error:
        sys.exit(f"training.experts: {error}")
    except KeyboardInterrupt:
        print("\ninterrupted: nothing was written", file=sys.stderr)
        sys.exit(130)


def make_recording(options: RecordOptions) -> None:
    """Make a recording, write it and print its table. Raises RecordingError, ProfileError, LabError."""
    profile = load_profile(options.profile)
    if options.decisions is not None:
        profile = replace(profile, episode_decisions=options.decisions)
    experts = find_experts(options.experts)
    episodes = draw(profile, options.episodes, options.seed)
    began = time.monotonic()
    with (
        make_labs(options, experts, episodes) as labs,
        tqdm(total=len(episodes) * len(experts), unit=" connections", dynamic_ncols=True) as bar,
    ):
        lessons = record(profile, experts, episodes, labs, bar.update)
    recording = Recording(episodes, lessons, provenance_of(profile, experts, episodes, options.seed))
    write(options.file, recording)
    show(recording)
    print(f"{options.file}: {options.file.stat().st_size / 1e6:.1f} MB, {time.monotonic() - began:.0f} s")


def show(recording: Recording) -> None:
    """Print the table of a recording, with the reward weights of its profile."""
    provenance = recording.provenance
    print(f"{provenance['command']}\nprofile {provenance['profile']}, seed {provenance['seed']}\n")
    print(table(recording, load_profile(provenance["profile"]).reward))


if __name__ == "__main__":
    main()
