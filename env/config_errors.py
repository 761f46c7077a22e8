"""Reads YAML files, and explains errors of OmegaConf and Hydra: the bad key or value and the right ones."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from io import StringIO
from pathlib import Path
from types import NoneType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import yaml
from hydra.core.override_parser.types import Override, Transformer
from hydra.errors import HydraException, OverrideParseException
from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf._utils import get_yaml_loader
from omegaconf.errors import MissingMandatoryValue, OmegaConfBaseException

from env.checkout import CONFIGS
from env.errors import UserError, decimal_hint, first_line, suggest
from env.files import leaves, read_at_most

_WRONG_TYPES = (  # texts of OmegaConf
    re.compile(r"Value '(?P<value>.*)' of type '\w+' could not be converted to (?P<type>\w+)"),
    re.compile(r"Value '(?P<value>.*)' is not a valid (?P<type>\w+)"),
    re.compile(r"Incompatible value '(?P<value>.*)' for field of type '(?P<type>\w+)'"),
)
# of lab.workers=2, where lab is a text
_NOT_A_TEXT = re.compile(r"Cannot convert '(?:dict|list|DictConfig|ListConfig)' to string")
_NUMBER_AS_KEY = re.compile(r"Key [\d.]+ \((?:int|float)\) is incompatible")  # of {loss_pct: 0,5}
GRAMMAR = r"[][(){}=:]"  # letters that mean something in the value of KEY=VALUE
_RIGHT_VALUES = {
    "integer": "a whole number",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "str": "a text",
}


MOST_BYTES, MOST_VALUES = 16 << 20, 100_000  # of a YAML file, with the values that aliases repeat
Kind = TypeVar("Kind")


def read_config(kind: type[Kind], file: Path, text: str | None = None) -> Kind:
    """Return a YAML file as an object of a dataclass, whose keys and types it has to have.

    text: what to read in place of the whole file.

    Raises UserError: it cannot be read, is no YAML, has an unknown key or a wrong type, or lacks a key.
    """
    try:
        loader_class = get_yaml_loader()  # a new class
        loader_class.add_constructor("tag:yaml.org,2002:int", _as_it_reads)
        loader = loader_class(StringIO(read_at_most(file, MOST_BYTES).decode() if text is None else text))
        root = loader.get_single_node()
        refuse_variables(root, "it")
        if isinstance(root, yaml.MappingNode):
            loaded = OmegaConf.create(loader.construct_document(root))
            _check_kinds(kind, loaded, "")
            content = OmegaConf.to_object(OmegaConf.merge(OmegaConf.structured(kind), loaded))
            assert isinstance(content, kind)
            return content
    except OSError as error:
        raise UserError(f"cannot read {file}: {error.strerror}") from error
    except OmegaConfBaseException as error:
        raise UserError(f"{file}: {explain_config_error(error)}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{file} is not in UTF-8: save it as UTF-8") from error
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        # the lines of a YAML error name the position
        text = re.sub(r' in "[^"]*",', ",", " ".join(str(error).split()))
        raise UserError(f"{file}: {text}") from error
    raise UserError(f"{file} must be a mapping of keys")


def _as_it_reads(loader: Any, node: yaml.ScalarNode) -> int:
    """Return a whole number; UserError for 010, which YAML takes as octal, and 1:30, which it takes in base 60."""
    number: int = loader.construct_yaml_int(node)
    if re.fullmatch("[-+]?0[0-7_]+|.*:.*", node.value):
        raise UserError(f"YAML takes {node.value} as {number}: write {number}, or '{node.value}' for a text")
    return number


def _check_kinds(hint: Any, value: Any, where: str) -> None:
    """Raise UserError unless lists, mappings and texts are where a dataclass has them. hint: the type of the value."""
    if NoneType in get_args(hint):
        hint = NoneType if value is None else get_args(hint)[0]
    if hint is str and isinstance(value, bool | float):
        raise UserError(f"{where} is read as {value!r}, which is no text: put it into quotes")
    if get_origin(hint) is list:
        if not isinstance(value, ListConfig):
            raise UserError(f"{where} is {value!r}; it must be a list, each entry of which begins with '- '")
        for number, entry in enumerate(value):
            _check_kinds(get_args(hint)[0], entry, f"{where}[{number}]")
    elif get_origin(hint) is dict or is_dataclass(hint):
        if not isinstance(value, Mapping):
            raise UserError(f"{where} is {value!r}; it must be a mapping of keys")
        for name, of in get_type_hints(hint).items() if is_dataclass(hint) else ():
            if name in value:
                _check_kinds(of, value[name], f"{where}.{name}".lstrip("."))


def single_values(override: Override) -> list[Any]:
    """Return the value of KEY=VALUE, or the values of a sweep. Raises UserError for a sweep without single values."""
    if not override.is_sweep_override():
        return [override.value()]
    if not override.is_discrete_sweep():
        key = override.key_or_group
        raise UserError(f"{override.input_line} has no single values; list them, as {key}=1,10,100")
    return list(override.sweep_iterator(Transformer.identity))


@contextlib.contextmanager
def explained() -> Iterator[None]:
    """Raise an error of Hydra or OmegaConf as UserError with its explanation."""
    try:
        yield
    except (HydraException, OmegaConfBaseException) as error:
        raise UserError(explain_config_error(error)) from error


def refuse_variables(content: Any, where: str) -> None:
    """Raise UserError for a ${variable}, by which a file could copy a secret into a report, and as leaves() does."""
    for text in leaves(content, MOST_VALUES, where):
        if isinstance(text, str) and "${" in text:
            raise UserError(f"{where} has {text[:40]!r}, but takes no variables: write the value itself")


def explain_config_error(error: Exception) -> str:
    """Return one paragraph about an error of Hydra, of OmegaConf, or about one that was raised from such an error."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, OmegaConfBaseException):
        cause = cause.__cause__
    if cause is None:
        return _explain_hydra(error)
    key = str(cause.full_key or cause.key)
    reason = first_line(cause)
    if isinstance(cause, MissingMandatoryValue):
        return f"{key} is missing"
    if "not in" in reason:
        return _explain_unknown(key, cause)
    if _NOT_A_TEXT.match(reason):
        return f"{key} has no keys of its own; it must be a single value"
    for wrong_type in _WRONG_TYPES:
        if match := wrong_type.match(reason):
            right = _RIGHT_VALUES.get(match["type"].lower(), f"of type {match['type']}")
            return f"{key} is {match['value']!r}; it must be {right}{decimal_hint(match['value'])}"
    if _NUMBER_AS_KEY.match(reason):
        return f"{key}: a number is no key; decimals have a point, as in 0.5"
    return f"{key}: {reason}"


