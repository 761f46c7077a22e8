"""The congestion controls that a flow can have: the one table, from which every list of schemes derives.

An entry of SCHEMES is all it takes to add one that the lab kernel or a module of kernel/ has: scenarios, comparisons,
targets, reports, training profiles and recordings then know it by its name.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

from env.errors import UserError, in_context, near_matches, suggest
from env.network.own_scheme import FORM, SOURCES, parse_own_scheme

SEPARATOR = "@"  # ndm@mixed, ndm@runs/NAME: NDM with this model; window@16: a constant window of 16 packets
ON_KERNEL = "%"  # bbr%bbr3: BBR on the lab kernel bbr3
KERNEL_NAME = re.compile(r"[a-z][a-z0-9_-]*")
MAX_PACKETS = 1_000_000  # of a constant window: what kernel/schemes/tcp_window.c takes
MAX_SEED = 2**32 - 1  # of an untrained model
NDM_MODULE = "tcp_ndm"
# names that are not in SCHEMES
KINDS = ("ndm@MODEL", "ndm@runs/NAME", "ndm@FILE.pt", "ndm@rules/NAME.yaml", "ndm@untrained", "window@PACKETS", FORM)


@dataclass(frozen=True)
class Scheme:
    """A congestion control.

    name: on the command line and in every file. label, colour, marker: in reports; compare/report/plots/markers.py
    draws the markers. algorithm: name in the kernel. module: the kernel module with the algorithm, empty if it is built
    in. model: of the zoo, run or checkpoint in place of the compiled-in one, "untrained" or "untrained-SEED", empty
    otherwise.
    packets: of a constant window, 0 for others; a search finds algorithm and packets of the oracle for each scenario.
    kernel: of the lab, by name; empty for that of the comparison.
    source, parameters: of a congestion control that the user brings, whose algorithm is known when it is built.
    by_name_only: whether "all" leaves it out.
    """

    name: str
    label: str
    algorithm: str
    colour: str = ""
    marker: str = ""
    module: str = ""
    model: str = ""
    packets: int = 0
    source: str = ""
    parameters: str = ""
    kernel: str = ""
    by_name_only: bool = False

    @property
    def short_name(self) -> str:
        """The name in a terminal: without the path of what the user brings."""
        return self.label if self.source else self.name

    @property
    def is_oracle(self) -> bool:
        """True for the best constant window of each scenario."""
        return self.name == ORACLE

    @property
    def runs_ndm(self) -> bool:
        """True for tcp_ndm, whatever its model."""
        return self.module == NDM_MODULE

    @property
    def own_name(self) -> str:
        """The name without the kernel, for env.own_module.prepare()."""
        return self.name.removesuffix(f"{ON_KERNEL}{self.kernel}")

    def with_packets(self, packets: int) -> Scheme:
        """Return the same scheme with a constant window of so many packets."""
        return replace(self, algorithm=f"cwnd_{packets}", packets=packets)


# Looks of schemes that name none, in the order of the table. Each colour differs from all others in this file by at
# least 10 (CIE76) for normal vision, protanopia, deuteranopia and tritanopia.
FREE_LOOKS = (
    ("#8800ff", "star-diamond"),
    ("#ff11cc", "hourglass"),
    ("#77bb99", "triangle-ne"),
    ("#cc0033", "hexagram"),
    ("#bb77ff", "bowtie"),
    ("#ccbb88", "star-triangle-up"),
    ("#6644bb", "diamond-wide"),
    ("#558855", "triangle-sw"),
    ("#996688", "star-square"),
    ("#4444dd", "star-triangle-down"),
    ("#665566", "triangle-se"),
    ("#556655", "triangle-nw"),
)


def with_looks(schemes: Sequence[Scheme]) -> dict[str, Scheme]:
    """Return the schemes by name. One without a look gets the next of FREE_LOOKS that none of them has."""
    taken = {scheme.marker for scheme in schemes}
    looks = itertools.cycle([look for look in FREE_LOOKS if look[1] not in taken] or FREE_LOOKS)
    named = {}
    for scheme in schemes:
        colour, marker = (scheme.colour, scheme.marker) if scheme.marker else next(looks)
        named[scheme.name] = replace(scheme, colour=colour, marker=marker)
    return named


ORACLE = "oracle"
# A new scheme comes at the end: its place is its column in what the critic observes (env/privileged.py).
# Colours of Okabe and Ito (2008) and Tol's muted set (2021), chosen to differ for every kind of colour vision and to
# be seen on white and on black; the markers differ too, so that no picture needs its colours.
SCHEMES = with_looks(
    (
        Scheme("ndm", "NDM", "ndm", "#d55e00", "*", module=NDM_MODULE),
        Scheme("reno", "Reno", "reno", "#56b4e9", "o"),
        Scheme("cubic", "Cubic", "cubic", "#0072b2", "s"),
        Scheme("bbr", "BBR", "bbr", "#009e73", "^"),
        Scheme("nv", "TCP-NV", "nv", "#785ef0", "H", module="tcp_nv"),
        Scheme("cdg", "CDG", "cdg", "#e69f00", "D"),
        Scheme("vegas", "Vegas", "vegas", "#cc79a7", "v"),
        Scheme("westwood", "Westwood+", "westwood", "#999933", "P"),
        Scheme("illinois", "Illinois", "illinois", "#aa4499", "X"),
        Scheme("ndm_v1", "NDM v1", "ndm_v1", "#b2abd2", "8", module="tcp_ndm_v1"),
        # without ECN marks DCTCP is Reno
        Scheme("dctcp", "DCTCP", "dctcp", "#888888", "h", by_name_only=True),
        # its search takes hundreds of runs
        Scheme(ORACLE, "Oracle (best window)", "", "#117733", "+", module="tcp_window", by_name_only=True),
    )
)
ALL = "all"  # stands for:
ALL_SCHEMES = tuple(scheme.name for scheme in SCHEMES.values() if not scheme.by_name_only)
DEFAULT_SCHEMES = ("ndm", "reno", "cubic", "bbr", "cdg", "vegas")  # compared in a scenario that names none
# Looks of further models of NDM and of constant windows, in the order in which they are named.
MODEL_LOOKS = (("#aa2266", "p"), ("#88bb66", "d"), ("#554400", "<"), ("#7788ee", ">"))
WINDOW_LOOKS = (("#8a9a5b", "1"), ("#9c8ade", "2"), ("#bfa14a", "3"), ("#7f9aa8", "4"))


def find_schemes(names: Sequence[str]) -> list[Scheme]:
    """Return the schemes of these names, in order; "all" stands for ALL_SCHEMES.

    Raises UserError for an empty list, an unknown name (with near matches), a name given twice.
    """
    if not names:
        raise UserError(f"schemes is empty; choose from {_choice()}")
    expanded = [scheme for name in names for scheme in (ALL_SCHEMES if name == ALL else (name,))]
    schemes: list[Scheme] = []
    for name in expanded:
        if name in (scheme.name for scheme in schemes):
            raise UserError(f"scheme {name!r} is given twice; each one is run once per scenario and seed")
        schemes.append(find_scheme(name, schemes))
    return schemes


def find_scheme(name: str, before: Iterable[Scheme] = ()) -> Scheme:
    """Return the scheme of a name; raises UserError for an unknown one.

    before: the schemes that it has to look different from.
    """
    stem, separator, kernel = name.rpartition(ON_KERNEL)
    if separator and KERNEL_NAME.fullmatch(kernel):
        return _on_kernel(find_scheme(stem, before), kernel, before)
    base, separator, rest = name.partition(SEPARATOR)
    if name in SCHEMES:
        return SCHEMES[name]
    if base == "ndm" and rest:
        return _model(name, rest, *_model_look(before))
    if base == "window":
        windows = sum(scheme.packets > 0 for scheme in before)
        return _window(name, rest, *WINDOW_LOOKS[windows % len(WINDOW_LOOKS)])
    if separator and base in SCHEMES:
        raise UserError(
            f"scheme {name!r} is unknown: only ndm takes a model, as ndm@mixed, ndm@runs/NAME, ndm@checkpoint.pt, "
            f"ndm@rules/NAME.yaml or ndm@untrained, and window a number, as window@16. A congestion control of your "
            f"own needs another name, as mine@tcp_mine.c"
        )
    if separator and not (near_matches(base, ["ndm", "window"]) and not rest.endswith(SOURCES)):
        return _own(name, _free_look(before))
    if name.endswith(SOURCES):
        stem = PurePath(name).name.split(".")[0].removeprefix("tcp_")
        raise UserError(f"scheme {name!r} has no name: write {stem}@{name}, or another name before the @")
    hint = suggest(base, [*SCHEMES, "window"]).replace("window", "window@16")
    raise UserError(f"scheme {name!r} is unknown{hint}The schemes are {_choice()}.")


def slot_name(model: str) -> str:
    """Return the name of the slot of tcp_ndm, and so of the congestion control, that a model gets in a lab.

    It is a hash of the model's name as given: known before anything is exported, and different for every scheme of a
    comparison, so that one kernel can have all of them.
    """
    return f"ndm_{hashlib.sha256(model.encode()).hexdigest()[:8]}"


def untrained_seed(model: str) -> int | None:
    """Return the seed of a model that was never trained ("untrained" has 1), None for any other.

    Raises UserError for one that is out of range.
    """
    match = re.fullmatch(r"untrained(?:-(\d{1,20}))?", model)
    if match is None:
        return None
    seed = int(match[1] or 1)
    if seed > MAX_SEED:
        raise UserError(f"scheme ndm@{model}: the seed is {seed}; it is a whole number from 0 to {MAX_SEED}")
    return seed


def _choice() -> str:
    return f"{', '.join(SCHEMES)}, and {', '.join(KINDS)}"


def _model_look(before: Iterable[Scheme]) -> tuple[str, str]:
    """Return the colour and marker of one more model of NDM."""
    models = [scheme for scheme in before if scheme.runs_ndm and scheme.name not in SCHEMES]
    return MODEL_LOOKS[len(models) % len(MODEL_LOOKS)]


def _model(name: str, model: str, colour: str, marker: str) -> Scheme:
    seed = untrained_seed(model)
    label = model.removeprefix("runs/").removesuffix(".yaml") if seed is None else model.replace("-", " ")
    return Scheme(name, f"NDM {label}", slot_name(model), colour, marker, NDM_MODULE, model)


def _free_look(before: Iterable[Scheme]) -> tuple[str, str]:
    """Return the colour and marker of one more scheme that is not in the table."""
    others = sum(bool(scheme.source or scheme.kernel) for scheme in before)
    return FREE_LOOKS[others % len(FREE_LOOKS)]


def _on_kernel(scheme: Scheme, kernel: str, before: Iterable[Scheme]) -> Scheme:
    if scheme.is_oracle:
        raise UserError(f"scheme {scheme.name}{ON_KERNEL}{kernel}: the oracle has the comparison's kernel")
    colour, marker = _free_look(before)
    name, label = f"{scheme.name}{ON_KERNEL}{kernel}", f"{scheme.label} on {kernel}"
    return replace(scheme, name=name, label=label, colour=colour, marker=marker, kernel=kernel)


def _own(name: str, look: tuple[str, str]) -> Scheme:
    """Return a congestion control that the user brings."""
    with in_context(f"scheme {name!r}"):
        own = parse_own_scheme(name)
    return Scheme(name, own.label, "", *look, source=own.path, parameters=own.parameters)


def _window(name: str, text: str, colour: str, marker: str) -> Scheme:
    # each window has one name: 016 is not another way to write 16
    if not re.fullmatch(r"[1-9]\d{0,6}", text) or int(text) > MAX_PACKETS:
        raise UserError(
            f"scheme {name!r} is no constant window: it is window@PACKETS with a whole number of packets from 1 to "
            f"{MAX_PACKETS}, such as window@16"
        )
    return Scheme(name, f"Window {text}", "", colour, marker, "tcp_window").with_packets(int(text))
