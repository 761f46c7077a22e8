"""Changes that a command makes to its scenarios: ``path.rate_mbps=50``, or several values, which are a sweep.

A change is written in the grammar of Hydra's overrides. Hydra itself would take several values for several jobs, so
compare.py gives it the text of the value, quoted, and read_changes() reads that text.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Quote, QuotedString
from hydra.errors import HydraException

from env.config_errors import single_values
from env.errors import UserError, first_line
from env.network.chain import MAX_LINKS, ChainLink
from env.network.checks import suggest_field
from env.network.path import Path as NetworkPath
from env.network.rack import Rack
from env.network.scenario import Scenario, check_scenario, with_trace_files

CHAIN = "chain"
# what a command may change, and the class with its fields; those of a chain are its links'
NETWORKS = {"path": NetworkPath, "rack": Rack, CHAIN: ChainLink}
MAX_POINTS = 1000  # scenarios of a sweep
LOOPBACK_FACTS = ("rate_mbps", "rtt_ms")  # of a loopback path, which they describe and do not change
MAX_NAME = 120  # characters of the changes in a scenario's name, which is that of a folder
_CHANGE = re.compile(rf"(?P<key>(?:{'|'.join(NETWORKS)})\b[^=]*)=(?P<value>.*)", re.DOTALL)
_QUOTED = re.compile(rf"\+(?P<key>(?:{'|'.join(NETWORKS)})\.[\w.]+)='(?P<value>.*)'", re.DOTALL)
_LINK = re.compile(rf"link(?P<number>[1-{MAX_LINKS}])\.(?P<field>.*)", re.DOTALL)
_PLAIN = re.compile(r"[A-Za-z0-9_.-]{1,32}", re.ASCII)


@dataclass(frozen=True)
class Change:
    """New values of a field of all scenarios' networks. None as a value: the field's default.

    key: path.FIELD, rack.FIELD, chain.FIELD for all links of a chain, or chain.link2.FIELD for its second one.
    """

    key: str
    values: tuple[Any, ...]

    @property
    def network(self) -> str:
        """path, rack or chain."""
        return self.key.partition(".")[0]

    @property
    def field(self) -> str:
        """The field of the path, rack or chain, perhaps with its link: link2.rate_mbps."""
        return self.key.partition(".")[2]

    @property
    def link(self) -> int:
        """The number of a chain's only link that changes, from 1; 0: all of them change."""
        match = _LINK.fullmatch(self.field)
        return int(match["number"]) if match else 0

    @property
    def is_swept(self) -> bool:
        """True for several values."""
        return len(self.values) > 1


@dataclass(frozen=True)
class SweepPoint:
    """A scenario of a sweep. base: name of the scenario without the swept values. values: key to value."""

    scenario: str
    base: str
    values: dict[str, Any]


def quoted(override: str) -> str:
    """Return an argument of the command line as Hydra takes it: the value of a change is a quoted string.

    Raises UserError for a field that a path, rack or chain's link does not have.
    """
    change = _CHANGE.fullmatch(override)
    if change is None:
        return override
    key, network = change["key"], change["key"].partition(".")[0]
    known = [field.name for field in fields(NETWORKS[network])]
    name = key.partition(".")[2]
    link = _LINK.fullmatch(name) if network == CHAIN else None
    name = link["field"] if link else name
    if name not in known:
        hint = suggest_field(name, known) if name else ". "
        one_link = f" for all links or {CHAIN}.link2.FIELD=VALUE for one (link1 to link{MAX_LINKS})"
        raise UserError(
            f"{override!r} changes no field of a {network}{hint}It is {network}.FIELD=VALUE"
            f"{one_link if network == CHAIN else ''}, and the fields are {', '.join(known)}"
        )
    return f"+{key}={QuotedString(change['value'], Quote.single).with_quotes()}"


def unquoted(override: str) -> str:
    """Return the argument of which quoted() made this one."""
    match = _QUOTED.fullmatch(override)
    return override if match is None else f"{match['key']}={match['value']}".replace("\\'", "'")


def read_changes(options: Mapping[str, Mapping[str, Any]]) -> list[Change]:
    """Return the changes of the options `path`, `rack` and `chain`.

    A value is a text in Hydra's grammar, or from Python any other value; a list is a sweep. A change of one link
    of a chain comes after those of all links, so that it goes before them. Raises UserError: a malformed value, no
    value, a value given twice, a range without steps.
    """
    texts: dict[str, Any] = {}
    for network, of in options.items():
        for name, text in of.items():
            several = text if isinstance(text, Mapping) else {"": text}  # the fields of a chain's link
            texts |= {f"{network}.{name}.{field}".rstrip("."): value for field, value in several.items()}
    changes = [Change(key, tuple(_values(key, text))) for key, text in texts.items()]
    return sorted(changes, key=lambda change: change.link)