def _explain_unknown(key: str, error: OmegaConfBaseException) -> str:
    kind, parent = error.object_type, error.parent_node
    if isinstance(kind, type) and is_dataclass(kind):
        known = [entry.name for entry in fields(kind)]
    else:
        known = [str(entry) for entry in parent] if isinstance(parent, DictConfig) else []
    group, _, name = key.rpartition(".")
    keys = f"The keys {f'of {group}' if group else 'here'} are {', '.join(known)}."
    return f"{key} is unknown{suggest(name, known, limit=1)}{keys}" if known else f"{key} is unknown"


def _explain_hydra(error: Exception) -> str:
    """Explain an error of Hydra's own: a missing file of a group, such as profile=nothing, or a malformed argument."""
    group, _, name = str(getattr(error, "missing_cfg_file", None) or "").rpartition("/")
    known = sorted(file.stem for file in (CONFIGS / group).glob("*.yaml")) if group else []
    if known:
        return (
            f"{group} {name!r} is unknown{suggest(name, known, limit=1)}The choices of {group}= are {', '.join(known)}."
        )
    if isinstance(error, OverrideParseException):
        letter = _misread_letter(str(error), str(error.override).partition("=")[2])
        remedy = {"~": " ($HOME does not)"}.get(letter, " or its other bracket" if letter in "[({" else "")
        return (
            f"{error.override} cannot be read: {letter!r} needs quotes{remedy}, and quotes need those of the shell, as "
            "in 'KEY=\"a=b\"' or 'KEY=[\"~/a b\"]'"
        )
    # Hydra's text ends with where it looked
    return " ".join(str(error).partition("Config search path")[0].split())


def _misread_letter(text: str, value: str) -> str:
    """Return the letter of a value that Hydra cannot read: above the ^, or the last one of its grammar until there."""
    line, below, *_ = [*text.splitlines(), ""]
    if below.strip() == "^":
        return line[below.index("^")]
    named = re.search(r"input '(.+?)'(?: expecting|$)", line)
    if named is None:
        return "("  # of what Hydra takes for a function
    letters: list[str] = re.findall(GRAMMAR, named[1]) or re.findall(GRAMMAR, value) or [named[1][0]]
    return letters[-1]
