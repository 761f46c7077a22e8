"""The envelope of a model: one line about the paths that it was trained on, stored with the weights in the kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from export.integer.model import ENVELOPE_MAX

_UNSAID = ("weight", "scenario", "qdisc", "rivals", "rival_chance")


def describe(profile: Mapping[str, Any]) -> str:
    """Return e.g. ``clean: rate_mbps 1..200, rtt_ms 10..300; stress``. profile: resolved, as plain data.

    If this is longer than a model file allows, return only the names of the paths, cut to the limit.
    """
    paths = profile.get("paths") or {}
    whole = "; ".join(_path(name, path) for name, path in paths.items())
    return whole if len(whole) <= ENVELOPE_MAX else "; ".join(paths)[:ENVELOPE_MAX]


def _path(name: str, path: Mapping[str, Any]) -> str:
    if path.get("scenario"):
        return f"scenario {path['scenario']}"
    parts = [f"{key} {drawn}" for key, value in path.items() if key not in _UNSAID and (drawn := _draw(value))]
    if path.get("qdisc", "pfifo") != "pfifo":
        parts.append(str(path["qdisc"]))
    if path.get("traces"):
        parts.append(f"traces {'|'.join(path['traces'])}")
    if path.get("rivals"):
        parts.append(f"beside {'|'.join(path['rivals'])}")
    return f"{name}: {', '.join(parts)}"


def _draw(value: Any) -> str:
    """Return a distribution as its value, its values or its range; empty if it has its default."""
    if not isinstance(value, Mapping):
        return ""
    if value.get("fixed") is not None:
        return f"{value['fixed']:g}"
    if value.get("choice"):
        return "|".join(f"{entry:g}" for entry in dict.fromkeys(value["choice"]))
    low_high = value.get("uniform") or value.get("log_uniform")
    return f"{low_high[0]:g}..{low_high[1]:g}" if low_high else ""