def _values(key: str, given: Any) -> list[Any]:
    values = given if isinstance(given, list) else _parsed(key, given) if isinstance(given, str) else [given]
    if not values:
        raise UserError(f"{key} has no value; give one, or several for a sweep")
    for i, value in enumerate(values):
        if value in values[:i]:
            raise UserError(f"{key} has the value {value} twice")
    return values


def _parsed(key: str, text: str) -> list[Any]:
    try:
        return single_values(OverridesParser.create().parse_override(f"{key}={text}"))
    except HydraException as error:
        reason = first_line(error)
        raise UserError(f"{key}={text} cannot be read ({reason}); quote a value with other characters") from error


def changed(scenarios: Sequence[Scenario], changes: Sequence[Change]) -> tuple[list[Scenario], list[SweepPoint]]:
    """Return all scenarios with all changes, and a point for each; no points without a swept field.

    Several swept fields give all combinations of their values. The name of a scenario names its changes:
    bottleneck+rate_mbps=50. Raises UserError: a scenario that cannot run, a rack where a path is changed, a link
    that a chain does not have.
    """
    if not changes:
        return list(scenarios), []
    count = math.prod(len(change.values) for change in changes) * len(scenarios)
    if count > MAX_POINTS:
        raise UserError(f"the sweep has {count} scenarios; at most {MAX_POINTS} are possible")
    new_scenarios, points = [], []
    for scenario in scenarios:
        for values in itertools.product(*(change.values for change in changes)):
            pairs = list(zip(changes, values, strict=True))
            new = _with(scenario, pairs)
            base = _name(scenario, [pair for pair in pairs if not pair[0].is_swept])
            new_scenarios.append(new)
            points.append(SweepPoint(new.name, base, {change.key: value for change, value in pairs if change.is_swept}))
    return new_scenarios, points if any(change.is_swept for change in changes) else []


def _with(scenario: Scenario, pairs: Sequence[tuple[Change, Any]]) -> Scenario:
    """Return a scenario with one value of each change, checked."""
    networks: dict[str, Any] = {kind: getattr(scenario, kind) for kind in NETWORKS}
    for change, value in pairs:
        networks[change.network] = _network_with(scenario, change, value, networks[change.network])
    if (path := networks["path"]) is not None:
        networks["path"] = with_trace_files(path, Path.cwd())
    texts = ", ".join(f"{change.field} {_text(value)}" for change, value in pairs)
    claim = f"{scenario.claim} (with {texts})"
    new = replace(scenario, name=_name(scenario, pairs), claim=claim, **networks)
    check_scenario(new)
    return new


def _network_with(scenario: Scenario, change: Change, value: Any, network: dict[str, Any] | None) -> dict[str, Any]:
    """Return the mapping of a path, rack or chain with a value of one change; None removes the field."""
    if network is None:
        raise UserError(
            f"{change.key} changes a {change.network}, but scenario {scenario.name} is a {scenario.kind}: use "
            f"{scenario.kind}.FIELD=VALUE, or leave out this scenario"
        )
    if change.network == CHAIN:
        return network | {"links": _links_with(scenario, change, value, network["links"])}
    if network.get("topology") == "loopback" and change.field in LOOPBACK_FACTS:
        raise UserError(
            f"{change.key} has no effect in scenario {scenario.name}: the tc commands of its loopback path set rate "
            "and delay. Leave out this scenario, or choose one with a router, such as scenario=bottleneck"
        )
    return _mapping_with(network, change.field, value)


def _links_with(scenario: Scenario, change: Change, value: Any, links: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a chain's links with a value of one change."""
    if change.link > len(links):
        raise UserError(
            f"{change.key} changes link {change.link}, but the links of scenario {scenario.name} are link1 to "
            f"link{len(links)}"
        )
    field = change.field.rpartition(".")[2]
    return [
        _mapping_with(link, field, value) if change.link in (0, number) else link
        for number, link in enumerate(links, 1)
    ]


def _mapping_with(mapping: dict[str, Any], field: str, value: Any) -> dict[str, Any]:
    rest = {name: kept for name, kept in mapping.items() if name != field}
    return rest if value is None else rest | {field: value}


def _name(scenario: Scenario, pairs: Sequence[tuple[Change, Any]]) -> str:
    changes = "+".join(f"{change.field}={_plain(value)}" for change, value in pairs)
    if len(changes) > MAX_NAME:
        changes = f"{changes[:MAX_NAME]}-{hashlib.sha256(changes.encode()).hexdigest()[:6]}"
    return f"{scenario.name}+{changes}" if changes else scenario.name


def _plain(value: Any) -> str:
    """Return a value as a part of a file's name, with a hash if characters had to be replaced."""
    text = _text(value)
    if _PLAIN.fullmatch(text):
        return text
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", text.rpartition("/")[2])
    return f"{plain[-24:].strip('-')}-{hashlib.sha256(text.encode()).hexdigest()[:6]}"


def _text(value: Any) -> str:
    if value is None:
        return "default"
    if isinstance(value, float):
        return f"{value:.12g}"
    return value if isinstance(value, str) else json.dumps(value)
