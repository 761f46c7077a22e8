"""A recording as a file: Parquet, one row for each control interval of each teacher's connection.

The columns are those of `columns()`, with their units in the fields' metadata. A connection's last row has no action
and no reward: nothing came after it that was recorded. The file's metadata says what it was made with (`made`) and what
each course was: path, other flows, seeds, and the description of the path that a critic is given.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from env import schema
from env.profile import PATH_FEATURES

FORMAT = 1
FEATURE_UNIT = f"1/{2**schema.FEATURE_FRAC}"
UNITS = {  # of the other columns; none: a pure number
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
    **{action.name: action.meaning for action in schema.ACTIONS},
}


class RecordingError(Exception):
    """A recording that cannot be made, read or used; the text says which file, why, and what to do."""


@dataclass(frozen=True)
class Course:
    """What a connection ran on. Connections of the same number ran on the same path with the same random numbers.

    path: env.network.path.Path as a dictionary. rivals: the other flows, as the profile has them. lab_seed, run: the
    run-th run of a lab with this seed. path_features: [P], env.profile.PATH_FEATURES.
    """

    number: int
    path: dict[str, Any]
    rivals: tuple[Any, ...]
    lab_seed: int
    run: int
    path_features: tuple[float, ...]


@dataclass(frozen=True)
class Demonstration:
    """One connection of a teacher, K intervals after its first observation.

    observed: the fields of schema.OBSERVATION_FIELDS by name, [K + 1] each. features: [K + 1, D], FEATURE_FRAC fraction
    bits. actions: [K, A], cut. rewards: the weighted components by name, [K] each; their sum is the reward.
    """

    scheme: str
    course: Course
    observed: Mapping[str, npt.NDArray[np.int64]]
    features: npt.NDArray[np.int16]
    actions: npt.NDArray[np.float32]
    rewards: Mapping[str, npt.NDArray[np.float32]]

    @property
    def reward(self) -> npt.NDArray[np.float32]:
        """The reward of each interval, [K]."""
        total: npt.NDArray[np.float32] = np.sum(list(self.rewards.values()), axis=0, dtype=np.float32)
        return total


@dataclass(frozen=True)
class Recording:
    """All of a file. made: command, profile, reward weights, kernel, modules, revision."""

    demonstrations: tuple[Demonstration, ...]
    made: Mapping[str, Any]

    def by_course(self) -> Iterator[list[Demonstration]]:
        """Yield the demonstrations of each course."""
        groups: dict[int, list[Demonstration]] = {}
        for demonstration in self.demonstrations:
            groups.setdefault(demonstration.course.number, []).append(demonstration)
        yield from groups.values()


def columns(reward_parts: Sequence[str]) -> list[pa.Field]:
    """Return the fields of the table: place of the row, what was observed, the inputs, actions, rewards."""

    def field(name: str, kind: pa.DataType, unit: str = "") -> pa.Field:
        return pa.field(name, kind, metadata={"unit": unit} if unit else None)

    return [
        field("scheme", pa.dictionary(pa.int8(), pa.string())),
        field("course", pa.int32()),
        *(field(name, pa.int64(), UNITS.get(name, "")) for name in schema.OBSERVATION_FIELDS),
        *(field(feature.name, pa.int16(), FEATURE_UNIT) for feature in schema.FEATURES),
        *(field(action.name, pa.float32(), UNITS[action.name]) for action in schema.ACTIONS),
        *(field(f"reward_{name}", pa.float32()) for name in reward_parts),
    ]


def write(file: Path, recording: Recording) -> None:
    """Write a recording under a temporary name, then rename it. Raises RecordingError."""
    parts = list(recording.demonstrations[0].rewards) if recording.demonstrations else []
    courses = {demonstration.course.number: demonstration.course for demonstration in recording.demonstrations}
    metadata = {
        "format": FORMAT,
        "schema_version": schema.SCHEMA_VERSION,
        "made": recording.made,
        "path_features": PATH_FEATURES,
        "courses": [vars(course) for _, course in sorted(courses.items())],
    }
    fields = pa.schema(columns(parts), metadata={"ndm_teachers": json.dumps(metadata)})
    table = pa.concat_tables([_table(demonstration, fields) for demonstration in recording.demonstrations])
    temporary = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, temporary, compression="zstd")
        temporary.replace(file)
    except OSError as error:
        raise RecordingError(f"cannot write {file}: {error.strerror or error}") from error
    finally:
        temporary.unlink(missing_ok=True)


def _table(demonstration: Demonstration, fields: pa.Schema) -> pa.Table:
    rows = len(demonstration.features)

    def open_ended(values: npt.NDArray[np.float32]) -> pa.Array:
        """The values and a last one that is not there."""
        return pa.array(np.append(values, np.float32(0)), mask=np.arange(rows) == rows - 1)

    arrays = [
        pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int8)), [demonstration.scheme]),
        pa.array(np.full(rows, demonstration.course.number, np.int32)),
        *(pa.array(demonstration.observed[name]) for name in schema.OBSERVATION_FIELDS),
        *(pa.array(demonstration.features[:, i]) for i in range(len(schema.FEATURES))),
        *(open_ended(demonstration.actions[:, i]) for i in range(len(schema.ACTIONS))),
        *(open_ended(values) for values in demonstration.rewards.values()),
    ]
    return pa.Table.from_arrays(arrays, schema=fields)


def read(file: Path) -> Recording:
    """Read and check a recording. Raises RecordingError when it is missing, damaged, or of another format."""
    if not file.is_file():
        raise RecordingError(f"there is no recording {file}; make it with: python -m datasets.teachers record")
    try:
        table = pq.read_table(file)
        metadata = json.loads(table.schema.metadata[b"ndm_teachers"])
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError) as error:
        raise RecordingError(f"{file} is damaged or no recording of teachers ({type(error).__name__})") from error
    here = {"format": FORMAT, "schema_version": schema.SCHEMA_VERSION, "path_features": list(PATH_FEATURES)}
    differing = [
        f"{key} {metadata.get(key)!r}, not {value!r}" for key, value in here.items() if metadata.get(key) != value
    ]
    if differing:
        raise RecordingError(f"{file} was recorded by another version: it has {'; '.join(differing)}: record it again")
    names = [name.removeprefix("reward_") for name in table.column_names if name.startswith("reward_")]
    if [entry.name for entry in columns(names)] != table.column_names:
        raise RecordingError(f"{file} has the columns {', '.join(table.column_names)}, which are not this version's")
    courses = {
        entry["number"]: Course(
            **{**entry, "rivals": tuple(entry["rivals"]), "path_features": tuple(entry["path_features"])}
        )
        for entry in metadata["courses"]
    }
    return Recording(tuple(_demonstrations(table, courses, names)), metadata["made"])


def _demonstrations(table: pa.Table, courses: Mapping[int, Course], parts: Sequence[str]) -> Iterator[Demonstration]:
    def column(name: str) -> npt.NDArray[Any]:
        values: npt.NDArray[Any] = table[name].to_numpy()
        return values

    course, scheme = column("course"), np.asarray(table["scheme"].to_pylist())
    observed = {name: column(name) for name in schema.OBSERVATION_FIELDS}
    features = np.stack([column(feature.name) for feature in schema.FEATURES], axis=1)
    actions = np.stack([column(action.name) for action in schema.ACTIONS], axis=1)
    rewards = {name: column(f"reward_{name}") for name in parts}
    lasts = np.flatnonzero(np.isnan(actions[:, 0]))  # of each connection
    for first, last in zip(np.concatenate(([0], lasts[:-1] + 1)), lasts, strict=True):
        yield Demonstration(
            str(scheme[first]),
            courses[int(course[first])],
            {name: values[first : last + 1] for name, values in observed.items()},
            features[first : last + 1],
            actions[first:last].astype(np.float32),
            {name: values[first:last].astype(np.float32) for name, values in rewards.items()},
        )
