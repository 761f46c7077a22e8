"""A recording as a Parquet file with one row for each control interval of each expert's connection.

The columns are `FIELDS`: the expert, the number of the episode, then the fields of a step (schema.STEP_DTYPE) with the
equivalent action. The fields' metadata has the units. The last row of a connection has no action, because an action is
computed from the following row. The file's metadata has the provenance and the configuration of each episode.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from env import schema
from env.files import write_atomically
from env.network.path import PathError
from env.profile import EpisodeConfig
from env.reward import RewardWeights
from env.trajectory import Steps, Trajectory, trajectories

FORMAT = 2
KEY = b"ndm_experts"  # of the metadata, JSON
STEP = np.dtype(schema.STEP_DTYPE)
FEATURE_UNIT = f"1/{2**schema.FEATURE_FRAC}"
ACTION_UNIT = f"1/{2**schema.ACTION_FRAC}"
UNITS = {  # of the observed fields; a field that is missing here is a count or a code
    "now_us": "us",
    "bytes_acked": "bytes",
    "pacing_rate": "bytes/s",
    "interval_us": "us",
    "rtt_us": "us",
    "srtt_us": "us",
    "min_rtt_us": "us",
    "cwnd": "packets",
    "inflight": "packets",
    "delivered": "packets",
    "lost": "packets",
    "retransmitted": "packets",
    "mss": "bytes",
}


class RecordingError(ValueError):
    """A recording cannot be made, read or used. The message names the file, the reason and the remedy."""


@dataclass(frozen=True)
class DrawnEpisode:
    """An episode and the seed of its network's randomness, the same for all experts."""

    episode_config: EpisodeConfig
    seed: int


@dataclass(frozen=True)
class Lesson:
    """What one expert did on one episode.

    scheme: name of the expert. episode: index in Recording.episodes. steps: rows of schema.STEP_DTYPE, one connection
    after the other.
    """

    scheme: str
    episode: int
    steps: Steps


@dataclass(frozen=True)
class Recording:
    """The content of a file. provenance: as recorder.provenance_of() returns it."""

    episodes: tuple[DrawnEpisode, ...]
    lessons: tuple[Lesson, ...]
    provenance: Mapping[str, Any]

    def trajectories_of(self, lesson: Lesson, weights: RewardWeights) -> list[Trajectory]:
        """Return a trajectory with rewards for each connection of a lesson. weights: where the episode has none."""
        return trajectories(lesson.steps, self.episodes[lesson.episode].episode_config, weights)

    def by_episode(self) -> Iterator[list[Lesson]]:
        """Yield the lessons of each episode."""
        number = attrgetter("episode")
        for _, lessons in groupby(sorted(self.lessons, key=number), number):
            yield list(lessons)


def _fields() -> list[pa.Field]:
    def field(name: str, kind: pa.DataType, unit: str = "") -> pa.Field:
        return pa.field(name, kind, metadata={"unit": unit} if unit else None)

    return [
        field("scheme", pa.dictionary(pa.int8(), pa.string())),
        field("episode", pa.int32()),
        *(field(name, pa.from_numpy_dtype(STEP[name]), UNITS.get(name, "")) for name in schema.OBSERVATION_FIELDS),
        *(field(feature.name, pa.int16(), FEATURE_UNIT) for feature in schema.FEATURES),
        *(field(action.name, pa.int16(), ACTION_UNIT) for action in schema.ACTIONS),
    ]


FIELDS = _fields()


def write(file: Path, recording: Recording) -> None:
    """Write a recording atomically. Raises RecordingError."""
    metadata = {
        "format": FORMAT,
        "schema_version": schema.SCHEMA_VERSION,
        "provenance": recording.provenance,
        "episodes": [{**drawn.episode_config.as_dict(), "seed": drawn.seed} for drawn in recording.episodes],
    }
    fields = pa.schema(FIELDS, metadata={KEY: json.dumps(metadata)})
    table = pa.concat_tables([_table(lesson, fields) for lesson in recording.lessons])
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="zstd")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, buffer.getvalue())
    except OSError as error:
        raise RecordingError(str(error)) from error


def _table(lesson: Lesson, fields: pa.Schema) -> pa.Table:
    steps = lesson.steps
    last = np.append(np.diff(steps["flow"]) != 0, True)[: steps.size]  # [rows]
    arrays = [
        pa.DictionaryArray.from_arrays(pa.array(np.zeros(steps.size, np.int8)), [lesson.scheme]),
        pa.array(np.full(steps.size, lesson.episode, np.int32)),
        *(pa.array(np.ascontiguousarray(steps[name])) for name in schema.OBSERVATION_FIELDS),
        *(pa.array(np.ascontiguousarray(steps["features"][:, i])) for i in range(len(schema.FEATURES))),
        *(pa.array(np.ascontiguousarray(steps["actions"][:, i]), mask=last) for i in range(len(schema.ACTIONS))),
    ]
    return pa.Table.from_arrays(arrays, schema=fields)


def read(file: Path) -> Recording:
    """Read and check a recording. Raises RecordingError when it is missing, damaged, or of another format."""
    if not file.is_file():
        raise RecordingError(f"there is no recording {file}; make it with: python -m training.experts record")
    try:
        table = pq.read_table(file)
        metadata = json.loads(table.schema.metadata[KEY])
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError) as error:
        raise RecordingError(f"{file} is damaged or is not a recording of experts ({type(error).__name__})") from error
    supported = {"format": FORMAT, "schema_version": schema.SCHEMA_VERSION}
    recorded = {key: metadata.get(key) for key in supported}
    differing = [
        f"{key} {recorded[key]!r}, not {right!r}" for key, right in supported.items() if recorded[key] != right
    ]
    if not differing and table.schema.names != [field.name for field in FIELDS]:
        differing = [f"the columns {', '.join(table.schema.names)}"]
    if differing:
        raise RecordingError(f"{file} was recorded by another version: it has {'; '.join(differing)}: record it again")
    try:
        episodes = tuple(DrawnEpisode(EpisodeConfig.from_dict(entry), entry["seed"]) for entry in metadata["episodes"])
    except (PathError, KeyError, TypeError) as error:
        raise RecordingError(
            f"{file} has an episode that this version does not support ({error}): record it again"
        ) from error
    return Recording(episodes, tuple(_lessons(table)), metadata["provenance"])


def _lessons(table: pa.Table) -> Iterator[Lesson]:
    def column(name: str) -> npt.NDArray[Any]:
        values: npt.NDArray[Any] = table[name].fill_null(0).to_numpy()
        return values

    steps = np.zeros(table.num_rows, STEP)
    for name in schema.OBSERVATION_FIELDS:
        steps[name] = column(name)
    for group, members in (("features", schema.FEATURES), ("actions", schema.ACTIONS)):
        steps[group] = np.stack([column(member.name) for member in members], axis=1)
    episode, scheme = column("episode"), np.asarray(table["scheme"].to_pylist())
    begins = np.flatnonzero((np.diff(episode) != 0) | (scheme[1:] != scheme[:-1])) + 1
    for rows in np.split(np.arange(table.num_rows), begins):
        if rows.size:
            yield Lesson(str(scheme[rows[0]]), int(episode[rows[0]]), steps[rows])


def connections(steps: Steps) -> Sequence[Steps]:
    """Return the steps of each connection, in the order in which they opened."""
    return [steps[steps["flow"] == flow] for flow in np.unique(steps["flow"])]
