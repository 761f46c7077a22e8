"""The schemes that can be compared: the one table of names, labels, colours and markers."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from compare.errors import CompareError
from env.near import did_you_mean
from export.model import ExportError
from export.selection import algorithms, selected

SEPARATOR = "@"  # ndm@runs/NAME: with another model than the one in the module; window@16: of 16 packets
MAX_PACKETS = 1_000_000  # of a constant window: what kernel/schemes/tcp_window.c takes
MAX_SEED = 2**32 - 1  # of an untrained model
KINDS = ("ndm@runs/NAME", "ndm@FILE.pt", "ndm@untrained", "window@PACKETS")  # of names, besides those of SCHEMES


@dataclass(frozen=True)
class Scheme:
    """A congestion control under test.

    name: as given on the command line and written to every file. algorithm: its name in the kernel. module: the kernel
    module that has it, empty for those of the lab kernel. model: run or checkpoint in place of the model in the module,
    "untrained" or "untrained-SEED", empty otherwise. packets: of a constant window, 0 for others; algorithm and packets
    of the oracle are found for each scenario (compare/experiment/oracle.py).
    """

    name: str
    label: str
    algorithm: str
    colour: str
    marker: str
    module: str = ""
    model: str = ""
    packets: int = 0

    @property
    def is_oracle(self) -> bool:
        """True for the best constant window of each scenario."""
        return self.name == ORACLE

    def with_packets(self, packets: int) -> Scheme:
        """Return the same scheme with a constant window of so many packets."""
        return replace(self, algorithm=f"cwnd_{packets}", packets=packets)


ORACLE = "oracle"
# Colours of Okabe and Ito (2008) and Tol's muted set (2021), chosen to differ for every kind of colour vision and to
# be seen on white and on black; the markers differ too, so that no picture needs its colours.
SCHEMES = {
    scheme.name: scheme
    for scheme in (
        Scheme("ndm", "NDM", "ndm", "#d55e00", "*", module="tcp_ndm"),
        Scheme("cubic", "Cubic", "cubic", "#0072b2", "s"),
        Scheme("reno", "Reno", "reno", "#56b4e9", "o"),
        Scheme("bbr", "BBR", "bbr", "#009e73", "^"),
        Scheme("nv", "TCP-NV", "nv", "#785ef0", "H", module="tcp_nv"),
        Scheme("cdg", "CDG", "cdg", "#e69f00", "D"),
        Scheme("vegas", "Vegas", "vegas", "#cc79a7", "v"),
        Scheme("westwood", "Westwood+", "westwood", "#999933", "P"),
        Scheme("illinois", "Illinois", "illinois", "#aa4499", "X"),
        Scheme("ndm_v1", "NDM v1", "ndm_v1", "#b2abd2", "8", module="tcp_ndm_v1"),
        Scheme("dctcp", "DCTCP", "dctcp", "#888888", "h"),
        Scheme(ORACLE, "Oracle (best window)", "", "#117733", "+", module="tcp_window"),
    )
}
# Further models of NDM take these in order, and so do constant windows.
MODEL_LOOKS = (("#a63603", "p"), ("#fd8d3c", "d"), ("#8c2d04", "<"), ("#fdae6b", ">"))
WINDOW_LOOKS = (("#8a9a5b", "1"), ("#9c8ade", "2"), ("#bfa14a", "3"), ("#7f9aa8", "4"))


def find_schemes(names: Sequence[str]) -> list[Scheme]:
    """Return the schemes of these names, in order.

    Raises CompareError for an empty list, an unknown name (with near matches), a name given twice.
    """
    if not names:
        raise CompareError(f"schemes is empty; choose from {_choice()}")
    found: list[Scheme] = []
    for name in names:
        if name in (scheme.name for scheme in found):
            raise CompareError(f"scheme {name!r} is given twice; each one is run once per scenario and seed")
        found.append(find_scheme(name, found))
    return found


def find_scheme(name: str, before: Iterable[Scheme] = ()) -> Scheme:
    """Return the scheme of a name, which looks unlike those before it; raises CompareError when it is unknown."""
    base, separator, rest = name.partition(SEPARATOR)
    if not separator and name in SCHEMES:
        return SCHEMES[name]
    if name in built_in_models():
        return Scheme(name, f"NDM {name.removeprefix('ndm_')}", name, *_look(before), module="tcp_ndm")
    if base == "ndm" and rest:
        return _model(name, rest, *_look(before))
    if base == "window":
        colour, marker = WINDOW_LOOKS[_windows(before) % len(WINDOW_LOOKS)]
        return _window(name, rest, colour, marker)
    if separator and base in SCHEMES:
        raise CompareError(
            f"scheme {name!r} is unknown: only ndm takes a model, as ndm@runs/NAME, ndm@checkpoint.pt or "
            f"ndm@untrained, and window a number, as window@16"
        )
    hint = did_you_mean(base, [*SCHEMES, *built_in_models(), "window"]).replace("window", "window@16")
    raise CompareError(f"scheme {name!r} is unknown: {hint}The schemes are {_choice()}.")


def variant_algorithm(model: str) -> str:
    """Return what another model's congestion control is called in the kernel, at most 15 characters.

    It is of the model's name as it was given, so that it is known before anything is exported, and different for
    every scheme of a comparison: all of them can be loaded into one kernel.
    """
    return f"ndm_{hashlib.sha256(model.encode()).hexdigest()[:8]}"


def untrained_seed(model: str) -> int | None:
    """Return the seed of a model that was never trained ("untrained" has 1), None for any other.

    Raises CompareError for one that is out of range.
    """
    match = re.fullmatch(r"untrained(?:-(\d{1,20}))?", model)
    if match is None:
        return None
    seed = int(match[1] or 1)
    if seed > MAX_SEED:
        raise CompareError(f"scheme ndm@{model}: the seed is {seed}; it is a whole number from 0 to {MAX_SEED}")
    return seed


def built_in_models() -> list[str]:
    """Return the congestion controls of the further models in tcp_ndm (``make module MODELS="mixed fiber"``)."""
    try:
        return list(algorithms(selected()))[1:]
    except ExportError:  # nothing was exported yet
        return []


def _choice() -> str:
    return f"{', '.join([*SCHEMES, *built_in_models()])}, and {', '.join(KINDS)}"


def _look(before: Iterable[Scheme]) -> tuple[str, str]:
    """Return the colour and marker of one more model of NDM."""
    models = [scheme for scheme in before if scheme.module.startswith("tcp_ndm") and scheme.name not in SCHEMES]
    return MODEL_LOOKS[len(models) % len(MODEL_LOOKS)]


def _windows(schemes: Iterable[Scheme]) -> int:
    return sum(scheme.packets > 0 for scheme in schemes)


def _model(name: str, model: str, colour: str, marker: str) -> Scheme:
    algorithm = variant_algorithm(model)
    seed = untrained_seed(model)
    label = model.removeprefix("runs/") if seed is None else model.replace("-", " ")
    return Scheme(name, f"NDM {label}", algorithm, colour, marker, f"tcp_{algorithm}", model)


def _window(name: str, text: str, colour: str, marker: str) -> Scheme:
    # one name for each window: 016 would be the window of 16 once more
    if not re.fullmatch(r"[1-9]\d{0,6}", text) or int(text) > MAX_PACKETS:
        raise CompareError(
            f"scheme {name!r} is no constant window: it is window@PACKETS with a whole number of packets from 1 to "
            f"{MAX_PACKETS}, such as window@16"
        )
    return Scheme(name, f"Window {text}", "", colour, marker, "tcp_window").with_packets(int(text))
